"""The one path from network to verdict: lower, stimulate, boot, ask the references, judge, record.

Each stage is somebody else's and can be run alone; this package only connects them and turns what goes wrong on the way
into a verdict. The three ways in: ``check`` (one network), ``check_all`` (many, compiled in one child), ``run_program``
(a ``.pte`` on raw inputs, no judgement; ``run_many`` on many sets of them, ``run_programs`` many programs). Importing
it imports neither torch nor numpy.
"""

from __future__ import annotations

from corstone.pipeline.inputs import read_inputs
from corstone.pipeline.path import (
    Progress,
    build,
    check,
    check_all,
    check_one,
    judge_capture,
    load_pte,
    lower_request,
    run_many,
    run_program,
)
from corstone.pipeline.programs import ProgramRun, run_programs
from corstone.pipeline.request import REFERENCES, CheckRequest

__all__ = [
    "REFERENCES",
    "CheckRequest",
    "ProgramRun",
    "Progress",
    "build",
    "check",
    "check_all",
    "check_one",
    "judge_capture",
    "load_pte",
    "lower_request",
    "read_inputs",
    "run_many",
    "run_program",
    "run_programs",
]
