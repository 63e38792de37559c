"""A source of tor as a patched tree: from Debian's archive, a tarball, a folder or a commit, verified.

In: nothing, or what a user names; patches. Out: :class:`Release`, which says what it was checked against; the
source tree, unpacked and patched.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, OutputError
from torsweep.folder_lock import folder_claimed
from torsweep.formats.archives import unpack_tarball
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import TOOLS_FOLDER
from torsweep.tor.apt import RELEASE_SERIES as RELEASE_SERIES
from torsweep.tor.apt import fetch_source_package
from torsweep.tor.repository import Commit, export, file_of, find_commit

CONFIGURE, CONFIGURE_AC = "configure", "configure.ac"
CONFIGURES = (CONFIGURE, CONFIGURE_AC)
"""A release has the first; a tree out of git has only the second, which autoconf makes the first from."""

NOT_SOURCE = shutil.ignore_patterns(".git", "*.o", "*.a", ".deps", ".dirstamp", "config.status", "orconfig.h")
"""What a build inside a source folder leaves there; with it, a build elsewhere would refuse to start."""


@dataclass(frozen=True)
class Release:
    """The source of tor in a tarball, a folder or a commit.

    ``identity`` stands for its content, in hexadecimal: the SHA-256 of the file or of the folder's tree, or
    git's id of the commit's tree.
    """

    path: Path
    identity: str
    verified_by: str
    """What the checksum was compared with, or a sentence saying that there was nothing."""
    commit: Commit | None = None

    @property
    def facts(self) -> dict[str, str]:
        """What the provenance of a build says of its source."""
        facts = {"source": self.path.name, "source_verified_by": self.verified_by}
        if self.commit is None:
            return {**facts, "source_sha256": self.identity}
        return {**facts, "source_commit": self.commit.commit, "source_tree": self.identity}


def find_release(source: Path | None, downloads: Path, sha256: str | None = None) -> Release:
    """The release at ``source``; without one, Debian's source package.

    A package that is in ``downloads`` already is taken, so that all builds are of one release. Raises
    InputError for a path that is neither tarball nor folder, or a checksum that is not the one
    given, the one beside the tarball (``NAME.sha256sum``) or the one in the .dsc; and the errors of
    :func:`torsweep.tor.apt.fetch_source_package`.
    """
    if source is None:
        return _debian_release(downloads)
    if source.is_dir():
        if not any((source / name).is_file() for name in CONFIGURES):
            raise InputError("is no source of tor: it has no configure", file=source)
        return Release(source, sha256_of_tree(source), "a folder, taken as it is")
    if not source.is_file():
        raise InputError(
            "no such file or folder", file=source, accepted="a tarball or a folder of tor's source"
        )
    if source.suffix == ".dsc":
        return verified_package(source)
    return _verified_tarball(source, sha256)


def find_commit_release(repository: Path, revision: str, series: str) -> Release:
    """The source of tor in a commit; InputError when there is none, or ``series`` is not for its version."""
    commit = find_commit(repository, revision)
    text = file_of(commit, CONFIGURE_AC)
    if text is None:
        raise InputError("is no source of tor: it has no configure.ac", file=repository, value=revision)
    require_version(_version_in(text, repository), series, repository)
    return Release(repository, commit.tree, f"git, as commit {commit.commit}", commit)


def _debian_release(downloads: Path) -> Release:
    package = downloads / "package"
    with folder_claimed(downloads.parent, TOOLS_FOLDER, wait=True):
        for description in sorted(package.glob("tor_*.dsc")):
            try:
                return verified_package(description)
            except InputError:
                break
        shutil.rmtree(package, ignore_errors=True)
        return verified_package(fetch_source_package(downloads / "apt", package))


def verified_package(description: Path) -> Release:
    """The release tarball of the source package ``description`` (.dsc), every file of it verified."""
    sums, tarball = _package(description)
    for name, expected in sums.items():
        file = description.parent / name
        if not file.is_file():
            raise InputError(f"names {name}, which is not beside it", file=description)
        _compare(file, sha256_of_file(file), expected, description.name)
    return Release(description.parent / tarball, sums[tarball], description.name)


def release_in_package(description: Path) -> str:
    """The SHA-256 of the release tarball of the source package ``description``, whose files are not read.

    Raises InputError when it names no release.
    """
    sums, tarball = _package(description)
    return sums[tarball]


def _package(description: Path) -> tuple[dict[str, str], str]:
    """The checksums of a source package's files, and which of these is the release tarball."""
    sums = package_checksums(description.read_text(encoding="utf-8", errors="replace"))
    tarballs = [name for name in sums if re.fullmatch(r"tor_[^_]*\.orig\.tar\.\w+", name)]
    if len(tarballs) != 1:
        raise InputError("names no release tarball of tor", file=description)
    return sums, tarballs[0]


