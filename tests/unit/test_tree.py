"""The files under version control are free of one machine's traces."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Written in two parts, or this file would be the first finding.
REGISTRY_HOSTS = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "static.crates" + ".io",
    "index.crates" + ".io",
    "anaconda" + ".org",
    "anaconda" + ".com",
    "registry." + "npmjs.org",
]
MACHINE_PATH = re.compile(r"(?<![\w.}/-])/(?:work|root|home|Users|tmp|opt)/[\w.-]")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The text of every tracked file that is text, by its path from the top."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so there is no list of tracked files")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = {}
    for name in filter(None, listed.stdout.split("\0")):
        try:
            found[name] = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
    return found


def test_no_file_names_a_package_registry(texts):
    assert [(name, host) for name, text in texts.items() for host in REGISTRY_HOSTS if host in text] == []


def test_no_file_names_a_path_of_one_machine(texts):
    assert {name: match[0] for name, text in texts.items() if (match := MACHINE_PATH.search(text))} == {}
