"""Examples at the end of every command's ``--help``.

In: a tree of commands. Out: the same tree, each command with its examples as its epilog. A test parses them,
so that they keep up with the options.
"""

from __future__ import annotations

from typing import Any

_SUMMARIES = "results/summaries/refill_sweep/cellsim/2012/ci/main"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("torsweep new my-study", "torsweep compare --candidate ../tor@my-branch"),
    "compare": (
        "torsweep compare --candidate ../tor@my-branch",
        "torsweep compare --torrc 'KISTSchedRunInterval 1 msec' --dry-run",
    ),
    "new": ("torsweep new my-study",),
    "doctor": ("torsweep doctor", "torsweep doctor --engine shadow --json"),
    "verify": ("torsweep verify refill_sweep.zip", "torsweep verify refill_sweep.zip --rerun --cores 4"),
    "clocks": ("torsweep clocks",),
    "chain": ("torsweep chain refill --out results/chain",),
    "network sample": (
        "torsweep network sample ci --seed 1 --out ci-1",
        "torsweep network sample paper --seed 1 --out heavy-1 --set load=1.5",
    ),
    "network graph": ("torsweep network graph ci-1 --out ci-1.graphml",),
    "network draw": ("torsweep network draw ci-1 --out ci-1.pdf",),
    "network describe": (
        "torsweep network describe ci-1",
        "torsweep network describe ci-1 --experiment scheduler_choice --json",
    ),
    "latency import": ("torsweep latency import rtts.txt.gz --format matrix --unit ms --out latency",),
    "latency fetch-king": ("torsweep latency fetch-king --out king",),
    "bandwidth import": ("torsweep bandwidth import ookla.csv --format ookla-open --out bandwidth",),
    "relays import": (
        "torsweep relays import consensus --format consensus --descriptors descriptors/ --out relays",
    ),
    "config schema": ("torsweep config schema --out schema.json",),
    "config knobs": ("torsweep config knobs",),
    "config check": ("torsweep config check experiments/*/experiment.yaml",),
    "run prepare": (
        "torsweep run prepare refill_sweep --network ci-1 --engine cellsim --out run",
        "torsweep run prepare refill_sweep --network ci-1 --variant refill_interval=100ms --out run-100",
    ),
    "run status": ("torsweep run status run",),
    "run repeat": ("torsweep run repeat run --out run-again",),
    "run replay": ("torsweep run replay shadow-run --out replayed",),
    "run publish": (
        "torsweep run publish runs/* --tables tables --summaries summaries --figures figures"
        " --page page.html --experiment experiment.yaml --out published",
    ),
    "run bundle": ("torsweep run bundle published --out published.zip",),
    "results collect": ("torsweep results collect runs/* --network ci --out tables",),
    "results interim": ("torsweep results interim refill_sweep runs/* --network ci --out interim.json",),
    "results summarize": ("torsweep results summarize refill_sweep --tables tables --out summaries",),
    "results claims": (f"torsweep results claims {_SUMMARIES}",),
    "results statistics": ("torsweep results statistics",),
    "results draw": (f"torsweep results draw ttfb_cdf {_SUMMARIES} --out ttfb_cdf",),
    "results report": (
        "torsweep results report summaries networks/* --figures figures"
        " --experiment experiment.yaml --out page.html",
    ),
    "results compare": ("torsweep results compare refill_sweep --sources emulation,cellsim --out compared",),
    "tor build": ("torsweep tor build --jobs 4", "torsweep tor build --git ../tor --revision my-branch"),
    "tor check": ("torsweep tor check",),
    "tor test": ("torsweep tor test --jobs 4",),
    "tor oracle": ("torsweep tor oracle answers.txt --seed 2",),
    "import tornettools": ("torsweep import tornettools tornet-0.1-a tornet-0.1-b --as baseline",),
    "import compare": ("torsweep import compare baseline candidate",),
    "emulation run": ("torsweep emulation run run --progress",),
    "shadow run": ("torsweep shadow run run --progress --threads 8",),
    "shadow write": ("torsweep shadow write run",),
    "shadow read": ("torsweep shadow read run",),
    "shadow preflight": ("torsweep shadow preflight",),
    "shadow for-tornettools": ("torsweep shadow for-tornettools run --out tornet",),
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
