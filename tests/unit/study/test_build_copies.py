"""A build that stands elsewhere is copied; what is damaged is not taken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from torsweep.config.tors import TorSource
from torsweep.engines import run_builds
from torsweep.provenance import sha256_of_file
from torsweep.study import build_copies
from torsweep.study.build_copies import copy_builds, require_options, standing_build
from torsweep.study.document import Study
from torsweep.study.series import DEBIAN_PACKAGE as PACKAGE
from torsweep.tor.build import TOOLS
from torsweep.tor.builds import STAMP, BuiltTor, read_build
from torsweep.tor.identity import marker_name, planned_key

STOCK = TorSource(source="debian")


def describe(tools: Path, release: str) -> str:
    """Leave Debian's package of a release with this checksum below ``tools``; its description."""
    package = tools / "downloads/package"
    package.mkdir(parents=True, exist_ok=True)
    text = f"Checksums-Sha256:\n {release} 9 tor_0.4.9.11.orig.tar.gz\n"
    (package / "tor_0.4.9.11.dsc").write_text(text)
    return text


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of tools of another study, with Debian's tor."""
    monkeypatch.setattr(build_copies, "CHECKOUT", tmp_path / "checkout")
    tools = tmp_path / "studies/other" / TOOLS
    provenance = {
        "version": "0.4.9.11",
        "source_sha256": "b" * 64,
        "series_sha256": "a" * 64,
        "configure": [],
    }
    folder = tools / BuiltTor(tools, provenance).version
    (folder / "bin").mkdir(parents=True)
    for name in ("tor", "tor-gencert"):
        (folder / "bin" / name).write_text(f"a program, {name}")
    provenance["program_sha256"] = sha256_of_file(folder / "bin/tor")
    (folder / "provenance.json").write_text(json.dumps(provenance))
    describe(tools, "b" * 64)
    (tools / marker_name(planned_key(STOCK))).write_text(f"{STAMP} {folder.name}\n")
    return tools


def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "studies/own", "own", {}, {}, {"stock": STOCK})


def test_a_build_of_a_study_beside_is_copied_as_a_whole(beside, tmp_path):
    own = study(tmp_path)
    copy_builds(own)
    marker = standing_build(own, STOCK)
    assert marker is not None and marker.parent == own.folder / TOOLS
    (folder,) = marker.parent.glob("0.4.9.11-*")
    assert read_build(folder) is not None
    assert (folder / "bin/tor").stat().st_ino != (beside / folder.name / "bin/tor").stat().st_ino


def test_debians_package_comes_with_its_build(beside, tmp_path):
    """Another build of the study would be of another release, once the archive has one."""
    own = study(tmp_path)
    copy_builds(own)
    assert (own.folder / PACKAGE / "tor_0.4.9.11.dsc").read_text() == describe(beside, "b" * 64)


def test_a_build_of_a_package_that_is_gone_is_not_taken(beside, tmp_path):
    shutil.rmtree(beside / "downloads/package")
    assert standing_build(study(tmp_path), STOCK) is None


def test_half_a_package_is_not_taken_for_one(beside, tmp_path, monkeypatch):
    """Another would be fetched in its place, perhaps of another release."""
    copytree = shutil.copytree

    def interrupted(source: Path, target: Path, *rest: Any, **options: Any) -> None:
        copytree(source, target, *rest, **options)
        if Path(source).name == PACKAGE.name:
            raise KeyboardInterrupt

    own = study(tmp_path)
    monkeypatch.setattr(shutil, "copytree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy_builds(own)
    assert not (own.folder / PACKAGE).exists()
    monkeypatch.setattr(shutil, "copytree", copytree)
    copy_builds(own)
    assert [entry.name for entry in (own.folder / PACKAGE).parent.iterdir()] == [PACKAGE.name]


def test_both_sides_are_of_one_release_of_debian(beside, tmp_path):
    """A study with the package of one release takes no build of another, nor one that was built by hand."""
    own = study(tmp_path)
    describe(own.folder / TOOLS, "c" * 64)
    assert standing_build(own, STOCK) is None
    describe(own.folder / TOOLS, "b" * 64)
    assert standing_build(own, STOCK) is not None
    shutil.rmtree(own.folder)
    describe(beside, "c" * 64)
    assert standing_build(own, STOCK) is None


def test_a_damaged_build_is_left_where_it_is(beside, tmp_path):
    next(beside.glob("*/bin/tor")).write_text("half of a program")
    own = study(tmp_path)
    assert standing_build(own, STOCK) is None
    copy_builds(own)
    assert not own.folder.exists()


def test_folders_beside_that_are_none_of_a_study_are_passed_over(beside, tmp_path, monkeypatch):
    (marker,) = beside.glob("built-*")
    marker.write_text("")
    assert standing_build(study(tmp_path), STOCK) is None

    def closed(stamp: Path) -> str:
        raise PermissionError(13, "Permission denied", str(stamp))

    monkeypatch.setattr(build_copies, "read_stamp", closed)
    assert standing_build(study(tmp_path), STOCK) is None


def test_a_build_of_another_tor_is_not_taken(beside, tmp_path):
    assert standing_build(study(tmp_path), TorSource(source="debian", series="none")) is None


def test_options_are_asked_of_a_build_that_stands(beside, tmp_path, monkeypatch):
    asked: list[tuple[Path, ...]] = []
    monkeypatch.setattr(run_builds, "require_options", lambda programs, _: asked.append(tuple(programs)))
    experiment: Any = None
    require_options(study(tmp_path), experiment)
    shutil.rmtree(beside)
    require_options(study(tmp_path), experiment)
    (program,), none = asked
    assert program.parent.parent.parent == beside
    assert none == ()
