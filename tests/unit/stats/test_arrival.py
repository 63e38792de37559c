"""Whether a change arrived: from what tors were told, and what they have."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from torsweep.engines.table_schema import NOT_KNOWN, SETTINGS
from torsweep.stats import arrival
from torsweep.stats.arrival import change_arrived
from torsweep.stats.statistic import Analysis

BASE, CHANGED = {"options": "default"}, {"options": "changed"}

Row = tuple[str, str, str, str | None, str, int]


def analysis_of(base: list[Row], changed: list[Row], seeds: tuple[int, ...] = (1, 2)) -> Analysis:
    """A plan whose runs left these rows in every network."""
    rows = [
        (seed, level, *row)
        for seed in seeds
        for level, side in (("default", base), ("changed", changed))
        for row in side
    ]
    frame = pl.DataFrame(rows, {"seed": pl.Int64, "options": pl.String, **SETTINGS.polars}, orient="row")
    provenance = SimpleNamespace(
        knobs={"options": ["default", "changed"]}, seeds=list(seeds), variants=lambda: [BASE, CHANGED]
    )
    tables = SimpleNamespace(provenance=provenance, settings=lambda columns: frame)
    return Analysis(tables, BASE, 0.05)  # type: ignore[arg-type]


def what_arrived(analysis: Analysis) -> list[SimpleNamespace]:
    return [SimpleNamespace(**row) for row in arrival.what_arrived(analysis)]


def option(role: str, wanted: str | None, found: str, hosts: int = 20) -> Row:
    return (role, "option", "KISTSchedRunInterval", wanted, found, hosts)


def parameter(wanted: str | None, found: str) -> Row:
    return ("client", "parameter", "cc_alg", wanted, found, 50)


USUAL = [option("relay", "2", "2"), parameter("2", "2")]


def test_what_all_tors_have_and_the_baseline_has_not_arrived():
    analysis = analysis_of(USUAL, [option("relay", "100", "100"), parameter("0", "0")])
    rows = {row.name: row for row in what_arrived(analysis)}
    assert [rows[name].arrived for name in ("KISTSchedRunInterval", "cc_alg")] == [True, True]
    kist = rows["KISTSchedRunInterval"]
    told = (kist.role, kist.wanted, kist.found, kist.baseline, kist.networks)
    assert told == ("relay", "100", "100", "2", 2)
    assert change_arrived(analysis, CHANGED) is True


@pytest.mark.parametrize(
    "changed",
    [
        [option("relay", "100", "2"), parameter("2", "2")],
        [option("relay", "100", "100", 19), option("relay", "100", "default", 1), parameter("2", "2")],
        [option("relay", "2", "2"), parameter("0", "2")],
        [option("relay", "100", "100"), parameter("0", "2")],
    ],
    ids=["overridden", "one relay lacks it", "the consensus has another", "half of the change"],
)
def test_what_a_tor_lacks_has_not_arrived(changed):
    analysis = analysis_of(USUAL, changed)
    assert not all(row.arrived for row in what_arrived(analysis))
    assert change_arrived(analysis, CHANGED) is False


def test_what_tors_do_not_say_is_neither_arrived_nor_lacking():
    told = [option("relay", "100", NOT_KNOWN), parameter("2", "2")]
    analysis = analysis_of([option("relay", "2", NOT_KNOWN), parameter("2", "2")], told)
    assert [row.arrived for row in what_arrived(analysis)] == [None]
    assert change_arrived(analysis, CHANGED) is None
    lacking = [option("relay", "100", NOT_KNOWN), parameter("0", "2")]
    assert change_arrived(analysis_of(USUAL, lacking), CHANGED) is False


def test_a_line_that_says_what_tor_has_changes_nothing_and_hosts_that_do_not_get_it_do_not_count():
    usual = [*USUAL, ("client", "option", "ClientOnly", None, "1", 50)]
    line = ("client", "option", "ConnectionPadding", "default", "default", 50)
    (row,) = what_arrived(analysis_of(usual, [*usual, line]))
    assert (row.found, row.baseline, row.arrived) == ("default", "default", False)
    some = [option("relay", "100", "100", 6), option("relay", "2", "2", 14), parameter("2", "2")]
    (row,) = what_arrived(analysis_of(USUAL, some))
    assert (row.found, row.arrived) == ("100", True)


def test_two_builds_of_the_same_code_are_no_change():
    def program(build: str, code: str) -> Row:
        return ("relay", "program", "tor", build, code, 20)

    same = analysis_of([program("0.4.9-a", "123")], [program("0.4.9-b", "123")])
    assert change_arrived(same, CHANGED) is False
    assert change_arrived(analysis_of([program("a", "123")], [program("b", "456")]), CHANGED) is True


def test_nothing_is_said_of_the_same_tor_once_more_of_tables_without_settings_or_of_arti():
    assert change_arrived(analysis_of(USUAL, USUAL), CHANGED) is None
    assert change_arrived(analysis_of([], []), CHANGED) is None
    tor, arti = (("client", "program", "tor", build, build, 50) for build in ("a", "b"))
    rows = what_arrived(analysis_of([tor, parameter("2", "2")], [arti]))
    assert [row.setting for row in rows] == ["program"]
