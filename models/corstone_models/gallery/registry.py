"""The gallery's rows, without torch: the source of each network, the widths it is run at, and what it stands for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One network. ``heavy``: its compilation takes so long that it is left to ``scripts/gallery``."""

    name: str
    source: str
    about: str
    bits: tuple[int, ...] = (8,)
    heavy: bool = False


_HERE = "corstone_models.gallery"

GALLERY: tuple[Entry, ...] = (
    Entry("keyword-spotting", f"{_HERE}.keyword:keyword_spotting", "DS-CNN on 49 x 10 features, 12 words"),
    Entry("person-detection-96", f"{_HERE}.person:person_96", "MobileNetV2 of width 0.35 at 96 pixels, 2 classes"),
    Entry(
        "person-detection-224",
        f"{_HERE}.person:person_224",
        "MobileNetV2 of width 1.0 at 224 pixels, 2 classes",
        heavy=True,
    ),
    Entry("anomaly-detection", f"{_HERE}.anomaly:anomaly_detection", "autoencoder on 640 features, bottleneck of 8"),
    Entry(
        "transformer-block",
        f"{_HERE}.transformer:transformer_block",
        "layernorm, attention of 2 heads, gelu; 16 tokens of 32",
        heavy=True,
    ),
    Entry(
        "recurrent-cell",
        f"{_HERE}.recurrent:recurrent",
        "a gated recurrent unit of 32 over 8 steps",
        (8, 16),
        heavy=True,
    ),
    Entry("recurrent-cell-short", f"{_HERE}.recurrent:recurrent_short", "the same unit over 2 steps", (8, 16)),
)
