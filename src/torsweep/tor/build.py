"""tor built from a release with the patch series, kept by version and by what it was built from.

In: a release, the series, a folder for tools. Out: a folder ``VERSION-KEY`` with ``bin/tor``,
``bin/tor-gencert``, the log of the build and ``provenance.json``, which appear together. ``tor.json`` beside
it names the build that is taken where none is asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.folder_lock import folder_claimed
from torsweep.formats.json_file import read_json
from torsweep.provenance import machine, sha256_of_file
from torsweep.storage import whole_directory, write_text
from torsweep.storage.folders import TOR_BUILD, TOR_TOOLS
from torsweep.tor.apt import SERIES as RELEASE_SERIES
from torsweep.tor.compile import check_requirements, compile_tor, configure, configure_flags
from torsweep.tor.identity import build_key
from torsweep.tor.release import Release, Series, apply_series, find_release, read_series, unpack

TOOLS = Path("results/tools/tor")
POINTER = "tor.json"
STAMP = "build of tor:"
"""How a stamp begins, a file that names a build."""
PROGRAMS = {"tor": "src/app/tor", "tor-gencert": "src/tools/tor-gencert"}
"""What a build keeps, and where the build tree has it."""


@dataclass(frozen=True)
class BuiltTor:
    """A complete build: its folder, and what its provenance.json says."""

    folder: Path
    provenance: dict[str, Any]

    @property
    def program(self) -> Path:
        """The path of ``tor``."""
        return self.folder / "bin" / "tor"

    @property
    def gencert(self) -> Path:
        """The path of ``tor-gencert``."""
        return self.folder / "bin" / "tor-gencert"

    @property
    def version(self) -> str:
        """tor's version and the key of the build: what run.json, figures and tables name."""
        told = self.provenance
        key = build_key(told["source_sha256"], told["series_sha256"], told["configure"])
        return f"{told['version']}-{key}"

    @property
    def facts(self) -> dict[str, Any]:
        """What a run's provenance says of its tor."""
        kept = ("version", "series_sha256", "program_sha256", "source_sha256", "libraries", "configure")
        told = {key: self.provenance[key] for key in kept if key in self.provenance}
        return {"build": self.version, **told}


def build_tor(
    source: Path | None = None,
    out: Path = TOOLS,
    jobs: int = 1,
    sha256: str | None = None,
    *,
    stamp: Path | None = None,
) -> BuiltTor:
    """Build tor from ``source`` below ``out``, unless it stands there.

    Without a source, the build that ``tor.json`` names will do, and where there is none, Debian's source
    package is fetched. ``sha256`` is the checksum that a tarball must have. From then on ``tor.json`` names
    this build; or with ``stamp``, a file, that does so instead, and ``tor.json`` changes only where it names
    none. Raises ToolMissing for a build
    dependency or a source that cannot be had here, InputError for a bad source or a patch that does not
    apply, TorsweepError when configure or make fail, OutputError when ``out`` cannot take the build.
    """
    series = read_series()
    with folder_claimed(out, TOR_TOOLS, wait=True):
        standing = current_build(out, series)
        if source is None and standing is not None:
            _name_in(stamp, standing)
            return standing
        check_requirements()
        _clear_leftovers(out)
        release = find_release(source, out / "downloads", sha256)
        staging = out / ".source"
        try:
            version = unpack(release, staging)
            _require_release_series(version, release)
            key = build_key(release.sha256, series.sha256, configure_flags(tests=False))
            folder = out / f"{version}-{key}"
            if read_build(folder) is None:
                apply_series(series, staging)
                _build_into(folder, staging, release, series, version, jobs)
        finally:
            _clear_leftovers(out)
        built = read_build(folder)
        if built is None:
            raise TorsweepError(f"{folder}: the build did not run: {folder / 'bin' / 'tor'}")
        if stamp is None or standing is None:
            pointer = {"folder": folder.name, "program_sha256": built.provenance["program_sha256"]}
            write_text(out / POINTER, json.dumps(pointer, indent=1) + "\n")
        _name_in(stamp, built)
    return built


def read_stamp(stamp: Path) -> str:
    """The build that ``stamp`` names; InputError when it is no stamp."""
    words = stamp.read_text(encoding="utf-8").split(f"{STAMP} ") if stamp.is_file() else []
    if len(words) != 2:
        raise InputError("names no build of tor", file=stamp, accepted="what `tor build --stamp` wrote")
    return words[1].strip()


