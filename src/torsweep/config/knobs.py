"""The knobs: every experiment variable torsweep knows, a row each, here or in ``world_knobs.py``.

In: the name of a knob. Out: its :class:`~torsweep.config.knob.Knob`, which says what its levels are and set,
what its level is in each era, with which options tor takes it and how it is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from torsweep.config.conflux import CONFLUX
from torsweep.config.knob import (
    BLACK,
    DASH_DOT,
    DOTTED,
    FIFTH,
    FOURTH,
    LONG_DASHED,
    MILLISECOND_NS,
    ORANGE,
    OTHER,
    PURPLE,
    THIRD,
    USUAL,
    Knob,
    Mark,
    TorOption,
    choice,
    duration,
    either,
    milliseconds,
    named,
    number,
    numbered,
    written_value,
)
from torsweep.config.reading import suggestion
from torsweep.config.world_knobs import WORLD_KNOBS
from torsweep.errors import InputError

STOCK_TOR = "stock"
"""The tor that every experiment has; experiments that do not turn the knob run it."""

PLAIN_TOR, MERGE_BASE = "plain", "merge_base"
"""What `torsweep compare` calls other tors that a change is compared with: Debian's without the series, and
the commit at which a branch left the main one."""

DEFAULT_OPTIONS = "default"
"""The bundle that every experiment has, without any option; also what runs of other experiments have."""

NO_PROGRAMS = "none"
"""The level that every experiment has, without any program."""

CONSENSUS = "consensus."
"""How the name of a knob begins that is a consensus parameter."""

NETWORK = "network."
"""How the name of a knob begins that is a key of the network's configuration."""

_NETWORK_KNOB = r"network\.[a-z_]+(\.[a-z_]+)*"
_CONSENSUS_KNOB = r"consensus\.[A-Za-z][A-Za-z0-9_-]{0,99}"
_MOST_PARAMETER = 2**31 - 1

PRIMARY_GUARDS = 3
"""Guards that a client holds primary by tor's own default (``DFLT_N_PRIMARY_GUARDS``), also if it uses one.

A circuit over another guard waits until all primary ones are down: where the only guard that is used is the
exit, there has to be a further primary one, or tor never uses the circuit (0.4.9.11,
``entry_guards_upgrade_waiting_circuits``).
"""


def _scheduler(kind: str, interval_ms: int = 2) -> dict[str, object]:
    return {"kind": kind, "interval_ns": interval_ms * MILLISECOND_NS}


