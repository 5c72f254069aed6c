"""Tests of the generator: python -m unittest discover docs/guide/generator"""

import base64
import json
import re
import tempfile
import unittest
import zlib
from pathlib import Path

import offline
import pages
import playground
import repository
import results
import schema
import snippets

SCHEMA = {
    "properties": {"version": {"type": "integer", "description": "Version."}, "step": {"$ref": "#/$defs/Step"}},
    "required": ["version"],
    "$defs": {
        "Step": {
            "type": "object",
            "description": "Step marking.",
            "required": ["k"],
            "properties": {
                "k": {"$ref": "#/$defs/Bytes", "description": "K: a | b."},
                "gain": {"type": "number", "default": 0.0625, "accepts": "above 0, at most 1", "description": "g"},
                "other": {"anyOf": [{"$ref": "#/$defs/Step"}, {"type": "null"}], "default": None},
            },
        },
        "Bytes": {"type": "string", "examples": ["1 kB"]},
        "Span": {"type": "string"},
        "BitRate": {"type": "string"},
    },
}


class Reference(unittest.TestCase):
    def test_a_key_has_type_default_range_and_meaning(self):
        table = schema.keys(SCHEMA["$defs"]["Step"])
        self.assertIn("| `k` | [size](#quantities) | required |  | K: a \\| b. |", table)
        self.assertIn("| `gain` | real | `0.0625` | above 0, at most 1 | g |", table)
        self.assertIn("| `other` | [Step](#setting-step) | none |", table)

    def test_columns_that_say_nothing_are_left_out(self):
        plain = {"properties": {"k": {"type": "integer", "description": "K."}}, "required": ["k"]}
        self.assertEqual(schema.keys(plain), "| key | type | default | meaning |\n| --- | --- | --- | --- |\n| `k` | integer | required | K. |\n")

    def test_defaults_are_written_as_toml(self):
        self.assertEqual(schema.toml({"every": 3, "on": True, "none": None}), "{ every = 3, on = true }")
        self.assertEqual(schema.toml(["a", 1.5]), '["a", 1.5]')

    def test_a_definition_stands_on_one_page_only(self):
        found = schema.reachable(SCHEMA, ["Step"], set())
        self.assertEqual(found, ["Step"])
        self.assertEqual(schema.reachable(SCHEMA, ["Step"], {"Step"}), [])

    def test_columns_say_when_they_are_there(self):
        column = {"name": "cnps", "type": "integer", "optional": True, "unit": "B", "meaning": "Heard.", "present": "RDMA"}
        text = results.table({"name": "flows", "meaning": "Flows.", "present": "always", "columns": [column]})
        self.assertIn("| `cnps` | integer, may be missing | B | Heard. Only in RDMA. |", text)


class Texts(unittest.TestCase):
    def test_deviations_become_paragraphs_outside_of_code_only(self):
        text = pages.readable("It does.\n```text\nDiffers from x\n```\nDiffers from RFC 1: a,\nb.\nDiffers from RFC 2: c.")
        self.assertIn("```text\nDiffers from x\n```\n\n**Differs from** RFC 1: a,\nb.\n\n**Differs from** RFC 2: c.\n", text)

    def test_links_lead_to_pages_and_other_files_are_named(self):
        places = {"docs/decisions/1.md": "decisions/1.md", "docs/references.md": "references.md"}
        text = "[r](../references.md#a), [`x`](../../crates/x.rs), [y](../../y.rs), [w](https://example.org)"
        expected = "[r](../references.md#a), `x`, y (`y.rs`), [w](https://example.org)"
        self.assertEqual(repository.adapt(text, "docs/decisions/1.md", places), expected)

    def test_links_of_guide_pages_lead_out_of_their_folder_and_stay_within(self):
        places = {"docs/decisions/1.md": "decisions/1.md"}
        text = "[d](../decisions/1.md), [c](controls/index.md), ![p](pictures/a.png), [x](../../a.rs)"
        expected = "[d](decisions/1.md), [c](controls/index.md), ![p](pictures/a.png), x (`a.rs`)"
        self.assertEqual(repository.adapt(text, "docs/guide/a.md", places), expected)

    def test_scenarios_of_a_page_are_its_blocks_of_toml(self):
        self.assertEqual(snippets.in_page("a\n```toml\nx = 1\n```\n```console\ny\n```\n"), ["x = 1\n"])

    def test_files_of_a_page_are_left_to_its_commands(self):
        self.assertEqual(snippets.in_page("```toml\n# a.toml\nx = 1\n```\n```toml\n# A b.toml\n```\n"), ["# A b.toml\n"])

    def test_a_part_of_a_scenario_is_checked_behind_another(self):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "fragment.toml").write_text("version = 1\n")
            self.assertEqual(snippets.whole(folder, "[record]\n"), "version = 1\n\n[record]\n")
            self.assertEqual(snippets.whole(folder, "version = 1\nx = 2\n"), "version = 1\nx = 2\n")
            (folder / "fragment-sweep.toml").write_text("name = 'a'\n")
            self.assertEqual(snippets.whole(folder, "[until]\n"), "name = 'a'\n\n[until]\n")
            self.assertEqual(snippets.whole(folder, "name = 'b'\n[grid.x]\n"), "name = 'b'\n[grid.x]\n")

    def test_a_scenario_with_a_control_from_outside_is_for_programs(self):
        self.assertTrue(snippets.is_for_programs('cc = { custom = { name = "mine" } }'))
        self.assertFalse(snippets.is_for_programs('cc = { dctcp = {} }'))


class Offline(unittest.TestCase):
    def test_what_is_loaded_from_the_network_is_found(self):
        for text in [
            '<script src="https://cdn.example/x.js"></script>',
            '<link rel="stylesheet" href="//fonts.example/css">',
            '<link rel="preconnect" href="https://fonts.example">',
            '<img src="http://example.org/a.png">',
            "<style>@import 'https://example.org/a.css';</style>",
            '<p style="background: url(https://example.org/a.png)">',
        ]:
            self.assertEqual(len(offline.in_page(text)), 1, text)

    def test_links_to_follow_and_own_files_are_fine(self):
        text = '<a href="https://example.org">x</a><script src="_static/x.js"></script><link rel="canonical" href="https://x">'
        self.assertEqual(offline.in_page(text), [])


class Playground(unittest.TestCase):
    SCENARIO = 'version = 2\nname = "a"\n\n[topology.star]\nhosts = 2\n'

    def test_a_scenario_gets_a_button_that_holds_it(self):
        text = playground.with_buttons(f"```toml\n{self.SCENARIO}```\n", "controls/dctcp.md", Path("."))
        packed = re.search(r'href="\.\./playground/index\.html#s=([\w-]+)"', text)[1]
        shared = json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), wbits=-15))
        self.assertEqual(shared["text"], self.SCENARIO)

    def test_parts_and_sweeps_get_none(self):
        for shown in ['[switches.default]\npfc = {}\n', f"{self.SCENARIO}[grid]\n"]:
            page = f"```toml\n{shown}```\n"
            self.assertEqual(playground.with_buttons(page, "index.md", Path(".")), page)

    def test_without_a_playground_pages_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "index.md"
            page.write_text(f"```toml\n{self.SCENARIO}```\n")
            playground.include(Path(folder) / "none", Path(folder), Path(folder))
            self.assertEqual(page.read_text(), f"```toml\n{self.SCENARIO}```\n")


if __name__ == "__main__":
    unittest.main()
