"""The private network of a plan, over this machine's own interface.

In: a plan, its chains, a build of tor. Out: :class:`LoopbackNetwork`, ready and at rest, each relay with the
environment and the torrc lines of its variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torsweep.config.eras import tor_settings
from torsweep.engines.emulation.directory.layout import Place
from torsweep.engines.emulation.run.network import RunningNetwork
from torsweep.engines.run_spec import RunSpec, RunTables, RunTraffic
from torsweep.loopback.interface import OWN_NAMESPACE
from torsweep.loopback.plan import CLIENT, Chain, Plan, Variant, turns

ERA = "today"
REQUEST_BYTES = 100
ENDLESS_BYTES = 1 << 40
STREAMS = 4
"""Downloads at once through a chain that shall be as busy as it can, each on a circuit of its own."""


@dataclass
class LoopbackNetwork(RunningNetwork):
    """A network without links: its hosts are addresses of one interface."""

    variants: Mapping[str, Variant] = field(default_factory=dict)
    """The variant of each relay that has one."""

    async def _start_links(self) -> None:
        hosts = [place.name for place in self.layout.places]
        hosts += [server.name for server in self.layout.network.servers]
        self.namespaces = dict.fromkeys(hosts, OWN_NAMESPACE)

    def environment_of(self, place: Place) -> dict[str, str]:
        """The environment of every tor, and what the variant of ``place`` adds."""
        variant = self.variants.get(place.name)
        return super().environment_of(place) | dict(variant.environment if variant else {})

    def lines_of(self, place: Place) -> tuple[str, ...]:
        """The torrc lines of the variant of ``place``, with the path of its ring filled in."""
        variant = self.variants.get(place.name)
        return tuple(line.format(ring=place.ring) for line in variant.lines) if variant else ()


def run_of(plan: Plan, chains: tuple[Chain, ...], duration_s: float) -> RunSpec:
    """What the processes are set to: tor of today, and a path a circuit, in the order of use."""
    order = [chain for turn in turns(chains, together=plan.together) for chain in turn]
    paths = tuple(chain.relays for chain in order for _ in range(streams_of(plan)))
    return RunSpec(
        experiment=plan.name,
        engine="emulation",
        era=ERA,
        variant={},
        warm_up_ns=0,
        duration_ns=int(duration_s * 1e9),
        client_start_window_ns=0,
        tor=tor_settings(ERA, {}),
        traffic={
            "bulk": RunTraffic(
                request_bytes=REQUEST_BYTES,
                response_bytes=ENDLESS_BYTES,
                think_min_ns=0,
                think_max_ns=0,
                streams_per_circuit_isolation=True,
                parallel_streams=1,
                timeout_ns=None,
            )
        },
        paths={CLIENT: paths},
        tables=RunTables(progress=False),
        network="",
        network_sha256="0" * 64,
        seed=1,
    )


def streams_of(plan: Plan) -> int:
    """Connections through a chain at a time: of a bucket that binds, one loads and one asks."""
    return 2 if plan.small_beside else STREAMS
