"""What a history knows of each cell, for the budget."""

from __future__ import annotations

from pathlib import Path

from corstone.ci.budget import Measured


def measure(history: Path, nights: int = 60) -> dict[str, Measured]:
    """Median seconds of a night, cases, nights, and how often a cell was red, and red alone, in the newest nights."""
    from statistics import median

    from corstone.dashboard.history import open_history, sync

    with open_history(history) as connection:
        sync(history, connection)
        rows = connection.execute(
            "SELECT cells.name, results.run_id, sum(seconds), count(*), max(results.red) FROM results "
            "JOIN cases ON cases.id = case_id JOIN cells ON cells.id = cell_id "
            "WHERE results.run_id IN (SELECT id FROM runs ORDER BY wall DESC LIMIT ?) "
            "GROUP BY cells.name, results.run_id",
            (nights,),
        ).fetchall()
    red_cells: dict[int, int] = {}
    for _, run, _, _, red in rows:
        red_cells[run] = red_cells.get(run, 0) + red
    by_cell: dict[str, list[tuple[int, float, int, int]]] = {}
    for cell, run, seconds, count, red in rows:
        by_cell.setdefault(cell, []).append((run, seconds, count, red))
    return {
        cell: Measured(
            seconds=median(s for _, s, _, _ in seen),
            cases=max(n for _, _, n, _ in seen),
            nights=len(seen),
            red=sum(red for _, _, _, red in seen),
            alone_red=sum(red and red_cells[run] == 1 for run, _, _, red in seen),
        )
        for cell, seen in by_cell.items()
    }
