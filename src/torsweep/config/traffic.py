"""What clients do in an experiment: what they download, and how long they pause.

In: the ``traffic`` of an experiment.yaml. Out: :class:`Traffic`; and :data:`PERF_TRAFFIC`, that of the
clients which measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, StrictBool, model_validator

from torsweep.config.clients import ClientKind, PerfKind
from torsweep.config.reading import RefusedValue, Section, default_text
from torsweep.units import Between, DurationNs, SizeBytes

Timeout = Annotated[DurationNs, Between("100 ms", "24 h")]
Duration = Annotated[DurationNs, Between("0 s", "24 h")]


class Think(Section):
    """The pause between two downloads of a client: uniform from ``min`` to ``max``, nanoseconds."""

    min: Duration
    max: Duration

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise RefusedValue("the shortest pause is longer than the longest", key="min")
        return self

    @property
    def mean_s(self) -> float:
        """The mean pause, in seconds."""
        return (self.min + self.max) / 2e9


class ClientTraffic(Section):
    """What a client of one kind does, over and over: ask, download, pause.

    ``request`` and ``response`` are bytes of payload; ``timeout`` (nanoseconds from the opening of the
    SOCKS connection) gives a download up, none lets it go on; ``isolate_streams`` takes a new circuit
    for each download; ``parallel`` is how many downloads a client has under way at once.
    """

    request: Annotated[SizeBytes, Between("1 B", "1 MiB")] = default_text("400 B")
    response: Annotated[SizeBytes, Between("1 B", "8 GiB")]
    think: Think
    timeout: Timeout | None = None
    isolate_streams: StrictBool = False
    parallel: Annotated[int, Field(strict=True, ge=1, le=100)] = 1


class Traffic(Section):
    """What web and bulk clients do; a kind that is left out has no clients in the networks."""

    web: ClientTraffic | None = None
    bulk: ClientTraffic | None = None

    @model_validator(mode="after")
    def _somebody_downloads(self) -> Self:
        if self.web is None and self.bulk is None:
            raise RefusedValue("missing key", key="web", accepted="web, bulk")
        return self

    @property
    def kinds(self) -> Mapping[ClientKind, ClientTraffic]:
        """What each kind of client does that there is."""
        asked: dict[ClientKind, ClientTraffic | None] = {"web": self.web, "bulk": self.bulk}
        return {kind: traffic for kind, traffic in asked.items() if traffic is not None}


def _perf_traffic(response: str, timeout: str) -> ClientTraffic:
    return ClientTraffic.model_validate(
        {
            "request": "1000 B",
            "response": response,
            "think": {"min": "30 s", "max": "90 s"},
            "timeout": timeout,
        }
    )


PERF_TRAFFIC: Mapping[PerfKind, ClientTraffic] = {
    "perf_50kib": _perf_traffic("50 KiB", "15 s"),
    "perf_1mib": _perf_traffic("1 MiB", "60 s"),
    "perf_5mib": _perf_traffic("5 MiB", "120 s"),
}
"""What perf clients do: sizes and time limits are tornettools', which starts a download a minute."""
