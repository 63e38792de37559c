"""The load at which the relays of a network are used as much as asked.

In: a network, an experiment, a utilisation. Out: :class:`Fitted`, a value of the key ``load``, found by
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
from dataclasses import asdict, dataclass
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
from torsweep.stats.inference.intervals import t_interval

RUNS_OF_A_LOAD, WARM_UP_S, MEASURED_S = 8, 30, 30
"""How many runs there are of a load, and how long each is. Longer ones differ by chance as much."""

CLOSE_ENOUGH = 0.01
"""How close to the utilisation asked for a load is good enough."""

LEAST_GAIN = 0.01
"""A doubled load that raises utilisation by less ends the search: more clients only wait longer."""

MOST_LOAD = 20.0


@dataclass(frozen=True)
class Step:
    """A load, the clients of its network, and the utilisation in its runs: mean and 95 % interval."""

    load: float
    web_clients: int
    bulk_clients: int
    utilisation: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """``load 0.5: 475 web and 25 bulk clients, utilisation 0.712 [0.690, 0.734]``."""
        clients = f"{self.web_clients} web and {self.bulk_clients} bulk clients"
        return f"load {self.load:g}: {clients}, utilisation {self.interval}"

    @property
    def interval(self) -> str:
        """``0.712 [0.690, 0.734]``."""
        return f"{self.utilisation:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def clients(self) -> tuple[int, int]:
        """Web and bulk clients: loads with the same are the same network."""
        return self.web_clients, self.bulk_clients


@dataclass(frozen=True)
class Fitted(Step):
    """The step closest to the utilisation ``asked``."""

    asked: float

    @property
    def conclusion(self) -> str:
        """The result in one line."""
        near = abs(self.utilisation - self.asked) <= CLOSE_ENOUGH
        how = f"within {CLOSE_ENOUGH} of" if near else "and one client more or less comes no closer to"
        return (
            f"load: {self.load:g}  # utilisation {self.interval}, {how} {self.asked:g}; "
            f"{RUNS_OF_A_LOAD} runs of {MODEL_ENGINE}"
        )


def fit_load(directory: Path, experiment: Experiment, target: float, tell: Callable[[Step], None]) -> Fitted:
    """The load that gives the network in ``directory`` the utilisation ``target``; each step is told.

    Raises InputError when ``target`` is no share, or no load reaches it.
    """
    if not 0 < target < 1:
        accepted = "a share between 0 and 1, such as 0.6"
        raise InputError("is no utilisation", key="--fit-load", value=target, accepted=accepted)
    lasts = {"warm_up": WARM_UP_S * 10**9, "measured": MEASURED_S * 10**9, "tracing": None, "progress": False}
    experiment = experiment.model_copy(update=lasts)
    network, _ = read_network(directory, latency=False)
    file = directory / NETWORK_FILE
    config = validate(NetworkConfig, network.config, file)

    def at(load: float) -> Step:
        step = _play(
            validate(NetworkConfig, {**network.config, "load": float(f"{load:.4g}")}, file),
            network.seed,
            experiment,
        )
        tell(step)
        return step

    low, high = _around(target, at, config.load)
    while True:
        closest = min((low, high), key=lambda step: abs(step.utilisation - target))
        if abs(closest.utilisation - target) <= CLOSE_ENOUGH:
            break
        middle = at(math.sqrt(low.load * high.load))
        if middle.clients in (low.clients, high.clients):
            break
        low, high = (middle, high) if middle.utilisation < target else (low, middle)
    return Fitted(**asdict(closest), asked=target)


def _around(target: float, at: Callable[[float], Step], load: float) -> tuple[Step, Step]:
    """Two steps with ``target`` between their utilisations, by doubling or halving ``load``."""
    step = at(load)
    if step.utilisation < target:
        while True:
            if step.load >= MOST_LOAD:
                raise _out_of_reach(target, step)
            more = at(min(2 * step.load, MOST_LOAD))
            if more.utilisation >= target:
                return step, more
            if more.utilisation < step.utilisation + LEAST_GAIN:
                raise _out_of_reach(target, max(step, more, key=lambda each: each.utilisation))
            step = more
    while True:
        if sum(step.clients) <= 1:
            raise _out_of_reach(target, step)
        less = at(step.load / 2)
        if less.utilisation < target:
            return less, step
        step = less


def _out_of_reach(target: float, step: Step) -> InputError:
    problem = f"no load gives this utilisation: the closest is {step.utilisation:.3f}, at load {step.load:g}"
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
    interval = t_interval(used)
    clients = config.client_counts
    return Step(config.load, clients["web"], clients["bulk"], interval.mean, interval.low, interval.high)


def _written(run: Path) -> int:
    """Bytes that relays write after the warm-up of ``run``, which the model plays."""
    command = [str(require_own_program(MODEL_ENGINE)), "run", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TorsweepError(done.stderr.strip() or f"{MODEL_ENGINE} ended with {done.returncode}")
    relays = pl.read_parquet(run / RELAYS.file, columns=["second", "bytes_out"])
    return int(relays.filter(pl.col("second") >= WARM_UP_S)["bytes_out"].sum())
