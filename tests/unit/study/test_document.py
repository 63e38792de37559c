"""A study says all of its question, stands under one name, and grows by networks alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError
from torsweep.study.document import PATCHES, Setup, Study, make_study
from torsweep.study.tor_change import Sides, TorChange, read_change

CHECKOUT = Path(__file__).parents[3]
OPTIONS = {"era": "today", "warm_up": "1 min", "measured": "2 min", "pairing": "free"}
SETUP = Setup.read(**OPTIONS)


@pytest.fixture(autouse=True)
def beside(nothing_tried: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A working directory that is no checkout."""
    monkeypatch.chdir(tmp_path)


def study(change: TorChange, setup: Setup = SETUP, folder: Path | None = None) -> Study:
    return make_study(change, setup, "ci", folder, "torsweep compare")


def option(value: str) -> TorChange:
    return read_change(Sides(torrc=(f"KISTSchedRunInterval {value}",)))


def test_an_option_as_a_study(tmp_path: Path) -> None:
    made = study(option("1 msec"))
    made.write()
    assert made.folder.parent == Path("torsweep-studies")
    assert made.folder.name.startswith("kistschedruninterval_1_msec-")
    experiment = load_experiment(made.file)
    assert experiment.model_dump() == made.experiment().model_dump()
    assert experiment.name == "kistschedruninterval_1_msec"
    assert experiment.engines == ("emulation", "shadow")
    keys = [variant.key for variant in experiment.plan().variants]
    assert keys == ["options=default", f"options={experiment.name}"]
    assert experiment.bundles[experiment.name].torrc == {"KISTSchedRunInterval": "1 msec"}
    assert {claim["test"] for claim in experiment.claims} == {"change"}
    assert [claim["kind"] for claim in experiment.claims] == ["web", "large", "everyone"]
    shipped = load_experiment(CHECKOUT / "experiments/refill_sweep/experiment.yaml")
    assert experiment.traffic == shipped.traffic
    assert experiment.warm_up == experiment.client_start_window == 60_000_000_000


def test_the_question_names_the_folder() -> None:
    studies = [
        study(option("1 msec")),
        study(option("2 msec")),
        study(option("1 msec"), Setup.read(**{**OPTIONS, "measured": "3 min"})),
        study(option("1 msec"), Setup.read(**{**OPTIONS, "era": "2012"})),
        make_study(option("1 msec"), SETUP, "quarter", None, "torsweep compare"),
    ]
    assert len({made.folder for made in studies}) == 5
    assert study(option("1 msec")).folder == studies[0].folder


def test_a_study_is_written_again_only_with_more_networks_and_keeps_the_first_seed_of_a_user() -> None:
    made = study(option("1 msec"))
    made.write()
    before = made.file.stat().st_mtime_ns
    study(option("1 msec")).write()
    assert made.file.stat().st_mtime_ns == before
    made.file.write_text(made.file.read_text().replace("first_seed: 1\n", "first_seed: 101\n"))
    many = study(option("1 msec"), Setup.read(**OPTIONS | {"networks": "16"}))
    assert many.folder == made.folder
    many.write()
    written = load_experiment(made.file)
    assert (written.replicates, written.seeds[0], many.experiment().first_seed) == (16, 101, 101)


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    one, other = study(option("1 msec"), folder=folder), study(option("2 msec"), folder=folder)
    one.write()
    with pytest.raises(InputError, match="holds a study of something else") as refused:
        replace(other, name=one.name).require_same()
    assert "accepted: another folder" in str(refused.value)
    longer = Setup.read(**{**OPTIONS, "measured": "3 min"})
    with pytest.raises(InputError, match="measured differs in"):
        study(option("1 msec"), longer, folder).write()


def test_two_questions_can_share_a_folder(tmp_path: Path) -> None:
    """They share builds and networks, then."""
    one, other = (study(option(value), folder=tmp_path / "mine") for value in ("1 msec", "2 msec"))
    one.write()
    other.write()
    assert one.file.is_file() and other.file.is_file() and one.file != other.file


