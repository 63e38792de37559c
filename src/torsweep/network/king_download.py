"""Download of the King data set from its official home.

In: a base address, ``https`` unless it is this machine's. Out: the file ``matrix`` in a folder, whole
or not at all, its SHA-256, and an import of it.

The data set (Gummadi, Saroiu, Gribble, IMW 2002; matrix by the p2psim project) is not part of
torsweep: this is how a user gets it.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from torsweep.errors import InputError, TorsweepError
from torsweep.storage import whole_file

KING_HOME = "https://pdos.csail.mit.edu/archive/p2psim/kingdata/"
KING_FILE = "matrix"

_CHUNK_BYTES = 1 << 16
_MOST_BYTES = 200_000_000
_TIMEOUT_S = 60
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def download_king(base_url: str, file: Path, progress: Callable[[int], None] = lambda _: None) -> str:
    """Download ``matrix`` under ``base_url`` to ``file``; its SHA-256.

    ``progress`` is called with the number of bytes so far. Raises InputError for an address that is not
    ``https``, TorsweepError when the server refuses, breaks off, or sends a page instead of numbers.
    """
    address = urllib.parse.urljoin(base_url if base_url.endswith("/") else base_url + "/", KING_FILE)
    parts = urllib.parse.urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise InputError(
            "not an address to download from", key="--base-url", value=base_url, accepted="https"
        )
    with whole_file(file) as temporary:
        try:
            return _download(address, temporary, progress)
        except urllib.error.HTTPError as error:
            raise TorsweepError(f"{address}: the server answered {error.code} {error.reason}") from None
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise TorsweepError(f"{address}: cannot be downloaded: {reason}") from None


def _download(address: str, file: Path, progress: Callable[[int], None]) -> str:
    digest, had = hashlib.sha256(), 0
    with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer, file.open("wb") as written:
        said = answer.headers.get("Content-Length")
        while chunk := answer.read(_CHUNK_BYTES):
            if not had:
                _check_start(chunk, address)
            had += len(chunk)
            if had > _MOST_BYTES:
                raise TorsweepError(f"{address}: more than {_MOST_BYTES} bytes, the King matrix has 19 MB")
            digest.update(chunk)
            written.write(chunk)
            progress(had)
    if not had or (said is not None and had != int(said)):
        raise TorsweepError(f"{address}: the download broke off after {had} of {said or 'some'} bytes")
    return digest.hexdigest()


def _check_start(chunk: bytes, address: str) -> None:
    """Numbers and blanks only: a log-in page or an error page is not a matrix."""
    if not set(chunk[:1024]) <= set(b"0123456789.,- \t\r\n"):
        raise TorsweepError(f"{address}: not a matrix of numbers, it begins with {chunk[:24]!r}")
