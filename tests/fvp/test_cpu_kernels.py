"""The references' CPU kernels against Arm's runner image: programs without a delegate, every bit of every output.

A NaN counts as any other, as for the judge: which one an invalid operation makes is the processor's own.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.fvp import cpu_networks

from corstone.boards import BootRequest, boot
from corstone.capture import Capture
from corstone.causes import Outcome
from corstone.formats.pte import PteFile, read_pte
from corstone.program import Program
from corstone.reference.kernels import KERNELS, quant
from corstone.reference.plan import run_plan, to_memory

pytestmark = [
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing"),
    pytest.mark.filterwarnings("ignore"),  # of torch and ExecuTorch, which compile in this process
]
IMAGE = "arm-executorch-u55"


def compile_alone(name: str, path: Path) -> PteFile:
    """A program of CPU kernels alone."""
    from executorch.exir import EdgeCompileConfig, to_edge

    function = getattr(cpu_networks, name)
    network = type("Network", (torch.nn.Module,), {"forward": lambda _self, *x: tuple(function(*x))})()
    exported = torch.export.export(network, cpu_networks.GROUPS[name], strict=False)
    words = cpu_networks.PRESERVED.split() if name == "kept" else []
    overloads = [getattr(getattr(torch.ops.aten, a), b) for a, b in (word.split(".") for word in words)]
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=name == "copies", preserve_ops=overloads)
    edge = to_edge(exported, compile_config=config)
    path.write_bytes(edge.to_executorch().buffer)
    return read_pte(path)


def boot_alone(path: Path, inputs: list[Any], folder: Path, runner: str) -> Capture:
    """On Corstone-300, although nothing in it is for the NPU."""
    pte = read_pte(path)
    program = Program(path, "ethos-u55-128", pte.input_specs, pte.output_specs)
    given = tuple(x.tobytes() for x in inputs)
    return boot(BootRequest(program, given, folder, provider="emulator", runner=runner, preflight=False))


def differing(pte: PteFile, inputs: list[Any], capture: Capture) -> list[str]:
    """Outputs in which the device differs from the plan in numpy."""
    assert capture.ending.outcome is Outcome.PASSED, capture.ending
    expected = run_plan(pte, inputs, lambda *_: [], ()).outputs
    wrong = []
    for spec, array, name in zip(pte.output_specs, expected, capture.outputs, strict=True):
        found = np.fromfile(capture.folder / name, np.dtype(spec.dtype))
        wanted = to_memory(array, spec.dim_order)
        both_nan = np.isnan(found) & np.isnan(wanted)
        if found[~both_nan].tobytes() != wanted[~both_nan].tobytes():
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("name", cpu_networks.GROUPS)
def test_every_kernel_is_the_devices_bit_for_bit(tmp_path: Path, name: str) -> None:
    path = tmp_path / "kernels.pte"
    pte = compile_alone(name, path)
    inputs = [x.numpy() for x in cpu_networks.GROUPS[name]]
    capture = boot_alone(path, inputs, tmp_path / "capture", IMAGE)
    assert differing(pte, inputs, capture) == []


@pytest.mark.slow
def test_no_kernel_is_in_the_table_that_was_not_booted(tmp_path: Path) -> None:
    booted = {kernel for name in cpu_networks.GROUPS for kernel in compile_alone(name, tmp_path / "a.pte").kernels}
    # These two are in every quantized network.
    assert booted == set(KERNELS) - set(quant.ROWS)
