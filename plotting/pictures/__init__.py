"""Pictures that commands of torsweep draw, beside the figures of plans and of comparisons."""
