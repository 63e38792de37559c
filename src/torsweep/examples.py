"""Examples at the end of a command's ``--help``, where its arguments do not say enough.

In: a tree of commands. Out: the same tree, with examples as epilogs. A test parses them,
so that they keep up with the options.
"""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("torsweep new my-study", "torsweep compare --candidate ../tor@my-branch"),
    "compare": (
        "torsweep compare --candidate ../tor@my-branch",
        "torsweep compare --torrc 'KISTSchedRunInterval 1 msec' --dry-run",
    ),
    "doctor": ("torsweep doctor", "torsweep doctor --engine shadow"),
    "chain": ("torsweep chain clocks --out results/relay_cost",),
    "network sample": (
        "torsweep network sample ci --seed 1 --out ci-1",
        "torsweep network sample paper --seed 1 --out heavy-1 --set load=1.5",
    ),
    "network describe": (
        "torsweep network describe ci-1",
        "torsweep network describe ci-1 --experiment scheduler_choice",
    ),
    "latency import": ("torsweep latency import rtts.txt.gz --unit ms --out latency",),
    "bandwidth import": ("torsweep bandwidth import ookla.csv --out bandwidth",),
    "relays import": (
        "torsweep relays import consensus --format consensus --descriptors descriptors/ --out relays",
    ),
    "run prepare": (
        "torsweep run prepare refill_sweep --network ci-1 --engine cellsim --out run",
        "torsweep run prepare refill_sweep --network ci-1 --variant refill_interval=100ms --out run-100",
    ),
    "tor build": ("torsweep tor build --jobs 4", "torsweep tor build --git ../tor --revision my-branch"),
    "import tornettools": ("torsweep import tornettools tornet-0.1-a tornet-0.1-b --as baseline",),
    "shadow run": ("torsweep shadow run run --progress --threads 8",),
}
"""Command lines by command; the empty name is ``torsweep`` itself."""


def with_examples(command: Any, path: tuple[str, ...] = ()) -> Any:
    """``command``, which is called by ``path``, and all below it with their :data:`EXAMPLES`."""
    if lines := EXAMPLES.get(" ".join(path)):
        # \b keeps each line as it is.
        title = "Examples:" if len(lines) > 1 else "Example:"
        command.epilog = "\n".join(["\b", title, *(f"  {line}" for line in lines)])
    for name, below in getattr(command, "commands", {}).items():
        with_examples(below, (*path, name))
    return command
