"""Holds QEMU's file writes to one folder, so that a guest cannot write elsewhere through semihosting.

Semihosting opens, removes and renames files of the host by any path, ``../`` and absolute ones included. Linux'
Landlock (5.13 and newer) lets a process give up the right to do so outside a folder, for good and for what it executes.
Channels without a name (pipes, sockets, anonymous memory) stay usable. Reading is not restricted: images, ROMs and
libraries lie anywhere. Source: Linux, Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all of Linux' architectures
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
# Remove folders and files; make devices, folders, files, sockets, FIFOs, block devices, links.
_ENTRIES = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12))
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # since versions 2 and 3
_ALSO = ("/dev/null", "/dev/tty")


def version() -> int:
    """Of the kernel's Landlock; 0 without one."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def write_only_below(folder: str) -> bool:
    """From now on this process and its children change files below the folder only; False: the kernel cannot.

    For a forked child before ``exec``: there is no way back.
    """
    known = version()
    if not known:
        return False
    on_files = _WRITE_FILE | (_TRUNCATE if known >= 3 else 0)
    rights = on_files | _ENTRIES | (_REFER if known >= 2 else 0)
    libc = ctypes.CDLL(None)
    handled = struct.pack("=Q", rights)
    ruleset = libc.syscall(_CREATE_RULESET, handled, len(handled), 0)
    if ruleset < 0:
        return False
    try:
        rules = [(folder, rights), *((path, on_files) for path in _ALSO if os.path.exists(path))]
        for path, allowed in rules:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = struct.pack("=Qi", allowed, place)
                if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0):
                    return False
            finally:
                os.close(place)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            return False
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
