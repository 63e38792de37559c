"""Option bundles: what an experiment tells tor in tor's own words, beyond knobs and era, and which hosts.

In: an entry of ``options`` of an experiment.yaml. Out: :class:`OptionBundle`; :class:`Where`, the hosts that
a bundle or a mix of tors is for, which :mod:`torsweep.engines.host_choice` finds in a network. The build that
gets an option is asked whether it knows it when a run is prepared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from torsweep.config.reading import RefusedValue, Section, listed
from torsweep.config.traffic import AnyKind

Position = Literal["guard", "exit", "guard_exit", "middle"]
Role = Literal["relay", "client", "authority"]

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=64)]


class Where(Section):
    """Hosts of a network: all of a ``role``, or a ``share`` of them; or those in ``names``."""

    role: Role = "relay"
    """What the hosts are."""
    position: Annotated[tuple[Position, ...], Field(max_length=4), BeforeValidator(listed)] = ()
    """Relays of these positions only, one or a list."""
    kind: Annotated[tuple[AnyKind, ...], Field(max_length=10), BeforeValidator(listed)] = ()
    """Clients of these kinds only, one or a list."""
    share: Annotated[float, Field(strict=True, ge=0.001, le=1)] | None = None
    """A part of them: of relays by weight in the consensus, of clients by number. It is drawn from the
    network's seed, the same in every variant; a larger share has the hosts of a smaller one."""
    names: Annotated[tuple[HostName, ...], Field(max_length=10_000)] = ()
    """Hosts by name, as in network.json, in place of the other keys."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        beside = sorted(self.model_fields_set - {"names"})
        if "names" in self.model_fields_set and not self.names:
            raise RefusedValue("names no host", key="names", accepted="hosts by name, or no key names")
        if self.names and beside:
            problem, accepted = "cannot go with names", "names alone, or role, position, kind and share"
            raise RefusedValue(problem, key=beside[0], accepted=accepted)
        if self.position and self.role != "relay":
            raise RefusedValue("is for relays alone", key="position", value=self.role, accepted="role: relay")
        if self.kind and self.role != "client":
            raise RefusedValue("is for clients alone", key="kind", value=self.role, accepted="role: client")
        if self.share is not None and self.role == "authority":
            accepted = "role: relay, role: client"
            raise RefusedValue("is for relays or clients", key="share", value=self.role, accepted=accepted)
        return self


PARAMETER_BOUND = 2**31
"""Consensus parameters are signed numbers of 32 bits (dir-spec, ``params``)."""

REFUSED_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "is for the engine to set, which makes the private network": (
        *("Address", "ConsensusParams", "DataDirectory", "DirAuthority", "Nickname", "TestingTorNetwork"),
        *("AlternateBridgeAuthority", "AlternateDirAuthority", "FallbackDir", "UseDefaultFallbackDirs"),
        *("AuthoritativeDirectory", "BridgeAuthoritativeDir", "V3AuthoritativeDirectory", "DisableNetwork"),
        *("V3AuthDistDelay", "V3AuthVoteDelay", "V3AuthVotingInterval", "TestingV3AuthInitialDistDelay"),
        *("TestingV3AuthInitialVoteDelay", "TestingV3AuthInitialVotingInterval"),
        "TestingV3AuthVotingStartOffset",
    ),
    "opens a port or leads out of the private network": (
        *("ControlPort", "DirPort", "DNSPort", "ExtORPort", "HTTPTunnelPort", "MetricsPort", "NATDPort"),
        *("ORPort", "SocksPort", "TransPort", "ControlSocket", "HiddenServicePort", "Bridge"),
        *("HTTPProxy", "HTTPSProxy", "Socks4Proxy", "Socks5Proxy", "TCPProxy", "OutboundBindAddress"),
        *("OutboundBindAddressExit", "OutboundBindAddressOR", "OutboundBindAddressPT"),
    ),
    "names a file or a folder": (
        *("CacheDirectory", "ClientOnionAuthDir", "ControlPortWriteToFile", "CookieAuthFile"),
        *("DirPortFrontPage", "ExtORPortCookieAuthFile", "FamilyKeyDirectory", "GeoIPFile", "GeoIPv6File"),
        *("GuardfractionFile", "HiddenServiceDir", "KeyDirectory", "Log", "PidFile", "TruncateLogFile"),
        *("ServerDNSResolvConfFile", "V3BandwidthsFile", "CellTraceFile"),
    ),
    "starts a program or loads its code": (
        *("AccelDir", "AccelName", "ClientTransportPlugin", "HardwareAccel", "PortForwardingHelper"),
        *("ServerTransportListenAddr", "ServerTransportOptions", "ServerTransportPlugin"),
    ),
    "is about the process, which the engine starts, controls and ends": (
        *("CacheDirectoryGroupReadable", "ControlPortFileGroupReadable", "ControlSocketsGroupWritable"),
        *("CookieAuthFileGroupReadable", "CookieAuthentication", "DataDirectoryGroupReadable"),
        *("DisableAllSwap", "ExtORPortCookieAuthFileGroupReadable", "Group", "HashedControlPassword"),
        *("HiddenServiceDirGroupReadable", "KeepBindCapabilities", "KeyDirectoryGroupReadable"),
        *("RunAsDaemon", "UnixSocksGroupWritable", "User", "__DisableSignalHandlers"),
        *("__HashedControlSessionPassword", "__OwningControllerFD", "__OwningControllerProcess"),
        "__ReloadTorrcOnSIGHUP",
    ),
}
"""Options that have no place in a run, by why. An experiment may be somebody else's; tor may be root's."""

_REFUSED = {option.lower(): why for why, options in REFUSED_OPTIONS.items() for option in options}
_ENDS_AS_FILE = re.compile(r"(file|folder|directory|path)\Z", re.IGNORECASE)
"""How an option that names a file may end in a tor of the user's own."""


