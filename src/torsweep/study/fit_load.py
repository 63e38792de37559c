"""The load at which the relays of a network are used as much as asked.

In: a network, an experiment, a utilisation. Out: a value of the key ``load``, found by
bisection with short runs of the model on networks of the same configuration and seed. The runs play the
experiment's baseline; utilisation is what all relays wrote over what they can write. Each load is run with
several seeds, because the few clients that never pause are on other relays each time: single runs of the
same load differ by 0.03 to 0.05 (standard deviation, networks `quarter` and `paper`).
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.config.experiment import Experiment
from torsweep.config.network import NetworkConfig
from torsweep.config.reading import validate
from torsweep.engines.prepare import build_run
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.engines.run_settings import run_settings
from torsweep.engines.run_spec import write_run
from torsweep.engines.table_schema import RELAYS
from torsweep.engines.tools import require_own_program
from torsweep.errors import InputError, TorsweepError
from torsweep.network.model import NETWORK_FILE, read_network, write_network
from torsweep.network.sampling import sample_network
from torsweep.seeds import repeat_seed
from torsweep.stats.inference.intervals import Interval, t_interval

RUNS_OF_A_LOAD, WARM_UP_S, MEASURED_S = 8, 30, 30
"""How many runs there are of a load, and how long each is. Longer ones differ by chance as much."""

CLOSE_ENOUGH = 0.01
"""How close to the utilisation asked for a load is good enough."""

LEAST_GAIN = 0.01
"""A doubled load that raises utilisation by less ends the search: more clients only wait longer."""

MOST_LOAD = 20.0


@dataclass(frozen=True)
class Step:
    """A load, the web and bulk clients of its network, and the utilisation in its runs, with its 95 %
    interval."""

    load: float
    clients: tuple[int, int]
    utilisation: Interval

    @property
    def text(self) -> str:
        """``load 0.5: 475 web and 25 bulk clients, utilisation 0.712 [0.690, 0.734]``."""
        web, bulk = self.clients
        return f"load {self.load:g}: {web} web and {bulk} bulk clients, utilisation {self.interval}"

    @property
    def interval(self) -> str:
        """``0.712 [0.690, 0.734]``."""
        return f"{self.utilisation.mean:.3f} [{self.utilisation.low:.3f}, {self.utilisation.high:.3f}]"


def fit_load(
    directory: Path, experiment: Experiment, target: float, tell: Callable[[Step], None]
) -> tuple[Step, str]:
    """The load that gives the network in ``directory`` the utilisation ``target``, and the result as a line;
    each step is told.

    Raises InputError when ``target`` is no share, or no load reaches it.
    """
    if not 0 < target < 1:
        accepted = "a share between 0 and 1, such as 0.6"
        raise InputError("is no utilisation", key="--fit-load", value=target, accepted=accepted)
    lasts = {"warm_up": WARM_UP_S * 10**9, "measured": MEASURED_S * 10**9, "tracing": None, "progress": False}
    experiment = experiment.model_copy(update=lasts)
    network, _ = read_network(directory, latency=False)
    file = directory / NETWORK_FILE
    load = validate(NetworkConfig, network.config, file).load
    below: Step | None = None
    above: Step | None = None
    while True:
        config = validate(NetworkConfig, {**network.config, "load": float(f"{load:.4g}")}, file)
        step = _play(config, network.seed, experiment)
        tell(step)
        if abs(step.utilisation.mean - target) <= CLOSE_ENOUGH:
            return step, _conclusion(step, f"within {CLOSE_ENOUGH} of {target:g}")
        sides = [side for side in (below, above) if side is not None]
        if len(sides) == 2 and step.clients in (sides[0].clients, sides[1].clients):
            closest = min(sides, key=lambda side: abs(side.utilisation.mean - target))
            return closest, _conclusion(closest, f"and one client more or less comes no closer to {target:g}")
        if step.utilisation.mean < target:
            if above is None and (step.load >= MOST_LOAD or _gains_little(below, step)):
                raise _out_of_reach(target, max(filter(None, (below, step)), key=_used))
            below = step
        else:
            if below is None and sum(step.clients) <= 1:
                raise _out_of_reach(target, step)
            above = step
        if below is not None and above is not None:
            load = math.sqrt(below.load * above.load)
        else:
            load = step.load / 2 if below is None else min(2 * step.load, MOST_LOAD)


def _used(step: Step) -> float:
    return step.utilisation.mean


def _gains_little(before: Step | None, step: Step) -> bool:
    return before is not None and _used(step) < _used(before) + LEAST_GAIN


def _conclusion(step: Step, how: str) -> str:
    runs = f"{RUNS_OF_A_LOAD} runs of {MODEL_ENGINE}"
    return f"load: {step.load:g}  # utilisation {step.interval}, {how}; {runs}"


def _out_of_reach(target: float, step: Step) -> InputError:
    problem = f"no load gives this utilisation: the closest is {_used(step):.3f}, at load {step.load:g}"
    return InputError(problem, key="--fit-load", value=target)


def _play(config: NetworkConfig, seed: int, experiment: Experiment) -> Step:
    """Runs of the model on the network of ``config`` and ``seed``, which are then thrown away."""
    sampled = sample_network(config, seed)
    variant = experiment.plan().baseline
    settings = run_settings(experiment, MODEL_ENGINE, experiment.era, variant)
    usable_bytes_per_s = sum(relay.usable_bytes_per_s for relay in sampled.network.relays)
    with tempfile.TemporaryDirectory(prefix="torsweep-load-") as scratch:
        network, run = Path(scratch) / "network", Path(scratch) / "run"
        write_network(sampled.network, sampled.matrix_us, network)
        spec, used = build_run(settings, variant, network, run), []
        for _ in range(RUNS_OF_A_LOAD):
            write_run(spec, run)
            used.append(_written(run) / (MEASURED_S * usable_bytes_per_s))
            spec = spec.model_copy(update={"seed": repeat_seed(spec.seed)})
    clients = config.client_counts
    return Step(config.load, (clients["web"], clients["bulk"]), t_interval(used))


def _written(run: Path) -> int:
    """Bytes that relays write after the warm-up of ``run``, which the model plays."""
    command = [str(require_own_program(MODEL_ENGINE)), "run", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TorsweepError(done.stderr.strip() or f"{MODEL_ENGINE} ended with {done.returncode}")
    relays = pl.read_parquet(run / RELAYS.file, columns=["second", "bytes_out"])
    return int(relays.filter(pl.col("second") >= WARM_UP_S)["bytes_out"].sum())
