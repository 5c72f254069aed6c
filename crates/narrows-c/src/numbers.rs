//! Numbers of messages and timers.

use crate::error::Failure;
use crate::error::nrw_status::NRW_BAD_HANDLE;
use crate::handles::Open;

/// Numbers of messages and timers carry a part of the serial number of their network.
const OF_NETWORK: u32 = 40;
const IS_TIMER: u64 = 1 << 39;

impl Open {
    fn mark(&self) -> u64 {
        (self.serial & ((1 << (64 - OF_NETWORK)) - 1)) << OF_NETWORK
    }

    pub(crate) fn message(&self, number: u32) -> u64 {
        self.mark() | u64::from(number)
    }

    pub(crate) fn timer(&self, number: u32) -> u64 {
        self.mark() | IS_TIMER | u64::from(number)
    }

    /// The number of a message, if it is one of this network.
    pub(crate) fn message_number(&self, id: u64) -> Result<u32, Failure> {
        u32::try_from(id ^ self.mark())
            .map_err(|_| Failure::new(NRW_BAD_HANDLE, "this is no message of this network"))
    }

    /// The same for a timer.
    pub(crate) fn timer_number(&self, id: u64) -> Result<u32, Failure> {
        u32::try_from(id ^ self.mark() ^ IS_TIMER)
            .map_err(|_| Failure::new(NRW_BAD_HANDLE, "this is no timer of this network"))
    }
}
