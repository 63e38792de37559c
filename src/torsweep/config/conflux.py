"""Conflux (proposal 329): a client joins two circuits to an exit, and each cell takes the faster.

In: a circuits table. Out: the knob :data:`CONFLUX`, what clients' tors are asked for, and counts of legs;
``docs/decisions/0026-conflux.md`` has the measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torsweep.config.knob import AUTO, OTHER, THIRD, USUAL, Knob, TorOption, choice

if TYPE_CHECKING:
    import polars as pl

LEAST_RELAYS = 100
"""tor keeps guard and middle of one leg out of the other: in a network of 100 relays of 2024, two middles
drawn freely are the same in one of 20 cases (1 / the sum of squared shares is 20), in one of 14 relays in one
of four."""

WHEN_SMALL = "legs differ less than on the public network"
"""What fewer relays than :data:`LEAST_RELAYS` do."""

CIRCUIT_KEYWORDS = {"conflux_set": "CONFLUX_ID", "round_trip_us": "CONFLUX_RTT"}
"""Column of the circuits table → the keyword of circuit events that fills it."""

EVENTS = ("CIRC_MINOR", "CIRC_BW")
"""Events that clients' tors are asked for where Conflux is on."""

CONFLUX = Knob(
    "conflux",
    "Whether clients join two circuits to an exit, and each cell takes the faster (Conflux). auto: on "
    f"in networks of {LEAST_RELAYS} relays and more, unless clients have common paths or fixed "
    "windows. The model has none.",
    choice(auto=False, on=True, off=False),
    "conflux",
    {"2012": "off", "2019": "off", "today": AUTO},
    tor=(
        TorOption("ConfluxEnabled", lambda on: str(int(on)), without=False),
        TorOption("cfx_enabled", lambda on: str(int(on)), "consensus"),
    ),
    stated={"cfx_enabled": lambda on: AUTO if on else "off"},
    marks={AUTO: USUAL, "on": OTHER, "off": THIRD},
)


def circuit_events(tor: Any) -> tuple[str, ...]:
    """The events that clients' tors are asked for beyond the usual ones; ``tor`` are a run's settings."""
    return EVENTS if tor.conflux else ()


def counted_conflux(circuits: pl.DataFrame) -> dict[str, dict[str, int]]:
    """For provenance.json: sets of two legs or more that carried streams, their bytes, and the bytes on the
    leg with the least round trip and on the largest; empty without such sets."""
    import polars as pl

    legs = circuits.drop_nulls(["conflux_set", "bytes_read"])
    sets = legs.group_by("client", "conflux_set").agg(
        pl.len(),
        pl.col("streams", "bytes_read").sum(),
        faster=pl.col("bytes_read").sort_by("round_trip_us", nulls_last=True).first(),
        larger=pl.col("bytes_read").max(),
        timed=pl.col("round_trip_us").is_not_null().all(),
    )
    used = sets.filter(pl.col("len") > 1, pl.col("streams") > 0)
    if used.is_empty():
        return {}
    timed = used.filter("timed")
    counts = {
        "sets": used.height,
        "legs": int(used["len"].sum()),
        "bytes": int(used["bytes_read"].sum()),
        "bytes_on_the_larger_leg": int(used["larger"].sum()),
        "bytes_with_round_trips": int(timed["bytes_read"].sum()),
        "bytes_on_the_faster_leg": int(timed["faster"].sum()),
    }
    return {CONFLUX.name: counts}
