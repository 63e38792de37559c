"""Whether the project's patch series fits every tor of a comparison; otherwise all are built without it.

In: the tors. Out: the same, or all of them without the series, and the sentence that says so. The series, and
the user's patches, are tried on sources that are at hand, before anything is built. Debian's source may not
be: the series fits it by definition; the user's patches are tried if an earlier build has fetched it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torsweep.errors import InputError
from torsweep.study.places import debian_package
from torsweep.study.tors import DEBIAN, Tor
from torsweep.tor.apt import SERIES as RELEASES
from torsweep.tor.release import (
    CONFIGURE_AC,
    Series,
    apply_series,
    find_release,
    patches_of_user,
    read_series,
    require_version,
    unpack,
    verified_package,
    version_of,
)
from torsweep.tor.repository import export, find_commit


def fitting(tors: Sequence[Tor]) -> tuple[list[Tor], str]:
    """``tors`` as they can be compared, and what there is to say; nothing where all take the series.

    Raises InputError for a tor that is too old, for what is no source of tor, and for a patch of the user's
    that does not apply.
    """
    found, note = list(tors), ""
    for tor in tors:
        why = _why_not(tor)
        if why:
            found = [each.without_series() for each in tors]
            many = "both are" if len(tors) > 1 else "it is"
            note = f"{many} built without the project's patches: {why}"
            break
    for tor in found:
        _require_patches(tor)
    return found, note


def _why_not(tor: Tor) -> str:
    """Why ``tor`` has not the series; nothing where it has."""
    if tor.is_program:
        return f"{tor.words} is taken as it is"
    if tor.entry.get("source") == DEBIAN:
        return ""
    series = read_series()
    with _source(tor, series) as (tree, version):
        if not version.startswith(f"{RELEASES}."):
            return f"they are for tor {RELEASES}, and {tor.words} is {version}"
        try:
            apply_series(series, tree)
        except InputError as error:
            return f"{tor.words}: {error}"
    return ""


def _require_patches(tor: Tor) -> None:
    """Raise InputError, which names file and hunk, where a patch of the user's does not apply to ``tor``."""
    patches = patches_of_user([Path(patch) for patch in tor.entry.get("patches", ())])
    if not patches.patches or (tor.entry.get("source") == DEBIAN and debian_package() is None):
        return
    project = Series((), "") if tor.entry.get("series") == "none" else read_series()
    with _source(tor, Series((*project.patches, *patches.patches), "")) as (tree, _):
        apply_series(project, tree)
        apply_series(patches, tree)


@contextmanager
def _source(tor: Tor, patches: Series) -> Iterator[tuple[Path, str]]:
    """The files of ``tor`` that ``patches`` are for, in a folder for as long as it takes; its version."""
    with tempfile.TemporaryDirectory(prefix="torsweep-source-") as scratch:
        tree = Path(scratch, "tor")
        if tor.repository is not None:
            commit = find_commit(tor.repository, tor.entry["revision"])
            export(commit, tree, [CONFIGURE_AC, *_files_of(patches)])
            if not (tree / CONFIGURE_AC).is_file():
                raise InputError(f"is no source of tor: it has no {CONFIGURE_AC}", file=tor.words)
            version = version_of(tree, tor.repository)
        elif tor.entry["source"] == DEBIAN:
            version = unpack(verified_package(debian_package() or Path()), tree)
        else:
            version = unpack(find_release(Path(tor.entry["source"]), Path()), tree)
        require_version(version, "none", Path(tor.words))
        yield tree, version


def _files_of(patches: Series) -> list[str]:
    """The files that ``patches`` change, as they stand in the patches below a first folder of any name."""
    texts = [patch.read_text(encoding="utf-8", errors="replace") for patch in patches.patches]
    named = r"^(?:---|\+\+\+) [^/\s]+/+(\S+)"
    return [name for text in texts for name in re.findall(named, text, re.MULTILINE)]
