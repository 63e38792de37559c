"""Debian's source of tor, fetched by apt with a state of its own.

In: a folder for the state and one for the source. Out: the release tarball, which apt has checked against the
archive's signed index. It needs neither root nor ``deb-src`` lines: the machine's source entries are copied
into the private state as entries of sources, and only the keys that apt trusts are shared.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from torsweep.errors import ToolMissing

RELEASE_SERIES = "0.4.9"
"""The release series that the patches are written for."""

OTHERWISE = f"name a tarball of tor {RELEASE_SERIES}: --source PATH, or --config tor_source=PATH"


def as_sources(text: str) -> str:
    """The text of a ``.list`` or ``.sources`` file with every archive as one of source packages."""
    text = re.sub(r"^[ \t]*deb(?:-src)?(?=\s)", "deb-src", text, flags=re.MULTILINE)
    return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE | re.IGNORECASE)


def fetch_source(state: Path, destination: Path) -> Path:
    """Fetch the newest source package of tor into ``destination``; return its release tarball.

    Raises ToolMissing when apt is missing or gives no source of tor, with apt's first complaint.
    """
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
