"""The dashboard: history of many nights in one SQLite file, a static site from it, a live view, and exports.

Leaves out how one run is reported (``corstone.report``) and what a ledger holds (``corstone.ledger``).
"""
