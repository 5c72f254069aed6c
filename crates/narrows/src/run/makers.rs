//! Surroundings of a run: what makers of controls that are not built in have to prepare.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use narrows_sim::OnProgress;

use crate::plan::Plan;

/// Does `work` inside of what the plan's makers have to prepare, until a control fails that is not built in.
pub(super) fn prepared<T: Send>(
    plan: &Plan,
    progress: &mut dyn OnProgress,
    work: impl FnOnce(&mut dyn OnProgress) -> T + Send,
) -> T {
    let mut goes_on = |now| match plan.has_failed_control() {
        true => ControlFlow::Break(()),
        false => progress(now),
    };
    let mut work = Some(work);
    let mut done = None;
    around(&mut plan.makers(), &mut || done = work.take().map(|work| work(&mut goes_on)));
    done.expect("makers do the work they are given")
}

/// Does `work` inside of what each maker has to prepare.
fn around(makers: &mut (dyn Iterator<Item = &Arc<dyn Maker>> + Send), work: &mut (dyn FnMut() + Send)) {
    match makers.next() {
        None => work(),
        Some(maker) => maker.around(&mut || around(makers, work)),
    }
}
