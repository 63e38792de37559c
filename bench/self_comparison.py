"""How often intervals cover when a variant is compared with itself, in the model.

    nice python -m bench.self_comparison [--out bench/results/self_comparison.json] [--work FOLDER]

In: networks of ``ci`` and ``quarter``, each of which cellsim plays four times: once as it is, and three
times with other chance.

- ``timing``: clients start up to a millisecond later. Traffic and paths stay; what differs is what follows.
- ``paths``: the paths of circuits are drawn from another seed, too. Two runs of real tor differ like this
  where tor draws its own paths (``pairing: free``), and like ``timing`` with ``pairing: paths``.
- ``traffic``: pauses and servers, too, as in ``torsweep run repeat``: more chance than in any comparison.

Out: a JSON file and a table in Markdown beside it. For each kind of chance and measure: the spread over
networks of the logarithm of the ratio of medians; how often the 95 % t-interval of the paired difference
over 4, 8 and 16 networks covers 0; half of that interval over 8 networks; and how often anything counts as
shown though nothing was changed. Which of two runs is called the changed one is arbitrary, so the true
difference is 0. Networks are put into groups at random, many times; the standard error of a share is that
of one division into groups, and so an upper bound.

The medians of runs are kept in FOLDER, and runs whose medians stand there are not made again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from bench.run_medians import MEASURES, medians_of_run
from bench.writing import write_results
from torsweep.compare.derive import repeat_seed
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.network import load_network_config
from torsweep.engines.cellsim.entry import find_cellsim
from torsweep.engines.paths import drawn_paths
from torsweep.engines.prepare import build_run, run_settings
from torsweep.engines.run_spec import RunSpec
from torsweep.network.model import Network, write_network
from torsweep.network.sampling import sample_network
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, t_quantile

ROOT = Path(__file__).resolve().parent.parent
EXPERIMENT = "refill_sweep"
ERA = "today"
DURATIONS = {"warm_up": "1 min", "measured": "4 min", "pairing": "paths"}
NETWORKS = {"ci": 192, "quarter": 64}
ITSELF = "itself"
CHANCES = ("timing", "paths", "traffic")
SHIFT_NS = 1_000_000
GROUPS = (4, 8, 16)
ANY = {"any": "any leaves 0 out", "any_together": "any shown"}
OF_A_KIND = 2
"""Measures of a kind of client in ``torsweep compare``, which takes intervals that cover them together."""
SHOWN_WIDTH = 8
ORDERS = 200
DRAWS = 4_000
SEED = 20_260_101

Numbers = npt.NDArray[np.float64]


def experiment() -> Experiment:
    """What the runs are of: the baseline of `refill_sweep`, shorter."""
    return load_experiment(EXPERIMENT, DURATIONS, directory=ROOT / "experiments")


def chances(run: RunSpec, network: Network) -> Iterator[tuple[str, RunSpec]]:
    """The run itself, and the same with each kind of chance drawn again."""

    def other(**changes: object) -> RunSpec:
        return run.model_copy(
            update={"client_start_window_ns": run.client_start_window_ns + SHIFT_NS, **changes}
        )

    seed = repeat_seed(run.seed)
    again = network.model_copy(update={"seed": seed})
    paths = drawn_paths(again, run.tor.guards, run.traffic, run.duration_ns)
    yield ITSELF, run
    yield "timing", other()
    yield "paths", other(paths=paths)
    yield "traffic", other(paths=paths, seed=seed)


def play(folder: Path, name: str, seed: int) -> Iterator[dict[str, object]]:
    """The medians of the four runs on the network ``name`` of ``seed``: a row each."""
    sampled = sample_network(load_network_config(name, directory=ROOT / "configs/networks"), seed)
    write_network(sampled.network, sampled.matrix_us, folder / "network")
    asked = experiment()
    variant = asked.variant("")
    settings = run_settings(asked, "cellsim", ERA, variant)
    spec = build_run(settings, variant, folder / "network", folder / ITSELF)
    for chance, run in chances(spec, sampled.network):
        (folder / chance).mkdir()
        run.write(folder / chance)
        subprocess.run([str(find_cellsim()), "run", str(folder / chance)], check=True, capture_output=True)
        yield {"network": name, "seed": seed, "chance": chance, **medians_of_run(folder / chance)}


def collect(work: Path, networks: Mapping[str, int]) -> pl.DataFrame:
    """The medians of all runs, those that are missing in ``work`` made now."""
    work.mkdir(parents=True, exist_ok=True)
    rows: list[pl.DataFrame] = []
    for name, count in networks.items():
        for seed in range(1, count + 1):
            file = work / f"{name},{ERA},{seed}.csv"
            if not file.is_file():
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    made = pl.DataFrame(list(play(Path(folder), name, seed)), infer_schema_length=None)
                made.write_csv(file)
            schema = dict.fromkeys(MEASURES, pl.Float64)
            rows.append(pl.read_csv(file, schema_overrides=schema))
    return pl.concat(rows)


def log_ratios(runs: pl.DataFrame, chance: str) -> Numbers:
    """Logarithms of a median with other ``chance`` over that of the run itself, shape (networks, measures).

    NaN where a run never reached its median.
    """
    sides = [
        np.log(runs.filter(pl.col("chance") == each).sort("seed").select(*MEASURES).to_numpy())
        for each in (ITSELF, chance)
    ]
    return sides[1] - sides[0]


def half_widths(groups: Numbers, confidence: float) -> Numbers:
    """Half of the t-interval of ``groups``, over their second axis; NaN where one of a group is."""
    size = groups.shape[1]
    return t_quantile(confidence, size) * groups.std(axis=1, ddof=1) / np.sqrt(size)


def grouped(values: Numbers, size: int) -> Numbers:
    """``values``, shape (networks, measures), in random groups: shape (groups, size, measures)."""
    draws = np.random.default_rng([SEED, size])
    count = len(values) // size
    found = []
    for _ in range(ORDERS):
        signs = draws.choice([-1.0, 1.0], (len(values), 1))
        chosen = (signs * values)[draws.permutation(len(values))[: count * size]]
        found.append(chosen.reshape(count, size, values.shape[1]))
    return np.concatenate(found)


def covers(values: Numbers, size: int) -> dict[str, object]:
    """Shares of random groups of ``size`` networks: ``values`` has shape (networks, measures).

    For each measure, over the networks that have it: ``cover`` and the median half width, ``half``; null
    where they make no group. Over all networks: the share of groups in which an interval of ``any`` measure
    leaves 0 out, and of intervals that cover together for a kind of client, ``any_together``. ``error``: the
    largest standard error of a share of all networks.
    """
    cover: list[float | None] = []
    half: list[float | None] = []
    for column in values.T:
        own = grouped(column[np.isfinite(column), np.newaxis], size)
        widths = half_widths(own, CONFIDENCE)
        cover.append(float((np.abs(own.mean(axis=1)) <= widths).mean()) if len(own) else None)
        half.append(float(np.median(widths)) if len(own) else None)
    groups = grouped(values, size)
    away, together = np.abs(groups.mean(axis=1)), bonferroni(CONFIDENCE, OF_A_KIND)
    return {
        "cover": cover,
        "half": half,
        "any": float((away > half_widths(groups, CONFIDENCE)).any(axis=1).mean()),
        "any_together": float((away > half_widths(groups, together)).any(axis=1).mean()),
        "error": float(np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / (len(values) // size))),
    }


def narrower(common: Numbers, own: Numbers) -> tuple[float, float, float]:
    """The spread of ``common`` over that of ``own``, a value a network, with its 95 % bootstrap interval."""
    squares = np.stack([common, own]) ** 2
    squares = squares[:, np.isfinite(squares).all(axis=0)]
    draws = np.random.default_rng(SEED)
    sums = squares[:, draws.integers(squares.shape[1], size=(DRAWS, squares.shape[1]))].sum(axis=2)
    low, high = np.quantile(np.sqrt(sums[0] / sums[1]), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(np.sqrt(squares[0].sum() / squares[1].sum())), float(low), float(high)


def spread(values: Numbers) -> tuple[float, float, float]:
    """The root mean square of ``values`` (their mean is 0), with its 95 % interval were they normal."""
    known = values[np.isfinite(values)]
    squares, degrees = float((known**2).sum()), len(known)
    most, least = (float(special.chdtri(degrees, tail)) for tail in (0.025, 0.975))
    return np.sqrt(squares / degrees), np.sqrt(squares / most), np.sqrt(squares / least)


def measured(runs: pl.DataFrame) -> dict[str, object]:
    """What the runs on the networks of one configuration say."""
    ratios = {chance: log_ratios(runs, chance) for chance in CHANCES}
    record: dict[str, object] = {"networks": runs["seed"].n_unique()}
    record["narrower"] = {
        name: narrower(ratios["timing"][:, at], ratios["paths"][:, at]) for at, name in enumerate(MEASURES)
    }
    for chance, values in ratios.items():
        record[chance] = {
            "spread": {name: spread(values[:, at]) for at, name in enumerate(MEASURES)},
            "without_a_median": dict(zip(MEASURES, np.isnan(values).sum(axis=0).tolist(), strict=True)),
            "groups": {str(size): covers(values, size) for size in GROUPS},
        }
    return record


INTRODUCTION = f"""# A variant compared with itself

