"""A commit of a local git repository as a source of tor.

In: the path of a repository, with a work tree or bare, and a revision. Out: :class:`Commit`, which names its
content, and its files in a folder. What is not committed is never built.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.reading import suggestion
from torsweep.config.tors import HEAD
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.formats.archives import unpack_tarball


@dataclass(frozen=True)
class Commit:
    """A commit of the repository at ``repository``: its own id and that of its tree, in hexadecimal."""

    repository: Path
    commit: str
    tree: str


def find_commit(repository: Path, revision: str = HEAD) -> Commit:
    """The commit that ``revision`` names now.

    Raises InputError when there is none, or when ``revision`` is HEAD and tracked files have changes that are
    not committed; ToolMissing without git.
    """
    if not repository.is_dir():
        raise InputError("no such folder", file=repository, accepted="a git repository of tor")
    answer = _git(repository, "rev-parse", "--is-inside-work-tree", "--show-prefix")
    if answer.returncode:
        raise InputError(f"git cannot read it: {_complaint(answer)}", file=repository)
    inside, *prefix = answer.stdout.splitlines()
    if any(prefix):
        raise InputError("is a folder inside a git repository", file=repository, accepted="the repository")
    ids = [_object(repository, f"{revision}^{{{kind}}}") for kind in ("commit", "tree")]
    if not all(ids):
        names = _git(repository, "for-each-ref", "--format=%(refname:short)").stdout.split()
        raise InputError(
            f"no such revision{suggestion(revision, names)}",
            file=repository,
            value=revision,
            accepted="a branch, a tag or a commit of this repository",
        )
    changed = uncommitted(repository) if revision == HEAD and inside == "true" else ""
    if changed:
        raise InputError(
            f"has changes that are not committed: {changed}",
            file=repository,
            accepted="a tree whose changes are committed, or a revision by name",
        )
    return Commit(repository, ids[0], ids[1])


MAIN_BRANCHES = ("HEAD", "main", "master")
"""Names of the branch where development goes on, at a remote; HEAD is the one that a clone was told of."""


def is_repository(folder: Path) -> bool:
    """Whether ``folder`` is the top of a work tree, or a bare repository."""
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return bare or (folder / ".git").exists()


def left_main(repository: Path, commit: str) -> tuple[str, str] | None:
    """The main branch that ``commit`` left last, and the commit where; ``commit`` itself where it is on it.

    All main branches count, of remotes and local ones: HEAD of a remote may name a branch that has been
    renamed and no longer moves. A local branch with ``commit`` itself counts if no other does: it may be
    ahead of its remote. None where there is no main branch, or nothing in common with one.
    """
    found = []
    for order, branch in enumerate(_main_branches(repository)):
        base = _git(repository, "merge-base", branch, commit).stdout.strip()
        if base:
            own = int(_git(repository, "rev-list", "--count", f"{base}..{commit}").stdout)
            name = branch.removeprefix("refs/remotes/").removeprefix("refs/heads/")
            found.append((base == commit and "/" not in name, own, order, name, base))
    return min(found)[-2:] if found else None


def _main_branches(repository: Path) -> list[str]:
    """The main branches by their whole names: those of remotes first."""
    lines = _git(repository, "for-each-ref", "--format=%(refname)", "refs/remotes", "refs/heads").stdout
    branches = [name for name in lines.split() if name.count("/") == (3 if "/remotes/" in name else 2)]
    named = [(name.rpartition("/")[2], name) for name in branches]
    mains = [(MAIN_BRANCHES.index(last), name) for last, name in named if last in MAIN_BRANCHES]
    return [name for _, name in sorted(mains, key=lambda main: ("/heads/" in main[1], main[0]))]


def is_shallow(repository: Path) -> bool:
    """Whether commits before some depth are missing."""
    return _git(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"


def _object(repository: Path, name: str) -> str:
    answer = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    return answer.stdout.strip() if answer.returncode == 0 else ""


def uncommitted(repository: Path) -> str:
    """The tracked files of a work tree with changes that are not committed, in words; empty for none."""
    answer = _git(repository, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no")
    changed = [line[3:] for line in answer.stdout.splitlines()]
    others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{changed[0]}{others}" if changed else ""


def file_of(commit: Commit, name: str) -> str | None:
    """The text of the file ``name`` at the top of ``commit``; None where there is none."""
    answer = _git(commit.repository, "cat-file", "blob", f"{commit.commit}:{name}")
    return answer.stdout if answer.returncode == 0 else None


def export(commit: Commit, target: Path) -> None:
    """Lay the files of ``commit`` out at ``target``, which must not exist; TorsweepError when git fails."""
    tarball = target.with_name(f"{target.name}.tar")
    tarball.unlink(missing_ok=True)
    archive(commit, tarball)
    unpack_tarball(tarball, target)
    tarball.unlink()


def archive(commit: Commit, tarball: Path, folder: str = "") -> None:
    """Write ``commit`` to ``tarball`` (.tar or .tar.gz), below ``folder``; TorsweepError when git fails."""
    words = (f"--prefix={folder}", f"--output={tarball.resolve()}", commit.commit)
    answer = _git(commit.repository, "archive", *words)
    if answer.returncode:
        raise TorsweepError(f"{commit.repository}: git archive failed: {_complaint(answer)}")


def difference(base: Commit, commit: Commit) -> str:
    """The diff from ``base`` to ``commit``, in the same repository, as git writes it."""
    return _git(commit.repository, "diff", "--no-color", "--no-ext-diff", base.commit, commit.commit).stdout


_OF_ANOTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Variables that a hook of git hands down, and that would go before the repository that is named."""


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("git")
    if program is None:
        raise ToolMissing("git: not on PATH; Debian's package of it: apt-get install git")
    environment = {name: text for name, text in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    return subprocess.run(
        [program, "-C", str(repository), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**environment, "LC_ALL": "C"},
    )


def _complaint(answer: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    return re.sub(r"^fatal: ", "", lines[0]) if lines else f"exit code {answer.returncode}"
