"""Networks under test: modules, domains, stimuli and budgets."""
