"""The keys of authorities, and the lines that name them to every process.

In: the authorities' places, and the programs of a build. Out: an identity key, a signing key and a
certificate in each one's data directory, the same for every network, and the DirAuthority lines.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from torsweep.engines.loopback import addresses
from torsweep.engines.loopback.layout import Layout, Place
from torsweep.errors import OutputError, TorsweepError
from torsweep.folder_lock import folder_claimed
from torsweep.storage import whole_directory
from torsweep.tor.build import BuiltTor

KEPT_S = 300 * 86_400
"""Certificates are made for twelve months."""

_NOBODY = f"DirAuthority nobody orport=1 v3ident={'F' * 40} 127.0.0.1:2 {'F' * 40}"
"""Stands in until the fingerprints are known: a testing network must name some authority."""


def authority_lines(layout: Layout, tor: BuiltTor) -> str:
    """The DirAuthority lines of the network, once the authorities' keys are made.

    Raises TorsweepError, with what the program said, when a key cannot be made.
    """
    lines = []
    for place in layout.authorities:
        identity = _certificate(place, tor)
        place.torrc.write_text(layout.torrc(place, _NOBODY), encoding="utf-8")
        said = _run([tor.program, "-f", place.torrc, "--list-fingerprint", "--hush"], place)
        found = re.findall(rf"^{re.escape(place.name)} ([0-9A-F ]+)$", said, re.MULTILINE)
        if not found:
            raise TorsweepError(f"{place.name}: tor named no fingerprint; it said: {said.strip()}")
        lines.append(
            f"DirAuthority {place.name} orport={addresses.OR_PORT} v3ident={identity}"
            f" {place.address}:{addresses.DIR_PORT} {found[-1].replace(' ', '')}"
        )
    return "\n".join(lines)


def _certificate(place: Place, tor: BuiltTor) -> str:
    """Put the keys that sign votes into ``place``; return the fingerprint of the identity key."""
    kept = _kept_keys(place, tor)
    shutil.copytree(kept, place.data / "keys")
    (place.data / "keys").chmod(0o700)
    text = (kept / "authority_certificate").read_text(encoding="utf-8")
    return re.findall(r"^fingerprint ([0-9A-F]{40})$", text, re.MULTILINE)[0]


def _kept_keys(place: Place, tor: BuiltTor) -> Path:
    """The folder of keys for an authority of this name, beside the build; made where there is none.

    Making them takes seconds. Networks that share them never meet, and nobody outside has a use for them.
    """
    kept = tor.folder / "authority-keys" / place.name
    with folder_claimed(kept.parent, wait=True):
        if kept.is_dir() and time.time() - kept.stat().st_mtime < KEPT_S:
            return kept
        with whole_directory(kept) as keys:
            certificate = keys / "authority_certificate"
            command: list[str | Path] = [tor.gencert, "--create-identity-key", "-m", "12"]
            command += ["-i", keys / "authority_identity_key", "-s", keys / "authority_signing_key"]
            command += ["-c", certificate, "--passphrase-fd", "0"]
            said = _run(command, place, "loopback\n")
            if not re.search(r"^fingerprint [0-9A-F]{40}$", certificate.read_text("utf-8"), re.MULTILINE):
                raise TorsweepError(f"{place.name}: tor-gencert left no certificate; it said: {said.strip()}")
    return kept


def _run(command: Sequence[str | Path], place: Place, text: str = "") -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise TorsweepError(f"{command[0]}: cannot be run: {error.strerror}") from None
    said = done.stdout + done.stderr
    if "No space left on device" in said:
        raise OutputError(f"{place.folder}: cannot be written: no space left on device")
    if done.returncode != 0:
        last = [line for line in said.splitlines() if line.strip()][-1:] or ["nothing"]
        raise TorsweepError(f"{place.name}: {Path(command[0]).name} failed and said: {last[0]}")
    return said
