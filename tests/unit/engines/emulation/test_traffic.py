"""Clients download in order, one after the other or side by side, and tell what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.small_network import small_network
from tests.unit.engines.emulation.conftest import POSITIONS, network, run_spec, traffic
from torsweep.engines.draws import PAGE, pause_ns, response_bytes, server_index
from torsweep.engines.emulation.downloads import (
    PROGRESS_STEP_NS,
    REQUEST_HEADER,
    Download,
    DownloadOrder,
    SocksError,
    answer,
    connect,
    request,
)
from torsweep.engines.emulation.measuring import Generator
from torsweep.engines.emulation.process_layout import ProcessLayout

SECOND_NS = 10**9
PAUSED = {"think_min_ns": 30 * SECOND_NS, "think_max_ns": 30 * SECOND_NS}
LONG_PAUSES = dict.fromkeys(PAUSED, 86_400 * SECOND_NS)


class FakeFollower:
    """What tells of streams; here the proxy below does, in place of a tor."""

    def __init__(self) -> None:
        self.circuit_of: dict[int, int] = {}
        self.error_of: dict[int, str] = {}
        self.opened: list[int] = []
        self.received: dict[tuple[int, str], int] = {}
        self.on_new = lambda number: None


class FakeTor:
    """A SOCKS proxy that answers requests itself; ``answered`` limits the bytes, ``refusing`` refuses."""

    def __init__(
        self, follower: FakeFollower, *, refusing: bool = False, answered: int | None = None
    ) -> None:
        self.follower, self.refusing, self.answered = follower, refusing, answered

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._speak(reader, writer)
        writer.close()

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        assert 2 in await reader.readexactly(methods), "no login offered"
        writer.write(b"\x05\x02")
        _, length = await reader.readexactly(2)
        number = int(await reader.readexactly(length))
        (length,) = await reader.readexactly(1)
        await reader.readexactly(length)
        writer.write(b"\x01\x00")
        await reader.readexactly(10)
        if self.refusing:
            self.follower.error_of[number] = "stream failed: TIMEOUT"
            writer.write(b"\x05\x06\x00\x01" + bytes(6))
            return
        self.follower.opened.append(number)
        self.follower.circuit_of[number] = 1
        self.follower.on_new(number)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        asked, wanted = struct.unpack(">QQ", await reader.readexactly(16))
        await reader.readexactly(asked - 16)
        writer.write(bytes(wanted if self.answered is None else self.answered))
        await writer.drain()
        if self.answered is not None and self.answered < wanted:
            if self.answered:
                return
            await asyncio.sleep(60)


def play(
    sockets: Path,
    follower: FakeFollower,
    duration_ns: int = 20 * SECOND_NS,
    *,
    deaf: bool = False,
    **kind: object,
):
    """Run a client against a fake tor; returns a function from the tor's behaviour to the downloads."""

    async def run(**behaviour: object) -> list[Download]:
        asked = run_spec(duration_ns=duration_ns, traffic={"bulk": traffic(**kind)})
        layout = ProcessLayout(asked, network(*POSITIONS), Path("/nowhere"), sockets)
        path = sockets / ("absent" if deaf else "bulk1.s")
        server = await asyncio.start_unix_server(FakeTor(follower, **behaviour).serve, path)
        generator = Generator(layout, {"bulk1": follower}, time.monotonic_ns(), progress=True)
        await generator.run()
        follower.received = generator.received
        server.close()
        return generator.downloads

    return lambda **behaviour: asyncio.run(run(**behaviour))


def test_parallel_downloads_are_opened_in_order_and_the_run_ends_with_them(tmp_path):
    follower, started = FakeFollower(), time.monotonic()
    downloads = play(tmp_path, follower, 60 * SECOND_NS, parallel_streams=9, **LONG_PAUSES)()
    assert time.monotonic() - started < 50, "waited for pauses that end after the run"
    assert follower.opened == list(range(1, 10))
    assert [download.number for download in downloads] == list(range(1, 10))
    for download in downloads:
        assert (download.outcome, download.got, download.circuit) == ("complete", 50_000, 1)
        assert download.socks_reply_ns is not None
        assert download.start_ns < download.socks_reply_ns <= download.first_byte_ns <= download.last_byte_ns
        assert download.progress[-1] == (download.last_byte_ns, 50_000)


def test_a_page_is_its_first_object_then_chains_of_the_others(tmp_path):
    page = {"page_objects": ((0, 6), (1_000_000, 6)), "parallel_streams": 2, **LONG_PAUSES}
    downloads = play(tmp_path, FakeFollower(), 60 * SECOND_NS, **page)()
    by_number = {download.number - PAGE: download for download in downloads}
    assert sorted(by_number) == [1, 2, 3, 4, 5, 6]
    assert {download.outcome for download in downloads} == {"complete"}
    for which in (2, 3):
        assert by_number[which].start_ns >= by_number[1].last_byte_ns
        assert by_number[which + 2].start_ns >= by_number[which].last_byte_ns


def test_downloads_follow_each_other_until_the_end(tmp_path):
    follower = FakeFollower()
    downloads = play(tmp_path, follower, SECOND_NS)()
    complete = [download for download in downloads if download.outcome == "complete"]
    assert len(complete) > 3
    assert len(downloads) - len(complete) <= 1
    # The run takes a second; what tor had sent by then may be read a moment later.
    assert sum(follower.received.values()) == sum(download.got for download in downloads)
    assert follower.received[0, "bulk"] > 0.5 * sum(follower.received.values())
    for before, after in pairwise(complete):
        assert after.start_ns >= before.last_byte_ns


