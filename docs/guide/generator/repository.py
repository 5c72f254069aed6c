"""Documents of the repository as pages: copied, with links that lead where the guide has them."""

import posixpath
import re
from pathlib import Path

# Where documents stand in the guide.
PLACES = {
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "docs/references.md": "references.md",
    "docs/speed.md": "speed.md",
}
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
    here = posixpath.dirname(all_places[path])

    def relink(found: re.Match) -> str:
        picture, label, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        file, _, fragment = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        if full in all_places and not picture:
            page = posixpath.relpath(all_places[full], here or ".")
            return f"[{label}]({page}{'#' + fragment if fragment else ''})"
        return label if "`" in label else f"{label} (`{full}`)"

    return LINK.sub(relink, text)


def copy(root: Path, out: Path) -> None:
    all_places = places(root)
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