Each network has two runs of the model that differ by chance alone (era {ERA}, {DURATIONS["warm_up"]} of
warm-up and {DURATIONS["measured"]} measured): by `python -m bench.self_comparison`.

| chance | what differs | real tor |
|---|---|---|
| timing | clients start up to a millisecond later | two runs with common paths |
| paths | also the paths of circuits | two runs in which tor draws its own paths |
| traffic | also servers and pauses | a repeat: more chance than in any comparison |

Spread: of the logarithm of the ratio of two medians, with its 95 % interval. Cover: the share of groups
of so many networks whose 95 % interval of the paired difference has 0 in it. Half: the median half
width of that interval over {SHOWN_WIDTH} networks. No median: networks in which a run never reached it,
which are left out. Any leaves 0 out: the share of groups in which the interval of at least one of the
{len(MEASURES)} measures does. Any shown: the same as `torsweep compare` judges, by intervals that cover
both measures of a kind of client together.
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def spreads(found: Mapping[str, dict]) -> str:
    """Spread, cover and half width of each measure under each kind of chance."""
    rows = []
    for chance in CHANCES:
        own = found[chance]
        for at, (measure, words) in enumerate(MEASURES.items()):
            covered = [percent(own["groups"][str(size)]["cover"][at]) for size in GROUPS]
            width_of = own["groups"][str(SHOWN_WIDTH)]["half"][at]
            half = percent(None if width_of is None else np.expm1(width_of), 0)
            without = str(own["without_a_median"][measure])
            rows.append([chance, words, within(*own["spread"][measure]), *covered, half, without])
    covers_of = [f"cover, {size}" for size in GROUPS]
    return table(["chance", "measure", "spread", *covers_of, "half", "no median"], rows)


