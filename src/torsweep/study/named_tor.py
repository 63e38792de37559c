"""What ``--candidate`` and ``--baseline`` name: a tor, as an entry of an experiment's ``tors:``.

In: ``debian``; ``arti`` or ``arti@VERSION``; ``PATH@REVISION`` or a folder that is a git repository of one of
the two; a tarball of source; a program; ``patch:FILE``; ``same``. Out: a :class:`NamedTor`, with commits
written out and the checksum of a tarball, so that a study says which tor it is about after the branch or the
file has changed.

The project's series and the user's patches are tried on sources that are at hand, before anything is built.
Where the series does not fit every tor of a comparison, all are built without it. It fits Debian's source by
definition; the user's patches are tried on that if an earlier build has fetched it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torsweep.config.knobs import MERGE_BASE, PLAIN_TOR, STOCK_TOR
from torsweep.config.tors import DEBIAN
from torsweep.errors import InputError
from torsweep.provenance import sha256_of_file
from torsweep.tor import DOWNLOADS
from torsweep.tor.arti import TRIED, ask_arti_version, holds_arti, is_version
from torsweep.tor.names import defaults_of
from torsweep.tor.program import ask_version
from torsweep.tor.release import RELEASE_SERIES as RELEASES
from torsweep.tor.release import fetched_release, find_commit_release, find_release, require_version, unpack
from torsweep.tor.repository import find_commit, is_repository, is_shallow, left_main
from torsweep.tor.series import Series, apply_series, patches_of_user, read_series

SAME_TOR, PATCH = "same", "patch:"
ARTI = "arti"
FORMS = (
    f"PATH@REVISION of git, {PATCH}FILE, a tarball of source, a program, {DEBIAN}, {ARTI} or {ARTI}@VERSION"
)
TARBALL = re.compile(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)$")
COMMIT_DIGITS = 12
"""Digits of a commit that people are shown."""

MOST_NAME = 59
"""A level has at most 64 characters, some with a word before the name."""


@dataclass(frozen=True)
class NamedTor:
    """One tor of a comparison: the level's ``name``, its ``entry`` in ``tors:`` with absolute paths, the
    ``words`` after "against", and its ``identity``, which differs where two tors differ."""

    name: str
    entry: Mapping[str, Any]
    words: str
    identity: str

    @property
    def is_arti(self) -> bool:
        """Whether it is Arti, which clients alone run."""
        return ARTI in self.entry

    @property
    def repository(self) -> Path | None:
        """The git repository of tor that it is a commit of."""
        return Path(self.entry["git"]) if "git" in self.entry else None

    @property
    def is_program(self) -> bool:
        """Whether it is taken as it is, with no source to build."""
        return "program" in self.entry

    def without_series(self) -> NamedTor:
        """This tor, built without the project's series; a program and Arti stay what they are."""
        if self.is_program or self.is_arti:
            return self
        name = PLAIN_TOR if self.name == STOCK_TOR else self.name
        return replace(self, name=name, entry={**self.entry, "series": "none"})


DEBIANS_TOR = NamedTor(STOCK_TOR, {"source": DEBIAN}, "Debian's tor", DEBIAN)


def read_tor(text: str, key: str) -> NamedTor:
    """The tor that ``text`` names, without ``same`` and patches; InputError names the option ``key``."""
    if text == DEBIAN:
        return DEBIANS_TOR
    before, at, revision = text.rpartition("@")
    if text == ARTI or (before == ARTI and not Path(ARTI).exists()):
        return _arti(revision if at else TRIED, key)
    path = Path(text)
    if at and not path.exists():
        return _of_git(Path(before), revision or "HEAD", key)
    if path.is_dir() and is_repository(path):
        return _of_git(path, "HEAD", key)
    if not path.exists():
        raise InputError("no such file or folder", key=key, value=text, accepted=FORMS)
    is_tarball = TARBALL.search(path.name) is not None
    if not path.is_file() or not (is_tarball or os.access(path, os.X_OK)):
        raise InputError("is no tor", key=key, value=text, accepted=FORMS)
    file, identity = str(path.resolve()), sha256_of_file(path)
    if is_tarball:
        entry = {"source": file, "sha256": identity}
    elif _answers_as_arti(path):
        entry = {ARTI: file}
    else:
        ask_version(path)
        entry = {"program": file}
    return NamedTor(name_of_level(TARBALL.sub("", path.name)), entry, path.name, identity)


