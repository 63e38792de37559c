"""The finished builds of tor: what each is, and which is taken where none is asked for.

In: the folder of builds, with markers: files that name a build. Out: :class:`BuiltTor`. Builds are made by
:mod:`torsweep.tor.build`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.errors import InputError, ToolMissing
from torsweep.formats.files import read_json
from torsweep.provenance import PROVENANCE_FILE, machine, sha256_of_file
from torsweep.storage import write_text
from torsweep.tor import TOOLS, is_arti
from torsweep.tor.series import read_series

STAMP = "build of tor:"
"""How a stamp begins, a file that names a build."""

FROM_DEBIAN = "Debian's source package"
"""Stands for the content of Debian's source in a key: it may not have been fetched when the key is needed."""

AS_IT_IS = "nothing: a program, taken as it is"
"""What the source of a program was verified by."""

WITHOUT = ("asciidoc", "manpage", "html-manual", "lzma", "zstd", "systemd", "seccomp")
"""Parts of tor that no experiment needs, each with a dependency of its own."""


def configure_flags(*, tests: bool = False) -> list[str]:
    """The options that configure is given."""
    return [*(f"--disable-{part}" for part in WITHOUT), *([] if tests else ["--disable-unittests"])]


def build_key(content: str, series_sha256: str, flags: Sequence[str], patches_sha256: str = "") -> str:
    """The key of a build from a source, with patches and options of configure: 12 hexadecimal digits."""
    text = "\n".join([content, series_sha256, *flags, *filter(None, [patches_sha256])])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def marker_name(key: str) -> str:
    """The file, in the folder of builds, that names the build of ``key``."""
    return f"built-{key}"


def stock_marker() -> str:
    """The marker of Debian's tor with the project's series as it is now, and today's options of configure."""
    return marker_name(build_key(FROM_DEBIAN, read_series().sha256, configure_flags()))


@dataclass(frozen=True)
class BuiltTor:
    """A complete build: its folder, and what its provenance.json says."""

    folder: Path
    provenance: dict[str, Any]

    @property
    def is_arti(self) -> bool:
        """Whether it is a build of Arti, which has no torrc and no control port."""
        return is_arti(self.provenance["version"])

    @property
    def program(self) -> Path:
        """The path of ``tor``, or of ``arti``."""
        return self.folder / "bin" / ("arti" if self.is_arti else "tor")

    @property
    def gencert(self) -> Path:
        """The path of ``tor-gencert``."""
        return self.folder / "bin" / "tor-gencert"

    @property
    def version(self) -> str:
        """tor's version and the key of the build: what run.json, figures and tables name."""
        facts = self.provenance
        content = next(facts[key] for key in ("source_tree", "source_crate", "source_sha256") if key in facts)
        patches = (facts.get("series_sha256", ""), facts["configure"], facts.get("user_patches_sha256", ""))
        return f"{facts['version']}-{build_key(content, *patches)}"

    @property
    def facts(self) -> dict[str, Any]:
        """Facts on the tor, for a run's provenance."""
        kept = (
            *("version", "series_sha256", "user_patches", "program_sha256"),
            *("source_sha256", "source_crate", "source_commit", "source_tree"),
            *("libraries", "configure", "rust"),
        )
        facts = {key: self.provenance[key] for key in kept if key in self.provenance}
        return {"build": self.version, **facts}


_BUILD_ID = re.compile(rb"(\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{20}", re.DOTALL)
"""The linker's note on what it has linked (ELF, ``NT_GNU_BUILD_ID``)."""


def code_sha256(tor: BuiltTor) -> str:
    """A checksum without the folder of a build: tor's messages have its source's paths, and these the key."""
    key = tor.version.rpartition("-")[2].encode()
    content = tor.program.read_bytes().replace(key, b"0" * len(key))
    return hashlib.sha256(_BUILD_ID.sub(rb"\1" + bytes(20), content)).hexdigest()


def read_stamp(stamp: Path) -> str:
    """The build that ``stamp`` names; InputError when it is no stamp."""
    words = stamp.read_text(encoding="utf-8", errors="replace").split(f"{STAMP} ") if stamp.is_file() else []
    if len(words) != 2:
        raise InputError("names no build of tor", file=stamp, accepted="what `tor build --stamp` wrote")
    return words[1].strip()


def find_build(out: Path = TOOLS, version: str | None = None) -> BuiltTor:
    """The build ``version`` below ``out``; without one, the tor ``stock`` with the series as it is now.

    Raises ToolMissing when there is none, InputError when the project has no readable series.
    """
    if version is None:
        stock = standing_build(out / stock_marker())
        if stock is None:
            raise ToolMissing(
                f"{out}: no tor with this patch series is built; `torsweep tor build` builds it"
            )
        return stock
    build = read_build(out / version)
    if build is None:
        raise ToolMissing(
            f"{out}: holds no tor {version}, that the run was prepared for; remove {out}"
            " to have tor built again"
        )
    return build


def standing_build(marker: Path) -> BuiltTor | None:
    """The complete build that ``marker`` names, in the same folder; None without one."""
    try:
        return read_build(marker.parent / read_stamp(marker))
    except (InputError, OSError):
        return None


def read_build(folder: Path) -> BuiltTor | None:
    """The complete build in ``folder``: it has its provenance, and its name and program are as described."""
    try:
        provenance = read_json(folder / PROVENANCE_FILE)
        built = BuiltTor(folder, provenance)
        whole = (
            built.version == folder.name
            and sha256_of_file(built.program) == provenance["program_sha256"]
            and (built.is_arti or built.gencert.is_file())
        )
    except (InputError, OSError, KeyError):
        return None
    return built if whole else None


def write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the provenance of the build in ``folder``: ``facts``, its program's checksum and this machine."""
    program = BuiltTor(folder, dict(facts)).program
    document = {**facts, "program_sha256": sha256_of_file(program), "machine": dict(machine())}
    write_text(folder / PROVENANCE_FILE, json.dumps(document, indent=1, sort_keys=True) + "\n")
