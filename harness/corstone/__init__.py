"""Hardware-in-the-loop tests for Arm Ethos-U: quantize, lower, boot, judge.

Importing this package imports neither torch nor numpy: the names below load what they need when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corstone.pipeline import check

__version__ = "0.1.0"
__all__ = ["__version__", "check"]


def __getattr__(name: str) -> Any:
    if name == "check":
        from corstone.pipeline import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
