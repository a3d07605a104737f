"""Networks under test: modules, domains, stimuli and budgets.

Importing this package imports no torch: a network names its module as text (``corstone_models.unary:Acos``), and only
the compile child resolves it.
"""