def percent(share: float | None, digits: int = 1) -> str:
    """``share`` in percent; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def within(middle: float, low: float, high: float) -> str:
    """A number with its interval."""
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def page(record: Mapping[str, dict]) -> str:
    """The record as Markdown."""
    parts = [INTRODUCTION]
    for name, found in record.items():
        groups = found[next(iter(CHANCES))]["groups"]
        errors = ", ".join(f"{100 * groups[str(size)]['error']:.1f} at {size}" for size in GROUPS)
        shown = [
            [chance, *(percent(found[chance]["groups"][str(size)][key]) for key in ANY for size in GROUPS)]
            for chance in CHANCES
        ]
        gains = found["narrower"]
        header = [f"{words}, {size}" for words in ANY.values() for size in GROUPS]
        parts += [
            f"## `{name}`, {found['networks']} networks\n",
            spreads(found),
            table(["chance", *header], shown),
            "Spread with common paths, as a part of that where each run draws its own:\n",
            table(["measure", "part"], [[words, within(*gains[name])] for name, words in MEASURES.items()]),
            f"The standard error of a share is at most, in percentage points: {errors}.\n",
        ]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.self_comparison")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/self_comparison.json")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "self_comparison")
    parser.add_argument("--networks", type=json.loads, default=NETWORKS, help="such as '{\"ci\": 64}'")
    options = parser.parse_args(arguments)
    runs = collect(options.work, options.networks)
    record = {name: measured(runs.filter(pl.col("network") == name)) for name in options.networks}
    write_results(options.out, {"era": ERA, "networks": record}, page(record))


if __name__ == "__main__":
    main()
