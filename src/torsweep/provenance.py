"""Where a result comes from: versions, this machine, the hashes of files.

In: nothing but the machine and the files named. Out: plain mappings and texts that fit into JSON. Nothing
here names a host, a user or a folder, so that a published result tells how it was made and not by whom.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from torsweep import __version__

PROVENANCE_FILE = "provenance.json"
"""What a run, a plan's tables and a published result say of themselves."""

LIBRARIES = ("numpy", "scipy", "polars", "matplotlib", "snakemake")
"""The libraries whose version can show in a number or in a picture."""


def sha256_of_file(path: Path) -> str:
    """The SHA-256 of the content of ``path``, in hexadecimal; the file is never held in memory whole."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def versions() -> Mapping[str, str]:
    """The version of torsweep, of the engine on PATH if any, of Python and of :data:`LIBRARIES`."""
    by_name = {"torsweep": __version__, "python": platform.python_version()}
    engine = program_version("cellsim")
    if engine is not None:
        by_name["cellsim"] = engine
    for library in LIBRARIES:
        try:
            by_name[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return by_name


def program_version(program: str | Path) -> str | None:
    """The last word of what ``program``, a name or a path, answers to ``--version``; None without one."""
    path = shutil.which(program)
    if path is None:
        return None
    answer = subprocess.run([path, "--version"], capture_output=True, check=False)
    words = answer.stdout.decode(errors="replace").split()
    return words[-1] if answer.returncode == 0 and words else None


@functools.cache
def machine() -> Mapping[str, str | int]:
    """This machine: processor model, cores open to this process, memory in bytes, operating system."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "os": _operating_system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()
