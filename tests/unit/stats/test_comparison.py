"""What is said of two tors that are alike, and of one that does something bad or good: tables of the model,
altered.

Each sentence has to be true, and the worst comes first."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from tests.analyses import change_verdict, claims_file_of
from tests.model_comparison import (
    BASELINE,
    END_US,
    KNOB,
    Spoil,
    both,
    compared,
    cut_off,
    experiment,
    never_begun,
    refused,
    slower,
    write_runs,
)
from torsweep.engines.table_schema import STREAMS
from torsweep.runsets.run import read_table
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.change import EVERYONE, AnyChange, MeasureQuestion
from torsweep.stats.claims.judging import INCONCLUSIVE, NO_DIFFERENCE, within_factor
from torsweep.stats.comparison import BETTER, MIXED, OPEN, WORSE, Comparison, KindVerdict, comparison
from torsweep.stats.comparison_rows import SHOWN

THREE, FOUR, FIVE, EIGHT, TWENTY = (range(1, 1 + many) for many in (3, 4, 5, 8, 20))
SLOW_NETWORK = 3
LESS, MORE = (-0.3, -0.1), (0.1, 0.3)
TENTH_SHORTER = slower(0.9)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alike")
    write_runs(folder, TWENTY)
    return folder


def of(said: Comparison, name: str = "web") -> KindVerdict:
    return next(kind for kind in said.kinds if kind.kind == name)


def test_two_tors_that_are_alike_make_no_difference(runs: Path, tmp_path: Path) -> None:
    """Three bulk clients a network are too few to say so of large downloads."""
    said = compared(runs, tmp_path, EIGHT)
    assert {of(said).verdict, of(said, EVERYONE).verdict} == {NO_DIFFERENCE}, said.sentences
    assert said.verdict == INCONCLUSIVE and said.step is not None and said.step.networks == 16
    assert said.sentences[0].startswith("No difference: Web clients (same download within 5 %")
    without = next(row for row in of(said, EVERYONE).rows if row.measure == "without_progress")
    assert without.interval.mean == 0 and 0.002 < without.interval.high < without.bound
    assert "nothing" not in " ".join(said.sentences)


def test_identical_runs_make_no_difference_however_few_there_are(runs: Path, tmp_path: Path) -> None:
    """The same bytes on both sides, as two runs of a deterministic engine are."""
    key = experiment().variant(f"{KNOB}={BASELINE}").key
    said = compared(runs, tmp_path, THREE, lambda _, seed: read_table(runs / str(seed) / key, STREAMS))
    assert said.verdict == NO_DIFFERENCE, said.sentences
    assert {row.interval.high for row in said.rows} == {0}


@pytest.mark.parametrize(
    ("seeds", "nobody"),
    [
        (THREE, cut_off(0.1, END_US)),
        (FOUR, cut_off(0.1, END_US)),
        (FIVE, cut_off(0.05, END_US)),
        (EIGHT, cut_off(0.03, END_US)),
        (EIGHT, never_begun(0.15)),
    ],
    ids=["10 %, three networks", "10 %, four", "5 %, five", "3 %, eight", "15 % never begin, eight"],
)
def test_times_that_are_shorter_for_those_who_are_served_are_not_better(
    runs: Path, tmp_path: Path, seeds: range, nobody: Spoil
) -> None:
    said = compared(runs, tmp_path, seeds, both(TENTH_SHORTER, nobody))
    web, everyone = of(said), of(said, EVERYONE)
    assert said.verdict == SHOWN
    assert everyone.direction == WORSE or web.direction in (OPEN, MIXED, WORSE), said.sentences
    assert "Web clients: faster:" not in " ".join(said.sentences)
    if everyone.verdict == SHOWN:
        assert said.sentences[0].startswith("More get nothing: clients without progress +")
    if web.direction == OPEN:
        assert "Web clients: faster for those who are served: " in " ".join(said.sentences)
        assert "get nothing (" in web.words


def test_a_tor_that_serves_more_clients_less_quickly_is_said_to_do_both(runs: Path, tmp_path: Path) -> None:
    """The mirror: the baseline is the one with shorter times and clients that never begin."""
    said = compared(runs, tmp_path, EIGHT, both(TENTH_SHORTER, never_begun(0.15)), side=BASELINE)
    assert (of(said).direction, of(said, EVERYONE).direction) == (WORSE, BETTER)
    text = " ".join(said.sentences)
    assert "Web clients: slower: " in text and "Fewer get nothing: clients without progress −" in text


@pytest.mark.parametrize(
    ("spoil", "group", "words"),
    [
        (slower(2, share=0.2), "web", "Web clients: slower: "),
        (slower(3, share=0.09, slowest=True), "web", "Web clients: slower: "),
        (slower(10, kinds="perf"), "large", "Large downloads (5 MiB): slower: "),
        (refused(0.2), EVERYONE, "More get nothing: failed downloads +"),
        (never_begun(0.2), EVERYONE, "More get nothing: clients without progress +"),
    ],
    ids=["a fifth twice", "the slowest 9 % thrice", "perf clients", "refused", "never begun"],
)
def test_what_happens_to_a_few_is_shown_and_said(
    runs: Path, tmp_path: Path, spoil: Spoil, group: str, words: str
) -> None:
    said = compared(runs, tmp_path, EIGHT, spoil)
    assert (of(said, group).verdict, of(said, group).direction) == (SHOWN, WORSE), said.sentences
    named = next(sentence for sentence in said.sentences if sentence.startswith(words))
    shown = [row for row in of(said, group).rows if row.verdict == SHOWN]
    worst = max(shown, key=lambda row: row.size)
    assert named.startswith(words.partition(": ")[0]) and worst.change_text in named.split(";")[0]
    if group == EVERYONE:
        assert said.sentences[0] == named


@pytest.mark.parametrize("seeds", [FOUR, EIGHT, TWENTY], ids=["of four", "of eight", "of twenty"])
def test_one_network_that_takes_three_times_as_long_is_named(
    runs: Path, tmp_path: Path, seeds: range
) -> None:
    said = compared(runs, tmp_path, seeds, slower(3, seeds=[SLOW_NETWORK]))
    assert of(said).verdict == INCONCLUSIVE, said.sentences
    assert f"Far from the others: network {SLOW_NETWORK} (" in " ".join(said.sentences)
    assert {seed for row in of(said).rows for seed in row.far_out} == {SLOW_NETWORK}


def said_of(
    *not_arrived: str, nothing: dict[str, tuple[float, float]] | None = None, **bounds: tuple[float, float]
) -> Comparison:
    """What is said where measures of web clients, and of who gets nothing, lie between these bounds."""
    verdicts = (change_verdict(**bounds), change_verdict(EVERYONE, **(nothing or {})))
    file = claims_file_of(*verdicts).model_copy(update={"not_arrived": not_arrived})
    return comparison(file, claims_of(experiment()))


@pytest.mark.parametrize(
    ("shown", "nothing", "direction", "words"),
    [
        (
            {"paired_ttfb": LESS, "mean_ttfb": MORE},
            {},
            MIXED,
            "slower: first byte, mean +20.0 % (+100 ms); and faster",
        ),
        ({"paired_ttfb": LESS, "mean_ttfb": LESS}, {}, BETTER, "faster: "),
        ({"paired_ttfb": LESS, "mean_ttfb": (-0.29, 4.27)}, {}, BETTER, "faster for most: "),
        ({"paired_ttfb": LESS}, {"failed": (-0.01, 0.18)}, OPEN, "faster for those who are served: "),
        ({"paired_ttfb": LESS}, {"failed": MORE}, OPEN, "faster for those who are served: "),
        (
            {"paired_ttlb": MORE, "p90_ttlb": (0.5, 0.7)},
            {},
            WORSE,
            "slower: last byte, 90th percentile +60.0 %",
        ),
    ],
)
def test_what_disagrees_is_said_as_it_is(
    shown: dict[str, tuple[float, float]], nothing: dict[str, tuple[float, float]], direction: str, words: str
) -> None:
    kind = of(said_of(nothing=nothing, **shown))
    assert (kind.verdict, kind.direction) == (SHOWN, direction)
    assert kind.sentence.startswith(f"Web clients: {words}")


def test_a_row_that_may_be_anything_is_named_in_a_line_and_is_no_row() -> None:
    said = said_of(p90_ttlb=(-0.6, 1.2))
    assert "p90_ttlb" not in {row.measure for row in said.numbers}
    assert "Too little was measured to say anything of web: 90th percentile (last byte)." in said.sentences


@pytest.mark.parametrize(("mean", "word"), [(0.008, "within 5 %"), (0.001, NO_DIFFERENCE)])
def test_a_change_that_is_smaller_than_the_bound_is_not_called_none(mean: float, word: str) -> None:
    """Its 90 % interval excludes 0, and the interval that covers all measures together does not."""
    values = mean + 0.004 * np.linspace(-1, 1, 8)
    readings = (lambda interval: interval.low > 0, lambda interval: False, within_factor(0.05))
    question = MeasureQuestion(
        "", values, "", *readings, logarithms=True, measure="paired_ttfb", bound=0.05, networks=tuple(EIGHT)
    )
    together = 0.99999
    answer = dataclasses.replace(question, confidence=together).answer(together)
    verdict = dataclasses.replace(change_verdict(), comparisons=(answer,))
    (row,) = comparison(claims_file_of(verdict), claims_of(experiment())).rows
    assert (row.verdict, row.cells[-1]) == (NO_DIFFERENCE, word)


def test_no_difference_is_refused_where_the_change_did_not_arrive() -> None:
    said = said_of()
    assert said.verdict == NO_DIFFERENCE and said.step is None
    assert any("31 %" in note for note in said.notes), "what eight networks may all have missed"
    lost = said_of("my_branch")
    assert lost.verdict == INCONCLUSIVE and "did not arrive" in " ".join(lost.sentences)
    assert said_of("my_branch", nothing={"failed": MORE}).verdict == SHOWN


def test_no_difference_is_refused_where_the_networks_cannot_show_the_change() -> None:
    claim = next(each for each in claims_of(experiment()) if isinstance(each, AnyChange))
    blind = claim.model_copy(update={"cannot_show": "small cannot show a change of windows"})
    for bounds, verdict in (({}, INCONCLUSIVE), ({"paired_ttfb": MORE}, SHOWN)):
        (kind,) = comparison(claims_file_of(change_verdict(**bounds)), [blind]).kinds
        assert kind.verdict == verdict
        assert NO_DIFFERENCE not in {row.verdict for row in kind.rows}
    said = comparison(claims_file_of(change_verdict()), [blind])
    assert said.sentences == ("Inconclusive: small cannot show a change of windows.",)


def test_what_is_said_is_data_that_json_can_hold() -> None:
    said = said_of(paired_ttfb=LESS)
    assert json.loads(json.dumps(dataclasses.asdict(said)))["kinds"][0]["rows"][0]["measure"] == "paired_ttfb"
    assert said.sentence == "Web clients: faster: first byte, same download −20.0 % (+100 ms)."
