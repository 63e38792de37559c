"""A repository with a branch, a patch, and sources of tor that are large enough to tell apart."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from torsweep.study import named_tor


def git(repository: Path, *arguments: str) -> str:
    """Run git in ``repository``; what it prints."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit(repository: Path, text: str) -> str:
    """Commit ``text`` as the one file of ``repository``; the commit."""
    (repository / "kist.c").write_text(text)
    git(repository, "add", "kist.c")
    git(repository, "commit", "-q", "-m", "change")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with ``main`` and ``my-branch``, which left it one commit before its end."""
    folder = tmp_path / "tor"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "configure.ac").write_text("AC_INIT([tor],[0.4.9.1])\n")
    git(folder, "add", "configure.ac")
    commit(folder, "int interval = 10;\n")
    git(folder, "tag", "left-here")
    git(folder, "checkout", "-q", "-b", "my-branch")
    commit(folder, "int interval = 1;\n")
    git(folder, "checkout", "-q", "main")
    commit(folder, "int interval = 10; int more;\n")
    return folder


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    """A patch file."""
    file = tmp_path / "kist-idle.patch"
    file.write_text("--- a/kist.c\n+++ b/kist.c\n@@ -1 +1 @@\n-int a;\n+int b;\n")
    return file


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that says that it is tor."""
    file = tmp_path / "my-tor"
    file.write_text("#!/bin/sh\necho Tor version 0.4.8.17.\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def nothing_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every source takes the project's series and the user's patches."""
    monkeypatch.setattr(named_tor, "_why_not", lambda tor: "")
    monkeypatch.setattr(named_tor, "_require_patches", lambda tor: None)
