"""Checks that no built page loads anything from the network.

    python offline.py HTML
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

# Attributes through which a page loads something; links that are followed by hand are none of them.
LOADS = {
    "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"), "video": ("src", "poster"),
    "audio": ("src",), "embed": ("src",), "object": ("data",), "input": ("src",), "image": ("href",), "use": ("href",),
}
# Kinds of <link> that load nothing.
HARMLESS = {"canonical", "author", "license", "search", "index", "next", "prev", "help", "copyright", "alternate"}
REMOTE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"url\(\s*['\"]?\s*((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)", re.IGNORECASE)


class Loads(HTMLParser):
    """Collects what a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        names = LOADS.get(tag, ())
        if tag == "link" and not set((values.get("rel") or "").split()) <= HARMLESS:
            names = ("href",)
        self.found += [value for name in names if REMOTE.match(value := values.get(name) or "")]
        self.found += in_style(values.get("style") or "")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "style":
            self.found += in_style(data)


def in_style(text: str) -> list[str]:
    return [one or other for one, other in IN_STYLE.findall(text)]


def in_page(text: str) -> list[str]:
    """What a page loads from the network."""
    parser = Loads()
    parser.feed(text)
    return parser.found


def main(folder: Path) -> int:
    problems = []
    for file in sorted(folder.rglob("*")):
        if file.suffix == ".html":
            problems += [(file, found) for found in in_page(file.read_text())]
        elif file.suffix == ".css":
            problems += [(file, found) for found in in_style(file.read_text())]
    for file, found in problems:
        print(f"{file} loads {found} from the network", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
