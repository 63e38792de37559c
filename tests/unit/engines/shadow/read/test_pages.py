"""The downloads of clients that download pages, as TGen's logs and graphs tell of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from torsweep.engines.draws import PAGE
from torsweep.engines.shadow.read.logs import Log
from torsweep.engines.shadow.read.streams import unfinished_downloads
from torsweep.engines.shadow.read.tgen import TgenLog, read_graphs
from torsweep.engines.shadow.traffic import graphml, is_end, number_of, user_of
from torsweep.errors import InputError

STEPS = {
    "start": {"recvsize": "10 bytes"},
    **{f"stream{page}-{which}": {"peers": "server1:80"} for page in (1, 2) for which in (1, 2, 3)},
    "pause1all": {},
    "pause1": {"time": "7 microseconds"},
}
EDGES = [
    ("start", "stream1-1"),
    ("stream1-1", "stream1-2"),
    ("stream1-1", "stream1-3"),
    ("stream1-2", "pause1all"),
    ("stream1-3", "pause1all"),
    ("pause1all", "pause1"),
    ("pause1", "stream2-1"),
]


def _unfinished(folder: Path, *reported: tuple[str, int, int]) -> list[tuple[str, int]]:
    file = folder / "tgen.graphml"
    file.write_text(graphml(STEPS, EDGES))
    columns = ["vertex", "created_us", "ended_us"]
    downloads = pl.DataFrame(list(reported), columns, orient="row").with_columns(
        log=pl.lit(0, pl.Int64), line=pl.lit(1, pl.Int64)
    )
    begun = pl.DataFrame({"log": [0], "time_us": [100]})
    tgen = TgenLog(downloads, begun, pl.DataFrame(), pl.DataFrame(), 1, 0, 0)
    found = unfinished_downloads([Log("web1", file)], tgen, read_graphs([Log("web1", file)]), 1_000)
    return found.select("vertex", "created_us").rows()


def test_the_next_page_begins_when_all_objects_have_ended(tmp_path: Path) -> None:
    first, second, third = ("stream1-1", 100, 200), ("stream1-2", 200, 250), ("stream1-3", 200, 300)
    assert _unfinished(tmp_path, first) == [("stream1-2", 200), ("stream1-3", 200)]
    assert _unfinished(tmp_path, first, third) == [("stream1-2", 200)]
    assert _unfinished(tmp_path, first, second, third) == [("stream2-1", 307)]


def test_a_page_that_none_came_before_is_a_lost_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lost a line"):
        _unfinished(tmp_path, ("stream1-1", 100, 200), ("stream1-2", 200, 250), ("stream2-1", 400, 500))


def test_the_number_of_an_object_tells_its_page() -> None:
    steps = pl.DataFrame({"client": ["web1"] * 2, "vertex": ["stream2-13", "stream7"], "stream": [5, 7]})
    assert steps.select(number_of("vertex", "stream")).to_series().to_list() == [2 * PAGE + 13, 7]


def test_pages_count_on_when_a_client_comes_round() -> None:
    visits = [f"stream{page}-{which}" for page in (1, 2, 1, 2, 1) for which in (1, 2)]
    steps = pl.DataFrame(
        {"client": ["web1"] * 10 + ["web2"], "vertex": [*visits, "stream1-1"], "stream": range(1, 12)}
    )
    numbers = steps.select(number_of("vertex", "stream")).to_series().to_list()
    assert numbers == [page * PAGE + which for page in range(1, 6) for which in (1, 2)] + [PAGE + 1]


def test_steps_of_clients_of_one_tor_tell_whose_they_are() -> None:
    steps = pl.DataFrame({"vertex": ["stream2-13@web7", "stream7", "pause2all@web7"]})
    steps = steps.with_columns(client=user_of("vertex", pl.lit("web1")), stream=pl.lit(5))
    assert steps["client"].to_list() == ["web7", "web1", "web7"]
    assert steps.select(number_of("vertex", "stream")).to_series().to_list() == [2 * PAGE + 13, 5, 5]
    assert steps.select(is_end("vertex")).to_series().to_list() == [False, False, True]
