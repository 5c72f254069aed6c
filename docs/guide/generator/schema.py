"""The scenario reference: tables of keys from the JSON schema that `narrows schema` prints."""

import json
import re
from collections.abc import Iterator

# The parts of a scenario: file name, title, and the definitions with which each begins. A definition stands on the first page
# from which it can be reached.
PARTS = [
    ("topology", "Topology", ["Topology"]),
    ("switches", "Switches", ["Switch"]),
    ("hosts", "Hosts", ["Hosts"]),
    ("reaction-points", "Reaction points", ["ReactionPoints"]),
    ("routing", "Routing, ports and failures", ["Routing", "Salt", "PortChoice", "Failure"]),
    ("paths", "Links that change", ["LinkPath"]),
    ("transport", "Transports", ["Stream", "Rdma", "Datagram"]),
    ("controls", "Congestion controls", ["CongestionControl"]),
    ("patterns", "Traffic patterns", ["Pattern"]),
    ("traffic", "Traffic groups", ["Traffic"]),
    ("record", "Recording", ["Record"]),
    ("measure", "Stop, measure, expect", ["Stop", "Measure", "Expect"]),
]

# In place of a value that may be left out.
OFF = "Off"

QUANTITIES = {"Span": "time", "Bytes": "size", "BitRate": "rate"}


def references(part: object) -> Iterator[str]:
    """Names of all definitions that a part of the schema refers to, in order."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].removeprefix("#/$defs/")
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def reachable(schema: dict, roots: list[str], taken: set[str]) -> list[str]:
    """Definitions that can be reached from `roots` and are not `taken`, nearest first."""
    found, waiting = [], list(roots)
    while waiting:
        name = waiting.pop(0)
        if name in taken or name in found or name in QUANTITIES or name == OFF:
            continue
        found.append(name)
        waiting.extend(references(schema["$defs"][name]))
    return found


def pages(schema: dict) -> dict[str, list[str]]:
    """The definitions of each page. Pages come in the order of `PARTS`, but congestion controls and patterns are nobody else's."""
    own = {root for _, _, roots in PARTS for root in roots}
    taken: set[str] = set()
    result = {}
    for name, _, roots in PARTS:
        result[name] = reachable(schema, roots, taken | (own - set(roots)))
        taken.update(result[name])
    return result


def anchor(name: str) -> str:
    return f"setting-{name.lower()}"


def cell(text: str) -> str:
    """A text as one line of a table."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


def link(name: str) -> str:
    """A definition as the type of a value."""
    if name in QUANTITIES:
        return f"[{QUANTITIES[name]}](#quantities)"
    return f"[{name}](#{anchor(name)})"


def on(part: dict) -> dict:
    """A value as it is where it is not off."""
    others = [one for one in part.get("anyOf", []) if one.get("$ref") != f"#/$defs/{OFF}"]
    if len(others) == len(part.get("anyOf", [])):
        return part
    rest = {key: value for key, value in part.items() if key != "anyOf"}
    return rest | (others[0] if len(others) == 1 else {"anyOf": others})


def type_of(part: dict) -> str:
    """The type of a value, in words and links."""
    part = on(part)
    if "$ref" in part:
        return link(part["$ref"].removeprefix("#/$defs/"))
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    for key in ("anyOf", "oneOf"):
        if key in part:
            return " or ".join(type_of(one) for one in part[key] if one.get("type") != "null")
    kind = part.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(type_of({**part, "type": one}) for one in kind if one != "null")
    if kind == "array":
        if "prefixItems" in part:
            return "array of " + ", ".join(type_of(one) for one in part["prefixItems"])
        return "array of " + type_of(part.get("items", {}))
    if kind == "object" and "additionalProperties" in part and isinstance(part["additionalProperties"], dict):
        return "table of " + type_of(part["additionalProperties"])
    return {"number": "real", "boolean": "true or false", "object": "table"}.get(kind, kind)


def toml(value: object) -> str:
    """A default as it is written in a scenario."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if isinstance(value, dict):
        parts = (f"{key} = {toml(one)}" for key, one in value.items() if one is not None)
        return "{ " + ", ".join(parts) + " }" if value else "{}"
    return repr(value)


