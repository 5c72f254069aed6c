//! Protocols as state machines, which neither read clocks nor wait.

use narrows_proto::units::Time;

use crate::datagram::{Datagram, Transmit};
use crate::error::Error;
use crate::net::Net;
use crate::socket::Socket;

/// One end of a protocol that does no input and output of its own ("sans I/O"): it receives what has arrived and the time, and is polled for what
/// it has to send and when it wants to be woken.
pub trait Machine {
    /// The socket that it sends and receives through.
    fn socket(&self) -> &Socket;

    /// A datagram has arrived, now.
    fn receive(&mut self, now: Time, datagram: Datagram);

    /// When it wants to be woken; never, if nothing is to be done unless something arrives.
    fn due(&mut self) -> Time;

    /// Its time has come.
    fn wake(&mut self, now: Time);

    /// The next datagram that it sends now, if it has one. It is asked until it has none, while there is room in the send buffer.
    fn transmit(&mut self, now: Time) -> Option<Transmit>;
}

impl Net {
    /// Lets all machines, in their order, do what they have to do now, then advances to the next arrival or the next time that one of them
    /// wants to be woken, `until` at the latest. True if something has happened, false if time is up.
    ///
    /// # Errors
    /// If `until` is over, or a datagram cannot be sent.
    pub fn step(&self, machines: &mut [&mut dyn Machine], until: Time) -> Result<bool, Error> {
        let (now, mut due) = (self.now(), Time::NEVER);
        for machine in machines.iter_mut() {
            due = due.min(work(&mut **machine, now)?);
        }
        Ok(self.advance(due.max(now).min(until))? || due <= until && self.now() < self.end())
    }
}

/// Does what a machine has to do now. Returns when it has to do something next.
fn work(machine: &mut dyn Machine, now: Time) -> Result<Time, Error> {
    while let Some(datagram) = machine.socket().receive() {
        machine.receive(now, datagram);
    }
    if machine.due() <= now {
        machine.wake(now);
    }
    loop {
        let room = machine.socket().has_room_at();
        if room > now {
            return Ok(machine.due().min(room));
        }
        let Some(Transmit { to, ecn, payload }) = machine.transmit(now) else { return Ok(machine.due()) };
        machine.socket().send_to(&payload, to, ecn)?;
    }
}
