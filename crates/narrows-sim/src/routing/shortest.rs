//! Shortest paths over a whole network, which all share who need them.

use super::backbone::Backbone;
use super::tables::RoutingTables;
use crate::ids::LinkId;

/// Shortest paths, and what they lead over.
#[derive(Clone, Debug)]
pub(crate) struct Shortest {
    /// By node: the links that leave it, in order.
    pub(crate) ports: Vec<Vec<LinkId>>,
    pub(crate) backbone: Backbone,
    pub(crate) tables: RoutingTables,
}
