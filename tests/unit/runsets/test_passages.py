"""Passages of cells: their stages add up, and what has none is counted by its reason."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from torsweep.engines.table_schema import CELLS, PASSAGES
from torsweep.runsets.passages import PassageCounts, passages

STAGES = ["relaying_ns", "waiting_ns", "writing_ns"]


def record(cell: int, point: str, time_ns: int, **changes: object) -> dict[str, object]:
    channel, outward = (1 if point in ("inbuf", "recognized") else 2), None if point == "inbuf" else True
    usual = {"host": "relay1", "channel": channel, "circuit": 7, "command": 3, "outward": outward}
    about = {"cell": cell, "point": point, "time_ns": time_ns}
    return {**dict.fromkeys(CELLS.polars), **usual, **about, **changes}


def table(*records: dict[str, object]) -> pl.LazyFrame:
    return pl.DataFrame(records, schema=CELLS.polars, orient="row").lazy()


def test_a_cell_that_was_sent_on_has_three_stages() -> None:
    outward = [("inbuf", 100), ("queue", 130), ("outbuf", 1130), ("flush", 1200)]
    frame, counts = passages(
        table(*(record(5, point, at, queue_cells=4 if point == "queue" else None) for point, at in outward))
    )
    assert frame.schema == PASSAGES.polars
    assert frame.row(0, named=True) == {
        "host": "relay1",
        "start_ns": 100,
        "outward": True,
        "command": 3,
        "circuit": (1 << 32) + 7,
        "queue_cells": 4,
        "relaying_ns": 30,
        "waiting_ns": 1000,
        "writing_ns": 70,
    }
    assert counts == {"relay1": PassageCounts(1, 0, 0, 0, 0)}


def test_the_circuit_is_that_of_the_clients_side_in_either_direction() -> None:
    came = record(1, "inbuf", 0, circuit=9)
    left = (record(1, point, at, outward=False) for at, point in enumerate(("queue", "outbuf", "flush"), 1))
    frame, _ = passages(table(came, *left))
    assert frame["circuit"].to_list() == [(2 << 32) + 7]


def test_a_cell_without_passage_is_counted_by_its_reason() -> None:
    ended = [record(1, "inbuf", 1), record(1, "recognized", 2, relay_command=2)]
    begun = [record(2, "queue", 3, relay_command=5), record(2, "outbuf", 4), record(2, "flush", 5)]
    under_way = [record(3, "inbuf", 6), record(3, "queue", 7)]
    lost = [record(4, "outbuf", 8), record(4, "flush", 9)]
    created = [record(5, "inbuf", 10, command=10)]
    frame, counts = passages(table(*ended, *begun, *under_way, *lost, *created))
    assert frame.is_empty()
    assert counts["relay1"] == PassageCounts(passages=0, ended=1, begun=1, under_way=1, lost=1)


def test_what_a_model_passes_on_as_one_cell_has_no_passage_where_tor_makes_two() -> None:
    extend = [
        record(1, "inbuf", 1, command=9),
        *(record(1, p, 2, command=10) for p in ("queue", "outbuf", "flush")),
    ]
    created = [record(2, "inbuf", 3, command=11), *(record(2, p, 4) for p in ("queue", "outbuf", "flush"))]
    frame, counts = passages(table(*extend, *created))
    assert frame.is_empty()
    assert counts["relay1"] == PassageCounts(passages=0, ended=1, begun=1, under_way=0, lost=0)


def test_no_cells_have_no_passages() -> None:
    frame, counts = passages(table())
    assert frame.is_empty() and frame.schema == PASSAGES.polars and counts == {}


steps = st.lists(st.tuples(*[st.integers(0, 10**9)] * 4), min_size=1, max_size=30)


@settings(max_examples=30)
@given(steps, st.integers(1, 10**12), st.randoms(use_true_random=False))
def test_stages_add_up_to_the_whole_whatever_the_order_of_records(given_steps, first, shuffled) -> None:
    records, whole = [], {}
    for cell, (start, *stages) in enumerate(given_steps, first):
        at = start
        for point, stage in zip(("inbuf", "queue", "outbuf", "flush"), (0, *stages), strict=True):
            at += stage
            records.append(record(cell, point, at))
        whole[start] = whole.get(start, 0) + at - start
    shuffled.shuffle(records)
    frame, counts = passages(table(*records))
    assert counts["relay1"].passages == len(given_steps)
    sums = frame.group_by("start_ns").agg(pl.sum_horizontal(pl.col(STAGES).sum()).alias("whole"))
    assert dict(sums.iter_rows()) == whole
