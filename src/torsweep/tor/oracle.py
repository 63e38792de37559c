"""Tor's own rules, to test cellsim's against: a driver linked with patched tor's files, and its answers.

In: a release of tor and the patch series. Out: a file of answers to random cases, which
``cellsim/tests/oracle`` compares with what the model says.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from torsweep.errors import TorsweepError
from torsweep.storage import write_text

DRIVER = Path(__file__).resolve().parents[3] / "cellsim/oracle/driver.c"
COMMITTED = {"bucket": 30, "ewma": 25, "roundrobin": 25, "vegas": 12, "activation": 60}
"""Cases of each kind in ``cellsim/oracle/vectors.txt``, drawn from seed 1."""
FILES = (
    "lib/evloop/token_bucket",
    "core/or/circuitmux_ewma",
    "core/or/circuitmux",
    "core/or/congestion_control_common",
    "core/or/congestion_control_vegas",
    "core/or/relay",
    "lib/smartlist_core/smartlist_core",
    "lib/container/smartlist",
    "lib/malloc/malloc",
)
"""The files of tor, below src/, whose functions answer."""
INCLUDES = ("", "src", "src/ext", "src/ext/trunnel", "src/trunnel")
DEFINES = ("HAVE_CONFIG_H", 'SHARE_DATADIR="/"', 'LOCALSTATEDIR="/"', 'BINDIR="/"', "HAVE_MODULE_RELAY=1")


def build_oracle(source: Path, build: Path, out: Path) -> Path:
    """Compile the driver against the patched ``source``, configured in ``build``, into folder ``out``.

    Returns the program. Raises TorsweepError with the compiler's first line when it does not compile.
    """
    out.mkdir(parents=True, exist_ok=True)
    flags = ["-O1", "-w", "-fno-pie", "-ffunction-sections", "-fdata-sections", f"-I{build.resolve()}"]
    flags += [f"-I{(source / folder).resolve()}" for folder in INCLUDES]
    flags += [f"-D{name}" for name in DEFINES]
    objects = []
    for file in [*(source / "src" / f"{name}.c" for name in FILES), DRIVER]:
        objects.append(str(out.resolve() / f"{file.stem}.o"))
        _cc([*flags, "-c", str(file.resolve()), "-o", objects[-1]])
    program = out.resolve() / "oracle"
    # Functions that no answer needs are removed by the linker, or stay unresolved.
    links = ["-no-pie", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all"]
    _cc([*links, *objects, "-lm", "-o", str(program)])
    return program


def _cc(arguments: list[str]) -> None:
    answer = subprocess.run(["cc", *arguments], capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode:
        lines = answer.stderr.strip().splitlines() or ["it said nothing"]
        raise TorsweepError(f"tor's oracle does not compile: {lines[0]}")


def write_answers(program: Path, file: Path, seed: int, cases: dict[str, int]) -> None:
    """Write what ``program`` answers to ``cases`` (how many, by kind), drawn from ``seed``, into ``file``.

    Raises TorsweepError when the program does not end well.
    """
    text = ""
    for kind, count in cases.items():
        answer = subprocess.run(
            [program, kind, str(seed), str(count)], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            raise TorsweepError(
                f"tor's oracle ended with {answer.returncode} at {kind}: {answer.stderr.strip()}"
            )
        text += answer.stdout
    write_text(file, text)
