"""A file or folder appears whole or not at all, and what was there before survives a failure."""

from __future__ import annotations

import errno
import os

import pytest

from torsweep.errors import OutputError
from torsweep.storage import whole_directory, whole_file, write_text


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
