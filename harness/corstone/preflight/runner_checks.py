"""Checks of the program against the runner: room for it, its pools, the kinds of tensors and kernels it can do."""

from __future__ import annotations

import re

from corstone.causes import Cause
from corstone.formats.pte import PteFile
from corstone.preflight.finding import ERROR, WARNING, Finding, Subject
from corstone.preflight.kernel_table import image_has, registers, runners_with
from corstone.runners import runner

# ExecuTorch's arm_executor_runner.cpp names its pools so; sizes come from the symbols of an ELF.
_POOL_SYMBOLS = {
    "method": re.compile(r"method_allocation_pool"),
    "scratch": re.compile(r"temp_allocation_pool|temp_allocator_pool"),
    "input": re.compile(r"input_file_allocation_pool|input_memory_pool"),
}


def size_of(pte: PteFile, indices: tuple[int, ...]) -> int:
    """Bytes of inputs or outputs; a scalar takes 8, none takes nothing."""
    sizes = {"int": 8, "double": 8, "bool": 8}
    return sum(
        pte.tensor(index).size_bytes if pte.values[index].kind == "tensor" else sizes.get(pte.values[index].kind, 0)
        for index in indices
    )


def room(subject: Subject) -> list[Finding]:
    """Program, inputs and outputs fit where the runner looks for them."""
    window = subject.runner.window
    if window is None:
        return []
    sizes = (
        ("the program", len(subject.program), window.program_size),
        ("the inputs", size_of(subject.pte, subject.pte.inputs), window.inputs_size),
        ("the outputs", size_of(subject.pte, subject.pte.outputs), window.outputs_size),
    )
    return [
        Finding(
            "room",
            ERROR,
            Cause.UNSUPPORTED,
            f"{what} take {size} bytes",
            f"{subject.runner.name} has room for {limit}",
            "use a runner that takes files (--runner)",
        )
        for what, size, limit in sizes
        if size > limit
    ]


def pools(subject: Subject) -> list[Finding]:
    """Planned buffers fit the method pool, the delegate's scratch the temporary pool, the inputs wherever they go."""
    needs = {
        "method": ("planned buffers", sum(subject.pte.buffer_sizes)),
        "scratch": ("NPU scratch", max((blob.scratch_size for blob in subject.blobs), default=0)),
        "input": ("inputs", size_of(subject.pte, subject.pte.inputs)),
    }
    if subject.runner.inputs_in:
        what, need = needs[subject.runner.inputs_in]
        needs[subject.runner.inputs_in] = (f"{what} and a copy of the inputs", need + needs["input"][1])
    findings = []
    for pool, (what, need) in needs.items():
        size = pool_size(subject, pool)
        if size is None or need <= size:
            continue
        findings.append(
            Finding(
                "pools",
                ERROR,
                Cause.ALLOCATOR,
                f"{what} need {need} bytes",
                f"the {pool} pool of {subject.runner.name} has {size}, {need - size} too few",
                "use a runner with a larger pool (--runner, --runner-elf), or compile with a smaller arena",
            )
        )
    return findings


def pool_size(subject: Subject, pool: str) -> int | None:
    """Bytes of a pool: from the runner's row, else from the ELF's symbols; None when neither says."""
    known = subject.runner.pool(pool)
    if known is not None or subject.elf is None:
        return known
    pattern = _POOL_SYMBOLS[pool]
    sizes = [s.size for s in subject.elf.symbols if pattern.search(s.name) and s.size]
    return max(sizes, default=None)


def tensors(subject: Subject) -> list[Finding]:
    """The runner can set and return the kinds of values the program has."""
    pte, lacks = subject.pte, subject.runner.lacks
    found = []
    scalars = [n for n, index in enumerate(pte.inputs) if pte.values[index].kind != "tensor"]
    if scalars and "non-tensor-inputs" in lacks:
        found.append(f"inputs {scalars} are no tensors")
    ranks = [i for i in (*pte.inputs, *pte.outputs) if pte.values[i].kind == "tensor" and pte.tensor(i).shape == ()]
    if ranks and "rank-0" in lacks:
        found.append(f"{len(ranks)} inputs or outputs have rank 0")
    return [
        Finding(
            "tensors",
            ERROR,
            Cause.UNSUPPORTED,
            what,
            f"{subject.runner.name} cannot do that",
            f"use our runner (--runner {subject.board.name})",
        )
        for what in found
    ]


def kernels(subject: Subject) -> list[Finding]:
    """The image has the CPU kernels that the program calls; their names are registered as text."""
    if not subject.pte.kernels or subject.image is None:
        return []
    # An image that registers none by name (a console program) says nothing about kernels.
    if not registers(subject.image, "aten::") and not registers(subject.image, "quantized_decomposed::"):
        return []
    missing = [kernel for kernel in subject.pte.kernels if not image_has(subject.image, kernel)]
    if not missing:
        return []
    return [
        Finding(
            "kernels",
            ERROR,
            Cause.UNSUPPORTED,
            f"the program calls {', '.join(missing)}",
            f"{subject.runner.name} has no such kernel",
            _who_has(subject, missing),
        )
    ]


def _option(name: str) -> str:
    providers = runner(name).providers
    return f"--runner {name}" + (f" (with --provider {providers[0]} alone)" if len(providers) == 1 else "")


def _who_has(subject: Subject, missing: list[str]) -> str:
    found = [set(runners_with(kernel, subject.target.product)) - {subject.runner.name} for kernel in missing]
    if every := sorted(set.intersection(*found)):
        return f"use {' or '.join(map(_option, every))}, or move the operator to the NPU"
    known = f"no runner known here for {subject.target.name} has {'it' if len(missing) == 1 else 'all of them'}"
    return f"{known}: bring one with --runner-elf, or move the operator to the NPU"


def reads(subject: Subject) -> list[Finding]:
    """A console-only runner carries its own program: ours would not be looked at."""
    if subject.runner.transport.value != "none":
        return []
    return [
        Finding(
            "reads",
            WARNING,
            Cause.UNSUPPORTED,
            "a program was given",
            f"{subject.runner.name} is booted as it is, and nothing is known about where it looks for one",
            "name a runner whose protocol it speaks with --runner",
        )
    ]
