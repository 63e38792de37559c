"""What is kept of a simulation's files once its tables are written.

In: the ``shadow`` folder. Out: the same folder with compressed logs, without what can be made again.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from torsweep.engines.shadow.layout import HOSTS

_KEPT = (".stdout", ".stderr", ".graphml")


def compress_logs(folder: Path) -> int:
    """Compress the logs of every host in ``folder`` and remove the rest of its files; bytes left.

    The graph, the keys and what tor keeps in its data directories go: run.json and the network give them
    again. Empty logs go too.
    """
    for made in ("template", "graph.gml"):
        _remove(folder / made)
    left = 0
    for host in sorted((folder / HOSTS).iterdir()):
        for entry in sorted(host.iterdir()):
            if entry.suffix == ".gz":
                left += entry.stat().st_size
                continue
            if entry.is_dir() or entry.suffix not in _KEPT or entry.stat().st_size == 0:
                _remove(entry)
                continue
            packed = entry.with_name(f"{entry.name}.gz")
            with entry.open("rb") as plain, gzip.GzipFile(packed, "wb", compresslevel=6, mtime=0) as file:
                shutil.copyfileobj(plain, file)
            # The plain file goes last: until then it is the one that counts.
            entry.unlink()
            left += packed.stat().st_size
    return left


def drop_half_compressed(folder: Path) -> None:
    """Remove compressed logs whose plain file is still there: their compression was interrupted."""
    for packed in (folder / HOSTS).glob("*/*.gz"):
        if packed.with_suffix("").exists():
            packed.unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
