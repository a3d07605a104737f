"""An observer whose parameters keep every code inside an operator's domain (``derived``). Needs torch and torchao."""

from __future__ import annotations

from typing import Any

import torch
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from corstone.judge.domain import Domain
from corstone.quantize.derived import derive
from corstone.quantize.domains import REALS, Unary, unary


def restricted(node: Any) -> Unary | None:
    """The row of a unary operator whose domain is not all of the reals; None for any other node."""
    namespace, _, rest = str(node.target).partition(".")
    if namespace != "aten" or not node.args:
        return None
    row = unary(rest.partition(".")[0], node.args[1:])
    return row if row is not None and row.domain != REALS else None


def derived_spec(domain: Domain, activation: Any) -> Any:
    """A quantization spec like ``activation``, its parameters derived from ``domain``."""
    limits = (domain.lo, domain.hi, domain.lo_open, domain.hi_open)
    return QuantizationSpec(
        dtype=activation.dtype,
        observer_or_fake_quant_ctr=DomainObserver.with_args(limits=limits),
        quant_min=activation.quant_min,
        quant_max=activation.quant_max,
        qscheme=activation.qscheme,
        is_dynamic=False,
    )


class DomainObserver(MinMaxObserver):
    """Observes the range of inputs; ``limits`` are the fields of the operator's ``Domain``."""

    def __init__(self, limits: tuple[float, float, bool, bool], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.domain = Domain(*limits)

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and zero point; narrows ``quant_min`` and ``quant_max``, which ``convert_pt2e`` reads afterwards."""
        bits = 16 if self.dtype is torch.int16 else 8
        q = derive(self.domain, bits, float(self.min_val), float(self.max_val))
        self.quant_min, self.quant_max = q.qmin, q.qmax
        return torch.tensor([q.scale]), torch.tensor([q.zero_point], dtype=torch.int64)
