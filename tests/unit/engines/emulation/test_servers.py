"""Servers answer with as many bytes as they are asked for, again and again."""

from __future__ import annotations

import asyncio

import pytest

from torsweep.engines.emulation.run.downloads import REQUEST_HEADER, answer, request


async def talk(*asked: tuple[int, int]) -> list[int]:
    """Send requests over one connection; the length of each answer."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    lengths = []
    for request_bytes, response_bytes in asked:
        writer.write(request(request_bytes, response_bytes))
        lengths.append(len(await reader.readexactly(response_bytes)))
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()
    server.close()
    return lengths


def test_answers_have_the_lengths_asked_for_and_nothing_follows():
    asked = [(REQUEST_HEADER.size, 1), (400, 200_001), (100_000, 65_536)]
    assert asyncio.run(talk(*asked)) == [1, 200_001, 65_536]


def test_a_request_has_the_length_it_says():
    assert len(request(400, 5)) == 400
    with pytest.raises(ValueError, match="16 bytes or more"):
        request(REQUEST_HEADER.size - 1, 5)
