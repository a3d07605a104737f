"""The curve and the error map of a case, from its stored capture: what a report draws, never what is judged.

For an elementwise network (first output as long as first input) the elements are ordered by input value, else by
index. Elements are put into buckets, and of each bucket the one with the largest error is drawn, so that no outlier is
lost to the drawing.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

BUCKETS = 256


def curve(capture: str) -> dict[str, Any] | None:
    """Data of the drawing, or None when the capture or a float reference is not there.

    Returns ``x`` (input values, or indices), ``device``, ``float`` (real values), ``error`` (device minus float, in
    output LSB where the output has a scale, else in its own unit), ``unit`` and ``by`` (``input`` or ``index``).
    """
    folder = Path(capture)
    if not capture or not (folder / "program.json").exists():
        return None
    import numpy as np

    from corstone.capture import Capture
    from corstone.judge.reference import FLOAT, load_references
    from corstone.program import Program

    try:
        stored, program = Capture.load(folder), Program.load(folder / "program.json")
        reference = next((r for r in load_references(folder) if r.name == FLOAT and r.outputs), None)
        outputs, inputs = stored.output_bytes(), stored.input_bytes()
        if reference is None or not outputs:
            return None
        spec = program.outputs[0]
        got = np.frombuffer(outputs[0], spec.dtype).astype(np.float64)
        want = np.asarray(reference.outputs[0], np.float64).ravel()
        scale, zero = 1.0, 0
        if program.output_qparams and (q := program.output_qparams[0]) is not None:
            scale, zero = q.scale, q.zero_point
        real = got if np.dtype(spec.dtype).kind == "f" else (got - zero) * scale
        if real.shape != want.shape:
            return None
        error = (real - want) / scale
        values = None
        if inputs and program.inputs and program.inputs[0].count == spec.count:
            values = np.frombuffer(inputs[0], program.inputs[0].dtype).astype(np.float64)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None  # a capture from elsewhere may be damaged; the report then has no curve
    by_input = values is not None and bool(np.isfinite(values).all())
    order = np.argsort(values, kind="stable") if by_input and values is not None else np.arange(error.size)
    x = values[order] if by_input and values is not None else order.astype(np.float64)
    drawn = _worst_of_buckets(np.nan_to_num(np.abs(error[order]), nan=np.inf))
    return {
        "x": _plain(x[drawn]),
        "device": _plain(real[order][drawn]),
        "float": _plain(want[order][drawn]),
        "error": _plain(error[order][drawn]),
        "unit": "LSB" if scale != 1.0 else "",
        "by": "input" if by_input else "index",
        "count": int(error.size),
    }


def _worst_of_buckets(size: Any) -> list[int]:
    import numpy as np

    if size.size <= BUCKETS:
        return list(range(size.size))
    edges = np.linspace(0, size.size, BUCKETS + 1).astype(int)
    return [int(a + np.argmax(size[a:b])) for a, b in pairwise(edges)]


def _plain(values: Any) -> list[float | None]:
    """Numbers that JSON has; NaN and infinities become None, and the line breaks there."""
    return [float(f"{v:.5g}") if math.isfinite(v) else None for v in values.tolist()]
