"""The ledger: one append-only NDJSON file a process, from which every other report is made.

Leaves out how reports look (``corstone.report``) and what is kept over nights (``corstone.dashboard``).
"""

from __future__ import annotations

from corstone.ledger.writer import Ledger, LedgerError, open_ledger

__all__ = ["Ledger", "LedgerError", "open_ledger"]
