"""What sources show, and what they show together: gaps beside the floor, contrasts, claims, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.synthetic import record_tables
from tests.unit.compare.conftest import EXPERIMENT, FAST, SLOW, MakeRun
from torsweep.cli import main
from torsweep.compare.comparison import Comparison, compare, read_comparison, write_comparison
from torsweep.compare.contrasts import (
    LONGER,
    NO_CONTRAST,
    OTHER_SIGN,
    OTHER_SIZE,
    SAME,
    SHORTER,
    UNCLEAR,
    agrees,
)
from torsweep.compare.distances import BEYOND, MARGIN, UNKNOWN, WITHIN
from torsweep.compare.sources import finished_sources, parse_sources, read_sources
from torsweep.compare.text import comparison_text
from torsweep.compare.verdicts import DIFFERS, NOT_RUN, OPEN, SURVIVES, together
from torsweep.config.experiment import Experiment
from torsweep.config.variant import one_knob_apart
from torsweep.errors import InputError
from torsweep.stats.claims.judging import CONTRADICTED, HOLDS, NO_DIFFERENCE
from torsweep.storage.folders import MARKER

FILE = str(EXPERIMENT / "experiment.yaml")


def _found(experiment: Experiment, sources: str = "", **chosen: Any) -> Comparison:
    plan = experiment.plan()
    named = parse_sources(sources) if sources else finished_sources(experiment, plan, chosen.get("network"))
    return compare(read_sources(named, experiment, plan, **chosen), experiment, plan)


def _row(frame: pl.DataFrame, **values: object) -> dict[str, Any]:
    values = {"kind": "web", "metric": "ttfb", **values}
    (row,) = frame.filter(*(pl.col(key).cast(pl.String) == value for key, value in values.items())).to_dicts()
    return row


def _two(make_run: MakeRun, slower: float = 1.0, repeats: bool = True) -> None:
    """Shadow and a model that takes ``slower`` times as long, two variants on two networks."""
    for variant in (SLOW, FAST):
        for seed in (1, 2):
            make_run("shadow", variant, seed)
            make_run("cellsim", variant, seed, slower=slower)
    if repeats:
        make_run("shadow", SLOW, 1, draws=77)


def test_a_model_that_gives_the_same_downloads_is_within(make_run: MakeRun, experiment: Experiment) -> None:
    _two(make_run)
    table = _found(experiment).tables["gaps"]
    assert set(table["verdict"]) == {WITHIN}
    assert table["ks"].max() == 0
    assert table["p50_ratio"].to_list() == [1.0] * len(table)
    assert len(table) == 8


def test_a_model_three_times_as_slow_is_beyond_and_the_ratios_say_by_how_much(
    make_run: MakeRun, experiment: Experiment
) -> None:
    _two(make_run, slower=3.0)
    tables = _found(experiment).tables
    row = _row(tables["gaps"], refill_interval="1000ms")
    assert row["verdict"] == BEYOND
    assert row["ks"] > row["floor"] + MARGIN
    assert row["p50_ratio"] == pytest.approx(3, rel=0.01)
    assert row["networks"] == 2
    own = _row(tables["distances"], source="cellsim", seed="1", refill_interval="1000ms")
    assert 0 < own["downloads"] < row["downloads"] == row["against_downloads"]
    (shared,) = set(tables["curves"]["networks"])
    assert shared == 2 and set(tables["curves"]["source"]) == {"shadow", "cellsim"}


def test_the_floor_is_that_of_the_variant_or_of_the_others(make_run: MakeRun, experiment: Experiment) -> None:
    _two(make_run)
    table = _found(experiment).tables["gaps"]
    own, shared = (_row(table, refill_interval=level) for level in ("1000ms", "10ms"))
    assert own["floor"] == shared["floor"] > 0
    assert (own["floor_networks"], shared["floor_networks"]) == (1, 0)


def test_without_a_repeat_nothing_is_judged(make_run: MakeRun, experiment: Experiment) -> None:
    _two(make_run, repeats=False)
    found = _found(experiment)
    assert set(found.tables["gaps"]["verdict"]) == {UNKNOWN}
    assert found.tables["gaps"]["floor"].null_count() == 8
    assert "there is no floor to judge by" in comparison_text(found)


def test_a_replay_and_a_floor_of_its_own_stand_beside(make_run: MakeRun, experiment: Experiment) -> None:
    make_run("shadow", SLOW, 1)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1, slower=2)
    make_run("cellsim+tcp=linux_6_18", SLOW, 1, slower=2, draws=5)
    make_run("cellsim+replay=shadow", SLOW, 1)
    tables = _found(experiment, "shadow,cellsim+tcp=linux_6_18,cellsim+replay=shadow").tables
    model, replay = (
        _row(tables["gaps"], source=f"cellsim+{what}") for what in ("tcp=linux_6_18", "replay=shadow")
    )
    assert replay["ks"] == 0 < model["ks"]
    # A repeat stands against its own source: the ratios are near one, not near two.
    repeat = _row(tables["distances"], series="repeats")
    assert repeat["against"] == repeat["source"] == "cellsim+tcp=linux_6_18"
    assert 0.6 < repeat["p50_ratio"] < 1.6
    assert (model["own_floor"], model["floor"], replay["own_floor"]) == (repeat["ks"], None, None)


def test_a_contrast_is_the_mean_logarithm_of_the_ratio_of_medians(
    make_run: MakeRun, experiment: Experiment
) -> None:
    _two(make_run)
    tables = _found(experiment).tables
    medians = {
        (row["refill_interval"], row["seed"]): row["p50_s"]
        for row in tables["distances"].iter_rows(named=True)
        if (row["source"], row["kind"], row["metric"]) == ("cellsim", "web", "ttfb")
    }
    expected = np.mean([np.log(medians["10ms", seed] / medians["1000ms", seed]) for seed in (1, 2)])
    row = _row(tables["contrasts"], source="cellsim")
    assert (row["knob"], row["from"], row["to"], row["at"]) == ("refill_interval", "1000ms", "10ms", "ewma")
    assert row["ratio"] == row["shared_ratio"] == row["reference_ratio"] == pytest.approx(np.exp(expected))
    assert (row["networks"], row["shared"], row["size"], row["agrees"]) == (2, 2, 1, SAME)
    assert (row["relative"], row["relative_low"]) == (1, None)
    assert _row(tables["contrasts"], source="shadow")["agrees"] is None


def test_noise_comes_from_repeats_of_both_variants(make_run: MakeRun, experiment: Experiment) -> None:
    for variant in (SLOW, FAST):
        make_run("shadow", variant, 1)
        make_run("cellsim", variant, 1)
    make_run("shadow", SLOW, 1, draws=9)

    def noise_of() -> str | None:
        return str(_row(_found(experiment).tables["contrasts"], source="cellsim")["noise_of"])

    assert noise_of() == "None"
    for variant in (SLOW, FAST):
        make_run("cellsim", variant, 1, draws=9)
    assert noise_of() == "cellsim"
    make_run("shadow", FAST, 1, draws=9)
    assert noise_of() == "shadow"


@pytest.mark.parametrize(
    ("reference", "own", "noise", "expected"),
    [
        (-0.4, -0.3, 0.1, SAME),
        (-0.4, -0.1, 0.1, OTHER_SIZE),
        (-0.1, -0.4, 0.05, OTHER_SIZE),
        (-0.4, 0.3, 0.1, OTHER_SIGN),
        (-0.4, 0.0, 0.1, OTHER_SIGN),
        (-0.05, 0.05, 0.1, NO_CONTRAST),
        (-0.05, 0.2, 0.1, OTHER_SIGN),
        (-0.05, 0.05, None, OTHER_SIGN),
        (0.2, 0.4, 0.1, SAME),
    ],
)
def test_contrasts_agree(reference: float, own: float, noise: float | None, expected: str) -> None:
    assert agrees(reference, own, noise) == expected


def test_contrasts_are_one_knob_apart() -> None:
    grid = [{"a": a, "b": b} for a in "12" for b in "xy"]
    pairs = one_knob_apart(grid)
    assert [(one["a"] + one["b"], other["a"] + other["b"], knob) for one, other, knob in pairs] == [
        ("1x", "1y", "b"),
        ("1x", "2x", "a"),
        ("1y", "2y", "a"),
        ("2x", "2y", "b"),
    ]


@pytest.mark.usefixtures("four")
def test_claims_rest_on_whole_networks_and_contrasts_on_those_of_both(experiment: Experiment) -> None:
    found = _found(experiment)
    verdicts = found.tables["verdicts"].head(4)
    assert verdicts["source"].to_list() == ["emulation", "shadow", "cellsim", "cellsim+tcp=linux_6_18"]
    assert verdicts["verdict"].to_list()[:2] == [NOT_RUN, NOT_RUN]
    assert verdicts["verdict"][2] == verdicts["verdict"][3]
    assert verdicts["networks"].to_list() == [0, 0, 3, 3]
    assert verdicts["reason"][1] == "no network has all 6 variants; 2 have run on some"
    shorter = found.tables["contrasts"].filter(
        kind="web", metric="ttfb", at="ewma", **{"from": "1000ms", "to": "10ms"}
    )
    assert shorter["networks"].to_list() == [1, 3, 3, 3]
    assert shorter["shows"].to_list() == [UNCLEAR, SHORTER, SHORTER, SHORTER]
    assert set(shorter["together"]) == {SURVIVES}
    real, model = shorter.row(0, named=True), shorter.row(2, named=True)
    assert model["low"] < model["ratio"] < model["high"] < 1
    assert real["ratio"] < 1 and real["low"] is None
    # No network is the reference's: nothing stands against it.
    assert "gaps" not in found.tables
    assert shorter["shared"].null_count() == 4
    assert "not all on the same networks" in comparison_text(found)


@pytest.mark.usefixtures("four")
def test_one_network_for_all_and_some_of_its_seeds(experiment: Experiment) -> None:
    found = _found(experiment, network="ci", seeds=(2, 3))
    assert [(one.label, one.seeds) for one in found.origin.sources] == [
        ("shadow", (2, 3)),
        ("cellsim", (2, 3)),
        ("cellsim+tcp=linux_6_18", (2, 3)),
    ]
    assert "All sources are on the same networks." in comparison_text(found)
    assert set(found.tables["gaps"]["networks"]) == {2}


def test_a_sign_that_turns_is_told(make_run: MakeRun, experiment: Experiment) -> None:
    for seed in (1, 2, 3):
        for variant in (SLOW, FAST):
            make_run("cellsim", variant, seed)
            make_run("emulation", variant, seed, slower=5.0 if variant is FAST else 1.0)
    turned = _found(experiment).tables["contrasts"].filter(kind="web", metric="ttfb")
    assert turned["shows"].to_list() == [LONGER, SHORTER]
    assert set(turned["together"]) == {DIFFERS}
    assert turned["agrees"].to_list() == [None, OTHER_SIGN]
    assert turned["relative_high"][1] < 1


def test_equal_variants_show_no_difference(make_run: MakeRun, experiment: Experiment) -> None:
    for seed in (1, 2, 3):
        make_run("cellsim", SLOW, seed)
        original, other = (make_run("emulation", variant, seed) for variant in (FAST, SLOW))
        streams = pl.read_parquet(original / "streams.parquet")
        nearly = (pl.col("first_byte_us") * (1 + seed / 1000)).round().cast(pl.Int64)
        streams.with_columns(nearly).write_parquet(other / "streams.parquet")
        record_tables(other)
    row = _row(_found(experiment).tables["contrasts"], source="emulation")
    assert row["shows"] == NO_DIFFERENCE


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ([HOLDS, HOLDS, None], SURVIVES),
        ([HOLDS, None], OPEN),
        ([HOLDS, CONTRADICTED, HOLDS], DIFFERS),
        ([NO_DIFFERENCE, LONGER], DIFFERS),
        ([None, None], OPEN),
    ],
)
def test_what_sources_say_together(decided: list[str | None], expected: str) -> None:
    assert together(decided) == expected


@pytest.mark.usefixtures("four")
def test_only_the_tables_that_apply_are_written_and_read_back(experiment: Experiment, tmp_path: Path) -> None:
    on_ci, everywhere = _found(experiment, network="ci"), _found(experiment)
    out = tmp_path / "out"
    write_comparison(on_ci, comparison_text(on_ci), out)
    names = {file.name for file in out.iterdir()}
    tables = {f"{name}.csv" for name in ("distances", "gaps", "curves", "contrasts", "verdicts")}
    assert names == {MARKER, "comparison.json", "comparison.md", *tables}
    read = read_comparison(out)
    assert read.origin == on_ci.origin
    assert {name: table.shape for name, table in read.tables.items()} == {
        name: table.shape for name, table in on_ci.tables.items()
    }
    write_comparison(everywhere, comparison_text(everywhere), out)
    assert "gaps.csv" not in {file.name for file in out.iterdir()}
    with (out / "contrasts.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match=r"contrasts\.csv: has changed"):
        read_comparison(out)
    (out / "comparison.json").write_text("{}")
    with pytest.raises(InputError):
        read_comparison(out)


@pytest.mark.usefixtures("four")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for out in ("one", "other"):
        options = ("--network", "ci", "--sources", "shadow,cellsim", "--seeds", "1-2", "--out", out)
        assert _exit_code("results", "compare", FILE, *options) == 0
    said = capsys.readouterr().out
    assert said.startswith("one: cellsim against shadow. cellsim: 8 of 8 gaps that can be judged are within")
    for file in Path("one").iterdir():
        assert file.read_bytes() == (Path("other") / file.name).read_bytes()
    document = json.loads(Path("one/comparison.json").read_text())
    assert [one["label"] for one in document["sources"]] == ["shadow", "cellsim"]
    assert (
        Path("one/comparison.md").read_text().startswith("# refill_sweep, plan main, era 2012: cellsim again")
    )


@pytest.mark.usefixtures("make_run")
def test_without_runs_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code("results", "compare", FILE, "--out", "f") == 2
    assert "fewer than two sources have finished runs" in capsys.readouterr().err
    assert _exit_code("results", "compare", FILE, "--seeds=x", "--out", "f") == 2


def _exit_code(*arguments: str) -> int:
    try:
        return int(main(list(arguments)))
    except SystemExit as end:
        return int(end.code or 0)
