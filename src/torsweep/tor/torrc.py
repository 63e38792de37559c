"""The configuration of each process of a private network of patched tor.

In: the ``tor`` section of run.json, a relay of network.json, and where the engine has put the process
(addresses, ports, folders). Out: the text of a torrc, from one template a role in ``templates/``; the
parameters that the authorities put in the consensus; the environment of the process. A network with a relay
that tor refuses to be is refused here (:func:`check_rates`).
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from torsweep.config.tor_settings import MILLISECOND_NS, Ewma, FixedWindows, RoundRobin, TorSettings
from torsweep.config.tracing import Tracing
from torsweep.errors import InputError
from torsweep.network.model import Network, Relay
from torsweep.ranges import LEAST_TOR_RATE_BYTES_PER_S

Role = Literal["authority", "relay", "client"]

TEMPLATES = Path(__file__).with_name("templates")

STREAM_WINDOW = (500, 50)
"""Cells of a stream's window and of its SENDME: fixed in tor's source, so no other value can be had."""

SENDME_INCREMENT_CELLS = 31
"""Cells that a SENDME acknowledges under congestion control, as on the public network."""

QUIET_CLIENT_LINES = (
    # A client would build a circuit every ten seconds until a hundred had shown how long that takes. No run
    # is long enough for that, and these would be half of a small network's circuits, at a cost without use.
    "LearnCircuitBuildTimeout 0",
    "CircuitBuildTimeout 60 seconds",
    # No onion service is visited: none of the circuits kept ready for one is ever used.
    "VanguardsLiteEnabled 0",
)
"""What every client of a private network has besides its template, in either engine of real tor."""

PRIMARY_GUARDS = 3
"""Guards that a client holds primary by tor's own default (``DFLT_N_PRIMARY_GUARDS``), also if it uses one.

