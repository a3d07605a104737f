"""The search for a range in a histogram observer, with numbers of Python's in its loop instead of tensors of rank 0.

torchao narrows the range by a 100,000th of the samples at a time and looks up two running sums for each step, up to a
hundred thousand times an observer. A sum is compared with a bound in float32 there, and here; where the range changes,
the error is torchao's own (``_compute_quantization_error``). So the ranges are the same, to the bit. Nothing is
replaced where torchao's function is not that of the version whose source was read. Needs torch.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import torch

from corstone.lowering.replacing import is_known

_SEARCH_READ = "9306a687ba73a3044c555e58d19ad69b11ee000779a3088e55da08b954b472eb"
_STEP = 1e-5
_FLOAT = Struct("f")


def search_with_numbers() -> None:
    """Replace the search where it is the known one."""
    from torchao.quantization.pt2e.observer import HistogramObserver

    original = HistogramObserver._non_linear_param_search
    if not is_known(original, _SEARCH_READ):
        return

    def search(observer: Any) -> tuple[Any, Any]:
        exact = observer.histogram.dtype is torch.float32
        return _search(observer) if exact else original(observer)

    HistogramObserver._non_linear_param_search = search


def _search(observer: Any) -> tuple[Any, Any]:
    """The lowest and the highest value, tensors of rank 0, that ``HistogramObserver`` finds."""
    bins: int = observer.bins
    assert observer.histogram.size()[0] == bins, "bins mismatch"
    width = (observer.max_val - observer.min_val) / bins
    total: float = torch.sum(observer.histogram).item()
    sums: list[float] = torch.cumsum(observer.histogram, dim=0).tolist()
    alpha, beta, first, last, least = 0.0, 1.0, 0, bins - 1, float("inf")
    # One bin alone cannot be narrowed.
    while alpha < beta and first < last:
        next_alpha, next_beta = alpha + _STEP, beta - _STEP
        low, high = _as_float32(next_alpha * total), _as_float32(next_beta * total)
        left, right = first, last
        while left < last and sums[left] < low:
            left += 1
        while right > first and sums[right] > high:
            right -= 1
        if left - first > last - right:
            alpha = next_alpha
            new = left, last
        else:
            beta = next_beta
            new = first, right
        if new == (first, last):
            continue
        error = observer._compute_quantization_error(*new)
        if error > least:
            break
        least = error
        first, last = new
    return observer.min_val + width * first, observer.min_val + width * (last + 1)


def _as_float32(value: float) -> float:
    """The nearest float32, as comparing a float32 tensor with a number makes it."""
    try:
        nearest: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return nearest
