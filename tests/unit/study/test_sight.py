"""What a network cannot show is said beforehand, and refused as an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.study import sight
from torsweep.study.tor_change import Sides, read_change

HEADER = "engine,network,load,plan,change,kind,metric,statistic,mean,low,high\n"


def _row(network: str, mean: float, low: float, high: float) -> str:
    return f"cellsim,{network},1.0,windows,congestion=fixed,bulk,ttlb,paired,{mean},{low},{high}\n"


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows make a third there, a quarter on `near`, nothing on `blind`."""
    file = tmp_path / "seen.csv"
    rows = [_row("own_rates", 0.33, 0.2, 0.5), _row("near", 0.25, -0.1, 0.6), _row("blind", 0.02, 0.01, 0.03)]
    file.write_text(HEADER + "".join(rows))
    monkeypatch.setattr(sight, "SEEN_FILE", file)


def test_a_network_is_blind_to_what_it_shows_less_than_half_of() -> None:
    assert [each.sort.title for each in sight.unseen("blind", 200)] == ["windows and congestion control"]
    assert sight.unseen("near", 200) == sight.unseen("own_rates", 200) == []
    assert sight.unseen("of_the_user", 200) == []
    assert [each.sort.title for each in sight.unseen("of_the_user", 99)] == ["Conflux"]


def test_a_plan_says_why_and_what_to_ask_instead() -> None:
    why, _, command = sight.blind_line("blind", 200).partition(": ask with ")
    assert "bulk, last byte, same download +2.0 % here, +33.0 % on own_rates, in the model" in why
    assert "--engine shadow --network own_rates" in command and "plan=windows" in command
    assert sight.blind_line("near", 200) == ""


def test_only_a_change_of_that_sort_is_refused() -> None:
    for sides in (Sides(consensus=("cc_alg=0",)), Sides(consensus=("circwindow=500",))):
        assert sight.refusal(read_change(sides), "blind", 200).startswith(
            "blind cannot show a change of windows"
        )
        assert sight.refusal(read_change(sides), "near", 200) == ""
    assert sight.refusal(read_change(Sides(torrc=("Schedulers Vanilla",))), "blind", 14) == ""
    assert "Conflux" in sight.refusal(read_change(Sides(consensus=("cfx_enabled=0",))), "near", 8)
