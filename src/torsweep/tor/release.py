"""A source of tor: from Debian's archive, a tarball or a commit of git.

In: nothing, or what a user names. Out: :class:`Release`, which says what it was checked against; the source
tree, unpacked. apt fetches Debian's source with a state of its own, which needs neither root nor ``deb-src``
lines.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from torsweep.errors import InputError, OutputError, ToolMissing
from torsweep.formats.archives import unpack_tarball
from torsweep.provenance import sha256_of_file
from torsweep.storage.folders import TOOLS_FOLDER, folder_claimed
from torsweep.tor.repository import Commit, export, file_of, find_commit

RELEASE_SERIES = "0.4.9"
"""The release series that the patches are written for."""

OTHERWISE = f"name a tarball of tor {RELEASE_SERIES}: --source PATH, or --config tor_source=PATH"


def as_sources(text: str) -> str:
    """The text of a ``.list`` or ``.sources`` file with every archive as one of source packages."""
    text = re.sub(r"^[ \t]*deb(?:-src)?(?=\s)", "deb-src", text, flags=re.MULTILINE)
    return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE | re.IGNORECASE)


def fetch_source(state: Path, destination: Path) -> Path:
    """Fetch Debian's source package of tor; its tarball. ToolMissing, with apt's complaint, without it."""
    if shutil.which("apt-get") is None:
        raise ToolMissing(f"apt-get: not on PATH, so Debian's source of tor cannot be had; {OTHERWISE}")
    options = _private(state)
    updated = _run(["apt-get", *options, "update", "-q"])
    destination.mkdir(parents=True, exist_ok=True)
    fetched = _run(["apt-get", *options, "source", "-q", "--download-only", "tor"], destination)
    tarballs = sorted(destination.glob("tor_*.orig.tar.*[!c]"))
    if fetched.returncode or len(tarballs) != 1:
        # Without a network, apt's update warns and ends well.
        complaints = re.findall(r"^[EW]: *(.+)$", updated.stderr + fetched.stderr, re.MULTILINE)
        why = complaints[0] if complaints else "it left no tarball of a release"
        raise ToolMissing(f"apt gives no source of tor ({why}); {OTHERWISE}")
    return tarballs[0]


def _private(state: Path) -> list[str]:
    """Make a state of apt at ``state``, with the machine's archives; the options that choose it."""
    state = state.resolve()
    shutil.rmtree(state, ignore_errors=True)
    for folder in ("state", "lists/partial", "cache/archives/partial", "sources.d"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    for position, file in enumerate(_machine_lists()):
        text = file.read_text(encoding="utf-8", errors="replace")
        (state / "sources.d" / f"{position:03}{file.suffix}").write_text(as_sources(text), encoding="utf-8")
    options = {
        "Dir::State": state / "state",
        "Dir::State::Lists": state / "lists",
        "Dir::State::Status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": state / "sources.d",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
    }
    return [word for key, value in options.items() for word in ("-o", f"{key}={value}")]


def _machine_lists() -> list[Path]:
    """The files with the machine's own source entries."""
    asked = ["LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    answer = _run(["apt-config", "shell", *asked])
    places = {name: Path(path) for name, path in re.findall(r"^(\w+)='(.*)'$", answer.stdout, re.MULTILINE)}
    files = [places["LIST"]] if "LIST" in places else []
    files += sorted(places["PARTS"].glob("*")) if "PARTS" in places else []
    return [file for file in files if file.suffix in (".list", ".sources") and file.is_file()]


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


CONFIGURE, CONFIGURE_AC = "configure", "configure.ac"
CONFIGURES = (CONFIGURE, CONFIGURE_AC)
"""A release has the first; a tree out of git has only the second, which autoconf makes the first from."""

PACKAGE = "package"
"""The folder of Debian's source package, among the downloads."""


@dataclass(frozen=True)
class Release:
    """The source of tor in a tarball or a commit; ``identity`` is its SHA-256, or git's id of its tree."""

    path: Path
    identity: str
    verified_by: str
    """What the checksum was compared with, or a sentence saying that there was nothing."""
    commit: Commit | None = None

    @property
    def facts(self) -> dict[str, str]:
        """Facts on the source, for a build's provenance."""
        facts = {"source": self.path.name, "source_verified_by": self.verified_by}
        if self.commit is None:
            return {**facts, "source_sha256": self.identity}
        return {**facts, "source_commit": self.commit.commit, "source_tree": self.identity}


def find_release(source: Path | None, downloads: Path, sha256: str | None = None) -> Release:
    """The release in the tarball ``source``; without one, that of Debian's source package.

    A package that is in ``downloads`` already is taken, so that all builds are of one release. Raises
    InputError for what is no file, or a checksum that is not ``sha256``; ToolMissing without a package.
    """
    if source is None:
        tarball = fetched_release(downloads) or _fetch(downloads)
        return Release(tarball, sha256_of_file(tarball), "apt")
    if not source.is_file():
        raise InputError("no such file", file=source, accepted="a tarball of tor's source")
    actual = sha256_of_file(source)
    if sha256 is None:
        return Release(source, actual, "nothing: no checksum was given")
    if actual != sha256.lower():
        raise InputError(f"wrong checksum: SHA-256 is {actual}", file=source, accepted=sha256.lower())
    return Release(source, actual, "the checksum given")


def find_commit_release(repository: Path, revision: str, series: str) -> Release:
    """The source of tor in a commit; InputError when there is none, or ``series`` is not for its version."""
    commit = find_commit(repository, revision)
    text = file_of(commit, CONFIGURE_AC)
    if text is None:
        raise InputError("is no source of tor: it has no configure.ac", file=repository, value=revision)
    require_version(_version_in(text, repository), series, repository)
    return Release(repository, commit.tree, f"git, as commit {commit.commit}", commit)


def fetched_release(downloads: Path) -> Path | None:
    """The tarball of Debian's package that is in ``downloads``; None without one."""
    return next(iter(sorted((downloads / PACKAGE).glob("tor_*.orig.tar.*[!c]"))), None)


def _fetch(downloads: Path) -> Path:
    """Fetch Debian's package into ``downloads``, where it appears as a whole; its tarball."""
    with folder_claimed(downloads.parent, TOOLS_FOLDER, wait=True):
        found = fetched_release(downloads)
        if found is not None:
            return found
        begun = downloads / f"{PACKAGE}.part"
        for folder in (begun, downloads / PACKAGE):
            shutil.rmtree(folder, ignore_errors=True)
        tarball = fetch_source(downloads / "apt", begun)
        begun.replace(downloads / PACKAGE)
        return downloads / PACKAGE / tarball.name


def unpack(release: Release, target: Path) -> str:
    """Lay the source tree of ``release`` out at ``target``, which must not exist; return tor's version.

    Raises InputError when it is none of tor, and OutputError when the tree cannot be written.
    """
    try:
        if release.commit is not None:
            export(release.commit, target)
        else:
            _unpack_tarball(release.path, target)
    except OSError as error:
        raise OutputError(
            f"{target.parent}: cannot take the source of tor: {error.strerror or error}"
        ) from error
    name = next(name for name in CONFIGURES if (target / name).is_file())
    with (target / name).open(encoding="utf-8", errors="replace") as file:
        return _version_in(file.read(60_000), release.path)


def require_unchanged(release: Release) -> None:
    """Raise InputError when the tarball of ``release`` is another one than its identity is of."""
    if release.commit is None and sha256_of_file(release.path) != release.identity:
        raise InputError("has changed while it was copied; give the same command again", file=release.path)


def _unpack_tarball(tarball: Path, target: Path) -> None:
    unpacked = target.with_name(f"{target.name}.unpacked")
    unpack_tarball(tarball, unpacked)
    tops = [entry for entry in unpacked.iterdir() if any((entry / name).is_file() for name in CONFIGURES)]
    if len(tops) != 1:
        raise InputError("is no source of tor: it has no configure", file=tarball)
    tops[0].replace(target)
    shutil.rmtree(unpacked)


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
