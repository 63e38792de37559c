"""One reader per format: whatever a damaged or hostile file holds, one line says what is wrong with it.

In: a path. Out: plain values, arrays or frames; otherwise an :class:`~torsweep.errors.InputError` that says
what the file is not, and what is accepted. No other module opens a JSON, YAML, NumPy, Parquet or CSV file, an
archive, or a text that a user brings. Each reader states how much it accepts at most: far above what torsweep
writes or a published data set holds, and so little that a file at the limit is read in seconds.
"""
