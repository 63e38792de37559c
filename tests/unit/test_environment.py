"""The lock, environment.yml and pyproject.toml name the same packages at the same versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
# conda's name of a package where it differs from the Python package index's.
PYPI_NAME = {"snakemake-minimal": "snakemake"}
NOT_FROM_THE_LOCK = {"python", "pip", "c-compiler", "rust", "libevent", "make", "openssl", "patch", "zlib"}
TOOLS_ON_NO_CHANNEL = ("shadow", "tgen", "oniontrace", "tornettools")


def read(name: str) -> str:
    return (ROOT / name).read_text()


@pytest.fixture(scope="module")
def lock_text() -> str:
    return read("requirements.lock")


@pytest.fixture(scope="module")
def locked(lock_text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", lock_text, re.MULTILINE))


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads(read("pyproject.toml"))


@pytest.fixture(scope="module")
def conda_pins() -> dict[str, str]:
    dependencies = yaml.safe_load(read("environment.yml"))["dependencies"]
    pins = {}
    for dependency in dependencies:
        name, _, version = dependency.partition("=")
        if re.split(r"[<>]", name)[0] not in NOT_FROM_THE_LOCK:
            pins[PYPI_NAME.get(name, name)] = version
    return pins


def direct_dependencies(project: dict) -> set[str]:
    requirements = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"]
    return {re.match(r"[A-Za-z0-9._-]+", requirement)[0] for requirement in requirements}


def test_every_pin_of_the_conda_environment_is_the_locks(conda_pins, locked):
    assert conda_pins == {name: locked.get(name) for name in conda_pins}


def test_the_conda_environment_has_every_direct_dependency(conda_pins, project):
    assert set(conda_pins) == direct_dependencies(project)


def test_each_package_is_locked_at_one_version(lock_text, locked):
    assert len(re.findall(r"^[a-z0-9._-]+==", lock_text, re.MULTILINE)) == len(locked)


def test_the_lock_has_a_hash_for_every_package_and_no_address(lock_text):
    entries = re.split(r"\n(?=[a-z0-9])", lock_text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in lock_text
    assert not re.search(r"^-", lock_text, re.MULTILINE), "an option line of pip, such as --find-links"


def test_the_oldest_rust_is_the_same_wherever_it_is_stated():
    oldest = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["rust-version"]
    assert f"rust>={oldest}" in yaml.safe_load(read("environment.yml"))["dependencies"]
    assert f"Rust {oldest} or later" in read("README.md")


@pytest.mark.parametrize("tool", TOOLS_ON_NO_CHANNEL)
def test_tools_on_no_channel_stand_as_comments_with_version_and_guide(tool):
    comments = re.findall(r"^# +(\S+) +(\d+\.\d+\.\d+) +(https://\S+)", read("environment.yml"), re.MULTILINE)
    assert tool in {name for name, _, _ in comments}


def test_package_and_engine_have_one_version(project):
    engine = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["version"]
    package = re.search(r'__version__ = "(.*)"', read("src/torsweep/__init__.py"))[1]
    assert project["project"]["version"] == engine == package
