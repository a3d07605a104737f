"""Differential fuzzing of the NPU model: random small networks, compiled by Vela, against the TOSA reference model.

A seed fully decides a network, its inputs and its target. Needs the compiler stack (tosa-tools and Vela), which
nothing else in the NPU model does.
"""
