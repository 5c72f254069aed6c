//! The list of mechanisms: the one place of this crate that names all of them, with what each has.
//!
//! ```text
//! settings   of a switch (`SwitchSettings`): a field of `SwitchConfig`
//! host       what it keeps at a host (`AtHost`)
//! switch     what it keeps at a whole switch (`AtSwitch`)
//! ports      what it keeps at the queued ports of a switch (`AtPorts`)
//! queues     what it keeps in place of the queues of a switch (`AtQueues`); only one of a switch may
//! flow       what it keeps with each flow at its source: a field of `AtFlow`
//! record     what it counts of no link and no flow: a field of `Records`
//! counters   what it counts at each port: a field of `PortCounters`
//! observer   what watches it: a field of `OfMechanisms`; and what that is called at: a variant of `MechanismEvent`
//! ```
//! Fields are called as the folder of the mechanism. Hooks ask mechanisms in the order of the list.
//!
//! Only one mechanism of a switch can use the side queue, now isolation. A second one would need: `CLASSES` = 10; a class for each in
//! place of `SIDE_CLASS`, given out by this list; a bit for each in the header of packets in place of `ASIDE`; `HAS_SIDE_CLASS`,
//! `FlowControl::stop_side` and the memory of flow control by class by that number; and observers that see which it is (`side_backlog`,
//! `side_queue`). Masks of classes have 16 bits, which is enough for seven more.

/// Gives what mechanisms have of a kind to the macro `made`, as `folder: Type,` each.
macro_rules! mechanisms {
    ($kind:ident => $made:ident) => {
        $crate::mechanism::list::sorted! { $kind $made:
            marking: counters(PhantomCounters);
            near_source: host(Gates);
            limiter: host(ReactionPoints) switch(EdgeLimiters) record(ReactionRecord) observer(LimiterObserver of LimiterEvent);
            pause: settings(Pause) host(Paused);
            pfc: settings(Pfc) host(StoppedClasses);
            isolation: settings(Isolation) host(IsolatedFlows) ports(Stage) counters(IsolationCounters) observer(IsolationObserver of IsolationChange);
            drr: settings(Drr) queues(DrrQueues) counters(DrrCounters);
            fq_codel: settings(FqCodel) queues(FqCodelQueues) counters(FqCodelCounters);
            dualpi2: settings(DualPi2) queues(DualQueues) counters(DualPi2Counters);
            flowlets: counters(FlowletCounters);
            themis: settings(Themis) switch(Holds) ports(Notifier) record(ThemisRecord) counters(ThemisCounters);
            trimming: settings(Trimming) ports(Trimmer) counters(TrimmingCounters);
            rackcc: settings(RackAgent) host(Racks) switch(RackState) flow(Subflow) record(RackRecord) observer(RackObserver of RackEvent);
        }
    };
}

/// Sorts the list by kind.
macro_rules! sorted {
    ($kind:ident $made:ident: $(
        $name:ident:
        $(settings($settings:ident))? $(host($host:ident))? $(switch($switch:ident))? $(ports($ports:ident))? $(queues($queues:ident))?
        $(flow($flow:ident))? $(record($record:ident))? $(counters($counters:ident))?
        $(observer($observer:ident of $event:ident))?;
    )*) => {
        $crate::mechanism::list::picked! { $kind $made
            [$($($name: $settings,)?)*] [$($($name: $host,)?)*] [$($($name: $switch,)?)*] [$($($name: $ports,)?)*]
            [$($($name: $queues,)?)*]
            [$($($name: $flow,)?)*] [$($($name: $record,)?)*] [$($($name: $counters,)?)*]
            [$($($name: $observer,)?)*] [$($($name: $event,)?)*]
        }
    };
}

macro_rules! picked {
    (settings $made:ident [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (host $made:ident $a:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (switch $made:ident $a:tt $b:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (ports $made:ident $a:tt $b:tt $c:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (queues $made:ident $a:tt $b:tt $c:tt $d:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (flow $made:ident $a:tt $b:tt $c:tt $d:tt $x:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (record $made:ident $a:tt $b:tt $c:tt $d:tt $x:tt $e:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (counters $made:ident $a:tt $b:tt $c:tt $d:tt $x:tt $e:tt $f:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (observer $made:ident $a:tt $b:tt $c:tt $d:tt $x:tt $e:tt $f:tt $g:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (event $made:ident $a:tt $b:tt $c:tt $d:tt $x:tt $e:tt $f:tt $g:tt $h:tt [$($of:tt)*]) => { $made! { $($of)* } };
}

pub(crate) use {mechanisms, picked, sorted};
