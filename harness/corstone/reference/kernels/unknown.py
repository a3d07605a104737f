"""The error for a CPU kernel that the references do not know: which, why, and what to do about it."""

from __future__ import annotations

from corstone.causes import Cause
from corstone.errors import ConfigError

# Kernels whose elements come out of the C library (libm), directly or within.
_LIBRARY = frozenset(
    (
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cos",
        "cosh",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "exp",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "erf",
        "gelu",
        "elu",
        "pow",
        "sigmoid",
        "logit",
        "_softmax",
        "_log_softmax",
        "native_layer_norm",
        "native_group_norm",
        "glu",
    )
)


def unknown(op: str) -> ConfigError:
    """The error for operator ``op`` (``aten::_softmax.out``), cause ``unsupported``."""
    name = op.partition("::")[2].partition(".")[0]
    why = "there is no row for it in corstone.reference.kernels"
    if name in _LIBRARY:
        why = "it is made of the C library's functions, whose last bits differ from library to library"
    return ConfigError(
        f"the references do not know the CPU kernel {op}: {why}",
        cause=Cause.UNSUPPORTED,
        hint="quantize the operator, so that it is delegated to the NPU ('corstone explain' lists what stayed on the "
        "CPU), or leave it out of the network that is checked; 'corstone run' boots the program without judging it",
    )
