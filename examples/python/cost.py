"""What a congestion control in Python costs, against the same one built in.

    python cost.py [THREADS]

Runs long flows over one bottleneck, three times under each control, and takes the fastest time of each.
"""

import sys
import time

from dctcp import Dctcp

import narrows


class Least(narrows.Controller):
    """Hears everything and does nothing: what remains is the way to Python and back."""

    ecn = "accurate"

    def __init__(self, path: narrows.Path) -> None:
        self.window = 40 * path.mss

    def on_ack(self, ack: narrows.Ack) -> None:
        pass

    def limit(self) -> int:
        return self.window


def heard_by(control: type[narrows.Controller]) -> int:
    """Acknowledgments that the controllers of a run hear."""
    heard = 0

    class Counting(control):  # type: ignore[misc,valid-type]
        def on_ack(self, ack: narrows.Ack) -> None:
            nonlocal heard
            heard += 1
            super().on_ack(ack)

    narrows.run(scenario().with_set({"traffic.long.cc": Counting}), progress=False)
    return heard


def scenario() -> narrows.Scenario:
    """Eight flows of 100 MB each at 10 Gb/s."""
    return narrows.Scenario.parse(
        """
        version = 1
        name = "cost"
        stop = { after = "1 s" }

        [topology.dumbbell]
        hosts = 8
        host_rate = "10 Gb/s"
        bottleneck_rate = "10 Gb/s"
        host_delay = "1 us"
        bottleneck_delay = "5 us"

        [switches.default]
        buffer = { size = "2 MB" }
        marking = { step = { k = "100 kB" } }

        [[traffic]]
        name = "long"
        pattern = { long_lived = { flows = 8, size = "100 MB", from = "left/*", to = "right/*" } }
        cc = { dctcp = {} }
        """
    )


def fastest(control: object, threads: int) -> float:
    """Seconds of the fastest of three runs."""
    times = []
    for _ in range(3):
        changed = scenario().with_set({"traffic.long.cc": control})
        begin = time.perf_counter()
        narrows.run(changed, threads=threads, progress=False)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Print a table."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    fixed = {"fixed": {"window": "58 kB", "ecn": True}}
    print(f"Python {sys.version.split()[0]}, threads: {threads}")
    print(f"{'control':<20}{'acknowledgments':>18}{'built in, s':>13}{'in Python, s':>14}{'us per ack':>12}")
    for name, control, like in [("nothing", Least, fixed), ("DCTCP", Dctcp, {"dctcp": {}})]:
        heard, built_in, in_python = heard_by(control), fastest(like, threads), fastest(control, threads)
        more = (in_python - built_in) / heard * 1e6
        print(f"{name:<20}{heard:>18}{built_in:>13.2f}{in_python:>14.2f}{more:>12.2f}")


if __name__ == "__main__":
    main()
