"""How close a network comes to live Tor: its load, how much its relays are used, and its perf clients' times.

In: a network, the summary of a plan that ran on it, and measurements of the public network. Out: lines of
``torsweep network describe``, and rows of a plan's page; and the load that gives a utilisation.
"""
