"""A new study has an example that can be played, and touches nothing that is there."""

import os
from pathlib import Path

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.errors import InputError, OutputError
from torsweep.home import CHECKOUT
from torsweep.pipeline.checks import own_experiments
from torsweep.study.new import new_study, write_study

FILES = [
    ".gitignore",
    ".torsweep",
    "README.md",
    "Snakefile",
    "experiments/mine/experiment.yaml",
    "profiles/default/config.yaml",
]


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _refused(torsweep, *arguments: object) -> str:
    code, _, said = torsweep(*arguments)
    assert code == 2 and said.count("\n") == 1, said
    return said


def test_a_new_study_has_an_example_that_compares_a_line_of_torrc(tmp_path, monkeypatch):
    new_study(tmp_path / "study", "mine")
    monkeypatch.chdir(tmp_path / "study")
    assert _files(Path()) == FILES
    example = load_experiment("mine")
    lines = [bundle.torrc for bundle in example.options.values()]
    assert lines == [{"KISTSchedRunInterval": f"{time} msec"} for time in (10, 1)]
    assert own_experiments() == ["mine"]


@pytest.mark.parametrize("engine", ["cellsim", "shadow"])
def test_the_example_is_for_the_engine(tmp_path, monkeypatch, torsweep, engine):
    new_study(tmp_path / "study", "mine", engine)
    monkeypatch.chdir(tmp_path / "study")
    example = load_experiment("mine")
    assert example.engines == (engine,)
    assert set(example.knobs) == {"scheduler" if engine == "cellsim" else "options"}
    assert torsweep("config", "check", "experiments/mine/experiment.yaml")[0] == 0


def test_what_an_early_end_left_is_completed_and_nothing_else_is_touched(tmp_path):
    new_study(tmp_path / "study", "mine")
    (tmp_path / "study/experiments/mine/experiment.yaml").unlink()
    (tmp_path / "study/.gitignore").unlink()
    new_study(tmp_path / "study", "mine")
    assert _files(tmp_path / "study") == FILES
    with pytest.raises(OutputError, match=r"holds experiments/mine/experiment\.yaml"):
        new_study(tmp_path / "study", "mine")
    (tmp_path / "study/experiments/mine/experiment.yaml").unlink()
    (tmp_path / "study/README.md").write_text("mine")
    with pytest.raises(OutputError, match=r"holds README\.md"):
        new_study(tmp_path / "study", "mine")


def test_a_name_that_is_no_utf8_is_refused(tmp_path):
    with pytest.raises(InputError, match="is no name in UTF-8"):
        new_study(tmp_path / os.fsdecode(b"st\xffudy"), "mine")


def test_only_the_readme_names_a_path_of_this_machine(tmp_path):
    new_study(tmp_path / "study", "mine")
    texts = {name: (tmp_path / "study" / name).read_text() for name in FILES}
    assert {name for name, text in texts.items() if str(CHECKOUT) in text or str(tmp_path) in text} <= {
        "README.md"
    }
    assert len(texts["README.md"].splitlines()) <= 10


def test_a_new_study_says_what_to_edit_and_a_folder_that_holds_something_is_refused(tmp_path, torsweep):
    code, said, _ = torsweep("new", tmp_path / "study")
    name = "experiments/kist_interval/experiment.yaml"
    assert code == 0 and name in said and (tmp_path / "study" / name).is_file()
    assert "accepted: a new or empty folder" in _refused(torsweep, "new", tmp_path / "study")
    (tmp_path / "notes.txt").write_text("years of work")
    files = _files(tmp_path)
    assert "holds notes.txt" in _refused(torsweep, "new", tmp_path)
    assert _files(tmp_path) == files


def test_a_folder_in_the_checkout_is_refused(tmp_path, torsweep, monkeypatch):
    monkeypatch.setattr("torsweep.study.new.CHECKOUT", tmp_path)
    said = _refused(torsweep, "new", tmp_path / "results" / "study")
    assert "is inside the checkout" in said and not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((name, "is no name of an experiment") for name in ("Mine", "my-study", "", "../mine", "a" * 65)),
        *((name, "is the name of a rule") for name in ("report", "run", "collect_tables")),
    ],
)
def test_a_name_that_no_target_can_have_is_refused(tmp_path, name, said):
    with pytest.raises(InputError, match=f"{said}.*, got '{name}'"):
        new_study(tmp_path / "study", name)
    assert not (tmp_path / "study").exists()


def test_writing_a_study_again_brings_its_experiment_up_to_date_and_nothing_else(tmp_path):
    study = tmp_path / "study"
    write_study(study, "mine", "question: one\n")
    (study / "README.md").write_text("my notes")
    write_study(study, "mine", "question: two\n")
    assert (study / "experiments/mine/experiment.yaml").read_text() == "question: two\n"
    assert (study / "README.md").read_text() == "my notes"
