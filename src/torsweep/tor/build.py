"""tor built from a source, with patches or without, or taken as it is; kept under a key of its content.

In: a :class:`torsweep.config.tors.TorSource`, a folder for tools. Out: a folder ``VERSION-KEY`` with
``bin/tor``, ``bin/tor-gencert``, the log of the build and ``provenance.json``, which appear together.
A marker beside it names the build by the key that the pipeline knows it by. The key, which is in run.json
and engine versions too, depends on the content of source and patches and on the configure options.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from torsweep.config.tors import DEBIAN, STOCK, TorSource
from torsweep.errors import InputError, TorsweepError
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory, write_text
from torsweep.storage.folders import TOOLS_FOLDER, TOR_BUILD_FOLDER, folder_claimed, own_folder
from torsweep.tor import TOOLS
from torsweep.tor.arti import arti_content, build_arti, require_rust
from torsweep.tor.builds import (
    AS_IT_IS,
    FROM_DEBIAN,
    STAMP,
    BuiltTor,
    build_key,
    configure_flags,
    marker_name,
    read_build,
    standing_build,
    stock_marker,
    write_facts,
)
from torsweep.tor.compile import check_requirements, compile_tor, configure, log_kept
from torsweep.tor.program import ask_version, gencert_beside, modules_of
from torsweep.tor.release import (
    Release,
    find_commit_release,
    find_release,
    require_unchanged,
    require_version,
    unpack,
)
from torsweep.tor.series import Series, apply_series, patches_of_user, read_series

NO_PATCHES = Series((), "")


@dataclass(frozen=True)
class Recipe:
    """The ingredients of a build: a release, the project's ``series`` and the user's ``patches``, if any."""

    content: str
    release: Release | None
    series: Series
    patches: Series
    flags: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key of the build."""
        return build_key(self.content, self.series.sha256, self.flags, self.patches.sha256)


def read_recipe(tor: TorSource, downloads: Path | None = None) -> Recipe:
    """The recipe of ``tor`` from its files as they are now.

    Debian's package is fetched into ``downloads``; without that folder it is only named. Raises InputError
    when a path, a revision or a checksum is not what ``tor`` says, or a tree has changes that are not
    committed; ValueError when ``tor`` names other tors.
    """
    if tor.named:
        raise ValueError(f"{tor.kind} names other tors, so there is nothing to build")
    if tor.arti is not None:
        arti, features = arti_content(tor)
        return Recipe(arti, None, NO_PATCHES, NO_PATCHES, features)
    if tor.program is not None:
        if not tor.program.is_file():
            raise InputError("no such file", file=tor.program, accepted="a program tor")
        return Recipe(sha256_of_file(tor.program), None, NO_PATCHES, NO_PATCHES, ())
    project = read_series() if tor.series == "project" else NO_PATCHES
    patches = patches_of_user(tor.patches)
    release = None
    if tor.git is not None:
        release = find_commit_release(tor.git, tor.revision, tor.series)
    elif tor.path is not None or downloads is not None:
        # A folder for downloads is of no use where a path is given.
        release = find_release(tor.path, downloads or Path(), tor.sha256)
    content = release.identity if release is not None else FROM_DEBIAN
    return Recipe(content, release, project, patches, tuple(configure_flags()))


@cache
def planned_key(tor: TorSource) -> str:
    """The key that the pipeline knows the build of ``tor`` by; errors are those of :func:`read_recipe`.

    For Debian's source package, which may not have been fetched yet, it stands for any release of it.
    """
    return read_recipe(tor).key


def require_planned(tor: TorSource, stamp: Path, recipe: Recipe | None = None) -> None:
    """Raise InputError when ``stamp`` is the marker of another key than ``tor`` has, or its ``recipe``."""
    key = planned_key(tor) if recipe is None else _as_planned(tor, recipe).key
    is_marker = re.fullmatch(marker_name("[0-9a-f]{12}"), stamp.name)
    if is_marker and stamp.name != marker_name(key):
        raise InputError(
            "the source of this tor has changed since it was planned; give the same command again", file=stamp
        )


