"""NPU counters from a transcript: Arm's ``<metrics>`` lines (base64 of JSON) and ExecuTorch's PMU report.

Counters are never needed for a verdict; what cannot be read is left out.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable

_BLOCK = re.compile(r"<metrics>(.*?)</metrics>", re.DOTALL)
_PMU = re.compile(r"\b(ethosu_pmu_\w*cntr\d*|ethos-u : cycle_cnt|cpu_wait_for_npu_cntr) : (\d+)")
_EVENTS = re.compile(r"Ethos-U PMU Events:\[([^\]]*)\]")
_LIMIT = 1 << 20


def _samples(document: object) -> Iterable[tuple[str, int]]:
    groups = document if isinstance(document, list) else [document]
    for group in groups:
        samples = group.get("samples", ()) if isinstance(group, dict) else ()
        for sample in samples if isinstance(samples, list) else ():
            if not isinstance(sample, dict):
                continue
            name, value = sample.get("name"), sample.get("value")
            first = value[0] if isinstance(value, list) and value else value
            if isinstance(name, str) and isinstance(first, (int, float)) and first == first:
                yield name, int(min(max(first, 0), 2**63))


def mlek_counters(text: str) -> dict[str, int]:
    """Counter names and values of every ``<metrics>`` block; broken blocks are skipped."""
    counters: dict[str, int] = {}
    for block in _BLOCK.findall(text[-_LIMIT:]):
        packed = re.sub(r"\s", "", block)
        try:
            document = json.loads(base64.b64decode(packed, validate=True))
        except (binascii.Error, ValueError, RecursionError):
            continue
        counters.update(_samples(document))
    return counters


def executorch_counters(lines: Iterable[str]) -> dict[str, int]:
    """Counters of the runner's PMU report; event counters are named after the event list when it is there."""
    counters: dict[str, int] = {}
    events: list[str] = []
    for line in lines:
        found = _PMU.search(line)
        if found:
            name = found[1].replace("ethos-u : ", "")
            counters[name] = int(found[2])
        listed = _EVENTS.search(line)
        if listed:
            events = [name.strip() for name in listed[1].split(",")]
    named: dict[str, int] = {}
    for name, value in counters.items():
        index = re.fullmatch(r"ethosu_pmu_cntr(\d+)", name)
        position = int(index[1]) if index else len(events)
        named[events[position] if position < len(events) else name] = value
    return named