def default_of(part: dict, required: bool) -> str:
    if required:
        return "required"
    if "default" not in part or part["default"] is None:
        return "none"
    text = toml(part["default"])
    # Long ones repeat the defaults of the definition they refer to.
    return f"`{text}`" if len(text) <= 48 else "its defaults"


def accepts(part: dict) -> str:
    part = on(part)
    if "accepts" in part:
        return cell(part["accepts"])
    low, high = part.get("minimum"), part.get("maximum")
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low else ""


def keys(definition: dict) -> str:
    """A table of the keys of a definition."""
    required = definition.get("required", [])
    rows = [["key", "type", "default", "accepted", "meaning"]]
    for key, part in definition["properties"].items():
        meaning = cell(part.get("description", ""))
        rows.append([f"`{key}`", type_of(part), default_of(part, key in required), accepts(part), meaning])
    if not any(row[3] for row in rows[1:]):
        rows = [row[:3] + row[4:] for row in rows]
    return table(rows)


def table(rows: list[list[str]]) -> str:
    """A table in Markdown; the first row is its head."""
    head, *others = ["| " + " | ".join(row) + " |\n" for row in rows]
    return head + "| --- " * len(rows[0]) + "|\n" + "".join(others)


def variants(definition: dict) -> str:
    """A table of what may be chosen."""
    rows = [["value", "settings", "meaning"]]
    for one in definition["oneOf"]:
        meaning = cell(one.get("description", ""))
        if "const" in one:
            rows.append([f"`{json.dumps(one['const'])}`", "", meaning])
        elif "enum" in one:
            rows.extend([f"`{json.dumps(value)}`", "", meaning] for value in one["enum"])
        elif "properties" in one:
            for key, part in one["properties"].items():
                rows.append([f"`{{ {key} = … }}`", type_of(part), meaning])
        else:
            rows.append(["", type_of(one), meaning])
    if not any(row[1] for row in rows[1:]):
        rows = [[value, meaning] for value, _, meaning in rows]
    return table(rows)


def body(definition: dict) -> str:
    """Description and table of a definition."""
    text = definition.get("description", "").strip() + "\n\n"
    if "properties" in definition:
        return text + keys(definition)
    if "oneOf" in definition:
        return text + variants(definition)
    if "anyOf" in definition:
        return text + variants({"oneOf": definition["anyOf"]})
    if "enum" in definition:
        return text + "One of " + ", ".join(f"`{json.dumps(value)}`" for value in definition["enum"]) + ".\n"
    return text + f"Written as: {type_of(definition)}.\n"


def section(schema: dict, name: str, level: int = 2) -> str:
    """A definition with its heading, to which others link."""
    return f"({anchor(name)})=\n{'#' * level} {name}\n\n{body(schema['$defs'][name])}"


def page(schema: dict, title: str, names: list[str]) -> str:
    return f"# {title}\n\n" + "\n".join(section(schema, name) for name in names)


def index(schema: dict) -> str:
    """The page of the scenario as a whole."""
    parts = "\n".join(name for name, _, _ in PARTS)
    return f"""# Scenario reference

Every key that a scenario may have, as `narrows schema` knows it. The pages are made from the program itself when the guide is
built. A key that is not listed is refused. `"off"` in place of the value of a key that is not required, of a table in a list, or of an
entry of `switches` is as if it was not written.

```{{toctree}}
:maxdepth: 1

{parts}
```

## The scenario

{keys(schema)}
(quantities)=
## Quantities

Times, sizes and rates are strings: a number and a unit. They are exact; what is finer than 1 ps, 1 B or 1 b/s is refused.

| type | units | examples |
| --- | --- | --- |
| time | ps, ns, us, ms, s, min, h | {examples(schema, 'Span')} |
| size | B, kB, MB, GB, TB; KiB, MiB, GiB, TiB | {examples(schema, 'Bytes')} |
| rate | b/s, kb/s, Mb/s, Gb/s, Tb/s | {examples(schema, 'BitRate')} |
"""


def examples(schema: dict, name: str) -> str:
    return ", ".join(f"`{json.dumps(example)}`" for example in schema["$defs"][name].get("examples", []))
