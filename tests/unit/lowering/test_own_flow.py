"""Our stages, with Vela held back and repeated work spared, write the bytes that ExecuTorch's own flow writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.unit.conftest import Programs

# As ExecuTorch's documentation has it, in a process of its own.
SCRIPT = """
import sys
import numpy as np
import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
import executorch.kernels.quantized

class Acos(torch.nn.Module):
    def forward(self, x):
        return torch.acos(x)

inputs = (torch.from_numpy(np.linspace(-1, 1, 256).astype(np.float32)),)
spec = EthosUCompileSpec("ethos-u55-128")
# A spec of its own: the quantizer writes the default pass configuration into the one it gets, and a partitioner that
# gets the same one copies it into the program's compile specs, which no runtime reads.
quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128"))
quantizer.set_global(get_symmetric_quantization_config())
prepared = prepare_pt2e(torch.export.export(Acos(), inputs).module(), quantizer)
prepared(*inputs)
exported = torch.export.export(convert_pt2e(prepared), inputs)
edge = to_edge_transform_and_lower(
    exported,
    partitioner=[EthosUPartitioner(spec)],
    compile_config=EdgeCompileConfig(_check_ir_validity=False),
)
program = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False))
open(sys.argv[1], "wb").write(program.buffer)
"""


def test_our_program_is_executorchs_own(programs: Programs, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "own.pte")], capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert (tmp_path / "own.pte").read_bytes() == programs("acos", 8, "upstream").pte.read_bytes()
