"""Access links of clients.

In: a table of client bandwidths (:class:`ClientBandwidth`), a seed. Out: down and up rates of any
number of clients; the first n of a larger network are those of a smaller one.

The table has two parts. *Between regions*: quantiles of the mean download rate over regions,
weighted by their users, and for each tenth of that distribution the quantiles of the mean upload
rate. *Within a region*: households differ log-normally around their region's mean, with
``spread_sigma`` (standard deviation of the logarithm) and ``spread_correlation`` between the two
directions; this part is an assumption, and the table says so.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field

from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.json_file import read_document
from torsweep.network.exact import Floats, conditional_quantile, lognormal_table, quantile, whole
from torsweep.ranges import MOST_RATE_BYTES_PER_S
from torsweep.seeds import stream
from torsweep.storage import write_text

BANDWIDTH_FILE = "bandwidth.json"
BANDWIDTH_FORMAT = "torsweep-client-bandwidth"

LEAST_CLIENT_BYTES_PER_S = 8_000
"""64 kbit/s, an ISDN channel: below it the log-normal spread would invent links nobody sold."""

_MOST_POINTS = 100_000
_DEFAULT_SIGMA = 0.6
_DEFAULT_CORRELATION = 0.8


@dataclass(frozen=True)
class ClientBandwidth:
    """Rates in bytes/s: ``down`` quantiles (points,), ``up_given_down`` (strata of down, points)."""

    down: Floats
    up_given_down: Floats
    origin: dict[str, Any]
    spread_sigma: float = _DEFAULT_SIGMA
    spread_correlation: float = _DEFAULT_CORRELATION


def sample_client_rates(
    table: ClientBandwidth, count: int, seed: int, kind: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Down and up rates, each (count,) in bytes/s, of the clients of ``kind``."""
    draws = stream(seed, "clients", kind, "bandwidth").random((count, 4))
    stratum = np.floor(draws[:, 0] * len(table.up_given_down)).astype(np.int64)
    down = quantile(table.down, draws[:, 0])
    up = conditional_quantile(table.up_given_down, stratum, draws[:, 1])
    down_factor, up_factor = _spread(table, draws[:, 2], draws[:, 3])
    return _rate(down * down_factor), _rate(up * up_factor)


def _rate(bytes_per_s: Floats) -> NDArray[np.int64]:
    return np.maximum(whole(bytes_per_s), LEAST_CLIENT_BYTES_PER_S)


def _spread(table: ClientBandwidth, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Log-normal factors of mean 1 for down and up.

    exp(σ(ρa + √(1−ρ²)b)) of two normal draws a, b is a product of two log-normal draws, so that the
    factor for up needs no exponential of its own.
    """
    sigma, correlation = table.spread_sigma, table.spread_correlation
    mean_one = math.exp(-(sigma**2) / 2)
    down = quantile(lognormal_table(mean_one, sigma), first)
    shared = quantile(lognormal_table(mean_one, sigma * correlation), first)
    rest = quantile(lognormal_table(1.0, sigma * math.sqrt(1 - correlation**2)), second)
    return down, np.multiply(shared, rest)


def write_bandwidth(table: ClientBandwidth, path: Path) -> None:
    """Write ``table`` to ``path``; rates are rounded to bytes per second."""
    document = {
        "format": BANDWIDTH_FORMAT,
        "format_version": 1,
        "origin": table.origin,
        "spread_sigma": table.spread_sigma,
        "spread_correlation": table.spread_correlation,
        "down_bytes_per_s": [int(rate) for rate in whole(table.down)],
        "up_bytes_per_s_given_down": [[int(rate) for rate in whole(row)] for row in table.up_given_down],
    }
    lines = [
        f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in document.items()
    ]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _ascending(rates: list[float]) -> list[float]:
    if sorted(rates) != rates:
        raise ValueError("expected quantiles: rates in ascending order")
    return rates


_Quantiles = Annotated[
    list[Annotated[float, Field(strict=True, ge=1, le=MOST_RATE_BYTES_PER_S)]],
    Field(min_length=2, max_length=_MOST_POINTS),
    AfterValidator(_ascending),
]


class _BandwidthTable(BaseModel):
    """What :func:`write_bandwidth` writes."""

    down_bytes_per_s: _Quantiles
    up_bytes_per_s_given_down: Annotated[list[_Quantiles], Field(min_length=1, max_length=_MOST_POINTS)]
    spread_sigma: Annotated[float, Field(strict=True, ge=0, le=3)] = _DEFAULT_SIGMA
    spread_correlation: Annotated[float, Field(strict=True, ge=0, le=1)] = _DEFAULT_CORRELATION
    origin: dict[str, Any] = {}


def read_bandwidth(path: Path) -> ClientBandwidth:
    """The table in ``path``. Raises InputError when rates are missing, not positive or not ascending."""
    table = validate(_BandwidthTable, read_document(path, BANDWIDTH_FORMAT), path)
    down, up = table.down_bytes_per_s, table.up_bytes_per_s_given_down
    if len({len(row) for row in up}) > 1:
        key, accepted = "up_bytes_per_s_given_down", "as many in each row"
        raise InputError("is not a table of numbers", file=path, key=key, accepted=accepted)
    return ClientBandwidth(
        np.array(down), np.array(up), table.origin, table.spread_sigma, table.spread_correlation
    )
