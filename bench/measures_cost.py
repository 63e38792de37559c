"""What it costs to record the measures: processor time of a command with them over that of one without.

    python -m bench.measures_cost 'COMMAND WITH THEM' 'COMMAND WITHOUT' [--pairs 4]

The machine should do nothing else. What recording costs real tor on this machine's kernel is
`torsweep chain tracing`.

Out: for each pair, and then for all, the ratio of processor time, user and system, of a command and all its
processes. The second command goes first in every other pair. The interval is the 95 % t-interval of the mean
logarithm over the pairs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from collections.abc import Sequence

import numpy as np

from torsweep.stats.inference.intervals import exponential, t_interval


def processor_s(command: Sequence[str]) -> float:
    """Processor seconds of ``command`` and of all processes that it, or one of them, has waited for."""
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{shlex.join(command)}: failed")
    return usage.ru_utime + usage.ru_stime


def ratios(commands: Sequence[Sequence[str]], pairs: int) -> list[float]:
    """The ratio of the first command's processor time to the second's, for each of ``pairs``."""
    found = []
    for number in range(pairs):
        taken = {}
        for side in (0, 1) if number % 2 else (1, 0):
            taken[side] = processor_s(commands[side])
        found.append(taken[0] / taken[1])
        print(f"pair {number + 1}: {taken[0]:.2f} s / {taken[1]:.2f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the pairs and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m bench.measures_cost")
    parser.add_argument("commands", nargs=2, metavar=("WITH", "WITHOUT"))
    parser.add_argument("--pairs", type=int, default=4)
    options = parser.parse_args(arguments)
    found = ratios([shlex.split(command) for command in options.commands], options.pairs)
    more = exponential(t_interval(np.log(found)))
    interval = f" ({more.low:+.2%} to {more.high:+.2%})" if more.known else ""
    print(f"{more.mean:+.2%}{interval}, {len(found)} pairs")


if __name__ == "__main__":
    main()
