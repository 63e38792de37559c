"""A study in a folder of its own has what the checkout ships beside what is its own."""

from pathlib import Path

import pytest

from torsweep.config.experiment import experiment_names, experiment_path, load_experiment
from torsweep.config.network import load_network_config, network_path
from torsweep.errors import InputError
from torsweep.home import CHECKOUT, find, find_all, shown
from torsweep.network.sampling import input_paths, sample_network
from torsweep.pipeline.figures import figures
from torsweep.tor.series import read_series

SHIPPED = Path("experiments/refill_sweep/experiment.yaml")


@pytest.fixture
def study(tmp_path, monkeypatch) -> Path:
    """The working directory: an empty folder outside the checkout."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _own(file: str, of: str) -> Path:
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((CHECKOUT / of).read_bytes())
    return path


def test_in_the_checkout_paths_stay_as_they_are(monkeypatch):
    monkeypatch.chdir(CHECKOUT)
    assert find(SHIPPED) == SHIPPED == experiment_path("refill_sweep")
    assert find_all("configs/networks", "ci.yaml") == [Path("configs/networks/ci.yaml")]
    assert not any(path.is_absolute() for path in input_paths(load_network_config("ci")).values())


def test_a_study_finds_what_ships(study):
    assert find(SHIPPED) == CHECKOUT / SHIPPED == experiment_path("refill_sweep")
    assert (
        network_path("configs/networks/ci.yaml")
        == network_path("ci")
        == CHECKOUT / "configs/networks/ci.yaml"
    )
    assert "ttfb_cdf" in figures()
    assert read_series().patches
    assert shown(find(SHIPPED)) == str(SHIPPED)


def test_a_file_of_the_study_comes_first(study):
    own = _own("experiments/refill_sweep/experiment.yaml", of="experiments/starvation/experiment.yaml")
    assert find(SHIPPED) == own == experiment_path("refill_sweep")
    assert load_experiment("refill_sweep").question == load_experiment("starvation").question
    assert shown(own) == str(own)


def test_names_are_those_of_the_study_and_those_that_ship(study):
    shipped = experiment_names()
    _own("experiments/mine/experiment.yaml", of=str(SHIPPED))
    assert experiment_names() == sorted([*shipped, "mine"])
    with pytest.raises(InputError, match=r"did you mean 'mine'") as refusal:
        load_experiment("mina")
    assert "refill_sweep" in str(refusal.value)
    with pytest.raises(InputError, match=r"accepted: .*laptop, live, live_2019, mesh, own_rates, paper"):
        _own("configs/networks/mesh.yaml", of="configs/networks/ci.yaml")
        load_network_config("none")


def test_a_series_of_ones_own_stands_for_the_one_that_ships(study):
    shipped = read_series().sha256
    patch = Path("patches/tor/mine.patch")
    patch.parent.mkdir(parents=True)
    patch.write_text("a patch\n")
    assert read_series().sha256 == shipped
    Path("patches/tor/series").write_text("mine.patch\n")
    assert [patch.name for patch in read_series().patches] == ["mine.patch"]


def test_a_path_that_neither_has_is_named_as_it_was_given(study):
    assert find("experiments/none") == Path("experiments/none")
    assert find(study / "none") == study / "none"


def test_a_network_sampled_in_a_study_is_that_of_the_checkout(study, monkeypatch):
    there = sample_network(load_network_config("ci"), 1).network
    assert str(CHECKOUT) not in there.model_dump_json()
    monkeypatch.chdir(CHECKOUT)
    assert sample_network(load_network_config("ci"), 1).network == there
