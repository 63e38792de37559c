"""Every number that a file can hold has a range: both ends are accepted, what is beyond is refused.

The keys are taken from the models themselves, so that a new one is tested when it is born; one without a
range fails. Numbers read without a model (rows of tables, latencies) are tested beside their readers.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import annotated_types
import pytest
from pydantic import BaseModel, Strict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from torsweep.config.experiment import Experiment
from torsweep.config.knobs import KNOBS
from torsweep.config.network import NetworkConfig
from torsweep.config.overrides import Overrides
from torsweep.engines.run_spec import RunSpec
from torsweep.errors import InputError
from torsweep.network.bandwidth_import import Speedtest
from torsweep.network.model import Network
from torsweep.network.relays_import import StagedRelays
from torsweep.pipeline.schema import schema_text
from torsweep.stats.claims.claim import claims_model
from torsweep.units import (
    BYTES_PER,
    BYTES_PER_SECOND_PER,
    NANOSECONDS_PER,
    Between,
    format_quantity,
    parse_quantity,
)

FILES = (NetworkConfig, Experiment, claims_model(), Overrides, RunSpec, Network, StagedRelays, Speedtest)

KEY_OF_MAPPING = "key of a mapping"
"""Stands beside the constraints of a number that is a key, which JSON writes as text."""


class Number(NamedTuple):
    """A key that holds a number: its type with what constrains it."""

    key: str
    kind: type
    metadata: tuple[Any, ...]


def models_of(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield from models_of(inner, seen)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for argument in typing.get_args(annotation):
        yield from models_in(argument)


def leaves(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[tuple[type, tuple[Any, ...]]]:
    """The plain types that an annotation comes to, each with its constraints."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        inner, *more = typing.get_args(annotation)
        yield from leaves(inner, (*more, *metadata))
    elif origin is Literal or annotation is type(None):
        return
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from leaves(part, metadata)
    elif origin is Mapping:
        key, value = typing.get_args(annotation)
        yield from ((kind, (*constraints, KEY_OF_MAPPING)) for kind, constraints in leaves(key, ()))
        yield from leaves(value, ())
    elif origin is not None:
        for part in typing.get_args(annotation):
            yield from leaves(part, ())
    elif annotation in (int, float, bool):
        yield annotation, metadata


def numbers() -> list[Number]:
    seen: set[type[BaseModel]] = set()
    found = []
    for file in FILES:
        for model in models_of(file, seen):
            hints = typing.get_type_hints(model, include_extras=True)
            for name in model.model_fields:
                found += [
                    Number(f"{model.__name__}.{name}", kind, flat(metadata))
                    for kind, metadata in leaves(hints[name], ())
                ]
    return found


def flat(metadata: tuple[Any, ...]) -> tuple[Any, ...]:
    """Constraints one by one: pydantic's ``Field`` holds several."""
    return tuple(
        part for each in metadata for part in (each.metadata if isinstance(each, FieldInfo) else [each])
    )


NUMBERS = [number for number in numbers() if number.kind is not bool]
SWITCHES = [number for number in numbers() if number.kind is bool]


def accepts(number: Number, value: object) -> bool:
    try:
        TypeAdapter(Annotated[number.kind, *number.metadata]).validate_python(value)
    except ValidationError:
        return False
    return True


def bound(number: Number, *kinds: type) -> Any:
    found = [part for part in number.metadata if isinstance(part, kinds)]
    assert len(found) == 1, f"{number.key}: has no range, or two"
    return found[0]


def test_the_keys_of_every_file_are_found():
    keys = {number.key for number in NUMBERS}
    assert {
        "NetworkConfig.relays",
        "AccessDelay.median",
        "Experiment.warm_up",
        "ClientTraffic.response",
        "Starvation.count",
        "RoundRobin.quantum_cells",
        "RunTraffic.timeout_ns",
        "Relay.consensus_weight",
        "StagedRelay.weight",
    } <= keys
    assert len(keys) > 70


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.key)
def test_both_ends_of_a_range_are_accepted_and_what_is_beyond_is_not(number: Number):
    quantity = [part for part in number.metadata if isinstance(part, Between)]
    if quantity:
        check_quantity(number, quantity[0])
        return
    least = bound(number, annotated_types.Ge).ge
    most = bound(number, annotated_types.Le, annotated_types.Lt)
    step = 1 if number.kind is int else 1e-9 * max(1, abs(least))
    assert accepts(number, number.kind(least))
    assert not accepts(number, least - step)
    if isinstance(most, annotated_types.Le):
        assert accepts(number, number.kind(most.le))
        assert not accepts(number, most.le + (1 if number.kind is int else 1e-9 * max(1.0, most.le)))
    else:
        assert not accepts(number, number.kind(most.lt))
    text = () if KEY_OF_MAPPING in number.metadata else ("5", True)
    for wrong in (float("nan"), float("inf"), 10**400, "five", None, *text):
        assert not accepts(number, wrong), f"{number.key} takes {wrong!r}"


def check_quantity(number: Number, between: Between) -> None:
    table = next(
        table
        for table in (NANOSECONDS_PER, BYTES_PER, BYTES_PER_SECOND_PER)
        if between.most.split()[1] in table
    )
    least, most = between.bounds
    assert accepts(number, between.least) and accepts(number, between.most)
    assert not accepts(number, format_quantity(most + 1, table))
    if least:
        assert not accepts(number, format_quantity(least - 1, table))
    for wrong in (least, float(least), "nan s", "-1 s", "", True, None, f"{'9' * 400} s"):
        assert not accepts(number, wrong), f"{number.key} takes {wrong!r}"


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.key)
def test_a_switch_is_true_or_false_and_nothing_else(switch: Number):
    assert any(isinstance(part, Strict) for part in switch.metadata)
    assert accepts(switch, True) and accepts(switch, False)
    for wrong in ("yes", "true", 1, 0, "on"):
        assert not accepts(switch, wrong)


def test_the_schema_states_every_range():
    """In the units of the file; the models of run.json and network.json are not in that schema."""
    sections = json.loads(schema_text())["$defs"]
    for number in NUMBERS:
        section, key = number.key.split(".")
        if section not in sections or key == "name":
            continue
        # A source may stand as a text too: its keys are one of two alternatives.
        stated = json.dumps(sections[section].get("properties", {}).get(key, sections[section]))
        quantity = [part for part in number.metadata if isinstance(part, Between)]
        words = ("x-least", "x-most") if quantity else ("minimum", "aximum")
        assert all(word in stated for word in words), f"{number.key}: {stated}"


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
