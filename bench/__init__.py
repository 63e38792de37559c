"""Benchmarks: ratios within one run, and figures with the machine they were taken on."""
