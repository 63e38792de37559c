"""The committed JSON schema is the one the models give."""

from __future__ import annotations

import json

from docs.generate.schema import OWN_TEST, schema_text


def test_the_schema_refuses_unknown_keys_everywhere():
    sections = json.loads(schema_text())["$defs"]
    objects = {name: section for name, section in sections.items() if section.get("type") == "object"}
    assert {"NetworkConfig", "Experiment", "Traffic", "BestLevel"} <= set(objects)
    opened = [name for name, section in objects.items() if section.get("additionalProperties") is not False]
    assert opened == [OWN_TEST], "a test beside an experiment.yaml has keys of its own"


def test_quantities_are_texts_with_units_and_so_are_their_defaults():
    sections = json.loads(schema_text())["$defs"]
    assert sections["Experiment"]["properties"]["warm_up"]["type"] == "string"
    assert sections["NetworkConfig"]["properties"]["server_bandwidth"]["default"] == "100 Mbit/s"
