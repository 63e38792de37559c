"""The keys of relays and authorities, made once for each name and kept beside the build of tor.

In: the places of a network, the programs of a build. Out: each place's keys in its data directory, and
:class:`~torsweep.engines.emulation.directory.layout.Identities`. Networks share keys by the names of their
hosts: they never meet, and nobody outside has a use for them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from torsweep.engines import addresses
from torsweep.engines.emulation.directory.layout import Identities, Layout, Place
from torsweep.errors import OutputError, TorsweepError
from torsweep.folder_lock import folder_claimed
from torsweep.storage import whole_directory
from torsweep.storage.folders import KEY_FOLDERS
from torsweep.tor.build import BuiltTor

KEPT_S = 300 * 86_400
"""Certificates are made for twelve months."""


def put_keys(layout: Layout, tor: BuiltTor, say: Callable[[str], None]) -> Identities:
    """Put the keys of every relay and authority into its data directory.

    Raises TorsweepError, with what the program said, when a key cannot be made, OutputError when the disk
    is full.
    """
    relays, votes = {}, {}
    with folder_claimed(tor.folder / "keys", KEY_FOLDERS, wait=True):
        for place in [*layout.authorities, *layout.relays]:
            kept = _kept(place, tor, say)
            shutil.copytree(kept / "keys", place.data / "keys")
            (place.data / "keys").chmod(0o700)
            relays[place.name] = (kept / "fingerprint").read_text(encoding="utf-8").split()[1]
            if place.role == "authority":
                text = (kept / "keys" / "authority_certificate").read_text(encoding="utf-8")
                votes[place.name] = re.findall(r"^fingerprint ([0-9A-F]{40})$", text, re.MULTILINE)[0]
    return Identities(relays, votes)


def _kept(place: Place, tor: BuiltTor, say: Callable[[str], None]) -> Path:
    """The folder of keys for a host of this name; made where there is none."""
    kept = tor.folder / "keys" / place.name
    if kept.is_dir() and time.time() - kept.stat().st_mtime < KEPT_S:
        return kept
    say(f"making the keys of {place.name}")
    with whole_directory(kept, KEY_FOLDERS) as folder:
        (folder / "keys").mkdir(mode=0o700)
        if place.role == "authority":
            _certify(place, tor, folder / "keys")
        torrc = folder / "torrc"
        torrc.write_text(_key_torrc(place, folder), encoding="utf-8")
        command: list[str | Path] = [tor.program, "-f", torrc, "--defaults-torrc", folder / "none"]
        said = _run([*command, "--ignore-missing-torrc", "--list-fingerprint", "--hush"], place)
        if not (folder / "fingerprint").is_file():
            raise TorsweepError(f"{place.name}: tor left no fingerprint; it said: {said.strip()}")
    return kept


def _certify(place: Place, tor: BuiltTor, keys: Path) -> None:
    certificate = keys / "authority_certificate"
    command: list[str | Path] = [tor.gencert, "--create-identity-key", "-m", "12"]
    command += ["-i", keys / "authority_identity_key", "-s", keys / "authority_signing_key"]
    command += ["-c", certificate, "--passphrase-fd", "0"]
    said = _run(command, place, "emulation\n")
    if not re.search(r"^fingerprint [0-9A-F]{40}$", certificate.read_text("utf-8"), re.MULTILINE):
        raise TorsweepError(f"{place.name}: tor-gencert left no certificate; it said: {said.strip()}")


def _key_torrc(place: Place, folder: Path) -> str:
    lines = [
        f"DataDirectory {folder}",
        f"Nickname {place.name}",
        f"Address {place.address}",
        f"ORPort {addresses.OR_PORT}",
        "SocksPort 0",
        f"GeoIPFile {folder}/geoip",
        f"GeoIPv6File {folder}/geoip",
    ]
    return "\n".join([*lines, ""])


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
