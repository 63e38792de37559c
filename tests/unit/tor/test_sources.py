"""Tors out of git, programs, patches of the user: their keys, their builds, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stand_ins import executable
from torsweep.config.tors import TorSource
from torsweep.errors import InputError, ToolMissing, TorsweepError
from torsweep.tor import build
from torsweep.tor import compile as compiling
from torsweep.tor.build import build_tor, planned_key
from torsweep.tor.builds import find_build, marker_name, read_build, read_stamp

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not on PATH")
AC = "AC_INIT([tor],[0.4.8.2-dev])\n"
AUTHOR = ("-c", "user.name=somebody", "-c", "user.email=somebody@localhost")


@pytest.fixture(autouse=True)
def _at_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the project's series is found; nothing is remembered of another test's sources."""
    monkeypatch.chdir(ROOT)
    planned_key.cache_clear()


def git(folder: Path, *words: str) -> str:
    answer = subprocess.run(["git", *AUTHOR, *words], cwd=folder, capture_output=True, text=True, check=True)
    return answer.stdout.strip()


def commit(repository: Path, message: str) -> str:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", message)
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of a tor of a few lines, with a branch ``other`` that differs in one."""
    folder = tmp_path / "tor"
    (folder / "src").mkdir(parents=True)
    (folder / "configure.ac").write_text(AC)
    (folder / "src" / "clock.c").write_text("one\ntwo\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "tor")
    git(folder, "checkout", "--quiet", "-b", "other")
    (folder / "src" / "clock.c").write_text("one\n2\n")
    commit(folder, "another line")
    git(folder, "checkout", "--quiet", "main")
    return folder


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A stand-in for configure and make whose tor prints its own source; the trees that it was given."""
    trees: list[Path] = []

    def configure(tree: Path, built: Path, log: Path) -> list[str]:
        trees.append(tree)
        built.mkdir(parents=True)
        text = (tree / "src" / "clock.c").read_text()
        log.write_text(
            f"  CC  clock.o\nclock.c:1:1: error: {text.splitlines()[0]}\nmake: *** [clock.o] Error 1\n"
        )
        if text.startswith("broken"):
            raise TorsweepError("make of tor failed: clock.c:1:1: error: broken")
        for name in build.BUILT_PROGRAMS.values():
            program = built / name
            executable(program, f"#!/bin/sh\necho 'Tor version 0.4.8.2-dev.'\nexit\n{text}")
        return compiling.configure_flags()

    monkeypatch.setattr(build, "check_requirements", lambda: None)
    monkeypatch.setattr(build, "configure", configure)
    monkeypatch.setattr(build, "compile_tor", lambda *words: None)
    return trees


def of(repository: Path, **keys: object) -> TorSource:
    return TorSource.model_validate({"git": str(repository), "series": "none", **keys})


