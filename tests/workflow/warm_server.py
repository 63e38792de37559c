"""A process that has imported everything, from which commands are forked; tests/workflow/warm.py starts it.

In: a path for its socket, and for each command a connection with a request (JSON: the words of the command,
the working directory, the environment) and three descriptors, its standard input, output and error. Out: on
the connection the process's number, and when it has ended its exit code. It ends with its standard input, and
removes the folder of the socket.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

LIBRARIES = (
    *("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "seaborn", "scipy.stats"),
    *("snakemake.cli", "snakemake.report", "snakemake.executors.local", "snakemake_executor_plugin_slurm"),
)
PACKAGES = ("config", "engines", "network", "pipeline", "report", "stats", "storage", "tor", "bundle", "cli")
"""Of torsweep. The others are imported by the few commands that need them."""


def _import_everything() -> None:
    """What Snakemake and the steps of a pipeline import; not ``plotting``, which may be a workspace's own."""
    import torsweep

    modules = [found.name for found in pkgutil.walk_packages(torsweep.__path__, "torsweep.")]
    own = [name for name in modules if name.split(".")[1] in PACKAGES and not name.endswith("__main__")]
    for name in (*LIBRARIES, *own):
        try:
            importlib.import_module(name)
        except ImportError:  # a command that needs it says so
            continue
    threads = [Path(task, "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    if "polars-0" in threads:
        raise SystemExit("a module computes with polars when it is imported: threads are lost in a fork")
    for name in [name for name in sys.modules if name.partition(".")[0] == "plotting"]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()


def _run(words: list[str]) -> None:
    """Be the command: ``torsweep …``, ``snakemake …`` or ``python -m MODULE …``."""
    program, *arguments = words
    if program == "python":
        sys.path.insert(0, os.getcwd())
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = words
    module = {"torsweep": "torsweep.cli", "snakemake": "snakemake.cli"}[program]
    importlib.import_module(module).main()


def _become(request: dict[str, Any], descriptors: list[int]) -> int:
    """Run the command of ``request`` in this process; its exit code."""
    atexit._clear()
    os.setsid()
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.executable = request["python"]
    sys.path += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
    try:
        _run(request["words"])
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    length, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    size, text = int.from_bytes(length, "big"), b""
    while len(text) < size:
        text += connection.recv(size - len(text))
    return json.loads(text), descriptors


def _end(code: int) -> None:
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def serve(place: str) -> None:
    """Take requests until standard input ends."""
    _import_everything()
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    listener = socket.socket(socket.AF_UNIX)
    # Where there is a socket at `place`, it listens.
    listener.bind(f"{place}.bound")
    listener.listen()
    os.rename(f"{place}.bound", place)
    selector = selectors.DefaultSelector()
    for source in (listener, woken, sys.stdin):
        selector.register(source, selectors.EVENT_READ)
    running: dict[int, socket.socket] = {}
    while True:
        ready = {key.fileobj for key, _ in selector.select()}
        if sys.stdin in ready:
            shutil.rmtree(Path(place).parent, ignore_errors=True)
            return
        if woken in ready:
            woken.recv(4096)
        if listener in ready:
            connection, _ = listener.accept()
            request, descriptors = _receive(connection)
            process = os.fork()
            if not process:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (listener, woken, waking, connection, *running.values()):
                    other.close()
                _end(_become(request, descriptors))
            for descriptor in descriptors:
                os.close(descriptor)
            running[process] = connection
            _tell(connection, process)
        while running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                break
            with running.pop(process) as connection:
                _tell(connection, os.waitstatus_to_exitcode(status))


def _tell(connection: socket.socket, number: int) -> None:
    try:
        connection.sendall(number.to_bytes(8, "big", signed=True))
    except BrokenPipeError:
        return


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file
    serve(sys.argv[1])
