"""The keys of authorities, and the lines that name them to every process.

In: the authorities' places, and the programs of a build. Out: an identity key, a signing key and a
certificate in each one's data directory, and the DirAuthority lines.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from torsweep.errors import OutputError, TorsweepError
from torsweep.loopback import addresses
from torsweep.loopback.layout import Layout, Place
from torsweep.tor.build import BuiltTor

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
    """Make the keys that sign votes; return the fingerprint of the identity key."""
    keys = place.data / "keys"
    keys.mkdir(mode=0o700)
    certificate = keys / "authority_certificate"
    command: list[str | Path] = [tor.gencert, "--create-identity-key", "-m", "12"]
    command += ["-a", f"{place.address}:{addresses.DIR_PORT}", "-i", keys / "authority_identity_key"]
    command += ["-s", keys / "authority_signing_key", "-c", certificate, "--passphrase-fd", "0"]
    # The passphrase protects a key that lives as long as the run does.
    said = _run(command, place, "loopback\n")
    found = re.search(r"^fingerprint ([0-9A-F]{40})$", certificate.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise TorsweepError(f"{place.name}: tor-gencert left no certificate; it said: {said.strip()}")
    return found[1]


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
