"""How TCP behaves in each era: every setting of the kernel that matters is stated, so that none depends on
the machine's defaults (names as in Linux's Documentation/networking/ip-sysctl.rst).

``2012`` is Linux 3.2, as far as a later kernel can behave like it. What cannot be switched off: TCP's limit
on what it queues below itself (TSQ) besides its upper bound, automatic sizing of segments, the automatic
ratio of a receive buffer to its window (3.2: three quarters; later: what the segments need).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torsweep.config.eras import EraName


@dataclass(frozen=True)
class TcpEra:
    """TCP of one era; ``settings`` are those of ``net.ipv4``, by name."""

    congestion_control: str
    initial_window_segments: int
    settings: Mapping[str, int | tuple[int, int, int]]

    def sysctls(self) -> dict[str, str]:
        """Name of a setting to the text that the kernel takes for it."""
        return {
            f"net.ipv4.{name}": " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            for name, value in self.settings.items()
        }

    def document(self) -> dict[str, Any]:
        """The part of provenance.json on it."""
        plain = asdict(self)
        return {**plain.pop("settings"), **plain}


NO_LIMIT = 2**31 - 1
UNSENT_WITHOUT_LIMIT = 2**32 - 1

_ALIKE: Mapping[str, int | tuple[int, int, int]] = {
    "tcp_moderate_rcvbuf": 1,
    "tcp_window_scaling": 1,
    "tcp_timestamps": 1,
    "tcp_sack": 1,
    "tcp_dsack": 1,
    # Answer ECN, but do not request it.
    "tcp_ecn": 2,
    # A client of tor asks for no data in its SYN.
    "tcp_fastopen": 0,
    "tcp_frto": 2,
    "tcp_wmem": (4096, 16_384, 4_194_304),
    "tcp_reordering": 3,
    "tcp_notsent_lowat": UNSENT_WITHOUT_LIMIT,
    "tcp_slow_start_after_idle": 1,
    "tcp_no_metrics_save": 0,
    "tcp_rto_min_us": 200_000,
    "tcp_thin_linear_timeouts": 0,
    "tcp_mtu_probing": 0,
    "tcp_retrans_collapse": 1,
    "tcp_shrink_window": 0,
}

_DIFFERENT: Mapping[str, Any] = {
    # Linux 3.2 with 2 GiB of memory or more (tcp_init): the most is 4 MiB; 6 MiB came with 3.4, 32 with 6.16.
    "tcp_rmem": ((4096, 87_380, 4_194_304), (4096, 131_072, 33_554_432)),
    "tcp_recovery": (0, 1),  # since 4.4: RACK.
    "tcp_early_retrans": (0, 3),  # since 3.5: early retransmit, 3.10: tail loss probe.
    "tcp_max_reordering": (127, 300),
    "tcp_comp_sack_nr": (0, 44),  # since 4.18: selective acknowledgements held back.
    "tcp_backlog_ack_defer": (0, 1),  # since 6.7: acknowledgements wait while a backlog is worked through.
    "tcp_autocorking": (0, 1),  # since 3.14.
    "tcp_limit_output_bytes": (NO_LIMIT, 4_194_304),  # since 3.6: TSQ.
    "tcp_no_ssthresh_metrics_save": (0, 1),  # since 5.6: until then a route remembered ssthresh.
    "tcp_syn_linear_timeouts": (0, 4),  # since 6.5.
}
"""What the eras differ in: 2012, and today."""

CONGESTION_CONTROL = "cubic"
"""The default of Linux since 2.6.19. Machines differ: it is a choice of whoever built the kernel."""

INITIAL_WINDOW_SEGMENTS = 10
"""Since Linux 2.6.39."""


def _era(column: int) -> TcpEra:
    settings = {**_ALIKE, **{name: both[column] for name, both in _DIFFERENT.items()}}
    return TcpEra(CONGESTION_CONTROL, INITIAL_WINDOW_SEGMENTS, settings)


TCP: Mapping[EraName, TcpEra] = {"2012": _era(0), "2019": _era(1), "today": _era(1)}


def settable(sysctls: Mapping[str, str], root: Path = Path("/proc/sys")) -> tuple[dict[str, str], list[str]]:
    """``sysctls`` that this kernel has, and the names of those that it lacks, as an older one does."""
    known = {name: text for name, text in sysctls.items() if (root / name.replace(".", "/")).exists()}
    return known, sorted(sysctls.keys() - known.keys())
