"""What a user configures: networks, experiments with their claims, knobs and eras.

In: YAML files. Out: frozen pydantic models whose quantities are integers in base units. Whatever is
wrong in a file is an :class:`torsweep.errors.InputError` that names file, key, value and what is
accepted.
"""
