"""What a dry run says of the smallest change that can be expected to be shown, and where it is from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.inference.planning import Spread, smallest_change
from torsweep.study.workload import expected_lines

ROWS = """\
quarter,cellsim,today,free,bulk,ttfb,120,16,0.6
quarter,cellsim,today,free,web,ttfb,120,16,0.2
quarter,cellsim,today,free,web,ttlb,120,16,0.1
quarter,emulation,today,free,web,ttfb,120,8,0.4
"""


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/spread.csv").write_text(f"{','.join(Spread.__dataclass_fields__)}\n{ROWS}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torsweep.study.plan.claims_of", lambda experiment: experiment.claims)


def asked(network: str = "quarter", measured_s: int = 120) -> SimpleNamespace:
    """A comparison of both times of web and bulk clients."""
    measured = measured_s * 10**9
    claims = [AnyChange.model_construct(kind=kind, metrics=("ttfb", "ttlb")) for kind in ("web", "bulk")]
    return SimpleNamespace(network=network, era="today", pairing="free", claims=claims, measured=measured)


def test_each_measure_has_its_size_and_each_source_a_line() -> None:
    first, *reasons = expected_lines(asked(), "emulation", 8)
    sizes = [
        smallest_change("quarter", "emulation", kind, metric, 8, measures=2)
        for kind, metric in (("web", "ttfb"), ("web", "ttlb"), ("bulk", "ttfb"))
    ]
    web, last = (f"about {100 * (size or 0):.0f} %" for size in sizes[:2])
    assert sizes[2] is not None and sizes[2] > 1, "nobody reads 300 %"
    told = f"{web} (web, first byte), {last} (web, last byte), more than 100 % (bulk, first byte)"
    assert first == f"shows     changes from {told}, with a chance of 80 %"
    assert [reason.strip() for reason in reasons] == [
        "from pairs of runs on 8 networks of quarter that differ by chance alone, in emulation",
        "from pairs of runs on 16 networks of quarter that differ by chance alone, in cellsim, as emulation"
        " has none yet",
    ]


def test_what_nobody_has_run_is_unknown() -> None:
    unknown = "shows     unknown: no pairs of runs on mine.yaml yet"
    assert list(expected_lines(asked("mine.yaml"), "shadow", 8)) == [unknown]
    alone = "shows     unknown: one network has no interval"
    assert list(expected_lines(asked(), "shadow", 1)) == [alone]


def test_runs_that_measured_for_another_time_are_said_to_have() -> None:
    _, *reasons = expected_lines(asked(measured_s=300), "emulation", 8)
    end = "; they measured for 2 min, these will measure for 5 min: more time shows smaller changes"
    assert reasons and all(reason.endswith(end) for reason in reasons)
