"""One page for each plan: the question, the results, and how to make them again.

In: a plan's summaries, figures and networks, and its experiment.yaml. Out: a self-contained HTML file. Every
number comes from the summaries or from ``torsweep network describe``; nothing is computed here.
"""
