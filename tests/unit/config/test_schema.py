"""The committed JSON schema is the one the models give."""

from __future__ import annotations

import json

from docs.generate.schema import schema_text


def test_the_schema_refuses_unknown_keys_everywhere():
    sections = json.loads(schema_text())["$defs"]
    objects = {name: section for name, section in sections.items() if section.get("type") == "object"}
    assert {"NetworkConfig", "Experiment", "Traffic", "BestLevel"} <= set(objects)
    assert all(section["additionalProperties"] is False for section in objects.values())


def test_quantities_are_texts_with_units_and_so_are_their_defaults():
    sections = json.loads(schema_text())["$defs"]
    assert sections["Experiment"]["properties"]["warm_up"]["type"] == "string"
    assert sections["NetworkConfig"]["properties"]["server_bandwidth"]["default"] == "100 Mbit/s"
