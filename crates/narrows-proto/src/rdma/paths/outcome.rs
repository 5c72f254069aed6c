/// Fate of a packet with an entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived without a mark.
    Good,
    /// It arrived with a mark.
    Marked,
    /// A switch trimmed it before the last link.
    Trimmed,
    /// It was trimmed in front of the link to the receiver.
    TrimmedAtLastHop {
        /// It was marked besides.
        marked: bool,
    },
    /// The retransmission timer expired for it.
    Timeout,
}

impl Outcome {
    /// As paths see it.
    pub(super) fn of_path(self) -> Self {
        match self {
            Self::TrimmedAtLastHop { marked: false } => Self::Good,
            Self::TrimmedAtLastHop { marked: true } => Self::Marked,
            other => other,
        }
    }
}
