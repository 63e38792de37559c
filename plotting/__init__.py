"""Figures of a plan, drawn from its summaries.

A figure is a :class:`~plotting.drawing.source.PlanFigure` at the top level of a module here, or of one
beside an experiment.yaml: a title and how to read it, which the page of a plan shows beside it; the summaries
that it needs; and a function that takes a :class:`~plotting.drawing.source.Source` and returns the figure,
its points and its caption. The rule `draw_figure` leaves a PDF, a PNG, the points as CSV and the caption as
text. An experiment.yaml lists figures by their names.

What figures share is in :mod:`plotting.drawing`; :mod:`plotting.families` has modules of several figures.

The first knob that varies is the colour and the line style (:mod:`plotting.drawing.palette`), the others are
facets (:mod:`plotting.drawing.facets`), so that one module draws its figure for any knobs.
"""
