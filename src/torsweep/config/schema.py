"""The JSON schema of every configuration file, for editors and for readers.

In: the pydantic models. Out: the text of ``configs/schema.json``; a test fails when that file drifts.
"""

from __future__ import annotations

import json

from pydantic.json_schema import models_json_schema

from torsweep.config.experiment import Experiment
from torsweep.config.knobs import KNOBS
from torsweep.config.network import NetworkConfig

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """The schema as JSON: under ``$defs`` the sections, in ``knobs`` what each knob accepts."""
    _, schema = models_json_schema(
        [(NetworkConfig, "validation"), (Experiment, "validation")], title="torsweep configuration"
    )
    document = {
        "$schema": DIALECT,
        "description": "Networks (configs/networks) fit NetworkConfig, experiments fit Experiment.",
        **schema,
        "anyOf": [{"$ref": "#/$defs/NetworkConfig"}, {"$ref": "#/$defs/Experiment"}],
        "knobs": {
            knob.name: {"description": knob.meaning, "accepted": knob.levels.accepted, **knob.levels.schema}
            for knob in KNOBS.values()
        },
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
