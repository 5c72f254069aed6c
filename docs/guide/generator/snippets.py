"""Scenarios that pages show: files of the folder `snippets`, each of which `narrows check` accepts without a warning.

Sweeps that pages show are accepted by `narrows sweep --dry-run`.
"""

import re
import subprocess
from pathlib import Path

# A block that begins with its name is a file; `cargo xtask guide` runs the commands that use it.
FENCE = re.compile(r"^```toml\n(?!# \S+\.toml\n)(.*?)^```$", re.MULTILINE | re.DOTALL)

CODE = re.compile(r"^(N\d{4})$", re.MULTILINE)


def is_for_programs(scenario: str) -> bool:
    """It has a control that the command cannot attach."""
    return re.search(r"\bcustom = \{ name = ", scenario) is not None


def is_for_real_hosts(scenario: str) -> bool:
    """It has a control of the kernel, which nothing simulated has."""
    return re.search(r"\bcc = \{ kernel = ", scenario) is not None


def is_sweep(shown: str) -> bool:
    """It is a sweep or a part of one, not a scenario."""
    return re.search(r"^\[(grid|until)\b", shown, re.MULTILINE) is not None


def of(folder: Path, kind: str, name: str) -> str:
    """The scenario that shows `name`; controls without one of their own share `control.toml`."""
    own = folder / f"{kind}-{name}.toml"
    if own.exists():
        return own.read_text()
    if kind == "control":
        return (folder / "control.toml").read_text().replace("CONTROL", name)
    raise FileNotFoundError(f"docs/guide/snippets/{own.name} is missing: every {kind} has a scenario that shows it")


def in_page(text: str) -> list[str]:
    """All scenarios of a page, and parts of scenarios: its blocks of TOML, but for files."""
    return FENCE.findall(text)


def whole(folder: Path, shown: str) -> str:
    """A scenario or a sweep as it is; a part of one behind those of `fragment.toml`, which records and expects nothing, or of
    `fragment-sweep.toml`."""
    first, rest = ("name", "fragment-sweep.toml") if is_sweep(shown) else ("version", "fragment.toml")
    is_whole = any(line.startswith(first) for line in shown.splitlines())
    return shown if is_whole else (folder / rest).read_text() + "\n" + shown


def check(narrows: Path, folder: Path, scenario: str, where: str) -> None:
    """Fails unless `narrows` accepts the scenario or the sweep and warns of nothing, but for what a sweep leaves out. Files it names are those of `folder`.

    A scenario with a control that only a program can attach must have no other mistake.
    """
    file = folder / f".check-{abs(hash(scenario))}.toml"
    file.write_text(scenario)
    try:
        command = ["sweep", file, "--dry-run"] if is_sweep(scenario) else ["check", file]
        run = subprocess.run([narrows, *command], capture_output=True, text=True)
    finally:
        file.unlink()
    said = run.stdout + run.stderr
    if is_for_programs(scenario) and CODE.findall(said) == ["N0160"]:
        return
    # Pages show on purpose what happens to settings of one control where there is another.
    if run.returncode == 0 and set(CODE.findall(said)) == {"N0203"}:
        return
    if run.returncode != 0 or "⚠" in said:
        raise ValueError(f"{where} shows a scenario that is not fine:\n{scenario}\n{said}")
