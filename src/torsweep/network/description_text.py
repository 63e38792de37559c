"""A network's description as tables on the terminal.

In: a :class:`~torsweep.network.describe.Description`. Out: text on standard output; the warning, when
there is one, is its last line.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.describe import LEVELS, Description, Regime
from torsweep.ranges import LEAST_TOR_RATE_BYTES_PER_S

_MIB = 2**20


def print_description(description: Description, console: Console | None = None) -> None:
    """Print ``description`` to ``console``, standard output by default."""
    console = console or Console(highlight=False)
    console.print(", ".join(f"{count} {kind}" for kind, count in description.hosts.items()))
    console.print(_capacity_table(description))
    weights = "  ".join(f"{name} {description.bandwidth_weights[name]}" for name in WEIGHTS_OF_HOPS)
    console.print(f"bandwidth-weights (of 10000): {weights}", soft_wrap=True)
    console.print(_quantile_table(description))
    for line in _regime_lines(description.regime):
        console.print(line, soft_wrap=True)


def _capacity_table(description: Description) -> Table:
    table = Table("position", "relays", "link MiB/s", "usable MiB/s", "weight", title="Capacity")
    rows = description.positions
    for position, held in rows.items():
        table.add_row(
            position,
            str(held.relays),
            f"{held.capacity_bytes_per_s / _MIB:.2f}",
            f"{held.usable_bytes_per_s / _MIB:.2f}",
            f"{100 * held.weight_share:.1f} %",
        )
    table.add_section()
    table.add_row(
        "all",
        str(sum(held.relays for held in rows.values())),
        f"{sum(held.capacity_bytes_per_s for held in rows.values()) / _MIB:.2f}",
        f"{sum(held.usable_bytes_per_s for held in rows.values()) / _MIB:.2f}",
        "",
    )
    return table


def _quantile_table(description: Description) -> Table:
    table = Table("", *[f"p{100 * level:g}" for level in LEVELS], title="Quantiles")
    for name, values in description.quantiles.items():
        table.add_row(name, *[f"{value:.3g}" if value < 100 else f"{value:.0f}" for value in values])
    return table


def _filling(regime: Regime) -> str:
    if regime.crowded_download_s is None:
        share = regime.demand_unloaded_bytes_per_s / regime.third_of_capacity_bytes_per_s
        return f"web clients alone do not fill the network: they ask for at most {share:.2f} of its capacity"
    return (
        "web clients alone fill the network until their downloads take "
        f"{regime.crowded_download_s:.1f} s on average"
    )


def _regime_lines(regime: Regime) -> list[str]:
    third, ceiling, unloaded = (
        f"{rate / _MIB:.2f} MiB/s"
        for rate in (
            regime.third_of_capacity_bytes_per_s,
            regime.demand_ceiling_bytes_per_s,
            regime.demand_unloaded_bytes_per_s,
        )
    )
    full = regime.first_saturation_bytes_per_s
    lines = [
        f"capacity over 3 hops: {third}; web clients ask for at most {ceiling} "
        f"({regime.demand_ceiling_over_third:.2f} of it), {unloaded} when downloads take "
        f"{regime.unloaded_download_s:.1f} s as on an empty network",
        _filling(regime),
        f"the bucket binds for {100 * regime.bucket_bound_share:.0f} % of the capacity, the link for "
        f"the rest; {regime.relays_floored} relays were raised to {LEAST_TOR_RATE_BYTES_PER_S // 1024} KiB/s",
        "all bandwidth-weights are 0: no relay is chosen by consensus weight"
        if full is None
        else f"by consensus weight the first relay is full at {full / _MIB:.2f} MiB/s",
    ]
    return [*lines, f"warning: {regime.warning}"] if regime.warning else lines
