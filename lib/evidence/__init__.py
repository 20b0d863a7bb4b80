"""What the book needs to judge the three texts: bounds, lemmas, lower bounds, constructions, exact games, and the
computation behind each notebook.

Imports run one way: ``dpregret``, then this package, then the notebooks. Only ``evidence.report`` draws.
"""
