"""Refuse an image that needs what QEMU's Cortex-M55 lacks, by name, before it boots.

QEMU has no Cortex-M85: PAC and BTI instructions outside the NOP space run as other instructions, silently wrong
(PACG as SMMLS) or as a jump into the void (AUTG, BXAUT as SMMLA to PC). Build attributes tell whether they may occur;
whether they do is looked up in the code. Sources: ABI addenda for the Arm Architecture (attributes); Armv8-M reference
manual DDI 0553 (encodings).
"""

from __future__ import annotations

from corstone.emulator.image import Image

_MAY_USE = ("2",)


def check_features(image: Image) -> None:
    """Look at an image; see the module.

    Raises
    ------
    ConfigError: it needs a CPU feature that is not there.
    """
