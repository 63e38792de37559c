"""The keys of onion services: in tor's formats, each server's own, the same for a network everywhere."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from stem.util.ed25519 import decodepoint, encodepoint, scalarmult_B

from torsweep.engines.host_files import onion_keys


def test_the_files_hold_a_pair_of_keys_and_the_address_its_public_one(tmp_path: Path) -> None:
    keys = onion_keys(1, "server1")
    keys.write(tmp_path / "onion")
    assert (tmp_path / "onion").stat().st_mode & 0o777 == 0o700
    secret, public = (
        (tmp_path / "onion" / f"hs_ed25519_{half}_key").read_bytes() for half in ("secret", "public")
    )
    assert secret.startswith(b"== ed25519v1-secret: type0 ==\0\0\0") and len(secret) == 96
    assert public.startswith(b"== ed25519v1-public: type0 ==\0\0\0") and len(public) == 64
    # The first half of the expanded secret is the scalar, in bytes from the least.
    assert encodepoint(scalarmult_B(int.from_bytes(secret[32:64], "little"))) == public[32:]
    decodepoint(public[32:])
    decoded = base64.b32decode(keys.address.removesuffix(".onion").upper())
    checksum = hashlib.sha3_256(b".onion checksum" + public[32:] + b"\x03").digest()[:2]
    assert decoded == public[32:] + checksum + b"\x03"
    assert (tmp_path / "onion" / "hostname").read_text() == f"{keys.address}\n"


def test_seed_and_server_alone_decide_the_address() -> None:
    addresses = [onion_keys(seed, server).address for seed in (1, 2) for server in ("server1", "server2")]
    assert addresses[0] == "2t7xq666c7qofot4lkxjricyafit75t3gfubvbq7gkyywaxhlsqohpad.onion"
    assert len(set(addresses)) == 4
