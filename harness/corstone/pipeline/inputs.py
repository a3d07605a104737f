"""The inputs of a case: from the caller, from raw files, or a stimulus by name; and the domain they are judged in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.pipeline.calibration import read_calibration
from corstone.pipeline.request import CheckRequest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corstone.judge.domain import Domain
    from corstone.program import Program, TensorSpec

    Array = npt.NDArray[np.generic]


def arrays_of(values: Any) -> tuple[Array, ...]:
    """Example inputs as arrays; a single tensor or array is the one input."""
    import numpy as np

    if values is None:
        return ()
    alone = hasattr(values, "detach") or isinstance(values, np.ndarray) or not isinstance(values, Sequence)
    given = [values] if alone else values
    try:
        found = [np.asarray(v.detach().cpu().numpy() if hasattr(v, "detach") else v, order="C") for v in given]
        if strange := [v for v, array in zip(given, found, strict=True) if array.dtype.kind not in "biuf"]:
            raise TypeError(f"one is of type {type(strange[0]).__name__}, which holds no real numbers")
        return tuple(found)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"example inputs must be tensors or arrays: {error}",
            cause=Cause.BAD_INPUT,
            hint="check(module, (first, second)): one for each argument of forward, in its order",
        ) from error


def read_inputs(specs: Sequence[TensorSpec], paths: Sequence[Path]) -> list[bytes]:
    """Raw input files, one for each tensor of ``specs``: row-major, little endian, no header.

    Raises
    ------
    ConfigError: another number of files, one that cannot be read, or of another size.
    """
    if len(paths) != len(specs):
        wanted = ", ".join(f"{s.name}: {s.dtype}{list(s.shape)}" for s in specs) or "none"
        raise ConfigError(
            f"the program takes {len(specs)} inputs, {len(paths)} files were given",
            cause=Cause.BAD_INPUT,
            hint=f"give one raw file per input, in this order: {wanted}",
        )
    data = []
    for spec, path in zip(specs, paths, strict=True):
        try:
            with path.open("rb") as stream:  # one byte more tells too long; /dev/zero has no end
                raw = stream.read(spec.size_bytes + 1)
        except OSError as error:
            raise ConfigError(
                f"cannot read input {spec.name} from {path}: {error.strerror}", cause=Cause.BAD_INPUT
            ) from error
        if len(raw) != spec.size_bytes:
            raise ConfigError(
                f"input {spec.name} needs {spec.size_bytes} bytes ({spec.dtype}{list(spec.shape)}), "
                f"{path} has {_size(path, raw)}: it is too {'short' if len(raw) < spec.size_bytes else 'long'}",
                cause=Cause.BAD_INPUT,
                hint="write the tensor's elements in row-major order, little endian, without a header",
            )
        data.append(raw)
    return data


def _size(path: Path, raw: bytes) -> str:
    """How long a file is; what is no plain file has no length of its own, only what was read of it."""
    return str(path.stat().st_size) if path.is_file() else f"{len(raw)} or more"


def stimulus_of(request: CheckRequest, program: Program) -> list[Array]:
    """The inputs that the case is run on, one array for each input of the program.

    Raises
    ------
    ConfigError: those that were given do not fit the program, or there is no such stimulus.
    """
    from corstone_models.networks import NETWORKS
    from corstone_models.stimuli import stimulus

    if request.stimulus == "given":
        return _from_files(request, program) if request.input_files else _given(request, program)
    if request.stimulus == "example":
        return _examples(program)
    network = NETWORKS.get(request.network)
    return list(stimulus(request.inputs_by, program, seed=request.seed, domain=network.domain if network else None))


def _examples(program: Program) -> list[Array]:
    import numpy as np

    from corstone.lowering.lower import EXAMPLES

    path = program.pte.parent / EXAMPLES
    if not path.is_file():
        raise ConfigError(
            f"{program.network} has no example inputs beside its program",
            cause=Cause.BAD_INPUT,
            hint="use another --stimulus, or give the inputs (-i FILE)",
        )
    with np.load(path, allow_pickle=False) as stored:
        return [stored[f"input-{i}"] for i in range(len(stored.files))]


def _from_files(request: CheckRequest, program: Program) -> list[Array]:
    import numpy as np

    data = read_inputs(program.inputs, request.input_files)
    return [
        np.frombuffer(raw, np.dtype(spec.dtype)).reshape(spec.shape)
        for raw, spec in zip(data, program.inputs, strict=True)
    ]


def _given(request: CheckRequest, program: Program) -> list[Array]:
    import numpy as np

    if len(request.inputs) != len(program.inputs):
        raise ConfigError(
            f"the program takes {len(program.inputs)} inputs, {len(request.inputs)} were given", cause=Cause.BAD_INPUT
        )
    arrays = []
    for spec, value in zip(program.inputs, request.inputs, strict=True):
        array = np.asarray(value, order="C")
        if str(array.dtype) != spec.dtype or array.shape != spec.shape:
            raise ConfigError(
                f"input {spec.name} must be {spec.dtype}{list(spec.shape)}, got {array.dtype}{list(array.shape)}",
                cause=Cause.BAD_INPUT,
            )
        arrays.append(array)
    return arrays


def domain_of(request: CheckRequest, inputs: Sequence[Array]) -> Domain | None:
    """Where float has to be met: the registered network's domain, else the range of what was given."""
    from corstone_models.networks import NETWORKS

    if network := NETWORKS.get(request.network):
        return network.domain
    # Nobody stated a domain: what the network was calibrated on is where float has to be met. Codes reach half a step
    # beyond, where asin, say, has no value.
    import numpy as np

    from corstone.judge.domain import Domain

    if request.calibration is not None:
        given: Sequence[Array] = [x for sets in read_calibration(request.calibration) for x in sets]
    else:
        given = inputs if request.input_files or request.stimulus == "example" else request.inputs
    floats = [x[np.isfinite(x)] for x in given if x.dtype.kind == "f"]
    if floats := [x for x in floats if x.size]:
        return Domain(min(float(x.min()) for x in floats), max(float(x.max()) for x in floats), declared=False)
    return Domain(-1.0, 1.0, declared=False) if request.shapes else None
