"""The configuration of each process of a private network of patched tor.

In: the ``tor`` section of run.json, a relay of network.json, addresses, ports, folders, the options that a
build of tor knows. Out: the text of a torrc, from the role's template; consensus parameters; the environment.
What tor would refuse is refused here: a network (:func:`check_network`), or a setting that a build lacks
(:func:`lacking`).
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from torsweep.config.knob import Knob, TorOption
from torsweep.config.knobs import KNOBS
from torsweep.config.option_bundle import VOTED_FROM_OPTIONS, Role
from torsweep.config.tor_settings import FixedWindows, TorSettings
from torsweep.config.tracing import Tracing
from torsweep.errors import InputError
from torsweep.network.model import Network, Relay
from torsweep.units import LEAST_TOR_RATE_BYTES_PER_S

TEMPLATES = Path(__file__).with_name("templates")

CONGESTION_CONTROL = "cc_alg"
"""The consensus parameter that says which congestion control there is; 0: none."""

STREAM_WINDOW = (500, 50)
"""Cells of a stream's window and of its SENDME: fixed in tor's source, so no other value can be had."""

SENDME_INCREMENT_CELLS = 31
"""Cells that a SENDME acknowledges under congestion control, as on the public network."""


def _seconds(amount_ns: int) -> str:
    if amount_ns % 1_000_000_000:
        raise ValueError("whole seconds")
    return f"{amount_ns // 1_000_000_000} seconds"


QUIET_CLIENT_LINES = (
    # A client would build a circuit every ten seconds until a hundred had shown how long that takes. No run
    # is long enough for that, and these would be half of a small network's circuits, at a cost without use.
    "LearnCircuitBuildTimeout 0",
    "CircuitBuildTimeout 60 seconds",
)
"""What every client of a private network has besides its template, in either engine of real tor."""

_ALWAYS = (
    TorOption("MaxCircuitDirtiness", _seconds, "client", "circuit_lifetime_ns"),
    TorOption("cellq_high", str, "consensus", "cell_queue_high_cells"),
    TorOption("cellq_low", str, "consensus", "cell_queue_low_cells"),
    TorOption("circwindow", str, "consensus", "congestion.circuit_window_cells"),
)
"""How tor takes the settings that no knob turns. A knob's option of the same name goes before."""

REFILL_PHASE = "TokenBucketRefillPhase"
"""An option of the series with a value of each relay's own."""

MARK_OF_SERIES = "TokenBucketRefillMode"
"""tor lists no variables of the environment: a build that knows this option reads those of the series too."""

OUTRANKED = {
    **{
        parameter.name: option.name
        for knob in KNOBS.values()
        for parameter in knob.tor
        for option in knob.tor
        if parameter.where == "consensus" and option.where == "torrc" and option.setting == parameter.setting
    },
    "guard-n-primary-guards": "NumPrimaryGuards",
    "guard-n-primary-guards-to-use": "NumEntryGuards",
    "DoSCircuitCreationEnabled": "DoSCircuitCreationEnabled",
    "DoSConnectionEnabled": "DoSConnectionEnabled",
    "DoSStreamCreationEnabled": "DoSStreamCreationEnabled",
}
"""Consensus parameter → the option that goes before it in tor, left out where a user gives the parameter."""

LEAST_AUTHORITIES = 3
"""Weights are medians of measurements, which a consensus takes from three authorities or more. Where there
is only one path, weights do not matter."""

RELAYS_OF_A_PATH = 3


def check_network(network: Network, file: str | Path) -> None:
    """Raise InputError, naming ``file``, when ``network`` cannot be built with real tor."""
    if len(network.authorities) < LEAST_AUTHORITIES and len(network.relays) > RELAYS_OF_A_PATH:
        raise InputError(
            "too few authorities for a consensus with weights",
            file=file,
            key="authorities",
            value=len(network.authorities),
            accepted=f"at least {LEAST_AUTHORITIES}",
        )
    for relay in network.relays:
        if relay.rate_bytes_per_s < LEAST_TOR_RATE_BYTES_PER_S:
            raise InputError(
                "tor refuses a relay as slow as this",
                file=file,
                key=f"{relay.name}.rate_bytes_per_s",
                value=relay.rate_bytes_per_s,
                accepted=f"at least {LEAST_TOR_RATE_BYTES_PER_S}; slower relays run in cellsim",
            )


