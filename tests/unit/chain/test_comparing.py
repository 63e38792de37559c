"""What samples come to: costs by round, differences within rounds, the text."""

from __future__ import annotations

import polars as pl
import pytest

from torsweep.chain.command import as_markdown, clock_costs, compare, per_round, table
from torsweep.chain.turns import QUANTUM_RATE, clocks_plan, quantum_plan, tracing_plan

MEASURED = {
    "clocks": [
        {
            "name": name,
            "costs": [{"way": way, "least_ns": ns, "median_ns": 3 * ns} for way, ns in costs.items()],
        }
        for name, costs in (
            ("CLOCK_MONOTONIC", {"library": 20.0, "system_call": 200.0}),
            ("CLOCK_MONOTONIC_COARSE", {"library": 5.0, "system_call": 150.0}),
        )
    ]
}
COSTS = clock_costs(MEASURED)
BASE_CPU_S, WRITTEN, COARSE, PRECISE = 0.01, 1_000_000, 9_000, 1_000
DOCUMENT = {
    "tor": {"version": "0.4.9.11", "series_sha256": "a" * 64},
    "rounds": 4,
    "lengths": {"small_s": 1.0, "load_s": 3.0},
    "cores_taken_beside": 0.01,
    "machine": {"cpu": "A processor"},
    "started": 0,
}


def samples(plan, cpu_s, rounds: int = 4, small_us=lambda variant, number: 900.0) -> pl.DataFrame:
    """Two turns a round; ``cpu_s(variant, round)`` is what a relay uses in one of them."""
    rows = []
    for chain in plan.chains(rounds):
        for turn in (1, 2):
            for position, relay in zip(("guard", "middle", "exit"), chain.relays, strict=True):
                rows.append(
                    {
                        "round": chain.number,
                        "turn": turn,
                        "variant": chain.variant.name,
                        "position": position,
                        "relay": relay,
                        "span_s": 3.0,
                        "cpu_s": cpu_s(chain.variant.name, chain.number),
                        "bytes_read": round(3.0 * QUANTUM_RATE * 0.9),
                        "bytes_written": WRITTEN,
                        "readings_precise": PRECISE,
                        "readings_coarse": COARSE,
                        "small_requests": 100,
                        "small_us": small_us(chain.variant.name, chain.number),
                    }
                )
    return pl.from_dicts(rows)


def row_of(rows, variant: str, position: str = "middle") -> dict:
    (found,) = (row for row in rows if row["variant"] == variant and row["position"] == position)
    return found


def test_a_chain_is_its_relays_over_what_the_middle_wrote():
    rounds = per_round(samples(tracing_plan(), lambda variant, number: BASE_CPU_S))
    middle, chain = (
        rounds.filter(pl.col("position") == position, pl.col("round") == 1, pl.col("variant") == "every_cell")
        for position in ("middle", "chain")
    )
    assert middle["cpu_s_per_gb"].item() == pytest.approx(10.0)
    assert chain["cpu_s_per_gb"].item() == pytest.approx(30.0)
    assert chain["bytes_written"].item() == 2 * WRITTEN


def test_a_slower_clock_is_found_with_what_a_reading_costs():
    plan = clocks_plan(25)
    slow_s = (PRECISE + COARSE) * 25 * 200e-9

    def cpu_s(variant: str, number: int) -> float:
        return BASE_CPU_S * number + (slow_s if variant == "as_slow_as_the_report" else 0.0)

    rows = compare(plan, samples(plan, cpu_s), COSTS)
    slow, coarse = row_of(rows, "as_slow_as_the_report"), row_of(rows, "coarse")
    assert coarse["bench_ns_per_coarse_reading"] == 5.0
    assert slow["bench_ns_per_coarse_reading"] == slow["bench_ns_per_precise_reading"] == 5_000.0
    assert row_of(rows, "coarse_by_system_call")["bench_ns_per_coarse_reading"] == 150.0
    assert slow["million_readings_per_gb"] == 10.0
    # Rounds differ by up to four times; the difference within each is the same.
    assert slow["added_ns_per_reading"] == pytest.approx(5_000.0)
    assert slow["added_ns_per_reading_low"] == pytest.approx(5_000.0)
    assert "added_ns_per_reading" not in coarse
    shares = [slow_s / (BASE_CPU_S * number + slow_s) for number in (1, 2, 3, 4)]
    assert slow["share_in_readings"] == pytest.approx(sum(shares) / 4, rel=1e-4)
    assert {row["position"] for row in rows} == {"middle"}


def test_differences_are_of_the_same_round():
    plan = tracing_plan()
    rows = compare(
        plan,
        samples(
            plan,
            lambda variant, number: (
                number * (1.1 + 0.001 * (-1) ** number if variant == "every_cell" else 1.0) * BASE_CPU_S
            ),
        ),
        COSTS,
    )
    on = row_of(rows, "every_cell", "chain")
    assert on["cpu_s_per_gb_relative"] == pytest.approx(0.1, abs=1e-4)
    assert 0.1 < on["cpu_s_per_gb_relative_high"] < 0.103
    assert on["cpu_s_per_gb_high"] > 2 * on["cpu_s_per_gb_low"]
    assert "cpu_s_per_gb_relative" not in row_of(rows, "off", "chain")


def test_what_a_bucket_read_is_told_of_its_rate():
    plan = quantum_plan()
    rows = compare(plan, samples(plan, lambda variant, number: BASE_CPU_S), COSTS)
    assert {row["read_of_rate"] for row in rows} == {0.9}


def test_one_round_has_no_intervals():
    plan = tracing_plan()
    rows = compare(plan, samples(plan, lambda variant, number: BASE_CPU_S, rounds=1), COSTS)
    assert row_of(rows, "every_cell")["cpu_s_per_gb_relative_low"] is None
    assert "not known from one round" in as_markdown(plan, rows, DOCUMENT)


@pytest.mark.parametrize(
    ("factor", "spread", "verdict"),
    [(1.005, 0.001, "holds"), (1.2, 0.001, "fails"), (1.02, 0.1, "inconclusive")],
)
def test_tracing_is_judged_by_its_interval(factor, spread, verdict):
    plan = tracing_plan()

    def cpu_s(variant: str, number: int) -> float:
        return BASE_CPU_S * (factor + spread * (-1) ** number if variant == "every_cell" else 1.0)

    text = as_markdown(plan, compare(plan, samples(plan, cpu_s), COSTS), DOCUMENT)
    assert f"Recording every cell costs at most 2% of CPU: {verdict}." in text


def test_a_busy_machine_is_told_of():
    plan = tracing_plan()
    rows = compare(plan, samples(plan, lambda variant, number: BASE_CPU_S), COSTS)
    assert "measure again" not in as_markdown(plan, rows, DOCUMENT)
    assert "measure again" in as_markdown(plan, rows, {**DOCUMENT, "cores_taken_beside": 1.2})


def test_rows_stand_in_columns():
    assert table([{"a": 1}, {"b": 2.5}]) == "| a | b |\n| --- | --- |\n| 1 |  |\n|  | 2.5 |\n"
