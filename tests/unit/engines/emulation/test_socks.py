"""What is said to tor's SOCKS port, and what its answers mean."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from torsweep.engines.emulation.downloads import SocksError, connect

WELCOME = [b"\x05\x02", b"\x01\x00"]


def talk(
    tmp_path: Path, *answers: bytes, after: bytes = b"", address: str = "11.0.1.2"
) -> tuple[bytes, bytes]:
    """Connect to a port that gives ``answers``; what it heard, and the first bytes of the stream."""
    heard = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal heard
        for answer in answers:
            heard += await reader.read(1000)
            writer.write(answer)
        writer.write(after)
        writer.close()

    async def run() -> tuple[bytes, bytes]:
        server = await asyncio.start_unix_server(serve, tmp_path / "socks")
        connection = await connect(tmp_path / "socks", address, 80, "17")
        data = await asyncio.get_running_loop().sock_recv(connection, 100)
        connection.close()
        server.close()
        return heard, data

    return asyncio.run(run())


@pytest.mark.parametrize("bound", [b"\x01" + bytes(6), b"\x04" + bytes(18)])
def test_a_stream_has_its_name_and_its_bytes_begin_after_the_reply(tmp_path, bound):
    heard, data = talk(tmp_path, *WELCOME, b"\x05\x00\x00" + bound, after=b"payload")
    assert heard == b"\x05\x01\x02" + b"\x01\x0217\x08torsweep" + b"\x05\x01\x00\x01\x0b\x00\x01\x02\x00\x50"
    assert data == b"payload"


def test_an_onion_service_goes_by_its_name(tmp_path):
    reply = b"\x05\x00\x00\x01" + bytes(6)
    heard, _ = talk(tmp_path, *WELCOME, reply, address="abc.onion")
    assert heard.endswith(b"\x05\x01\x00\x03\x09abc.onion\x00\x50")


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([b"\x05\xff"], "no authentication by name"),
        ([b"\x05\x02", b"\x01\x01"], "name and password refused"),
        ([*WELCOME, b"\x05\x06\x00\x01"], "TTL expired"),
        ([*WELCOME, b"\x05\x63\x00\x01"], "reply 99"),
    ],
)
def test_a_refusal_says_why(tmp_path, answers, problem):
    with pytest.raises(SocksError, match=f"^{problem}$"):
        talk(tmp_path, *answers)


def test_a_tor_that_hangs_up_is_a_broken_connection(tmp_path):
    with pytest.raises(ConnectionError, match="tor closed the connection"):
        talk(tmp_path, *WELCOME, b"\x05")
