"""Whether the project's patch series fits every tor of a comparison; otherwise all are built without it.

In: the tors. Out: the same, or all of them without the series, and the sentence that says so. The series, and
the user's patches, are tried on sources that are at hand, before anything is built. Debian's source may not
be: the series fits it by definition; the user's patches are tried if an earlier build has fetched it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torsweep.config.tors import DEBIAN
from torsweep.errors import InputError
from torsweep.study.named_tor import NamedTor
from torsweep.tor import DOWNLOADS
from torsweep.tor.names import defaults_of
from torsweep.tor.release import RELEASE_SERIES as RELEASES
from torsweep.tor.release import fetched_release, find_commit_release, find_release, require_version, unpack
from torsweep.tor.series import Series, apply_series, patches_of_user, read_series


def fitting(tors: Sequence[NamedTor]) -> tuple[list[NamedTor], str]:
    """``tors`` as they can be compared, and what there is to say; nothing where all take the series.

    Raises InputError for a tor that is too old, for what is no source of tor, and for a patch of the user's
    that does not apply.
    """
    reasons = (_why_not(tor) for tor in tors)
    why = next(filter(None, reasons), "")
    comparable = [tor.without_series() for tor in tors] if why else list(tors)
    for tor in comparable:
        _require_patches(tor)
    many = "both are" if len(tors) > 1 else "it is"
    return comparable, f"{many} built without the project's patches: {why}" if why else ""


def _why_not(tor: NamedTor) -> str:
    """Why ``tor`` has not the series; nothing where it has."""
    if tor.is_program:
        return f"{tor.words} is taken as it is"
    if tor.is_arti or tor.entry.get("source") == DEBIAN:
        return ""
    with _source(tor) as (tree, version):
        if not version.startswith(f"{RELEASES}."):
            return f"they are for tor {RELEASES}, and {tor.words} is {version}"
        try:
            apply_series(read_series(), tree)
        except InputError as error:
            return f"{tor.words}: {error}"
    return ""


def _require_patches(tor: NamedTor) -> None:
    """Raise InputError, which names file and hunk, where a patch of the user's does not apply to ``tor``."""
    patches = patches_of_user([Path(patch) for patch in tor.entry.get("patches", ())])
    if not patches.patches or (tor.entry.get("source") == DEBIAN and fetched_release(DOWNLOADS) is None):
        return
    with _patched(tor):
        pass


def changed_defaults(one: NamedTor, other: NamedTor) -> dict[tuple[str, str], tuple[str, str]] | None:
    """The defaults that differ between two tors: kind and name → that of either.

    None where it cannot be said: of programs, of Arti, and while Debian's source has not been fetched.
    """
    if any(tor.is_program or tor.is_arti for tor in (one, other)):
        return None
    if any(tor.entry.get("source") == DEBIAN for tor in (one, other)) and fetched_release(DOWNLOADS) is None:
        return None
    found = []
    for tor in (one, other):
        try:
            with _patched(tor) as tree:
                found.append(defaults_of(tree))
        except InputError:
            return None  # The build will say why.
    before, after = found
    return {key: (before[key], after[key]) for key in before if key in after and before[key] != after[key]}


@contextmanager
def _patched(tor: NamedTor) -> Iterator[Path]:
    """The files of ``tor`` as they are built; InputError where a patch does not apply."""
    with _source(tor) as (tree, _):
        apply_series(Series((), "") if tor.entry.get("series") == "none" else read_series(), tree)
        apply_series(patches_of_user([Path(patch) for patch in tor.entry.get("patches", ())]), tree)
        yield tree


@contextmanager
def _source(tor: NamedTor) -> Iterator[tuple[Path, str]]:
    """The files of ``tor`` in a folder for as long as it takes; its version."""
    if tor.repository is not None:
        release = find_commit_release(tor.repository, tor.entry["revision"], "none")
    else:
        path = None if tor.entry["source"] == DEBIAN else Path(tor.entry["source"])
        release = find_release(path, DOWNLOADS)
    with tempfile.TemporaryDirectory(prefix="torsweep-source-") as scratch:
        tree = Path(scratch, "tor")
        version = unpack(release, tree)
        require_version(version, "none", Path(tor.words))
        yield tree, version
