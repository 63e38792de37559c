"""Folders that cannot be imported: one line each, which names the folder or the file."""

from __future__ import annotations

import gzip
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.made_tornet import Download, Host, tornet
from torsweep.commands import import_command
from torsweep.errors import InputError
from torsweep.runsets.imported import import_folder, import_simulations, open_import

TGEN = "shadow.data/hosts/perfclient1exit/tgen.1006.stdout"


def refused(folder: Path, *more: Path) -> str:
    """The line with which ``folder`` is refused; nothing is left of the import."""
    out = folder.parent / "refused"
    with pytest.raises(InputError) as caught:
        import_simulations([folder, *more], out)
    message = str(caught.value)
    assert "\n" not in message
    assert not out.exists()
    return message


def _config(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "shadow.config.yaml").write_text(text)


def _second_log(program: str) -> Callable[[Path], object]:
    def add(folder: Path) -> None:
        log = next((folder / TGEN).parent.glob(f"{program}.*"))
        log.with_name(f"{program}.1099.stdout.gz").write_bytes(gzip.compress(log.read_bytes()))

    return add


def _pack(folder: Path) -> None:
    shutil.rmtree(folder / "shadow.data")
    (folder / "shadow.data.tar.xz").write_bytes(lzma.compress(b""))


def _simulate_twice(folder: Path) -> None:
    for number in (3, 4):
        text = f"[INFO] The argument namespace is: Namespace(shadow_args='--seed={number} --progress=true')\n"
        (folder / f"tornettools.simulate.2026-01-01.00.00.0{number}.log").write_text(text)


def _with(**hosts: Host) -> Callable[[Path], object]:
    return lambda folder: shutil.rmtree(folder) or tornet(folder, hosts)  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "tornet: is no folder"),
        (lambda folder: shutil.rmtree(folder / "shadow.data"), "tornet: holds no results of a simulation"),
        (_pack, "shadow.data.tar.xz: is packed, as `tornettools archive` leaves it"),
        (_second_log("tgen"), "perfclient1exit: has the logs of several tgen, got 'tgen.1006.stdout, "),
        (_second_log("oniontrace"), "perfclient1exit: has the logs of several oniontrace"),
        (lambda folder: (folder / TGEN).unlink(), "perfclient1exit: has no log of tgen"),
        (_simulate_twice, "mixes seeds: its logs of `tornettools simulate` name 3 and 4"),
        (_with(perfclient1exit=Host()), "shadow.data/hosts: holds no download"),
        (_with(perfclient2exit=Host([Download(0, 60.0, 1000)])), "perfclient2exit: a perf client downloads"),
        (_config("general: {}\n"), "shadow.config.yaml: hosts: has no hosts"),
        (_config("general: seven\nhosts: {}\n"), "shadow.config.yaml: general.seed: is no seed, got 'seven'"),
        (_config("general:\n  seed: x\nhosts: {}\n"), "yaml: general.seed: is no seed, got 'x'"),
    ],
)
def test_what_is_no_simulation(damage: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    folder = tornet(tmp_path / "tornet")
    damage(folder)
    assert said in refused(folder)


def test_an_import_without_a_name_and_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--as: is empty"):
        import_folder("")
    lacking = r"import\.json: no such file: `torsweep import tornettools` leaves it"
    with pytest.raises(InputError, match=lacking):
        open_import(tmp_path)


def test_a_folder_that_mixes_the_seeds_of_two_networks(tmp_path: Path) -> None:
    message = refused(tornet(tmp_path / "tornet", seeds=(1, 2)))
    assert "mixes seeds: its logs of `tornettools generate` name 1 and 2" in message


def _ends(folder: Path, stop_time: str, code: int | None) -> Path:
    """``folder`` with another ``stop_time``, and with what tornettools says of the end."""
    file = folder / "shadow.config.yaml"
    file.write_text(file.read_text().replace("stop_time: 2 min", f"stop_time: {stop_time}"))
    if code is not None:
        text = f"2026-01-01 00:00:00 1.5 [tornettools] [INFO] Done simulating; shadow returned code '{code}'"
        (folder / "tornettools.simulate.2026-01-01.00.00.00.log").write_text(f"{text}\n")
    return folder


def test_a_whole_simulation_whose_processes_failed_is_imported_with_a_warning(tmp_path: Path, capsys) -> None:
    folder = _ends(tornet(tmp_path / "tornet"), "2 min", 1)
    import_command([folder], tmp_path / "out")
    said = capsys.readouterr()
    assert "1 simulation" in said.out
    assert "tornettools.simulate.2026-01-01.00.00.00.log: says that Shadow failed" in said.err


@pytest.mark.parametrize(("stop_time", "code"), [("1 h", 1), ("4 min", 1), ("1 h", None)])
def test_a_simulation_that_broke_off(stop_time: str, code: int | None, tmp_path: Path) -> None:
    message = refused(_ends(tornet(tmp_path / "tornet"), stop_time, code))
    assert "general.stop_time: broke off: its results end after 2 min" in message
    assert ("says that Shadow failed" in message) is (code == 1)


def test_shadows_log_tells_of_the_end_where_tornettools_does_not(tmp_path: Path) -> None:
    folder = _ends(tornet(tmp_path / "tornet"), "4 min", None)
    (folder / "shadow.log").write_text("** Shadow did not complete successfully: 1 failed\n")
    assert "(shadow.log says that Shadow failed)" in refused(folder)


@pytest.mark.parametrize(("stop_time", "code"), [("2 min", 1), ("4 min", 0), ("4 min", None), ("1 h", 0)])
def test_a_simulation_that_came_to_its_end(stop_time: str, code: int | None, tmp_path: Path) -> None:
    """Shadow fails, too, where a process failed; another ``stop_time`` may stand on the command line."""
    folder = _ends(tornet(tmp_path / "tornet"), stop_time, code)
    assert len(import_simulations([folder], tmp_path / "import").runs) == 1


def test_one_simulation_given_twice(tmp_path: Path) -> None:
    one, same = tornet(tmp_path / "one"), tornet(tmp_path / "same")
    assert f"{same}: holds the same downloads as {one}" in refused(one, same)
    assert f"{one}: holds the same downloads as {one}" in refused(one, one)


def test_an_import_that_has_changed(tmp_path: Path) -> None:
    one = import_simulations([tornet(tmp_path / "tornet")], tmp_path / "import")
    table = one.folder / "run-1/streams.parquet"
    table.write_bytes(table.read_bytes() + b" ")
    with pytest.raises(InputError, match="has changed"):
        open_import(one.folder)
