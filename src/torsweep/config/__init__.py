"""What a user configures: networks, experiments with their claims, knobs and eras.

In: YAML files. Out: frozen pydantic models whose quantities are integers in base units.
"""