def test_what_the_end_cuts_off_is_unfinished(tmp_path):
    (download,) = play(tmp_path, FakeFollower(), SECOND_NS)(answered=0)
    assert (download.outcome, download.error, download.got) == ("unfinished", None, 0)
    assert download.end_ns - download.start_ns <= SECOND_NS


@pytest.mark.parametrize(
    ("client", "tor", "outcome", "got", "error"),
    [
        ({"deaf": True}, {}, "failed", 0, "No such file"),
        ({}, {"refusing": True}, "failed", 0, "stream failed: TIMEOUT"),
        ({}, {"answered": 700}, "failed", 700, "the stream was closed before its end"),
        ({"timeout_ns": SECOND_NS // 4}, {"answered": 0}, "timeout", 0, "time limit"),
    ],
)
def test_what_went_wrong_is_an_outcome_with_its_reason(tmp_path, client, tor, outcome, got, error):
    (download,) = play(tmp_path, FakeFollower(), **client, **PAUSED)(**tor)
    assert (download.outcome, download.got) == (outcome, got)
    assert error in download.error
    assert (download.socks_reply_ns is None) == ("answered" not in tor)


def test_points_of_progress_keep_their_distance():
    made = network(*POSITIONS)
    download = Download(made.clients[0], 0, 1, 1, made.servers[0], 10_000, 0)
    for step in range(100):
        download.take_in(100, step * PROGRESS_STEP_NS // 10, progress=True)
    moments = [moment for moment, _ in download.progress]
    assert moments[0] == download.first_byte_ns == 0
    # 50 and 80 of the hundred pieces had come.
    assert download.half_ns == 49 * PROGRESS_STEP_NS // 10
    assert download.most_ns == 79 * PROGRESS_STEP_NS // 10
    assert moments[-1] == download.last_byte_ns == download.latest_byte_ns == 99 * PROGRESS_STEP_NS // 10
    assert download.progress[-1][1] == 10_000
    assert all(later - sooner >= PROGRESS_STEP_NS for sooner, later in pairwise(moments[:-1]))


def test_pauses_and_servers_are_drawn_as_in_the_other_engines():
    made = small_network(POSITIONS, ["web1", "bulk1"], servers=7)
    think = {"think_min_ns": SECOND_NS, "think_max_ns": 30 * SECOND_NS, "think_step_ns": SECOND_NS}
    bulk = traffic(**think, response_quantiles=((0, 1_000), (1_000_000, 9_000)))
    kinds = {"web": traffic(**think), "bulk": bulk}
    order = DownloadOrder(run_spec(seed=11, traffic=kinds), made)
    for number in range(1, 20):
        download = order.open_next(1)
        assert download.number == number
        assert download.server == made.servers[server_index(11, 1, number, 7)]
        assert download.size == response_bytes(bulk, 11, 1, number)
        assert order.pause_ns(1, number) == pause_ns(bulk, 11, 1, number)


def test_downloads_of_clients_of_one_tor_are_told_apart():
    shared = small_network(POSITIONS, ["bulk1", "bulk2"], shared=True)
    order = DownloadOrder(run_spec(), shared)
    opened = [order.open_next(index) for index in (0, 1, 0, 1)]
    assert [download.number for download in opened] == [1, 1, 2, 2]
    assert len({download.tag for download in opened}) == 4
    alone = DownloadOrder(run_spec(), network(*POSITIONS)).open_next(0)
    assert alone.tag == alone.number


async def talk(*asked: tuple[int, int]) -> list[int]:
    """Send requests over one connection; the length of each answer."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    lengths = []
    for request_bytes, answer_bytes in asked:
        writer.write(request(request_bytes, answer_bytes))
        lengths.append(len(await reader.readexactly(answer_bytes)))
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


WELCOME = [b"\x05\x02", b"\x01\x00"]


def socks_talk(
    tmp_path: Path, *answers: bytes, after: bytes = b"", address: str = "11.0.1.2"
) -> tuple[bytes, bytes]:
    """Connect to a port that gives ``answers``; what it heard, and the first bytes of the stream."""
    heard = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal heard
        for each in answers:
            heard += await reader.read(1000)
            writer.write(each)
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
    heard, data = socks_talk(tmp_path, *WELCOME, b"\x05\x00\x00" + bound, after=b"payload")
    assert heard == b"\x05\x01\x02" + b"\x01\x0217\x08torsweep" + b"\x05\x01\x00\x01\x0b\x00\x01\x02\x00\x50"
    assert data == b"payload"


def test_an_onion_service_goes_by_its_name(tmp_path):
    reply = b"\x05\x00\x00\x01" + bytes(6)
    heard, _ = socks_talk(tmp_path, *WELCOME, reply, address="abc.onion")
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
        socks_talk(tmp_path, *answers)


def test_a_tor_that_hangs_up_is_a_broken_connection(tmp_path):
    with pytest.raises(ConnectionError, match="tor closed the connection"):
        socks_talk(tmp_path, *WELCOME, b"\x05")
