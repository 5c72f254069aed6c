"""Puts the pages of the guide together: those of `docs/guide`, those made from the program, and documents of the repository.

    python generate.py NARROWS OUT [PLAYGROUND]

NARROWS is the command, OUT the folder the pages are written to, PLAYGROUND that of the playground (`cargo xtask playground`): the folder
`playground` beside that of the guide if left out. `cargo xtask guide` calls it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import playground
import repository
import results
import schema as scenario
import snippets

GUIDE = Path(__file__).resolve().parent.parent
SNIPPETS = GUIDE / "snippets"


def main(narrows: Path, out: Path, built: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(GUIDE, out, ignore=shutil.ignore_patterns("generator", "snippets", "__pycache__", "requirements.txt"))
    lists, full_schema = ask(narrows, "list", "--json"), ask(narrows, "schema")
    write = lambda path, text: write_page(out / path, text)
    write("reference/index.md", scenario.index(full_schema))
    names = scenario.pages(full_schema)
    for name, title, _ in scenario.PARTS:
        write(f"reference/{name}.md", scenario.page(full_schema, title, names[name]))
    for key, kind, title, about in pages.LISTS:
        write(f"{key}/index.md", pages.index(title, about, lists[key]))
        for topic in lists[key]:
            snippet = snippets.of(SNIPPETS, kind, topic["name"])
            write(f"{key}/{topic['name']}.md", pages.page(topic, snippet, full_schema))
    write("results/tables.md", results.tables(lists["tables"]))
    write("results/metrics.md", results.metrics(lists["metrics"]))
    write("results/activity.md", results.activity(lists["activity"]))
    write("results/diagnostics.md", results.diagnostics(lists["codes"]))
    repository.copy(GUIDE.parent.parent, out)
    check_scenarios(narrows, out)
    (out / "extra").mkdir(exist_ok=True)
    playground.include(built, out, SNIPPETS)


def check_scenarios(narrows: Path, out: Path) -> None:
    """Every scenario that the guide itself shows is fine. What documents of the repository show has tests of its own."""
    copied = set(repository.places(GUIDE.parent.parent).values())
    for page in sorted(out.rglob("*.md")):
        if str(page.relative_to(out)) not in copied:
            for shown in snippets.in_page(page.read_text()):
                snippets.check(narrows, SNIPPETS, snippets.whole(SNIPPETS, shown), str(page.relative_to(out)))


def ask(narrows: Path, *arguments: str) -> dict:
    return json.loads(subprocess.run([narrows, *arguments], capture_output=True, text=True, check=True).stdout)


def write_page(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    target = Path(sys.argv[2]).resolve()
    built = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else target.parent.parent / "playground"
    main(Path(sys.argv[1]).resolve(), target, built)
