"""Budgets against float64 (placeholder numbers until measured below)."""

from __future__ import annotations

from corstone.judge.budget import Budget


def budgets(name: str, bits: int, policy: str) -> tuple[Budget, ...]:
    """Budgets of one network."""
    del name, bits, policy
    return ()
