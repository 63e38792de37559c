"""A folder of an experiment is the whole study: without it, everything else is planned as before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINKED = ("Snakefile", "rules", "configs", "patches", "plotting", "profiles", "topologies", "docs", "src")
IMPORT = re.compile(r"^\s*(from|import) experiments\b", re.MULTILINE)

PLAN = """
import sys
from pathlib import Path

from docs.generate.schema import schema_text
from torsweep.config.experiment import experiment_names
from torsweep.errors import TorsweepError
from torsweep.pipeline.paths import Paths
from torsweep.stats import listing

def planned():
    listing._own_modules.cache_clear()
    for module in [name for name in sys.modules if name.startswith("experiments.")]:
        del sys.modules[module]
    paths, files = Paths({"engine": "cellsim"}), {}
    for name in experiment_names():
        try:
            files[name] = paths.targets(name)
        except (TorsweepError, SystemExit) as error:
            files[name] = str(error)
    return files

whole = planned()
assert sum(isinstance(files, list) for files in whole.values()) > 10, whole
for name in whole:
    Path("experiments", name).rename("aside")
    assert planned() == {other: files for other, files in whole.items() if other != name}, name
    assert schema_text() == Path("configs/schema.json").read_text(), name
    Path("aside").rename(Path("experiments", name))
print(len(whole))
"""


def test_each_can_be_deleted_and_the_others_are_planned_as_before(tmp_path):
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments")
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])}
    command = [sys.executable, "-c", PLAN]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(list(ROOT.glob("experiments/*/experiment.yaml")))


def test_nothing_shared_imports_from_an_experiment():
    shared = [file for folder in ("src", "plotting") for file in (ROOT / folder).rglob("*.py")]
    assert len(shared) > 200
    assert [str(file) for file in shared if IMPORT.search(file.read_text(encoding="utf-8"))] == []
