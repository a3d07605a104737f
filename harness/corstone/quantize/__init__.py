"""Quantization policies for operators whose input has a restricted domain.

``operators`` and ``policies`` are plain data and import nothing heavy; ``annotator`` and ``flow`` need torch
and ExecuTorch, and are imported by those who have them: the compile child, or a user's own quantization flow.
"""
