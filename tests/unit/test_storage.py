"""A file or folder appears whole or not at all, and what was there before survives a failure."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from torsweep.errors import OutputError
from torsweep.storage import hold_alone, whole_directory, whole_file, write_text


def test_text_is_written_with_its_folders(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "× done\n")
    assert (tmp_path / "a" / "b.txt").read_text(encoding="utf-8") == "× done\n"


def test_a_file_is_readable_by_others_whatever_mkstemp_does(tmp_path):
    write_text(tmp_path / "table.csv", "")
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o644


def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "table.csv"
    write_text(path, "old")
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_message_that_names_the_file(tmp_path):
    with (
        pytest.raises(OutputError, match=r"table\.csv: cannot be written: No space left"),
        whole_file(tmp_path / "table.csv"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(OutputError, match="cannot be written: "):
        write_text(tmp_path / "results" / "table.csv", "")


def test_a_missing_input_is_not_blamed_on_the_output(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "table.csv"):
        (tmp_path / "inputs" / "absent.csv").read_text()


def test_a_directory_replaces_what_stood_there(tmp_path):
    network = tmp_path / "network"
    for content in ("first", "second"):
        with whole_directory(network) as temporary:
            (temporary / content).write_text(content)
    assert [file.name for file in network.iterdir()] == ["second"]


def test_a_failure_keeps_the_old_directory(tmp_path):
    network = tmp_path / "network"
    with whole_directory(network) as temporary:
        (temporary / "network.json").write_text("{}")
    with pytest.raises(RuntimeError), whole_directory(network) as temporary:
        (temporary / "half.json").write_text("{")
        raise RuntimeError
    assert [file.name for file in network.iterdir()] == ["network.json"]
    assert list(tmp_path.iterdir()) == [network]


def hold_in_another_process(folder: Path) -> subprocess.Popen[str]:
    program = (
        "import sys, time; from pathlib import Path; from torsweep.storage import hold_alone\n"
        "hold_alone(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_two_processes_do_not_work_in_one_folder(tmp_path):
    with hold_in_another_process(tmp_path / "results") as holder:
        with pytest.raises(OutputError, match="results: in use by another process"):
            hold_alone(tmp_path / "results")
        holder.kill()


def test_a_killed_process_leaves_no_lock_behind(tmp_path):
    with hold_in_another_process(tmp_path / "results") as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    hold_alone(tmp_path / "results")
    hold_alone(tmp_path / "results")


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        hold_alone(tmp_path / "results")
