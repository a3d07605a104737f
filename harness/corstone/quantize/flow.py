"""From a float graph to a quantized one: prepare, calibrate, convert. Needs torch and ExecuTorch."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

from executorch.backends.arm.ethosu import EthosUCompileSpec
from executorch.backends.arm.quantizer import (
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from corstone.quantize.annotator import DomainQuantizer
from corstone.quantize.calibration import calibrate
from corstone.quantize.policies import OBSERVER_EPS, Policy, policy
from corstone.quantize.segmented import segment


def activation_config(bits: int) -> Any:
    """ExecuTorch's quantization config: int8 activations for 8, int16 activations and int8 weights for 16."""
    if bits == 8:
        return get_symmetric_quantization_config(eps=OBSERVER_EPS)
    return get_symmetric_a16w8_quantization_config(epsilon=OBSERVER_EPS)


def whole_range(config: Any) -> Any:
    """The config with activations observed by their least and largest value.

    ExecuTorch's own observer picks the range by a histogram and cuts the ends off: a constant of 0.8 became 0.79961, 12
    codes short, and acos at the end of its domain makes 270 output steps of that.
    """
    return dataclasses.replace(
        config,
        input_activation=_least_to_largest(config.input_activation),
        output_activation=_least_to_largest(config.output_activation),
    )


def _least_to_largest(spec: Any) -> Any:
    return dataclasses.replace(spec, observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=OBSERVER_EPS))


def build_quantizer(target: str, policy_name: str, bits: int) -> Any:
    """ExecuTorch's Ethos-U quantizer for ``target``, with our annotator before it unless the policy is ``upstream``."""
    chosen = policy(policy_name, bits)
    config = activation_config(bits)
    if chosen is Policy.SEGMENTED:
        config = whole_range(config)
    quantizer = EthosUQuantizer(EthosUCompileSpec(target))
    quantizer.set_global(config)
    if chosen is not Policy.UPSTREAM:
        quantizer.add_quantizer(DomainQuantizer(chosen, bits, config))
    return quantizer


def quantize(graph: Any, calibration: Sequence[tuple[Any, ...]], target: str, policy_name: str, bits: int) -> Any:
    """Quantize a graph module (``ExportedProgram.module()``) with one forward pass per calibration input set.

    Raises
    ------
    ConfigError: an operator has no finite answer to the calibration inputs.
    """
    plain = copy.deepcopy(graph)
    prepared = prepare_pt2e(graph, build_quantizer(target, policy_name, bits))
    calibrate(prepared, plain, calibration)
    converted = convert_pt2e(prepared)
    if policy(policy_name, bits) is Policy.SEGMENTED:
        segment(converted)
    return converted
