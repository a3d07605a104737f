"""A process that has imported torch and ExecuTorch once and forks a compile child for each folder of requests.

Started by ``lowering/warm.py``; how it serves is in ``forkserver``. It imports libraries only: the caller's modules are
imported, and everything computed, in the children. So it has one thread, which a process that forks must.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from corstone.forkserver.server import become, serve
from corstone.lowering.lean import lean_imports

IDLE_S = 300.0
# What a first lowering imports late; a torch without one of them imports something else, late.
_LATE = (
    "encodings.cp437",
    "executorch.extension.flat_tensor.serialize.serialize",
    "ml_dtypes",
    "multiprocessing.synchronize",
    "torch._export.db.logging",
    "torch._export.passes._node_metadata_hook",
    "torch._export.passes.add_runtime_assertions_for_constraints_pass",
    "torch._export.passes.collect_tracepoints_pass",
    "torch._export.passes.replace_autocast_with_hop_pass",
    "torch._export.passes.replace_set_grad_with_hop_pass",
    "torch._export.passes.replace_with_hop_pass_util",
    "torch._functorch._aot_autograd.subclass_parametrization",
    "torch._inductor.compiler_bisector",
    "torch._inductor.fx_passes.dedupe_symint_uses",
    "torch._inductor.sizevars",
    "torch._subclasses.schema_check_mode",
    "torch.export._leakage_detection_utils",
    "torch.export._trace",
    "torch.export._unlift",
    "torch.fx.experimental.validator",
    "torch.utils.serialization.config",
)


def preload() -> None:
    """Import what lowering needs. What cannot be imported is left to the child, which says so."""
    with suppress(Exception), lean_imports():
        import corstone.accuracy.budget_file
        import corstone.lowering.build
        import corstone.lowering.child
        import corstone.lowering.host  # noqa: F401
        from corstone.lowering.speed import spare_repeated_work

        for name in _LATE:
            with suppress(ImportError):
                importlib.import_module(name)
        spare_repeated_work()
    if len(os.listdir("/proc/self/task")) != 1:
        sys.exit("a thread was started: this process must not be forked")


def _run(request: dict[str, Any], fds: list[int]) -> int:
    """In the child: what ``python -m corstone.lowering.child FOLDER`` would do."""
    closing, log = fds
    become(request, (closing, log, log))
    os.umask(request["umask"])
    if (numpy := sys.modules.get("numpy")) is not None:
        # Two children must not draw the same numbers, as two processes would not.
        numpy.random.seed()
    random.seed()
    from corstone.lowering.child import run

    run(Path(request["folder"]))
    return 0


if __name__ == "__main__":
    serve(sys.argv[1], preload, _run, IDLE_S)
