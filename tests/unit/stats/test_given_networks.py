"""Runs on networks that tornettools made: what intervals are over, and claims about their perf clients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.synthetic import Size, gathered, with_perf_clients, write_sweep
from torsweep.config.experiment import Experiment
from torsweep.config.reading import validate
from torsweep.engines.run_spec import RUN_FILE
from torsweep.provenance import PROVENANCE_FILE
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.claims.judging import verdicts
from torsweep.stats.summarize import analyse, shown_summary, summarize
from torsweep.stats.text import era_text, networks_text

SMALL = Size(web_clients=8, bulk_clients=2, relays=2, warm_up_s=10, duration_s=70)


def tables_of(folder: Path, *networks: str) -> PlanTables:
    """The tables of a sweep whose runs say that they were on these networks, in turns."""
    runs = write_sweep(folder / "runs", run_seeds=(1, 2), size=SMALL)
    for run in runs if networks else []:
        document = json.loads((run / PROVENANCE_FILE).read_text())
        seed = json.loads((run / RUN_FILE).read_text())["seed"]
        document["tornettools"] = networks[seed % len(networks)]
        (run / PROVENANCE_FILE).write_text(json.dumps(document))
    return gathered(runs, folder, "given")


AS_GIVEN = "tor's options as the network has them"


@pytest.mark.parametrize(
    ("networks", "over", "era"),
    [
        ((), "2 networks.", "era 2012"),
        (("a" * 64, "b" * 64), "2 networks.", AS_GIVEN),
        (("a" * 64,), "2 seeds of one network: they say nothing about other networks.", AS_GIVEN),
    ],
)
def test_the_summary_says_what_its_intervals_are_over(tmp_path, experiment, networks, over, era):
    tables = tables_of(tmp_path, *networks)
    text = shown_summary(summarize(tables, experiment)).markdown
    assert f"Intervals are 95 % t-intervals over {over}" in text
    assert era_text(tables.provenance) == era and era in text


def test_seeds_in_words():
    assert networks_text([1, 2, 3], 1) == "3 seeds of one network (1–3)"
    assert networks_text([1], 1) == "1 seed of one network (1)"
    assert networks_text([1, 2, 3], 3) == "3 networks (seeds 1–3)"


def test_a_claim_about_perf_clients_is_judged_by_their_downloads(tmp_path, experiment):
    """The perf clients are bulk clients under another name."""
    (tmp_path / "perf").mkdir()
    tables = with_perf_clients(tables_of(tmp_path), tmp_path / "perf")
    told = {"text": "x", "test": "change", "knob": "refill_interval", "metrics": ["ttfb"]}
    claims = [{"id": kind, "kind": kind, **told} for kind in ("bulk", "perf_5mib", "perf_1mib")]
    document = {**experiment.model_dump(mode="json"), "name": experiment.name, "claims": claims}
    bulk, perf, none = analyse(tables, validate(Experiment, document, None)).once(verdicts)
    means = [[answer.interval.mean for answer in verdict.comparisons] for verdict in (bulk, perf, none)]
    assert means[0] == means[1] and len(means[0]) == 2 * 3
    assert np.isnan(means[2]).all()
