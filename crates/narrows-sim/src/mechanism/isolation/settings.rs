//! Settings of isolation.

use narrows_proto::units::{Bytes, Span};

use crate::ids::{FlowId, LinkId};
use crate::mechanism::pause::smallest_frame;
use crate::mechanism::settings::SwitchSettings;

/// Isolation of congested flows by a switch. Needs [`Pfc`](crate::mechanism::pfc::Pfc) for the priority it watches.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Isolation {
    /// The rules in force.
    pub scheme: Scheme,
    /// The priority whose queues are watched.
    pub priority: u8,
    /// A queue that holds this much is congested, and names flows as `naming` says when packets join it.
    pub detect: Bytes,
    /// A port of enhanced DVL gives up its queue for isolated flows when it holds less than this together with the normal queue.
    /// `detect` unless given; with less a queue is given up and allocated again less often.
    pub free_below: Option<Bytes>,
    /// Which flow a congested queue names.
    pub naming: Naming,
    /// A congested queue that holds more than this has one at the links that feed it.
    pub propagate_egress: Bytes,
    /// With more than this of isolated flows from a link, the neighbor there is notified.
    pub propagate_ingress: Bytes,
    /// With more than this from a link that came isolated, the class of isolated flows is stopped there. What the neighbor
    /// does not isolate, for want of room in its table, no such stop would hold back.
    pub stop: Bytes,
    /// It may go on with no more than this. With enhanced DVL more than `free_below`, or else the queue is given up each time its
    /// class is stopped.
    pub go: Bytes,
    /// Flows a port can isolate at once. Others stay where they are, and PFC does what it does without isolation.
    pub table: u32,
    /// The part of the link that isolated flows get beside the others; those have the rest. One half means in turn.
    pub share: f64,
    /// A queue that a neighbor has stopped names no flows: those who wait there may be victims.
    pub spare_stopped: bool,
    /// For whom there are order tokens when flows move to the congested queue.
    pub order: Order,
    /// When a stop of isolated flows stops the other queue of the port too.
    pub joint_stop: Option<JointStop>,
    /// Whose packets `marking` looks at.
    pub mark: Marked,
    /// Most messages to a neighbor about the same flow before its packets come isolated.
    pub messages: u8,
    /// Size of these messages on the wire, framing included.
    pub message_size: Bytes,
    /// Time that a flow that a neighbor has named stays isolated after its queue has become empty, with `scheme = "qcz"`.
    pub flow_life: Span,
    /// Network cards are notified too: each destination has a queue of its own there, and those that were named can be stopped
    /// alone.
    pub hosts: bool,
    /// Time that a flow that a neighbor has named stays isolated where that turns out not to be needed: at ports of enhanced DVL
    /// that are not congested, and in network cards since the class of isolated flows was last stopped.
    pub idle_life: Span,
}

/// Rules of isolation.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Basic DVL: a congested queue goes when it is empty and no neighbor downstream has one for its flows. The neighbors
    /// upstream are notified then.
    Dvl,
    /// Enhanced DVL: each switch decides for itself. A congested queue goes when both queues of the port together hold less than
    /// `free_below`.
    #[default]
    Edvl,
    /// IEEE 802.1Qcz: neighbors are notified of each flow at once; a queue goes when it is empty and what neighbors have named
    /// has aged.
    Qcz,
}

/// Which flow a congested queue names when a packet joins it. Whoever is named already is not named again.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// That of the packet.
    #[default]
    Arrivals,
    /// That of the packet, if the queue was not congested before it.
    Crossing,
    /// The one with the most bytes in both queues of the port; of several the one that came first.
    Largest,
    /// One that is drawn, each with a probability in proportion to its bytes in both queues of the port.
    Sampled,
}

/// For whom there are order tokens when flows move to the congested queue. Flows that move back have a pair in any case.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A pair for each flow.
    #[default]
    PerFlow,
    /// A pair when the queue is allocated. Packets of flows that are named later can overtake each other, which costs
    /// retransmissions where receivers need them in order.
    PerQueue,
}

/// Whose packets are marked.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Marked {
    /// Those of all flows, by what waits in the queue that they join.
    #[default]
    All,
    /// Those that join the queue of isolated flows, so that victims are not slowed down (ICI, Merino et al. 2025).
    Isolated,
}

/// When a stop of isolated flows stops the other queue of the port too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JointStop {
    /// Never. Basic DVL and 802.1Qcz.
    Never,
    /// While flows move back.
    WhileClosing,
    /// While flows move back, and after the queue was allocated until nothing older waits in the normal queue.
    WithQueueMarkings,
    /// While any pair of order tokens is under way. Enhanced DVL.
    WithMarkings,
}

impl SwitchSettings for Isolation {
    const HAS_SIDE_CLASS: bool = true;

    fn control_size(&self) -> Option<Bytes> {
        Some(self.message_size)
    }
}

impl Default for Isolation {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            priority: 0,
            detect: Bytes::new(20_000),
            free_below: None,
            naming: Naming::default(),
            propagate_egress: Bytes::new(20_000),
            propagate_ingress: Bytes::new(20_000),
            stop: Bytes::new(60_000),
            go: Bytes::new(40_000),
            table: 64,
            share: 0.1,
            spare_stopped: false,
            order: Order::default(),
            joint_stop: None,
            mark: Marked::default(),
            messages: 3,
            message_size: smallest_frame(),
            flow_life: Span::from_secs(1),
            hosts: true,
            idle_life: Span::from_us(100),
        }
    }
}

impl Isolation {
    /// A port of enhanced DVL gives up its queue for isolated flows when both queues hold less than this.
    pub fn free_below(&self) -> Bytes {
        self.free_below.unwrap_or(self.detect)
    }

    /// When a stop of isolated flows stops the other queue of the port too.
    pub fn joint_stop(&self) -> JointStop {
        self.joint_stop.unwrap_or(match self.scheme {
            Scheme::Edvl => JointStop::WithMarkings,
            Scheme::Dvl | Scheme::Qcz => JointStop::Never,
        })
    }
}

/// Something that happened to a congested queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsolationChange {
    /// The link of the port, or for events at an input the link that leads to the switch.
    pub link: LinkId,
    /// The event.
    pub event: IsolationEvent,
}

/// Event at a congested queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationEvent {
    /// A port has one now.
    Allocated,
    /// It has none any more.
    Freed,
    /// One more flow joins it.
    Flow(FlowId),
    /// A link that leads to the switch has one now.
    AllocatedAtInput,
    /// It has none any more.
    FreedAtInput,
    /// The neighbor at the other end of a link was notified of a flow.
    Notified(FlowId),
}
