"""Findings about a network that need no device: what a look at its lowered graph gives the judge.

Leaves out the looks themselves: ``corstone.reference.domains`` and the guard.
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.causes import Cause


@dataclass(frozen=True)
class GraphFinding:
    """A code or table node outside an operator's domain, or a table that holds something else than its operator.

    ``fatal`` findings make the verdict FAILED with this ``cause``; others become notes.
    """

    message: str
    hint: str = ""
    fatal: bool = True
    cause: Cause = Cause.OUT_OF_DOMAIN
