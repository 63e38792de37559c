"""Figures inside a page.

In: the folder of a plan's figures. Out: a :class:`Picture` a figure, with its bytes as a data address, so
that a page needs no file beside it, and with words for those who do not see it.

The PNG is taken, whose 300 dots an inch are sharp on paper and on a phone. As SVG the two figures of whole
curves are twice as large and the others half: the five of refill_sweep 1.8 MB instead of 1.4 MB, on two
networks.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image, UnidentifiedImageError

from torsweep.errors import InputError
from torsweep.formats.files import read_bytes
from torsweep.formats.limits import MOST_PICTURE_BYTES

DOTS_PER_INCH, CSS_PIXELS_PER_INCH = 300, 96


@dataclass(frozen=True)
class Reading:
    """What a figure shows, in a few words, and how it is read."""

    title: str
    how: str


FINDINGS: Final = "findings"
"""The figure of which findings survive."""

_CURVES = (
    "A point of a curve is the share of downloads that have their {byte} byte by that time: further left "
    "is faster. Marks are medians. A curve that ends below 100 % has downloads that failed or that the end "
    "of the run cut off."
)
READINGS: Mapping[str, Reading] = {
    "ttfb_cdf": Reading("Time to first byte", _CURVES.format(byte="first")),
    "ttlb_cdf": Reading("Time to last byte", _CURVES.format(byte="last")),
    "ttfb_closeup": Reading(
        "Time to first byte, the first seconds",
        "The same shares on a linear axis; thin curves are single networks. Steps at the same times in each "
        "network have a common cause; steps at different times are due to chance.",
    ),
    "relay_queues": Reading(
        "Cells that wait in relays",
        "The longest circuit queues of each second, at the median relay and at the relay of the ninth "
        "decile: where time is lost, and whether the network had settled when the measurement began.",
    ),
    "differences": Reading(
        "Differences from the baseline",
        "Each variant against the baseline, paired by network, relative to the baseline's median: left of "
        "zero is faster, and if an interval crosses zero, either variant may be faster. Read the thick "
        "interval if you look at a single line, the thin one if you compare all lines.",
    ),
    "stream_progress": Reading(
        "How far each stream is",
        "Cells received against time on one network: one line for each stream, darker the earlier it was "
        "opened. Streams whose lines coincide are served alike.",
    ),
    "stream_fairness": Reading(
        "Fairness among streams",
        "Jain's index of the streams' shares, and the number of streams that starved: an index of 1 says "
        "that all are served alike.",
    ),
    "cell_density": Reading(
        "How long cells stay in a relay",
        "Every RELAY cell that a traced relay sent on, by the second in which it came and the time until the "
        "kernel had it, on a logarithmic scale: darker is more cells. The line is the median.",
    ),
    "cell_stages": Reading(
        "In which stage cells spend their time",
        "The mean time of cells of busy and of quiet circuits in a relay, by stage: read and encrypted, in "
        "the queue of the circuit, in the output buffer. Scales differ between panels.",
    ),
    "latency_breakdown": Reading(
        "Where the first byte waits",
        "The mean time to the first byte of followed downloads, by what they waited for at each moment. The "
        "parts of a download add up to its time exactly. Time in a queue counts for the queue, whatever "
        "made the queue long.",
    ),
    "latency_percentiles": Reading(
        "Where fast and slow downloads wait",
        "The same for downloads between two percentiles of the time to the first byte: the parts that grow "
        "from left to right make slow downloads slow. The number above a bar is the mean in seconds.",
    ),
    "latency_over_time": Reading(
        "Where the first byte waits, over time",
        "The same for downloads opened within ten seconds of each other, on the first network: a part that "
        "comes in bursts shows as peaks of its colour.",
    ),
    "latency_waterfall": Reading(
        "The way of one download",
        "Each piece of the way to the first byte of one download, the median one of the first network, at "
        "the place where it was spent; time runs to the right.",
    ),
    FINDINGS: Reading(
        "Which findings survive",
        "Above, the verdict on each claim under each transport that the plan has run over. Below, how much "
        "two variants that differ in one knob differ: if points agree and their intervals lie on one side "
        "of 1, the finding does not depend on the transport.",
    ),
}
"""How each figure is read, by its name in an experiment.yaml (under ``figures``); and the findings."""


@dataclass(frozen=True)
class Picture:
    """A figure of a page: ``source`` is the address of its bytes, sizes are in CSS pixels at print size."""

    name: str
    title: str
    how: str
    alternative: str
    source: str
    width: int
    height: int


def read_picture(folder: Path, name: str, variants: Sequence[str]) -> Picture:
    """The figure ``name`` in ``folder``, of a plan with these ``variants``.

    Raises InputError when its PNG is missing or is none.
    """
    file = folder / f"{name}.png"
    content = read_bytes(file, MOST_PICTURE_BYTES, "no such file: draw the figures of the plan first")
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            image.load()
            width, height = (round(side * CSS_PIXELS_PER_INCH / DOTS_PER_INCH) for side in image.size)
            caption = str(image.info.get("Description", ""))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise InputError("is no whole PNG", file=file) from error
    reading = READINGS[name]
    return Picture(
        name=name,
        title=reading.title,
        how=reading.how,
        alternative=f"{reading.title} of {len(variants)} variants: {'; '.join(variants)}. {caption}",
        source=f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}",
        width=width,
        height=height,
    )
