"""One request through all stages into a folder of the cache. Runs in the compile child; needs torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import PteFile, read_pte
from corstone.lowering import graph, stages
from corstone.lowering.export import export
from corstone.lowering.keys import array_digest, file_sha256, program_key, tool_versions
from corstone.lowering.lower import EXAMPLES, EXPORTED, PROGRAM, QUANTIZED, program_store
from corstone.lowering.remainder import remainder_notes
from corstone.lowering.request import EXPORTED as EXPORTED_KIND
from corstone.lowering.request import Array, LowerRequest, SourceRef, with_random
from corstone.lowering.source import Dependencies, calibration_inputs, example_inputs, load
from corstone.lowering.stage import Run, artifact
from corstone.lowering.usable import refuse_unusable
from corstone.program import Program, TensorSpec


@dataclass(frozen=True)
class Quantized:
    """A quantized graph with the float graph it came from; shared by requests that differ in the NPU only."""

    exported: Any
    quantized: Any
    sha256: str
    dependencies: tuple[Path, ...]


class Builder:
    """Builds programs, one after the other, in one process; equal front halves are done once."""

    def __init__(self) -> None:
        self._front: dict[str, Quantized] = {}
        self._watch = Dependencies()

    def build(self, request: LowerRequest, ref: SourceRef, cache: Path, run: Run) -> dict[str, Any]:
        """Lower; returns the program key, and the files the source was made of with their hashes."""
        front = self._quantized(request, ref, run)
        key = program_key(front.sha256, request, ref)
        store = program_store(cache)
        made = store.get(key) is None
        if made:
            folder = store.aside() / "entry"
            folder.mkdir()
            _write_program(front, request, ref, folder, run)
            store.publish(key, folder)
            folder.parent.rmdir()
        return {
            "program": key,
            "dependencies": [[str(path), file_sha256(path)] for path in front.dependencies],
            "seconds": run.seconds,
            "made": made,
        }

    def _quantized(self, request: LowerRequest, ref: SourceRef, run: Run) -> Quantized:
        given = json.dumps([ref.kind, ref.where, ref.attribute, request.bits, request.policy, request.seed])
        shared = given + array_digest(request.inputs) + "".join(array_digest(s) for s in request.calibration)
        # All that ExecuTorch's quantizer asks of the target is its TOSA profile.
        shared += stages.NpuOptions(request.target).tosa_profile
        if shared not in self._front:
            self._front[shared] = self._front_half(request, ref, run)
        return self._front[shared]

    def _front_half(self, request: LowerRequest, ref: SourceRef, run: Run) -> Quantized:
        torch.manual_seed(request.seed)
        with self._watch.watching():
            with run.stage("source"):
                module, inputs, own = _module_and_inputs(request, ref)
            with run.stage("export"):
                exported = module if ref.kind == EXPORTED_KIND else export(module, inputs)
                refuse_unusable(exported)
        dependencies = () if ref.kind == EXPORTED_KIND else tuple(self._watch.files())
        calibration = [_tensors(given) for given in request.calibration] or own
        if not calibration:
            calibration = [_tensors(x) for x in with_random(request.inputs)] if request.shapes else [inputs]
        _refuse_other_shapes(calibration, inputs)
        options = stages.NpuOptions(request.target)
        with run.stage("quantize"):
            quantized = stages.quantize_exported(exported, calibration, inputs, options, request.policy, request.bits)
            sha256 = graph.graph_sha256(quantized)
        return Quantized(exported, quantized, sha256, dependencies)


def _module_and_inputs(request: LowerRequest, ref: SourceRef) -> tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]:
    """The module, its example inputs, and the calibration sets that the source brings."""
    if ref.kind == EXPORTED_KIND:
        exported = torch.export.load(ref.where)
        given = exported.example_inputs[0] if exported.example_inputs else ()
        return exported, _tensors(request.inputs) or tuple(given), []
    module, home = load(ref)
    return module, _tensors(request.inputs) or example_inputs(module, home), calibration_inputs(module, home)


def _refuse_other_shapes(calibration: Sequence[tuple[Any, ...]], inputs: tuple[Any, ...]) -> None:
    def shape(values: tuple[Any, ...]) -> str:
        return ", ".join(f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}" for x in values)

    for number, given in enumerate(calibration):
        if shape(given) != shape(inputs):
            raise ConfigError(
                f"calibration set {number} is {shape(given) or 'empty'}, the network's inputs are {shape(inputs)}",
                cause=Cause.BAD_INPUT,
                hint="give each set an array for each input, of the input's shape and dtype",
            )


def _tensors(arrays: tuple[Array, ...]) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(x.copy()) for x in arrays)


def _write_program(front: Quantized, request: LowerRequest, ref: SourceRef, folder: Path, run: Run) -> None:
    options = stages.NpuOptions(request.target, request.memory_mode, request.system_config, request.vela_flags)
    quantization = {"policy": request.policy, "bits": request.bits, "seed": request.seed}
    with run.stage("export"):
        source_sha256 = graph.save_graph(front.exported, folder / EXPORTED)
        graph.save_examples(front.exported, folder / EXAMPLES)
        run.artifacts.append(artifact(folder / EXPORTED, "export", source_sha256, "torch", {}))
    with run.stage("quantize"):
        graph.save_graph(front.quantized, folder / QUANTIZED)
        before = run.artifacts[-1].sha256
        run.artifacts.append(artifact(folder / QUANTIZED, "quantize", before, "executorch", quantization))
    before = run.artifacts[-1].sha256
    with run.stage("tosa"):
        delegated = stages.to_tosa(front.quantized, options)
        for i, flatbuffer in enumerate(delegated.tosa):
            path = folder / f"delegate-{i}.tosa"
            path.write_bytes(flatbuffer)
            run.artifacts.append(artifact(path, "tosa", before, "executorch", {"target": request.target}))
        run.notes += remainder_notes(delegated.edge, len(delegated.modules), delegated.reasons)
    streams = []
    with run.stage("vela"):
        for i, flatbuffer in enumerate(delegated.tosa):
            streams.append(stages.to_vela(flatbuffer, delegated.flags, folder / f"delegate-{i}.csv"))
            path = folder / f"delegate-{i}.vela"
            path.write_bytes(streams[-1])
            tosa_sha256 = file_sha256(folder / f"delegate-{i}.tosa")
            run.artifacts.append(artifact(path, "vela", tosa_sha256, "vela", {"flags": " ".join(delegated.flags)}))
    with run.stage("pte"):
        (folder / "program.pte").write_bytes(stages.to_pte(delegated, streams))
        run.artifacts.append(
            artifact(folder / "program.pte", "pte", run.artifacts[-1].sha256, "executorch", {"segments": "inline"})
        )
        (folder / "operators.json").write_text(json.dumps(graph.operator_rows(front.quantized), indent=1) + "\n")
        _program(front, request, ref, folder, run, len(streams)).save(folder / PROGRAM)


def _program(
    front: Quantized, request: LowerRequest, ref: SourceRef, folder: Path, run: Run, delegates: int
) -> Program:
    inputs, outputs = graph.tensor_specs(front.quantized)
    named, _ = graph.tensor_specs(front.exported)
    input_qparams, output_qparams = graph.io_qparams(front.quantized)
    pte = read_pte(folder / "program.pte")
    return Program(
        pte=folder / "program.pte",
        target=request.target,
        inputs=_laid_out([_named(spec, given) for spec, given in zip(inputs, named, strict=True)], pte, pte.inputs),
        outputs=_laid_out(outputs, pte, pte.outputs),
        tosa=tuple(folder / f"delegate-{i}.tosa" for i in range(delegates)),
        input_qparams=input_qparams,
        output_qparams=output_qparams,
        network=request.label or ref.label,
        bits=request.bits,
        policy=request.policy,
        notes=tuple(run.notes),
        provenance=tuple(made.provenance for made in run.artifacts),
        versions=tool_versions(),
        source=ref.text,
    )


def _laid_out(specs: Sequence[TensorSpec], pte: PteFile, indices: tuple[int, ...]) -> tuple[TensorSpec, ...]:
    """In the memory order that the program states: what is a permuted view in the graph is stored as it is there."""
    stored = pte.specs(indices, "")
    if [spec.shape for spec in stored] != [spec.shape for spec in specs]:
        return tuple(specs)
    return tuple(replace(spec, dim_order=found.dim_order) for spec, found in zip(specs, stored, strict=True))


def _named(spec: TensorSpec, given: TensorSpec) -> TensorSpec:
    """The float graph has the names that the user's forward() gives."""
    return TensorSpec(given.name, spec.dtype, spec.shape, spec.dim_order)
