"""From a network to a Program: export, quantize, TOSA, Vela, PTE, in a child process and behind a cache.

``lower``, ``Lowering`` and ``LowerRequest`` are the way in; importing them imports no torch.
"""

from corstone.lowering.lower import Lowering, lower, lower_all
from corstone.lowering.request import LowerRequest

__all__ = ["LowerRequest", "Lowering", "lower", "lower_all"]
