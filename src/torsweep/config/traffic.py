"""The kinds of client, and what each does in an experiment: what it downloads, and how long it pauses.

In: the ``traffic`` of an experiment.yaml, and the tables of quantiles that it names. Out: :class:`Traffic`;
and :data:`CLIENT_GROUPS`, which says of each kind of client what differs from others. Nothing else lists
them, but for the keys of configurations: :class:`Traffic` here and ``NAME_clients`` of
:class:`~torsweep.config.network.NetworkConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Discriminator, Field, StrictBool, Tag, model_validator

from torsweep.config.reading import RefusedValue, Section, default_text, validate
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import find
from torsweep.units import Between, DurationNs, SizeBytes

QUANTILES_DIRECTORY = Path("configs/quantiles")
"""A study may have this folder beside the checkout's: see :mod:`torsweep.home`."""

MILLION = 1_000_000

MOST_OBJECTS = 10_000
"""The most objects of a page."""

Points = tuple[tuple[int, int], ...]
"""Shares in millionths, from 0 to a million, and the value (bytes, nanoseconds) that each lies below."""

_Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def check_points(points: Points) -> None:
    """ValueError unless shares rise from 0 to 1 and no value is less than the one before."""
    rising = all(before[0] < after[0] and before[1] <= after[1] for before, after in pairwise(points))
    if len(points) < 2 or points[0][0] != 0 or points[-1][0] != MILLION or not rising:
        raise ValueError("shares that rise from 0 to 1, with values that never fall")


def mean(points: Points) -> int:
    """The mean of draws from ``points``, rounded down."""
    doubled = sum((after[0] - before[0]) * (before[1] + after[1]) for before, after in pairwise(points))
    return doubled // (2 * MILLION)


class _Table(Section):
    """A file of quantiles: where they are from, and rows of a share and a value."""

    source: Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
    """Where the table is from."""


_Size = Annotated[SizeBytes, Between("1 B", "8 GiB")]


class _Sizes(_Table):
    """Rows such as ``[0.5, 20 KB]``."""

    quantiles: tuple[tuple[_Share, _Size], ...]
    """Rows such as ``[0.5, 20 KB]``: half of the sizes are below 20 KB. Shares rise from 0 to 1; between rows
    values are spread evenly."""


class _Pauses(_Table):
    """Rows such as ``[0.5, 3 s]``."""

    quantiles: tuple[tuple[_Share, Annotated[DurationNs, Between("0 s", "24 h")]], ...]
    """Rows such as ``[0.5, 3 s]``."""


class _Counts(_Table):
    """Rows such as ``[0.5, 76]``."""

    quantiles: tuple[tuple[_Share, Annotated[int, Field(strict=True, ge=1, le=MOST_OBJECTS)]], ...]
    """Rows such as ``[0.5, 76]``."""


_Kind = type[_Sizes] | type[_Pauses] | type[_Counts]


def _read_points(name: str, kind: _Kind) -> Points:
    """The points of the table called ``name``; InputError when there is no such table of this ``kind``."""
    file = find(QUANTILES_DIRECTORY / f"{name}.yaml")
    rows = validate(kind, read_yaml(file), file).quantiles
    points = tuple((round(share * MILLION), value) for share, value in rows)
    try:
        check_points(points)
    except ValueError as error:
        raise InputError(
            "is no table of quantiles", file=file, key="quantiles", accepted=str(error)
        ) from None
    return points


class _Drawn(Section):
    """Drawn from the table ``configs/quantiles/NAME.yaml``, NAME being ``quantiles``."""

    quantiles: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
    """The table ``configs/quantiles/NAME.yaml``, without its suffix."""

    table: ClassVar[_Kind]

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        _ = self.points
        return self

    @cached_property
    def points(self) -> Points:
        """The quantiles of the table, in the unit of its values: bytes, nanoseconds, or a number."""
        return _read_points(self.quantiles, self.table)


class DrawnSize(_Drawn):
    """Sizes that are drawn from a table."""

    table = _Sizes


class DrawnCount(_Drawn):
    """Numbers of objects that are drawn from a table."""

    table = _Counts


class DrawnPause(_Drawn):
    """Pauses that are drawn from a table."""

    table = _Pauses

    @property
    def min(self) -> int:
        """The shortest pause, in nanoseconds."""
        return self.points[0][1]

    @property
    def max(self) -> int:
        """The longest pause, in nanoseconds."""
        return self.points[-1][1]

    @property
    def mean_s(self) -> float:
        """The mean pause, in seconds."""
        return mean(self.points) / 1e9


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
"""The clients that stand for Tor's users, in the order in which tables and figures show them."""

PERF_KINDS: tuple[PerfKind, ...] = get_args(PerfKind)

MEASURED_KINDS: tuple[MeasuredKind, ...] = (*KINDS, *PERF_KINDS)

DownloadGroup = Literal["web", "onion", "small", "middle", "large", "everyone"]
"""Downloads that a comparison judges together: by what clients wait for, and those of all clients."""

GROUPS: Mapping[DownloadGroup, tuple[MeasuredKind, ...]] = {
    "web": ("web",),
    "onion": ("onion",),
    "small": ("perf_50kib",),
    "middle": ("perf_1mib",),
    "large": ("bulk", "perf_5mib"),
    "everyone": MEASURED_KINDS,
}
"""The kinds of client that are in each: bulk clients and those that measure fetch 5 MiB alike."""