_TABLE = (
    Knob(
        "refill_interval",
        "Time between two refills of a relay's token buckets; under lazy refill only the delay after which "
        "a blocked connection is woken (TokenBucketRefillInterval).",
        duration("1ms", "1000ms", "100ms"),
        "refill.interval_ns",
        "100ms",
        tor=(TorOption("TokenBucketRefillInterval", lambda ns: f"{milliseconds(ns)} msec", "relay"),),
        marks={
            "1000ms": OTHER,
            "500ms": Mark(PURPLE, DASH_DOT, "v"),
            "200ms": Mark(ORANGE, DOTTED, "P"),
            "100ms": USUAL,
            "50ms": FOURTH,
            "20ms": Mark(BLACK, DOTTED, "X"),
            "10ms": THIRD,
            "1ms": Mark(BLACK, LONG_DASHED, "<"),
        },
    ),
    Knob(
        "refill_mode",
        "Tokens arrive in one burst per interval (tor until 0.3.4), or lazily at each read and write.",
        choice("burst", "lazy"),
        "refill.mode",
        {"2012": "burst", "2019": "lazy", "today": "lazy"},
        tor=(TorOption("TokenBucketRefillMode", where="relay", without="lazy"),),
        marks={"burst": USUAL, "lazy": THIRD},
    ),
    Knob(
        "refill_phase",
        "When relays refill in burst mode: each at a phase of its own, or all at the same instant.",
        choice("per_relay", "aligned"),
        "refill.phase",
        "per_relay",
        marks={"per_relay": USUAL, "aligned": OTHER},
        words={"per_relay": "per relay"},
    ),
    Knob(
        "refill_remainder",
        "Lazy refills add tokens for whole steps. The part of a step that has passed is dropped (tor since "
        "0.3.4), or kept for the next step. No effect in burst mode.",
        choice(dropped=False, kept=True),
        "refill.keeps_remainder",
        "dropped",
        tor=(
            TorOption(
                "TokenBucketRefillRemainder",
                lambda keeps: "kept" if keeps else "dropped",
                "relay",
                without=False,
            ),
        ),
        marks={"dropped": USUAL, "kept": OTHER},
    ),
    Knob(
        "refill_burst",
        "The bucket's size: the burst of the relay's descriptor, or what its rate gives in a second.",
        choice("descriptor", "rate"),
        "refill.burst",
        "descriptor",
        marks={"descriptor": USUAL, "rate": OTHER},
    ),
    Knob(
        "circuit_policy",
        "Which circuit of a channel sends next: the quietest by EWMA, or each in turn.",
        choice("ewma", "round_robin"),
        "circuit_policy.kind",
        "ewma",
        tor=(TorOption("CircuitPolicy", lambda kind: kind.replace("_", ""), without="ewma"),),
        marks={"ewma": USUAL, "round_robin": OTHER},
        words={"ewma": "EWMA", "round_robin": "round-robin"},
    ),
    Knob(
        "round_robin_quantum",
        "How many cells a circuit may send in its turn; not applied under EWMA.",
        number(1, 9999, of="cells"),
        "circuit_policy.quantum_cells",
        "32",
        tor=(TorOption("CircuitRoundRobinQuantum"),),
        under={"circuit_policy": "round_robin"},
        passed_over=True,
    ),
    Knob(
        "ewma_half_life",
        "The half-life of EWMA's cell counts; refused under round-robin.",
        duration("10ms", "1h", "30s"),
        "circuit_policy.half_life_ns",
        "30s",
        tor=(
            TorOption("CircuitPriorityHalflife", lambda ns: f"{int(milliseconds(ns)) / 1000:.10g}"),
            TorOption("CircuitPriorityHalflifeMsec", milliseconds, "consensus"),
        ),
        stated={"CircuitPriorityHalflifeMsec": lambda ms: f"{ms}ms" if ms % 1000 else f"{ms // 1000}s"},
        under={"circuit_policy": "ewma"},
    ),
    Knob(
        "scheduler",
        "Which channels write, and when: KIST or KISTLite every 2 ms (or N ms), or Vanilla.",
        either(
            choice(kist=_scheduler("kist"), kist_lite=_scheduler("kist_lite"), vanilla=_scheduler("vanilla")),
            numbered("kist_", 2, 100, "ms", lambda interval_ms: _scheduler("kist", interval_ms)),
            numbered("kist_lite_", 2, 100, "ms", lambda interval_ms: _scheduler("kist_lite", interval_ms)),
        ),
        "channel_scheduler",
        {"2012": "vanilla", "2019": "kist_10ms", "today": "kist_3ms"},
        tor=(
            TorOption(
                "Schedulers",
                {"kist": "KIST", "kist_lite": "KISTLite", "vanilla": "Vanilla"}.__getitem__,
                setting="channel_scheduler.kind",
            ),
            TorOption(
                "KISTSchedRunInterval",
                lambda ns: f"{milliseconds(ns)} msec",
                setting="channel_scheduler.interval_ns",
            ),
            TorOption(
                "KISTSchedRunInterval", milliseconds, "consensus", setting="channel_scheduler.interval_ns"
            ),
        ),
        stated={"KISTSchedRunInterval": lambda ms: f"kist_{ms}ms" if ms else "vanilla"},
        marks={"kist": USUAL, "kist_2ms": USUAL, "kist_10ms": FOURTH, "kist_lite": THIRD, "vanilla": OTHER},
        words={"kist": "KIST", "kist_lite": "KISTLite", "vanilla": "Vanilla"},
    ),
    Knob(
        "activation_order",
        "The order in which an edge serves the streams of a circuit.",
        choice("list", "reversed", "random", "least_recently_served"),
        "edge.activation_order",
        # The random start among streams came in tor 0.2.2.32, as did the even packaging.
        "random",
        tor=(
            TorOption(
                "StreamActivationOrder",
                lambda order: order.replace("least_recently_served", "lrs"),
                without="random",
                alone="random to start reading, list to package and when a queue has drained",
            ),
        ),
        marks={"list": OTHER, "reversed": FIFTH, "random": USUAL, "least_recently_served": THIRD},
        words={"least_recently_served": "least recently served"},
    ),
    Knob(
        "packaging",
        "How much a stream may package when its turn comes: an even share, or all it has.",
        choice("even", "greedy"),
        "edge.packaging",
        "even",
        tor=(TorOption("StreamPackaging", without="even"),),
        marks={"even": USUAL, "greedy": OTHER},
    ),
    Knob(
        "congestion",
        "Congestion control between the ends of a circuit: windows of 1000 and 500 cells, or Vegas.",
        choice("fixed", "vegas"),
        "congestion.kind",
        {"2012": "fixed", "2019": "fixed", "today": "vegas"},
        # Fixed windows are 0 and Vegas is 2 (proposal 324); no option of a torrc can say that.
        tor=(TorOption("cc_alg", {"fixed": "0", "vegas": "2"}.__getitem__, "consensus"),),
        stated={"cc_alg": lambda number: {0: "fixed", 2: "vegas"}.get(number, f"cc_alg {number}")},
        marks={"fixed": USUAL, "vegas": THIRD},
        words={"vegas": "Vegas"},
    ),
    CONFLUX,
    Knob(
        "nagle",
        "Nagle's algorithm on tor's connections: a small segment waits until the one before it is "
        "acknowledged (on, as in tor), or not (TCP_NODELAY). Shadow has no such algorithm.",
        choice(on=True, off=False),
        "nagle",
        "on",
        tor=(TorOption("TCPNoDelay", lambda nagle: str(int(not nagle)), without=True),),
        marks={"on": USUAL, "off": OTHER},
    ),
    Knob(
        "clock",
        "The resolution of the clock that token buckets and EWMA read; the times in tables are exact.",
        either(
            choice(precise=0),
            numbered("coarse_", 1, 100, "ms", lambda quantum_ms: quantum_ms * MILLISECOND_NS),
        ),
        "clock_quantum_ns",
        # Tor 0.4.9 reads the coarse clock of the kernel: clock=coarse_4ms shows what `precise` leaves out.
        "precise",
        # Under Shadow every clock has the same time, and only a quantum makes a difference.
        tor=(
            TorOption(
                "TOR_MONOTIME_COARSE_CLOCK",
                lambda quantum_ns: f"coarse:{milliseconds(quantum_ns)}" if quantum_ns else "precise",
                "environment",
                without=0,
                alone="reads the kernel's coarse clock",
            ),
        ),
        marks={"precise": USUAL, "coarse_1ms": FOURTH, "coarse_4ms": OTHER, "coarse_10ms": THIRD},
    ),
    Knob(
        "guards",
        "How many guards a client keeps.",
        number(1, 99),
        "guards",
        {"2012": "3", "2019": "1", "today": "2"},
        tor=(
            TorOption("NumEntryGuards", where="client"),
            TorOption("NumPrimaryGuards", lambda guards: str(max(guards, PRIMARY_GUARDS)), "client"),
            TorOption("NumDirectoryGuards", where="client"),
        ),
        stated={"guard-n-primary-guards-to-use": str},
    ),
    *WORLD_KNOBS,
    Knob(
        "tor",
        "Which tor the hosts run: a build, or a mix of builds, that the experiment defines under tors. Only "
        "engines that run tor take it.",
        named("tors"),
        "tors",
        STOCK_TOR,
        target="tor_build",
        marks=dict.fromkeys((STOCK_TOR, PLAIN_TOR, MERGE_BASE), USUAL),
    ),
    Knob(
        "options",
        "Lines of torrc and consensus parameters in tor's own words: a bundle that the experiment defines "
        "under options. Only engines that run tor take it.",
        named("options"),
        "options",
        DEFAULT_OPTIONS,
        target="options",
        marks={DEFAULT_OPTIONS: USUAL},
    ),
    Knob(
        "programs",
        "What hosts run beside tor and the clients, such as a controller or a flood: programs that the "
        "experiment defines under programs. Only engines that run tor take it.",
        named("programs"),
        "programs",
        NO_PROGRAMS,
        target="programs",
        marks={NO_PROGRAMS: USUAL},
    ),
)

