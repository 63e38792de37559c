"""The kinds of client, and what each does in an experiment: what it downloads, and how long it pauses.

In: the ``traffic`` of an experiment.yaml. Out: :class:`Traffic`; and :data:`PERF_TRAFFIC`, that of the
clients which only measure: those of OnionPerf, as tornettools has them in its networks. Each downloads one
of three sizes about once a minute, and gives it up after a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Discriminator, Field, StrictBool, Tag, model_validator

from torsweep.config.quantiles import DrawnCount, DrawnPause, DrawnSize, mean
from torsweep.config.reading import RefusedValue, Section, default_text
from torsweep.units import Between, DurationNs, SizeBytes

ClientKind = Literal["web", "bulk", "onion"]
"""The clients whose times are summarised, drawn and judged."""

PerfKind = Literal["perf_50kib", "perf_1mib", "perf_5mib"]
"""Clients that measure, by what they download."""

GivenKind = Literal["perf", "markov"]
"""Clients of a network that tornettools made: those that measure, whose downloads have the kinds of their
sizes, or the kind of onion services; and those that make the load."""

MeasuredKind = Literal[ClientKind, PerfKind]
"""The clients that measures and claims are about."""

AnyKind = Literal[MeasuredKind, GivenKind]

KINDS: tuple[ClientKind, ...] = get_args(ClientKind)
"""All kinds of client, in the order in which tables and figures show them."""

USUAL_KINDS: tuple[ClientKind, ...] = ("web", "bulk")
"""The kinds that a network is described by even where it has none of them."""

PERF_KINDS: tuple[PerfKind, ...] = get_args(PerfKind)

MEASURED_KINDS: tuple[MeasuredKind, ...] = (*KINDS, *PERF_KINDS)

ONION: ClientKind = "onion"
ONION_SUFFIX = ".onion"
"""How addresses of onion services end."""

PERF, MARKOV = get_args(GivenKind)

CLIENT_GROUPS: Mapping[str, tuple[AnyKind, ...]] = {**{kind: (kind,) for kind in KINDS}, PERF: PERF_KINDS}
"""The kinds of the clients that a network's configuration counts as one (``web_clients``)."""

KIND_NAMES: Mapping[str, str] = {
    "web": "web",
    "bulk": "bulk",
    "onion": "onion",
    "perf_50kib": "50 KiB",
    "perf_1mib": "1 MiB",
    "perf_5mib": "5 MiB",
}
"""What figures call downloads of each kind of client, in the order in which they show them."""


Timeout = Annotated[DurationNs, Between("100 ms", "24 h")]
Duration = Annotated[DurationNs, Between("0 s", "24 h")]


class Think(Section):
    """The pause between two downloads of a client, uniform from ``min`` to ``max``."""

    min: Duration
    """The shortest pause."""
    max: Duration
    """The longest."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise RefusedValue("the shortest pause is longer than the longest", key="min")
        return self

    @property
    def mean_s(self) -> float:
        """The mean pause, in seconds."""
        return (self.min + self.max) / 2e9


def _tag(value: object) -> str:
    """Whether sizes or pauses are given, or drawn from a table."""
    drawn = isinstance(value, DrawnSize | DrawnPause) or (isinstance(value, Mapping) and "quantiles" in value)
    return "<drawn>" if drawn else "<given>"


_Response = Annotated[
    Annotated[SizeBytes, Between("1 B", "8 GiB"), Tag("<given>")] | Annotated[DrawnSize, Tag("<drawn>")],
    Discriminator(_tag),
]
_Think = Annotated[
    Annotated[Think, Tag("<given>")] | Annotated[DrawnPause, Tag("<drawn>")], Discriminator(_tag)
]


class ClientTraffic(Section):
    """What a client of one kind does, over and over: ask, download, pause."""

    request: Annotated[SizeBytes, Between("1 B", "1 MiB")] = default_text("400 B")
    """Payload of the request."""
    response: _Response
    """Payload of a download, or of an object of a page; or ``{quantiles: NAME}`` draws it from a table."""
    think: _Think
    """The pause after a download or a page; or ``{quantiles: NAME}`` draws it from a table."""
    timeout: Timeout | None = None
    """Time from the opening of the SOCKS connection after which a download is given up; default: never."""
    isolate_streams: StrictBool = False
    """Whether each download takes a new circuit."""
    parallel: Annotated[int, Field(strict=True, ge=1, le=100)] = 1
    """How many downloads a client has under way at once."""
    keeps_guards: StrictBool = True
    """Whether circuits begin at guards that a client keeps, or each at another (UseEntryGuards)."""
    page: DrawnCount | None = None
    """``{quantiles: NAME}``: clients download pages, with a number of objects from this table. When the first
    object has ended, the others follow, ``parallel`` at once."""

    @model_validator(mode="after")
    def _a_page_has_one_circuit(self) -> Self:
        if self.page is not None and self.isolate_streams:
            raise RefusedValue("the objects of a page share a circuit", key="isolate_streams", value=True)
        return self

    @property
    def mean_size(self) -> int:
        """The mean size of a download, or of an object of a page, in bytes."""
        return self.response if isinstance(self.response, int) else mean(self.response.points)

    @property
    def mean_response(self) -> int:
        """What a client gets between two pauses, a download or a page: the mean, in bytes."""
        return self.mean_size * (1 if self.page is None else mean(self.page.points))


class Traffic(Section):
    """What clients of each kind do; a kind that is left out has no clients in the networks."""

    web: ClientTraffic | None = None
    """Web clients; without this key, networks have none."""
    bulk: ClientTraffic | None = None
    """Bulk clients; without this key, networks have none."""
    onion: ClientTraffic | None = None
    """Clients of onion services; without this key, networks have none."""

    @property
    def kinds(self) -> Mapping[ClientKind, ClientTraffic]:
        """What each kind of client does that there is."""
        by_kind: dict[ClientKind, ClientTraffic | None] = {kind: getattr(self, kind) for kind in KINDS}
        return {kind: traffic for kind, traffic in by_kind.items() if traffic is not None}


def _perf_traffic(response: str, timeout: str) -> ClientTraffic:
    return ClientTraffic.model_validate(
        {
            "request": "1000 B",
            "response": response,
            "think": {"min": "30 s", "max": "90 s"},
            "timeout": timeout,
            "isolate_streams": True,
            "keeps_guards": False,
        }
    )


PERF_TRAFFIC: Mapping[PerfKind, ClientTraffic] = {
    "perf_50kib": _perf_traffic("50 KiB", "15 s"),
    "perf_1mib": _perf_traffic("1 MiB", "60 s"),
    "perf_5mib": _perf_traffic("5 MiB", "120 s"),
}
"""What perf clients do: as OnionPerf's, each download takes a new circuit, and circuits begin anywhere
(UseEntryGuards 0, MaxCircuitDirtiness 10 s). Sizes and time limits are tornettools', which starts a
download a minute."""
