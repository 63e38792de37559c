"""Debian's source package of tor, fetched by apt with a state of its own.

In: a folder for the state and one for the package. Out: the package's files, checked against the archive's
signed index. It needs no root: source entries are derived from the machine's, in either of apt's formats,
into the private state, and only the keys that apt trusts are shared. No archive's address stands here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from torsweep.errors import ToolMissing, TorsweepError

_ONE_LINE = re.compile(r"^\s*deb(?:-src)?\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<rest>\S.*)$")
_STANZA_FIELD = re.compile(r"^([^\s:]+):", re.MULTILINE)


def source_lines(text: str) -> str:
    """The one-line entries of a ``.list`` file as ``deb-src`` entries, each once; empty without any.

    Options stay, such as the key that signs the archive; ``arch`` goes, since source packages have none.
    """
    entries = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].rstrip())
        if match is None:
            continue
        options = [
            option
            for option in (match["options"] or "").split()
            if not re.match(r"arch[+-]?=", option, re.IGNORECASE)
        ]
        bracket = f"[{' '.join(options)}] " if options else ""
        entries.append(f"deb-src {bracket}{match['rest']}")
    return "".join(f"{entry}\n" for entry in dict.fromkeys(entries))


def source_stanzas(text: str) -> str:
    """The stanzas of a ``.sources`` file with ``Types: deb-src``; those switched off are left out."""
    stanzas = []
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", lines):
        fields = _fields(stanza)
        if "types" not in fields or _value(fields.get("enabled", "Enabled: yes")).lower() == "no":
            continue
        kept = [field for name, field in fields.items() if name not in ("types", "architectures", "enabled")]
        stanzas.append("\n".join(["Types: deb-src", *kept]) + "\n")
    return "\n".join(dict.fromkeys(stanzas))


def _fields(stanza: str) -> dict[str, str]:
    """The fields of a stanza by name in lower case, each with its name and its continuation lines."""
    bounds = [*(match.start() for match in _STANZA_FIELD.finditer(stanza)), len(stanza)]
    fields = [stanza[start:end].rstrip() for start, end in pairwise(bounds)]
    return {field.split(":", 1)[0].lower(): field for field in fields}


def _value(field: str) -> str:
    return field.split(":", 1)[1].strip()


RELEASE_SERIES = "0.4.9"
"""The release series that the patches are written for."""

OTHERWISE = (
    f"name the source of tor {RELEASE_SERIES}, a tarball or a folder:"
    " --source PATH, or --config tor_source=PATH"
)


@dataclass(frozen=True)
class PrivateApt:
    """An apt whose lists, cache and source entries are below ``state``."""

    state: Path

    def command(self, program: str, *arguments: str) -> list[str]:
        """The command line of ``program`` of apt on the private state."""
        state = self.state.resolve()
        options = {
            "Dir::State": state / "state",
            "Dir::State::Lists": state / "lists",
            "Dir::State::Status": state / "status",
            "Dir::Cache": state / "cache",
            "Dir::Etc::SourceList": state / "sources.list",
            "Dir::Etc::SourceParts": state / "sources.d",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
        }
        settings = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
        return [program, *settings, *arguments]

    def prepare(self) -> int:
        """Make the state, and derive its source entries from the machine's; return the number of files."""
        for folder in ("state", "lists/partial", "cache/archives/partial", "sources.d"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        (self.state / "status").touch()
        (self.state / "sources.list").write_text("")
        derived = 0
        for position, file in enumerate(_machine_lists()):
            text = file.read_text(encoding="utf-8", errors="replace")
            entries = source_stanzas(text) if file.suffix == ".sources" else source_lines(text)
            if entries:
                target = self.state / "sources.d" / f"{position:03}{file.suffix}"
                target.write_text(entries, encoding="utf-8")
                derived += 1
        return derived


def fetch_source_package(state: Path, destination: Path) -> Path:
    """Fetch the newest source package of tor 0.4.9 into ``destination``; return its .dsc.

    Raises ToolMissing when there is no apt, no source entry to derive, or nothing as new in the archive;
    TorsweepError when the download fails.
    """
    if shutil.which("apt-get") is None or shutil.which("apt-cache") is None:
        raise ToolMissing(f"apt-get: not on PATH, so Debian's source package cannot be had; {OTHERWISE}")
    apt = PrivateApt(state)
    if not apt.prepare():
        raise ToolMissing(f"apt has no archive in its source list; {OTHERWISE}")
    # If one archive has no source packages, another one may still have tor.
    updated = _run(apt.command("apt-get", "update", "-q"))
    listed = _run(apt.command("apt-cache", "showsrc", "--only-source", "tor"))
    version = newest_version(re.findall(r"^Version: (\S+)$", listed.stdout, re.MULTILINE))
    if version is None:
        held = sorted(set(re.findall(r"^Version: (\S+)$", listed.stdout, re.MULTILINE)))
        # Without a network, apt warns and ends well.
        unreached = not held and "W: Failed to fetch" in updated.stderr and "the archive cannot be reached"
        why = _last_error(updated.stderr) or unreached or f"the archive holds {', '.join(held) or 'no tor'}"
        raise ToolMissing(f"apt has no source package of tor {RELEASE_SERIES} ({why}); {OTHERWISE}")
    destination.mkdir(parents=True, exist_ok=True)
    fetched = _run(
        apt.command("apt-get", "source", "-q", "--download-only", f"tor={version}"), folder=destination
    )
    descriptions = sorted(destination.glob("tor_*.dsc"))
    if fetched.returncode or len(descriptions) != 1:
        why = _last_error(fetched.stderr) or "apt left no .dsc file"
        raise TorsweepError(f"the source package tor {version} could not be fetched: {why}; {OTHERWISE}")
    return descriptions[0]


def newest_version(versions: Iterable[str]) -> str | None:
    """The newest Debian version of the release series among ``versions``; None without any."""
    fitting = [
        version for version in versions if re.match(rf"(\d+:)?{re.escape(RELEASE_SERIES)}\.\d+-", version)
    ]
    return max(fitting, key=_version_order, default=None)


def _version_order(version: str) -> list[tuple[int, int, str]]:
    """Digits compare as numbers and the rest as text, ``~`` before the end of the text, as dpkg has it."""
    parts = [*re.findall(r"\d+|~|[^\d~]+", version), ""]
    return [(2, int(part), "") if part.isdigit() else (0 if part == "~" else 1, 0, part) for part in parts]


def _machine_lists() -> list[Path]:
    """The files that the machine's own source entries stand in."""
    answer = _run(
        ["apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
    )
    places = dict(re.findall(r"^(\w+)='(.*)'$", answer.stdout, re.MULTILINE))
    files = [Path(places["LIST"])] if "LIST" in places else []
    if "PARTS" in places:
        parts = Path(places["PARTS"])
        files += sorted(file for file in parts.glob("*") if file.suffix in (".list", ".sources"))
    return [file for file in files if file.is_file()]


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def _last_error(stderr: str) -> str:
    """The first complaint of apt that is an error, without its mark."""
    errors = [line[2:].strip() for line in stderr.splitlines() if line.startswith("E:")]
    return errors[0] if errors else ""
