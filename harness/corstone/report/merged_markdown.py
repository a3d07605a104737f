"""The summary of a merged run for the job page of GitHub or GitLab: one answer, then what needs a look."""

from __future__ import annotations

import re

from corstone.dashboard.text import visible
from corstone.ledger.model import Merged, MergedCase, State

# GitHub cuts a step summary at 1 MiB; long before that nobody reads it.
ROWS = 50
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&-])")


def md(text: object, limit: int = 300) -> str:
    """Text as Markdown shows it literally: no link, mention, HTML, table bar or line break comes out of a name."""
    plain = " ".join(visible(str(text)).split())
    plain = plain if len(plain) <= limit else plain[: limit - 1] + "…"
    return _SPECIAL.sub(lambda m: f"&#{ord(m.group())};", plain)


def markdown(merged: Merged, *, title: str = "Corstone", link: str = "") -> str:
    """The whole summary. ``link``: address of the HTML report, where there is one."""
    red = [c for c in merged.cases if c.red]
    counts = merged.counts
    lines = [
        f"## {'❌' if merged.red else '✅'} {md(title)}: {'red' if merged.red else 'green'}",
        "",
        md(merged.final_line),
    ]
    if link:
        lines += ["", f"[Report]({link})"]
    if merged.problems:
        lines += ["", "### The counts do not agree", "", *[f"- {md(p)}" for p in merged.problems[:ROWS]]]
    cells = sorted({c.cell for c in merged.cases})
    states = [s for s in State if counts[s]]
    if len(cells) > 1 or states:
        lines += ["", "| cell | " + " | ".join(s.value for s in states) + " |"]
        lines += ["|---|" + "--:|" * len(states)]
        for cell in cells:
            here = [c.state for c in merged.cases if c.cell == cell]
            lines.append(f"| {md(cell or 'all')} | " + " | ".join(str(here.count(s) or "") for s in states) + " |")
    lines += _table("Red", red)
    lines += _table("Quarantined", [c for c in merged.cases if c.state is State.QUARANTINED])
    lines += _table("Flaky: passed after a failure", [c for c in merged.cases if c.state is State.FLAKY])
    lines += _table("Expected to fail, and passed", [c for c in merged.cases if c.state is State.XPASS and not c.red])
    versions: dict[str, set[str]] = {}
    for case in merged.cases:
        if case.last is not None:
            for tool, version in case.last.versions.items():
                versions.setdefault(tool, set()).add(version)
    if versions:
        lines += [
            "",
            "Versions: " + ", ".join(f"{md(t)} {md('/'.join(sorted(v)))}" for t, v in sorted(versions.items())),
        ]
    if merged.notes:
        lines += [
            "",
            "<details><summary>Notes</summary>",
            "",
            *[f"- {md(n)}" for n in merged.notes[:ROWS]],
            "",
            "</details>",
        ]
    return "\n".join(lines) + "\n"


def _table(title: str, cases: list[MergedCase]) -> list[str]:
    if not cases:
        return []
    lines = ["", f"### {title} ({len(cases)})", "", "| state | case | cell | cause | reason |", "|---|---|---|---|---|"]
    for case in cases[:ROWS]:
        cells = (case.state.value, md(case.test_id), md(case.cell), md(case.cause), md(case.reason))
        lines.append("| " + " | ".join(cells) + " |")
    if len(cases) > ROWS:
        lines.append(f"\n… and {len(cases) - ROWS} more")
    return lines
