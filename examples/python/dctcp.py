"""DCTCP in Python: a port of the control that is built in, to the byte.

    python dctcp.py

runs an incast under both and compares all flows. What stands in brackets are sections of RFC 8257, RFC 5681 and
RFC 3465. The original is `crates/narrows-proto/src/cc/dctcp.rs`.
"""

import narrows


class RenoWindow:
    """A window that grows like Reno's, in bytes."""

    def __init__(self, mss: int, initial: int) -> None:
        self.mss = mss
        self.cwnd = initial
        self.ssthresh = 2**64 - 1
        #: Acknowledged toward the next segment of congestion avoidance.
        self.credit = 0
        #: The most that one acknowledgment adds in slow start (RFC 3465 §2.2).
        self.slow_start_step = 2 * mss
        self.before_loss: tuple[int, int] | None = None

    def grow(self, acked: int) -> None:
        """Open the window for acknowledged bytes."""
        if self.cwnd < self.ssthresh:
            self.cwnd += min(acked, self.slow_start_step)
            return
        self.credit += acked
        if self.credit >= self.cwnd:
            self.credit -= self.cwnd
            self.cwnd += self.mss

    def reduce_to(self, target: int, floor: int) -> None:
        """Set window and threshold to ``target``, at least ``floor``; the threshold stays at two segments (RFC 5681 §3.1)."""
        target, least = max(target, floor), 2 * self.mss
        self.before_loss = None
        self.ssthresh = max(target, least)
        self.cwnd = min(target, max(self.cwnd, least))
        self.credit = 0

    def halve(self, flight_size: int) -> None:
        """Leave half of what was outstanding (RFC 5681 §3.1 Eq. 4)."""
        before = (self.cwnd, self.ssthresh)
        self.reduce_to(min(flight_size, self.cwnd) // 2, 2 * self.mss)
        self.before_loss = before

    def collapse(self, flight_size: int, repeated: bool) -> None:
        """Fall back to one segment after a timeout."""
        if not repeated:
            self.before_loss = (self.cwnd, self.ssthresh)
            self.ssthresh = max(min(flight_size, self.cwnd) // 2, 2 * self.mss)
        self.cwnd = self.mss
        self.credit = 0
        self.slow_start_step = min(self.slow_start_step, self.mss)

    def undo(self) -> None:
        """Take back the last reduction for a loss that was none."""
        if self.before_loss is not None:
            cwnd, ssthresh = self.before_loss
            self.cwnd = max(self.cwnd, cwnd)
            self.ssthresh = max(self.ssthresh, ssthresh)
            self.before_loss = None

    def restart(self, window: int) -> None:
        """Begin again after an idle time (RFC 5681 §4.1)."""
        self.before_loss = None
        self.ssthresh = max(self.ssthresh, self.cwnd - self.cwnd // 4)
        self.cwnd = min(self.cwnd, window)
        self.credit = 0


class Dctcp(narrows.Controller):
    """Reduce the window in proportion to the fraction of marked bytes (RFC 8257)."""

    ecn = "accurate"
    version = "2"  # RenoWindow is not part of this class: count up when it changes

    def __init__(
        self, path: narrows.Path, *, gain: float = 1 / 16, initial_alpha: float = 1.0, min_window: int = 2
    ) -> None:
        self.window = RenoWindow(path.mss, path.initial_window)
        self.alpha = initial_alpha
        self.gain = gain
        self.floor = min_window * path.mss
        self.acked = self.marked = 0
        #: When the window was cut last.
        self.cut_ps: int | None = None

    def on_idle(self, now: float, idle: float, restart: int | None) -> None:
        if restart is not None:
            self.window.restart(restart)

    def on_ack(self, ack: narrows.Ack) -> None:
        marked, acked = ack.marked, ack.acked
        self.acked += acked
        self.marked += marked
        if ack.round_start:
            # Once per round (§3.3): alpha = (1 - g)·alpha + g·M
            if self.acked > 0:
                fraction = self.marked / self.acked
                self.alpha = (1.0 - self.gain) * self.alpha + self.gain * fraction
            self.acked = self.marked = 0
        if ack.in_recovery or self.rests(ack):
            return
        if marked > 0:
            # At the first mark (§3.3): cwnd = cwnd·(1 - alpha/2)
            factor = 1.0 - self.alpha / 2.0
            self.window.reduce_to(int(self.window.cwnd * factor), self.floor)
            self.cut_ps = ack.now_ps
        elif ack.cwnd_limited:
            self.window.grow(acked)

    def rests(self, ack: narrows.Ack) -> bool:
        """What this acknowledges was sent before the last cut (§3.3: once per window of data)."""
        if self.cut_ps is None:
            return False
        rtt = ack.rtt_ps
        return ack.now_ps - self.cut_ps < (ack.srtt_ps if rtt is None else rtt)

    def on_congestion(self, now: float, event: narrows.Congestion) -> None:
        # A loss leaves alpha alone (§3.5).
        match event.kind:
            case "loss" | "mark":
                self.window.halve(event.flight_size)
            case "timeout":
                self.window.collapse(event.flight_size, event.repeated)
            case "spurious":
                self.window.undo()

    def limit(self) -> int:
        return self.window.cwnd


def main() -> None:
    """Run an incast under both."""
    scenario = narrows.Scenario.template("incast")
    group = "traffic.answers.cc"
    built_in = narrows.run(scenario, set={group: {"dctcp": {}}})
    in_python = narrows.run(scenario, set={group: Dctcp})
    print(f"{'flow':>4}  {'built in, us':>12}  {'in Python, us':>13}")
    pairs = list(zip(built_in.flows["fct_ps"].to_list(), in_python.flows["fct_ps"].to_list(), strict=True))
    for flow, (one, other) in enumerate(pairs[:8]):
        print(f"{flow:>4}  {one / 1e6:>12.3f}  {other / 1e6:>13.3f}")
    print(f"{len(pairs)} flows, {sum(one != other for one, other in pairs)} differ")


if __name__ == "__main__":
    main()
