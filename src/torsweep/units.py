"""Quantities with units, as configuration files have them.

``100 ms``, ``5 MiB``, ``10 Mbit/s`` come in; integers in one base unit each come out: nanoseconds, bytes,
bytes per second. A bare number is refused, because a reader would have to guess its unit. At the end are the
bounds that keys of several files have in common.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

_QUANTITY = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-zµ/]+)\s*\Z")

NANOSECONDS_PER = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
SECOND_NS, SECOND_US = NANOSECONDS_PER["s"], 1_000_000
BYTES_PER = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
BYTES_PER_SECOND_PER = {
    **{f"{unit}/s": factor for unit, factor in BYTES_PER.items()},
    "bit/s": Fraction(1, 8),
    "kbit/s": 125,
    "Mbit/s": 125_000,
    "Gbit/s": 125_000_000,
}


def parse_quantity(value: object, unit_factors: dict, example: str) -> int:
    """The whole number of base units in a text; ValueError, naming the units accepted, for anything else."""
    accepted = f"a number and one of {', '.join(unit_factors)}, such as '{example}'"
    match = _QUANTITY.match(value) if isinstance(value, str) else None
    if match is None or match[2] not in unit_factors:
        raise ValueError(f"expected {accepted}")
    amount = Fraction(Decimal(match[1])) * Fraction(unit_factors[match[2]])
    if amount.denominator != 1:
        raise ValueError(f"is not a whole number of base units; expected {accepted}")
    return int(amount)


def is_duration(text: str) -> bool:
    """Whether ``text`` is a time span, such as ``100ms``."""
    try:
        parse_quantity(text, NANOSECONDS_PER, "100 ms")
    except ValueError:
        return False
    return True


def format_quantity(amount: int, unit_factors: dict) -> str:
    """The shortest text that :func:`parse_quantity` reads back as ``amount``."""
    texts = []
    for unit, factor in unit_factors.items():
        scaled = Fraction(amount) / Fraction(factor)
        if scaled.denominator == 1:
            texts.append(f"{scaled} {unit}")
    return min(texts, key=len)


def rounded_duration(seconds: float) -> str:
    """``seconds`` rounded for a reader: ``40 s``, ``3 min``, ``2 h 5 min``."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True)
class Between:
    """The range of a quantity, both ends accepted, in the words of the file: ``Between("1 s", "24 h")``.

    Stands after the type in an annotation; the JSON schema states the range as ``x-least`` and ``x-most``.
    """

    least: str
    most: str

    @property
    def bounds(self) -> tuple[int, int]:
        """Both ends in base units."""
        return parse_quantity(self.least, _ALL, self.least), parse_quantity(self.most, _ALL, self.most)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def _check(self, amount: int) -> int:
        least, most = self.bounds
        if not least <= amount <= most:
            raise ValueError(f"is out of range; expected {self.least} to {self.most}")
        return amount

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(core_schema), "x-least": self.least, "x-most": self.most}


def counted(number: int, noun: str) -> str:
    """``1 network``, ``3 networks``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


_ALL = {**NANOSECONDS_PER, **BYTES_PER, **BYTES_PER_SECOND_PER}
"""No unit stands for two quantities."""


def _quantity_type(unit_factors: dict, example: str) -> tuple:
    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            raise ValueError(f"has no unit; expected a text such as '{example}'")
        return parse_quantity(value, unit_factors, example)

    return (
        BeforeValidator(read),
        PlainSerializer(lambda amount: format_quantity(amount, unit_factors)),
        WithJsonSchema(
            {"type": "string", "pattern": _QUANTITY.pattern.replace(r"\Z", "$"), "examples": [example]}
        ),
    )


DurationNs = Annotated[int, *_quantity_type(NANOSECONDS_PER, "100 ms")]
"""A time span: text such as ``100 ms`` in a file, integer nanoseconds in the program."""

SizeBytes = Annotated[int, *_quantity_type(BYTES_PER, "5 MiB")]
"""An amount of data: text such as ``5 MiB`` in a file, integer bytes in the program."""

RateBytesPerSecond = Annotated[int, *_quantity_type(BYTES_PER_SECOND_PER, "10 Mbit/s")]
"""A data rate: text such as ``10 Mbit/s`` in a file, integer bytes per second in the program."""


MOST_RATE_BYTES_PER_S = 12_500_000_000
"""100 Gbit/s: faster than the link of any relay or household; a rate above it is in another unit."""

MOST_CONFIGURED_BYTES = 2**37
"""The most bytes of a relay's own rate or burst: tor states at most 2³¹ − 1
(``ROUTER_MAX_DECLARED_BANDWIDTH``)."""

MOST_LINK_BYTES_PER_S = 2**50
"""tornettools gives a server of clients that stand for 10,000 users each 10,000² times 10 Mbit/s."""

MOST_CONSENSUS_WEIGHT = 2**32 - 1
"""Weights of a consensus are whole numbers of 32 bits (dir-spec, "w" line)."""

MOST_RTT_US = 60_000_000
"""A minute: every transport has given up by then, so that more is a slip of the file or of its unit."""

MOST_NODES = 1_000_000
"""Twice the live network: 8,000 relays and some half a million clients that are active at once."""

MOST_NETWORK_BYTES = 2**28
"""network.json has about 140 bytes a host: 140 MB for as many hosts as there can be."""

MOST_PLACES = 20_000
"""The matrix of their round trips takes four bytes for each two: 1.6 GB at this size."""

LEAST_SCALE = 0.003
"""Of 7,000 relays some 20 are left at this scale: about as few as can have several in each position."""

MOST_LOSS_SHARE = 0.2
"""A path that loses more packets carries next to nothing: TCP takes each loss for congestion."""

LEAST_BUCKET_BYTES_PER_S = 20 * 1024
"""``ROUTER_REQUIRED_MIN_BANDWIDTH`` of tor 0.2.1, which a model can run."""

LEAST_TOR_RATE_BYTES_PER_S = 75 * 1024
"""The least rate of tor 0.4.9, which refuses a relay with a lower ``BandwidthRate``."""

HOUR_NS = 3_600 * 10**9
WEEK_NS = 7 * 24 * HOUR_NS