KNOBS: Mapping[str, Knob] = {knob.name: knob for knob in _TABLE}


def find_knob(name: str) -> Knob:
    """The knob ``name``, of the table or ``consensus.NAME``; InputError, with the closest name, for
    another."""
    if name in KNOBS:
        return KNOBS[name]
    if re.fullmatch(_CONSENSUS_KNOB, name):
        meaning = (
            "A consensus parameter of this name, for whose level every authority votes. Only engines that "
            "run tor take it."
        )
        return Knob(name, meaning, number(0, _MOST_PARAMETER), name, None, target="options")
    if re.fullmatch(_NETWORK_KNOB, name):
        meaning = (
            "A key of the network's configuration, such as `network.relay_values` or "
            "`network.positions.guard`. Each level has its own networks, in which what it does not touch is "
            "drawn the same."
        )
        return Knob(name, meaning, written_value(), name.removeprefix(NETWORK), None, target="network")
    accepted = ", ".join((*KNOBS, f"{CONSENSUS}NAME", f"{NETWORK}KEY"))
    raise InputError(f"no such knob{suggestion(name, list(KNOBS))}", value=name, accepted=accepted)


def network_levels(levels: Mapping[str, str]) -> dict[str, str]:
    """The ``levels`` of knobs that change the network; other names are left out."""
    own = {knob.name for knob in KNOBS.values() if knob.target == "network"}
    return {name: level for name, level in levels.items() if name in own or re.fullmatch(_NETWORK_KNOB, name)}
