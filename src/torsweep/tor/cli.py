"""``torsweep tor build``: build tor from source.

In: the command line. Out: a build below results/tools/tor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from torsweep.storage.folders import TOOLS_FOLDER, OutputFile, OutputFolder
from torsweep.tor import TOOLS

tor_app = typer.Typer(help="Build tor from its release source with the patch series.", no_args_is_help=True)

SourceOption = Annotated[
    Path | None,
    typer.Option(help="Tarball of tor's source; Debian's source package when left out."),
]
Checksum = Annotated[
    str | None, typer.Option(help="The checksum that the tarball must have, in hexadecimal.")
]
ToolsFolder = Annotated[
    Path, typer.Option(parser=OutputFolder(TOOLS_FOLDER), help="Folder that builds are kept in.")
]
Stamp = Annotated[
    Path | None,
    typer.Option(
        parser=OutputFile("build of tor:"),
        help="File to name the build in; the build that is taken by default stays as it is.",
    ),
]
Jobs = Annotated[int, typer.Option(min=1, help="Compilations at a time.")]


@tor_app.command("build")
def build_command(
    source: SourceOption = None,
    git: Annotated[Path | None, typer.Option(help="Git repository of tor, instead of a source.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit; HEAD when left out.")] = None,
    program: Annotated[Path | None, typer.Option(help="A program tor, instead of a source.")] = None,
    arti: Annotated[
        str | None, typer.Option(help="Arti: a version, the path of its git repository, or a program arti.")
    ] = None,
    series: Annotated[
        Literal["project", "none"] | None,
        typer.Option(help="The project's patches, which are for tor 0.4.9, or none of them."),
    ] = None,
    patch: Annotated[list[Path] | None, typer.Option(help="A patch on top; may be repeated.")] = None,
    out: ToolsFolder = TOOLS,
    jobs: Jobs = 1,
    sha256: Checksum = None,
    stamp: Stamp = None,
) -> None:
    """Fetch, verify, patch and build tor; nothing is done when that build is there."""
    from torsweep.config.reading import validate
    from torsweep.config.tors import DEBIAN, TorSource
    from torsweep.tor.build import build_tor

    options = {
        "source": str(source) if source is not None else None,
        "git": git,
        "revision": revision,
        "program": program,
        "arti": arti,
        "series": series,
        "patches": tuple(patch) if patch else None,
        "sha256": sha256.lower() if sha256 is not None else None,
    }
    spec = {key: value for key, value in options.items() if value is not None}
    if not spec.keys() & {"source", "git", "program", "arti"}:
        spec["source"] = DEBIAN
    tor = validate(TorSource, spec, None)
    built = build_tor(tor, out, jobs, stamp=stamp)
    typer.echo(f"{built.program}: tor {built.version}, from {built.provenance['source']}")
