"""What is asked of programs of others costs a limited time, and is text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_ins import executable
from torsweep.errors import InputError
from torsweep.program_output import NoAnswer, ask
from torsweep.study.named_tor import read_tor


def program(folder: Path, script: str) -> Path:
    return executable(folder / "program", f"#!/bin/sh\n{script}\n")


def test_both_outputs_are_text_whatever_their_bytes(tmp_path):
    answer = ask([program(tmp_path, r"printf 'one\377'; printf 'two\376' >&2; exit 3"), "x"], 10)
    assert (answer.stdout, answer.stderr, answer.returncode) == ("one\ufffd", "two\ufffd", 3)


def test_a_program_that_a_signal_ended_tells_which(tmp_path):
    assert ask([program(tmp_path, "kill -SEGV $$")], 10).returncode == -11


@pytest.mark.parametrize("script", ["exec sleep 60", "exec 1>&- 2>&-; exec sleep 60"])
def test_a_program_without_end_is_stopped(tmp_path, script):
    with pytest.raises(NoAnswer, match=r"no answer within 0\.2 s"):
        ask([program(tmp_path, script)], 0.2)


def test_what_does_not_start_says_why(tmp_path):
    with pytest.raises(NoAnswer, match="does not start: No such file"):
        ask([tmp_path / "nothing"], 10)


def test_such_a_program_is_refused_as_tor(tmp_path):
    with pytest.raises(InputError, match="as tor; its answer to --version is: \ufffd\ufffd"):
        read_tor(str(program(tmp_path, r"printf '\377\376'")), "--candidate")
