"""The configuration of a network: how many hosts of each kind, and what they are sampled from.

In: ``configs/networks/NAME.yaml``, or a file of the user's own, and overrides. Out: a
:class:`NetworkConfig` with integers in base units, which the sampler turns into a network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from torsweep.config.option_bundle import Position
from torsweep.config.reading import (
    RefusedValue,
    Section,
    apply_overrides,
    default_text,
    left_out,
    suggestion,
    validate,
)
from torsweep.config.traffic import CLIENT_GROUPS, ClientGroup
from torsweep.config.world_knobs import USUAL_LATENCY
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import find, find_all
from torsweep.units import (
    BYTES_PER_SECOND_PER,
    LEAST_BUCKET_BYTES_PER_S,
    LEAST_SCALE,
    MOST_LOSS_SHARE,
    MOST_NODES,
    Between,
    DurationNs,
    RateBytesPerSecond,
    format_quantity,
)

NETWORKS_DIRECTORY = Path("configs/networks")
"""A study may have this folder beside the checkout's: see :mod:`torsweep.home`."""

CHAIN_POSITIONS: tuple[Position, ...] = ("guard", "middle", "exit")
"""The relays of a path, in order."""

LEAST_GUARDS = 2
"""With one guard only, a client whose circuit ends at that guard would have no other guard to use."""


def _text_of_number(value: object) -> object:
    """YAML reads an unquoted ``2012`` as a number; as the name of a table it is a text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


TableName = Annotated[
    str, BeforeValidator(_text_of_number), Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)
]
"""The name of a derived table or model under ``topologies/``; the sampler knows which there are."""


NetworkName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", max_length=64)]
"""The name of a file in :data:`NETWORKS_DIRECTORY`, without its suffix; it is part of paths."""


LinkRate = Annotated[RateBytesPerSecond, Between("64 kbit/s", "100 Gbit/s")]
"""The range of a link's rate: from an ISDN channel to more than the link of any relay or household."""

BucketRate = Annotated[RateBytesPerSecond, Between("20 KiB/s", "100 Gbit/s")]
"""The range of a relay's rate: it begins at the least rate that tor accepted in 2010."""


def _count(least: int, most: int) -> Any:
    return Field(strict=True, ge=least, le=most)


