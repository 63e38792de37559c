"""One reader a format: whatever a damaged or hostile file holds, one line says what is wrong with it.

In: a path. Out: plain values, arrays or frames; otherwise an :class:`~torsweep.errors.InputError`. No other
module opens a JSON, YAML, NumPy, Parquet or CSV file, an archive, or a text that a user brings.
:mod:`~torsweep.formats.limits` states how large, how deep and how many.
"""
