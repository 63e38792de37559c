"""Times of downloads: curves, quantiles, differences between variants, drift."""
