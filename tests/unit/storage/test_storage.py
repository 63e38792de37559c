"""A file or folder appears whole or not at all, and what was there before survives a failure."""

from __future__ import annotations

import errno
import os
import resource

import numpy as np
import polars as pl
import pytest

from torsweep.errors import OutputError
from torsweep.storage import whole_directory, whole_file, write_text
from torsweep.storage.folders import MARKER, NETWORK_FOLDER, RUN_FOLDER, folder_claimed, own_folder


def test_text_is_written_with_its_folders(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "× done\n")
    assert (tmp_path / "a" / "b.txt").read_text(encoding="utf-8") == "× done\n"


@pytest.fixture(params=[0o002, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _modes(folder):
    """The modes of ``folder`` and all in it."""
    return {path.name: path.stat().st_mode & 0o7777 for path in (folder, *folder.rglob("*"))}


def test_new_files_and_folders_have_the_modes_of_the_umask(tmp_path, umask):
    with whole_directory(tmp_path / "network", NETWORK_FOLDER) as temporary:
        (temporary / "network.json").write_text("{}")
    write_text(tmp_path / "tables" / "table.csv", "")
    with folder_claimed(tmp_path / "run", RUN_FOLDER, wait=False):
        pass
    for folder in ("network", "tables", "run"):
        for name, mode in _modes(tmp_path / folder).items():
            assert mode == (0o777 if name == folder else 0o666) & ~umask, name


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


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_what_polars_says_of_a_full_disk_is_that_message_too(tmp_path, form):
    frame = pl.DataFrame({"number": np.random.default_rng(1).integers(2**62, size=10_000)})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with (
            pytest.raises(OutputError, match="table: cannot be written: File too large"),
            whole_file(tmp_path / "table") as temporary,
        ):
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
            getattr(frame, f"write_{form}")(temporary)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(OutputError, match="cannot be written: "):
        write_text(tmp_path / "results" / "table.csv", "")


def test_a_missing_input_is_not_blamed_on_the_output(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "table.csv"):
        (tmp_path / "inputs" / "absent.csv").read_text()


@pytest.fixture
def network(tmp_path):
    """A network directory that is there already."""
    with whole_directory(tmp_path / "network", NETWORK_FOLDER) as temporary:
        (temporary / "network.json").write_text("old")
    return tmp_path / "network"


def test_a_directory_replaces_what_stood_there(network):
    with whole_directory(network, NETWORK_FOLDER) as temporary:
        (temporary / "other").write_text("new")
    assert {file.name for file in network.iterdir()} == {MARKER, "other"}


def test_a_failure_keeps_the_old_directory(network):
    with pytest.raises(RuntimeError), whole_directory(network, NETWORK_FOLDER) as temporary:
        (temporary / "half.json").write_text("{")
        raise RuntimeError
    assert {file.name for file in network.iterdir()} == {MARKER, "network.json"}
    assert list(network.parent.iterdir()) == [network]


def test_a_folder_with_a_file_of_somebody_elses_is_not_replaced(network):
    (network / "notes.txt").write_text("years of work")
    with pytest.raises(OutputError, match=r"holds notes\.txt"), whole_directory(network, NETWORK_FOLDER):
        raise AssertionError("nothing is begun")
    assert (network / "notes.txt").read_text() == "years of work"


def test_a_file_that_appears_while_a_folder_is_written_is_kept(tmp_path):
    network = tmp_path / "network"
    with pytest.raises(OutputError, match=r"holds notes\.txt"), whole_directory(network, NETWORK_FOLDER):
        network.mkdir()
        (network / "notes.txt").write_text("years of work")
    assert (network / "notes.txt").read_text() == "years of work"
    assert list(tmp_path.iterdir()) == [network]


def test_what_is_write_protected_stays_for_root_too(tmp_path, network):
    write_text(tmp_path / "table.csv", "old")
    (tmp_path / "table.csv").chmod(0o444)
    with pytest.raises(OutputError, match=r"table\.csv: is write-protected"):
        write_text(tmp_path / "table.csv", "new")
    (network / "network.json").chmod(0o444)
    with (
        pytest.raises(OutputError, match=r"network\.json: is write-protected"),
        whole_directory(network, NETWORK_FOLDER),
    ):
        pass
    assert (tmp_path / "table.csv").read_text() == "old"


def test_a_folder_without_a_marker_is_refused_unless_it_holds_folders_only(tmp_path):
    network = tmp_path / "network"
    (network / "empty").mkdir(parents=True)
    own_folder(network, NETWORK_FOLDER)
    (network / "network.json").write_text("new")
    (network / MARKER).unlink()
    with (
        pytest.raises(OutputError, match=r"holds network\.json, which torsweep did not write"),
        whole_directory(network, NETWORK_FOLDER),
    ):
        pass
    assert (network / "network.json").read_text() == "new"


def test_what_a_killed_process_left_is_no_part_of_a_result(tmp_path):
    network = tmp_path / "network"
    own_folder(network, NETWORK_FOLDER)
    (network / ".torsweep-a1b2c3d4-network.json").write_text("half")
    with whole_directory(network, NETWORK_FOLDER) as temporary:
        (temporary / "network.json").write_text("whole")
    assert {file.name for file in network.iterdir()} == {MARKER, "network.json"}


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(network, monkeypatch):
    replace = type(network).replace
    refused = []

    def refuse_the_new(path, target):
        if path.name.endswith("-network") and not refused:
            refused.append(path)
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return replace(path, target)

    monkeypatch.setattr(type(network), "replace", refuse_the_new)
    with (
        pytest.raises(OutputError, match="network: cannot be written"),
        whole_directory(network, NETWORK_FOLDER),
    ):
        pass
    assert (network / "network.json").read_text() == "old"
    assert list(network.parent.iterdir()) == [network]
