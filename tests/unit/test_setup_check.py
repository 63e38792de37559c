"""setup/check.sh on machines that lack something: one line that names Debian's package, exit code 3."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stand_ins import executable

CHECK = Path(__file__).parents[2] / "setup" / "check.sh"
BASE_PROGRAMS = ("awk", "cat", "dirname", "mktemp", "rm", "sed")
GOOD = {
    "python3": 'case "$2" in *ensurepip*) exit 0 ;; *) echo 3.11.2 ;; esac',
    "cargo": "exit 0",
    "rustc": "echo 'rustc 1.95.0 (abc 2026-01-01)'",
    "cc": "cat >/dev/null",
}

Machine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def machine(tmp_path) -> Machine:
    """Run the check where PATH holds the programs of GOOD with ``changes``; None takes one away."""

    def run(check: Path = CHECK, **changes: str | None) -> subprocess.CompletedProcess[str]:
        for name in BASE_PROGRAMS:
            (tmp_path / name).symlink_to(shutil.which(name))
        for name, body in (GOOD | changes).items():
            if body is not None:
                executable(tmp_path / name, f"#!/bin/sh\n{body}\n")
        environment = {"PATH": str(tmp_path), "TMPDIR": str(tmp_path)}
        return subprocess.run(
            ["/bin/sh", check], env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_a_machine_with_everything_is_told_its_python(machine):
    result = machine()
    assert (result.returncode, result.stdout, result.stderr) == (0, "python3\n", "")


def test_a_later_python_under_its_own_name_is_found(machine):
    result = machine(**{"python3": "echo 3.9.2", "python3.12": GOOD["python3"].replace("3.11.2", "3.12.0")})
    assert (result.returncode, result.stdout) == (0, "python3.12\n")


@pytest.mark.parametrize(
    ("change", "said", "package"),
    [
        ({"python3": None}, "found none", "python3 python3-venv"),
        ({"python3": "echo 3.9.2"}, "found 3.9.2", "python3 python3-venv"),
        ({"python3": "echo 3.10.12"}, "found 3.10.12", "python3 python3-venv"),
        ({"python3": GOOD["python3"].replace("exit 0", "exit 1")}, "venv module is missing", "python3-venv"),
        ({"cargo": None}, "Rust tool chain", "cargo"),
        ({"rustc": None}, "Rust tool chain", "cargo"),
        ({"rustc": "echo 'rustc 1.63.0'"}, "found 1.63.0", "cargo"),
        ({"rustc": "exit 1"}, "found none that runs", "cargo"),
        ({"cc": None}, "C compiler", "build-essential"),
        ({"cc": "exit 1"}, "C compiler", "build-essential"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_one_thing_missing_is_one_line(machine, change, said, package):
    result = machine(**change)
    assert result.returncode == 3
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert f"apt-get install {package}" in result.stderr


def test_everything_missing_is_a_line_each(machine):
    result = machine(**dict.fromkeys(GOOD))
    assert result.returncode == 3
    assert len(result.stderr.splitlines()) == 3
    assert all(line.startswith("torsweep: ") for line in result.stderr.splitlines())


DEBIAN = CHECK.with_name("debian.sh")
PACKAGES = CHECK.with_name("debian_packages.txt")


def debian(
    tmp_path: Path, *arguments: str, user: int, without: tuple[str, ...]
) -> tuple[int, list[str], str]:
    """debian.sh where dpkg knows all packages but ``without``: code, lines, what apt-get was asked for."""
    unknown = f'case " {" ".join(without)} " in *" $4 "*) grep -qsx "$4" {tmp_path}/apt || exit 1; esac'
    scripts = {
        "dpkg-query": f"{unknown}\necho installed",
        "apt-get": f'printf "%s\\n" "$@" >> {tmp_path}/apt',
        "id": f"echo {user}",
    }
    for name, body in scripts.items():
        executable(tmp_path / name, f"#!/bin/sh\n{body}\n")
    for name in ("sed", "awk", "cut", "sort", "dirname", "grep"):
        (tmp_path / name).symlink_to(shutil.which(name))
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(
        ["/bin/sh", DEBIAN, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    asked = tmp_path / "apt"
    return done.returncode, done.stderr.splitlines(), asked.read_text() if asked.exists() else ""


TOR_LACKS = "setup: tor lacks: apt-get install libevent-dev libssl-dev"
CHROMIUM_LACKS = "setup: chromium lacks: apt-get install chromium"


@pytest.mark.parametrize(
    ("command", "user", "without", "code", "said"),
    [
        ([], 0, ("chromium", "libssl-dev", "libevent-dev"), 3, [TOR_LACKS, CHROMIUM_LACKS]),
        (["install"], 1000, ("chromium",), 3, [CHROMIUM_LACKS]),
        (["install"], 0, (), 0, []),
    ],
    ids=["asked", "another user", "all is here"],
)
def test_debian_packages_that_are_missing_are_named_by_their_use(
    tmp_path, command, user, without, code, said
):
    found, told, asked = debian(tmp_path, *command, user=user, without=without)
    assert (found, asked) == (code, "")
    assert told[-len(said) :] == said if said else not told


def test_root_installs_what_is_missing_and_nothing_else(tmp_path):
    code, said, asked = debian(tmp_path, "install", user=0, without=("chromium",))
    assert (code, said) == (0, [])
    names = [line.split()[0] for line in PACKAGES.read_text().splitlines() if not line.startswith("#")]
    assert [name for name in asked.split() if name in names] == ["chromium"]


@pytest.mark.parametrize(
    ("folder", "code"), [("it's", 0), ("a b", 3), ('a"b', 3), ("a:b", 3), ("$a", 3), ("a\\b", 3)]
)
def test_a_checkout_cannot_be_where_shell_and_path_do_not_find_it(machine, tmp_path, folder, code):
    copy = tmp_path / folder / "setup" / "check.sh"
    copy.parent.mkdir(parents=True)
    shutil.copy(CHECK, copy)
    shutil.copy(CHECK.parents[1] / "Cargo.toml", copy.parents[1])
    result = machine(check=copy)
    assert result.returncode == code, result.stderr
    assert ("move it" in result.stderr) == bool(code)
