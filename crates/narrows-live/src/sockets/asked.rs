//! Answers of the kernel about flows under way (`TCP_INFO`).

use std::os::fd::AsFd;

use narrows_proto::units::Time;
use narrows_sim::FlowId;

use super::Sockets;
use crate::ends::End;
use crate::sys::TcpInfo;

impl Sockets<'_> {
    /// Notes what was delivered when the measured time begins (0) and ends (1).
    pub(super) fn measure(&mut self, moment: usize) {
        self.learn();
        self.flows.values_mut().for_each(|flow| flow.measured[moment] = Some(flow.delivered));
    }

    /// Asks the kernel about all flows under way.
    pub(super) fn learn(&mut self) {
        let under_way = self.flows.iter().filter(|(_, state)| state.sender.is_some());
        for flow in under_way.map(|(flow, _)| *flow).collect::<Vec<_>>() {
            self.ask(flow);
        }
    }

    /// Asks the kernel about a flow under way.
    pub(super) fn ask(&mut self, flow: FlowId) -> Option<TcpInfo> {
        let state = self.flows.get_mut(&flow)?;
        let Some(Some(End::Sender { stream, .. })) = self.ends.get(state.sender?) else { return None };
        let info = TcpInfo::of(stream.as_fd()).ok()?;
        state.note(&info);
        Some(info)
    }

    /// Records the window of a flow, unless nothing has happened to it.
    pub(super) fn look(&mut self, flow: FlowId, at: Time) {
        let Some(info) = self.ask(flow) else { return };
        let state = self.flows.get_mut(&flow).expect("the kernel was asked about it");
        self.windows.extend(state.window(flow, at, &info, self.scale));
    }
}
