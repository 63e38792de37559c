"""Has the tor of this host take relays by lot, whatever they weigh: a controller with stem.

    controller.py CONTROL_PORT SEED

Writes the paths to paths.csv.
"""

import queue
import random
import sys

from stem import ControllerError
from stem.control import Controller, EventType

TRIES = 5
port, seed = sys.argv[1:]
draw, streams = random.Random(seed), queue.Queue()


def chosen_path(flags):
    """Three relays by lot, each of those that can be in its place."""
    guard = draw.choice([name for name in flags if "Guard" in flags[name]])
    end = draw.choice([name for name in flags if "Exit" in flags[name] and name != guard])
    middle = draw.choice([name for name in flags if name not in (guard, end)])
    return [guard, middle, end]


with Controller.from_port(port=int(port)) as control, open("paths.csv", "w") as file:
    control.authenticate()
    found = {one.fingerprint: one.flags for one in control.get_network_statuses()}
    flags = {name: found[name] for name in sorted(found) if "Authority" not in found[name]}
    control.add_event_listener(streams.put, EventType.STREAM)
    control.set_conf("__LeaveStreamsUnattached", "1")
    while True:
        stream = streams.get()
        if stream.status not in ("NEW", "NEWRESOLVE"):
            continue
        for _ in range(TRIES):
            path = chosen_path(flags)
            try:
                control.attach_stream(stream.id, control.new_circuit(path, await_build=True))
            except ControllerError as error:
                print(stream.id, error, flush=True)
            else:
                print(stream.id, *path, sep=",", file=file, flush=True)
                break
