"""The score of predictions of what changes of tor did to its users.

In: experiments/backtest/predictions.yaml; trees of results with summaries of its runs; files of Tor Metrics
about the public network. Out: runs.csv beside the predictions, and backtest_public.csv in docs/tables, which
keep their rows of runs and files that are not named; and of both, backtest_effects.csv and
backtest_score.csv there.

    python -m bench.backtest --results DIR... --public FILE...

Ratios are natural logarithms of after / before.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.predictions import DAY_AND_TIME, PREDICTIONS, PredictedRuns, Row, predicted_on, read_predictions
from bench.public_change import ALL_SOURCES, changes, read_series
from torsweep.config.variant import Variant
from torsweep.engines.run_spec import read_run
from torsweep.formats.files import read_json
from torsweep.stats.inference.intervals import t_interval
from torsweep.units import SECOND_NS

ROOT = Path(__file__).resolve().parent.parent
RUNS = Path("experiments/backtest/runs.csv")
BADLY_PREDICTED = Path("experiments/backtest/badly_predicted.csv")
TABLES = Path("docs/tables")
QUANTITIES = {
    "round_trip": "round trip",
    "50kib": "50 KiB",
    "1mib": "1 MiB",
    "5mib": "5 MiB",
    "web_mean": "web, mean",
    "web_p90": "web, 90th percentile",
    "no_progress": "web, no progress",
    "web_first": "web, first byte",
    "web_last": "web, last byte",
    "bulk_5mib": "bulk, 5 MiB",
}
PUBLIC_QUANTITIES = tuple(QUANTITIES)[:4]
SIZES = PUBLIC_QUANTITIES[1:]
_CONFIDENCE = 0.9
_MODEL = "cellsim"
WHO = ("model", "real")
"""The model, and real tor in private networks."""

COLUMNS = {
    "runs": (
        *("row", "engine", "network", "quantity", "networks", "ratio", "low", "high"),
        *("predicted_low", "predicted_high", "inside", "predicted_on", "ran_on"),
    ),
    "public": (*("row", "quantity", "source", "days", "ratio", "low", "high", "sd", "placebos", "apart"),),
    "effects": (
        *("row", "engine", "network", "networks", "predicted_on", "ran_on"),
        *(*QUANTITIES, "outside"),
    ),
    "cost": (
        *("experiment", "era", "network", "seed", "variant"),
        *("measured_s", "simulated_s", "cpu_s", "peak_gb"),
    ),
    "score": (
        *("row", "change", "quantity", "known", "public", "public_sd", "no_change_error", "published_error"),
        *(f"{who}{what}" for who in WHO for what in ("", "_sign", "_error", "_covers", "_order")),
        "public_order",
    ),
}
"""Columns of each table."""


def _side(results: Path, runs: PredictedRuns, side: str) -> dict[str, dict[int, float]]:
    """Each quantity by seed; empty where the summary is not there, or lacks the variant."""
    sides = runs.sides
    place = Path(sides.experiment, runs.engine, runs.era, runs.network_of(side), sides.plan)
    folder = results / "summaries" / place
    variant = dict(Variant.parse(getattr(sides, side)).levels)
    if not (folder / "perf_medians.csv").is_file():
        return {}

    def rows(file: str, **more: str) -> pl.DataFrame:
        table = pl.read_csv(folder / file, infer_schema_length=None)
        return table.filter(
            *(pl.col(key).cast(pl.String) == value for key, value in {**variant, **more}.items())
        )

    def by_seed(table: pl.DataFrame, column: str) -> dict[int, float]:
        # A median that a network did not reach is null: averaging the other networks would flatter that side.
        of_seed = table.select("seed", pl.col(column).cast(pl.Float64).fill_null(np.nan))
        return {int(seed): value for seed, value in of_seed.rows() if int(seed) in runs.all_seeds}

    found = {
        size: by_seed(rows("perf_medians.csv", metric="ttlb", kind=f"perf_{size}"), "median_s")
        for size in SIZES
    }
    if not found["5mib"]:
        return {}
    of_kinds = [
        by_seed(rows("perf_medians.csv", metric="ttfb_after_command", kind=f"perf_{size}"), "median_s")
        for size in SIZES
    ]
    seeds = set.intersection(*(set(of_kind) for of_kind in of_kinds))
    found["round_trip"] = {
        seed: float(np.exp(np.mean([np.log(of_kind[seed]) for of_kind in of_kinds]))) for seed in seeds
    }
    # Means are of what ended; where a tenth did not, the mean would flatter a side that loses downloads.
    web = rows("medians.csv", metric="ttlb", kind="web").with_columns(
        mean_s=pl.when(pl.col("p90_s").is_not_null()).then(pl.col("mean_s"))
    )
    found |= {"web_mean": by_seed(web, "mean_s"), "web_p90": by_seed(web, "p90_s")}
    stalled = rows("measures.csv", measure="clients_stalled", group="web")
    if stalled.height and set(web["seed"]) <= set(runs.all_seeds):
        # One number for all networks together.
        found["no_progress"] = {0: float(stalled["mean"][0]) * 100}
    return found


def _ran_on(results: Path, runs: PredictedRuns) -> str:
    """When the first of the runs was finished."""
    sides = runs.sides
    written = [
        file.stat().st_mtime
        for side, seed in product(("before", "after"), runs.all_seeds)
        # A plan that turns the load has networks of its own, backtest_small+load=3.
        for file in (results / "runs" / sides.experiment / runs.engine / runs.era).glob(
            f"{runs.network_of(side)}*/{seed}/{getattr(sides, side)}/provenance.json"
        )
    ]
    return datetime.fromtimestamp(min(written), UTC).strftime(DAY_AND_TIME) if written else ""


def effects(
    rows: Mapping[str, Row], trees: Sequence[Path], predicted: Mapping[str, list[str]]
) -> list[dict[str, Any]]:
    """The rows of runs.csv that the ``trees`` of results have."""
    found = []
    for name, row in rows.items():
        for number, runs in enumerate(row.runs):
            for tree in trees:
                before, after = (_side(tree, runs, side) for side in ("before", "after"))
                if not before or not after:
                    continue
                head = {"row": name, "engine": runs.engine, "network": runs.title}
                dates = {
                    "predicted_on": predicted[name][number + 1] if runs.predicted else "",
                    "ran_on": _ran_on(tree, runs),
                }
                found += [head | _effect(key, runs, before, after) | dates for key in QUANTITIES]
    return found


def costs(trees: Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of backtest_cost.csv: what the finished runs of real tor took."""
    found = []
    for file in sorted(file for tree in trees for file in tree.glob("runs/*/shadow/*/*/*/*/provenance.json")):
        experiment, _, era, network, seed, variant = file.parent.parts[-6:]
        run, said = read_run(file.parent), read_json(file)
        simulated_s = round(said["wall_s"] * said["simulated_s_per_wall_s"])
        found.append(
            {"experiment": experiment, "era": era, "network": network, "seed": seed, "variant": variant}
            | {"measured_s": (run.duration_ns - run.warm_up_ns) // SECOND_NS, "simulated_s": simulated_s}
            | {"cpu_s": said["cpu_s"], "peak_gb": round(said["peak_memory_bytes"] / 1e9, 2)}
        )
    return found


def _effect(key: str, runs: PredictedRuns, *sides: Mapping[str, Mapping[int, float]]) -> dict[str, Any]:
    before, after = (side.get(key, {}) for side in sides)
    seeds = sorted(before.keys() & after.keys())
    difference = [
        after[seed] - before[seed] if key == "no_progress" else float(np.log(after[seed] / before[seed]))
        for seed in seeds
    ]
    interval = t_interval(difference, _CONFIDENCE)
    low, high = runs.predicted.get(key, (np.nan, np.nan))
    numbers = {
        "ratio": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "predicted_low": low,
        "predicted_high": high,
    }
    inside = (
        "" if np.isnan(interval.mean) or np.isnan(low) else "yes" if low <= interval.mean <= high else "no"
    )
    many = "" if key == "no_progress" else len(seeds)
    return {"quantity": key, "networks": many} | _rounded(numbers) | {"inside": inside}


def public_effects(rows: Mapping[str, Row], files: Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of backtest_public.csv that ``files`` have: those of changes whose two windows they cover."""
    series = read_series(files)
    events = [row.event for row in rows.values() if row.event and not row.quiet]
    found = []
    for name, row in rows.items():
        for one in changes(series, row.event, events, row.window_days) if row.event else ():
            if np.isfinite(one.log_ratio):
                numbers = {"ratio": one.log_ratio, "low": one.low, "high": one.high, "sd": one.placebo_sd}
                days = f"{one.days_before} and {one.days_after}"
                found.append(
                    {"row": name, "quantity": one.quantity, "source": one.source, "days": days}
                    | _rounded(numbers)
                    | {"placebos": one.placebos, "apart": one.apart}
                )
    return found


def score(
    rows: Mapping[str, Row],
    runs: Sequence[Mapping[str, Any]],
    public: Sequence[Mapping[str, Any]],
    predicted: Mapping[str, list[str]],
) -> list[dict[str, Any]]:
    """A row for each change and quantity of which the public outcome is measured, or its direction stated;
    and one for each other change."""
    found = []
    for name, row in rows.items():
        seen = {one["quantity"]: one for one in public if one["row"] == name and one["source"] == ALL_SOURCES}
        known = [key for key in PUBLIC_QUANTITIES if key in seen or key in row.published.sign]
        for key in known:
            found.append(_graded(name, row, key, seen.get(key), runs))
        measured = [one for one in found if one["row"] == name and one["known"] == "measured"]
        for one in measured[:1]:
            one["public_order"] = _order({size: seen.get(size) for size in SIZES})
            one |= {
                f"{who}_order": _order({size: _effect_of(runs, name, size, who) for size in SIZES})
                for who in WHO
            }
        if not known:
            waits = f"predicted on {predicted[name][0]}, outcome not looked at"
            found.append({"row": name, "change": row.change, "known": waits})
    return found


def _graded(
    name: str, row: Row, key: str, seen: Mapping[str, Any] | None, runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    graded: dict[str, Any] = {"row": name, "change": row.change, "quantity": QUANTITIES[key]}
    sign: float = row.published.sign.get(key, 0)
    if seen:
        ratio, sd = float(seen["ratio"]), float(seen["sd"] or "nan")
        sign = np.sign(ratio) if abs(ratio) > 2 * sd else 0
        graded |= {
            "known": "measured",
            "public": _text(seen),
            "public_sd": seen["sd"],
            "no_change_error": abs(ratio),
        }
        if (published := row.published.log_ratio.get(key)) is not None:
            graded["published_error"] = round(abs(published - ratio), 3)
    else:
        stated = "shorter" if sign < 0 else "longer"
        if key in row.published.log_ratio:
            stated += f", {_number(row.published.log_ratio[key])} simulated"
        graded |= {"known": "a statement", "public": stated}
    for who in WHO:
        one = _effect_of(runs, name, key, who)
        if one is None:
            continue
        graded |= {who: _text(one), f"{who}_sign": _sign_grade(one, sign)}
        known = float(seen["ratio"]) if seen else row.published.log_ratio.get(key)
        if known is not None:
            graded[f"{who}_error"] = round(abs(float(one["ratio"]) - known), 3)
        if seen:
            graded[f"{who}_covers"] = _covers(one, float(seen["ratio"]))
    return graded


def _effect_of(runs: Sequence[Mapping[str, Any]], row: str, key: str, who: str) -> Mapping[str, Any] | None:
    """What the model or real tor says of a quantity: of several runs the predicted ones, of these those on
    the most networks, then the last in predictions.yaml."""
    found = [
        one
        for one in runs
        if (one["row"], one["quantity"]) == (row, key)
        and one["ratio"] not in ("", None)
        and (one["engine"] == _MODEL) == (who == "model")
    ]
    predicted = [one for one in found if one["predicted_on"]]
    return max(reversed(predicted or found), key=lambda one: int(one.get("networks") or 0), default=None)


def _order(of_sizes: Mapping[str, Mapping[str, Any] | None]) -> str:
    """The sizes from the least log ratio to the greatest; of one size, nothing."""
    ratios = {QUANTITIES[size]: float(one["ratio"]) for size, one in of_sizes.items() if one}
    return ", ".join(sorted(ratios, key=lambda size: ratios[size])) if len(ratios) > 1 else ""


def _sign_grade(one: Mapping[str, Any], sign: float) -> str:
    """Whether an effect has the ``sign`` of the public one; an interval that has 0 in it shows none."""
    if not sign:
        return "not judged"
    way = "right" if float(one["ratio"]) * sign > 0 else "wrong"
    shown = one["low"] not in ("", None) and float(one["low"]) * float(one["high"]) > 0
    return way if shown else f"{way}, not shown"


def badly_predicted(rows: Mapping[str, Row], graded: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each option of a change whose sign private networks showed wrong, what `torsweep compare` says."""
    found = []
    for one in graded:
        for who, name in zip(WHO, ("the model", "real tor in private networks"), strict=True):
            if one.get(f"{who}_sign") == "wrong":
                said = (
                    f"{one['quantity']} {one[who]}, public Tor {one['public']} ({one['known']}; log ratios)"
                )
                sentence = f"predicted badly in the backtest by {name}: {one['change']}: {said}"
                found += [{"option": option, "sentence": sentence} for option in rows[one["row"]].options]
    return found


def _covers(one: Mapping[str, Any], ratio: float) -> str:
    if one["low"] in ("", None):
        return ""
    return "yes" if float(one["low"]) <= ratio <= float(one["high"]) else "no"


def _text(one: Mapping[str, Any]) -> str:
    """``−0.05 [−0.07, −0.03]``, without bounds where there are none."""
    words = [_number(float(one[key])) for key in ("ratio", "low", "high") if one[key] not in ("", None)]
    return words[0] + (f" [{words[1]}, {words[2]}]" if len(words) == 3 else "")


def _number(ratio: float) -> str:
    return f"{ratio:+.2f}".replace("-", "−")


def wide(runs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The effects of each set of runs in one row, as text, and which were inside of their predictions."""
    of_runs: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in runs:
        place = tuple(str(one[key]) for key in ("row", "engine", "network"))
        line = of_runs.setdefault(
            place,
            {key: one[key] for key in ("row", "engine", "network", "predicted_on", "ran_on")}
            | {"networks": "", "outside": []},
        )
        line["networks"] = line["networks"] or one["networks"]
        line[str(one["quantity"])] = _text(one) if one["ratio"] not in ("", None) else ""
        if one["inside"] == "no":
            line["outside"].append(QUANTITIES[str(one["quantity"])])
    for line in of_runs.values():
        line["outside"] = ", ".join(line["outside"]) or ("none" if line["predicted_on"] else "")
    return list(of_runs.values())


def _rounded(numbers: Mapping[str, float]) -> dict[str, Any]:
    return {key: round(float(value), 4) if np.isfinite(value) else "" for key, value in numbers.items()}


def _kept(file: Path, fresh: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """``fresh`` in front of the rows of ``file`` about something else."""
    if not file.is_file():
        return [dict(row) for row in fresh]
    anew = {tuple(str(row[key]) for key in keys) for row in fresh}
    with file.open(newline="", encoding="utf-8") as lines:
        old = [row for row in csv.DictReader(lines) if tuple(row[key] for key in keys) not in anew]
    return [*(dict(row) for row in fresh), *old]


def _write(file: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description="The score of predictions of tor's own changes.")
    parser.add_argument("--results", type=Path, nargs="*", default=[], help="trees of results")
    parser.add_argument("--public", type=Path, nargs="*", default=[], help="files about the public network")
    arguments = parser.parse_args()
    rows = read_predictions(ROOT / PREDICTIONS)
    order = list(rows)
    predicted = predicted_on(ROOT / PREDICTIONS)
    fresh = effects(rows, arguments.results, predicted)
    runs = _kept(ROOT / RUNS, fresh, ("row", "engine", "network"))
    seen = public_effects(rows, arguments.public) if arguments.public else []
    public = _kept(ROOT / TABLES / "backtest_public.csv", seen, ("row", "quantity"))
    public.sort(key=lambda one: order.index(str(one["row"])))
    listed = [(name, one.engine, one.title) for name, row in rows.items() for one in row.runs]
    runs.sort(key=lambda one: listed.index((one["row"], one["engine"], one["network"])))
    _write(ROOT / RUNS, COLUMNS["runs"], runs)
    graded = score(rows, runs, public, predicted)
    _write(ROOT / BADLY_PREDICTED, ("option", "sentence"), badly_predicted(rows, graded))
    if paid := costs(arguments.results):
        _write(ROOT / TABLES / "backtest_cost.csv", COLUMNS["cost"], paid)
    for name, of_table in {"public": public, "effects": wide(runs), "score": graded}.items():
        _write(ROOT / TABLES / f"backtest_{name}.csv", COLUMNS[name], of_table)


if __name__ == "__main__":
    main()
