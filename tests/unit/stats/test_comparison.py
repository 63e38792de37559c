"""Verdicts on two tors that are alike, and on one that does something bad to a few: tables of the model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.analyses import change_verdict, claims_file_of
from tests.model_comparison import END_US, WARM_UP_S, Spoil, compared, cut_off, experiment, slower, write_runs
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.change import AnyChange
from torsweep.stats.claims.judging import INCONCLUSIVE, NO_DIFFERENCE
from torsweep.stats.comparison import SHOWN, Comparison, KindVerdict, comparison

EIGHT, TWENTY = range(1, 9), range(1, 21)
SLOW_NETWORK = 5
LESS, MORE = (-0.3, -0.1), (0.1, 0.3)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alike")
    write_runs(folder, TWENTY)
    return folder


def web(said: Comparison) -> KindVerdict:
    return next(kind for kind in said.kinds if kind.kind == "web")


def test_two_tors_that_are_alike_make_no_difference_for_web_clients(runs: Path, tmp_path: Path) -> None:
    said = compared(runs, tmp_path, TWENTY)
    kind = web(said)
    assert kind.verdict == NO_DIFFERENCE, kind.sentence
    assert len(kind.rows) == 8 and all(len(row.by_network) == 20 for row in kind.rows)
    # Three bulk clients a network are too few to say that none of them is stuck.
    assert said.verdict == INCONCLUSIVE and said.step is not None and said.step.networks == 40
    without = next(row for row in kind.rows if row.measure == "without_progress")
    assert without.interval.mean == 0 and 0.005 < without.interval.high < without.bound


@pytest.mark.parametrize(
    ("spoil", "measures", "words"),
    [
        (cut_off(0.2, WARM_UP_S * 10**6), {"mean_ttfb", "mean_ttlb", "without_progress"}, "worse for some"),
        (cut_off(0.3, WARM_UP_S * 10**6), {"mean_ttfb", "mean_ttlb", "without_progress"}, "worse for some"),
        (cut_off(0.2, END_US), {"mean_ttfb", "mean_ttlb"}, "worse for some"),
        (slower(2, share=0.2), {"mean_ttfb", "mean_ttlb", "p90_ttlb"}, "slower"),
    ],
    ids=["20 % cut off in the warm-up", "30 %", "20 % at any moment", "a fifth twice as slow"],
)
def test_what_happens_to_a_few_is_shown_and_said(
    runs: Path, tmp_path: Path, spoil: Spoil, measures: set[str], words: str
) -> None:
    kind = web(compared(runs, tmp_path, EIGHT, spoil))
    assert (kind.verdict, kind.direction) == (SHOWN, "worse")
    assert measures <= {row.measure for row in kind.rows if row.verdict == SHOWN and row.interval.low > 0}
    assert words in kind.sentence and "mean: first byte +" in kind.sentence
    if words == "worse for some":
        same = [row for row in kind.rows if row.measure.startswith("paired")]
        assert all(row.verdict == NO_DIFFERENCE for row in same), "the same downloads do not notice it"


@pytest.mark.parametrize("seeds", [TWENTY, EIGHT], ids=["of twenty", "of eight"])
def test_one_network_that_takes_three_times_as_long_is_named(
    runs: Path, tmp_path: Path, seeds: range
) -> None:
    kind = web(compared(runs, tmp_path, seeds, slower(3, seeds=[SLOW_NETWORK])))
    assert kind.verdict == INCONCLUSIVE
    assert f"network {SLOW_NETWORK} is far from the others" in kind.sentence
    assert {seed for row in kind.rows for seed in row.far_out} == {SLOW_NETWORK}
    far = next(row for row in kind.rows if row.measure == "paired_ttfb")
    assert far.by_network[SLOW_NETWORK] == pytest.approx(2, abs=0.1)


def said_of(*not_arrived: str, **bounds: tuple[float, float]) -> Comparison:
    """What is said of web clients whose measures lie between these bounds."""
    file = claims_file_of(change_verdict(**bounds)).model_copy(update={"not_arrived": not_arrived})
    return comparison(file, claims_of(experiment()))


@pytest.mark.parametrize(
    ("shown", "direction", "words"),
    [
        ({"paired_ttfb": LESS, "mean_ttfb": MORE}, "mixed", "faster for most, worse for the slowest"),
        ({"paired_ttlb": MORE, "p90_ttlb": LESS}, "mixed", "slower for most, better for the slowest"),
        ({"paired_ttfb": LESS, "paired_ttlb": MORE}, "mixed", "first bytes faster, last bytes slower"),
        ({"paired_ttfb": LESS, "mean_ttfb": LESS}, "better", "faster"),
        ({"failed": MORE}, "worse", "worse for some"),
    ],
)
def test_measures_that_disagree_are_said_first(
    shown: dict[str, tuple[float, float]], direction: str, words: str
) -> None:
    (kind,) = said_of(**shown).kinds
    assert (kind.verdict, kind.direction) == (SHOWN, direction)
    assert kind.sentence.startswith(f"Web clients: {words}: ")


def test_no_difference_is_refused_where_the_change_did_not_arrive() -> None:
    said = said_of()
    assert said.verdict == NO_DIFFERENCE and said.step is None
    assert any("31 %" in note for note in said.notes), "what eight networks may all have missed"
    refused = said_of("my_branch")
    assert refused.verdict == INCONCLUSIVE and "did not arrive" in refused.kinds[0].sentence
    assert said_of("my_branch", failed=MORE).verdict == SHOWN


def test_no_difference_is_refused_where_the_networks_cannot_show_the_change() -> None:
    claim = next(each for each in claims_of(experiment()) if isinstance(each, AnyChange))
    blind = claim.model_copy(update={"cannot_show": "small cannot show a change of windows"})
    for bounds, verdict in (({}, INCONCLUSIVE), ({"failed": MORE}, SHOWN)):
        (kind,) = comparison(claims_file_of(change_verdict(**bounds)), [blind]).kinds
        assert kind.verdict == verdict
        assert NO_DIFFERENCE not in {row.verdict for row in kind.rows}
    (kind,) = comparison(claims_file_of(change_verdict()), [blind]).kinds
    assert kind.sentence == "Web clients: inconclusive: small cannot show a change of windows."


def test_what_is_said_is_data_that_json_can_hold() -> None:
    said = said_of(paired_ttfb=LESS)
    assert json.loads(json.dumps(dataclasses.asdict(said)))["kinds"][0]["rows"][0]["measure"] == "paired_ttfb"
    assert said.sentence == "Web clients: faster (first byte, same download −20.0 %, +100 ms)."
