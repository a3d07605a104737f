"""Looking inside a program, without a board and without torch.

``inventory``: what it is made of. ``walk``: what the NPU did, command by command. ``matching``: which tensor of the
TOSA graph each feature map is.
"""
