"""Figures of a plan, drawn from its summaries.

A figure is a module FIGURE.py in this folder with four names: ``TITLE`` and ``HOW_TO_READ``, which the page
of a plan shows beside it; ``NEEDS``, the summaries that it reads; and ``draw``, which takes a
:class:`~plotting.drawing.source.Source` and returns the figure, its points and its caption. The rule
`draw_figure` leaves a PDF, a PNG, the points as CSV and the caption as text. An experiment.yaml lists figures
by their names.

What figures share is in :mod:`plotting.drawing`. Figures that share more are a family, one module in
:mod:`plotting.families`: its ``FIGURES`` has a :class:`~plotting.drawing.source.PlanFigure` for each name.

The first knob that varies is the colour and the line style (:mod:`plotting.drawing.palette`), the others are
facets (:mod:`plotting.drawing.facets`), so that one module draws its figure for any knobs.
"""
