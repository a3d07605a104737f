"""The case record: one executed case as every report sees it. Schema 1.

A record is plain data. Curves and transcripts stay in the capture folder that ``capture`` names.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corstone.capture import Executor
from corstone.judge.verdict import Verdict

SCHEMA = 1


@dataclass(frozen=True)
class CaseRecord:
    """One case.

    ``case_id`` is stable over versions (``acos-int8-fixed-ethos-u55-128-corstone-300-codes``), so that history lines
    up. ``executor`` is None when nothing was executed. ``versions`` maps torch, executorch, vela, tosa, runner, qemu
    or fvp, python and corstone to version strings. ``seconds`` maps stages to wall-clock seconds. ``program`` is
    ``cache`` or ``compiled``, where the program came from; empty where there was none.
    """

    case_id: str
    network: str
    bits: int
    policy: str
    target: str
    board: str
    stimulus: str
    verdict: Verdict
    executor: Executor | None = None
    runner: str = ""
    runner_sha256: str = ""
    seed: int = 0
    capture: str = ""
    counters: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    repro: str = ""
    program: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the schema number; numbers that JSON lacks become words (``Verdict.to_json``)."""
        plain = {name: dict(value) if isinstance(value, dict) else value for name, value in vars(self).items()}
        executor = None if self.executor is None else asdict(self.executor)
        return plain | {"executor": executor, "verdict": self.verdict.to_json(), "schema": SCHEMA}

    @staticmethod
    def from_json(data: dict[str, Any]) -> CaseRecord:
        """Inverse of ``to_json``; fields of newer minor versions are ignored."""
        known = {k: v for k, v in data.items() if k in CaseRecord.__dataclass_fields__}
        known["verdict"] = Verdict.from_json(known["verdict"])
        executor = known.get("executor")
        known["executor"] = None if executor is None else Executor(**executor)
        return CaseRecord(**known)

    def save(self, path: Path) -> None:
        """Write as one JSON file; a link under that name, which a capture from elsewhere may bring, is replaced."""
        if path.is_symlink():
            path.unlink()
        path.write_text(json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n")
