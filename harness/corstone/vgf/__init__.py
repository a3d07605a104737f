"""VGF on any machine: a TOSA graph through Arm's ML emulation layer for Vulkan, no board and no GPU needed.

An independent executor of the same TOSA graph: Arm's model converter writes SPIR-V (``.vgf``), Arm's scenario runner
dispatches it through the two emulation layers on Mesa's software driver. Used as a third reference beside ``table`` and
``tosa``, and as the ``vgf`` target. Optional: ``corstone setup --vgf`` fetches the tools.
"""

from corstone.vgf.graph import TensorType, run_graph
from corstone.vgf.tools import VgfTools, fetch_tools, find_tools

__all__ = ["TensorType", "VgfTools", "fetch_tools", "find_tools", "run_graph"]
