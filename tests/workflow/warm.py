"""Commands forked from a process that has imported everything: each takes seconds less of the processor.

In: the words of a command (``snakemake``, ``torsweep`` or ``python -m MODULE``), a working directory. Out:
its exit code and what it wrote. The commands of Snakemake's rules come from the same process. A command has
this process's environment; one with another ``PYTHONPATH`` is forked from a process that has it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SERVER = Path(__file__).with_name("warm_server.py")
PROGRAMS = Path(sys.executable).parent

# Stands in the place of `torsweep` and of `python`: forks what it can, and is the real program otherwise.
STUB = """#!{python} -IS
import json, os, socket, sys
name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
warm = arguments[:2] in (["-m", "plotting"], ["-m", "snakemake"], ["-m", "torsweep"])
if name.startswith("python") and not warm:
    os.execv({python!r}, [{python!r}, *arguments])
if name.startswith("python"):
    name = "python"
request = {{
    "words": [name, *arguments], "folder": os.getcwd(), "environment": dict(os.environ), "python": {stub!r}
}}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({place!r})
    text = json.dumps(request).encode()
    socket.send_fds(connection, [len(text).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(text)
    connection.recv(8, socket.MSG_WAITALL)
    code = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big", signed=True)
os._exit(code if code >= 0 else 128 - code)
"""


class Server:
    """The process that commands are forked from, in a folder with its socket and the programs beside it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="warm-"))
        self.python = self.folder / "python"
        self.place = self.folder / "socket"
        stub = STUB.format(python=sys.executable, stub=str(self.python), place=str(self.place))
        for program in PROGRAMS.iterdir():
            own = self.folder / program.name
            if program.name == "torsweep" or program.name.startswith("python"):
                own.write_text(stub)
                own.chmod(0o755)
            else:
                own.symlink_to(program)
        self.process = subprocess.Popen(
            [sys.executable, SERVER, self.place],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        atexit.register(self.stop)
        # On a machine with other work it takes its time.
        while not self.place.exists():
            assert self.process.poll() is None, "the warm process has died"
            time.sleep(0.02)

    def run(
        self, words: Sequence[str], folder: Path, timeout_s: float, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run the command to its end; standard output and error together."""
        request = {"words": list(words), "folder": str(folder), "python": str(self.python)}
        text = json.dumps({**request, "environment": environment}).encode()
        with tempfile.TemporaryFile("w+") as output, socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.place))
            with open(os.devnull) as nothing:
                descriptors = [nothing.fileno(), output.fileno(), output.fileno()]
                socket.send_fds(connection, [len(text).to_bytes(8, "big")], descriptors)
            connection.sendall(text)
            process = _number(connection)
            connection.settimeout(timeout_s)
            try:
                code = _number(connection)
            except TimeoutError:
                os.killpg(process, signal.SIGKILL)
                output.seek(0)
                raise subprocess.TimeoutExpired(list(words), timeout_s, output.read()) from None
            output.seek(0)
            return subprocess.CompletedProcess(list(words), code, output.read())

    def stop(self) -> None:
        """End the process, which ends with its standard input."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def _number(connection: socket.socket) -> int:
    answer = connection.recv(8, socket.MSG_WAITALL)
    assert len(answer) == 8, "the warm process has ended"
    return int.from_bytes(answer, "big", signed=True)


_servers: dict[str, Server] = {}


def _server(environment: dict[str, str]) -> Server:
    modules = environment.get("PYTHONPATH", "")
    if modules not in _servers:
        _servers[modules] = Server(environment)
    return _servers[modules]


def programs() -> Path:
    """A folder for ``PATH`` with `torsweep` and `python` that are forked, and this environment's others."""
    return _server(dict(os.environ)).folder


def command(arguments: Sequence[str]) -> list[str]:
    """Snakemake as a process of its own, which can be killed, and whose steps are forked."""
    program = f"import sys; sys.executable = {str(programs() / 'python')!r}\n"
    program += "sys.argv[0] = 'snakemake'\nfrom snakemake.cli import main\nmain()"
    return [sys.executable, "-c", program, *arguments]


def run(
    words: Sequence[str], folder: Path, timeout_s: float, modules: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``words`` in ``folder`` to the end, with ``modules`` as PYTHONPATH; output and error together."""
    environment = dict(os.environ) if modules is None else {**os.environ, "PYTHONPATH": modules}
    return _server(environment).run(words, folder, timeout_s, environment)
