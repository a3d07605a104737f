"""Facts of a boot as JSON beside its transcript, so that an ending can be classified again without booting."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import asdict
from pathlib import Path

from tests.fakes.endings import Case
from tests.fakes.endings.arm import ArmCase
from tests.fakes.endings.injections import Injection

from corstone.boards.console import Waited
from corstone.boards.facts import Asked, BootFacts
from corstone.boards.transports.base import OutputState, State
from corstone.capture import Capture
from corstone.transcript import read_transcript

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
LIMIT, SMALL = 128 << 10, 1024
_TEMPORARY = ("transcript", "locate")


def record(case: Case | ArmCase | Injection, facts: BootFacts, capture: Capture) -> None:
    """Write ``<case>.log`` and ``<case>.json``, each renamed into place."""
    data = {name: value for name, value in vars(facts).items() if name not in _TEMPORARY}
    # Without the parts that differ from one machine or boot to the next.
    asked = asdict(facts.asked)
    asked["command"] = [word for word in facts.asked.command[3:] if "/" not in word]
    outputs = [
        {
            "name": o.name,
            "expected": o.expected,
            "state": o.state.value,
            "written": o.written,
            "detail": o.detail,
            "data": base64.b64encode(o.data if len(o.data) <= SMALL else b"").decode(),
        }
        for o in facts.outputs
    ]
    waited = {
        "kind": facts.waited.kind,
        "name": facts.waited.name,
        "seconds": round(facts.waited.seconds, 1),
        "silent_s": round(facts.waited.silent_s, 1),
    }
    data |= {"asked": asked, "outputs": outputs, "waited": waited}
    data["launch_error"] = facts.launch_error.partition(":")[0]
    data["expected"] = {"outcome": case.outcome.value, "cause": case.cause.value, "ending": case.rule}
    _put(TRANSCRIPTS / f"{case.name}.log", capture.console[:LIMIT])
    _put(TRANSCRIPTS / f"{case.name}.json", (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())


def _put(path: Path, content: bytes) -> None:
    aside = path.with_suffix(path.suffix + ".new")
    aside.write_bytes(content)
    os.replace(aside, path)


def replay(name: str) -> tuple[BootFacts, dict[str, str]]:
    """The facts of a recording, and the ending it must get."""
    data = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    expected = data.pop("expected")
    asked = data.pop("asked")
    for key in ("inputs", "outputs", "output_types", "command"):
        asked[key] = tuple(asked[key])
    outputs = tuple(
        OutputState(**{**o, "state": State(o["state"]), "data": base64.b64decode(o["data"])})
        for o in data.pop("outputs")
    )
    transcript = read_transcript((TRANSCRIPTS / f"{name}.log").read_bytes())
    facts = BootFacts(Asked(**asked), transcript, Waited(**data.pop("waited")), outputs=outputs, **data)
    return facts, expected