def _as_planned(tor: TorSource, recipe: Recipe) -> Recipe:
    return replace(recipe, content=FROM_DEBIAN) if tor.source == DEBIAN else recipe


def overridden_stock(source: str | None) -> TorSource:
    """The tor ``stock``, of ``source`` (``--config tor_source=PATH``) if given; InputError if it is empty."""
    if source is None:
        return STOCK
    if not source:
        raise InputError("is empty", key="tor_source", accepted="a tarball")
    return TorSource(source=source if source != DEBIAN else f"./{source}")


BUILT_PROGRAMS = {"tor": "src/app/tor", "tor-gencert": "src/tools/tor-gencert"}
"""What a build keeps, and where the build tree has it."""
MODULES = ("relay", "dirauth")
"""The modules of tor that processes of a private network use."""
BUILDING = "building"
"""The folder of the source trees that are being built, one for each key."""


def build_tor(
    tor: TorSource = STOCK, out: Path = TOOLS, jobs: int = 1, *, stamp: Path | None = None
) -> BuiltTor:
    """Build ``tor`` below ``out``, unless it is there; several can be built side by side.

    The file ``stamp`` names the build, or else the pipeline's marker. A tarball with the project's series
    alone, built without a stamp, is the tor ``stock`` from then on. Raises ToolMissing for a build dependency
    or a source that cannot be had here; InputError for a bad source, a patch that does not apply, or a source
    that has changed since ``stamp`` was planned; TorsweepError when configure or make fail.
    """
    if stamp is not None:
        require_planned(tor, stamp)
    own_folder(out, TOOLS_FOLDER)
    kept = standing_build(out / stock_marker()) if tor.is_stock else None
    built = kept or _build_recipe(tor, out, jobs, stamp)
    markers = [stamp or out / marker_name(planned_key(tor))]
    if stamp is None and tor.kind == "source" and tor.series == "project" and not tor.patches:
        markers.append(out / stock_marker())
    for marker in markers:
        write_text(marker, f"{STAMP} {built.version}\n")
    return built


def require_buildable(tors: Iterable[TorSource]) -> None:
    """Raise ToolMissing unless this machine has what building ``tors`` needs."""
    kinds = {tor.kind if tor.arti is None or not Path(tor.arti).is_file() else "program" for tor in tors}
    if "arti" in kinds:
        require_rust()
    if kinds - {"arti", "program"}:
        check_requirements()


def _build_recipe(tor: TorSource, out: Path, jobs: int, stamp: Path | None) -> BuiltTor:
    if tor.source == DEBIAN:
        # Nothing is fetched for a build that cannot be made.
        check_requirements()
    recipe = read_recipe(tor, out / "downloads")
    if stamp is not None:
        # A branch may have moved, or a file changed, since the key was planned.
        require_planned(tor, stamp, recipe)
    key = recipe.key
    failed = out / f"failed-build-{key}.log"
    with folder_claimed(out / BUILDING / key, TOOLS_FOLDER, wait=True):
        built = _build_with(key, out)
        if built is not None:
            return built
        if tor.arti is not None:
            folder = build_arti(tor, recipe.content, key, out / BUILDING / key, out, jobs, failed)
        elif tor.program is not None:
            folder = _take_program(tor.program, recipe, out)
        else:
            check_requirements()
            folder = _build_source(tor, recipe, out, jobs, failed)
    built = read_build(folder)
    if built is None:
        raise TorsweepError(f"{folder}: the build did not run")
    failed.unlink(missing_ok=True)
    return built


def _build_with(key: str, out: Path) -> BuiltTor | None:
    """The complete build of ``key`` below ``out``, whatever its version."""
    builds = (read_build(folder) for folder in sorted(out.glob(f"*-{key}")))
    return next((built for built in builds if built is not None), None)


