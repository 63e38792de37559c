"""A study shares the builds of tor of the working directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from torsweep.config.tors import TorSource
from torsweep.engines import run_settings
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import TOOLS_FOLDER, own_folder
from torsweep.study.document import Study
from torsweep.study.workload import require_options, share_builds, standing_build
from torsweep.tor import TOOLS
from torsweep.tor.build import planned_key
from torsweep.tor.builds import STAMP, BuiltTor, marker_name

STOCK = TorSource(source="debian")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with Debian's tor; its folder of tools."""
    monkeypatch.chdir(tmp_path)
    sums = {"source_sha256": "b" * 64, "series_sha256": "a" * 64}
    provenance = {"version": "0.4.9.11", **sums, "configure": []}
    own_folder(TOOLS, TOOLS_FOLDER)
    folder = TOOLS / BuiltTor(TOOLS, provenance).version
    (folder / "bin").mkdir(parents=True)
    for name in ("tor", "tor-gencert"):
        (folder / "bin" / name).write_text(f"a program, {name}")
    provenance["program_sha256"] = sha256_of_file(folder / "bin/tor")
    (folder / "provenance.json").write_text(json.dumps(provenance))
    (TOOLS / marker_name(planned_key(STOCK))).write_text(f"{STAMP} {folder.name}\n")
    return TOOLS


def study(folder: str) -> Study:
    return Study(Path(folder), "own", {}, {}, {"stock": STOCK})


def test_a_study_shares_what_is_built_here_also_after_both_have_moved(tools, tmp_path, monkeypatch):
    own = study("studies/own")
    before = standing_build(own, STOCK)
    assert before is not None
    share_builds(own)
    share_builds(own)
    assert (own.folder / TOOLS).resolve() == (tmp_path / TOOLS).resolve()
    shared = standing_build(own, STOCK)
    assert shared is not None and shared.program.samefile(before.program)
    assert standing_build(own, TorSource(source="debian", series="none")) is None
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    tmp_path.rename(moved)
    monkeypatch.chdir(moved)
    assert standing_build(own, STOCK) is not None
    moved.rename(tmp_path)


def test_a_study_that_is_the_working_directory_or_has_builds_of_its_own_stays_as_it_is(tools):
    for folder in (".", "other"):
        (Path(folder) / TOOLS).mkdir(parents=True, exist_ok=True)
        share_builds(study(folder))
        assert not (Path(folder) / TOOLS).is_symlink()


def test_a_study_that_was_moved_alone_shares_anew(tools):
    own = study("studies/own")
    (own.folder / TOOLS).parent.mkdir(parents=True)
    (own.folder / TOOLS).symlink_to("nowhere")
    share_builds(own)
    assert standing_build(own, STOCK) is not None


@pytest.mark.parametrize("damaged", ["*/bin/tor", "built-*"])
def test_a_damaged_build_is_none(tools, damaged):
    next(tools.glob(damaged)).write_text("")
    assert standing_build(study("own"), STOCK) is None


def test_options_are_asked_of_a_build_that_stands(tools, monkeypatch):
    asked: list[list[Path]] = []
    monkeypatch.setattr(run_settings, "require_options", lambda programs, _: asked.append(programs))
    experiment: Any = None
    require_options(study("own"), experiment)
    shutil.rmtree(tools)
    require_options(study("own"), experiment)
    (program,), none = asked
    assert program.parent.parent.parent == tools
    assert none == []
