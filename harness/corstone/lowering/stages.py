"""The stages themselves: export, quantize, TOSA, Vela, PTE. Each can be run alone; all need torch and ExecuTorch.

ExecuTorch's partitioner compiles a delegate in one go. Here its call of Vela is held back: partitioning leaves the TOSA
flatbuffer as the delegate's payload, and the Vela stage replaces it. The PTE is byte for byte the one that ExecuTorch
writes by itself (a test holds this).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import executorch.backends.arm.ethosu.backend as ethosu_backend
import executorch.kernels.quantized  # noqa: F401  registers the quantize and dequantize kernels that to_executorch asks for
import torch
from executorch.backends.arm.arm_vela import VelaCompileResult, vela_compile
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.backend.utils import WhyNoPartitionReporter
from executorch.exir.lowered_backend_module import LoweredBackendModule

from corstone.quantize.flow import quantize


@dataclass(frozen=True)
class NpuOptions:
    """Options of the compile spec; None means ExecuTorch's default for the target."""

    target: str
    memory_mode: str | None = None
    system_config: str | None = None
    vela_flags: tuple[str, ...] = ()

    def compile_spec(self) -> Any:
        """ExecuTorch's compile spec."""
        return EthosUCompileSpec(
            self.target,
            system_config=self.system_config,
            memory_mode=self.memory_mode,
            extra_flags=list(self.vela_flags) or None,
        )

    @property
    def tosa_profile(self) -> str:
        """ExecuTorch's name of the TOSA profile and extensions that the target takes."""
        return str(self.compile_spec().tosa_spec)


@dataclass(frozen=True)
class Delegated:
    """An edge program whose delegates hold TOSA flatbuffers instead of compiled streams."""

    edge: Any
    modules: tuple[Any, ...]
    flags: tuple[str, ...]
    # What the partitioner said of nodes that it did not take: node name to reason.
    reasons: dict[str, str]

    @property
    def tosa(self) -> tuple[bytes, ...]:
        """The flatbuffer of each delegate call, in order."""
        return tuple(module.processed_bytes for module in self.modules)


def quantize_exported(
    exported: Any,
    calibration: Sequence[tuple[Any, ...]],
    inputs: tuple[Any, ...],
    options: NpuOptions,
    policy: str,
    bits: int,
) -> Any:
    """Float ``ExportedProgram`` to one with quantize and dequantize nodes."""
    # Guards are a submodule, which ExecuTorch's decomposing passes (of sqrt, layer_norm, ...) refuse.
    graph = quantize(exported.module(check_guards=False), calibration, options.target, policy, bits)
    return torch.export.export(graph, inputs)


def to_tosa(quantized: Any, options: NpuOptions) -> Delegated:
    """Partition for the NPU and lower each part to a TOSA flatbuffer."""
    flags: list[list[str]] = []

    def held_back(tosa: bytes, args: list[str], **_: object) -> Any:
        flags.append(list(args))
        return VelaCompileResult(tosa)

    reasons: dict[str, str] = {}
    with _replaced(ethosu_backend, "vela_compile", held_back), _noted_reasons(reasons):
        edge = to_edge_transform_and_lower(
            quantized,
            partitioner=[EthosUPartitioner(options.compile_spec())],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
    return Delegated(edge, tuple(_delegates(edge)), tuple(flags[0]) if flags else (), reasons)


def to_vela(tosa: bytes, flags: Sequence[str], summary: Path | None = None) -> bytes:
    """One TOSA flatbuffer to a ``vela_bin_stream``; Vela's own summary table goes to ``summary`` (CSV)."""
    with tempfile.TemporaryDirectory() as folder:
        stream: bytes = vela_compile(tosa, list(flags), intermediate_path=folder).processed_bytes
        tables = sorted((Path(folder) / "output").glob("*summary*.csv"))
        if summary is not None and tables:
            shutil.copyfile(tables[0], summary)
        return stream


def to_pte(delegated: Delegated, streams: Sequence[bytes]) -> bytes:
    """Put the compiled streams into the delegates and write the program."""
    for module, stream in zip(delegated.modules, streams, strict=True):
        module._processed_bytes = stream
    program = delegated.edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False))
    return bytes(program.buffer)


def _delegates(edge: Any) -> Iterator[Any]:
    """Lowered modules in the order in which the program calls them."""
    graph = edge.exported_program().graph_module
    for node in graph.graph.nodes:
        if node.op == "call_function" and "executorch_call_delegate" in str(node.target):
            module = getattr(graph, node.args[0].target)
            assert isinstance(module, LoweredBackendModule)
            yield module


@contextmanager
def _replaced(owner: Any, name: str, function: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def _noted_reasons(reasons: dict[str, str]) -> Iterator[None]:
    """Fill ``reasons``; ExecuTorch itself only logs them."""
    original = WhyNoPartitionReporter.report_reject

    def noted(reporter: Any, node: Any, reason: str) -> None:
        reasons.setdefault(node.name, " ".join(reason.split()))
        original(reporter, node, reason)

    with _replaced(WhyNoPartitionReporter, "report_reject", noted):
        yield
