"""What the guide shows runs as it stands there."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
PAGE = GUIDE / "python.md"
#: Blocks of code, with what stands behind the language.
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_page_about_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "guide"}
    ran = 0
    for block in BLOCK.finditer(text):
        # Every block is valid; those that need a cluster are not run.
        above = text[: block.start(2)].count("\n")
        code = compile("\n" * above + block[2], str(PAGE), "exec")
        if block[1].strip() != "notest":
            exec(code, names)
            ran += 1
    plt.close("all")
    assert ran > 10
    assert (tmp_path / "completion-times.pdf").exists()
