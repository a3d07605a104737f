"""Programs of the host targets: the same stages up to TOSA, with the profile of the target, and no Vela.

A quantized one comes from the same quantized graph as a board's. A plain one is the float graph. Runs in the compile
child; needs torch.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

from corstone.lowering import graph, stages
from corstone.lowering.build import Builder, Quantized, _module_and_inputs, _program
from corstone.lowering.export import export
from corstone.lowering.keys import file_sha256, program_key
from corstone.lowering.lower import EXAMPLES, EXPORTED, PROGRAM, QUANTIZED, program_store
from corstone.lowering.remainder import remainder_notes
from corstone.lowering.request import EXPORTED as EXPORTED_KIND
from corstone.lowering.request import LowerRequest, SourceRef
from corstone.lowering.stage import Run, artifact
from corstone.lowering.usable import refuse_unusable
from corstone.targets import HOST_TARGETS, HostTarget

# Its quantizer leaves out nothing that TOSA's integer profile has; U55's does.
QUANTIZED_FOR = "ethos-u85-256"


class HostBuilder:
    """Builds programs of host targets; quantized graphs are shared with ``builder``, which makes the boards'."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def build(self, request: LowerRequest, ref: SourceRef, cache: Path, run: Run) -> dict[str, Any]:
        """Lower; returns what ``Builder.build`` returns."""
        host = HOST_TARGETS[request.target]
        front = (
            self._builder._quantized(replace(request, target=QUANTIZED_FOR), ref, run)
            if host.quantized
            else self._plain(request, ref, run)
        )
        key = program_key(front.sha256, request, ref)
        store = program_store(cache)
        made = store.get(key) is None
        if made:
            folder = store.aside() / "entry"
            folder.mkdir()
            _write_program(front, host, request, ref, folder, run)
            store.publish(key, folder)
            folder.parent.rmdir()
        dependencies = [[str(path), file_sha256(path)] for path in front.dependencies]
        return {"program": key, "dependencies": dependencies, "seconds": run.seconds, "made": made}

    def _plain(self, request: LowerRequest, ref: SourceRef, run: Run) -> Quantized:
        """The float graph where a quantized one is expected: both are the same."""
        torch.manual_seed(request.seed)
        with self._builder._watch.watching():
            with run.stage("source"):
                module, inputs, _ = _module_and_inputs(request, ref)
            with run.stage("export"):
                exported = module if ref.kind == EXPORTED_KIND else export(module, inputs)
                refuse_unusable(exported)
        dependencies = () if ref.kind == EXPORTED_KIND else tuple(self._builder._watch.files())
        return Quantized(exported, exported, graph.graph_sha256(exported), dependencies)


def _write_program(
    front: Quantized, host: HostTarget, request: LowerRequest, ref: SourceRef, folder: Path, run: Run
) -> None:
    for name, saved in ((EXPORTED, front.exported), (QUANTIZED, front.quantized)):
        with run.stage("export"):
            sha256 = graph.save_graph(saved, folder / name)
        run.artifacts.append(artifact(folder / name, "export", sha256, "torch", {}))
    graph.save_examples(front.exported, folder / EXAMPLES)
    reasons: dict[str, str] = {}
    with run.stage("tosa"):
        with stages._noted_reasons(reasons):
            edge = to_edge_transform_and_lower(
                front.quantized,
                partitioner=[TOSAPartitioner(TosaCompileSpec(host.profile))],
                compile_config=EdgeCompileConfig(_check_ir_validity=False),
            )
        modules = tuple(stages._delegates(edge))
        for i, module in enumerate(modules):
            path = folder / f"delegate-{i}.tosa"
            path.write_bytes(module.processed_bytes)
            run.artifacts.append(artifact(path, "tosa", front.sha256, "executorch", {"profile": host.profile}))
        run.notes += remainder_notes(edge, len(modules), reasons)
    with run.stage("pte"):
        payloads = [module.processed_bytes for module in modules]
        delegated = stages.Delegated(edge, modules, (), reasons)
        (folder / "program.pte").write_bytes(stages.to_pte(delegated, payloads))
        (folder / "operators.json").write_text(json.dumps(graph.operator_rows(front.quantized), indent=1) + "\n")
        program = _program(front, request, ref, folder, run, len(modules))
        if not host.quantized:
            program = replace(program, bits=0, policy="")
        program.save(folder / PROGRAM)
