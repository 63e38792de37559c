"""A small plan with everything that goes with it, for tests of pages and bundles.

In: a folder. Out: tables, summaries, figures, networks and runs of ``refill_sweep`` in it, from
:mod:`tests.synthetic`; the figures are tiny pictures that say what a figure says of itself.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.small_network import equal_rtts, small_network
from tests.synthetic import Size, finish_run, gathered, summarized, write_sweep
from torsweep.bundle import Sources, publish
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.engines.run_spec import read_run
from torsweep.network.model import NETWORK_FILE, write_network
from torsweep.provenance import sha256_of_file
from torsweep.report import gather, render
from torsweep.storage import write_text

EXPERIMENT = Path(__file__).parents[1] / "experiments/refill_sweep/experiment.yaml"
SMALL = Size(web_clients=10, bulk_clients=3, relays=3, warm_up_s=10, duration_s=70)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class PublishedPlan:
    """The folders of a plan below ``folder``."""

    folder: Path
    runs: tuple[Path, ...]
    networks: tuple[Path, ...]
    experiment: Experiment

    def stage(self, name: str) -> Path:
        """The folder of tables, summaries or figures."""
        return self.folder / name

    @property
    def page(self) -> Path:
        """Where the plan's page is to stand."""
        return self.folder / "refill_sweep.html"

    def report(self) -> None:
        """Write the page."""
        page = gather(self.stage("summaries"), self.stage("figures"), EXPERIMENT, self.networks)
        write_text(self.page, render(page))

    def publish(self, out: Path, experiment: Path = EXPERIMENT) -> None:
        """Publish the plan, page and all, to ``out``."""
        stages = (self.stage(name) for name in ("tables", "summaries", "figures"))
        sources = Sources(*stages, self.page, experiment, self.runs)
        publish(sources, {}, out)


def write_plan(folder: Path) -> PublishedPlan:
    """Write the plan into ``folder``, which has the networks in ``networks/ci``."""
    networks = []
    for seed in SEEDS:
        made = small_network(("guard_exit", "exit", "guard"), ["web1", "bulk1"])
        made = made.model_copy(update={"seed": seed})
        networks.append(folder / "networks" / "ci" / str(seed))
        write_network(made, equal_rtts(made), networks[-1])
    runs = write_sweep(folder / "runs", run_seeds=SEEDS, size=SMALL)
    for directory in runs:
        run = read_run(directory)
        digest = sha256_of_file(folder / "networks" / "ci" / str(run.seed) / NETWORK_FILE)
        moved = {"network": f"../../../networks/ci/{run.seed}", "network_sha256": digest}
        run.model_copy(update=moved).write(directory)
        finish_run(directory, engine="cellsim", engine_version="0.1.0")
    experiment = load_experiment(EXPERIMENT)
    summarized(gathered(runs, folder), experiment, folder)
    _draw(folder / "figures", experiment)
    return PublishedPlan(folder, tuple(runs), tuple(networks), experiment)


def copied(plan: PublishedPlan, folder: Path) -> PublishedPlan:
    """A copy of ``plan`` in ``folder``, to be damaged."""
    shutil.copytree(plan.folder, folder)

    def moved(paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(folder / path.relative_to(plan.folder) for path in paths)

    return PublishedPlan(folder, moved(plan.runs), moved(plan.networks), plan.experiment)


def _draw(folder: Path, experiment: Experiment) -> None:
    folder.mkdir()
    for name in experiment.figures:
        said = PngInfo()
        for key in ("Title", "Comment", "Description"):
            said.add_text(key, f"What {name} says of itself, {key}.")
        Image.new("RGB", (1020, 600), "white").save(folder / f"{name}.png", pnginfo=said)
        (folder / f"{name}.pdf").write_bytes(b"%PDF")
        (folder / f"{name}.csv").write_text("x,y\n1,2\n")
