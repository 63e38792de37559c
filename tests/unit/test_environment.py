"""Every description of the package has the same version, and packages at versions that fit each other."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[2]
# conda's name of a package where it differs from the Python package index's.
PYPI_NAME = {"matplotlib-base": "matplotlib", "snakemake-minimal": "snakemake"}
NOT_FROM_THE_LOCK = {"python", "pip", "c-compiler", "rust", "libevent", "make", "openssl", "patch", "zlib"}


def read(name: str) -> str:
    return (ROOT / name).read_text()


def versions(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", read(lock), re.MULTILINE))


def by_name(requirements: Iterable[str]) -> dict[str, str]:
    """What is accepted of each package, by its name in the Python package index."""
    parted = [re.match(r"([A-Za-z0-9._-]+)(.*)", one).groups() for one in requirements]
    return {PYPI_NAME.get(name, name): accepted for name, accepted in parted}


PROJECT = tomllib.loads(read("pyproject.toml"))
FOR_ALL = PROJECT["project"]["dependencies"]
DIRECT = by_name([*FOR_ALL, *chain.from_iterable(PROJECT["project"]["optional-dependencies"].values())])
"""What pyproject.toml accepts of each package that it names for users and developers."""


def test_the_conda_environment_accepts_what_the_project_does():
    accepted = by_name(yaml.safe_load(read("environment.yml"))["dependencies"])
    assert {name: accepted[name] for name in accepted.keys() - NOT_FROM_THE_LOCK} == DIRECT


@pytest.mark.parametrize(
    ("lock", "accepted"),
    [("requirements.lock", DIRECT), ("setup/site.lock", by_name(PROJECT["dependency-groups"]["docs"]))],
    ids=["package", "site"],
)
def test_a_lock_is_within_the_ranges(lock, accepted):
    locked = versions(lock)
    for name, versions_accepted in accepted.items():
        assert Version(locked[name]) in SpecifierSet(versions_accepted), name


def test_the_sites_lock_goes_with_the_other():
    package, site = versions("requirements.lock"), versions("setup/site.lock")
    both = package.keys() & site.keys()
    assert {name: package[name] for name in both} == {name: site[name] for name in both}


@pytest.mark.parametrize("lock", ["requirements.lock", "setup/site.lock"])
def test_the_lock_has_a_hash_for_every_package_and_no_address(lock):
    lock_text = read(lock)
    entries = re.split(r"\n(?=[a-z0-9])", lock_text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in lock_text
    assert not re.search(r"^-", lock_text, re.MULTILINE), "an option line of pip, such as --find-links"


def test_every_description_has_one_version_and_licence():
    engine = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["version"]
    package = re.search(r'__version__ = "(.*)"', read("src/torsweep/__init__.py"))[1]
    recipe = yaml.safe_load(read("recipe/recipe.yaml"))["context"]["version"]
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors", "abstract"} <= citation.keys()
    assert PROJECT["project"]["version"] == engine == package == recipe == citation["version"]
    assert citation["license"] == PROJECT["project"]["license"]


def test_the_recipe_requires_what_the_project_does():
    lines = yaml.safe_load(read("recipe/recipe.yaml"))["requirements"]["run"]
    required = by_name(line.replace(" ", "", 1) for line in lines)
    assert required.pop("python") == PROJECT["project"]["requires-python"]
    assert required == by_name(FOR_ALL)
