"""The programs of a Shadow run, with their versions.

In: PATH, and the build of tor. Out: :class:`ShadowTools`, or one line on what is missing.

A tiny simulation shows whether Shadow's TCP measures round trips: Shadow 2.5.0 to at least 3.3.0 never does
unless patched (``patches/shadow``), which its version does not tell, and which changes all results.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from torsweep.config.reading import validate
from torsweep.engines.host_tors import HostTors, find_host_tors
from torsweep.engines.hosts import address
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow import round_trip_probe
from torsweep.engines.shadow.process import run_simulation
from torsweep.engines.shadow.simulate import GraphHost, Process, ShadowSimulation, uniform_graph
from torsweep.engines.tools import require_tool
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.json_file import read_json
from torsweep.provenance import sha256_of_file
from torsweep.storage import write_text
from torsweep.tor.builds import find_build
from torsweep.units import SECOND_NS

MEASURING, NOT_MEASURING = "shadow", "shadow-no-rtt"
"""The names of runs in the two kinds of Shadow. They give other results, so they have other names in run.json
and in the results' paths."""

RESULTS_FOLDER = Path("results")
TRIALS_FOLDER = Path("tools/preflight")
"""The folder below :data:`RESULTS_FOLDER` that keeps what was measured of each program. Without a folder of
results nothing is kept."""

ONE_WAY_MS = 50
PROBE_S = 10
"""Simulated seconds: enough for a connection and five exchanges, a time-out or two included."""

_UNITS_MS = (1.0, 0.001)
"""Units in which ``tcpi_rtt`` may be: Shadow gives milliseconds, Linux microseconds."""

_NOT_TOLD = "whether it measures round trips cannot be told"


@dataclass(frozen=True)
class RoundTrips:
    """What TCP said of a connection with a round trip of ``given_ms``: ``tcpi_rtt`` as it was read."""

    given_ms: float
    tcpi_rtt: int

    @property
    def measured(self) -> bool:
        """Whether TCP measured the round trip at all."""
        return self.tcpi_rtt > 0

    @property
    def plausible(self) -> bool:
        """Whether what TCP says is nothing, or about the round trip that there was."""
        near = (0.5 <= self.tcpi_rtt * unit_ms / self.given_ms <= 2 for unit_ms in _UNITS_MS)
        return not self.measured or any(near)

    @property
    def engine(self) -> str:
        """The engine that such a Shadow is, by the name of its runs."""
        return MEASURING if self.measured else NOT_MEASURING

    @property
    def text(self) -> str:
        """What provenance, captions and the doctor say of it."""
        return f"round trips {'' if self.measured else 'not '}measured"


@functools.cache
def round_trips(shadow: Path, results: Path = RESULTS_FOLDER) -> RoundTrips:
    """What :func:`measure` finds; measured once for a program.

    Raises TorsweepError when it cannot be measured.
    """
    file = results / TRIALS_FOLDER / f"round-trips-{sha256_of_file(shadow)[:16]}.json"
    try:
        return validate(RoundTrips, read_json(file), file)
    except InputError:
        trial = measure(shadow)
    if results.is_dir():
        write_text(file, json.dumps(asdict(trial), indent=1) + "\n")
    return trial


def measure(shadow: Path) -> RoundTrips:
    """What TCP says of a round trip of twice :data:`ONE_WAY_MS`, after a few exchanges of a byte.

    Raises TorsweepError when Shadow does not get to an answer, or to one that is no round trip of this path.
    """
    with tempfile.TemporaryDirectory(prefix="torsweep-round-trips-") as temporary:
        folder = Path(temporary) / "simulation"
        (folder / "template").mkdir(parents=True)
        graph = uniform_graph([(1_250_000, 1_250_000)], ONE_WAY_MS)
        (folder / "graph.gml").write_text(graph)
        hosts = {
            "answering": _host(0, 0, "answer"),
            "asking": _host(1, SECOND_NS, "ask", address(0)),
        }
        try:
            run_simulation(
                ShadowSimulation(hosts, PROBE_S * SECOND_NS, seed=1, parallelism=1), folder, shadow
            )
            tcpi_rtt = _told(folder / "data" / "hosts" / "asking")
        except (TorsweepError, OSError) as error:
            raise TorsweepError(f"{shadow}: {_NOT_TOLD}: {error}") from None
    trial = RoundTrips(2 * ONE_WAY_MS, tcpi_rtt)
    if not trial.plausible:
        reason = f"TCP_INFO says {tcpi_rtt} of a round trip of {trial.given_ms:g} ms"
        raise TorsweepError(f"{shadow}: {_NOT_TOLD}: {reason}")
    return trial


def _host(number: int, start_ns: int, *arguments: str) -> GraphHost:
    # Neither the user's packages nor a start-up file of theirs: the probe needs the standard library alone.
    command = ["-I", "-S", str(Path(round_trip_probe.__file__).absolute()), *arguments]
    process = Process(Path(sys.executable), command, start_ns, runs_to_the_end=False)
    return GraphHost(0, address(number), [process])


def _told(host: Path) -> int:
    answer = next((log.read_text() for log in host.glob("*.stdout")), "").strip()
    if not answer.isdigit():
        raise TorsweepError(f"the connection said {answer!r}" if answer else "no connection came about")
    return int(answer)


@dataclass(frozen=True)
class ShadowTools:
    """Where each program is: ``version_lines`` are what each says of its version, ``tors`` are the builds of
    tor, ``round_trips`` is what was found of Shadow's TCP."""

    shadow: Path
    tgen: Path
    oniontrace: Path
    tors: HostTors
    version_lines: dict[str, str]
    round_trips: RoundTrips

    @property
    def engine_version(self) -> str:
        """What figures and tables name: Shadow's version, what its TCP does, and tor's version."""
        words = self.version_lines["shadow"].split()
        exact = next((word for word in words if word.startswith("v")), words[min(1, len(words) - 1)])
        return f"{exact.removeprefix('v')}, {self.round_trips.text}, tor {self.tors.version}"

    @property
    def engine(self) -> str:
        """The engine that this Shadow is: its name in run.json and in the results' paths."""
        return self.round_trips.engine


def find_tools(run: RunSpec | None = None) -> ShadowTools:
    """All programs, with the builds of tor that ``run`` asks for; without a run, the one that stands.

    Raises ToolMissing, saying how to get it, for the first that is missing or too old.

    Raises TorsweepError when it cannot be told whether Shadow measures round trips.
    """
    tools = {name: require_tool(name) for name in ("shadow", "tgen", "oniontrace")}
    return ShadowTools(
        shadow=tools["shadow"].path,
        tgen=tools["tgen"].path,
        oniontrace=tools["oniontrace"].path,
        tors=find_host_tors(run) if run else HostTors(find_build()),
        version_lines={name: tool.version_line for name, tool in tools.items()},
        round_trips=round_trips(tools["shadow"].path),
    )
