"""The results reference: tables, metrics and activity as `narrows list --json` describes them."""

import schema
from schema import cell


def tables(all_tables: list[dict]) -> str:
    text = """# Tables

A results folder has one Parquet file for each table. Units stand in the names of columns, and unit and meaning of every column
in the metadata of the file (`narrows.columns`). `narrows list tables` prints what stands here, and `narrows explain
flows.fct_ps` one column.

"""
    return text + "\n".join(table(one) for one in all_tables)


def table(described: dict) -> str:
    rows = [["column", "type", "unit", "meaning"]]
    for column in described["columns"]:
        kind = column["type"] + (", may be missing" if column["optional"] else "")
        only = f" Only in {column['present']}." if column["present"] else ""
        rows.append([f"`{column['name']}`", kind, column["unit"], cell(column["meaning"]) + only])
    name = described["name"]
    head = f"(table-{name})=\n## {name}\n\n{described['meaning']} Present: {described['present']}."
    return f"{head}\n\n{schema.table(rows)}"


def metrics(sets: list[dict]) -> str:
    text = """# Metrics

The summary of a run in `run.json` and on the screen has these numbers. `GROUP` is the name of a traffic group; `total` stands
for all traffic together. `expect` in a scenario compares them with a bound. Over three seeds and more each has a 95 %
[confidence interval](../concepts.md#confidence-intervals); none of them is ever negative.
"""
    for described in sets:
        text += f"\n## {described['present'][:1].upper()}{described['present'][1:]}\n\nAfter `{described['before']}`:\n\n"
        rows = [[f"`{metric['name']}`", metric["unit"], cell(metric["meaning"])] for metric in described["metrics"]]
        text += schema.table([["metric", "unit", "meaning"], *rows])
    return text


def activity(events: list[dict]) -> str:
    text = """# Activity

Every run counts what can happen, and says what did and what never did. A mechanism that never acted shows here: if `ECN marks`
stands under "never happened", a comparison of marking thresholds says nothing.

"""
    rows = [[event["name"], cell(event["summary"]), event["place"]] for event in events]
    return text + schema.table([["what", "counts", "which runs"], *rows])


def diagnostics(codes: list[dict]) -> str:
    text = """# Diagnostics

Whatever is wrong with a scenario is said before the run, with its place in the text. Each kind has a code; `narrows explain
CODE` prints what stands here. Codes from N0101 on are warnings: the run is possible and probably not what was meant.
"""
    for code in codes:
        about = code["about"]
        text += f"\n({code['name'].lower()})=\n## {code['name']}: {code['summary']}\n\n{about}\n"
    return text
