"""Programs as levels: what an experiment may say of one, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.programs import PLACES
from torsweep.errors import InputError

FLOOD = {
    "command": ["python3", "-u", "{experiment}/flood.py", "{address:heaviest_guard}", "{or_port}"],
    "hosts": {"count": 5, "rate": "10 Mbit/s"},
    "from": "20 s",
    "keeps": ["*.csv"],
}


def _experiment(programs, **overrides):
    grid = {"knobs.programs": ["none", *programs], "baseline.programs": "none"}
    return load_experiment("refill_sweep", {"programs": programs, **grid, **overrides})


def test_programs_are_levels_and_none_is_one_in_every_experiment():
    experiment = _experiment({"flood": FLOOD, "both": [FLOOD, {"command": ["true"], "on": {}}]})
    assert [len(experiment.programs_of(one)) for one in experiment.plan().variants[:3]] == [0, 1, 2]
    (flood,) = experiment.programs_of(experiment.variant("programs=flood"))
    assert (flood.begin, flood.until, flood.keeps_most) == (20 * 10**9, None, 10**7)
    assert flood.files == ["flood.py"]
    untouched = load_experiment("refill_sweep")
    assert untouched.programs_of(untouched.variant("")) == ()
    assert untouched.variant("programs=none").key.endswith("+programs=none")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ({"command": []}, "[0].command: "),
        ({"command": ["a", "{relay}"]}, "[0].command: is no place to fill in, got '{relay}'; accepted"),
        ({"command": ["a", "{address:}"]}, "[0].command: is no place to fill in"),
        ({"hosts": {"torrc": {"EntryNodes": "{seed}"}}}, "[0].hosts.torrc.EntryNodes: is not filled in here"),
        ({"command": ["a", "{socks_port}"]}, "[0].command: is of a tor, and hosts of the program have none"),
        ({"on": {"role": "client"}}, "[0].on: needs one way to say its hosts; accepted: on or hosts"),
        ({"hosts": None}, "[0].hosts: needs one way to say its hosts"),
        ({"until": "10 s"}, "[0].until: is not after from"),
        ({"until": "30 s", "ends": True}, "[0].until: means nothing of a program that ends by itself"),
        ({"from": "20 h"}, "[0].from: is after the end of the run"),
        ({"keeps": ["a/../../x"]}, "[0].keeps[0]: leads elsewhere, got 'a/../../x'"),
        ({"keeps": ["/etc/passwd"]}, "[0].keeps[0]: "),
        ({"keeps_most": 5}, "[0].keeps_most: has no unit"),
        ({"hosts": {"like": "bridge"}}, "[0].hosts.like: is not accepted"),
        ({"comand": ["a"]}, "[0].comand: unknown key (did you mean 'command'?)"),
    ],
)
def test_what_is_no_program_is_named_with_what_is_accepted(program, said):
    with pytest.raises(InputError) as refusal:
        _experiment({"flood": {**FLOOD, **program}})
    assert f"experiment.yaml: programs.flood{said}" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_levels_of_one_content_and_none_with_programs_are_refused():
    with pytest.raises(InputError, match=r"programs\.again: has the same content as flood"):
        _experiment({"flood": FLOOD, "again": FLOOD})
    with pytest.raises(InputError, match=r"programs\.none: is the level without programs"):
        load_experiment("refill_sweep", {"programs": {"none": FLOOD}})


def test_the_page_of_programs_has_every_place_to_fill_in():
    page = Path("docs/how-to/run-programs.md").read_text(encoding="utf-8")
    for place, meaning in PLACES.items():
        assert f"| `{{{place}}}` | {meaning} |" in page
