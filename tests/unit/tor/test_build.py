"""What counts as a build, and what is said when one cannot be had or does not come about."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stand_ins import executable
from torsweep.config.tors import STOCK, TorSource
from torsweep.errors import InputError, ToolMissing
from torsweep.storage.folders import TOOLS_FOLDER, own_folder
from torsweep.tor import builds
from torsweep.tor import compile as compiling
from torsweep.tor.build import build_tor, planned_key, read_recipe
from torsweep.tor.builds import (
    FROM_DEBIAN,
    STAMP,
    build_key,
    configure_flags,
    find_build,
    marker_name,
    read_build,
    read_stamp,
    write_facts,
)
from torsweep.tor.compile import check_requirements, first_error
from torsweep.tor.series import Series, read_series

ROOT = Path(__file__).parents[3]
SERIES = read_series(ROOT / "patches" / "tor").sha256
KEY = build_key("0" * 64, SERIES, configure_flags())


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tools with one build in it; the project's series is that of the working directory."""
    monkeypatch.chdir(ROOT)
    tools = tmp_path / "tools"
    own_folder(tools, TOOLS_FOLDER)
    folder = tools / f"0.4.9.11-{KEY}"
    executable(folder / "bin/tor", "#!/bin/sh\necho Tor version 0.4.9.11.\n")
    executable(folder / "bin/tor-gencert", "")
    facts = {"version": "0.4.9.11", "source": "tor_0.4.9.11.orig.tar.gz", "source_sha256": "0" * 64}
    write_facts(folder, {**facts, "series_sha256": SERIES, "configure": configure_flags()})
    key = build_key(FROM_DEBIAN, SERIES, configure_flags())
    (tools / f"built-{key}").write_text(f"{STAMP} {folder.name}\n")
    return tools


def test_a_whole_build_of_the_series_is_found_and_not_built_again(built):
    found = find_build(built)
    assert found.version == f"0.4.9.11-{KEY}"
    assert build_tor(out=built) == found
    # A dry run of the pipeline knows the build by this marker.
    assert read_stamp(built / marker_name(planned_key(STOCK))) == found.version


def test_a_stamp_names_the_build_that_a_run_asks_for(built, tmp_path):
    found = build_tor(out=built, stamp=tmp_path / "stamp")
    assert read_stamp(tmp_path / "stamp") == found.version
    assert find_build(built, found.version) == found
    with pytest.raises(ToolMissing, match=r"holds no tor 0\.4\.9\.11-other, that the run was prepared for"):
        find_build(built, "0.4.9.11-other")
    (tmp_path / "stamp").write_text("")
    with pytest.raises(InputError, match="names no build of tor"):
        read_stamp(tmp_path / "stamp")


def test_a_build_is_known_by_what_is_in_its_source_not_by_where_that_lies(
    tarball, tmp_path, series_folder, monkeypatch
):
    def key_of(file: Path) -> str:
        return read_recipe(TorSource(source=str(file))).key

    monkeypatch.chdir(tmp_path)
    key, elsewhere = key_of(tarball), tmp_path / "elsewhere.tar.gz"
    shutil.copy(tarball, elsewhere)
    assert key_of(elsewhere) == key != read_recipe(STOCK).key
    elsewhere.write_text("six\n")
    assert key_of(elsewhere) != key
    (series_folder / "clock.patch").write_text("another")
    assert key_of(tarball) != key
    with pytest.raises(InputError, match="no such file"):
        key_of(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("configure_flags", lambda: ["--enable-other"]),
        ("read_series", lambda: Series(read_series().patches[:1], "1" * 64)),
    ],
)
def test_a_build_of_another_series_or_with_other_options_of_configure_is_none(
    built, monkeypatch, part, other
):
    assert find_build(built)
    monkeypatch.setattr(builds, part, other)
    with pytest.raises(ToolMissing, match="no tor with this patch series is built") as raised:
        find_build(built)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("lost", ["provenance.json", "bin/tor", "bin/tor-gencert", None])
def test_a_build_with_a_part_missing_or_another_program_than_it_says_is_none(built, lost):
    folder = next(built.glob("0.4.9.11-*"))
    if lost:
        (folder / lost).unlink()
    else:
        (folder / "bin" / "tor").write_text("half of")
    assert read_build(folder) is None


def test_what_is_missing_is_named_with_the_packages(monkeypatch):
    monkeypatch.setattr(
        compiling.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1)
    )
    with pytest.raises(
        ToolMissing, match=r"needs a C compiler with .*: apt-get install .* zlib1g-dev$"
    ) as raised:
        check_requirements()
    assert raised.value.exit_code == 3
    monkeypatch.setattr(compiling.shutil, "which", lambda program: None)
    with pytest.raises(ToolMissing, match=r"needs make, patch, a C compiler"):
        check_requirements()


def test_where_nothing_is_missing_the_compiler_is_started_once(monkeypatch):
    started = []

    def run(command, **named):
        started.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(compiling.shutil, "which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr(compiling.subprocess, "run", run)
    check_requirements()
    assert len(started) == 1
    assert {"-levent", "-lssl", "-lcrypto", "-lz"} <= set(started[0])


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (
            "  CC  a.o\na.c:3:1: error: expected ';'\nmake: *** [a.o] Error 1\n",
            "a.c:3:1: error: expected ';'",
        ),
        ("as: a.o: No space left on device\nmake: *** x\n", "as: a.o: No space left on device"),
        ("make: *** No rule to make target 'x'.\n", "make: *** No rule to make target 'x'."),
        (
            "  CC  a.o\nar: a.a: file truncated\nmake: *** [a.a] Error 1\n",
            "ar: a.a: file truncated (make: *** [a.a] Error 1)",
        ),
        ("checking\nit is late\n", "it is late"),
        ("", "exit code 2"),
    ],
)
def test_the_first_error_of_a_log_is_what_is_reported(log, reason):
    assert first_error(log, 2)[0] == reason
