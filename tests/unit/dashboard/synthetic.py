"""A made-up history: many nights without running anything, written as ledgers or straight into the rows."""

from __future__ import annotations

import random
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from corstone.dashboard import history

START = datetime(2025, 12, 1, 2, 0, tzinfo=UTC)
NETWORKS = ("acos", "asin", "atanh", "mlp", "conv")


def case_names(cells: int, cases: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Cells named after targets, cases after networks, spread evenly."""
    result = []
    for n in range(cases):
        cell = n % cells
        macs, board = (32, 64, 128, 256)[cell % 4], "corstone-300" if cell % 2 else "corstone-320"
        target = f"ethos-u{'55' if cell % 2 else '85'}-{macs}"
        name = f"{target}-vela5.{cell // 8}-py3.1{1 + cell % 3}"
        network, bits, policy = NETWORKS[n % 5], (8, 16)[n % 2], ("fixed", "edge_exact", "observer")[n % 3]
        facts = {
            "network": network,
            "bits": bits,
            "policy": policy,
            "target": target,
            "board": board,
            "provider": "emulator",
        }
        result.append((f"{name}-{cell:02d}", f"tests/fvp/test_{network}.py::test_codes[{n}-{policy}-int{bits}]", facts))
    return result


def fill(folder: Path, nights: int, cells: int, cases: int, seed: int = 1) -> None:
    """Write a history file: a Vela change nine nights ago moves one case in fifty, some cases flake or fail."""
    rng = random.Random(seed)
    names = case_names(cells, cases)
    base = [(rng.uniform(0.1, 3), rng.uniform(0.2, 2), rng.randrange(2000, 90000)) for _ in names]
    step = max(1, nights - 9)
    with history.open_history(folder) as connection:
        for night in range(nights):
            history._store(connection, _night(rng, names, base, night, step, nights))


def _night(rng: random.Random, names: list[Any], base: list[Any], night: int, step: int, nights: int) -> history._Rows:
    wall = (START + timedelta(days=night)).timestamp()
    vela = "5.0.0" if night < step else "5.1.0"
    rows, red = [], 0
    for n, ((cell, test_id, facts), (lsb, seconds, cycles)) in enumerate(zip(names, base, strict=True)):
        state, cause, message, attempts = "passed", "none", None, 1
        moved = night >= step and n % 50 == 7
        if rng.random() < 0.002:
            state, attempts, message = "flaky", 2, ("passed at attempt 2; attempt 1: no progress", "attempt 1: stuck\n")
        elif (night == nights - 1 and n % 400 == 11) or rng.random() < 0.0003:
            state, cause, message = (
                "failed",
                "bits",
                ("3 of 256 elements differ from tosa", "attempt 1: bits\n" + "x = 1\n" * 9),
            )
        elif n % 211 == 5:
            state, message = "skipped", ("needs an FVP", "")
        red += state == "failed"
        row: tuple[Any, ...] = (
            state,
            int(state == "failed"),
            cause,
            attempts,
            round(seconds * rng.uniform(0.97, 1.04), 4),
        )
        row += (lsb + (0.8 if moved else 0), (lsb + (0.8 if moved else 0)) / 5, cycles, cycles // 90, cycles * 3)
        rows.append((cell, test_id, facts, row, message, f"corstone run {facts['network']}" if message else ""))
    run = (f"run-{night:04d}", wall, int(red > 0), len(names), len(names), "[]", '{"pytest": "9.2.0"}')
    versions = {cell: {"vela": vela, "torch": "2.13.0", "executorch": "1.5.1"} for cell in {n[0] for n in names}}
    return history._Rows(history.Found(run[0], ((run[0], 1, folder_less),)), run, rows, versions)


folder_less = Path("none")


def table(connection: sqlite3.Connection, name: str) -> list[Any]:
    """All rows of a table, in order."""
    return sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
