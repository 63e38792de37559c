"""What relays carry, in pairs of runs: ``python -m bench.carried OUT.csv WORDS=RUN_DIR,AGAINST_DIR …``.

In: pairs of finished runs of one network. Out: a row for each pair: what all relays together wrote in the
measured time, bytes a second, and the ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bench.writing import write_named_rows
from torsweep.engines.run_spec import read_run
from torsweep.engines.table_schema import RELAYS
from torsweep.formats.json_file import read_json
from torsweep.network.model import NETWORK_FILE
from torsweep.runsets.run import read_table

NS_PER_S = 1_000_000_000


def carried(run: Path) -> float:
    """What all relays together wrote in the measured time, bytes a second."""
    spec = read_run(run)
    relays = [relay["name"] for relay in read_json(run / spec.network / NETWORK_FILE)["relays"]]
    first_s, end_s = (time_ns // NS_PER_S for time_ns in (spec.warm_up_ns, spec.duration_ns))
    measured = read_table(run, RELAYS).filter(
        pl.col("second") >= first_s, pl.col("second") < end_s, pl.col("relay").is_in(relays)
    )
    return measured["bytes_out"].sum() / (end_s - first_s)


def compared(run: Path, against: Path) -> dict[str, float]:
    """What the relays of ``run`` carry, those of ``against``, bytes a second, and the ratio."""
    one, other = carried(run), carried(against)
    return {"bytes_per_s": round(one), "against_bytes_per_s": round(other), "ratio": round(one / other, 3)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    write_named_rows(
        __doc__, "RUN_DIR,AGAINST_DIR", lambda runs: compared(*map(Path, runs.split(","))), arguments
    )


if __name__ == "__main__":
    main()
