"""A wheel carries what studies find of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from torsweep import home
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.home import CHECKOUT, SHIPPED

TAKEN = ("Snakefile", "rules", "configs", "topologies", "plotting", "profiles", "patches")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())


def test_what_ships_is_what_the_pipeline_works_in():
    """One link each to the folders that home.py is asked for, and to no others."""
    assert sorted(link.name for link in SHIPPED.iterdir()) == sorted({*TAKEN, str(EXPERIMENTS_DIRECTORY)})
    assert all(link.is_symlink() and link.samefile(CHECKOUT / link.name) for link in SHIPPED.iterdir())


def test_the_wheel_takes_every_file_behind_the_links():
    """maturin takes links to files by itself, and the files behind links to folders by the pattern."""
    (pattern,) = PROJECT["tool"]["maturin"]["include"]
    assert pattern["format"] == ["wheel", "sdist"]
    start, rest = pattern["path"].split("/*/")
    assert (CHECKOUT / start, rest) == (SHIPPED, "**/*")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The package as a wheel installs it: files where the checkout has links."""
    place = tmp_path_factory.mktemp("site-packages")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(home.__file__).parent, place / "torsweep", ignore=ignored)
    return place


def test_an_installed_torsweep_finds_what_it_carries(installed, tmp_path):
    script = (
        "from torsweep.home import CHECKOUT, SHIPPED\n"
        "from torsweep.config.experiment import experiment_names\n"
        "from torsweep.pipeline.figures import figures\n"
        "from torsweep.config.network import load_network_config\n"
        "from torsweep.network.sampling import input_paths\n"
        "from torsweep.tor.series import read_series\n"
        "assert CHECKOUT == SHIPPED\n"
        "assert all(path.is_file() for path in input_paths(load_network_config('ci')).values())\n"
        "print(CHECKOUT, *experiment_names(), *figures(), len(read_series().patches))\n"
    )
    found = _python(installed, tmp_path, "-c", script).split()
    assert found[0] == str(installed / "torsweep/shipped")
    assert {"refill_sweep", "ttfb_cdf"} <= set(found)
    assert int(found[-1]) == len((CHECKOUT / "patches/tor/series").read_text().split())


def test_an_installed_torsweep_makes_a_study(installed, tmp_path):
    _python(installed, tmp_path, "-m", "torsweep", "new", "study")
    file = "profiles/default/config.yaml"
    assert (tmp_path / "study" / file).read_text() == (CHECKOUT / file).read_text()


def _python(installed: Path, where: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout
