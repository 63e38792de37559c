"""Every description of the package has the same version, and packages at versions that fit each other."""

from __future__ import annotations

import re
import tomllib
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


@pytest.fixture(scope="module", params=["requirements.lock", "setup/site.lock"])
def lock_text(request) -> str:
    return read(request.param)


def versions(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", lock, re.MULTILINE))


@pytest.fixture(scope="module")
def locked() -> dict[str, str]:
    return versions(read("requirements.lock"))


@pytest.fixture(scope="module")
def locked_for_the_site() -> dict[str, str]:
    return versions(read("setup/site.lock"))


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads(read("pyproject.toml"))


NAME = re.compile(r"[A-Za-z0-9._-]+")


@pytest.fixture(scope="module")
def conda_ranges() -> dict[str, str]:
    """What environment.yml accepts of each Python package, by its name in the Python package index."""
    ranges = {}
    for dependency in yaml.safe_load(read("environment.yml"))["dependencies"]:
        name = NAME.match(dependency)[0]
        if name not in NOT_FROM_THE_LOCK:
            ranges[PYPI_NAME.get(name, name)] = dependency.removeprefix(name)
    return ranges


def direct_dependencies(project: dict) -> dict[str, str]:
    """What pyproject.toml accepts of each package that it names for users and developers."""
    requirements = project["project"]["dependencies"] + [
        one for extra in project["project"]["optional-dependencies"].values() for one in extra
    ]
    return by_name(requirements)


def by_name(requirements: list[str]) -> dict[str, str]:
    return {NAME.match(one)[0]: one.removeprefix(NAME.match(one)[0]) for one in requirements}


def test_the_conda_environment_accepts_what_the_project_does(conda_ranges, project):
    assert conda_ranges == direct_dependencies(project)


def test_the_lock_is_within_the_ranges(project, locked):
    for name, accepted in direct_dependencies(project).items():
        assert Version(locked[name]) in SpecifierSet(accepted), name


def test_the_sites_lock_is_within_the_ranges_and_goes_with_the_other(project, locked, locked_for_the_site):
    for name, accepted in by_name(project["dependency-groups"]["docs"]).items():
        assert Version(locked_for_the_site[name]) in SpecifierSet(accepted), name
    both = locked.keys() & locked_for_the_site.keys()
    assert {name: locked[name] for name in both} == {name: locked_for_the_site[name] for name in both}


def test_the_lock_has_a_hash_for_every_package_and_no_address(lock_text):
    entries = re.split(r"\n(?=[a-z0-9])", lock_text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in lock_text
    assert not re.search(r"^-", lock_text, re.MULTILINE), "an option line of pip, such as --find-links"


def test_every_description_has_one_version_and_licence(project):
    engine = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["version"]
    package = re.search(r'__version__ = "(.*)"', read("src/torsweep/__init__.py"))[1]
    recipe = yaml.safe_load(read("recipe/recipe.yaml"))["context"]["version"]
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors", "abstract"} <= citation.keys()
    assert project["project"]["version"] == engine == package == recipe == citation["version"]
    assert citation["license"] == project["project"]["license"]


def test_the_recipe_requires_what_the_project_does(project):
    lines = yaml.safe_load(read("recipe/recipe.yaml"))["requirements"]["run"]
    run = dict(line.partition(" ")[::2] for line in lines)
    assert run.pop("python") == project["project"]["requires-python"]
    required = by_name(project["project"]["dependencies"])
    assert {PYPI_NAME.get(name, name): accepted for name, accepted in run.items()} == required
