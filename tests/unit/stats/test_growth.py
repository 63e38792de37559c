"""Interim analyses of a sweep that grows: what they find is what a summary of all networks finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.synthetic import Size, write_sweep
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.errors import InputError
from torsweep.runsets.collect import collect
from torsweep.runsets.reading import PlanTables
from torsweep.stats.growth import InterimAnalysis, analyse_batch
from torsweep.stats.summarize import summarize, write_summary

EXPERIMENT = Path(__file__).parents[3] / "experiments/refill_sweep/experiment.yaml"
SMALL = Size(web_clients=20, bulk_clients=4, relays=2)
BATCHES = (range(1, 5), range(5, 9), range(9, 13))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> dict[Sequence[int], PlanTables]:
    """Tables of each batch, and of all networks together."""
    folder = tmp_path_factory.mktemp("growing")
    runs = {seeds: write_sweep(folder / "runs", run_seeds=seeds, size=SMALL) for seeds in BATCHES}
    runs[range(1, 13)] = [run for batch in BATCHES for run in runs[batch]]
    tables = {}
    for number, (seeds, chosen) in enumerate(runs.items()):
        collect(chosen, folder / str(number), network="ci")
        tables[seeds] = PlanTables.open(folder / str(number))
    return tables


def _experiment(**precision: object) -> Experiment:
    changes = {"networks": 12, "batch": 4, **precision}
    return load_experiment(
        EXPERIMENT, {"replicates": "auto", **{f"precision.{key}": value for key, value in changes.items()}}
    )


def _grow(
    sweep: dict[Sequence[int], PlanTables], folder: Path, experiment: Experiment
) -> list[InterimAnalysis]:
    found, previous = [], None
    for number, seeds in enumerate(BATCHES):
        found.append(analyse_batch(sweep[seeds], experiment, previous))
        previous = folder / f"{number}.json"
        found[-1].write(previous)
    return found


def test_the_last_look_finds_what_the_summary_of_all_networks_finds(sweep, tmp_path: Path) -> None:
    experiment = _experiment()
    last = _grow(sweep, tmp_path, experiment)[-1]
    assert last.seeds == tuple(range(1, 13))
    summary = summarize(sweep[range(1, 13)], experiment)
    # As text, in which a number that is not there equals another.
    assert repr(last.verdicts) == repr(summary.verdicts)
    assert {verdict.verdict for verdict in last.verdicts} > {"holds"}
    assert last.enough


def test_looks_end_when_no_claim_is_open_or_the_budget_is_spent(sweep, tmp_path: Path) -> None:
    looks = _grow(sweep, tmp_path, _experiment())
    assert [bool(found.enough) for found in looks] == [
        not any(verdict.open for verdict in found.verdicts) or number == 2
        for number, found in enumerate(looks)
    ]
    assert looks[0].enough == ""
    assert looks[0].line().endswith("; more networks follow")
    budget, first = _experiment(core_time="100 s"), sweep[BATCHES[0]]
    assert not analyse_batch(first, budget, None, core_s=60.0).enough
    analyse_batch(first, budget, None, core_s=60.0).write(tmp_path / "first.json")
    spent = analyse_batch(sweep[BATCHES[1]], budget, tmp_path / "first.json", core_s=60.0)
    assert spent.enough == "the runs have taken 120 s of a core, as much as precision allows"


def test_a_look_goes_on_from_one_at_the_same_comparisons_only(sweep, tmp_path: Path) -> None:
    _grow(sweep, tmp_path, _experiment())
    document = json.loads((tmp_path / "0.json").read_text())
    document["values"]["web_best_at_10ms (mean)"] = {}
    (tmp_path / "other.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="is an analysis of other comparisons"):
        analyse_batch(sweep[BATCHES[1]], _experiment(), tmp_path / "other.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match="is not the document expected here"):
        analyse_batch(sweep[BATCHES[1]], _experiment(), tmp_path / "other.json")
    (tmp_path / "other.json").write_text('{"format": ')
    with pytest.raises(InputError, match="is no whole JSON file"):
        analyse_batch(sweep[BATCHES[1]], _experiment(), tmp_path / "other.json")


def test_a_number_of_networks_between_two_looks_is_refused(sweep) -> None:
    with pytest.raises(
        InputError, match="is no number of networks of an interim analysis, got 12; accepted: 5, 10, 15"
    ):
        summarize(sweep[range(1, 13)], _experiment(networks=15, batch=5))


def test_a_summary_allows_for_the_looks_that_its_comparison_has_had(sweep, tmp_path: Path) -> None:
    tables = sweep[range(1, 13)]
    fixed, looked = (
        summarize(tables, load_experiment(EXPERIMENT, {"replicates": 12, **looks}))
        for looks in ({}, {"precision.looks": {4: 0.8, 12: 0.93}})
    )
    widths = [
        (two.interval.high - two.interval.low) / (one.interval.high - one.interval.low)
        for before, after in zip(fixed.verdicts, looked.verdicts, strict=True)
        for one, two in zip(before.comparisons, after.comparisons, strict=True)
        if one.interval.known and two.interval.known and one.interval.low < one.interval.high
    ]
    # With the interval of the first look it may be narrower on one side.
    assert np.median(widths) > 1.1
    write_summary(looked, tmp_path / "out")
    assert "they have been with 4, 12." in (tmp_path / "out" / "summary.md").read_text()
