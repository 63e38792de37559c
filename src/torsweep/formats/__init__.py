"""One reader per format: whatever a damaged or wrong file holds, one line says what is wrong with it.

In: a path. Out: plain values, arrays or frames; otherwise an :class:`~torsweep.errors.InputError` that says
what the file is not, and what is accepted. No other module opens a JSON, NumPy, Parquet or CSV file, an
archive, or a text that a user brings.
"""
