"""The accuracy lab: what quantization does to a network on the device, code by code.

``tables`` and ``guard`` look at programs before they run; ``sweep`` runs every code and ``page`` draws it; ``stages``
says where an answer changed first; ``measure`` and ``tighten`` derive budgets; ``compare`` and ``bundle`` work from
stored captures. Importing this package imports no torch.
"""
