"""Pages of congestion controls, mechanisms, networks, patterns and transports, from `narrows list --json`."""

import re

import schema as scenario
import snippets

# Lists of `narrows list --json` with a page for each entry: key, kind of snippet, title and what stands above the list.
LISTS = [
    ("controls", "control", "Congestion controls", "How senders find their rate. `cc = { NAME = {} }` in a traffic group chooses one."),
    ("mechanisms", "mechanism", "Mechanisms of switches and hosts", "What switches and hosts can do besides. Everything is off unless a scenario turns it on."),
    ("transports", "transport", "Transports", "How data is carried: streams unless a traffic group says otherwise."),
    ("topologies", "topology", "Topologies", "Networks that can be had by name. `[topology.NAME]` chooses one."),
    ("patterns", "pattern", "Traffic patterns", "Who sends how much to whom, and when. `pattern = { NAME = { … } }` in a traffic group chooses one."),
]

DIFFERS = re.compile(r"^Differs from ", re.MULTILINE)


def readable(about: str) -> str:
    """Module documentation as Markdown: each deviation becomes an item of its own."""
    lines, inside = [], False
    for line in about.splitlines():
        fence = line.startswith("```")
        if fence and not inside and line == "```":
            line = "```rust"
        inside = inside != fence
        if not inside and line.startswith("Differs from "):
            lines.append("")
            line = f"**Differs from** {line.removeprefix('Differs from ')}"
        lines.append(line)
    return "\n".join(lines).strip() + "\n"


def page(topic: dict, snippet: str, full_schema: dict) -> str:
    """One page: what it is, source, what it needs, a scenario, what it does, its settings."""
    name = topic["name"]
    text = f"({topic['kind']}-{name})=\n# {name}\n\n{sentence(topic['summary'])}\n\n"
    facts = [("In a scenario", f"`{topic['place']}`"), ("Source", topic["source"])]
    text += "".join(f"- {what}: {fact}\n" for what, fact in facts if fact not in ("", "``", "none"))
    text += "".join(f"- It {need}.\n" for need in topic["needs"])
    if topic["about"]:
        text += f"\n## What it does\n\n{readable(topic['about'])}"
    runs = "A complete scenario; save it and `narrows run` it."
    if snippets.is_for_programs(snippet):
        runs = "A scenario for a program that attaches the control; the command `narrows` cannot run it."
    if snippets.is_for_real_hosts(snippet):
        runs = "A scenario for real hosts; save it and `narrows live` it."
    text += f"\n## A scenario\n\n{runs}\n\n```toml\n{snippet}```\n"
    if topic["settings"]:
        text += "\n## Settings\n"
    for settings in topic["settings"]:
        # Headings link to the reference, where the definition stands with those it refers to.
        link = f"### [{settings}](#{scenario.anchor(settings)})"
        text += f"\n{link}\n\n{scenario.body(full_schema['$defs'][settings])}"
    return text


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def index(title: str, about: str, topics: list[dict]) -> str:
    names = "\n".join(topic["name"] for topic in topics)
    rows = [["name", "what it is", "source"]]
    for topic in topics:
        link = f"[{topic['name']}](#{topic['kind']}-{topic['name']})"
        rows.append([link, scenario.cell(topic["summary"]), scenario.cell(topic["source"])])
    if not any(row[2] for row in rows[1:]):
        rows = [row[:2] for row in rows]
    return f"# {title}\n\n{about}\n\n{scenario.table(rows)}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
