"""Which engine plays a comparison: real tor only, and the one line that says why."""

from __future__ import annotations

import re

import pytest

from torsweep.errors import InputError, ToolMissing
from torsweep.machine import Machine, read_machine
from torsweep.study import venue
from torsweep.study.venue import choose_venue


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch):
    """``here(cores=2, emulation="why not", shadow="why not")``: a machine with all the room there is."""

    def install(cores: int = 64, **lacking: str) -> None:
        room = {"available_bytes": 1 << 40, "shared_memory_free_bytes": 1 << 40, "cores": cores}
        limits = dict.fromkeys(("processes", "pid_max", "threads_max", "open_files"), None)
        machine = Machine(**{**vars(read_machine()), **room, **limits})
        monkeypatch.setattr(venue, "read_machine", lambda: machine)
        monkeypatch.setattr(venue, "lacking", lambda name, **_: lacking.get(name, ""))
        monkeypatch.setattr(venue, "installed_kind", lambda name: {"shadow": "shadow-no-rtt"}.get(name, name))

    return install


def test_emulation_comes_first(here) -> None:
    here()
    venue = choose_venue("auto", None)
    assert (venue.engine, venue.network) == ("emulation", "eight_relays")
    assert venue.why == "it has a real kernel, and eight_relays fits this machine"


def test_shadow_where_emulation_cannot_run(here) -> None:
    here(emulation="no rights")
    venue = choose_venue("auto", None)
    assert (venue.engine, venue.network) == ("shadow-no-rtt", "eight_relays")
    assert venue.why.endswith("eight_relays fits this machine; not emulation: no rights")


def test_a_network_that_does_not_fit_real_time_goes_to_shadow(here) -> None:
    """Real time takes cores; simulated time waits."""
    here(cores=1)
    assert choose_venue("auto", "quarter").engine == "shadow-no-rtt"
    assert "not emulation: quarter needs 2 cores, and there are 1" in choose_venue("auto", "quarter").why


def test_without_any_engine_it_says_what_to_install(here) -> None:
    here(emulation="no rights", shadow="not on PATH; install it")
    with pytest.raises(ToolMissing) as refused:
        choose_venue("auto", "ci")
    assert str(refused.value) == (
        "no engine that runs real tor can play this here: emulation: no rights; shadow: not on PATH; install"
        " it; the model takes no builds"
    )


@pytest.mark.parametrize(
    ("engine", "network", "problem"),
    [
        (
            "cellsim",
            None,
            "--engine: does not run real tor, got 'cellsim'; accepted: auto, emulation, shadow",
        ),
        ("ns3", None, "--engine: is no engine, got 'ns3'; accepted: auto, emulation, shadow"),
        ("auto", "nowhere", "no such network"),
    ],
)
def test_engines_that_cannot_and_networks_that_are_not_there(here, engine, network, problem) -> None:
    here()
    with pytest.raises(InputError, match=re.escape(problem)):
        choose_venue(engine, network)


def test_an_engine_that_is_asked_for_is_planned_wherever_it_is(here) -> None:
    here(shadow="not on PATH")
    assert choose_venue("shadow", "ci").why == choose_venue("emulation", "ci").why == "asked for"
