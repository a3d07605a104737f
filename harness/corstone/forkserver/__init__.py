"""A process that has imported its libraries once and forks a child for each request, and the side that asks it.

``server`` runs in that process, ``client`` in the harness. The emulator's boots and the compiler's requests are two
uses of it. Leaves out what a child does. Linux only: it needs process descriptors and a parent's death as a signal.
"""
