"""A file or folder appears whole or not at all, and what was there before survives a failure."""

from __future__ import annotations

import errno
import os

import pytest

from torsweep.errors import OutputError
from torsweep.storage import whole_directory, whole_file, write_text
from torsweep.storage.folders import MARKER, NETWORK, own_folder
from torsweep.storage.leftovers import sweep_tree


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
        with whole_directory(network, NETWORK) as temporary:
            (temporary / content).write_text(content)
    assert {file.name for file in network.iterdir()} == {MARKER, "second"}


def test_a_failure_keeps_the_old_directory(tmp_path):
    network = tmp_path / "network"
    with whole_directory(network, NETWORK) as temporary:
        (temporary / "network.json").write_text("{}")
    with pytest.raises(RuntimeError), whole_directory(network, NETWORK) as temporary:
        (temporary / "half.json").write_text("{")
        raise RuntimeError
    assert {file.name for file in network.iterdir()} == {MARKER, "network.json"}
    assert list(tmp_path.iterdir()) == [network]


def test_a_folder_with_a_file_of_somebody_elses_is_not_replaced(tmp_path):
    network = tmp_path / "network"
    with whole_directory(network, NETWORK) as temporary:
        (temporary / "network.json").write_text("{}")
    (network / "notes.txt").write_text("years of work")
    with pytest.raises(OutputError, match=r"holds notes\.txt"), whole_directory(network, NETWORK):
        raise AssertionError("nothing is begun")
    assert (network / "notes.txt").read_text() == "years of work"


def test_a_file_that_appears_while_a_folder_is_written_is_kept(tmp_path):
    network = tmp_path / "network"
    with pytest.raises(OutputError, match=r"holds notes\.txt"), whole_directory(network, NETWORK):
        network.mkdir()
        (network / "notes.txt").write_text("years of work")
    assert (network / "notes.txt").read_text() == "years of work"
    assert list(tmp_path.iterdir()) == [network]


def test_what_is_write_protected_stays_for_root_too(tmp_path):
    write_text(tmp_path / "table.csv", "old")
    (tmp_path / "table.csv").chmod(0o444)
    with pytest.raises(OutputError, match=r"table\.csv: is write-protected"):
        write_text(tmp_path / "table.csv", "new")
    network = tmp_path / "network"
    with whole_directory(network, NETWORK) as temporary:
        (temporary / "network.json").write_text("{}")
    (network / "network.json").chmod(0o444)
    with (
        pytest.raises(OutputError, match=r"network\.json: is write-protected"),
        whole_directory(network, NETWORK),
    ):
        pass
    assert (tmp_path / "table.csv").read_text() == "old"


def test_a_folder_without_a_marker_is_refused_unless_it_holds_folders_only(tmp_path):
    network = tmp_path / "network"
    (network / "empty").mkdir(parents=True)
    own_folder(network, NETWORK)
    (network / "network.json").write_text("new")
    (network / MARKER).unlink()
    with (
        pytest.raises(OutputError, match=r"holds network\.json, which torsweep did not write"),
        whole_directory(network, NETWORK),
    ):
        pass
    assert (network / "network.json").read_text() == "new"


def _old(path):
    os.utime(path, (0, 0))


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path):
    left = tmp_path / ".torsweep-a1b2c3d4-ttfb_cdf.pdf"
    left.write_text("half")
    folder = tmp_path / ".torsweep-a1b2c3d4-network"
    folder.mkdir()
    for path in (left, folder):
        _old(path)
    write_text(tmp_path / "table.csv", "whole")
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_a_temporary_at_work_and_other_hidden_files_stay(tmp_path):
    (tmp_path / ".torsweep").write_text("a marker")
    (tmp_path / ".ttfb_cdf.pdf.abcd.pdf").write_text("not ours")
    with whole_file(tmp_path / "one.csv") as temporary:
        _old(temporary)
        sweep_tree(tmp_path)
        assert temporary.exists()
    assert {file.name for file in tmp_path.iterdir()} == {".torsweep", ".ttfb_cdf.pdf.abcd.pdf", "one.csv"}


def test_a_folder_killed_between_two_names_is_put_back(tmp_path):
    old = tmp_path / ".torsweep-a1b2c3d4-network.old"
    old.mkdir()
    (old / "network.json").write_text("whole")
    sweep_tree(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["network"]
    old.mkdir()
    sweep_tree(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["network"]
    assert (tmp_path / "network" / "network.json").read_text() == "whole"


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(tmp_path, monkeypatch):
    network = tmp_path / "network"
    with whole_directory(network, NETWORK) as temporary:
        (temporary / "network.json").write_text("old")
    replace = type(network).replace

    def refuse_the_second(path, target):
        if path.name.endswith("-network") and not network.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return replace(path, target)

    monkeypatch.setattr(type(network), "replace", refuse_the_second)
    with pytest.raises(OutputError, match="network: cannot be written"), whole_directory(network, NETWORK):
        pass
    assert (network / "network.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [network]
