"""Compressed weights: the SWD and FWD bit streams, and the order in which the hardware takes weights from them."""