def bandwidths_text(network: Network, fingerprints: Mapping[str, str], now_s: int) -> str:
    """The weights of network.json as measurements of this second; authorities, relays too, have none."""
    weights = {relay.name: relay.consensus_weight for relay in network.relays}
    weights |= {host.name: 0 for host in network.authorities}
    lines = [f"node_id=${fingerprints[name]} bw={weight}" for name, weight in weights.items()]
    return "\n".join([str(now_s), *lines, ""])


def fingerprints_at(network: Network, fingerprints: Mapping[str, str], *positions: str) -> str:
    """The fingerprints of the relays at ``positions``, as options of authorities take them."""
    listed = [fingerprints[relay.name] for relay in network.relays if relay.position in positions]
    # With an empty list the authorities would choose by the relays' uptime and bandwidth.
    return ",".join(listed) or "0" * 40


def torrc(
    role: Role,
    values: Mapping[str, str],
    settings: TorSettings,
    relay: Relay | None = None,
    extra: Sequence[str] = (),
    *,
    known: Set[str] | None = None,
    parameters: Mapping[str, int] | None = None,
) -> str:
    """The torrc of one process; KeyError when a placeholder of its templates is left without a value.

    ``values`` are those that the engine decides, such as ports, folders, and lines and fingerprints of other
    processes. ``relay`` gives a relay its bandwidth, phase and position. ``extra`` lines come last. Lines
    before them have only options that the tor knows (``known``; None: all of them), and none that outranks a
    consensus parameter which the user gives (``parameters``).
    """
    user_parameters = parameters or {}
    text = "".join(
        string.Template((TEMPLATES / f"{part}.torrc").read_text(encoding="utf-8")).substitute(
            {**_settled(role, settings, relay, user_parameters), **values}
        )
        for part in ("common", role)
    )
    knobs = [f"{option} {value}" for option, value in knob_options(role, settings, relay).items()]
    lines = [*text.splitlines(), "", "# The knobs and the era.", *knobs]
    outranking = {OUTRANKED[name] for name in user_parameters if name in OUTRANKED}
    kept = [line for line in lines if _is_for(line, known, outranking)]
    return "\n".join([*kept, *extra, ""])


def _is_for(line: str, known: Set[str] | None, outranking: Set[str]) -> bool:
    option = line.split(" ", 1)[0]
    if not option or option == "#":
        return True
    return (known is None or option in known) and option not in outranking


def _settled(
    role: Role, settings: TorSettings, relay: Relay | None, user_parameters: Mapping[str, int]
) -> dict[str, str]:
    """The placeholders of a role's template that run.json and network.json answer."""
    if role == "authority":
        parameters = consensus_parameters(settings) | dict(user_parameters)
        stated = (f"{name}={value}" for name, value in parameters.items() if name not in VOTED_FROM_OPTIONS)
        return {"consensus_parameters": " ".join(stated)}
    if role == "client":
        return {}
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
    """Option → value for everything that a knob or an era sets in a torrc; InputError if tor cannot take it.

    Buckets belong to relays: clients and authorities have no rate to wait for. The queues of circuits are
    everywhere.
    """
    options = options_of(settings, "torrc")
    if role == "client":
        options |= options_of(settings, "client")
    if relay is not None:
        options |= options_of(settings, "relay")
        refill = settings.refill
        if refill.mode == "burst":
            phase = relay.refill_phase if refill.phase == "per_relay" else 0.0
            # Rounded down to a microsecond, because a phase of a whole interval is refused.
            options[REFILL_PHASE] = f"{int(phase * refill.interval_ns / 1000) / 1000:.3f}"
    return options


def told_to_tor(settings: TorSettings) -> dict[str, str]:
    """All options and parameters that the settings set in any tor; InputError if tor cannot take one."""
    places = ("torrc", "relay", "client", "consensus", "environment")
    values = {
        f"{where} {name}": text for where in places for name, text in options_of(settings, where).items()
    }
    return {**values, "consensus": str(consensus_parameters(settings))}


def options_of(settings: TorSettings, *where: str) -> dict[str, str]:
    """Option → value of those for ``where`` whose setting is there, which it may not be under a policy."""
    settings_of_place = [each for each in _set_by(settings) if each.option.where in where]
    return {each.option.name: each.text(each.value) for each in settings_of_place}


