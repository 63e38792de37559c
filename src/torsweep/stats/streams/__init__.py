"""Times of downloads: curves, quantiles, differences between variants, stair-steps, who starves."""
