"""What a dry run says of the smallest change that can be expected to be shown, and where it is from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from torsweep.stats.claims.downloads import AnyChange
from torsweep.stats.inference.interim import FIRST_SHARE
from torsweep.stats.inference.planning import Spread
from torsweep.stats.inference.power import shown_by, size_text
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
    monkeypatch.setattr("torsweep.study.workload.claims_of", lambda experiment: experiment.claims)


def comparison(network: str = "quarter", measured_s: int = 120, **looks: float) -> SimpleNamespace:
    """A comparison of both times of web and bulk clients."""
    measured = measured_s * 10**9
    claims = [AnyChange.model_construct(kind=kind, metrics=("ttfb", "ttlb")) for kind in ("web", "bulk")]
    precision = SimpleNamespace(looks={int(number): share for number, share in looks.items()})
    common = {"era": "today", "pairing": "free", "interim": (), "precision": precision}
    return SimpleNamespace(network=network, claims=claims, measured=measured, **common)


def test_each_measure_has_its_sizes_and_each_source_a_line() -> None:
    first, *more = expected_lines(comparison(), "emulation", 8)
    assert first == "shows     with a chance of 80 %, by 8, 16, 32 networks, changes of"
    # The first look, of four lines together, at 98.75 % spends four fifths of the error.
    levels = {number: 1 - FIRST_SHARE * 0.05 / 4 for number in (8, 16, 32)}
    web = [f"{100 * np.expm1(size):.0f} %" for size in shown_by(0.4, levels).values()]
    last = [size_text(np.expm1(size)) for size in shown_by(0.1, levels).values()]
    assert [line.strip() for line in more] == [
        f"web, first byte: {', '.join(web)}",
        f"web, last byte: {', '.join(last)}",
        f"bulk, first byte: over 100 %, {', '.join(bulk_sizes(levels))}",
        "from pairs of runs on 8 networks of quarter that differ by chance alone, in emulation",
        "from pairs of runs on 16 networks of quarter that differ by chance alone, in cellsim, as emulation"
        " has none yet",
    ]


def bulk_sizes(levels: dict[int, float]) -> list[str]:
    return [size_text(np.expm1(size)) for size in shown_by(0.6, levels).values()][1:]


def test_a_later_look_shows_less_than_a_first_one_with_as_many_networks() -> None:
    first = next(line for line in expected_lines(comparison(), "emulation", 16) if "web, last" in line)
    later = next(
        line for line in expected_lines(comparison(**{"8": 0.8}), "emulation", 16) if "web, last" in line
    )
    sizes = [float(line.split(": ")[1].split(" %")[0]) for line in (first, later)]
    assert sizes[1] > sizes[0]


def test_what_nobody_has_run_is_unknown() -> None:
    unknown = "shows     unknown: no pairs of runs on mine.yaml yet"
    assert list(expected_lines(comparison("mine.yaml"), "shadow", 8)) == [unknown]
    alone = "shows     unknown: one network has no interval"
    assert list(expected_lines(comparison(), "shadow", 1)) == [alone]


def test_runs_that_measured_for_another_time_are_said_to_have() -> None:
    _, *lines = expected_lines(comparison(measured_s=300), "emulation", 8)
    end = "; they measured for 2 min, these will measure for 5 min: more time shows smaller changes"
    reasons = [line for line in lines if "pairs of runs" in line]
    assert reasons and all(reason.endswith(end) for reason in reasons)
