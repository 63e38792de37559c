"""What carries bytes between the hosts of the model: the ``transport`` section of run.json.

Runs of real engines have none: they have a TCP and queues of their own.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from torsweep.config.reading import Section
from torsweep.config.tor_settings import whole

TcpRules = Literal["shadow", "linux", "linux_6_18"]
"""Shadow's; a Linux of the era's (3.2, 6.18); Linux 6.18's with the era's settings, as in an emulation."""

DROPTAIL_BYTES = 75_000
"""Fifty packets of 1,500 bytes, as before the down-links of an emulation and in ModelNet's pipes."""

LEAST_QUEUE_BYTES, MOST_QUEUE_BYTES = 1_500, 2**32


class Codel(Section):
    """The queue of Shadow's router: CoDel with a target of 10 ms."""

    kind: Literal["codel"]


class Droptail(Section):
    """A queue that drops what it has no room for, besides the packet that is being sent."""

    kind: Literal["droptail"]
    bytes: Annotated[int, whole(LEAST_QUEUE_BYTES, MOST_QUEUE_BYTES)]


class Transport(Section):
    """Whose TCP, and the queue before each host's down-link."""

    tcp: TcpRules = "linux"
    link_queue: Annotated[Codel | Droptail, Field(discriminator="kind")] = Droptail(
        kind="droptail", bytes=DROPTAIL_BYTES
    )
