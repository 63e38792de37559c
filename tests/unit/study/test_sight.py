"""What a network cannot show is said beforehand, and refused as an answer."""

from __future__ import annotations

from torsweep.study import sight
from torsweep.study.tor_change import Sides, read_change

WINDOWS, SCHEDULER = Sides(consensus=("cc_alg=0",)), Sides(torrc=("Schedulers Vanilla",))


def test_small_live_cannot_show_windows_and_its_plan_says_what_can() -> None:
    line = sight.blind_line("small_live", 200)
    assert line.startswith("windows and congestion control (") and "last byte" in line
    assert ": ask with --engine shadow --network own_rates" in line
    assert sight.blind_line("eight_relays", 200) == sight.blind_line("of_the_user", 200) == ""


def test_only_a_change_of_that_sort_is_refused() -> None:
    assert sight.refusal(read_change(WINDOWS), "small_live", 200).startswith(
        "small_live cannot show a change of windows"
    )
    assert sight.refusal(read_change(WINDOWS), "eight_relays", 200) == ""
    assert sight.refusal(read_change(SCHEDULER), "small_live", 14) == ""


def test_few_relays_cannot_show_conflux() -> None:
    change = read_change(Sides(consensus=("cfx_enabled=0",)))
    assert "Conflux (99 relays" in sight.refusal(change, "of_the_user", 99)
    assert sight.refusal(change, "of_the_user", 100) == ""
