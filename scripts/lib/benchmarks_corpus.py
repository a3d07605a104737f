"""Many different programs through whole boots: one boot each, shared boots, and shared boots in two processes.

``CORSTONE_CORPUS`` names the folder of captured programs (as ``scripts/corpus_on_boards`` takes it); a sample of them
runs on our runners, every output compared. Processor time is that of the harness, the emulator and QEMU together.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Figure, Spent, spent

ENVIRONMENT = "CORSTONE_CORPUS"
SAMPLE = 64
_SCRIPT = Path(__file__).resolve().parents[1] / "corpus_on_boards"


def figures(runs: int) -> Iterator[Figure]:
    """Programs a second, and what sharing boots and a second process bring, each pair measured in turn."""
    from corpus_boots import boots

    folder = os.environ.get(ENVIRONMENT)
    if not folder or not (Path(folder) / "index.json").is_file():
        print(f"   left out: set {ENVIRONMENT} to a folder of captured programs")
        return
    whole = len(boots(Path(folder), runner="corstone"))
    few, many = (max(1, whole // sample) for sample in (SAMPLE, 4 * SAMPLE))
    count = len(boots(Path(folder), every=many, runner="corstone"))
    with tempfile.TemporaryDirectory() as work:
        command = [sys.executable, str(_SCRIPT), folder, "--runner", "corstone"]

        def run(every: int, *more: str) -> Spent:
            rows = Path(work) / "rows.ndjson"
            rows.unlink(missing_ok=True)
            return spent([*command, "--every", str(every), "--rows", str(rows), *more])

        run(few)
        pairs = [(run(many), run(many, "--jobs", "2")) for _ in range(runs)]
        ratios = [(run(few, "--boot", "1"), run(few)) for _ in range(runs)]
    yield Figure(f"{count} programs in shared boots, with start: a second", "1/s", [count / a.wall for a, _ in pairs])
    yield Figure("the same in two processes", "1/s", [count / b.wall for _, b in pairs], "> 20 on two cores")
    yield Figure("processor time of a program", "s", [a.cpu / count for a, _ in pairs], "< 0.1")
    yield Figure("one process / two, by the clock", "x", [a.wall / b.wall for a, b in pairs])
    yield Figure("a boot each / shared boots, by the clock", "x", [a.wall / b.wall for a, b in ratios])
    yield Figure("a boot each / shared boots, processor time", "x", [a.cpu / b.cpu for a, b in ratios])
