"""Links from scenarios that pages show to the playground, which opens and runs them."""

import base64
import json
import posixpath
import re
import shutil
import zlib
from pathlib import Path

# Where the playground stands in the guide.
PLACE = "playground"

FENCE = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The line of the first page that becomes a link, and the link.
MARKER = "<!-- playground -->"
LINK = f'<p>Nothing to install: <a href="{PLACE}/index.html">the playground</a> simulates in this browser, with lessons of a few minutes.</p>'

# Files that a scenario names.
NAMED = re.compile(r'"([\w.-]+\.(?:csv|txt))"')


def fragment(scenario: str, files: dict[str, str]) -> str:
    """A scenario as the playground reads it from an address: JSON, deflated, as text (web/src/share/fragment.ts)."""
    shared = {"text": scenario, "seeds": 1, "pins": [], "sets": [], "files": files}
    compressor = zlib.compressobj(9, wbits=-15)
    packed = compressor.compress(json.dumps(shared, ensure_ascii=False).encode()) + compressor.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def is_scenario(shown: str) -> bool:
    """It can be run as it is, and by the playground: no part of a scenario, no sweep, no control of a program."""
    lines = shown.splitlines()
    is_whole = any(line.startswith("version = ") for line in lines) and any(line.startswith("[topology.") for line in lines)
    return is_whole and not re.search(r"\bcustom = \{ name = |^\[(?:grid|until)\b", shown, re.MULTILINE)


def with_buttons(text: str, page: str, folder: Path) -> str:
    """A page with a button behind each scenario. Files that scenarios name are those of `folder`."""
    here = posixpath.relpath(f"{PLACE}/index.html", posixpath.dirname(page) or ".")

    def button(found: re.Match) -> str:
        shown = found[1]
        files = {name: folder / name for name in NAMED.findall(shown)}
        if not is_scenario(shown) or not all(path.exists() for path in files.values()):
            return found[0]
        packed = fragment(shown, {name: path.read_text() for name, path in files.items()})
        return f'{found[0]}\n\n<p class="run"><a href="{here}#s={packed}">Run</a></p>'

    return FENCE.sub(button, text)


def include(built: Path, out: Path, folder: Path) -> None:
    """Puts a playground that was built into the guide, and buttons into its pages. Without one there are none."""
    if not (built / "index.html").exists():
        return
    # Sphinx copies what is in `extra` to the top of the guide.
    shutil.copytree(built, out / "extra" / PLACE)
    for page in sorted(out.rglob("*.md")):
        text = page.read_text()
        changed = with_buttons(text, page.relative_to(out).as_posix(), folder).replace(MARKER, LINK)
        if changed != text:
            page.write_text(changed)
