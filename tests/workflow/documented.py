"""The commands that README and how-tos show, and how each is tried out.

In: the documents. Out: the commands of each, in order; what to run for one in a clean folder, or why none is.
"""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md")))

PROGRAMS = (".", "cargo", "cellsim", "clocks", "conda", "export", "for", "linkem", "make", "pip", "python")
PROGRAMS += ("setsid", "setup/one_node_slurm.sh", "snakemake", "sudo", "torsweep", "tornettools", "unshare")
"""What a line of a document that is a command begins with, after variables of the environment."""

SHADOW = "needs Shadow, TGen and OnionTrace"
REAL_TIME = "needs real tor, rights for namespaces, and the machine for itself"
TOR = "compiles tor"
SLURM = "needs Slurm: tests/workflow/test_slurm.py runs it"
FILES = "changes files of the repository"
STUDY = "runs in a study: tests/workflow/test_study.py plays one"
NOT_RUN = {
    "pip install torsweep-0.1.0-*.whl": "needs a wheel: tests/workflow/test_wheel.py installs one",
    "make setup && .venv/bin/torsweep demo": "tests/unit/test_demo.py plays it",
    "torsweep compare ": "plays real tor for an hour: test_study_of_change.py goes up to the runs",
    "snakemake --snakefile CHECKOUT/Snakefile --directory STUDY --cores 4 NAME": STUDY,
    "snakemake --cores 2 my_branch report --config engine=emulation": STUDY,
    "torsweep tor build ": TOR,
    "snakemake --cores 4 NAME --until build_tor --config engine=shadow": TOR,
    "snakemake --cores 4 … --config tor_source=tor-0.4.9.11.tar.gz": TOR,
    "TORSWEEP_SHADOW=~/shadow/build/src/main TORSWEEP_TGEN=~/tgen/build/src snakemake": SHADOW,
    "torsweep relays import consensus.xz --format consensus --descriptors descriptors/ --out june": FILES,
    "torsweep latency import matrix --unit us --out imported/king": "needs a file from the data set's home",
    "snakemake --cores 2 --keep-going refill_sweep --config engine=emulation network=quarter": REAL_TIME,
    "snakemake --cores 2 refill_sweep --config network=quarter replicates=3": REAL_TIME,
    "snakemake --cores 8 refill_sweep --config engine=emulation,cellsim": (
        "takes finished runs of real tor, which a clean folder lacks"
    ),
    "snakemake --cores 1 refill_sweep --config network=quarter first_seed=51 replicates=1": SHADOW,
    "python -m bench.tcp_kernel today bench/results/tcp_kernel_today.csv --repeats 3": REAL_TIME,
    "python -m bench.tcp_alone today linux bench/results/tcp_kernel_today.csv": FILES,
    "python -m bench.path_choice docs/tables/path_choice.csv": FILES,
    "python -m bench.spread aa/results/runs --out configs/spread.csv": FILES,
    "python -m experiments.backtest.scripts.score --public torperf.csv onionperf-latencies.csv": FILES,
    "python -m bench.model_pairs spread eight_relays small_live ci quarter": "takes half an hour",
    "setsid sh -c 'while :; do :; done' &": "keeps the processor busy until it is killed",
    ". .venv/bin/activate": "the tests run in an environment of their own",
    "snakemake --workflow-profile profiles/slurm ": SLURM,
    "setup/one_node_slurm.sh ": SLURM,
    "export SLURM_CONF=~/one-node/slurm.conf": SLURM,
}
"""How commands begin that the test leaves out, and why."""

PUT_IN = {
    "experiments/NAME/": "experiments/refill_sweep/",
    "network sample quarter --seed 1": "network sample ci --seed 1",
    "network=mine live_tor=tor_metrics.json": (
        f"network=ci live_tor={ROOT}/topologies/validation/onionperf-2019.json"
    ),
    "snakemake --cores 8 NAME": "snakemake --cores 8 scheduler_choice",
    "latency import FILE": "latency import matrix.txt",
    "bandwidth import FILE": "bandwidth import tiles.csv",
    "relays import FILE --format FORMAT": "relays import relayinfo.json --format relayinfo",
}
"""What stands for the words in capitals."""

MAY_END_WITH = {"torsweep doctor --engine": (0, 3)}
"""Exit codes of commands that say what this machine has; all others end with 0."""


def commands_of(document: Path) -> list[str]:
    """The commands that ``document`` shows in blocks of code, without what follows a ``#``."""
    found = []
    for token in MarkdownIt().parse(document.read_text()):
        if token.type in ("code_block", "fence"):
            lines = token.content.replace("\\\n", " ").splitlines()
            found += [re.sub(r" +# .*", "", line).strip() for line in lines if _is_command(line)]
    return found


def _is_command(line: str) -> bool:
    words = [word for word in line.split() if not re.match(r"[A-Z_]+=", word)]
    return not line.startswith(" ") and bool(words) and words[0] in PROGRAMS


def to_run(command: str) -> str:
    """``command`` with everything put in; long ones only say what they would do."""
    for shown, meant in PUT_IN.items():
        command = command.replace(shown, meant)
    # What is planned is everything up to the figures, of one network; other tests run it.
    if command.startswith("snakemake ") and "replicates=" not in command:
        command += " replicates=1" if "--config" in command else " --config replicates=1"
    command = re.sub(r"^snakemake ", "snakemake --dry-run --quiet all ", command)
    return re.sub(r"^make ", f"make --directory {ROOT} --dry-run --assume-old=.venv/torsweep.stamp ", command)


def codes_of(command: str) -> tuple[int, ...]:
    """The exit codes that ``command`` may end with."""
    return next((codes for start, codes in MAY_END_WITH.items() if command.startswith(start)), (0,))
