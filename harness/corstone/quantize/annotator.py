"""A torchao quantizer for operators with a restricted input domain; it composes with ExecuTorch's own.

Use it in any flow of your own::

    quantizer = EthosUQuantizer(spec).set_global(config)
    quantizer.add_quantizer(DomainQuantizer("edge_exact", 8, config))

It annotates the operators of ``operators.OPERATORS``, with ``fixed`` and ``edge_exact`` also every other operator that
has a restricted domain (``derived``), and nothing else; with ``edge_exact`` and ``segmented`` also graph
inputs that feed only such operators, so that the value is quantized once, with the parameters that make the edges
exact. Needs torch.
"""

from __future__ import annotations

from typing import Any

import torch
from executorch.backends.arm.common.annotation_meta import ArmAnnotationInfo
from executorch.backends.arm.constants import DISALLOW_TFA_META_KEY
from executorch.backends.cortex_m.quantizer.pattern_matcher import PatternMatcher
from executorch.backends.cortex_m.quantizer_reporter import QuantizerInfo, QuantizerReporterUser
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    Quantizer,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from corstone.quantize.domain_observer import derived_spec, restricted
from corstone.quantize.operators import OPERATORS, FixedQParams
from corstone.quantize.policies import Policy, input_parameters, output_parameters, policy

_NAME_OF_TARGET: dict[Any, str] = {getattr(torch.ops.aten, name).default: name for name in OPERATORS}


class DomainQuantizer(Quantizer, QuantizerReporterUser):
    """Annotates operators with a restricted domain as the policy says.

    Parameters
    ----------
    policy_name: observer, fixed or edge_exact.
    bits: 8 or 16, the activation width of ``config``.
    config: ExecuTorch's ``QuantizationConfig``; its activation spec gives dtype, range and observer.
    """

    def __init__(self, policy_name: str, bits: int, config: Any) -> None:
        super().__init__()
        QuantizerReporterUser.__init__(self)
        self.policy = policy(policy_name, bits)
        self.bits = bits
        self.config = config

    def annotate(self, model: Any) -> Any:
        """Annotate in place; nodes that another quantizer has taken are left alone."""
        for node in model.graph.nodes:
            if node.op != "call_function" or Q_ANNOTATION_KEY in node.meta:
                continue
            name = _NAME_OF_TARGET.get(node.target)
            if name is None:
                self._annotate_derived(node)
                continue
            if not _is_float(node.args[0]):
                continue
            qspec = self._input_spec(name)
            _mark(node, {node.args[0]: qspec}, self._output_spec(name, node))
            self.report_accept([node])
            if self.policy in (Policy.EDGE_EXACT, Policy.SEGMENTED):
                self._annotate_source(node.args[0], qspec)
        self._annotate_results(model)
        return model

    def validate(self, model: Any) -> None:
        """Nothing to check beyond what ``annotate`` did."""

    def get_quantizer_info(self) -> Any:
        """What ExecuTorch's quantization report says of this quantizer."""
        return QuantizerInfo(
            type(self).__name__, ", ".join(OPERATORS), f"{self.policy.value}, {self.bits} bits", __name__
        )

    def _input_spec(self, name: str) -> Any:
        activation = self.config.get_input_act_qspec()
        stated = input_parameters(name, self.bits, self.policy)
        return activation if stated is None else _fixed_spec(stated, activation)

    def _output_spec(self, name: str, node: Any) -> Any:
        # Inside a network the next operator observes the same edge, and another scale would cost a RESCALE.
        observed = self.config.get_output_act_qspec(node)
        stated = output_parameters(name, self.bits, self.policy)
        if stated is None or any(user.op != "output" for user in node.users):
            return observed
        return _fixed_spec(stated, observed)

    def _annotate_results(self, model: Any) -> None:
        """Results of our operators leave the graph as they are, where a scale was stated for them."""
        (result,) = (node for node in model.graph.nodes if node.op == "output")
        stated = {
            source: source.meta[Q_ANNOTATION_KEY].output_qspec
            for source in result.all_input_nodes
            if isinstance(
                getattr(source.meta.get(Q_ANNOTATION_KEY), "output_qspec", None), FixedQParamsQuantizationSpec
            )
        }
        if stated and Q_ANNOTATION_KEY not in result.meta:
            others = {source: self.config.get_input_act_qspec() for source in result.all_input_nodes}
            _mark(result, others | stated, None)

    def _annotate_derived(self, node: Any) -> None:
        """Operators without stated parameters: ``fixed`` and ``edge_exact`` derive them from domain and calibration."""
        row = restricted(node)
        if row is None or self.policy not in (Policy.FIXED, Policy.EDGE_EXACT) or not _is_float(node.args[0]):
            return
        qspec = derived_spec(row.domain, self.config.get_input_act_qspec())
        _mark(node, {node.args[0]: qspec}, self.config.get_output_act_qspec(node))
        self.report_accept([node])
        source = node.args[0]
        if source.op == "placeholder" and len(source.users) == 1 and Q_ANNOTATION_KEY not in source.meta:
            _mark(source, {}, qspec)

    def _annotate_source(self, source: Any, qspec: Any) -> None:
        # A graph input would be observed by the global quantizer, and requantized before the operator: 1.0 would
        # become code 127 of another scale, and code 126 of this one.
        # Users that are no operators (the guards of an exported module) quantize nothing.
        operators = [user.target for user in source.users if user.op == "call_function"]
        alone = all(target in _NAME_OF_TARGET for target in operators)
        if source.op == "placeholder" and alone and Q_ANNOTATION_KEY not in source.meta:
            _mark(source, {}, qspec)


def _fixed_spec(stated: FixedQParams, activation: Any) -> Any:
    return FixedQParamsQuantizationSpec(
        dtype=activation.dtype,
        scale=stated.scale,
        zero_point=stated.zero_point,
        quant_min=activation.quant_min if stated.qmin is None else stated.qmin,
        quant_max=activation.quant_max if stated.qmax is None else stated.qmax,
        qscheme=activation.qscheme,
        is_dynamic=activation.is_dynamic,
    )


def _mark(node: Any, inputs: dict[Any, Any], output: Any) -> None:
    """Annotate, and leave the marks by which ExecuTorch's partitioner and passes know a quantized node."""
    node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(inputs, output, _annotated=True)
    if node.op == "call_function":
        node.meta.setdefault("custom", {})[ArmAnnotationInfo.CUSTOM_META_KEY] = ArmAnnotationInfo(quantized=True)
    # The next quantizers match patterns; they pass over nodes that are matched already.
    node.meta[PatternMatcher.Q_PATTERN_MATCHED_KEY] = True
    node.meta[DISALLOW_TFA_META_KEY] = False


def _is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point
