"""What a plan says of time, and of the smallest change that can be expected to be shown."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from torsweep.config.replicates import KnownSpread
from torsweep.pipeline import costs
from torsweep.stats.claims.change import AnyChange, same_download_confidence
from torsweep.stats.inference.interim import FIRST_SHARE, Design
from torsweep.stats.inference.moderation import EFFECT_VARIES
from torsweep.stats.inference.planning import POWER, Spread, size_text, smallest_shown
from torsweep.study import workload
from torsweep.study.workload import Workload, expected_lines

ROWS = """\
quarter,cellsim,today,free,large,paired_ttfb,120,16,0.6
quarter,cellsim,today,free,web,paired_ttfb,120,16,0.2
quarter,cellsim,today,free,web,paired_ttlb,120,16,0.1
quarter,emulation,today,free,web,paired_ttfb,60,8,0.8
quarter,emulation,today,free,web,paired_ttfb,120,8,0.4
"""


@pytest.fixture(autouse=True)
def spreads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/spread.csv").write_text(f"{','.join(Spread.__dataclass_fields__)}\n{ROWS}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workload, "claims_of", lambda experiment: experiment.claims)


def plan(
    network: str = "quarter",
    engine: str = "emulation",
    measured_s: int = 120,
    known: Sequence[KnownSpread] = (),
    **looks: float,
) -> Workload:
    """A comparison of both times of web and bulk clients."""
    claims = [AnyChange.model_construct(kind=kind, metrics=("ttfb", "ttlb")) for kind in ("web", "large")]
    seen = {int(number): share for number, share in looks.items()}
    precision = SimpleNamespace(looks=seen, spread=known)
    common = {"era": "today", "pairing": "free", "precision": precision, "measured": measured_s * 10**9}
    asked = SimpleNamespace(network=network, claims=claims, **common)
    study = SimpleNamespace(experiment=lambda: asked)
    return Workload(SimpleNamespace(engine=engine, study=study))  # type: ignore[arg-type]


def test_each_measure_has_its_size_and_each_source_a_line() -> None:
    first, *more = expected_lines(plan(), 8)
    # The first look, of four lines together, spends four fifths of four fifths of the error.
    level = 1 - FIRST_SHARE * 0.04 / 4
    measured = ((0.4, 8), (0.1, 16), (0.6, 16))
    web, last, bulk = (size_text(np.expm1(smallest_shown(sd, 8, level, many))) for sd, many in measured)
    sizes = f"{web} (web, first byte), {last} (web, last byte), {bulk} (5 MiB, first byte)"
    assert first == f"shows     with a chance of 80 %, changes of {sizes}"
    assert [line.strip() for line in more] == ["from A/A runs on 8 networks of quarter in emulation"]


def test_what_is_known_of_chance_shows_smaller_changes_to_few_networks() -> None:
    row = {"engine": "emulation", "kind": "web", "measure": "paired_ttfb", "sd": 0.4, "networks": 8}
    known = plan(known=[KnownSpread.model_validate(row)])
    assert known.shown(4)["web", "ttfb"][0] < 0.5 * plan().shown(4)["web", "ttfb"][0]
    assert known.shown(4)["web", "ttlb"] == plan().shown(4)["web", "ttlb"]


def test_what_runs_of_that_time_did_not_have_is_not_promised() -> None:
    with Path("configs/spread.csv").open("a") as rows:
        rows.write("quarter,emulation,today,free,large,paired_ttlb,120,8,0.4\n")
    *_, last = expected_lines(plan(measured_s=60), 8)
    assert last.endswith("; too few downloads get there to say anything of 5 MiB, last byte")
    assert ("large", "ttlb") in plan(measured_s=120).shown(8)


def test_a_later_look_shows_less_than_a_first_one_with_as_many_networks() -> None:
    first, later = (each.shown(16)["web", "ttlb"][0] for each in (plan(), plan(**{"8": 0.8})))
    assert later > first


def test_what_nobody_has_run_is_unknown() -> None:
    (unknown,) = expected_lines(plan("mine.yaml", "shadow"), 8)
    (alone,) = expected_lines(plan(engine="shadow"), 1)
    assert unknown == "shows     unknown: no A/A runs on mine.yaml yet"
    assert alone == "shows     unknown: one network has no interval"


def test_the_spread_is_that_of_the_measured_time_or_the_nearest_which_is_said() -> None:
    assert plan().known_times_s == [60, 120]
    assert plan(measured_s=60).shown(8)["web", "ttfb"][0] > plan().shown(8)["web", "ttfb"][0]
    _, *lines = expected_lines(plan(measured_s=300), 8)
    end = "; they measured for 2 min, these for 5 min: a longer time shows smaller changes"
    assert lines and all(line.endswith(end) for line in lines)


def test_what_a_plan_promises_comes_out() -> None:
    """Of simulated comparisons with the spread of the file, four fifths show a change of that size."""
    size, row = plan().shown(8)["web", "ttlb"]
    draw, shown, confidence = np.random.default_rng(3), 0, same_download_confidence(4)
    for _ in range(500):
        spread = row.log_ratio_sd / np.sqrt(draw.chisquare(row.networks) / row.networks)
        effect = np.log1p(size) * (1 + EFFECT_VARIES * draw.normal(size=8))
        values = effect + spread * draw.normal(size=8)
        shown += Design().look(8).interval(values, confidence).low > 0
    assert shown / 500 == pytest.approx(POWER, abs=0.05)


def test_finished_runs_say_how_long_a_run_takes_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They took twice and three times what is reckoned; the runs of another network do not count."""
    for seed, took_s, network in ((1, 200, "quarter"), (2, 300, "quarter"), (3, 999, "ci")):
        run = Path("cellsim/today") / network / str(seed) / "tor=stock"
        for top in ("benchmarks/runs", "runs"):
            (tmp_path / "results" / top / "x" / run).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "results/benchmarks/runs/x" / run).with_name("tor=stock.tsv").write_text(
            f"s\th\n{took_s}\t-\n"
        )
        (tmp_path / "results/runs/x" / run).mkdir()
        (tmp_path / "results/runs/x" / run / "run.json").write_text('{"duration_ns": 100000000000}')
    monkeypatch.setattr(costs, "CHECKOUT", tmp_path / "none")
    known = plan(engine="cellsim")
    engine = SimpleNamespace(run_seconds=lambda network, run_s: run_s)
    monkeypatch.setattr(costs, "find_engine", lambda name: engine)
    known.play.cores = 2  # type: ignore[misc]

    def two_at_once(
        engine: str, networks: list[tuple[None, int]], run_s: float, slots: object
    ) -> SimpleNamespace:
        return SimpleNamespace(seconds=run_s * networks[0][1] / 2)

    monkeypatch.setattr(workload, "Costs", SimpleNamespace(of=two_at_once))
    vars(known.play.study).update(folder=tmp_path, network=lambda: None, builds={})
    known.experiment.duration_ns = 150 * 10**9  # type: ignore[misc]
    for number, text in enumerate(["", "s\th\n", "s\th\nNA\t-\n", "s\th\nnan\t-\n", "s\th\ninf\t-\n"]):
        damaged = tmp_path / "results/benchmarks/runs/x/cellsim/today/quarter/1" / f"tor={number}.tsv"
        damaged.write_text(text)
        whole = tmp_path / "results/runs/x/cellsim/today/quarter/1"
        shutil.copytree(whole / "tor=stock", whole / f"tor={number}")
    assert sorted(known.timed) == [2.0, 3.0], "files that are not whole count nothing"
    # 150 s reckoned, 2.5 times as long; eight runs, two at once, one pair of them finished.
    assert known.seconds(4, finished=2) == pytest.approx(3 * 2.5 * 150)
