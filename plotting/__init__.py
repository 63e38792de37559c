"""Figures of a plan, drawn from its summaries.

    python -m plotting FIGURE --summaries SUMMARIES_DIR --out FIGURES_DIR/FIGURE

FIGURE is one of ttfb_cdf, ttlb_cdf, ttfb_closeup, relay_queues, differences, stream_progress,
stream_fairness, cell_density, cell_stages, latency_breakdown,
latency_percentiles, latency_over_time, latency_waterfall. Each leaves a PDF, a PNG and the points it plots as
CSV. One module draws one kind of figure, whatever the knobs: the first knob is the colour and the line style
(:mod:`plotting.palette`), the others are facets (:mod:`plotting.facets`).

A comparison of engines has figures of its own (:mod:`plotting.fidelity`), drawn from what
``torsweep fidelity compare`` wrote:

    python -m plotting.fidelity overview --comparison DIR --out DIR/overview
"""