def _of_git(repository: Path, revision: str, key: str) -> NamedTor:
    if not repository.is_dir():
        raise InputError("no such repository", key=key, value=str(repository), accepted=FORMS)
    whole = repository.resolve()
    tree = find_commit(whole, revision)
    commit = tree.commit
    name = whole.name.removesuffix(".git") if revision == "HEAD" else revision
    words = f"{name} ({commit[:COMMIT_DIGITS]})"
    if holds_arti(tree):
        return NamedTor(name_of_level(name), {ARTI: str(whole), "revision": commit}, f"Arti {words}", commit)
    return NamedTor(name_of_level(name), {"git": str(whole), "revision": commit}, words, commit)


def _arti(version: str, key: str) -> NamedTor:
    if not is_version(version):
        raise InputError("is no version of Arti", key=key, value=version, accepted=f"such as {TRIED}")
    words = f"Arti {version}"
    return NamedTor(name_of_level(words), {ARTI: version}, words, words)


def _answers_as_arti(program: Path) -> bool:
    with suppress(InputError):
        return bool(ask_arti_version(program))
    return False


def patched(patch: Path, base: NamedTor) -> NamedTor:
    """``base`` with the patch in the file ``patch`` on top of all that it has."""
    if not patch.is_file():
        raise InputError("no such patch", key="--candidate", value=str(patch), accepted="a file")
    if base.is_program or base.is_arti:
        what = "Arti" if base.is_arti else "a program"
        problem = f"a patch needs a source, and the baseline is {what}"
        raise InputError(problem, key="--candidate", value=str(patch), accepted="another --baseline")
    whole = patch.resolve()
    entry = {**base.entry, "patches": [str(whole)]}
    words = f"{base.words} with {patch.name}"
    return NamedTor(name_of_level(patch.stem), entry, words, f"{base.identity} {sha256_of_file(whole)}")


def repeated(base: NamedTor) -> NamedTor:
    """``base`` a second time: the two differ by chance alone."""
    return NamedTor("again", {SAME_TOR: base.name}, f"{base.words} once more", f"{SAME_TOR} {base.identity}")


def usual_baseline(candidate: NamedTor) -> tuple[NamedTor, str]:
    """The commit at which ``candidate`` left the main branch of its repository, or else Debian's tor, and a
    sentence on why; InputError where a shallow clone lacks that commit."""
    if candidate.repository is None:
        return DEBIANS_TOR, ""
    left = left_main(candidate.repository, candidate.identity)
    if left is None and is_shallow(candidate.repository):
        problem = "is a shallow clone, which lacks the commit where the candidate left the main branch"
        accepted = "git fetch --unshallow origin main:refs/remotes/origin/main; or a --baseline"
        raise InputError(problem, file=candidate.repository, value=candidate.words, accepted=accepted)
    if left is None or left[1] == candidate.identity:
        why = f"{candidate.words} has left no main branch of its repository"
        return DEBIANS_TOR, f"baseline: {DEBIANS_TOR.words}, as {why}"
    branch, commit = left
    words = f"{branch} at {commit[:COMMIT_DIGITS]}"
    tor = NamedTor(MERGE_BASE, {**candidate.entry, "revision": commit}, words, commit)
    return tor, f"baseline: {words}, where {candidate.words} left it"


def name_of_level(text: str) -> str:
    """``text`` as the name of a level: small letters, digits and underlines."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    name = name if name[:1].isalpha() else f"tor_{name}".rstrip("_")
    cut = name if len(name) <= MOST_NAME else name[: MOST_NAME + 1].rpartition("_")[0]
    return cut or name[:MOST_NAME]


def fitting(tors: Sequence[NamedTor]) -> tuple[list[NamedTor], str]:
    """``tors`` as they can be compared, and what there is to say; nothing where all take the series.
    InputError for what is too old or no tor, and for a patch of the user's that does not apply."""
    why = next(filter(None, map(_why_not, tors)), "")
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
    if _patches_of(tor).patches and not _is_to_fetch(tor):
        with _patched(tor):
            pass


def _patches_of(tor: NamedTor) -> Series:
    return patches_of_user([Path(patch) for patch in tor.entry.get("patches", ())])


def _is_to_fetch(tor: NamedTor) -> bool:
    """Whether ``tor`` is built from Debian's source, which is not here yet."""
    return tor.entry.get("source") == DEBIAN and fetched_release(DOWNLOADS) is None


def changed_defaults(one: NamedTor, other: NamedTor) -> dict[tuple[str, str], tuple[str, str]] | None:
    """The defaults that differ between two tors, as kind and name → both defaults.

    None where it cannot be said: of programs, of Arti, and while Debian's source has not been fetched.
    """
    if any(tor.is_program or tor.is_arti or _is_to_fetch(tor) for tor in (one, other)):
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
        apply_series(_patches_of(tor), tree)
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