def test_a_patch_is_kept_in_the_study(patch: Path) -> None:
    made = study(read_change(Sides(f"patch:{patch}")))
    made.write()
    copy = made.folder / PATCHES / patch.name
    assert copy.read_bytes() == patch.read_bytes()
    assert yaml.safe_load(made.file.read_text())["tors"] == {
        "kist_idle": {"source": "debian", "patches": ["patches/kist-idle.patch"]}
    }
    patch.write_text(patch.read_text().replace("int b", "int c"))
    again = study(read_change(Sides(f"patch:{patch}")))
    assert again.folder != made.folder, "another patch is another question"
    with pytest.raises(InputError, match="another patch of this name"):
        study(read_change(Sides(f"patch:{patch}")), folder=made.folder).write()


def test_a_network_of_ones_own_belongs_into_the_study(tmp_path: Path) -> None:
    file = tmp_path / "configs/networks/mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text((CHECKOUT / "configs/networks/ci.yaml").read_text())
    with pytest.raises(InputError, match=r"--network: is in this folder, where the study torsweep-st"):
        make_study(option("1 msec"), SETUP, "mine", None, "torsweep compare")
    here = make_study(option("1 msec"), SETUP, "mine", Path("."), "torsweep compare")
    assert here.experiment().network == "mine"


def test_paths_are_relative_to_the_study(repository: Path) -> None:
    made = study(read_change(Sides(f"{repository}@my-branch")))
    made.write()
    for entry in yaml.safe_load(made.file.read_text())["tors"].values():
        assert (made.folder / entry["git"]).resolve() == repository
        assert len(entry["revision"]) == 40
    assert {tor.git for tor in made.builds.values()} == {repository}


def test_the_builds_of_a_study(program: Path) -> None:
    assert study(option("1 msec")).builds.keys() == {"stock"}
    assert study(read_change(Sides("same"))).builds.keys() == {"stock"}
    assert study(read_change(Sides(str(program)))).builds.keys() == {"stock", "my_tor"}
    assert study(read_change(Sides("same", baseline=str(program)))).builds.keys() == {"my_tor"}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("era", "1999", "--era: is not accepted, got '1999'; accepted: '2012', '2019' or"),
        ("warm_up", "60", "--warm-up: is not accepted, got '60'"),
        ("measured", "1 ms", "--measured: "),
        ("pairing", "twins", "--pairing: is not accepted, got 'twins'; accepted: 'free' or 'paths'"),
        ("networks", "0", "--networks: is not accepted, got 0; accepted: greater than or equal to 1"),
        ("warm_up", "", "--warm-up: is not accepted, got ''"),
    ],
)
def test_options_that_are_wrong_are_named(name: str, value: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        Setup.read(**{"networks": "8", **OPTIONS, name: value})
    assert str(refused.value).startswith(problem)


def test_a_branch_that_is_called_as_a_rule_of_the_pipeline_has_a_study(tmp_path: Path) -> None:
    change = option("1 msec")
    (name,) = change.options
    called = replace(change, knobs={"options": ("default", "run")}, options={"run": change.options[name]})
    made = study(called)
    made.write()
    assert made.name == "compare_run"
    assert load_experiment(made.file).knobs == {"options": ("default", "run")}


def test_what_a_comparison_is_about_is_kept_with_it_and_what_was_known_of_chance_stays(
    tmp_path: Path,
) -> None:
    asked = {**OPTIONS, "about": "large downloads, last byte", "first_seed": "9"}
    about = study(option("1 msec"), Setup.read(**asked), tmp_path)
    (claim,) = (each for each in about.experiment().claims if "about" in each)
    assert (claim["kind"], claim["about"]) == ("large", "paired_ttlb")
    assert about.experiment().seeds[0] == 9
    known = [{"engine": "emulation", "kind": "web", "measure": "paired_ttfb", "sd": 0.5, "networks": 3}]
    about.document["precision"]["spread"] = known  # type: ignore[index]
    about.write()
    again = study(option("1 msec"), Setup.read(**asked), tmp_path)
    assert again.document["precision"]["spread"] == known
    with pytest.raises(InputError, match="holds a study of something else: claims differs"):
        study(option("1 msec"), Setup.read(**{**asked, "about": "web, first byte"}), tmp_path).write()
    with pytest.raises(InputError, match="--about: these networks have no such downloads"):
        study(option("1 msec"), Setup.read(**{**OPTIONS, "about": "onion services, first byte"}))
