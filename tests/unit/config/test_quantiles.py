"""Sizes and pauses that are drawn from tables of quantiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.traffic import mean
from torsweep.engines.run_settings import run_settings
from torsweep.engines.run_spec import RunSettings
from torsweep.errors import InputError

SIZES = {"traffic.web.response": {"quantiles": "mine"}}
SIZES_OF_OBJECTS = {"traffic.web.response": {"quantiles": "web_object_sizes"}}
PAUSES = {"traffic.web.think": {"quantiles": "mine"}}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table ``mine`` of a study, without its quantiles."""
    file = tmp_path / "configs/quantiles/mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("source: made up\n")
    monkeypatch.chdir(tmp_path)
    return file


def _rows(file: Path, *rows: str) -> None:
    file.write_text("source: made up\nquantiles:\n" + "".join(f"  - [{row}]\n" for row in rows))


def _settings(overrides: dict[str, object], variant: str = "") -> RunSettings:
    experiment = load_experiment("refill_sweep", overrides)
    return run_settings(experiment, "cellsim", "2012", experiment.variant(variant))


def test_a_table_of_a_study_is_in_the_run(study: Path) -> None:
    _rows(study, "0, 1 KB", "0.25, 2 KB", "1, 10 KB")
    web = _settings(SIZES).traffic["web"]
    assert web.response_quantiles == ((0, 1_000), (250_000, 2_000), (1_000_000, 10_000))
    assert web.response_bytes == mean(web.response_quantiles) == 375 + 4_500
    _rows(study, "0, 1 s", "1, 3 s")
    web = _settings(PAUSES).traffic["web"]
    assert (web.think_min_ns, web.think_max_ns, web.mean_pause_ns) == (10**9, 3 * 10**9, 2 * 10**9)
    assert web.think_quantiles == ((0, 10**9), (1_000_000, 3 * 10**9))


def test_a_run_without_tables_says_nothing_of_them() -> None:
    web = _settings({}).model_dump(mode="json")["traffic"]["web"]
    assert not [key for key in web if "quantiles" in key]


def test_pages_have_objects_of_drawn_sizes_and_one_circuit() -> None:
    pages = SIZES_OF_OBJECTS | {
        "traffic.web.page": {"quantiles": "web_page_objects"},
        "traffic.web.parallel": 6,
    }
    web = _settings(pages).traffic["web"]
    assert web.page_objects is not None
    assert (500_000, 76) in web.page_objects
    assert load_experiment("refill_sweep", pages).traffic.web.mean_response > 60 * web.response_bytes
    with pytest.raises(InputError, match=r"web\.isolate_streams: the objects of a page share a circuit"):
        load_experiment("refill_sweep", pages | {"traffic.web.isolate_streams": True})


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], r"mine.yaml: quantiles: is not accepted"),
        (["0, 1 KB"], r"mine.yaml: quantiles: is no table of quantiles; accepted: shares that rise"),
        (["0, 1 KB", "0.5, 2 KB"], "shares that rise from 0 to 1"),
        (["0, 3 KB", "1, 2 KB"], "values that never fall"),
        (["0, 1 KB", "0.5, 2 KB", "0.5, 3 KB", "1, 4 KB"], "shares that rise"),
        (["0, 0 B", "1, 2 KB"], r"quantiles\[0\]\[1\]: is out of range, got '0 B'; accepted: 1 B to 8 GiB"),
        (["0, 1 s", "1, 2 s"], r"quantiles\[0\]\[1\]: is not accepted .*, got '1 s'"),
    ],
)
def test_a_bad_table_is_refused(study: Path, rows: list[str], said: str) -> None:
    _rows(study, *rows)
    with pytest.raises(InputError, match=said):
        load_experiment("refill_sweep", SIZES)


def test_a_table_that_is_not_there_and_a_misspelt_key_are_refused() -> None:
    with pytest.raises(InputError, match=r"configs/quantiles/mine\.yaml: no such file"):
        load_experiment("refill_sweep", SIZES)
    with pytest.raises(InputError, match=r"traffic\.web\.think\.quantile: unknown key"):
        load_experiment("refill_sweep", {"traffic.web.think": {"quantile": "mine"}})


@pytest.mark.parametrize("response", [{"quantiles": "mine"}, {"sites": {"news": ["20 KB"]}}])
def test_a_knob_that_sets_what_a_table_or_sites_say_is_refused(study: Path, response: object) -> None:
    _rows(study, "0, 1 KB", "1, 2 KB")
    with pytest.raises(InputError, match="cells: web clients draw what this knob sets"):
        _settings({"traffic.web.response": response}, "cells=100")
