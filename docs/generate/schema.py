"""The JSON schema of configuration files, with what claims and engines add to it.

In: the models of :mod:`torsweep.config`, the tests of claims, the engines. Out: the text of
``configs/schema.json``.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import models_json_schema

from torsweep.config.experiment import Experiment
from torsweep.config.knobs import KNOBS
from torsweep.config.network import NetworkConfig
from torsweep.engines.contract import engine_names
from torsweep.stats.claims import claim_tests, claims_model

OWN_TEST = "OwnTest"

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The schema of every configuration file: under ``$defs`` the sections, in ``knobs`` the levels."""
    claims = claims_model()
    models = [(model, "validation") for model in (NetworkConfig, Experiment, claims)]
    _, document = models_json_schema(models, title="torsweep configuration")  # type: ignore[arg-type]
    sections = document["$defs"]
    keys = sections["Experiment"]["properties"]
    keys["claims"]["items"] = sections.pop(claims.__name__)["properties"]["claims"]["items"]
    sections[OWN_TEST] = _own_test()
    keys["claims"]["items"]["oneOf"].append({"$ref": f"#/$defs/{OWN_TEST}"})
    keys["engines"]["items"] = {"type": "string", "enum": list(engine_names())}
    return {
        "$schema": DIALECT,
        "description": "Networks (configs/networks) fit NetworkConfig, experiments fit Experiment.",
        **document,
        "anyOf": [{"$ref": "#/$defs/NetworkConfig"}, {"$ref": "#/$defs/Experiment"}],
        "knobs": {
            knob.name: {"description": knob.meaning, "accepted": knob.levels.accepted, **knob.levels.schema}
            for knob in KNOBS.values()
        },
    }


def _own_test() -> dict[str, Any]:
    """A claim whose test is in a module beside the experiment.yaml: its keys are that module's."""
    common = ["id", "text", "knob", "test"]
    properties = {"test": {"type": "string", "not": {"enum": list(claim_tests())}}}
    return {"type": "object", "required": common, "properties": properties}


def schema_text() -> str:
    """The whole of ``configs/schema.json``; a test fails when that file drifts."""
    return json.dumps(schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
