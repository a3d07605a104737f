"""Cache keys: hashes of everything that decides a program's bytes, computed without importing torch.

Two kinds. A *source key* hashes the request as the caller wrote it; under it lie the files that the source was made of,
so that a warm run needs only hash those. A *program key* hashes the quantized graph with its weights and the options:
equal graphs share a program. A comment in the harness changes neither; a scale, a flag or a tool's version both.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import zipfile
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from corstone.errors import HarnessError
from corstone.lowering.request import EXPORTED, Array, LowerRequest, SourceRef
from corstone.quantize.policies import fingerprint, policy
from corstone.targets import HOST_TARGETS

# In a saved graph's archive, readable without torch: the hash that decides whether two graphs are the same.
GRAPH_HASH = "corstone_graph_sha256"

# Our own code that decides a program's bytes. Its meaning is hashed (the syntax tree without docstrings), not its text.
_CODE = ("quantize/*.py", "lowering/build.py", "lowering/graph.py", "lowering/source.py", "lowering/stages.py")
_HOST_CODE = "lowering/host.py"

_DISTRIBUTIONS = {
    "torch": "torch",
    "torchao": "torchao",
    "executorch": "executorch",
    "vela": "ethos-u-vela",
    "tosa": "tosa-tools",
}


@lru_cache(maxsize=1)
def tool_versions() -> dict[str, str]:
    """Versions of what makes programs; ``missing`` where a distribution is not installed."""
    found = {}
    for name, distribution in _DISTRIBUTIONS.items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found | {"python": platform.python_version()}


def harness_version() -> str:
    """Version of this distribution."""
    return metadata.version("corstone-harness")


def digest(data: object) -> str:
    """sha256 of plain data, hex."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def array_digest(arrays: tuple[Array, ...]) -> str:
    """sha256 over dtypes, shapes and bytes of arrays, hex."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape};".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def code_digest(patterns: tuple[str, ...] = _CODE) -> str:
    """Hash of what the harness itself does while lowering: another comment is the same, another constant is not."""
    package = Path(__file__).parent.parent
    paths = sorted(path for pattern in patterns for path in package.glob(pattern))
    return _code_digest(tuple((str(path), path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=4)
def _code_digest(files: tuple[tuple[str, int], ...]) -> str:
    # Parsing takes 50 ms; the result is kept beside the cache by the files' times, which cost nothing to ask.
    from corstone.lowering.cache import cache_root, write_whole

    memo = cache_root() / "code" / f"{digest(files)}.txt"
    with suppress(OSError):
        kept = memo.read_text()
        if len(kept) == 64:
            return kept
    total = hashlib.sha256()
    for name, _ in files:
        total.update(f"{Path(name).name}:{ast.dump(_without_docstrings(ast.parse(Path(name).read_text())))}".encode())
    with suppress(HarnessError):
        write_whole(memo, total.hexdigest())
    return total.hexdigest()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Pass()
    return tree


def exported_sha256(path: Path) -> str:
    """The hash that ``graph.save_graph`` put into a ``.pt2``, else that of the file; read without torch."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(GRAPH_HASH):
                    return archive.read(name).decode()
    except (zipfile.BadZipFile, OSError, UnicodeDecodeError):
        # No archive, or half of one: torch says so when it loads it.
        pass
    return file_sha256(path)


def lowering_options(request: LowerRequest) -> dict[str, Any]:
    """Options of the stages behind the quantized graph, and the tools' versions."""
    return {
        "target": request.target,
        "memory_mode": request.memory_mode,
        "system_config": request.system_config,
        "vela_flags": list(request.vela_flags),
        "versions": tool_versions(),
        "code": code_digest((*_CODE, _HOST_CODE) if request.target in HOST_TARGETS else _CODE),
    }


def source_key(request: LowerRequest, ref: SourceRef) -> str:
    """Key of the request as written; the dependencies are kept under it."""
    examples = request.example_inputs(ref)
    calibration = request.calibration_sets(ref) or (examples,)
    return digest(
        {
            # An exported file is its content; where it lies does not matter.
            "source": [
                ref.kind,
                exported_sha256(Path(ref.where)) if ref.kind == EXPORTED else ref.where,
                ref.attribute,
            ],
            "quantization": fingerprint(policy(request.policy, request.bits), request.bits),
            "inputs": [[x.dtype.str, list(x.shape)] for x in examples],
            "calibration": [array_digest(inputs) for inputs in calibration],
            "seed": request.seed,
            "label": request.label or ref.label,
            "options": lowering_options(request),
            # Stands for the registered networks where they are installed, not edited in place.
            "harness": harness_version(),
        }
    )


def program_key(graph_sha256: str, request: LowerRequest, ref: SourceRef) -> str:
    """Key of the program: quantized graph, options, and the names that the Program carries."""
    return digest(
        {
            "graph": graph_sha256,
            "label": request.label or ref.label,
            "policy": request.policy,
            "bits": request.bits,
            "options": lowering_options(request),
        }
    )
