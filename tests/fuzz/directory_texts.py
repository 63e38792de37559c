"""A consensus, server descriptors and a bandwidth file, as texts that name no relay there ever was."""

from __future__ import annotations


def consensus_text(relays: int) -> str:
    """A consensus of so many relays, whose identities :func:`descriptor_text` gives."""
    flags = ("Fast Guard Running Valid", "Exit Fast Running Valid", "Exit Fast Guard Running Valid")
    entries = "".join(
        f"r relay{n} {'A' * 25}{chr(ord('A') + n)}A {'B' * 27} 2012-04-04 09:00:00 10.0.0.{n + 1} 9001 0\n"
        f"s {flags[n % 3]}\nw Bandwidth={100 + n}\np reject 1-65535\n"
        for n in range(relays)
    )
    return (
        "network-status-version 3\nvote-status consensus\nconsensus-method 28\n"
        "valid-after 2012-04-04 10:00:00\nfresh-until 2012-04-04 11:00:00\nvalid-until 2012-04-04 13:00:00\n"
        "voting-delay 300 300\nknown-flags BadExit Exit Fast Guard Running Stable Valid\n"
        f"{entries}directory-footer\nbandwidth-weights Wbd=0 Wbe=0\n"
        f"directory-signature {'A' * 40} {'A' * 40}\n"
        "-----BEGIN SIGNATURE-----\nAAAA\n-----END SIGNATURE-----\n"
    )


def descriptor_text(number: int) -> str:
    """The server descriptor of relay ``number``."""
    fingerprint = f"{16 * number:040X}"
    spaced = " ".join(fingerprint[at : at + 4] for at in range(0, 40, 4))
    return (
        f"@type server-descriptor 1.0\nrouter relay{number} 10.0.0.{number + 1} 9001 0 0\n"
        f"platform Tor 0.2.2 on Linux\npublished 2012-04-04 09:00:00\nfingerprint {spaced}\nuptime 100\n"
        "bandwidth 20000 40000 50000\nreject *:*\nrouter-signature\n"
        "-----BEGIN SIGNATURE-----\nAAAA\n-----END SIGNATURE-----\n"
    )


def bandwidth_text(relays: int) -> str:
    """A bandwidth file with a line for each of so many relays of a sampled network."""
    lines = (f"node_id=${16 * n:040X} bw={100 + n} nick=relay{n + 1} vote=1\n" for n in range(relays))
    return "1523911758\nversion=1.4.0\nsoftware=sbws\n=====\n" + "".join(lines)
