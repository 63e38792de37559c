"""The files of a plan's summary, by name.

Here and not with what writes them, so that the pipeline can name them without loading the statistics.
"""

PLAN_FILE = "plan.json"
"""What the tables were collected from, and the baseline."""

CLAIMS_FILE = "claims.json"
"""The verdict on each claim."""

FINDINGS_FILE = "findings.json"
"""Which findings survive under other transports: in a summary, and among the findings themselves."""

SUMMARY_FILES = (
    "breakdown.csv",
    "breakdown_clocks.csv",
    "breakdown_counts.csv",
    "breakdown_groups.csv",
    "breakdown_runs.csv",
    "breakdown_time.csv",
    "breakdown_way.csv",
    "cell_counts.csv",
    "cell_density.csv",
    "cell_load.csv",
    "cell_runs.csv",
    "cell_spikes.csv",
    "cell_times.csv",
    "claims.csv",
    CLAIMS_FILE,
    "clients.csv",
    "closeup.csv",
    "curves.csv",
    "differences.csv",
    "fairness.csv",
    FINDINGS_FILE,
    "medians.csv",
    "outcomes.csv",
    PLAN_FILE,
    "progress.csv",
    "queues.csv",
    "shares.csv",
    "stairs.csv",
    "stationarity.csv",
    "summary.md",
)

SIDE_BY_SIDE_FILES = ("clients.csv", "completion.csv", "shares.csv", "side_by_side.json", "side_by_side.md")
"""Files of a comparison of the same plan in two engines."""

FINDINGS_FILES = ("contrasts.csv", FINDINGS_FILE, "findings.md", "verdicts.csv")
"""Files of the findings of the same plan under several transports."""
