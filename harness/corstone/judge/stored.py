"""Judge a capture folder again: no board, no torch, no compiler.

Beside the capture's own files the folder holds the references (``references.json``, ``ref-*.npy``) and
``judge.json``: budgets, domain, findings, operators, stimulus and seed. What a newer version added is ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError
from corstone.judge.bound import Bound
from corstone.judge.budget import Budget, Region
from corstone.judge.decide import judge
from corstone.judge.domain import Domain
from corstone.judge.finding import GraphFinding
from corstone.judge.reference import ReferenceResult, load_references, save_references
from corstone.judge.verdict import Verdict
from corstone.program import Program

SCHEMA = 1


@dataclass(frozen=True)
class Question:
    """What a capture is judged by, beside the references; parameters as ``judge`` documents them."""

    budgets: tuple[Budget, ...] = ()
    stimulus: str = ""
    seed: int = 0
    domain: Domain | None = None
    findings: tuple[GraphFinding, ...] = ()
    operators: tuple[tuple[str, str], ...] = ()
    bound: Bound | None = None

    def save(self, folder: Path) -> None:
        """Write ``judge.json``."""
        data = {"schema": SCHEMA, **_words(asdict(self))}
        (folder / "judge.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")

    @staticmethod
    def load(folder: Path) -> Question:
        """Read ``judge.json``; without one the question is the default one."""
        path = folder / "judge.json"
        if not path.exists():
            return Question()
        data = json.loads(path.read_text())
        domain = data.get("domain")
        return Question(
            budgets=tuple(_budget(b) for b in data["budgets"]),
            stimulus=data["stimulus"],
            seed=data["seed"],
            domain=None
            if domain is None
            else Domain(**{**domain, "lo": float(domain["lo"]), "hi": float(domain["hi"])}),
            findings=tuple(_finding(f) for f in data["findings"]),
            operators=tuple((op, dtype) for op, dtype in data["operators"]),
            bound=None if data.get("bound") is None else Bound.from_json(data["bound"]),
        )


def _finding(data: dict[str, Any]) -> GraphFinding:
    return GraphFinding(data["message"], data["hint"], data["fatal"], Cause(data.get("cause", Cause.OUT_OF_DOMAIN)))


def _budget(data: dict[str, Any]) -> Budget:
    region = data["region"]
    return Budget(
        Region(float(region["lo"]), float(region["hi"]), region["name"]), float(data["max_lsb"]), data["reason"]
    )


def _words(value: Any) -> Any:
    """Infinite ends as words, since JSON has no such number; ``float`` reads them back."""
    if isinstance(value, dict):
        return {k: _words(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_words(v) for v in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def store(folder: Path, question: Question, references: Sequence[ReferenceResult]) -> None:
    """Keep beside a capture what it was judged by."""
    question.save(folder)
    save_references(folder, list(references))


def judge_folder(folder: Path) -> tuple[Capture, Program | None, Question, Verdict]:
    """Judge a stored capture by what is stored beside it.

    Raises
    ------
    ConfigError: the folder holds no capture, or its files cannot be read.
    """
    try:
        capture = Capture.load(folder)
        path = folder / "program.json"
        program = Program.load(path) if path.exists() else None
        question = Question.load(folder)
        references = load_references(folder)
    except FileNotFoundError as error:
        raise ConfigError(
            f"{folder} holds no capture: {error.filename} is missing",
            cause=Cause.BAD_INPUT,
            hint="give a folder that `corstone check` or `corstone run` wrote (it has capture.json)",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the capture in {folder} cannot be read: {type(error).__name__}: {error}", cause=Cause.BAD_INPUT
        ) from error
    if program is None:
        return capture, None, question, _unjudged(capture)
    verdict = judge(
        capture,
        program,
        references,
        question.budgets,
        question.stimulus,
        domain=question.domain,
        findings=question.findings,
        operators=question.operators,
        bound=question.bound,
    )
    return capture, program, question, verdict


def _unjudged(capture: Capture) -> Verdict:
    """A boot that ended well but cannot be judged is not green."""
    ended = capture.ending
    if ended.outcome is not Outcome.PASSED:
        return Verdict(ended.outcome, ended.cause, ended.message, ended.hint, evidence=dict(ended.evidence))
    return Verdict(
        Outcome.ERROR,
        Cause.REFERENCE,
        "the boot ended well, but its outputs cannot be judged: the capture has no program.json",
        hint="judge captures of `corstone check`, which keeps the program and the references beside the outputs",
    )
