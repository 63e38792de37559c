"""What the files of a published result are called that stand beside its tables, summaries and figures."""

from __future__ import annotations

README_FILE = "README.md"
EXPERIMENT_FILE = "experiment.yaml"
PAGE_FILE = "report.html"
CITATION_FILE = "CITATION.cff"
CRATE_FILE = "ro-crate-metadata.json"
SUMS_FILE = "SHA256SUMS"
