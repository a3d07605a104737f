"""The table of ExecuTorch's own tests on the emulator: per operator and target, and what did not pass and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from corstone.targets import TARGETS

# What the columns mean, in this order; a state without a row in the results has no column.
STATES = {
    "passed": "passed after a boot",
    "failed": "failed",
    "timed-out": "did not end",
    "crashed": "took its process down",
    "not-run": "could not be run",
    "xpassed": "passed although the suite expects it to fail",
    "xfailed": "the suite expects it to fail, and it does",
    "skipped": "the suite skips it",
    "no-device": "passed without ever asking for a device",
}
MARK = "<!-- scripts/upstream_suite writes what is below -->\n"
_BAD = ("failed", "timed-out", "crashed", "not-run")


def target_of(test: str) -> str:
    """The NPU family in a test's name, ``-`` for none."""
    families = sorted({row.product.lower() for row in TARGETS.values()})
    return next((name for name in families if name in test), "-")


def reached(row: dict[str, Any]) -> bool:
    """Whether the test booted something."""
    return int(row["boots"]) > 0


def render(rows: Sequence[dict[str, Any]], listed: Sequence[str]) -> str:
    """Markdown of all rows; ``listed`` are the tests that the suite has."""
    states = [state for state in STATES if any(row["state"] == state for row in rows)]
    cells: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        target = target_of(row["test"])
        for name in (_operator(row["test"]), ""):
            cells[name, target][row["state"]] += 1
            cells[name, target]["reached"] += reached(row)
    of = Counter((_operator(test), target_of(test)) for test in listed)
    lines = [
        *_head(rows, listed, states),
        "| operator | target | run | reached a device | " + " | ".join(states) + " |",
    ]
    lines.append("|---|---|---:|---:|" + "---:|" * len(states))
    for (name, target), counts in sorted(cells.items()):
        total = sum(counts[state] for state in states)
        there = of[name, target] if name else sum(n for (_, t), n in of.items() if t == target)
        run = f"{total} of {there}" if there else str(total)
        shown = " | ".join(str(counts[state] or "") for state in states)
        lines.append(f"| {name or '**all**'} | {target} | {run} | {counts['reached']} | {shown} |")
    return "\n".join([*lines, *_lists(rows)]) + "\n"


def _head(rows: Sequence[dict[str, Any]], listed: Sequence[str], states: Sequence[str]) -> list[str]:
    there = [row for row in rows if reached(row)]
    good = sum(row["state"] == "passed" for row in there)
    bad = sum(row["state"] in _BAD for row in there)
    boots = sum(row["boot_s"] for row in there)
    rest = sum(row["wall_s"] for row in there) - boots
    line = f"{len(rows)} of {len(listed)} tests were run; {len(there)} reached a device, "
    line += f"{good} of these passed, {bad} failed."
    if good + bad:
        line += f" That is {100 * good / (good + bad):.2f} %."
    lines = [line]
    bits = [row["bits"] for row in rows if row.get("bits") is not None]
    if bits:  # replayed: nothing was compiled, and the reference model's answers are there
        lines += [
            "",
            f"Outputs equal to the TOSA reference model's, bit for bit: {sum(bits)} of {len(bits)} that have them.",
        ]
    elif rest > 0:
        lines += [
            "",
            f"Boots took {boots:.0f} s, {boots / rest:.2f} times the rest of the same tests (compiling, comparing).",
        ]
    return [*lines, "", *(f"- *{state}*: {STATES[state]}" for state in states), ""]


def _lists(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    bad = sorted((row for row in rows if row["state"] in (*_BAD, "xpassed")), key=lambda row: str(row["test"]))
    if bad:
        lines += ["", "## Not passed", "", "| test | state | boots | exit | why |", "|---|---|---:|---|---|"]
        for row in bad:
            exits = ", ".join(map(str, row["exits"]))
            lines.append(f"| `{row['test']}` | {row['state']} | {row['boots']} | {exits} | {_cell(row['why'])} |")
    quiet = Counter(
        (target_of(row["test"]), row["state"], _cell(row["why"]) or "no reason known")
        for row in rows
        if not reached(row) and row["state"] not in _BAD
    )
    if quiet:
        lines += ["", "## Never reached a device", "", "| target | state | tests | why |", "|---|---|---:|---|"]
        for (target, state, why), count in sorted(quiet.items()):
            lines.append(f"| {target} | {state} | {count} | {why} |")
    return lines


def _operator(test: str) -> str:
    return test.partition("::")[0].removeprefix("test_")


def _cell(text: str) -> str:
    return " ".join(text.split())[:240].replace("|", "\\|")
