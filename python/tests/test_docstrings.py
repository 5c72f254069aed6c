"""Settings that docstrings show are accepted."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import narrows
from narrows._sweep import _asked

TEXTS = sorted(Path(narrows.__file__).parent.glob("*.py*"))
#: A path of a scenario in quotation marks: one of the keys at the top, and what is in it.
PATH = re.compile(r'"((?:measure|record|stop|switches|topology|traffic|transport)\.[a-z0-9_.]+)["=]')


@pytest.fixture
def scenario() -> narrows.Scenario:
    """Groups of the names that docstrings use."""
    scenario = narrows.Scenario.template("leaf-spine")
    (group,) = scenario["traffic"]
    controls = {"search": "dctcp", "web": "dctcp", "dc": "gemini"}
    scenario["traffic"] = [{**group, "name": name, "cc": {control: {}}} for name, control in controls.items()]
    return scenario


def docstrings() -> list[tuple[str, str]]:
    """All docstrings of the package, with where they are."""
    found = []
    for path in TEXTS:
        if path.suffix not in (".py", ".pyi"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                found.append((f"{path.name} {getattr(node, 'name', '')}", text))
    return found


def test_paths_in_docstrings_are_those_of_scenarios(scenario: narrows.Scenario) -> None:
    paths = [(where, path) for where, text in docstrings() for path in PATH.findall(text)]
    assert len(paths) > 5
    for where, path in paths:
        try:
            scenario[path]
        except KeyError:
            # Left out, and without a default; those that docstrings name are sizes.
            try:
                scenario.with_set({path: "1 kB"})
            except narrows.Error as error:
                pytest.fail(f"{where}: {error}")


def test_the_grid_that_help_shows_makes_a_sweep(scenario: narrows.Scenario) -> None:
    text = inspect.getdoc(narrows.sweep) or ""
    (shown,) = re.findall(r":param grid:.*?``(\{.*?\})``", text, re.DOTALL)
    asked = _asked(ast.literal_eval(shown), scenario, None, None, None, None)
    asked.check_size(False)
