"""Scenarios that pages show: files of the folder `snippets`, each of which `narrows check` accepts without a warning."""

import re
import subprocess
from pathlib import Path

FENCE = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def of(folder: Path, kind: str, name: str) -> str:
    """The scenario that shows `name`; controls without one of their own share `control.toml`."""
    own = folder / f"{kind}-{name}.toml"
    if own.exists():
        return own.read_text()
    if kind == "control":
        return (folder / "control.toml").read_text().replace("CONTROL", name)
    raise FileNotFoundError(f"docs/guide/snippets/{own.name} is missing: every {kind} has a scenario that shows it")


def in_page(text: str) -> list[str]:
    """All scenarios of a page: its blocks of TOML."""
    return FENCE.findall(text)


def check(narrows: Path, folder: Path, scenario: str, where: str) -> None:
    """Fails unless `narrows check` accepts the scenario and warns of nothing. Files it names are those of `folder`."""
    file = folder / f".check-{abs(hash(scenario))}.toml"
    file.write_text(scenario)
    try:
        run = subprocess.run([narrows, "check", file], capture_output=True, text=True)
    finally:
        file.unlink()
    said = run.stdout + run.stderr
    if run.returncode != 0 or "⚠" in said:
        raise ValueError(f"{where} shows a scenario that is not fine:\n{scenario}\n{said}")
