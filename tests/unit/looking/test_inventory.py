"""What a program is made of, and the table of which runner has which CPU kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corstone.formats.pte import Delegate, KernelCall, read_pte
from corstone.formats.vela import read_vela
from corstone.looking.inventory import inventory, npu_commands
from corstone.preflight.kernel_table import has, our_kernels, runners_with
from corstone.reference.kernels import KERNELS
from corstone.runners import runner

ACOS = read_pte(Path(__file__).parents[2] / "data" / "acos-int8-u55-128.pte")


def test_sizes_operations_and_kernels_of_a_program() -> None:
    parts = inventory(ACOS)
    (delegate,) = parts.delegates
    assert delegate.operations == {"DMA_START": 1, "DMA_WAIT": 1, "POOL.AVERAGE": 1, "STOP": 1}
    assert (delegate.target, delegate.scratch_bytes, delegate.weights_bytes) == ("ethos-u55-128", 256, 256)
    assert parts.method_bytes == sum(ACOS.buffer_sizes)
    assert {k.name: k.calls for k in parts.kernels} == dict.fromkeys(ACOS.kernels, 1)
    assert all(k.runners["corstone-300"] for k in parts.kernels)
    assert parts.to_json()["inputs"][0]["shape"] == [256]


def test_the_listing_has_every_command_in_order() -> None:
    commands = npu_commands(read_vela(ACOS.delegates[0].data))
    (delegate,) = inventory(ACOS).delegates
    assert len(commands) == delegate.registers + sum(delegate.operations.values())
    assert [c.offset for c in commands] == sorted({c.offset for c in commands})
    assert commands[-1].name == "STOP"


def test_another_backend_and_a_stream_that_breaks_off_are_said() -> None:
    foreign = replace(ACOS, delegates=(Delegate("XnnpackBackend", b"1234", {}),))
    assert "no Ethos-U delegate" in inventory(foreign).delegates[0].problem
    own = ACOS.delegates[0]
    stream = read_vela(own.data).payload.stream
    broken = own.data.replace(stream, stream[:32] + b"\xff\x03\x00\x00" + stream[36:])
    part = inventory(replace(ACOS, delegates=(replace(own, data=broken),))).delegates[0]
    assert "cannot be read to its end" in part.problem
    assert "STOP" not in part.operations


def test_a_kernel_that_nobody_has() -> None:
    step = KernelCall("aten::bessel_j0.out", (0,))
    (kernel,) = inventory(replace(ACOS, instructions=(step, step))).kernels
    assert kernel.calls == 2
    assert not any(kernel.runners.values())


def test_the_numpy_interpreter_has_what_our_runner_has() -> None:
    """Not the other way round: Arm's image has all portable kernels."""
    assert our_kernels()
    assert our_kernels() <= frozenset(KERNELS)
    assert "aten::cat.out" in KERNELS
    assert has(runner("corstone-300"), "aten::cat.out") is False
    assert runners_with("aten::mm.out", "U85")[-1] == "corstone-320"
    assert has(runner("corstone-300"), "aten::bessel_j0.out") is False
