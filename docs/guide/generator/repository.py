"""Documents of the repository as pages: copied, with links that lead where the guide has them."""

import posixpath
import re
from pathlib import Path

# Where documents stand in the guide.
PLACES = {
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "docs/fidelity.md": "fidelity.md",
    "docs/ns-3.md": "ns-3.md",
    "docs/references.md": "references.md",
    "docs/robustness.md": "robustness.md",
    "docs/speed.md": "speed.md",
    "docs/twins.md": "twins.md",
    "docs/weaknesses.md": "weaknesses.md",
}
GUIDE = "docs/guide/"
FOLDERS = {"docs/decisions": "decisions", "docs/reproductions": "reproductions"}

LINK = re.compile(r"(!?)\[((?:[^\[\]]|`[^`]*`)*)\]\(([^()\s]+)\)")


def places(root: Path) -> dict[str, str]:
    """All documents that are pages: path in the repository, path in the guide."""
    all_places = {path: page for path, page in PLACES.items() if (root / path).exists()}
    for folder, target in FOLDERS.items():
        for file in sorted((root / folder).glob("*.md")):
            all_places[f"{folder}/{file.name}"] = f"{target}/{file.name}"
    return all_places


def adapt(text: str, path: str, all_places: dict[str, str]) -> str:
    """Turns links to documents that are pages into links to these, and links to other files into their names."""
    here = posixpath.dirname(all_places.get(path, path.removeprefix(GUIDE)))

    def relink(found: re.Match) -> str:
        picture, label, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        file, _, fragment = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        page = full.removeprefix(GUIDE) if full.startswith(GUIDE) else all_places.get(full)
        if page is not None:
            return f"{picture}[{label}]({posixpath.relpath(page, here or '.')}{'#' + fragment if fragment else ''})"
        return label if "`" in label else f"{label} (`{full}`)"

    return LINK.sub(relink, text)


def copy(root: Path, out: Path) -> None:
    """Copies all documents, and the links of pages that lead out of `docs/guide`."""
    all_places = places(root)
    for page in (root / GUIDE).glob("*.md"):
        target = out / page.name
        target.write_text(adapt(target.read_text(), GUIDE + page.name, all_places))
    for path, page in all_places.items():
        target = out / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(adapt((root / path).read_text(), path, all_places))
    for folder, title in [("decisions", "Decisions"), ("reproductions", "Reproductions")]:
        about = {
            "decisions": "Hard choices, what the others were, and what each costs.",
            "reproductions": "Experiments of papers, repeated with `narrows repro PAPER`. Verdicts are computed.",
        }[folder]
        names = sorted(Path(page).stem for page in all_places.values() if page.startswith(folder))
        listed = "\n".join(names)
        (out / folder / "index.md").write_text(f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n")