class InputSource(Section):
    """Where one input of the sampler comes from: a derived table by ``name``, or an imported ``file``."""

    name: TableName | None = None
    """A derived table that ships below ``topologies/``; the bare name alone means the same."""
    file: Path | None = None
    """A file that ``torsweep`` imported; a path from the directory in which torsweep is started."""

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: object) -> object:
        value = _text_of_number(value)
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.name is None) == (self.file is None):
            raise ValueError("expected either the name of a derived table or {file: PATH}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        section = handler.resolve_ref_schema(handler(core_schema))
        return {"anyOf": [{"type": "string"}, {"type": "integer"}, section]}


class PopulationSource(InputSource):
    """A derived population by ``name``, or an imported one in ``file``."""

    use: Literal["sample", "whole"] = left_out("sample")
    """``sample`` draws relays; ``whole`` takes each relay once, or with ``scale`` below 1 the same part of
    each position."""


class LatencySource(InputSource):
    """A derived coordinate model by ``name``, or an imported matrix in ``file``.

    The hosts of the table, or the rows of the matrix, are the places of the network.
    """

    use: Literal["fit", "direct"] = "fit"
    """``direct`` takes the round trips of an imported matrix as they were measured; ``fit`` draws new ones
    for each network from the coordinate model of a derived table."""


class ClientBandwidthSource(InputSource):
    """A derived table by ``name``, an imported ``file``, or one ``rate`` for every client."""

    rate: LinkRate | None = left_out()
    """One rate for the access link of every client, both ways."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if [self.name, self.file, self.rate].count(None) != 2:
            raise ValueError("expected the name of a derived table, {file: PATH} or {rate: RATE}")
        return self


class Chain(Section):
    """The relays of the only path there is, in place of relays drawn from a population."""

    guard: BucketRate
    """Rate of the guard's token bucket, which holds what the rate gives in a second."""
    middle: BucketRate
    """Rate of the middle relay's token bucket; the knob ``middle_bandwidth`` sets it."""
    exit: BucketRate
    """Rate of the exit's token bucket."""
    link: BucketRate = default_text("100 Mbit/s")
    """What each relay's link carries, each way."""

    @model_validator(mode="after")
    def _buckets_bind(self) -> Self:
        for position in CHAIN_POSITIONS:
            rate = getattr(self, position)
            if not LEAST_BUCKET_BYTES_PER_S <= rate <= self.link:
                accepted = "20 KiB/s, what tor asked of a relay in 2010, to the rate of the link"
                value = format_quantity(rate, BYTES_PER_SECOND_PER)
                raise RefusedValue("is out of range", key=position, value=value, accepted=accepted)
        return self


class AccessDelay(Section):
    """The one-way delay of a client's last mile, added to its latencies to every other host.

    It is log-normal.
    """

    median: Annotated[DurationNs, Between("0 s", "1 s")] = default_text("10 ms")
    """Median of the time."""
    sigma: Annotated[float, Field(strict=True, ge=0, le=3, allow_inf_nan=False)] = 0.5
    """Standard deviation of its logarithm."""
    maximum: Annotated[DurationNs, Between("0 s", "5 s")] = default_text("200 ms")
    """Longest time: the tail is cut there."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.maximum < self.median:
            raise RefusedValue("the maximum is less than the median", key="maximum")
        return self


class Loss(Section):
    """Packets that are lost, each by itself.

    A packet is lost once at most, on the wire between the two; never on the loopback device of a host.
    """

    share: Annotated[float, Field(strict=True, ge=0, le=MOST_LOSS_SHARE, allow_inf_nan=False)] = 0.0
    """The share of packets between any two hosts that are lost."""


class Positions(Section):
    """How many relays serve in each position, where the directory's shares are not wanted."""

    guard: Annotated[int, _count(0, 10_000)]
    """Relays that can be guards only."""
    exit: Annotated[int, _count(0, 10_000)]
    """Relays that can be exits only."""
    guard_exit: Annotated[int, _count(0, 10_000)]
    """Relays that can be both."""
    middle: Annotated[int, _count(0, 10_000)]
    """Relays that can be neither."""


class NetworkConfig(Section):
    """A network to sample. Counts are hosts, rates bytes per second, times nanoseconds."""

    relays: Annotated[int, _count(3, 10_000)]
    """How many relays."""
    web_clients: Annotated[int, _count(0, MOST_NODES)]
    """Clients that download as ``traffic.web`` of the experiment says."""
    bulk_clients: Annotated[int, _count(0, MOST_NODES)]
    """Clients that download as ``traffic.bulk`` says."""
    servers: Annotated[int, _count(1, 100_000)]
    """Servers that clients download from."""
    onion_clients: Annotated[int, _count(0, MOST_NODES)] = left_out(0)
    """Clients that download from onion services as ``traffic.onion`` says, in real tor."""
    onion_servers: Annotated[int, _count(0, 1_000)] = left_out(0)
    """How many of the servers are onion services, too: a tor beside each has a ``.onion`` address."""
    perf_clients: Annotated[int, _count(0, 1_000)] = left_out(0)
    """Clients that only measure, as those of tornettools do: a third for each of three sizes, whatever the
    ``load``. They are placed like other hosts, with the rates of servers and no last mile."""
    authorities: Annotated[int, _count(1, 20)] = 3
    """Directory authorities."""
    load: Annotated[float, Field(strict=True, ge=0.0001, le=20, allow_inf_nan=False)] = 1
    """Web, bulk and onion clients, relative to the counts above."""
    clients_per_tor: Annotated[int, _count(1, 1_000)] = left_out(1)
    """How many web clients share one tor and its link, which is as fast as theirs together, and how many bulk
    clients. Each has circuits of its own; guards are those of the tor."""
    scale: Annotated[float, Field(strict=True, ge=LEAST_SCALE, le=1, allow_inf_nan=False)] = left_out(1)
    """Shrinks relays, servers and all clients but perf clients by this factor, so that load and capacity keep
    their ratio. Each position keeps its part of the relays and of consensus weight."""
    relay_population: PopulationSource = PopulationSource(name="2012")
    """What relays are drawn from."""
    relay_values: InputSource | None = left_out()
    """Other weights or rates of the population's relays: a CSV file with a row for each of them. The same
    relays are drawn."""
    relay_rate_divisor: Annotated[float, Field(strict=True, ge=1, le=10_000, allow_inf_nan=False)] = left_out(
        1
    )
    """Relays of the population become slower by this factor, with links and token buckets, but none slower
    than tor allows; so few clients use them as many use fast ones."""
    relay_rates: Literal["best", "usual"] = left_out("best")
    """``best``: relays carry the best rate that they showed, as the population has it. ``usual``: what they
    carry most of the time; the best is two standard deviations above, as rates varied in 2018 and 2019."""
    positions: Positions | None = None
    """How many relays serve in each position; the directory's shares where it is left out."""
    chain: Chain | None = left_out()
    """Three relays of given rates that are the only path, in place of relays drawn from a population."""
    client_bandwidth: ClientBandwidthSource = ClientBandwidthSource(name="netindex-2012")
    """What the rates of clients' access links are drawn from."""
    server_bandwidth: LinkRate = default_text("100 Mbit/s")
    """The rate of each server's link."""
    latency: LatencySource = LatencySource(name=USUAL_LATENCY)
    """What the places of hosts and the round trips between them are drawn from."""
    countries: InputSource | None = left_out()
    """In which countries hosts are, in place of what the table of latency says. Perf clients are then
    OnionPerf's: each downloads from a server beside it, which nobody else uses."""
    access_delay: AccessDelay = AccessDelay()
    """The delay of clients' last mile."""
    loss: Loss = left_out(Loss())
    """Packets that are lost."""
    link_queue: Literal["droptail", "codel"] = left_out("droptail")
    """The queue before each host's down-link in emulation and, unless the knob ``link_queue`` says
    another, in the model: one of 75,000 bytes, or CoDel, which Shadow always has."""
    tornettools: Annotated[tuple[Path, ...], Field(max_length=1_000)] = left_out(())
    """Folders that ``tornettools generate`` made. They are taken as they are, in turns; the counts then say
    what is in them, and no other key has an effect."""
    markov_clients: Annotated[int, _count(0, 25_000)] = left_out(0)
    """Clients that make the load in a network of tornettools."""

    @property
    def relay_count(self) -> int:
        """Relays after scaling by ``scale``, half a relay rounded up."""
        return _scaled(self.relays, self.scale)

    @property
    def client_counts(self) -> dict[str, int]:
        """Clients by group. ``load`` and ``scale`` change those of an experiment's traffic (half a client is
        rounded up), not the others."""
        counts = {group: getattr(self, f"{group}_clients") for group in CLIENT_GROUPS}
        scaled = {name for name, group in CLIENT_GROUPS.items() if not group.does}
        return {
            name: _scaled(count, self.load, self.scale) if name in scaled else count
            for name, count in counts.items()
        }

    def own_server_count(self, group: ClientGroup) -> int:
        """The number of servers that only clients of ``group`` use."""
        return self.client_counts[group.name] if group.does and self.countries is not None else 0

    @property
    def server_count(self) -> int:
        """Servers after scaling by ``scale``, half a server rounded up; at least one."""
        return max(1, _scaled(self.servers, self.scale))

    @property
    def host_count(self) -> int:
        """All hosts, after scaling: relays, authorities, tors of clients, servers."""
        own_servers = sum(map(self.own_server_count, CLIENT_GROUPS.values()))
        return self.relay_count + self.authorities + self.client_tor_count + self.server_count + own_servers

    @property
    def client_count(self) -> int:
        """All clients, after scaling."""
        return sum(self.client_counts.values()) + self.markov_clients

    @property
    def client_tor_count(self) -> int:
        """All tors of clients."""
        shared = [self.client_counts[name] for name, group in CLIENT_GROUPS.items() if group.shares_tor]
        tors = sum(-(-count // self.clients_per_tor) for count in shared)
        return self.client_count - sum(shared) + tors

    @model_validator(mode="after")
    def _chain_is_all_there_is(self) -> Self:
        if self.chain is None:
            return self
        if self.positions is not None:
            raise RefusedValue("a chain has one relay in each position", key="positions")
        if self.relays != len(CHAIN_POSITIONS):
            raise RefusedValue("a chain has three relays", key="relays", value=self.relays, accepted="3")
        if self.scale != 1:
            raise RefusedValue("a chain has three relays", key="scale", value=self.scale, accepted="1")
        if self.onion_servers:
            problem = "a chain has too few relays for a way to an onion service"
            raise RefusedValue(problem, key="onion_servers", value=self.onion_servers, accepted="0")
        return self

    @model_validator(mode="after")
    def _onion_services_fit(self) -> Self:
        if not bool(self.onion_clients) <= self.onion_servers <= self.server_count:
            problem, least = "does not fit the clients and servers", int(bool(self.onion_clients))
            accepted = f"{least} to {self.server_count}, the servers"
            raise RefusedValue(problem, key="onion_servers", value=self.onion_servers, accepted=accepted)
        return self

    @model_validator(mode="after")
    def _positions_fit(self) -> Self:
        if self.positions is None:
            return self
        if self.relay_population.use == "whole":
            raise RefusedValue("the relays of a whole population have positions already", key="positions")
        total = sum(count for _, count in self.positions)
        if total != self.relays:
            problem, accepted = "the positions do not add up to the number of relays", str(self.relays)
            raise RefusedValue(problem, key="positions", value=total, accepted=accepted)
        possible_guards = self.positions.guard + self.positions.guard_exit
        if possible_guards < LEAST_GUARDS:
            problem, key = "too few relays can be a guard", "positions.guard"
            accepted = f"{LEAST_GUARDS} or more, counted together with guard_exit"
            raise RefusedValue(problem, key=key, value=possible_guards, accepted=accepted)
        if self.positions.exit + self.positions.guard_exit == 0:
            raise RefusedValue("no relay can be an exit", key="positions.exit", value=0)
        return self

    @model_validator(mode="after")
    def _size_is_sane(self) -> Self:
        users = sum(self.client_counts[name] for name, group in CLIENT_GROUPS.items() if not group.does)
        if not users and not self.tornettools:
            key, value = ("web_clients", self.web_clients) if self.scale == 1 else ("scale", self.scale)
            raise RefusedValue("a network needs a client", key=key, value=value)
        nodes = self.host_count + self.client_count - self.client_tor_count
        if nodes > MOST_NODES:
            key, accepted = "load" if self.load > 1 else "web_clients", f"at most {MOST_NODES} hosts in all"
            raise RefusedValue("too many hosts", key=key, value=nodes, accepted=accepted)
        return self


def _scaled(count: int, *factors: float) -> int:
    """``count`` times ``factors`` as their decimal digits say them, rounded half up."""
    return math.floor(count * math.prod(Fraction(str(factor)) for factor in factors) + Fraction(1, 2))


def network_path(name_or_path: str | Path) -> Path:
    """The file of a network given by name (``laptop``) or by path; InputError, with the names there are, when
    there is none of this name."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return find(path)
    named = find(NETWORKS_DIRECTORY / f"{path}.yaml")
    if not named.is_file():
        names = [file.stem for file in find_all(NETWORKS_DIRECTORY, "*.yaml")]
        problem = f"no such network{suggestion(str(path), names)}"
        accepted = ", ".join(names) or f"a file in {NETWORKS_DIRECTORY}"
        raise InputError(problem, key="network", value=str(name_or_path), accepted=accepted)
    return named


def load_network_config(path: str | Path, overrides: Mapping[str, object] | None = None) -> NetworkConfig:
    """The configuration in ``path`` (or of that name), with ``overrides`` (``a.b`` → value) applied;
    InputError naming file, key and value where one is wrong."""
    file = network_path(path)
    document = read_yaml(file)
    if overrides:
        _require_chain(document, overrides, path)
        document = apply_overrides(document, overrides)
    return validate(NetworkConfig, document, file)


def _require_chain(document: Mapping[str, Any], overrides: Mapping[str, object], name: str | Path) -> None:
    """InputError for a rate of a chain's relay in a network that is no chain."""
    asked = next((key for key in overrides if key.startswith("chain.")), None)
    if asked is not None and not document.get("chain"):
        problem = f"is no chain of three relays, as {asked} of this experiment needs"
        raise InputError(problem, key="network", value=str(name), accepted="starvation, or one with `chain`")
