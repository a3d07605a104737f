"""Figures of the nightly job: ledger, merge, report, dashboard. Nothing is booted; the cases are made up.

Each step runs in a process of its own, so that its memory is its own: ``python benchmarks_nightly.py STEP FOLDER``.
Times are of the processor, all processes of a step together, which a busy machine changes little; where wall-clock time
is meant it says so.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import Figure

TOP = Path(__file__).resolve().parents[2]
CASES, LARGE, NIGHTS, PER_TEST = 3000, 100_000, 365, 2000


def load(path: str) -> ModuleType:
    """A helper of the tests, which make the same cases."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, TOP / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cpu() -> float:
    """Processor seconds so far, of this process and those it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def _made_once(record: Any) -> Any:
    """The record, with its data made once: filling a history is not what is measured."""
    data = record.to_json()

    class Once(type(record)):  # type: ignore[misc]
        def to_json(self) -> dict[str, Any]:
            return dict(data)

    return Once(**vars(record))


def _record(folder: Path) -> Any:
    return load("tests/unit/report/conftest.py").judged(folder, "acos")


def _fill(folder: Path, count: int, records: list[Any], shards: int = 4) -> None:
    """Ledgers of a run of ``count`` tests in shards, one in fifty failed."""
    from corstone.causes import Cause, Outcome
    from corstone.ledger import open_ledger
    from corstone.ledger.writer import Identity

    ids = [f"tests/fvp/test_networks.py::test_codes[int8-fixed-ethos-u55-128-{i}]" for i in range(count)]
    for shard in range(shards):
        part = ids[shard::shards]
        identity = Identity("r", "u55", f"{shard + 1}/{shards}")
        with open_ledger(folder, identity, fsync="never") as book:
            book.collected(part)
            for n, test_id in enumerate(part):
                book.started(test_id)
                if n % 50 == 7:
                    book.finished(test_id, Outcome.FAILED, Cause.BITS, reason="3 of 256 differ", text="x\n" * 40)
                else:
                    book.finished(test_id, Outcome.PASSED, records=records)


def ledger(folder: Path) -> dict[str, float]:
    """What the lines of one test cost, with and without a case record in them."""
    from corstone.causes import Outcome
    from corstone.ledger import open_ledger

    record = _record(folder / "capture")
    result = {}
    for name, records in (("plain", []), ("record", [record])):
        with open_ledger(folder / name) as book:
            book.collected([f"t{i}" for i in range(PER_TEST)])
            began = _cpu()
            for i in range(PER_TEST):
                book.started(f"t{i}")
                book.finished(f"t{i}", Outcome.PASSED, records=records)
            result[name] = (_cpu() - began) / PER_TEST * 1000
    return result


def merge_large(folder: Path) -> dict[str, float]:
    """Merging ``LARGE`` cases: reading, then all four reports."""
    from corstone.ledger.merge import merge
    from corstone.report import merged_html, merged_json, merged_junit, merged_markdown

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = _cpu()
    merged = merge([folder / "large"])
    read = _cpu() - began
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
    assert len(merged.cases) == merged.collected == LARGE
    merged_junit.write_junit(merged, folder / "junit.xml")
    merged_json.write_json(merged, folder / "all.json")
    (folder / "summary.md").write_text(merged_markdown.markdown(merged))
    text = _cpu() - began
    merged_html.write_html(merged, folder / "report.html")
    whole = _cpu() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"read": read, "text": text, "all": whole, "held": held / 1024, "peak": peak / 1024}


def report(folder: Path) -> dict[str, float]:
    """The page of ``CASES`` cases, each with curve and transcript."""
    from corstone.report.html_report import write_html

    base = _record(folder / "capture")
    records = [replace(base, case_id=f"case-{i}", network=f"net{i}") for i in range(CASES)]
    began = _cpu()
    write_html(folder / "report.html", records)
    result = {"write": _cpu() - began, "size": (folder / "report.html").stat().st_size / 1e6}
    return result | {f"paint-{k}": v for k, v in _paint(folder, {"report": folder / "report.html"}).items()}


def dashboard(folder: Path) -> dict[str, float]:
    """The site of ``NIGHTS`` nights with ``CASES`` cases each, from a history that holds them."""
    from corstone.dashboard.build import build

    load("tests/unit/dashboard/synthetic.py").fill(folder / "h", nights=NIGHTS, cells=20, cases=CASES)
    began, wall = _cpu(), time.perf_counter()
    built = build(folder / "h", folder / "site")
    result = {"wall": time.perf_counter() - wall, "build": _cpu() - began, "pages": float(built.pages)}
    site = folder / "site"
    pages = {n: site / f"{n}.html" for n in ("index", "cases", "changes", "drift")}
    pages |= {n[:-1]: min((site / n).glob("*.html")) for n in ("nights", "cells")}
    pages["case"] = min((site / "cases").rglob("*.html"))
    return result | {f"paint-{k}": v for k, v in _paint(folder, pages).items()}


def _paint(folder: Path, pages: dict[str, Path]) -> dict[str, float]:
    """Milliseconds to first contentful paint and to a page that is loaded; nothing where there is no browser."""
    import pytest

    chromium = load("tests/acceptance/chromium.py")
    result: dict[str, float] = {}
    try:
        with chromium.browser(folder / "profile") as driver:
            chromium.show(driver, next(iter(pages.values())).as_uri(), chromium.DESKTOP)
            for name, path in pages.items():
                chromium.show(driver, "about:blank", chromium.DESKTOP)
                chromium.show(driver, path.as_uri(), chromium.DESKTOP)
                time.sleep(0.3)
                result[name] = chromium.paint_ms(driver)
                loaded = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
                result[f"{name} loaded"] = float(driver.execute_script(loaded))
    except pytest.skip.Exception as why:
        print(why, file=sys.stderr)
    return result


def step(name: str, folder: Path) -> dict[str, float]:
    """One step in a process of its own."""
    done = subprocess.run([sys.executable, __file__, name, str(folder)], stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def nightly(runs: int) -> Iterator[Figure]:
    """Ledger, merge of 100,000 cases, report of 3,000, dashboard of a year; once each, whatever --runs says."""
    del runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = step("ledger", folder)
        yield Figure("ledger, one test", "ms", [found["plain"]], "under 1 ms")
        yield Figure("ledger, one test with its case record", "ms", [found["record"]], "under 1 ms")
        _fill(folder / "large", LARGE, [_made_once(_record(folder / "capture-large"))])
        found = step("merge", folder)
        yield Figure("merge 100,000 cases", "s", [found["read"]])
        yield Figure("merge 100,000 cases, JUnit, JSON, Markdown", "s", [found["text"]])
        yield Figure("merge 100,000 cases, all and HTML", "s", [found["all"]])
        yield Figure("memory held by 100,000 merged cases", "MB", [found["held"]])
        yield Figure("peak memory of it all", "MB", [found["peak"]])
        found = step("report", folder)
        yield Figure("report of 3,000 cases, writing", "s", [found.pop("write")])
        yield Figure("report of 3,000 cases, size", "MB", [found.pop("size")])
        yield from (Figure(f"report, {k}", "ms", [v]) for k, v in found.items())
        found = step("dashboard", folder)
        yield Figure("dashboard of 365 nights x 3,000 cases, build", "s", [found.pop("build")], "under 60 s")
        yield Figure("the same, wall-clock", "s", [found.pop("wall")], "under 60 s")
        yield Figure("dashboard, pages", "", [found.pop("pages")])
        yield from (Figure(f"dashboard, {k}", "ms", [v], "under 1000 ms") for k, v in found.items())


STEPS: dict[str, Callable[[Path], dict[str, float]]] = {
    "ledger": ledger,
    "merge": merge_large,
    "report": report,
    "dashboard": dashboard,
}


if __name__ == "__main__":
    print(json.dumps(STEPS[sys.argv[1]](Path(sys.argv[2]))))