def program(path: Path, script: str, dirauth: str = "yes") -> Path:
    """A program that answers with ``script``, and says that it has the modules of a tor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    modules = f'[ "$1" = --list-modules ] && {{ echo relay: yes; echo dirauth: {dirauth}; exit; }}'
    return executable(path, f"#!/bin/sh\n{modules}\n{script}\n")


def test_two_builds_whose_sources_differ_in_one_line_have_different_keys(repository, tmp_path, compiler):
    builds = [build_tor(of(repository, revision=name), tmp_path / "tools") for name in ("main", "other")]
    assert builds[0].version != builds[1].version
    assert [built.version.rsplit("-", 1)[1] for built in builds] == [
        planned_key(of(repository, revision=name)) for name in ("main", "other")
    ]
    assert [find_build(tmp_path / "tools", built.version) for built in builds] == builds
    assert builds[0].program.read_text() != builds[1].program.read_text()


def test_the_commit_of_a_build_is_recorded_and_nothing_is_built_twice(repository, tmp_path, compiler):
    built = build_tor(of(repository), tmp_path / "tools")
    assert built.facts["source_commit"] == git(repository, "rev-parse", "main")
    assert built.facts["source_tree"] == git(repository, "rev-parse", "main^{tree}")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "the same files")
    planned_key.cache_clear()
    assert build_tor(of(repository), tmp_path / "tools") == built
    assert len(compiler) == 1


def test_the_repository_that_is_named_counts_inside_a_hook_of_another(repository, monkeypatch):
    key = planned_key(of(repository))
    planned_key.cache_clear()
    monkeypatch.setenv("GIT_DIR", str(ROOT / "nowhere"))
    assert planned_key(of(repository)) == key


def test_changes_that_are_not_committed_are_refused_unless_a_revision_is_named(repository):
    (repository / "src" / "clock.c").write_text("three\n")
    (repository / "notes").write_text("untracked files are not part of tor")
    with pytest.raises(InputError, match=r"tor: has changes that are not committed: src/clock\.c; accepted"):
        planned_key(of(repository))
    assert planned_key(of(repository, revision="main"))


@pytest.mark.parametrize("revision", ["nothing", "--help", "main:src/clock.c", "HEAD~9"])
def test_a_revision_that_does_not_exist_is_named(repository, revision):
    with pytest.raises(InputError, match=f"no such revision, got '{revision}'; accepted: a branch, a tag"):
        planned_key(of(repository, revision=revision))


def test_a_folder_that_is_no_repository_of_tor_is_named(repository, tmp_path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError, match="nowhere: no such folder"):
        planned_key(of(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="plain: git cannot read it: not a git repository"):
        planned_key(of(tmp_path / "plain"))
    with pytest.raises(InputError, match="src: is a folder inside a git repository"):
        planned_key(of(repository / "src"))
    (repository / "configure.ac").unlink()
    commit(repository, "no tor")
    with pytest.raises(InputError, match=r"is no source of tor: it has no configure\.ac, got 'HEAD'"):
        planned_key(of(repository))


@pytest.mark.parametrize(
    ("version", "series", "line"),
    [
        ("0.4.8.2", "project", r"patches are for another release series of tor, got '0\.4\.8\.2'"),
        ("0.4.6.10", "none", "is too old a tor, got '0.4.6.10'; accepted: 0.4.7 or later"),
    ],
)
def test_a_version_that_cannot_be_built_is_refused_when_it_is_planned(repository, version, series, line):
    (repository / "configure.ac").write_text(AC.replace("0.4.8.2-dev", version))
    commit(repository, version)
    with pytest.raises(InputError, match=line):
        planned_key(of(repository, series=series))


def test_patches_are_part_of_the_key_by_content_and_applied_in_order(repository, tmp_path, compiler):
    if shutil.which("patch") is None:
        pytest.skip("patch is not on PATH")
    patch = tmp_path / "one.patch"
    patch.write_text("--- a/src/clock.c\n+++ b/src/clock.c\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    renamed = tmp_path / "renamed.patch"
    shutil.copy(patch, renamed)
    patched = of(repository, patches=[str(patch)])
    assert planned_key(patched) != planned_key(of(repository))
    assert planned_key(of(repository, patches=[str(renamed)])) == planned_key(patched)
    built = build_tor(patched, tmp_path / "tools")
    assert "one\n2\n" in built.program.read_text()
    assert list(built.facts["user_patches"]) == ["one.patch"]
    with pytest.raises(
        InputError, match=r"renamed\.patch: does not apply: src/clock\.c: .*previously applied"
    ):
        build_tor(of(repository, patches=[str(patch), str(renamed)]), tmp_path / "tools")
    with pytest.raises(InputError, match=r"missing\.patch: no such file"):
        planned_key(of(repository, patches=["missing.patch"]))


def test_a_failed_build_keeps_its_log_and_leaves_the_others_alone(repository, tmp_path, compiler):
    tools = tmp_path / "tools"
    good = build_tor(of(repository), tools)
    (repository / "src" / "clock.c").write_text("broken\n")
    commit(repository, "broken")
    planned_key.cache_clear()
    log = tools / f"failed-build-{planned_key(of(repository))}.log"
    with pytest.raises(TorsweepError, match=f"error: broken; log: {log}$"):
        build_tor(of(repository), tools)
    assert "error: broken" in log.read_text()
    assert read_build(good.folder) == good
    assert [folder.name for folder in tools.glob("0.4*")] == [good.folder.name]
    assert not list(tools.glob("building/*/source*"))


@pytest.mark.parametrize("one_process", [True, False])
def test_a_branch_that_moves_between_plan_and_build_is_not_built_under_the_planned_key(
    repository, tmp_path, compiler, one_process
):
    """Also in one process, which keeps the keys that it has worked out."""
    stamp = tmp_path / marker_name(planned_key(of(repository)))
    (repository / "src" / "clock.c").write_text("five\n")
    commit(repository, "another tor")
    if not one_process:
        planned_key.cache_clear()
    with pytest.raises(InputError, match="has changed since it was planned"):
        build_tor(of(repository), tmp_path / "tools", stamp=stamp)
    assert not stamp.exists() and not compiler


@pytest.mark.parametrize("step", ["unpack", "ask_version"])
def test_a_tarball_or_a_program_that_changes_while_it_is_copied_is_not_taken(
    tarball, tmp_path, compiler, monkeypatch, step
):
    own = program(tmp_path / "tor", "echo Tor version 0.4.8.17.")
    program(tmp_path / "tor-gencert", "exit 0")
    released = TorSource(source=str(tarball), series="none")
    tor, file = (released, tarball) if step == "unpack" else (TorSource(program=own), own)
    take = getattr(build, step)

    def edited(*words):
        answer = take(*words)
        file.write_bytes(file.read_bytes() + b"# more\n")
        return answer

    monkeypatch.setattr(build, step, edited)
    with pytest.raises(InputError, match="has changed while it was copied"):
        build_tor(tor, tmp_path / "tools")
    assert not compiler and not list((tmp_path / "tools").glob("0.4*"))


def test_only_a_release_with_the_series_becomes_the_build_that_is_taken_by_default(
    repository, tmp_path, compiler
):
    build_tor(of(repository), tmp_path / "tools", stamp=tmp_path / "stamp")
    assert not list((tmp_path / "tools").glob("built-*"))
    assert read_stamp(tmp_path / "stamp").startswith("0.4.8.2-dev-")


def test_no_other_tor_of_an_experiment_becomes_stock(tarball, tmp_path, compiler, monkeypatch):
    monkeypatch.setattr(build, "apply_series", lambda series, tree: None)
    release, tools = TorSource(source=str(tarball)), tmp_path / "tools"
    built = build_tor(release, tools, stamp=tmp_path / "stamp")
    with pytest.raises(ToolMissing, match="no tor with this patch series is built"):
        find_build(tools)
    assert build_tor(release, tools) == find_build(tools) == built


def test_a_source_without_configure_needs_autoconf(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "check_requirements", lambda: None)
    found = shutil.which
    hidden = ("autoreconf", "automake")
    monkeypatch.setattr(compiling.shutil, "which", lambda name: None if name in hidden else found(name))
    with pytest.raises(
        ToolMissing, match=r"needs autoconf, automake, .*: apt-get install autoconf automake$"
    ):
        build_tor(of(repository), tmp_path / "tools")


def test_a_program_is_taken_as_it_is(tmp_path):
    own = program(tmp_path / "tor" / "src" / "app" / "tor", "echo 'Tor version 0.4.8.17 (git-abc).'")
    program(tmp_path / "tor" / "src" / "tools" / "tor-gencert", "exit 0")
    tor = TorSource(program=own)
    built = build_tor(tor, tmp_path / "tools")
    assert built.version == f"0.4.8.17-{planned_key(tor)}"
    assert built.program.read_bytes() == own.read_bytes()
    assert os.access(built.gencert, os.X_OK)
    assert find_build(tmp_path / "tools", built.version) == built
    shutil.rmtree(tmp_path / "tor" / "src" / "tools")
    program(own, "echo 'Tor version 0.4.8.17 (git-abd).'")
    planned_key.cache_clear()
    again = build_tor(tor, tmp_path / "tools")
    assert again.version != built.version
    assert again.gencert.read_bytes() == built.gencert.read_bytes()


@pytest.mark.parametrize(
    ("script", "dirauth", "line"),
    [
        ("echo bash 5.2", "yes", "does not run here as tor; its answer to --version is: bash 5.2"),
        ("echo cannot open libevent.so >&2; exit 127", "yes", "to --version is: cannot open libevent.so"),
        ("echo Tor version 0.4.6.1.", "yes", "is too old a tor, got '0.4.6.1'"),
        ("echo Tor version 0.4.8.17.", "no", "without a part that a private network needs, got 'dirauth'"),
    ],
)
def test_a_program_that_is_no_tor_of_a_private_network_is_refused(tmp_path, script, dirauth, line):
    with pytest.raises(InputError, match=line) as raised:
        build_tor(TorSource(program=program(tmp_path / "tor", script, dirauth)), tmp_path / "tools")
    assert str(raised.value).startswith(f"{tmp_path / 'tor'}: ")


def test_a_program_of_another_machine_or_none_is_refused(tmp_path):
    foreign = tmp_path / "tor"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00" + bytes(200))
    with pytest.raises(InputError, match="does not start: Permission denied; accepted: a program built for"):
        build_tor(TorSource(program=foreign), tmp_path / "tools")
    foreign.chmod(0o755)
    with pytest.raises(InputError, match="does not start: Exec format error"):
        build_tor(TorSource(program=foreign), tmp_path / "tools")
    with pytest.raises(InputError, match="missing: no such file; accepted: a program tor"):
        build_tor(TorSource(program=tmp_path / "missing"), tmp_path / "tools")


def test_a_program_without_tor_gencert_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    alone = program(tmp_path / "tor", "echo Tor version 0.4.8.17.")
    with pytest.raises(ToolMissing, match=r"tor-gencert: not beside .*tor, nor on PATH; `make"):
        build_tor(TorSource(program=alone), tmp_path / "tools")


def test_the_options_of_the_command_make_a_tor_of_their_own(repository, tmp_path, compiler, torsweep):
    tools = tmp_path / "tools"
    words = ("--git", repository, "--revision", "other", "--series", "none", "--out", tools)
    code, said, _ = torsweep("tor", "build", *words)
    assert code == 0
    assert f"-{planned_key(of(repository, revision='other'))}, from tor\n" in said
    code, _, error = torsweep("tor", "build", "--git", repository, "--program", "x", "--out", tools)
    assert (code, error.count("\n")) == (2, 1)
    assert "program: says a second time what this tor is, beside git" in error
    code, _, error = torsweep("tor", "build", "--patch", "missing.patch", "--out", tools)
    assert (code, error.count("\n")) == (2, 1)