ONION: ClientKind = "onion"
ONION_SUFFIX = ".onion"
"""How addresses of onion services end."""

PERF, MARKOV = get_args(GivenKind)

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


class Sites(Section):
    """Pages with names: each page of a client is one of them, drawn anew."""

    sites: Annotated[
        Mapping[
            Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", max_length=64)],
            Annotated[tuple[_Size, ...], Field(min_length=1, max_length=MOST_OBJECTS)],
        ],
        Field(min_length=1, max_length=10_000),
    ]
    """The sizes of the objects of each site, in order, by its name: `{news: [20 KB, 3 KB, 5 KB]}`."""


def _tag(value: object) -> str:
    """Whether sizes or pauses are given, or drawn from a table or among sites."""
    if isinstance(value, Sites) or (isinstance(value, Mapping) and "sites" in value):
        return "<sites>"
    drawn = isinstance(value, DrawnSize | DrawnPause) or (isinstance(value, Mapping) and "quantiles" in value)
    return "<drawn>" if drawn else "<given>"


_Response = Annotated[
    Annotated[_Size, Tag("<given>")]
    | Annotated[DrawnSize, Tag("<drawn>")]
    | Annotated[Sites, Tag("<sites>")],
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
    """Payload of a download, or of an object of a page; or ``{quantiles: NAME}`` draws it from a table; or
    ``{sites: {NAME: [SIZE, …]}}``: clients download pages, each with the objects of a site."""
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
        if self.has_pages and self.isolate_streams:
            raise RefusedValue("the objects of a page share a circuit", key="isolate_streams", value=True)
        if self.page is not None and isinstance(self.response, Sites):
            raise RefusedValue("sites say how many objects a page has", key="page", accepted="one of the two")
        return self

    @property
    def has_pages(self) -> bool:
        """Whether clients download pages."""
        return self.page is not None or isinstance(self.response, Sites)

    @property
    def mean_objects(self) -> float:
        """The mean number of objects between two pauses."""
        if isinstance(self.response, Sites):
            return fmean(map(len, self.response.sites.values()))
        return 1 if self.page is None else mean(self.page.points)

    @property
    def mean_size(self) -> int:
        """The mean size of a download, or of an object of a page, in bytes."""
        if isinstance(self.response, Sites):
            return round(fmean(size for sizes in self.response.sites.values() for size in sizes))
        return self.response if isinstance(self.response, int) else mean(self.response.points)

    @property
    def mean_response(self) -> int:
        """The mean bytes that a client gets between two pauses, as a download or a page."""
        return round(self.mean_size * self.mean_objects)


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
        """The traffic of each kind of client of this experiment."""
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


@dataclass(frozen=True)
class ClientGroup:
    """Clients that a network's configuration counts together, as ``NAME_clients``.

    ``kinds`` are their kinds, which they take in turn, with what figures call the downloads of each.
    Without ``does``, they stand for Tor's users: the experiment's traffic says what they do, ``load`` and
    ``scale`` change how many they are, and they have links and last miles of users. With ``does`` they only
    measure, and each kind does that in every experiment; they are placed like servers, with links of
    servers. Where countries are configured, each of them has a server of its own beside it. ``shares_tor``:
    several use one tor where ``clients_per_tor`` says so.
    """

    name: str
    kinds: Mapping[AnyKind, str]
    does: Mapping[PerfKind, ClientTraffic] = field(default_factory=dict)
    shares_tor: bool = False

    def traffic(self, traffic: Traffic) -> Mapping[AnyKind, ClientTraffic]:
        """The traffic of each kind of this group in an experiment with ``traffic``."""
        every: dict[AnyKind, ClientTraffic] = {kind: does for kind, does in traffic.kinds.items()}
        every.update(self.does.items())
        return {kind: does for kind, does in every.items() if kind in self.kinds}


CLIENT_GROUPS: Mapping[str, ClientGroup] = {
    group.name: group
    for group in (
        ClientGroup("web", {"web": "web"}, shares_tor=True),
        ClientGroup("bulk", {"bulk": "bulk"}, shares_tor=True),
        ClientGroup(ONION, {ONION: "onion"}),
        ClientGroup(
            PERF,
            {"perf_50kib": "50 KiB", "perf_1mib": "1 MiB", "perf_5mib": "5 MiB"},
            {
                "perf_50kib": _perf_traffic("50 KiB", "15 s"),
                "perf_1mib": _perf_traffic("1 MiB", "60 s"),
                "perf_5mib": _perf_traffic("5 MiB", "120 s"),
            },
        ),
    )
}
"""Every group of clients by its name, in the order of network.json, tables and figures.

Perf clients do what OnionPerf's do: each download takes a new circuit, and circuits begin anywhere
(UseEntryGuards 0, MaxCircuitDirtiness 10 s). Sizes and time limits are tornettools', which starts a download
a minute."""

MEASURING_TRAFFIC: Mapping[PerfKind, ClientTraffic] = {
    kind: does for group in CLIENT_GROUPS.values() for kind, does in group.does.items()
}
"""What the clients do that only measure."""

KIND_NAMES: Mapping[str, str] = {
    kind: name for group in CLIENT_GROUPS.values() for kind, name in group.kinds.items()
}
"""What figures call downloads of each kind of client, in the order in which they show them."""

USUAL_GROUPS = ("web", "bulk")
"""The groups that a network is described by even where it has none of them."""
