use narrows_proto::reaction;
use narrows_proto::units::Bytes;
use narrows_sim::{LimiterScope, Reaction, ReactionPlace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limiters at the edge of the network that listen to congestion points.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReactionPoints {
    /// Rule by which they react.
    pub rule: reaction::Config,
    /// Where they are.
    #[serde(default)]
    pub at: ReactionPlace,
    /// Traffic that shares a limiter.
    #[serde(default)]
    pub per: LimiterScope,
    /// Limiters of one host or edge switch. When all are in use, further flows share them, chosen by a hash.
    #[serde(default = "limiters")]
    pub limiters: u32,
    /// Queue limit of one limiter. A host does not hand over more; an edge switch drops the excess.
    #[serde(default = "queue")]
    pub queue: Bytes,
    /// A packet that finds more than this in the queue of its limiter gets an ECN mark, if its transport reads marks. No marks if
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Bytes>,
}

fn limiters() -> u32 {
    100 // the most reaction points of a port and priority (IEEE8021-CN-MIB, ieee8021CnRpPortPriMaxRps)
}

fn queue() -> Bytes {
    Bytes::new(256_000)
}

impl ReactionPoints {
    /// As the simulation wants it.
    pub fn config(&self) -> Reaction {
        Reaction {
            rule: self.rule.clone(),
            place: self.at,
            per: self.per,
            limiters: self.limiters,
            queue: self.queue,
            mark: self.mark,
        }
    }
}
