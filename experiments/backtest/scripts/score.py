"""The score of predictions of what changes of tor did to its users.

    python -m experiments.backtest.scripts.score --results DIR... --public FILE...

In: ``predictions.yaml``; trees of results with summaries or runs of its rows; files of Tor Metrics. Out:
``runs.csv`` beside it and ``docs/tables/backtest_public.csv``, which keep what is not named; and the other
tables of the page, from both. Ratios are natural logarithms of after / before.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.run_pairs import changes_between
from bench.writing import csv_text, end_with
from experiments.backtest.scripts.public_change import Event, changes, read_series
from torsweep.config.reading import Section, validate
from torsweep.config.variant import Variant
from torsweep.errors import InputError
from torsweep.formats.yaml_file import read_yaml
from torsweep.program_output import PATIENCE_S, NoAnswer, ask
from torsweep.stats.inference.intervals import t_interval
from torsweep.stats.statistic import statistics
from torsweep.storage import write_text

HERE = Path(__file__).resolve().parents[1]
TABLES = HERE.parents[1] / "docs/tables"
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
PERF = ("50kib", "1mib", "5mib")
SAME_DOWNLOADS = {
    "web_first": ("web", "ttfb"),
    "web_last": ("web", "ttlb"),
    "bulk_5mib": ("bulk", "ttlb"),
    "1mib": ("perf_1mib", "ttlb"),
    "5mib": ("perf_5mib", "ttlb"),
}
"""Kind and time of what the same downloads on the same paths give."""
NO_CHANGE = 0.30
"""The forecast to beat: every ratio is within this of 0."""
CONFIDENCE = 0.9
MINUTE = "%Y-%m-%d %H:%M"
Bounds = tuple[float, float]


class Sides(Section):
    """The two variants of a plan."""

    experiment: str
    plan: str
    before: str
    after: str


class PredictedRuns(Section):
    """Runs of one engine, and the 90 % intervals predicted of them; a side may have a network of its own."""

    sides: Sides
    engine: str
    era: str
    network: str = ""
    networks: Mapping[str, str] = {}
    seeds: Bounds
    predicted: Mapping[str, Bounds]
    note: str = ""
    same_downloads: bool = False

    @property
    def title(self) -> str:
        """Its networks, and what is special about it."""
        network = self.network or " and ".join(self.networks.values())
        return f"{network}, {self.note}" if self.note else network


class Published(Section):
    """What is said of the public outcome: the direction of a quantity, or its log ratio."""

    statement: str
    sign: Mapping[str, int] = {}
    log_ratio: Mapping[str, float] = {}


class Row(Section):
    """A change of the public network."""

    change: str
    before_ends: date | None = None
    after_starts: date | None = None
    window_days: int = 28
    quiet: bool = False
    dates: str
    why: str
    published: Published
    seen_before: str
    public: Mapping[str, Bounds] = {}
    runs: tuple[PredictedRuns, ...]

    @property
    def event(self) -> Event | None:
        """The dates of the change; None where they are not known."""
        dated = self.before_ends and self.after_starts
        return Event(self.before_ends, self.after_starts) if dated else None  # type: ignore[arg-type]


class Predictions(Section):
    """All rows by name."""

    rows: Mapping[str, Row]


def read_predictions(file: Path = HERE / "predictions.yaml") -> Mapping[str, Row]:
    """The rows of ``file``; InputError for a key or value that is none."""
    return validate(Predictions, read_yaml(file), file).rows


def predicted_on(file: Path = HERE / "predictions.yaml") -> dict[str, list[str]]:
    """For each row when its intervals came into git (UTC): of the public outcome, then of its runs."""
    command = ["git", "blame", "--line-porcelain", file.name]
    try:
        blamed = ask(command, PATIENCE_S, folder=file.parent)
    except NoAnswer as no:
        raise InputError(f"the days of its predictions are git's, which {no}", file=file) from None
    if blamed.returncode:
        raise InputError("is not in a checkout, where git knows the days of its predictions", file=file)
    days: dict[str, list[str]] = {}
    row, at = "", ""
    for line in blamed.stdout.splitlines():
        if line.startswith("author-time "):
            at = datetime.fromtimestamp(int(line.split()[1]), UTC).strftime(MINUTE)
        elif named := re.match(r"\t  (\w+):$", line):
            row = named[1]
        elif re.match(r"\t +(public|predicted): \{", line):
            days.setdefault(row, []).append(at)
    return days


def folder_of(tree: Path, part: str, runs: PredictedRuns, side: str) -> Path:
    """Where a tree of results has the ``summaries`` or ``runs`` of a side, above plans and seeds."""
    return (
        tree
        / part
        / runs.sides.experiment
        / runs.engine
        / runs.era
        / (runs.networks.get(side) or runs.network)
    )


def side_of_summary(tree: Path, runs: PredictedRuns, side: str) -> dict[str, dict[int, float]]:
    """Each quantity by seed; empty where the summary is not there, or lacks the variant."""
    folder = folder_of(tree, "summaries", runs, side) / runs.sides.plan
    levels = dict(Variant.parse(getattr(runs.sides, side)).levels)

    if not (folder / "perf_medians.csv").is_file():
        return {}
    tables = {name: statistics()[name].read(folder) for name in ("perf_medians", "medians")}

    def of(name: str, column: str, **more: str) -> dict[int, float]:
        wanted = [pl.col(key).cast(pl.String) == value for key, value in {**levels, **more}.items()]
        # A median that a network did not reach is null: averaging the other networks would flatter that side.
        values = (
            tables[name].filter(*wanted).select("seed", pl.col(column).cast(pl.Float64).fill_null(np.nan))
        )
        return {int(seed): value for seed, value in values.rows() if runs.seeds[0] <= seed <= runs.seeds[1]}

    found = {size: of("perf_medians", "median_s", metric="ttlb", kind=f"perf_{size}") for size in PERF}
    trips = [
        of("perf_medians", "median_s", metric="ttfb_after_command", kind=f"perf_{size}") for size in PERF
    ]
    found["round_trip"] = {
        seed: float(np.exp(np.mean([np.log(of_kind[seed]) for of_kind in trips])))
        for seed in set.intersection(*map(set, trips))
    }
    web = {"metric": "ttlb", "kind": "web"}
    found["web_p90"] = of("medians", "p90_s", **web)
    # Means are of what ended; where a tenth did not, the mean would flatter a side that loses downloads.
    means = of("medians", "mean_s", **web)
    found["web_mean"] = {seed: mean + 0 * found["web_p90"][seed] for seed, mean in means.items()}
    return found


def ratios_of(tree: Path, runs: PredictedRuns) -> dict[str, list[float]]:
    """The log ratio of each network, by quantity; none where a tree lacks the runs."""
    if runs.same_downloads:
        by_seed = folder_of(tree, "runs", runs, "after")
        pairs = [
            (by_seed / f"{seed:.0f}" / runs.sides.before, by_seed / f"{seed:.0f}" / runs.sides.after)
            for seed in np.arange(runs.seeds[0], runs.seeds[1] + 1)
        ]
        if not all(side.is_dir() for pair in pairs for side in pair):
            return {}
        changed = [dict(changes_between(*pair)) for pair in pairs]
        return {key: [each[*of, "paired"] for each in changed] for key, of in SAME_DOWNLOADS.items()}
    before, after = (side_of_summary(tree, runs, side) for side in ("before", "after"))
    found: dict[str, list[float]] = {}
    for key in [key for key in QUANTITIES if key in before and key in after]:
        if seeds := sorted(before[key].keys() & after[key].keys()):
            found[key] = [float(np.log(after[key][seed] / before[key][seed])) for seed in seeds]
    return found


def ran_on(tree: Path, runs: PredictedRuns) -> str:
    """When the first of the runs was finished (UTC); a plan that turns the load has networks of its own."""
    written = [
        file.stat().st_mtime
        for side in ("before", "after")
        for place in [folder_of(tree, "runs", runs, side)]
        for file in place.parent.glob(f"{place.name}*/*/{getattr(runs.sides, side)}/provenance.json")
        if runs.seeds[0] <= int(file.parts[-3]) <= runs.seeds[1]
    ]
    return datetime.fromtimestamp(min(written), UTC).strftime(MINUTE) if written else ""


def effects(
    rows: Mapping[str, Row], trees: Sequence[Path], days: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    """The rows of runs.csv that the ``trees`` of results have."""
    for name, row in rows.items():
        for number, runs in enumerate(row.runs):
            for tree in trees:
                for key, values in ratios_of(tree, runs).items():
                    interval = t_interval(values, CONFIDENCE)
                    low, high = runs.predicted.get(key, (np.nan, np.nan))
                    numbers = {"ratio": interval.mean, "low": interval.low, "high": interval.high}
                    numbers |= {"predicted_low": low, "predicted_high": high}
                    head = {"row": name, "engine": runs.engine, "network": runs.title, "quantity": key}
                    dates = {"predicted_on": days[name][number + 1], "ran_on": ran_on(tree, runs)}
                    yield head | {"networks": len(values)} | rounded(numbers) | dates


def public_effects(rows: Mapping[str, Row], files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """The rows of backtest_public.csv that ``files`` have: those of changes whose two windows they cover."""
    series = read_series(files)
    events = [row.event for row in rows.values() if row.event and not row.quiet]
    for name, row in rows.items():
        for one in changes(series, row.event, events, row.window_days) if row.event else ():
            numbers = {"ratio": one.ratio, "low": one.low, "high": one.high, "sd": one.sd}
            yield (
                {"row": name, "quantity": one.quantity}
                | rounded(numbers)
                | {"placebos": one.placebos, "apart": one.apart}
            )


def score(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How good the predicted times were: of the model, of real tor, and of both. *Score* is the interval
    score (Gneiting and Raftery 2007), its mean in units of the log ratio, of which less is better."""
    found = []
    for who, chosen in (("the model", {True}), ("real tor", {False}), ("both", {True, False})):
        cases = [
            (float(one["predicted_low"]), float(one["predicted_high"]), float(one["ratio"]))
            for one in runs
            if (one["engine"] == "cellsim") in chosen and one["quantity"] != "no_progress"
            if one["ratio"] not in ("", None) and one["predicted_low"] not in ("", None)
        ]
        still = [(-NO_CHANGE, NO_CHANGE, ratio) for *_, ratio in cases]
        row: dict[str, Any] = {"who": who, "times": len(cases)}
        for name, intervals in (("predicted", cases), ("no_change", still)):
            row[f"{name}_covers"] = round(float(np.mean([low <= x <= high for low, high, x in intervals])), 3)
            row[f"{name}_score"] = round(float(np.mean([interval_score(*case) for case in intervals])), 3)
        row["has_0"] = round(float(np.mean([low <= 0 <= high for low, high, _ in cases])), 3)
        found.append(row)
    return found


