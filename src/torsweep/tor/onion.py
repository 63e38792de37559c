"""The keys of the onion services (version 3) of a private network.

In: the seed of a network, the name of a server. Out: :class:`OnionKeys`, its address and the files of its
``HiddenServiceDir``: the same for a network in every run, so that the same relays keep its descriptors.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from stem.util.ed25519 import publickey_unsafe

from torsweep.config.traffic import ONION_SUFFIX
from torsweep.seeds import stream

ONION_FOLDER = "onion"
"""The ``HiddenServiceDir`` of a server, in the folder of its tor."""

_VERSION = b"\x03"
_HEADER = b"== ed25519v1-%b: type0 =="
_HEADER_BYTES = 32


@dataclass(frozen=True)
class OnionKeys:
    """The address of an onion service, and the contents of its files by name."""

    address: str
    files: dict[str, bytes]

    def write(self, folder: Path) -> None:
        """Make ``folder``, as tor expects it."""
        folder.mkdir(mode=0o700)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


@lru_cache
def onion_keys(seed: int, server: str) -> OnionKeys:
    """The keys of the onion service of ``server`` in the network of ``seed``.

    Formats are those of tor's rend-spec-v3, section 6 (the address), and crypto_ed25519.c (the files). stem
    computes the public key without care for who watches: these keys protect nothing.
    """
    secret = stream(seed, "onion", server).bytes(32)
    public = publickey_unsafe(secret)
    # RFC 8032, section 5.1.5: bits of the hashed secret are cleared and set before it is used.
    expanded = bytearray(hashlib.sha512(secret).digest())
    expanded[0] &= 248
    expanded[31] = expanded[31] & 63 | 64
    checksum = hashlib.sha3_256(b".onion checksum" + public + _VERSION).digest()[:2]
    address = base64.b32encode(public + checksum + _VERSION).decode().lower() + ONION_SUFFIX
    files = {
        "hs_ed25519_secret_key": _file(b"secret", bytes(expanded)),
        "hs_ed25519_public_key": _file(b"public", public),
        "hostname": f"{address}\n".encode(),
    }
    return OnionKeys(address, files)


def _file(kind: bytes, key: bytes) -> bytes:
    return (_HEADER % kind).ljust(_HEADER_BYTES, b"\0") + key
