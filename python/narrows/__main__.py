"""The command ``narrows``, as ``python -m narrows`` starts it."""

import signal
import sys

from narrows import _narrows


def main() -> int:
    """Run the command with the arguments of this process and answer with its exit code."""
    # The command handles Ctrl-C itself, and a reader that goes away (narrows list | head) ends it quietly.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _narrows.main(["narrows", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
