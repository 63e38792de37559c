"""Published results, as a zip and as a folder, and the command that checks them.

In: a folder. Out: :data:`BUNDLE_TARGETS`' files in it. What is damaged inside a folder gets a checksum that
fits, but for the list of checksums itself, so that what lies behind the checksums is read.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from tests.fuzz.mutations import BYTE_KINDS, DOCUMENT_KINDS, LINE_KINDS
from tests.fuzz.target import Target
from tests.fuzz.zips import ZIP_KINDS
from tests.published_plan import EXPERIMENT, write_plan
from torsweep.bundle.description import Credit, sums_text
from torsweep.bundle.publish import Sources, pack, publish
from torsweep.storage.folders import SUMS_FILE

ZIP = "refill_sweep.zip"


@functools.cache
def published() -> Path:
    """A folder with a published result and the zip of it, made once in this process; they go when it ends."""
    scratch = tempfile.TemporaryDirectory()
    atexit.register(scratch.cleanup)
    plan = write_plan(Path(scratch.name, "plan"))
    plan.page.write_text("<!doctype html><title>refill_sweep, plan main: a page</title>")
    stages = [plan.stage(name) for name in ("tables", "summaries", "figures")]
    out = Path(scratch.name, "published")
    publish(Sources(*stages, plan.page, EXPERIMENT, plan.runs), Credit.of((), None, plan.runs), {}, out)
    pack(out, Path(scratch.name, ZIP))
    return Path(scratch.name)


def _zip(folder: Path) -> None:
    shutil.copy(published() / ZIP, folder / ZIP)


def _folder(folder: Path) -> None:
    shutil.copytree(published() / "published", folder / "published")


def _reseal(folder: Path) -> None:
    """Checksums that fit what is damaged."""
    (folder / "published" / SUMS_FILE).write_text(sums_text(folder / "published"))


def _inside(name: str, kinds: tuple[str, ...]) -> Target:
    file = f"published/{name}"
    sealed = name == SUMS_FILE
    reseal = None if sealed else _reseal
    command = ("verify", "{in}/published")
    return Target(name, file, kinds, command, _folder, None, reseal, codes=(0, 1, 2), sealed=sealed)


_ZIP_COMMAND = ("verify", f"{{in}}/{ZIP}")


BUNDLE_TARGETS = (
    Target(ZIP, ZIP, (*BYTE_KINDS, *ZIP_KINDS), _ZIP_COMMAND, _zip, codes=(0, 1, 2), sealed=True),
    _inside(SUMS_FILE, LINE_KINDS),
    _inside("provenance.json", DOCUMENT_KINDS),
    _inside("experiment.yaml", LINE_KINDS),
    _inside("summaries/claims.json", DOCUMENT_KINDS),
    _inside("tables/streams.parquet", BYTE_KINDS),
)
