"""The catalogue of endings: every way a boot can end, with outcome, cause and hint, as one table."""

from corstone.boards.endings.classify import RULES, UNKNOWN, classify
from corstone.boards.endings.outputs import RESIDUAL
from corstone.boards.endings.rule import Match, Rule

__all__ = ["RESIDUAL", "RULES", "UNKNOWN", "Match", "Rule", "classify"]
