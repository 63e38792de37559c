"""Builds of tor that a study needs and that exist elsewhere: they are copied, not made again.

In: a study. Out: builds in its ``results/tools/tor``, from the studies beside it and from the checkout. A
build is known by its content, so that it does not matter where it was made. Debian's source package is
copied with its builds: the archive may have another release by now, and both sides need the same one.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from torsweep.config.experiment import Experiment
from torsweep.config.tors import DEBIAN, TorSource
from torsweep.engines import run_builds
from torsweep.errors import InputError
from torsweep.home import CHECKOUT
from torsweep.storage import whole_directory, write_text
from torsweep.storage.folders import MARKER, TOOLS_FOLDER, TOR_BUILD_FOLDER, own_folder
from torsweep.study.document import Study
from torsweep.study.series import DEBIAN_PACKAGE
from torsweep.tor import TOOLS
from torsweep.tor.builds import BuiltTor, read_build, read_stamp
from torsweep.tor.identity import marker_name, planned_key
from torsweep.tor.release import release_in_package

_NOT_OF_BUILD = shutil.ignore_patterns(MARKER, "keys")


def standing_build(study: Study, tor: TorSource) -> Path | None:
    """The marker of the build of ``tor``, in the study or where it can be copied from; None without one.

    A build of Debian's package elsewhere has to be of the package that lies beside it, and of the study's.
    """
    name = marker_name(planned_key(tor))
    folders = [study.folder, *sorted(study.folder.resolve().parent.glob("*/")), CHECKOUT]
    for folder in folders:
        marker = folder / TOOLS / name
        built = _build_of(marker)
        if built is None:
            continue
        if tor.source != DEBIAN or (folder == study.folder and (folder / DEBIAN_PACKAGE).is_dir()):
            return marker
        release = built.provenance["source_sha256"]
        if _release_in(folder) == release and _release_in(study.folder) in (None, release):
            return marker
    return None


def _build_of(marker: Path) -> BuiltTor | None:
    """The build that ``marker`` names; None where there is none, or nobody may look."""
    try:
        return read_build(marker.parent / read_stamp(marker))
    except (InputError, OSError):
        return None


def _release_in(folder: Path) -> str | None:
    """The SHA-256 of the release in Debian's package of a study or of the checkout; None without one."""
    for description in sorted((folder / DEBIAN_PACKAGE).glob("tor_*.dsc")):
        with suppress(InputError):
            return release_in_package(description)
    return None


def copy_builds(study: Study) -> None:
    """Copy what the study lacks and another folder has; the study's folder has to stand."""
    for tor in study.builds.values():
        marker = standing_build(study, tor)
        if marker is not None and marker.parent != study.folder / TOOLS:
            _copy_build(marker, study.folder / TOOLS, with_package=tor.source == DEBIAN)


def _copy_build(marker: Path, tools: Path, *, with_package: bool) -> None:
    version = read_stamp(marker)
    own_folder(tools, TOOLS_FOLDER)
    with whole_directory(tools / version, TOR_BUILD_FOLDER) as place:
        shutil.copytree(marker.parent / version, place, dirs_exist_ok=True, ignore=_NOT_OF_BUILD)
    package = DEBIAN_PACKAGE.relative_to(TOOLS)
    if with_package and not (tools / package).exists():
        begun = (tools / package).with_name(f"{package.name}.part")
        shutil.rmtree(begun, ignore_errors=True)
        shutil.copytree(marker.parent / package, begun)
        begun.replace(tools / package)
    write_text(tools / marker.name, marker.read_text(encoding="utf-8"))


def require_options(study: Study, experiment: Experiment) -> None:
    """Raise InputError, in tor's own words, for options that a build which stands does not take."""
    markers = (standing_build(study, tor) for tor in study.builds.values())
    builds = (read_build(marker.parent / read_stamp(marker)) for marker in markers if marker is not None)
    programs = (built.program for built in builds if built is not None and not built.is_arti)
    run_builds.require_options(programs, experiment)
