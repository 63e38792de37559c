"""A step that fails leaves its exit code and its log; the pipeline ends with what it said."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import pytest

from torsweep.pipeline.failed_step import FAILED_STEP, end_failed, forget_failed_step, read_failed_step
from torsweep.pipeline.telling import hush

STEP = Path(__file__).parents[3] / "rules/step.sh"


@pytest.fixture
def step(tmp_path, monkeypatch):
    """Run a shell command as a rule does, in an empty folder; gives its exit code."""
    monkeypatch.chdir(tmp_path)
    forget_failed_step()

    def run(command: str) -> int:
        whole = f"source '{STEP}'; step 'results/logs/of this.log' && {command}"
        return subprocess.run(["bash", "-c", whole], check=False).returncode

    return run


def test_a_step_that_succeeds_leaves_its_log_and_nothing_else(step):
    assert step("echo done; echo aside >&2") == 0
    assert Path("results/logs/of this.log").read_text() == "done\naside\n"
    assert read_failed_step() is None
    end_failed([])


@pytest.mark.parametrize("code", [2, 3])
def test_a_refusal_and_a_missing_tool_end_the_pipeline_with_their_code(step, capsys, code):
    line = "torsweep: network: no such network"
    assert step(f"echo '{line}' >&2; exit {code}") == code
    with pytest.raises(SystemExit) as stop:
        end_failed([])
    assert stop.value.code == code
    assert capsys.readouterr().err == f"{line} (results/logs/of this.log)\n"


def test_of_other_failures_the_end_of_the_log_is_shown(step, capsys):
    assert step("{ seq 30; echo last words; false; }") == 1
    end_failed([])
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        "    last words",
        "torsweep: a step failed with exit code 1 (results/logs/of this.log)",
    ]
    assert len(said) == 13


def test_a_command_that_fails_in_the_middle_fails_the_step(step):
    assert step("echo one | false | cat; echo not reached") == 1
    assert "not reached" not in Path("results/logs/of this.log").read_text()


def test_where_no_step_says_anything_snakemake_has_the_word(step, capsys):
    Path("snakemake.log").write_text("MissingOutputException\n")
    end_failed(["snakemake.log"])
    assert capsys.readouterr().err == "    MissingOutputException\n"


def test_what_an_earlier_pipeline_left_is_forgotten(step):
    assert step("exit 2") == 2
    assert read_failed_step() is not None
    forget_failed_step()
    assert read_failed_step() is None
    assert FAILED_STEP.stat().st_size > 1000, "room to write in place on a full disk"


def test_after_the_plan_only_warnings_reach_the_terminal(tmp_path, capsys):
    logger = logging.Logger("of a test")
    logger.addHandler(logging.StreamHandler())
    logger.addHandler(logging.FileHandler(tmp_path / "log"))
    hush(logger)
    for level in (logging.INFO, logging.WARNING, logging.ERROR):
        logger.log(level, logging.getLevelName(level))
    assert capsys.readouterr().err == "WARNING\n"
    assert (tmp_path / "log").read_text() == "INFO\nWARNING\nERROR\n"