def package_checksums(description: str) -> dict[str, str]:
    """The SHA-256 of each file that the text of a .dsc lists, in hexadecimal, by the file's name."""
    section = re.search(r"^Checksums-Sha256:[^\n]*\n((?:[ \t]+\S.*\n?)+)", description, re.MULTILINE)
    if section is None:
        return {}
    lines = [line.split() for line in section[1].splitlines()]
    return {name: digest for digest, _size, name in lines}


def _verified_tarball(tarball: Path, sha256: str | None) -> Release:
    actual = sha256_of_file(tarball)
    beside = tarball.with_name(f"{tarball.name}.sha256sum")
    if sha256 is not None:
        where = "the checksum given"
    elif beside.is_file():
        sha256, where = (
            beside.read_text(encoding="utf-8", errors="replace").partition(" ")[0].strip(),
            beside.name,
        )
    else:
        return Release(tarball, actual, "nothing: no checksum was given and none lies beside the tarball")
    _compare(tarball, actual, sha256, where)
    return Release(tarball, actual, where)


def _compare(file: Path, actual: str, expected: str, where: str) -> None:
    if actual != expected.lower():
        raise InputError(
            f"wrong checksum: SHA-256 is {actual}, and {expected or 'nothing'} in {where}; "
            "fetch the file again",
            file=file,
        )


def sha256_of_tree(folder: Path) -> str:
    """The SHA-256 over names and contents of the files of a source tree, in hexadecimal."""
    digest = hashlib.sha256()
    for root, folders, names in os.walk(folder):
        left_out = NOT_SOURCE(root, [*folders, *names])
        folders[:] = sorted(name for name in folders if name not in left_out)
        for name in sorted(name for name in names if name not in left_out):
            file = Path(root) / name
            if file.is_file():
                digest.update(f"{file.relative_to(folder)}\0{sha256_of_file(file)}\n".encode())
    return digest.hexdigest()


def unpack(release: Release, target: Path) -> str:
    """Lay the source tree of ``release`` out at ``target``, which must not exist; return tor's version.

    Raises InputError when it is no tarball, or not one of tor's sources, and OutputError when the
    tree cannot be written.
    """
    try:
        if release.commit is not None:
            export(release.commit, target)
        elif release.path.is_dir():
            shutil.copytree(release.path, target, symlinks=True, ignore=NOT_SOURCE)
        else:
            _unpack_tarball(release.path, target)
    except OSError as error:
        raise OutputError(
            f"{target.parent}: cannot take the source of tor: {error.strerror or error}"
        ) from error
    return version_of(target, release.path)


def require_unchanged(release: Release) -> None:
    """Raise InputError when the files of ``release`` are other ones than those that its identity is of."""
    if release.commit is None:
        identity = sha256_of_tree if release.path.is_dir() else sha256_of_file
        if identity(release.path) != release.identity:
            raise InputError(
                "has changed while it was copied; give the same command again", file=release.path
            )


def _unpack_tarball(tarball: Path, target: Path) -> None:
    unpacked = target.with_name(f"{target.name}.unpacked")
    unpack_tarball(tarball, unpacked)
    tops = [entry for entry in unpacked.iterdir() if any((entry / name).is_file() for name in CONFIGURES)]
    if len(tops) != 1:
        raise InputError("is no source of tor: it has no configure", file=tarball)
    tops[0].replace(target)
    shutil.rmtree(unpacked)


def version_of(tree: Path, named: Path) -> str:
    """The version that the source tree states; InputError, naming ``named``, when it is not tor's."""
    name = next(name for name in CONFIGURES if (tree / name).is_file())
    with (tree / name).open(encoding="utf-8", errors="replace") as file:
        return _version_in(file.read(60_000), named)


def _version_in(text: str, named: Path) -> str:
    """The version in the beginning of a configure or a configure.ac."""
    name = re.search(r"^PACKAGE_NAME='tor'$", text, re.MULTILINE)
    version = re.search(r"^PACKAGE_VERSION='([\w.+-]+)'$", text, re.MULTILINE) if name else None
    version = version or re.search(r"^AC_INIT\(\[tor\],\s*\[([\w.+-]+)\]", text, re.MULTILINE)
    if version is None:
        raise InputError("is no source of tor", file=named, accepted="a release or a commit of tor")
    return version[1]


OLDEST_TOR = (0, 4, 7)
"""The first release series whose relays and clients have congestion control."""


def require_version(version: str, series: str, named: Path) -> None:
    """Raise InputError unless tor of ``version`` can be built, with the ``series`` (project or none)."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if numbers < OLDEST_TOR:
        raise InputError("is too old a tor", file=named, value=version, accepted="0.4.7 or later")
    if series == "project" and not version.startswith(f"{RELEASE_SERIES}."):
        raise InputError(
            "the project's patches are for another release series of tor",
            file=named,
            value=version,
            accepted=f"{RELEASE_SERIES}.*, or without them: series none",
        )
