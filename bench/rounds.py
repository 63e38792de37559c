"""The number of rounds of a benchmark: at least three, because a median of fewer is no better than one
measurement.

In: the option ``--rounds`` of a command line. Out: a number.
"""

from __future__ import annotations

import argparse

LEAST = 3


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """Give ``parser`` the option, which refuses fewer than :data:`LEAST` rounds."""
    said = f"Measurements of each figure, at least {LEAST}."
    parser.add_argument("--rounds", type=_enough, default=LEAST, help=said)


def _enough(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < LEAST:
        raise argparse.ArgumentTypeError(f"{text}: accepted: {LEAST} or more")
    return int(text)
