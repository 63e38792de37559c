"""Which runs stand for which transport, what each says, and what they say together."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from plotting.findings import main as draw_findings
from tests.synthetic import record_tables
from tests.unit.findings.conftest import EWMA_10, EWMA_1000, EXPERIMENT, VARIANTS, MakeRun
from torsweep.cli import main
from torsweep.config.experiment import Experiment
from torsweep.engines.run_spec import read_run
from torsweep.errors import InputError
from torsweep.findings.compare import findings
from torsweep.findings.transports import transports
from torsweep.findings.writing import write_findings
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, INCONCLUSIVE, NO_DIFFERENCE
from torsweep.stats.files import FINDINGS_FILES
from torsweep.stats.findings_file import (
    DIFFERS,
    LONGER,
    NOT_RUN,
    OPEN,
    SHORTER,
    SURVIVES,
    UNCLEAR,
    ContrastUnderTransports,
    FindingsFile,
    read_findings,
    together,
)
from torsweep.stats.findings_text import findings_text
from torsweep.storage.folders import MARKER


def _found(experiment: Experiment, **chosen: object) -> FindingsFile:
    plan = experiment.plan()
    return findings(experiment, plan, transports(experiment, plan, **chosen))  # type: ignore[arg-type]


def _contrast(found: FindingsFile, one: str, other: str, metric: str = "ttfb") -> ContrastUnderTransports:
    return next(
        row
        for row in found.contrasts
        if (row.kind, row.metric, row.at) == ("web", metric, "ewma")
        and (row.from_level, row.to_level) == (one, other)
    )


@pytest.mark.usefixtures("four")
def test_transports_are_told_apart_by_their_run_json(experiment: Experiment) -> None:
    found = _found(experiment)
    assert [(one.transport, one.network, one.seeds, one.runs) for one in found.transports] == [
        ("cellsim, tcp=linux", "ci", (1, 2, 3), 18),
        ("emulation", "quarter", (7,), 2),
        ("cellsim, tcp=shadow", "ci", (1, 2, 3), 18),
        ("shadow", "ci", (1, 2, 3), 6),
    ]
    assert not found.same_networks and found.consistent_networks


@pytest.mark.usefixtures("four")
def test_claims_rest_on_whole_networks_and_contrasts_on_those_of_both(experiment: Experiment) -> None:
    found = _found(experiment)
    best = found.claims[0]
    linux, emulation, named, shadow = best.verdicts
    assert (linux.verdict, linux.networks) == (named.verdict, named.networks)
    assert linux.verdict in (HOLDS, INCONCLUSIVE) and linux.networks == 3
    assert (emulation.verdict, shadow.verdict) == (NOT_RUN, NOT_RUN)
    assert "no network has all 6 variants; 2 have run" in shadow.reason
    shorter = _contrast(found, "1000ms", "10ms")
    assert [value.networks for value in shorter.values] == [3, 1, 3, 3]
    assert [value.shows for value in shorter.values] == [SHORTER, UNCLEAR, SHORTER, SHORTER]
    assert shorter.together == SURVIVES
    model, real, _, _ = shorter.values
    assert model.low is not None and model.ratio is not None and model.high is not None
    assert model.low < model.ratio < model.high < 1
    assert real.ratio is not None and real.ratio < 1 and real.low is None
    only_model = _contrast(found, "1000ms", "100ms")
    assert [value.networks for value in only_model.values] == [3, 0, 3, 0]


@pytest.mark.usefixtures("four")
def test_one_network_for_all_and_some_of_its_seeds(experiment: Experiment) -> None:
    found = _found(experiment, network="ci", seeds=(2, 3))
    assert {(one.network, one.seeds) for one in found.transports} == {("ci", (2, 3))}
    assert [one.transport for one in found.transports] == [
        "cellsim, tcp=linux",
        "cellsim, tcp=shadow",
        "shadow",
    ]
    assert found.same_networks
    assert "All transports are on the same networks." in findings_text(found)


def test_a_sign_that_turns_is_told(make_run: MakeRun, experiment: Experiment) -> None:
    for seed in (1, 2, 3):
        for variant in (EWMA_1000, EWMA_10):
            make_run("cellsim", variant, seed)
            slow = 5.0 if variant is EWMA_10 else 1.0
            make_run("emulation", variant, seed, slower=slow)
    turned = _contrast(_found(experiment), "1000ms", "10ms")
    assert [value.shows for value in turned.values] == [LONGER, SHORTER]
    assert turned.together == DIFFERS


def test_equal_variants_show_no_difference(make_run: MakeRun, experiment: Experiment) -> None:
    for seed in (1, 2, 3):
        original = make_run("emulation", EWMA_10, seed)
        other = make_run("emulation", EWMA_1000, seed)
        streams = pl.read_parquet(original / "streams.parquet")
        nearly = (pl.col("first_byte_us") * (1 + seed / 1000)).round().cast(pl.Int64)
        streams.with_columns(nearly).write_parquet(other / "streams.parquet")
        record_tables(other)
    (value,) = _contrast(_found(experiment), "1000ms", "10ms").values
    assert value.shows == NO_DIFFERENCE


def test_runs_that_do_not_fit_are_left_out_and_counted(make_run: MakeRun, experiment: Experiment) -> None:
    for variant in VARIANTS[:4]:
        make_run("cellsim", variant, 1)
    make_run("cellsim", VARIANTS[4], 1, version="0.9")
    older = make_run("cellsim", VARIANTS[5], 1)
    (older / "run.json").write_text("{}")
    other = make_run("cellsim", VARIANTS[0], 2)
    traffic = read_run(other).traffic
    changed = {**traffic, "web": traffic["web"].model_copy(update={"response_bytes": 5})}
    shutil.rmtree(other)
    make_run("cellsim", VARIANTS[0], 2, traffic=changed)
    (column,) = _found(experiment).transports
    assert (column.runs, column.left_out, column.seeds) == (4, 3, (1,))
    assert column.engine_version == "1.0"


def test_networks_of_one_name_that_differ_are_told(make_run: MakeRun, experiment: Experiment) -> None:
    for variant in (EWMA_1000, EWMA_10):
        make_run("cellsim", variant, 1)
        make_run("emulation", variant, 1, network_sha256="0" * 64)
    found = _found(experiment)
    assert not found.consistent_networks
    assert "were sampled from other data or by another version" in findings_text(found)


def test_a_contrast_is_within_a_network(make_run: MakeRun, experiment: Experiment) -> None:
    make_run("emulation", EWMA_1000, 1)
    make_run("emulation", EWMA_10, 1, network_sha256="0" * 64)
    assert _found(experiment).contrasts == ()


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ([HOLDS, HOLDS, INCONCLUSIVE], SURVIVES),
        ([HOLDS, INCONCLUSIVE], OPEN),
        ([HOLDS, CONTRADICTED, HOLDS], DIFFERS),
        ([NO_DIFFERENCE, LONGER], DIFFERS),
        ([NOT_RUN, UNCLEAR], OPEN),
    ],
)
def test_what_transports_say_together(shown: list[str], expected: str) -> None:
    assert together(shown) == expected


def test_a_plan_that_turns_the_transport_is_refused(experiment: Experiment) -> None:
    grid = {"tcp": ("linux", "shadow")}
    turned = experiment.model_copy(update={"sensitivities": {"transport": grid}})
    with pytest.raises(InputError, match="turns tcp itself"):
        transports(turned, turned.plan("transport"))


@pytest.mark.usefixtures("four")
def test_files_and_figure(experiment: Experiment, tmp_path: Path) -> None:
    found = _found(experiment)
    write_findings(found, tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {MARKER, *FINDINGS_FILES}
    assert read_findings(tmp_path / "out/findings.json") == found
    rows = pl.read_csv(tmp_path / "out/contrasts.csv")
    assert rows.height == len(found.contrasts) * len(found.transports)
    assert pl.read_csv(tmp_path / "out/verdicts.csv").height == 4 * len(found.transports)
    stem = tmp_path / "out/findings"
    assert draw_findings([str(tmp_path / "out/findings.json"), "--out", str(stem)]) == 0
    with Image.open(f"{stem}.png") as image:
        assert "quarter, 1 network (seed 7)" in image.info["Description"]
    assert pl.read_csv(f"{stem}.csv").height == rows.height


@pytest.mark.usefixtures("four")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("results", "findings", FILE, "--set", "network=ci", "--seeds", "1-2", "--out", "f") == 0
    assert "cellsim, tcp=linux, emulation" in capsys.readouterr().out
    assert _exit_code("results", "findings", "unread", "--given", "f/findings.json", "--out", "g") == 0
    assert Path("g/findings.md").read_bytes() == Path("f/findings.md").read_bytes()


@pytest.mark.usefixtures("make_run")
def test_without_runs_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("results", "findings", FILE, "--out", "f") == 2
    assert "no run of the plan is finished" in capsys.readouterr().err


FILE = str(EXPERIMENT / "experiment.yaml")


def _exit_code(*arguments: str) -> int:
    try:
        return int(main(list(arguments)))
    except SystemExit as end:
        return int(end.code or 0)
