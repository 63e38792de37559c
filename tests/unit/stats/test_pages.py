"""Pages of several objects as downloads."""

from __future__ import annotations

import polars as pl
import pytest

from torsweep.engines.draws import PAGE
from torsweep.engines.table_schema import STREAMS
from torsweep.stats.streams.incidence import STREAM_COLUMNS, with_pages


def _streams(*rows: tuple[int, int, int, int | None, str]) -> pl.DataFrame:
    """Rows of number, start, first byte, last byte (after the start) and outcome, of one client."""
    made = [
        {
            "client": "web1",
            "kind": "web",
            "stream": stream,
            "start_us": start,
            "command_us": 1,
            "observed_us": 90 if last is None else last,
            "outcome": outcome,
            "first_byte_us": first,
            "last_byte_us": last,
            "first_byte_after_command_us": first - 1,
            "last_byte_after_command_us": None if last is None else last - 1,
        }
        for stream, start, first, last, outcome in rows
    ]
    return pl.DataFrame(made, {name: STREAMS.polars[name] for name in STREAM_COLUMNS})


def test_a_page_begins_with_its_first_object_and_ends_with_the_one_that_comes_last() -> None:
    objects = _streams(
        (PAGE + 1, 100, 10, 20, "complete"),
        (PAGE + 3, 120, 5, 30, "complete"),
        (PAGE + 2, 120, 5, 500, "complete"),
    )
    page = with_pages(objects, []).row(0, named=True)
    assert (page["start_us"], page["first_byte_us"], page["last_byte_us"]) == (100, 10, 520)
    assert (page["outcome"], page["observed_us"], page["stream"]) == ("complete", 520, 1)
    assert (page["first_byte_after_command_us"], page["last_byte_after_command_us"]) == (9, 519)


@pytest.mark.parametrize("word", ["failed", "timeout", "unfinished"])
def test_a_page_is_as_whole_as_its_worst_object(word: str) -> None:
    objects = _streams((PAGE + 1, 100, 10, 20, "complete"), (PAGE + 2, 120, 5, None, word))
    page = with_pages(objects, []).row(0, named=True)
    assert (page["outcome"], page["last_byte_us"], page["observed_us"]) == (word, None, 110)


def test_a_page_that_began_in_the_warm_up_is_left_out_and_other_downloads_stay() -> None:
    streams = _streams((1, 100, 10, 20, "complete"), (2 * PAGE + 5, 120, 5, 30, "complete"))
    assert with_pages(streams, [])["stream"].to_list() == [1]
    downloads = streams.head(1)
    assert with_pages(downloads, []).equals(downloads)
