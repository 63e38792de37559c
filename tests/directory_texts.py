"""A consensus and server descriptors, as texts that name no relay there ever was."""

from __future__ import annotations

RELAYS = (
    ("Fast Guard Running Valid", 100),
    ("Exit Fast Running Valid", 50),
    ("BadExit Exit Fast Running Valid", 30),
    ("Exit Fast Guard Running Valid", 20),
)
"""Flags and weights."""


def consensus_text() -> str:
    """A consensus of :data:`RELAYS`, whose identities :func:`descriptor_text` gives."""
    entries = "".join(
        f"r relay{n} {'A' * 25}{chr(ord('A') + n)}A {'B' * 27} 2012-04-04 09:00:00 10.0.0.{n + 1} 9001 0\n"
        f"s {flags}\nw Bandwidth={weight}\np reject 1-65535\n"
        for n, (flags, weight) in enumerate(RELAYS)
    )
    return (
        "network-status-version 3\nvote-status consensus\nconsensus-method 28\n"
        "valid-after 2012-04-04 10:00:00\nfresh-until 2012-04-04 11:00:00\nvalid-until 2012-04-04 13:00:00\n"
        "voting-delay 300 300\nknown-flags BadExit Exit Fast Guard Running Stable Valid\n"
        f"{entries}directory-footer\nbandwidth-weights Wbd=0 Wbe=0\n"
        f"directory-signature {'A' * 40} {'A' * 40}\n"
        "-----BEGIN SIGNATURE-----\nAAAA\n-----END SIGNATURE-----\n"
    )


def descriptor_text(number: int, hour: int = 9, rate: int = 20_000, observed: int = 50_000) -> str:
    """The server descriptor of relay ``number``, published at ``hour``; bytes a second."""
    fingerprint = f"{16 * number:040X}"
    spaced = " ".join(fingerprint[at : at + 4] for at in range(0, 40, 4))
    return (
        f"@type server-descriptor 1.0\nrouter relay{number} 10.0.0.{number + 1} 9001 0 0\n"
        f"platform Tor 0.2.2 on Linux\npublished 2012-04-04 {hour:02d}:00:00\n"
        f"fingerprint {spaced}\nuptime 100\n"
        f"bandwidth {rate} {2 * rate} {observed}\nreject *:*\nrouter-signature\n"
        "-----BEGIN SIGNATURE-----\nAAAA\n-----END SIGNATURE-----\n"
    )
