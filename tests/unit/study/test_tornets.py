"""A comparison on networks of tornettools: what it asks, how long it runs, what its intervals are over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.synthetic_tornet import write_tornet
from torsweep.cli import app
from torsweep.config.network import load_network_config
from torsweep.errors import InputError
from torsweep.study import venue, workload
from torsweep.study.document import Setup, Study, make_study
from torsweep.study.tor_change import Sides, read_change
from torsweep.study.venue import Tornets, Venue


@pytest.fixture(autouse=True)
def beside(nothing_tried: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A working directory that is no checkout, with two networks in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("tornet-0.05", "other", "of_no_weight"):
        write_tornet(tmp_path / name)
    weights = tmp_path / "of_no_weight/shadow.data.template/hosts/bwauthority/v3bw.init.consensus"
    weights.write_text("946684801\n")
    monkeypatch.setattr(workload, "standing_build", lambda study, tor: None)


def given(*names: str) -> Tornets:
    found = venue.read_tornets(names)
    assert found is not None
    return found


def study(of: Tornets, **options: str) -> Study:
    setup = Setup.read(of, **options)
    change = read_change(Sides(torrc=("KISTSchedRunInterval 1 msec",)))
    return make_study(change, setup, of.name, None, "torsweep compare", of)


def test_the_study_compares_perf_clients_for_as_long_as_the_network_lasts(tmp_path: Path) -> None:
    made = study(given("tornet-0.05/"))
    experiment = made.experiment()
    assert (experiment.warm_up, experiment.measured) == (1200 * 10**9, 1200 * 10**9)
    assert experiment.engines == ("shadow",) and experiment.replicates == 8
    assert [claim["kind"] for claim in experiment.claims] == ["small", "middle", "large", "everyone"]
    assert not experiment.traffic.kinds


def test_the_study_finds_its_network(monkeypatch: pytest.MonkeyPatch) -> None:
    made = study(given("tornet-0.05"))
    made.write()
    monkeypatch.chdir(made.folder)
    config = load_network_config(made.document["network"])
    assert (config.relays, config.perf_clients, config.markov_clients, config.servers) == (4, 2, 1, 2)
    assert (config.tornettools[0] / "shadow.config.yaml").is_file()


def test_a_network_that_was_changed_is_another_question() -> None:
    before = study(given("tornet-0.05")).folder
    assert study(given("tornet-0.05")).folder == before
    Path("tornet-0.05/conf/tor.client.torrc").write_text("SocksPort 9052\n")
    assert study(given("tornet-0.05")).folder != before


@pytest.mark.parametrize(
    ("name", "asked", "warm_up_s", "measured_s"),
    [
        ("./short", {}, 450, 450),
        ("./short", {"warm_up": "6 min", "measured": "2 min"}, 360, 120),
        ("tornet-0.05", {"warm_up": "30 min"}, 1800, 600),
    ],
    ids=["a short simulation counts its second half", "what is asked for", "a warm-up makes it no longer"],
)
def test_how_long_a_run_lasts(name: str, asked: dict[str, str], warm_up_s: int, measured_s: int) -> None:
    write_tornet(Path("short"), stop_time="15m")
    experiment = study(given(name), **asked).experiment()
    assert (experiment.warm_up, experiment.measured) == (warm_up_s * 10**9, measured_s * 10**9)


def test_a_study_is_of_the_network_as_it_was() -> None:
    def made(msec: int) -> Study:
        of = given("tornet-0.05")
        change = read_change(Sides(torrc=(f"KISTSchedRunInterval {msec} msec",)))
        return make_study(change, Setup.read(of), of.name, Path("mine"), "torsweep compare", of)

    made(1).write()
    made(1).write()
    Path("tornet-0.05/conf/tor.client.torrc").write_text("SocksPort 9052\n")
    # Another question in the same folder is played on the same network.
    for msec in (1, 2):
        with pytest.raises(InputError, match=r"--study: holds a study of tornet-0.05 as it was"):
            made(msec).write()


def test_it_says_what_intervals_are_over() -> None:
    one, two = given("tornet-0.05"), given("tornet-0.05", "other")
    assert one.over(4) == "4 seeds of one network, tornet-0.05: this says nothing about other networks"
    assert two.over(2) == "2 networks of tornettools"
    assert (one.unit, two.unit) == ("seed", "network")
    assert study(two).experiment().replicates == 2
    assert study(one, networks="3").experiment().replicates == 3


@pytest.mark.parametrize(
    ("names", "options", "told"),
    [
        (["tornet-0.05"], {"networks": "auto"}, "--networks: is not accepted, got 'auto'"),
        (["tornet-0.05", "other"], {"networks": "8"}, "--networks: is not the number of networks given"),
        (["tornet-0.05"], {"warm_up": "40 min"}, "--warm-up: leaves nothing of the simulation"),
        (["tornet-0.05"], {"warm_up": "3 min", "measured": "2 min"}, "--measured: ends, with the warm-up"),
        (["tornet-0.05"], {"warm_up": "soon"}, "--warm-up: is not accepted, got 'soon'"),
        (["tornet-0.05"], {"era": "2012"}, "--era: cannot be chosen for a network of tornettools"),
        (["tornet-0.05"], {"pairing": "paths"}, "--pairing: cannot be chosen for a network of tornettools"),
        (["tornet-0.05", "./tornet-0.05"], {}, "--network: names this network twice"),
        (["tornet-0.05", "tornet-0.05"], {}, "--network: names this network twice"),
        (["tornet-0.05", "ci"], {}, "ci/shadow.config.yaml: no such file"),
        (["tornet-0.05", "of_no_weight"], {}, "bwauthority/v3bw: relay1exitguard: has no weight"),
        (["./tornet-0.05/conf"], {}, "tornet-0.05/conf/shadow.config.yaml: no such file"),
    ],
)
def test_what_does_not_go_with_it_is_refused(names: list[str], options: dict[str, str], told: str) -> None:
    with pytest.raises(InputError) as refused:
        study(given(*names), **options)
    assert told in str(refused.value)


@pytest.mark.parametrize("engine", ["cellsim", "emulation", "nonsense"])
def test_other_engines_are_refused(engine: str) -> None:
    with pytest.raises(
        InputError, match=r"--engine: does not play networks of tornettools.*accepted: auto, shadow"
    ):
        given("tornet-0.05").venue(engine)


def test_a_dry_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    venue = Venue("shadow", "tornet-0.05", "as a test says so")
    monkeypatch.setattr(Tornets, "venue", lambda self, engine: venue)
    words = ["compare", "--network", "tornet-0.05/", "--torrc", "KISTSchedRunInterval 1 msec", "--dry-run"]
    assert app(words, standalone_mode=False) in (0, None)
    told = capsys.readouterr().out
    assert re.search(r"^engine    shadow, network tornet-0.05: as a test says so$", told, re.MULTILINE)
    assert "runs      16 (2 for each of 8 seeds of one network, tornet-0.05: this says" in told
    assert not Path("torsweep-studies").exists()


def test_a_name_or_a_file_is_no_folder(tmp_path: Path) -> None:
    assert venue.read_tornets([]) is None
    assert venue.read_tornets(["ci"]) is None
    file = tmp_path / "shadow.config.yaml"
    file.write_text("general: {}\n")
    with pytest.raises(InputError, match=f"--network: is a file.*{re.escape(str(tmp_path))}"):
        venue.read_tornets([str(file)])
