"""Arti, Tor's implementation in Rust, as a build: of a version, of a commit of its repository, or a program.

In: a :class:`torsweep.config.tors.TorSource` with ``arti``; cargo, which finds versions in its registry. Out:
its content, and a folder with ``bin/arti``, the log of the build and ``provenance.json``.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from torsweep.config.tors import TorSource
from torsweep.errors import InputError, ToolMissing
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_directory
from torsweep.storage.folders import TOR_BUILD_FOLDER
from torsweep.tor import ARTI_PREFIX
from torsweep.tor.builds import AS_IT_IS, write_facts
from torsweep.tor.compile import log_kept, run_step, say
from torsweep.tor.program import version_of_program
from torsweep.tor.repository import Commit, export, file_of, find_commit, is_repository

TRIED = "2.7.0"
"""The newest version that was tried."""
LEAST_RUST = (1, 92)
"""What that version needs."""
FEATURES = ("--features", "flowctl-cc")
"""Options of cargo: congestion control, which is not among Arti's defaults."""
CARGO_MANIFEST = "crates/arti/Cargo.toml"
"""Where Arti's repository describes the program."""
ARTI_FORMS = f"a version such as {TRIED}, a git repository of Arti, or a program arti"


def arti_content(tor: TorSource) -> tuple[str, tuple[str, ...]]:
    """What identifies the content of ``tor``, and the options of cargo; InputError where there is none."""
    if is_version(tor.arti):
        return f"arti {tor.arti}", FEATURES
    path = Path(str(tor.arti))
    if path.is_dir():
        return find_arti_commit(path, tor.revision).tree, FEATURES
    if not path.is_file():
        raise InputError("is no Arti", key="arti", value=tor.arti, accepted=ARTI_FORMS)
    return sha256_of_file(path), ()


_VERSION = r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
"""A version as cargo has them: three numbers, a pre-release, a build."""


def is_version(text: str | None) -> bool:
    """Whether ``text`` is a version, and no path."""
    return re.fullmatch(_VERSION, text or "") is not None


def holds_arti(commit: Commit) -> bool:
    """Whether ``commit`` is of Arti's repository."""
    return file_of(commit, CARGO_MANIFEST) is not None


def find_arti_commit(repository: Path, revision: str) -> Commit:
    """The commit of Arti that ``revision`` names; InputError when there is none."""
    if not is_repository(repository):
        raise InputError("is no git repository", file=repository, accepted=ARTI_FORMS)
    commit = find_commit(repository, revision)
    if not holds_arti(commit):
        raise InputError(f"is no Arti: it has no {CARGO_MANIFEST}", file=repository, value=revision)
    return commit


def ask_arti_version(program: Path) -> str:
    """The version that ``program`` answers with; InputError when it is no Arti that runs here."""
    return version_of_program(program, "arti ", "is no Arti")[0]


def require_rust() -> str:
    """The version of rustc; ToolMissing without cargo, or if Rust is too old."""
    least = ".".join(map(str, LEAST_RUST))
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        raise ToolMissing(f"cargo: not on PATH; a build of Arti needs Rust {least} or later")
    words = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    numbers = tuple(int(part) for part in re.findall(r"\d+", words)[:2])
    if numbers < LEAST_RUST:
        raise ToolMissing(
            f"{words or 'rustc says no version'}: too old to build Arti, which needs {least} or later"
        )
    return words


def require_arti(tor: TorSource) -> str:
    """InputError unless there is such an Arti as ``tor`` names.

    What is returned says that nobody could be asked for its version; empty otherwise.
    """
    if not is_version(tor.arti) and Path(str(tor.arti)).is_file():
        ask_arti_version(Path(str(tor.arti)))
        return ""
    arti_content(tor)
    why = _why_unpublished(str(tor.arti)) if is_version(tor.arti) and tor.arti != TRIED else ""
    if why == _NOT_FOUND:
        raise InputError("no such version of Arti", key="arti", value=tor.arti, accepted=f"such as {TRIED}")
    return f"Arti {tor.arti}: not checked whether there is this version: {why}" if why else ""


_NOT_FOUND = "could not find"


@functools.cache
def _why_unpublished(version: str) -> str:
    """Empty where cargo's registry has that version of Arti; why it cannot be asked, or that it has not."""
    if shutil.which("cargo") is None:
        return "cargo is not on PATH"
    asked = ["cargo", "info", "--quiet", f"arti@{version}"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return ""
    return _NOT_FOUND if _NOT_FOUND in answer.stderr else "cargo cannot reach its registry"


def build_arti(
    tor: TorSource, content: str, key: str, staging: Path, out: Path, jobs: int, failed: Path
) -> Path:
    """Build ``tor``, whose content and key are known, below ``out``; return the folder of the build.

    ``staging`` is a folder for what is only needed on the way, ``failed`` where the log goes if it fails.
    Raises the errors of :func:`require_arti`, ToolMissing without Rust, and TorsweepError when cargo fails.
    """
    require_arti(tor)
    path = None if is_version(tor.arti) else Path(str(tor.arti))
    facts: dict[str, Any] = {
        "source": f"arti {tor.arti}" if path is None else path.name,
        "configure": list(FEATURES),
    }
    if path is not None and path.is_file():
        facts |= {"source_sha256": content, "configure": []}
        return _keep(path, ask_arti_version(path), key, facts, out)
    words = ["arti", "--version", f"={tor.arti}"]
    facts |= {"rust": require_rust()}
    try:
        if path is None:
            facts |= {"source_crate": f"arti {tor.arti}"}
        else:
            commit = find_arti_commit(path, tor.revision)
            export(commit, staging / "source")
            facts |= {"source_commit": commit.commit, "source_tree": commit.tree}
            words = ["--path", str((staging / "source" / CARGO_MANIFEST).parent.resolve())]
        log, root, target = (staging.resolve() / name for name in ("build.log", "root", "target"))
        command = ["cargo", "install", *words, "--locked", *FEATURES, "--no-track", "--force"]
        command += ["--jobs", str(jobs), "--root", str(root), "--target-dir", str(target)]
        say("compiling Arti (12 minutes of processor time)")
        with log_kept(log, failed):
            run_step(command, staging, log, "cargo of Arti")
        made = root / "bin/arti"
        subprocess.run(["strip", str(made)], capture_output=True, check=False)
        return _keep(made, ask_arti_version(made), key, facts, out, log)
    finally:
        for name in ("source", "target", "root"):
            shutil.rmtree(staging / name, ignore_errors=True)
        (staging / "build.log").unlink(missing_ok=True)


def _keep(
    program: Path, version: str, key: str, facts: dict[str, Any], out: Path, log: Path | None = None
) -> Path:
    """Keep a copy of ``program`` with its provenance; the folder."""
    folder = out / f"{ARTI_PREFIX}{version}-{key}"
    with whole_directory(folder, TOR_BUILD_FOLDER) as place:
        (place / "bin").mkdir()
        shutil.copy2(program, place / "bin/arti")
        if log is not None:
            shutil.copyfile(log, place / log.name)
        verified_by = AS_IT_IS if log is None else "cargo, by the lock file"
        facts = {**facts, "version": f"{ARTI_PREFIX}{version}", "source_verified_by": verified_by}
        write_facts(place, facts)
    return folder
