"""Our own runner: what runs on the CPU of a board, in C11, one ELF per board.

``src`` and ``include`` hold the runner, ``ld`` one linker script a board, ``host`` a build of its loader and kernels
for tests. ``build`` compiles it, ``protocol`` reads what it prints, ``command`` writes what it is asked to do.
"""
