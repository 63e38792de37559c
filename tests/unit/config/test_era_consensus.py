"""The consensus of an era: which knobs it sets, what else tor is told, what a study's own file changes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from torsweep.config.eras import ERAS_DIRECTORY, era_consensus, require_modelled, tor_settings, usual_levels
from torsweep.config.knobs import KNOBS
from torsweep.errors import InputError
from torsweep.tor.torrc import consensus_parameters


def test_the_levels_of_today_are_those_of_the_consensus_that_ships() -> None:
    consensus = era_consensus("today")
    assert consensus is not None
    assert consensus.levels == {knob: KNOBS[knob].usual_in("today") for knob in consensus.levels}
    assert {"guards": "2", "scheduler": "kist_3ms", "congestion": "vegas"}.items() <= consensus.levels.items()


def test_authorities_vote_for_each_value_of_the_consensus() -> None:
    consensus = era_consensus("today")
    assert consensus is not None
    told = consensus_parameters(tor_settings("today", {}))
    # Clients are told of guards by their torrc, and an authority takes the other from an option of its own.
    elsewhere = {("guard-n-primary-guards-to-use", 2), ("AuthDirMaxServersPerAddr", 8)}
    assert consensus.parameters.items() - told.items() <= elsewhere


def test_a_knob_goes_before_the_consensus() -> None:
    settings = tor_settings("today", {"scheduler": "kist_10ms", "congestion": "fixed"})
    told = consensus_parameters(settings)
    assert (told["KISTSchedRunInterval"], told["cc_alg"]) == (10, 0)


def test_an_era_without_a_file_has_the_parameters_of_its_knobs_alone() -> None:
    assert era_consensus("2019") is None
    assert "cc_cwnd_min" not in consensus_parameters(tor_settings("2019", {}))


def _own(folder: Path, **parameters: object) -> None:
    document = {"valid_after": "2026-11-01 00:00:00", "source": "a newer one", "parameters": parameters}
    (folder / ERAS_DIRECTORY).mkdir(parents=True)
    (folder / ERAS_DIRECTORY / "today.yaml").write_text(yaml.safe_dump(document))


def test_a_file_of_the_study_takes_the_place_of_the_one_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _own(tmp_path, **{"KISTSchedRunInterval": 5, "guard-n-primary-guards-to-use": 1, "cc_cwnd_min": 62})
    monkeypatch.chdir(tmp_path)
    assert usual_levels("today")["scheduler"] == "kist_5ms"
    settings = tor_settings("today", {})
    assert (settings.guards, settings.consensus) == (1, {"cc_cwnd_min": 62})
    with pytest.raises(InputError, match="cc_cwnd_min: is not in the model, got 62; accepted: 124"):
        require_modelled(settings.consensus)


@pytest.mark.parametrize(("name", "value"), [("cc_alg", 1), ("KISTSchedRunInterval", 1)])
def test_a_parameter_that_is_no_level_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    _own(tmp_path, **{name: value})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is no level of this knob"):
        tor_settings("today", {})
