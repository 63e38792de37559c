"""The wheel of `make dist` in an environment with only Python: from a study to figures, no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from platform import machine

import pytest

from tests.workflow.conftest import REPOSITORY, TIMEOUT_S, TINY
from torsweep import __version__

WHEELS = sorted((REPOSITORY / "dist").glob(f"torsweep-{__version__}-*_{machine()}.whl"))
pytestmark = pytest.mark.skipif(not WHEELS, reason="dist/ has no wheel of this version: `make dist` makes it")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin/ of an environment with the wheel, and with the packages that it needs from this one's."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, symlinks=True)
    programs = place / "bin"
    command = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet"]
    subprocess.run([*command, "--no-index", "--no-deps", str(WHEELS[-1])], check=True)
    (packages,) = place.glob("lib/*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "needed.pth").write_text("".join(f"{path}\n" for path in here))
    return programs


def _run(programs: Path, where: Path, *command: str) -> str:
    # /bin has a shell; a checkout, Rust and this environment's programs are out of reach.
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(where), "LANG": "C.UTF-8"}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_a_study_of_the_wheel_goes_through_to_figures(programs, tmp_path):
    python = str(programs / "python")
    told = _run(programs, tmp_path, python, "-c", "from torsweep.home import CHECKOUT; print(CHECKOUT)")
    assert Path(told.strip()).is_relative_to(programs.parent)
    _run(programs, tmp_path, "torsweep", "new", "study")
    config = ("engine=cellsim", *(one for one in TINY if "replicates" not in one), "replicates=1")
    snakemake = [python, "-m", "snakemake", "--cores", str(os.cpu_count() or 1), "refill_sweep"]
    _run(programs, tmp_path / "study", *snakemake, "--config", *config)
    assert list((tmp_path / "study/results/figures/refill_sweep").rglob("*.pdf"))


@pytest.mark.parametrize("program", ["cellsim", "linkem"])
def test_the_wheel_has_the_programs(programs, tmp_path, program):
    assert __version__ in _run(programs, tmp_path, program, "--version")
