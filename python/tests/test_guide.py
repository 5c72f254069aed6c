"""Examples of the guide run, and print what it says. ``NARROWS_GUIDE=overwrite`` writes down what is printed."""

import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]
#: A block of Python, and what it prints if that is shown below.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
#: A block that is a file: its first line, or the one behind ``#!``, is its name.
FILE = re.compile(r"^```\w+\n((?:#!.*\n)?# (\S+\.\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted((ROOT / "docs" / "guide").glob("*.md")) if BLOCK.search(page.read_text())]
#: The scheduler of the guide; that of the test stands for it.
ADDRESS = "tcp://10.0.0.1:8786"

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::narrows.NarrowsWarning"
)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def run(text: str, name: str, names: dict[str, Any]) -> str:
    """Runs the blocks of a page one after the other, and tests that they define; the page with what they printed."""

    def block(found: re.Match[str]) -> str:
        code, shown = found.groups()
        # Traces show the line of the page.
        line = text.count("\n", 0, found.start(1))
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * line + code, name, "exec"), names)
        for test in [known for known in names if known.startswith("test_")]:
            names.pop(test)()
        if shown is None:
            return found[0]
        return f"```python\n{code}```\n\n```text\n{printed.getvalue().strip()}\n```"

    return BLOCK.sub(block, text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_guide_shows_what_happens(page: Path, elsewhere: Path, scheduler: str) -> None:
    text = page.read_text()
    for content, name in FILE.findall(text):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)
    ran = run(text.replace(ADDRESS, scheduler), str(page), {"__name__": "guide"}).replace(scheduler, ADDRESS)
    if os.environ.get("NARROWS_GUIDE") == "overwrite":
        page.write_text(ran)
    else:
        assert ran == text
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()


def test_the_readme_shows_what_happens(elsewhere: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (section,) = re.findall(r"^## Python$(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    assert BLOCK.search(section)
    run(section, "README.md", {"__name__": "readme"})