def _build_source(tor: TorSource, recipe: Recipe, out: Path, jobs: int, failed: Path) -> Path:
    """Build the release of ``recipe``, whose lock is held; return the folder of the build."""
    assert recipe.release is not None
    tree = out / BUILDING / recipe.key / "source"
    _remove_staged(tree)
    try:
        version = unpack(recipe.release, tree)
        require_unchanged(recipe.release)
        require_version(version, tor.series, recipe.release.path)
        for series in (recipe.series, recipe.patches):
            apply_series(series, tree)
        facts = {"version": version, **recipe.release.facts, **_patch_facts(recipe)}
        folder = out / f"{version}-{recipe.key}"
        with whole_directory(folder, TOR_BUILD_FOLDER) as place:
            _compile_into(place, tree, facts, jobs, failed)
    finally:
        _remove_staged(tree)
    return folder


def _remove_staged(tree: Path) -> None:
    """Remove a source tree, and what it was unpacked from."""
    for leftover in tree.parent.glob(f"{tree.name}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink()


def _compile_into(place: Path, tree: Path, facts: dict[str, Any], jobs: int, failed: Path) -> None:
    build, log = place / "build", place / "build.log"
    # The folder goes away with an exception; the log is what tells why.
    with log_kept(log, failed):
        flags = configure(tree, build, log)
        compile_tor(build, log, list(BUILT_PROGRAMS.values()), jobs)
    (place / "bin").mkdir()
    for name, made in BUILT_PROGRAMS.items():
        subprocess.run(["strip", str(build / made)], capture_output=True, check=False)
        shutil.copy2(build / made, place / "bin" / name)
    shutil.rmtree(build)
    write_facts(place, {**facts, "libraries": _libraries(place / "bin" / "tor"), "configure": flags})


def _libraries(program: Path) -> dict[str, str]:
    """The libraries of a tor just built; its answer is also the proof that it starts."""
    try:
        return ask_version(program).libraries
    except InputError as error:
        raise TorsweepError(f"the tor just built does not start: {error}") from error


def _patch_facts(recipe: Recipe) -> dict[str, Any]:
    """Facts on a build's patches, for its provenance; empty without patches."""
    facts: dict[str, Any] = {}
    for key, listed, series in (
        ("series_sha256", "patches", recipe.series),
        ("user_patches_sha256", "user_patches", recipe.patches),
    ):
        if series.sha256:
            facts[key] = series.sha256
            facts[listed] = {patch.name: sha256_of_file(patch) for patch in series.patches}
    return facts


def _take_program(program: Path, recipe: Recipe, out: Path) -> Path:
    """Keep a copy of ``program`` with a tor-gencert; InputError when it is no tor that runs here."""
    answer = ask_version(program)
    require_version(answer.version, "none", program)
    for module in MODULES:
        if module not in modules_of(program):
            problem = "was built without a part that a private network needs"
            raise InputError(problem, file=program, value=module)
    others = sorted(folder / "bin" / "tor-gencert" for folder in out.glob("[0-9]*-*"))
    gencert = gencert_beside(program, others)
    folder = out / f"{answer.version}-{recipe.key}"
    with whole_directory(folder, TOR_BUILD_FOLDER) as place:
        (place / "bin").mkdir()
        shutil.copy2(program, place / "bin" / "tor")
        if sha256_of_file(place / "bin" / "tor") != recipe.content:
            raise InputError("has changed while it was copied; give the same command again", file=program)
        shutil.copy2(gencert, place / "bin" / "tor-gencert")
        facts = {
            "version": answer.version,
            "source": program.name,
            "source_sha256": recipe.content,
            "source_verified_by": AS_IT_IS,
            "gencert_sha256": sha256_of_file(place / "bin" / "tor-gencert"),
            "libraries": answer.libraries,
            "configure": [],
        }
        write_facts(place, facts)
    return folder
