"""One ending as something that happens: what the fake simulator does, and the verdict it must get.

A case is named for what happens; several cases may reach the same row of the catalogue. ``user`` names the entry of the
public user reports whose repro it is. Texts have the shapes of public logs; those assumed in the catalogue are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corstone.boards.deadlines import Deadlines
from corstone.causes import Cause, Outcome

Steps = list[list[Any]]

# Long where nothing is waited for (a loaded machine must not decide), tiny where waiting is the point.
PATIENT = Deadlines(start=20, progress=20, total=30, settle=5, interrupt=2, terminate=0.3, kill=5)
RUNS_ON = Deadlines(start=20, progress=20, total=30, settle=0.3, interrupt=2, terminate=0.3, kill=5)
SILENT = Deadlines(start=0.4, progress=20, total=30, settle=0.3, interrupt=0.3, terminate=0.3, kill=5)
STUCK = Deadlines(start=20, progress=0.4, total=30, settle=0.3, interrupt=0.3, terminate=0.3, kill=5)
SHORT = Deadlines(start=20, progress=20, total=0.9, settle=0.3, interrupt=0.3, terminate=0.3, kill=5)

POPULATED = "INFO - {tensors} input tensor/s populated with {inputs} bytes with data read from 0x92000000\r\n"
RUNNING = "INFO - Running inference... \r\n"
COMPLETED = "INFO - Inference completed.\r\n"
COPIED = "INFO - 1 output tensor/s worth {outputs} bytes copied to 0x93000000\r\n"
TERMINATING = "INFO - program terminating...\r\n\x04\x00"
STOPPED = "\nInfo: /OSCI/SystemC: Simulation stopped by user.\n[warning ][main@0][01 ns] Simulation stopped by user\n"
STATISTICS = """
--- cpu_core statistics: ------------------------------------------------------
Simulated time                          : 0.066055s
User time                               : 3.834549s
System time                             : 0.022307s
Wall time                               : 4.265401s
Performance index                       : 0.40
cpu_core.cpu0                           : 102.31 MIPS (   394585852 Inst)
-------------------------------------------------------------------------------
"""
CPU_LIMIT = "\nInfo: Simulation is stopping. Reason: CPU time has been exceeded.\n" + STOPPED
BOOTED = (
    "INFO - Processor internal clock: 32000000Hz\r\nINFO - CPU: Cortex-M55 r0p1\r\n"
    "INFO - Initialising Ethos-U device@0x58102000\r\nINFO - Ethos-U device initialised\r\n"
)
MLEK = POPULATED + RUNNING + COMPLETED + COPIED + TERMINATING

ET = "I [executorch:arm_executor_runner.cpp:489 main()] "
ET_START = (
    "Running executor with parameter:\n   -m program.pte\n"
    f"{ET}PTE @ 0x70000000 [----ET12]\n{ET}Method 'forward' loaded.\n{ET}Preparing inputs...\n{ET}Input prepared.\n"
)
ET_RUN = f"{ET}Starting running 1 inferences...\n{ET}1 inferences finished\n{ET}1 outputs: \n"
ET_END = f"{ET}Writing output to file: out-0.bin\n{ET}Model run: 1\n{ET}Program complete, exiting.\n"


@dataclass(frozen=True)
class Case:
    """One thing that happens. ``runner``: ``memory``, ``semihosting``, ``console``; ``rule``: the catalogue's id."""

    name: str
    steps: Steps
    outcome: Outcome
    cause: Cause
    rule: str
    runner: str = "memory"
    deadlines: Deadlines = PATIENT
    inputs: tuple[int, ...] = (16,)
    outputs: tuple[int, ...] = (16,)
    user: str = ""
    message: str = ""
    note: str = ""
    launch: str = ""
    keep: str = ""


def says(text: str) -> list[Any]:
    return ["print", text]


BANNER: list[Any] = ["banner", None]
DUMP: list[Any] = ["dump", {}]
HANG: list[Any] = ["hang", None]
OUT0: list[Any] = ["write", {"name": "out-0.bin", "size": 16}]


def mlek_ends(text: str, *more: list[Any]) -> Steps:
    """Arm's image boots, prints ``text``, terminates; nothing is written."""
    return [BANNER, says(BOOTED + text + TERMINATING), *more, ["dump", {"none": True}]]


def et_ends(text: str, status: int = 0) -> Steps:
    return [BANNER, says(ET_START + text), ["exit", status]]


def good(*between: list[Any]) -> Steps:
    return [BANNER, says(BOOTED + POPULATED + RUNNING), *between, DUMP, says(COMPLETED + COPIED + TERMINATING)]


def case(name: str, steps: Steps, outcome: str, cause: Cause, rule: str, **more: Any) -> Case:
    return Case(name, steps, Outcome(outcome), cause, rule, **more)