@dataclass(frozen=True)
class _Set:
    """An option, the ``value`` of the setting that it takes, and the knob that turns this."""

    option: TorOption
    setting: str
    value: Any
    knob: Knob | None = None

    def text(self, value: object) -> str:
        """The text that tor gets for ``value``; InputError for what it cannot take."""
        try:
            return self.option.text(value)
        except ValueError as error:
            raise InputError(
                "is nothing that tor can take", key=f"tor.{self.setting}", value=value, accepted=str(error)
            ) from None


def _set_by(settings: TorSettings) -> Iterator[_Set]:
    """The options whose settings are present."""
    section = settings.model_dump()
    options = [(option, option.setting, None) for option in _ALWAYS] + [
        (option, option.setting or knob.sets, knob) for knob in KNOBS.values() for option in knob.tor
    ]
    for option, setting, knob in options:
        value: Any = section
        for key in setting.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            yield _Set(option, setting, value, knob)


def lacking(
    settings: TorSettings, known: Set[str], *, build: str = "this tor", traced: bool = False
) -> InputError | None:
    """Why a tor that knows the options ``known`` cannot run with ``settings``; None when it can.

    ``build`` names it in the refusal; ``traced`` says that it is to record its cells.
    """
    for each in _set_by(settings):
        option, knob = each.option, each.knob
        if option.where == "consensus" or _has(known, option) or each.value == option.without:
            continue
        accepted = f"a tor that has {option.name}"
        if option.without is not None:
            accepted = f"{each.text(option.without)}, or a tor with the series"
        return InputError(
            f"cannot be set: {build} has no {option.name}",
            key=knob.name if knob else f"tor.{each.setting}",
            value=each.text(each.value),
            accepted=accepted,
        )
    if traced and "CellTraceFile" not in known:
        accepted = "no tracing, or a tor with the series"
        return InputError(f"cannot be done: {build} has no CellTraceFile", key="tracing", accepted=accepted)
    return None


def option_names() -> frozenset[str]:
    """The names of options that settings of runs can set in any tor process."""
    every = [*_ALWAYS, *(option for knob in KNOBS.values() for option in knob.tor)]
    return frozenset(option.name for option in every)


def stated_options() -> frozenset[str]:
    """The options that torrcs of private networks state, whatever tor's defaults are."""
    texts = [(TEMPLATES / f"{part}.torrc").read_text() for part in ("common", *get_args(Role))]
    lines = [line for text in texts for line in text.splitlines() if line and line[0] not in "#$"]
    return option_names() | {line.split(" ", 1)[0] for line in (*lines, *QUIET_CLIENT_LINES)}


def differences(known: Set[str]) -> dict[str, str]:
    """Option → what a tor that knows only the options ``known`` does in place of the setting of a run."""
    options = (option for knob in KNOBS.values() for option in knob.tor)
    return {option.name: option.alone for option in options if option.alone and not _has(known, option)}


def _has(known: Set[str], option: TorOption) -> bool:
    return (MARK_OF_SERIES if option.where == "environment" else option.name) in known


def tracing_options(tracing: Tracing, file: str) -> list[str]:
    """The lines of a torrc with which a relay records its cells in ``file`` (cell-tracing.patch)."""
    return [
        f"CellTraceFile {file}",
        f"CellTracePoints {','.join(tracing.points)}",
        f"CellTraceRecords {tracing.records}",
        f"CellTraceSample {tracing.sample}",
    ]


def consensus_parameters(settings: TorSettings) -> dict[str, int]:
    """The consensus parameters of the settings, defaults included; InputError if tor cannot take one."""
    parameters = {name: int(text) for name, text in options_of(settings, "consensus").items()}
    congestion = settings.congestion
    if isinstance(congestion, FixedWindows):
        fixed = (congestion.stream_window_cells, congestion.stream_increment_cells)
        if fixed != STREAM_WINDOW or congestion.circuit_increment_cells != 100:
            problem = "tor's source fixes the stream's window and what a SENDME gives back"
            raise InputError(problem, key="tor.congestion")
    else:
        parameters["cc_sendme_inc"] = SENDME_INCREMENT_CELLS
    of_era = {name: value for name, value in settings.consensus.items() if name not in VOTED_FROM_OPTIONS}
    return {"bwweightscale": 10_000, **of_era, **parameters}


def environment(settings: TorSettings, known: Set[str] | None = None) -> dict[str, str]:
    """The variables that choose the clock of buckets and EWMA; none for a tor that lacks the series."""
    if known is not None and MARK_OF_SERIES not in known:
        return {}
    return options_of(settings, "environment")
