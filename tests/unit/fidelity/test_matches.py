"""Only what is the same run but for the engine stands side by side."""

from __future__ import annotations

import re

import pytest

from tests.unit.fidelity.conftest import VARIANTS, MakeRun
from torsweep.errors import InputError
from torsweep.fidelity.matches import (
    MODEL,
    MODEL_REPEAT,
    REFERENCE,
    REFERENCE_REPEAT,
    REPLAY,
    engine_of,
    match_runs,
)

ONE = VARIANTS[0]
PATHS = {"web1": (("relay1", "relay2", "relay3"),)}


def test_runs_of_a_variant_on_a_network_come_together(make_run: MakeRun) -> None:
    directories = {
        REFERENCE: [make_run(REFERENCE, variant, seed) for variant in VARIANTS for seed in (1, 2)],
        MODEL: [make_run(MODEL, variant, seed) for seed in (2, 1) for variant in VARIANTS],
        REPLAY: [make_run(REPLAY, ONE, 1, paths=PATHS)],
        REFERENCE_REPEAT: [make_run(REFERENCE_REPEAT, ONE, 1, draws=99)],
        MODEL_REPEAT: [make_run(MODEL_REPEAT, ONE, 2, draws=99)],
    }
    matches = match_runs(directories)
    assert [(match.variant["refill_interval"], match.seed) for match in matches] == [
        ("1000ms", 1),
        ("1000ms", 2),
        ("10ms", 1),
        ("10ms", 2),
    ]
    assert set(matches[0].runs) == {REFERENCE, MODEL, REPLAY, REFERENCE_REPEAT}
    assert set(matches[1].runs) == {REFERENCE, MODEL, MODEL_REPEAT}
    assert engine_of(matches, REFERENCE) == "shadow 1.0"


def test_the_knobs_keep_the_order_of_the_folder(make_run: MakeRun) -> None:
    (match,) = match_runs({REFERENCE: [make_run(REFERENCE, ONE, 1)], MODEL: [make_run(MODEL, ONE, 1)]})
    assert list(match.variant) == ["refill_interval", "circuit_policy"]


def test_downloads_of_the_warm_up_are_cut(make_run: MakeRun) -> None:
    (match,) = match_runs({REFERENCE: [make_run(REFERENCE, ONE, 1)], MODEL: [make_run(MODEL, ONE, 1)]})
    starts = match.streams(MODEL)["start_us"]
    assert len(starts) > 0
    assert starts.min() >= 20_000_000  # type: ignore[operator]


def test_what_only_one_engine_has_run_is_left_out(make_run: MakeRun) -> None:
    references = [make_run(REFERENCE, variant, 1) for variant in VARIANTS]
    matches = match_runs({REFERENCE: references, MODEL: [make_run(MODEL, VARIANTS[1], 1)]})
    assert [match.variant for match in matches] == [VARIANTS[1]]


def test_nothing_in_common_is_refused(make_run: MakeRun) -> None:
    with pytest.raises(InputError, match="no variant and network has been run in both engines"):
        match_runs({REFERENCE: [make_run(REFERENCE, ONE, 1)], MODEL: [make_run(MODEL, ONE, 2)]})


@pytest.mark.parametrize(
    ("series", "changes", "key"),
    [
        (MODEL, {"duration_ns": 10**12}, "duration_ns"),
        (MODEL, {"era": "today"}, "era"),
        (MODEL, {"seed": 7}, "seed"),
        (MODEL, {"paths": PATHS}, "paths"),
        (REFERENCE_REPEAT, {"engine": "cellsim"}, "engine"),
        (MODEL_REPEAT, {"engine": "emulation"}, "engine"),
    ],
)
def test_a_run_that_differs_in_something_else_is_refused(
    make_run: MakeRun, series: str, changes: dict[str, object], key: str
) -> None:
    directories = {REFERENCE: [make_run(REFERENCE, ONE, 1)]}
    if series != MODEL:
        directories[MODEL] = [make_run(MODEL, ONE, 1)]
    directories[series] = [make_run(series, ONE, 1, **changes)]
    with pytest.raises(InputError, match=rf": {key}: is no"):
        match_runs(directories)


def test_versions_of_an_engine_do_not_mix(make_run: MakeRun) -> None:
    references = [make_run(REFERENCE, ONE, 1), make_run(REFERENCE, ONE, 2, version="2.0")]
    with pytest.raises(InputError, match=re.escape("got 'shadow 2.0'; accepted: shadow 1.0")):
        match_runs({REFERENCE: references, MODEL: [make_run(MODEL, ONE, 1)]})


def test_a_run_that_is_not_finished_is_refused(make_run: MakeRun) -> None:
    directory = make_run(REFERENCE, ONE, 1)
    (directory / "provenance.json").unlink()
    with pytest.raises(InputError, match="the run is not finished"):
        match_runs({REFERENCE: [directory], MODEL: [make_run(MODEL, ONE, 1)]})


def test_the_knobs_of_the_transport_are_no_other_variant(make_run: MakeRun) -> None:
    model = make_run(MODEL, {**ONE, "tcp": "linux_6_18"}, 1)
    (match,) = match_runs({REFERENCE: [make_run(REFERENCE, ONE, 1)], MODEL: [model]})
    assert match.variant == ONE
    assert engine_of([match], MODEL) == "cellsim 1.0 (tcp=linux_6_18, link_queue=droptail)"


def test_a_repeat_over_another_transport_is_refused(make_run: MakeRun) -> None:
    directories = {
        REFERENCE: [make_run(REFERENCE, ONE, 1)],
        MODEL: [make_run(MODEL, {**ONE, "tcp": "shadow"}, 1)],
        MODEL_REPEAT: [make_run(MODEL_REPEAT, ONE, 1, draws=99)],
    }
    with pytest.raises(InputError, match="has another transport than"):
        match_runs(directories)


def test_a_series_of_two_transports_is_refused(make_run: MakeRun) -> None:
    references = [make_run(REFERENCE, variant, 1) for variant in VARIANTS]
    models = [make_run(MODEL, VARIANTS[0], 1), make_run(MODEL, {**VARIANTS[1], "tcp": "shadow"}, 1)]
    with pytest.raises(InputError, match="engine, version or TCP"):
        match_runs({REFERENCE: references, MODEL: models})