def why_refused(option: str) -> str:
    """Why ``option`` has no place in a run; empty where it has one."""
    return _REFUSED.get(option.lower()) or (
        "names a file or a folder" if _ENDS_AS_FILE.search(option) else ""
    )


VOTED_FROM_OPTIONS = {"AuthDirMaxServersPerAddr"}
"""Parameters that an authority takes from its own options into its vote; other authorities would not read a
vote that has one twice."""

_PATHS = re.compile(
    r"(entry|exit|middle|exclude|excludeexit|strict)nodes$|.*guard|(use)?bridges?$|nodefamily$|use-family"
    r"|enforcedistinctsubnets$|pathsneeded|min_paths|pathbias|pb_|.*circuitbuildtimeout|cbt"
    r"|v3bandwidthsfile$|maxunmeasuredbw$|bwweightscale$|__disablepredicted|conflux|cfx_",
    re.IGNORECASE,
)
"""How options and consensus parameters begin by which tor chooses paths, builds circuits or joins them."""

_OPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}\Z")


def _as_tor_writes(value: object) -> object:
    """YAML's numbers and switches as the text of a torrc."""
    if isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value


OptionValue = Annotated[
    str,
    BeforeValidator(_as_tor_writes),
    Field(min_length=1, max_length=1_000),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Parameter = Annotated[int, Field(strict=True, ge=-PARAMETER_BOUND, lt=PARAMETER_BOUND)]


class OptionBundle(Section):
    """Lines of ``torrc`` for the hosts ``on``, and ``consensus`` parameters.

    An option that a torrc may give twice has one line here.
    """

    torrc: Mapping[str, OptionValue] = Field(default_factory=dict)
    """Lines of torrc by option; tor reads them last, so that they override knobs and era."""
    consensus: Mapping[str, Parameter] = Field(default_factory=dict)
    """Consensus parameters that every authority votes for."""
    on: Where | None = None
    """The hosts that get the lines; every tor where it is left out."""

    @property
    def content(self) -> Any:
        """Equal for two bundles with the same effect: tor ignores the case of letters in options."""
        torrc = {option.lower(): value for option, value in self.torrc.items()}
        return (torrc, dict(self.consensus), self.on if torrc else None)

    @property
    def about_paths(self) -> str:
        """The first name by which tor chooses other paths, or builds circuits in another way; else empty."""
        return next((name for name in (*self.torrc, *self.consensus) if _PATHS.match(name)), "")

    @model_validator(mode="after")
    def _is_for_tor(self) -> Self:
        seen: set[str] = set()
        for option, value in self.torrc.items():
            key, lower = f"torrc.{option}", option.lower()
            if not _OPTION.match(option):
                raise RefusedValue("is no option of a torrc", key=key, accepted="letters, digits and _")
            if why := why_refused(option):
                instead = "the key consensus" if lower == "consensusparams" else "other options"
                raise RefusedValue(why, key=key, accepted=instead)
            if lower in seen:
                raise RefusedValue("is given twice", key=key, accepted="each option once")
            if set(value) & set("\n\r\0#") or value.endswith("\\"):
                accepted = "one line of a torrc, without a comment"
                raise RefusedValue("is not accepted", key=key, value=value, accepted=accepted)
            seen.add(lower)
        for parameter in self.consensus:
            if not _PARAMETER.match(parameter):
                accepted = "letters, digits, - and _"
                raise RefusedValue(
                    "is no name of a consensus parameter", key=f"consensus.{parameter}", accepted=accepted
                )
            if parameter in VOTED_FROM_OPTIONS:
                problem = "is in each authority's vote already, and no authority reads a vote with it twice"
                key = f"consensus.{parameter}"
                raise RefusedValue(problem, key=key, accepted="other parameters")
        if self.on is not None and not self.torrc:
            accepted = "torrc: lines for these hosts; the consensus is the same for all hosts"
            raise RefusedValue("names hosts, but no lines", key="on", accepted=accepted)
        return self
