"""Every number that a file can hold has a range, which its schema states.

The keys are taken from the models themselves, so that a new one is tested when it is born; one without a
range fails. Numbers read without a model (rows of tables, latencies) are tested beside their readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from torsweep.config.experiment import Experiment
from torsweep.config.knobs import KNOBS
from torsweep.config.network import NetworkConfig
from torsweep.config.overrides import Overrides
from torsweep.engines.run_spec import RunSpec
from torsweep.errors import InputError
from torsweep.network.model import Network
from torsweep.network.relays_import import StagedRelays
from torsweep.stats.claims.claim import claims_model
from torsweep.units import (
    BYTES_PER,
    BYTES_PER_SECOND_PER,
    NANOSECONDS_PER,
    Between,
    DurationNs,
    RateBytesPerSecond,
    SizeBytes,
    parse_quantity,
)

FILES = (NetworkConfig, Experiment, claims_model(), Overrides, RunSpec, Network, StagedRelays)


def _values(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each part of a schema that says what a value is, with the keys that lead to it."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if isinstance(schema, dict):
        if "type" in schema:
            yield where, schema
        for key, inner in schema.items():
            if key not in ("default", "examples", "propertyNames"):
                yield from _values(inner, f"{where}.{key}")


@pytest.mark.parametrize("model", FILES, ids=lambda model: model.__name__)
def test_every_number_has_a_least_and_a_most(model: type[BaseModel]):
    values = dict(_values(model.model_json_schema(), model.__name__))
    # The name of a source may be a year; the version of a format is one number.
    others = ("Source.anyOf.1", ".format_version")
    numbers = {
        where: one
        for where, one in values.items()
        if one["type"] in ("integer", "number") and not where.endswith(others)
    }
    quantities = {where: one for where, one in values.items() if "examples" in one}
    assert numbers or quantities
    for where, one in numbers.items():
        assert one.keys() & {"minimum", "exclusiveMinimum"}, where
        assert one.keys() & {"maximum", "exclusiveMaximum"}, where
    for where, one in quantities.items():
        assert {"x-least", "x-most"} <= one.keys(), where


WRONG = {"bool": ("yes", "true", 1, 0, None), "int": ("5", True, 5.5, 10**400), "float": ("5", True, 10**400)}
"""What stands for no switch and no number, by pydantic's name of the type."""


def _plain(schema: Any) -> Iterator[dict[str, Any]]:
    """The switches and numbers in pydantic's schema of a model; keys of mappings are texts in a file, and
    quantities are numbers without ends there."""
    if isinstance(schema, list | tuple):
        schema = dict(enumerate(schema))
    if isinstance(schema, dict):
        if schema.get("type") in WRONG and (schema["type"] == "bool" or schema.keys() & {"ge", "gt"}):
            yield schema
        for key, inner in schema.items():
            if key not in ("keys_schema", "serialization", "metadata"):
                yield from _plain(inner)


@pytest.mark.parametrize("model", FILES, ids=lambda model: model.__name__)
def test_switches_and_numbers_are_not_guessed_from_other_values(model: type[BaseModel]):
    found = list(_plain(model.__pydantic_core_schema__))
    assert found
    for one in found:
        for wrong in (*WRONG[one["type"]], float("nan"), float("inf")):
            with pytest.raises(ValidationError):
                SchemaValidator(one).validate_python(wrong)


@pytest.mark.parametrize(
    ("kind", "least", "most", "below", "above"),
    [
        (DurationNs, "1 s", "1 h", "999999999 ns", "3600000000001 ns"),
        (SizeBytes, "1 KiB", "1 GiB", "1023 B", "1073741825 B"),
        (RateBytesPerSecond, "0 B/s", "1 Gbit/s", "-1 B/s", "125000001 B/s"),
    ],
)
def test_both_ends_of_a_quantity_are_accepted_and_what_is_beyond_is_not(kind, least, most, below, above):
    adapter = TypeAdapter(Annotated[kind, Between(least, most)])
    for value in (least, most):
        adapter.validate_python(value)
    for wrong in (below, above, 5, 5.0, "nan s", "", True, None, f"{'9' * 400} s"):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


KNOBS_ENDS = {
    "refill_interval": ("1ms", "1000ms", "0.999ms", "1001ms"),
    "round_robin_quantum": ("1", "9999", "0", "10000"),
    "ewma_half_life": ("10ms", "1h", "9ms", "3601s"),
    "scheduler": ("kist_2ms", "kist_lite_100ms", "kist_1ms", "kist_101ms"),
    "clock": ("coarse_1ms", "coarse_100ms", "coarse_0ms", "coarse_101ms"),
    "guards": ("1", "99", "0", "100"),
    "streams": ("1", "99", "0", "100"),
    "cells": ("1", "9999999", "0", "10000000"),
    "link_queue": ("droptail_2KB", "droptail_99999KB", "droptail_1KB", "droptail_100000KB"),
    "load": ("0.0001", "20", "0", "20.0001"),
    "scale": ("0.003", "1", "0.0029", "1.0001"),
    "loss": ("0", "0.2", "-0.1", "0.2001"),
    "middle_bandwidth": ("20KiBps", "12500MBps", "19.9KiBps", "12501MBps"),
}
"""Of each knob whose levels are numbers: both ends, then what is just beyond each."""


def test_levels_of_knobs_that_are_numbers_have_ends():
    of_numbers = {name for name, knob in KNOBS.items() if "x-most" in str(knob.levels.schema)}
    assert of_numbers == set(KNOBS_ENDS)


@pytest.mark.parametrize("name", KNOBS_ENDS)
def test_both_ends_of_a_knob_are_levels_and_what_is_beyond_is_none(name: str):
    least, most, below, above = KNOBS_ENDS[name]
    for level in (least, most):
        assert KNOBS[name].read(level)
    for level in (below, above, "nan", "-1", "1e400", "010"):
        with pytest.raises(InputError):
            KNOBS[name].read(level)


def test_no_unit_stands_for_two_quantities():
    tables = (NANOSECONDS_PER, BYTES_PER, BYTES_PER_SECOND_PER)
    assert sum(map(len, tables)) == len({unit for table in tables for unit in table})
    assert parse_quantity("1 min", NANOSECONDS_PER, "") == 60 * 10**9