def interval_score(low: float, high: float, value: float) -> float:
    """The width of an interval, and 2 / (1 − confidence) times what it misses ``value`` by."""
    return high - low + 2 / (1 - CONFIDENCE) * max(0.0, low - value, value - high)


def of_changes(
    rows: Mapping[str, Row], runs: Sequence[Mapping[str, Any]], public: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """A row for each change and quantity with a public outcome: measured, or a direction that was stated."""
    found = []
    for name, row in rows.items():
        measured = {one["quantity"]: one for one in public if one["row"] == name}
        for key in [key for key in QUANTITIES if key in measured or key in row.published.sign]:
            line = {
                "change": row.change,
                "of": QUANTITIES[key],
                "known": "measured" if key in measured else "stated",
            }
            sign = row.published.sign.get(key, 0)
            line["public"] = text(measured[key]) if key in measured else {-1: "shorter", 1: "longer"}[sign]
            for who in ("model", "real"):
                if one := effect_of(runs, name, key, who):
                    way = "right" if float(one["ratio"]) * sign > 0 else "wrong"
                    shown = one["low"] not in ("", None) and float(one["low"]) * float(one["high"]) > 0
                    line |= {who: text(one), f"{who}_sign": way if shown else "not shown"}
                    if key in measured:
                        line[f"{who}_error"] = (
                            f"{abs(float(one['ratio']) - float(measured[key]['ratio'])):.2f}"
                        )
            if key in measured:
                line["no_change_error"] = f"{abs(float(measured[key]['ratio'])):.2f}"
            found.append(line)
    return found


def of_same_downloads(rows: Mapping[str, Row], runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each time of the runs that compare the same downloads: what was predicted, and what came."""
    every = [(name, one) for name, row in rows.items() for one in row.runs]
    same = {(name, one.engine, one.title) for name, one in every if one.same_downloads}
    found = []
    for one in runs:
        if (one["row"], one["engine"], one["network"]) in same and one["ratio"] not in ("", None):
            low, ratio, high = (float(one[key]) for key in ("predicted_low", "ratio", "predicted_high"))
            line = {"change": rows[one["row"]].change, "of": QUANTITIES[one["quantity"]]}
            line |= {key: one[key] for key in ("networks", "predicted_on", "ran_on")}
            line |= {"predicted": f"{number(low)} to {number(high)}", "found": text(one)}
            found.append(line | {"inside": "yes" if low <= ratio <= high else "no"})
    return found


def effect_of(runs: Sequence[Mapping[str, Any]], row: str, key: str, who: str) -> Mapping[str, Any] | None:
    """What the model or real tor says: the predicted runs that come last in predictions.yaml. Of 5 MiB, bulk
    clients' downloads where they were predicted."""
    wanted = {"5mib": ("bulk_5mib", "5mib")}.get(key, (key,))
    found = [
        one
        for one in runs
        if one["row"] == row and one["quantity"] in wanted and one["ratio"] not in ("", None)
        if (one["engine"] == "cellsim") == (who == "model") and one["predicted_low"] not in ("", None)
    ]
    return max(reversed(found), key=lambda one: one["quantity"] == wanted[0], default=None)


def text(one: Mapping[str, Any]) -> str:
    """``−0.05 [−0.07, −0.03]``, without bounds where there are none."""
    words = [number(float(one[key])) for key in ("ratio", "low", "high") if one[key] not in ("", None)]
    return words[0] + (f" [{words[1]}, {words[2]}]" if len(words) == 3 else "")


def number(ratio: float) -> str:
    """A log ratio with two digits, and three where it is below 0.1, with a true minus."""
    return f"{ratio:+.{2 if abs(ratio) >= 0.1 else 3}f}".replace("-", "−")


def rounded(numbers: Mapping[str, float]) -> dict[str, Any]:
    """To four digits; empty where there is no number."""
    return {key: round(float(value), 4) if np.isfinite(value) else "" for key, value in numbers.items()}


def kept(file: Path, fresh: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of ``file``, those about the same as ``fresh`` replaced, in the order of predictions.yaml."""
    anew = {tuple(str(row[key]) for key in keys) for row in fresh}
    with file.open(newline="", encoding="utf-8") as lines:
        old = [row for row in csv.DictReader(lines) if tuple(row[key] for key in keys) not in anew]
    return [*old, *map(dict, fresh)]


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.backtest.scripts.score")
    parser.add_argument("--results", type=Path, nargs="*", default=[], help="trees of results")
    parser.add_argument("--public", type=Path, nargs="*", default=[], help="files about the public network")
    options = parser.parse_args()
    rows = read_predictions()
    order = [(name, one.engine, one.title) for name, row in rows.items() for one in row.runs]
    fresh: list[dict[str, Any]] = []
    days = predicted_on()
    for tree in options.results:
        if not (found := list(effects(rows, [tree], days))):
            accepted = f"a folder with what the plans of {HERE.name} leave in results/"
            raise InputError("has none of the runs that are predicted", file=tree, accepted=accepted)
        fresh += found
    runs = kept(HERE / "runs.csv", fresh, ("row", "engine", "network", "quantity"))
    runs.sort(key=lambda one: order.index((one["row"], one["engine"], one["network"])))
    seen = list(public_effects(rows, options.public)) if options.public else []
    public = kept(TABLES / "backtest_public.csv", seen, ("row", "quantity"))
    tables = {HERE / "runs.csv": runs, TABLES / "backtest_public.csv": public}
    tables |= {
        TABLES / "backtest_score.csv": score(runs),
        TABLES / "backtest_changes.csv": of_changes(rows, runs, public),
        TABLES / "backtest_same_downloads.csv": of_same_downloads(rows, runs),
    }
    for file, table in tables.items():
        columns = list(dict.fromkeys(key for line in table for key in line))
        write_text(file, csv_text(columns, table))


if __name__ == "__main__":
    end_with(main)
