"""What a build of tor is made of, and its key.

In: a :class:`torsweep.config.tors.TorSource`. Out: :class:`Recipe`, and the build's key, which stands
in its folder's name, run.json, engine versions and the pipeline's marker. The key depends on the content of
source and patches and on the configure options, and not on where the source is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from torsweep.config.tors import DEBIAN, STOCK, TorSource
from torsweep.errors import InputError
from torsweep.provenance import sha256_of_file
from torsweep.tor.arti import arti_content
from torsweep.tor.builds import FROM_DEBIAN, build_key, configure_flags, marker_name
from torsweep.tor.release import Release, find_commit_release, find_release
from torsweep.tor.series import SERIES, Series, patches_of_user, read_series

NO_PATCHES = Series((), "")


@dataclass(frozen=True)
class Recipe:
    """What a build is made of: a release with the project's series and the user's patches, or a program.

    The patches of ``series`` or of ``patches`` may be none. A program is taken as it is.
    """

    content: str
    release: Release | None
    series: Series
    patches: Series
    flags: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key of the build."""
        return build_key(self.content, self.series.sha256, self.flags, self.patches.sha256)


def read_recipe(tor: TorSource, downloads: Path | None = None, series: Path = SERIES) -> Recipe:
    """What ``tor`` is built from as its files are now.

    Debian's package is fetched into ``downloads``; without that folder it is only named. ``series`` is the
    folder of the project's patches. Raises InputError when a path, a revision or a checksum is not what
    ``tor`` says, or a tree has changes that are not committed; ValueError when ``tor`` names other tors.
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
    project = read_series(series) if tor.series == "project" else NO_PATCHES
    patches = patches_of_user(tor.patches)
    release: Release | None
    if tor.git is not None:
        release = find_commit_release(tor.git, tor.revision, tor.series)
    elif tor.path is None and downloads is None:
        release = None
    else:
        # A folder for downloads is of no use where a path is given.
        release = find_release(tor.path, downloads or Path(), tor.sha256)
    content = release.identity if release is not None else FROM_DEBIAN
    flags = tuple(configure_flags(tests=False))
    return Recipe(content, release, project, patches, flags)


@cache
def planned_key(tor: TorSource, series: Path = SERIES) -> str:
    """The key that the pipeline knows the build of ``tor`` by: 12 hexadecimal digits.

    For Debian's source package, which may not have been fetched yet, it stands for whichever release of it
    is there. Errors are those of :func:`read_recipe`.
    """
    return read_recipe(tor, series=series).key


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
    """The tor ``stock`` where the user may have named its ``source`` (``--config tor_source=PATH``).

    Raises InputError for an empty name.
    """
    if source is None:
        return STOCK
    if not source:
        raise InputError("is empty", key="tor_source", accepted="a tarball")
    return TorSource(source=source if source != DEBIAN else f"./{source}")