A circuit over another guard waits until all primary ones are down: where the only guard that is used is the
exit, there has to be a further primary one, or tor never uses the circuit (0.4.9.11,
``entry_guards_upgrade_waiting_circuits``).
"""

_ORDERS = {
    "list": "list",
    "reversed": "reversed",
    "random": "random",
    "least_recently_served": "lrs",
}
_SCHEDULERS = {"kist": "KIST", "kist_lite": "KISTLite", "vanilla": "Vanilla"}


def check_rates(network: Network, file: str | Path) -> None:
    """Check that tor accepts the rate of every relay of ``network``.

    Raises InputError, naming ``file`` and the relay, for one below :data:`LEAST_TOR_RATE_BYTES_PER_S`.
    """
    for relay in network.relays:
        if relay.rate_bytes_per_s < LEAST_TOR_RATE_BYTES_PER_S:
            raise InputError(
                "tor refuses a relay as slow as this",
                file=file,
                key=f"{relay.name}.rate_bytes_per_s",
                value=relay.rate_bytes_per_s,
                accepted=f"at least {LEAST_TOR_RATE_BYTES_PER_S}; slower relays run in cellsim",
            )


def torrc(
    role: Role,
    values: Mapping[str, str],
    settings: TorSettings,
    relay: Relay | None = None,
    extra: Sequence[str] = (),
) -> str:
    """The torrc of one process.

    ``values`` fills the placeholders of the role's template whose values the engine decides: for every role
    ``authorities`` (DirAuthority lines), ``data_directory`` and ``control_port``; for authorities and
    relays ``nickname``, ``address``, ``or_port``; for authorities also ``dir_port``, ``guards`` and
    ``exits`` (fingerprints, comma-separated) and the intervals of the votes in seconds; for clients
    ``socks_port``. ``relay`` gives a relay its bandwidth, phase and position. ``extra`` lines come last.

    Raises KeyError when a placeholder is left without a value.
    """
    text = "".join(
        string.Template((TEMPLATES / f"{part}.torrc").read_text(encoding="utf-8")).substitute(
            {**_settled(role, settings, relay), **values}
        )
        for part in ("common", role)
    )
    knobs = [f"{option} {value}" for option, value in knob_options(role, settings, relay).items()]
    return text + "\n".join(["", "# The knobs and the era.", *knobs, *extra, ""])


def _settled(role: Role, settings: TorSettings, relay: Relay | None) -> dict[str, str]:
    """The placeholders of a role's template that run.json and network.json answer."""
    if role == "authority":
        parameters = consensus_parameters(settings)
        return {"consensus_parameters": " ".join(f"{name}={value}" for name, value in parameters.items())}
    if role == "client":
        return {
            "guard_count": str(settings.guards),
            "primary_guard_count": str(max(settings.guards, PRIMARY_GUARDS)),
            "circuit_lifetime_s": str(settings.circuit_lifetime_ns // 1_000_000_000),
        }
    if relay is None:
        raise ValueError("a relay's torrc without the relay")
    exits = relay.position in ("exit", "guard_exit")
    rate = relay.rate_bytes_per_s
    burst = rate if settings.refill.burst == "rate" else max(relay.burst_bytes, rate)
    return {
        "bandwidth_rate": str(rate),
        "bandwidth_burst": str(burst),
        "exit_relay": "1" if exits else "0",
        "exit_policy": "accept *:*" if exits else "reject *:*",
    }


def knob_options(role: Role, settings: TorSettings, relay: Relay | None = None) -> dict[str, str]:
    """Option → value for everything that a knob or an era sets in a torrc.

    Buckets belong to relays: clients and authorities have no rate to wait for. The queues of circuits are
    everywhere.
    """
    options = dict(_circuit_options(settings))
    options["Schedulers"] = _SCHEDULERS[settings.channel_scheduler.kind]
    options["KISTSchedRunInterval"] = f"{settings.channel_scheduler.interval_ns // MILLISECOND_NS} msec"
    options["StreamActivationOrder"] = _ORDERS[settings.edge.activation_order]
    options["StreamPackaging"] = settings.edge.packaging
    options["ConfluxEnabled"] = "1" if settings.conflux else "0"
    if relay is not None:
        options.update(_refill_options(settings, relay))
    return options


def _circuit_options(settings: TorSettings) -> dict[str, str]:
    policy = settings.circuit_policy
    if isinstance(policy, RoundRobin):
        return {"CircuitPolicy": "roundrobin", "CircuitRoundRobinQuantum": str(policy.quantum_cells)}
    half_life_s = policy.half_life_ns / 1e9
    return {"CircuitPolicy": "ewma", "CircuitPriorityHalflife": f"{half_life_s:g}"}


def _refill_options(settings: TorSettings, relay: Relay) -> dict[str, str]:
    refill = settings.refill
    interval_ms = refill.interval_ns // MILLISECOND_NS
    options = {
        "TokenBucketRefillMode": refill.mode,
        "TokenBucketRefillInterval": f"{interval_ms} msec",
    }
    if refill.mode == "burst":
        phase = relay.refill_phase if refill.phase == "per_relay" else 0.0
        # Rounded down to a microsecond, because a phase of a whole interval is refused.
        options["TokenBucketRefillPhase"] = f"{int(phase * interval_ms * 1000) / 1000:.3f}"
    return options


def tracing_options(tracing: Tracing, file: str) -> list[str]:
    """The lines of a torrc with which a relay records its cells in ``file`` (cell-tracing.patch)."""
    return [
        f"CellTraceFile {file}",
        f"CellTracePoints {','.join(tracing.points)}",
        f"CellTraceRecords {tracing.records}",
        f"CellTraceSample {tracing.sample}",
    ]


def consensus_parameters(settings: TorSettings) -> dict[str, int]:
    """The consensus parameters that the settings come to, each stated though it may be the default.

    ``cc_alg`` 0 is fixed windows and 2 is Vegas (proposal 324); no option of a torrc can say that. A
    window that tor's source fixes (a stream's, and what a circuit's SENDME gives back) has to be the
    settings' too. Raises ValueError when it is not.
    """
    parameters = {
        "cfx_enabled": int(settings.conflux),
        "cellq_high": settings.cell_queue_high_cells,
        "cellq_low": settings.cell_queue_low_cells,
        "KISTSchedRunInterval": settings.channel_scheduler.interval_ns // MILLISECOND_NS,
        "bwweightscale": 10_000,
    }
    if isinstance(settings.circuit_policy, Ewma):
        parameters["CircuitPriorityHalflifeMsec"] = settings.circuit_policy.half_life_ns // MILLISECOND_NS
    congestion = settings.congestion
    if isinstance(congestion, FixedWindows):
        fixed = (congestion.stream_window_cells, congestion.stream_increment_cells)
        if fixed != STREAM_WINDOW or congestion.circuit_increment_cells != 100:
            raise ValueError("tor's source fixes the stream's window and what a SENDME gives back")
        return parameters | {"cc_alg": 0, "circwindow": congestion.circuit_window_cells}
    return parameters | {"cc_alg": 2, "cc_sendme_inc": SENDME_INCREMENT_CELLS}


def environment(settings: TorSettings) -> dict[str, str]:
    """The environment variables that choose the clock of token buckets and of EWMA.

    Under Shadow every clock has the same time, and only a quantum makes a difference.
    """
    quantum_ms = settings.clock_quantum_ns // MILLISECOND_NS
    return {"TOR_MONOTIME_COARSE_CLOCK": f"coarse:{quantum_ms}" if quantum_ms else "precise"}
