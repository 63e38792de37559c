"""A study with its own measure, statistic, claim and figure is published, and made again from the bundle."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.own_analysis import write_own_analysis
from tests.workflow import warm
from tests.workflow.conftest import REPOSITORY, TIMEOUT_S
from torsweep.study.new import shared_texts

LEVELS = {"refill_interval": ["1000 ms", "10 ms"], "circuit_policy": ["ewma"]}
KEYS = {
    "knobs": LEVELS,
    "baseline": {"refill_interval": "1000 ms", "circuit_policy": "ewma"},
    "network": "ci",
    "replicates": 2,
    "client_start_window": "5 s",
    "warm_up": "5 s",
    "measured": "20 s",
}
PLAN = "mine/cellsim/2012/ci/main"


def _snakemake(folder: Path, target: str) -> str:
    words = ("snakemake", "--cores", "2", target, "--config", "engine=cellsim")
    done = warm.run(words, folder, TIMEOUT_S, modules=str(REPOSITORY / "src"))
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_bundle_with_an_analysis_of_its_own_is_made_again(tmp_path: Path) -> None:
    study, there = tmp_path / "study", tmp_path / "there"
    write_own_analysis(study, **KEYS)
    for name, text in shared_texts().items():
        (study / name).parent.mkdir(parents=True, exist_ok=True)
        (study / name).write_text(text)
    _snakemake(study, "publish")
    made = study / "results/publish" / PLAN
    assert "slow_downloads" in (made / "summaries/measures.csv").read_text()
    claims = json.loads((made / "summaries/claims.json").read_text())
    assert "fewest_at_10ms" in json.dumps(claims)
    assert "Twice the seed" in (made / "report.html").read_text()

    with zipfile.ZipFile(study / "results/bundles" / PLAN / "mine.zip") as bundle:
        bundle.extractall(there)
    said = _snakemake(there / "study", "mine")
    assert "was published with torsweep" not in said
    again = there / "study/results"
    for name in ("twice.csv", "measures.csv", "claims.json"):
        assert (again / "summaries" / PLAN / name).read_bytes() == (made / "summaries" / name).read_bytes()
    bars = "twice_bars.pdf"
    assert (again / "figures" / PLAN / bars).read_bytes() == (made / "figures" / bars).read_bytes()

    (there / "study/made_with.json").write_text('{"torsweep": "0.0.9", "analysis": "0123456789ab"}')
    (again / "figures" / PLAN / bars).unlink()
    assert "was published with torsweep 0.0.9 (analysis 0123456789ab)" in _snakemake(there / "study", "mine")