def _name_in(stamp: Path | None, built: BuiltTor) -> None:
    if stamp is not None:
        write_text(stamp, f"{STAMP} {built.version}\n")


def find_build(out: Path = TOOLS, version: str | None = None) -> BuiltTor:
    """The build ``version`` below ``out``; without one, that which stands for the series as it is now.

    Raises ToolMissing when there is none, InputError when the project has no readable series.
    """
    if version is not None:
        found = read_build(out / version)
        if found is None:
            raise ToolMissing(
                f"{out}: holds no tor {version}, that the run was prepared for; remove {out}"
                " to have tor built again"
            )
        return found
    built = current_build(out, read_series())
    if built is None:
        raise ToolMissing(f"{out}: no tor with this patch series is built; `torsweep tor build` builds it")
    return built


def current_build(out: Path, series: Series) -> BuiltTor | None:
    """The complete build below ``out`` with ``series`` and today's configure options; None without one."""
    try:
        built = read_build(out / str(read_json(out / POINTER)["folder"]))
    except (InputError, KeyError):
        return None
    if built is None:
        return None
    made_of = (built.provenance["series_sha256"], built.provenance["configure"])
    return built if made_of == (series.sha256, configure_flags(tests=False)) else None


def read_build(folder: Path) -> BuiltTor | None:
    """The complete build in ``folder``: it has its provenance, and its name and program are as described."""
    try:
        provenance = read_json(folder / "provenance.json")
        built = BuiltTor(folder, provenance)
        whole = (
            built.version == folder.name
            and sha256_of_file(built.program) == provenance["program_sha256"]
            and built.gencert.is_file()
        )
    except (InputError, OSError, KeyError):
        return None
    return built if whole else None


def _build_into(folder: Path, tree: Path, release: Release, series: Series, version: str, jobs: int) -> None:
    with whole_directory(folder, TOR_BUILD) as place:
        build, log = place / "build", place / "build.log"
        try:
            flags = configure(tree, build, log, tests=False)
            compile_tor(build, log, list(PROGRAMS.values()), jobs)
        except TorsweepError:
            # The folder goes away with the exception; the log is what tells why, if there is room for it.
            with contextlib.suppress(OSError):
                shutil.copyfile(log, folder.parent / "failed-build.log")
            raise
        (place / "bin").mkdir()
        for name, made in PROGRAMS.items():
            subprocess.run(["strip", str(build / made)], capture_output=True, check=False)
            shutil.copy2(build / made, place / "bin" / name)
        shutil.rmtree(build)
        provenance = {
            "version": version,
            "source": release.path.name,
            "source_sha256": release.sha256,
            "source_verified_by": release.verified_by,
            "series_sha256": series.sha256,
            "patches": {patch.name: sha256_of_file(patch) for patch in series.patches},
            "program_sha256": sha256_of_file(place / "bin" / "tor"),
            "libraries": _library_versions(place / "bin" / "tor"),
            "configure": flags,
            "machine": dict(machine()),
        }
        write_text(place / "provenance.json", json.dumps(provenance, indent=1, sort_keys=True) + "\n")


def _library_versions(program: Path) -> dict[str, str]:
    """The libraries that ``tor --version`` names, with versions; it is also the proof that tor starts."""
    environment = {**os.environ, "LC_ALL": "C"}
    answer = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False, env=environment
    )
    if answer.returncode:
        raise TorsweepError(f"the tor just built does not start: {(answer.stderr or answer.stdout).strip()}")
    named = re.findall(r"\b(Libevent|OpenSSL|Zlib|Glibc|GCC) (?:version )?(\d[\w.+-]*)", answer.stdout)
    return {name: version.rstrip(".") for name, version in named}


def _require_release_series(version: str, release: Release) -> None:
    if not version.startswith(f"{RELEASE_SERIES}."):
        raise InputError(
            "the patches are for another release series of tor",
            file=release.path,
            value=version,
            accepted=f"{RELEASE_SERIES}.*",
        )


def _clear_leftovers(out: Path) -> None:
    """Remove what a killed build left; the lock on ``out`` says that none is under way."""
    for leftover in [out / ".source", *out.glob(".source.*")]:
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
