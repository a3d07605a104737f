"""How far each network's program may be from float64, in output steps (LSB), per width, policy and region.

Measured on ethos-u55-128 with ExecuTorch 1.5.1 and Vela 5.1.0: every float32 of an even grid of a million over the
domain, both ends, and every code's own value, through the ``table`` reference, against float64; then rounded up by at
most a tenth. They hold for any input inside the domain, not for codes alone, so the rounding of the input is in them.
``observer`` and ``upstream`` are judged by the budgets of ``fixed``: the question is whether they are as good.
"""

from __future__ import annotations

from collections.abc import Mapping

from corstone.errors import ConfigError
from corstone.judge.budget import Budget, Region

INNER, OUTER, POLE = 0.9, 0.99, 0.999

_ROUNDING = "rounding of the input (once to the program's scale, once to the operator's) and of the output"
_EXACT_SCALE = "rounding of the input and of the output, half a step each"
_SLOPE = "half an input step is worth this much where the function is steep"
_LAST_8 = (
    "the largest code stands for 127/128 of the span, not for its end: an input of +1 is answered as 0.992; "
    "and the function is steep here"
)
_TABLE_16 = "a table of 513 nodes is straight between them, and cannot follow a slope that goes to infinity"
_FLAT_16 = "interpolation between nodes, and rounding"
_HALF_CODE = "half an input code, where the function is steep; on every code itself the tables are within 1.2 steps"
_SEGMENTS = "rounding of the input, of the table's nodes and of the result, half a step each"
_POLE = "float goes to infinity here; the program saturates at the last value that its scale can carry"

# Upper bounds in LSB: interior, then below -0.9, above 0.9, below -0.99, above 0.99 (and, for atanh, beyond +-0.999).
Row = tuple[tuple[float, str], ...]
_ROWS: Mapping[tuple[str, int, str], Row] = {
    ("acos", 8, "fixed"): (
        (1.7, _ROUNDING),
        (2.8, _SLOPE),
        (3.5, _SLOPE),
        (8.0, _SLOPE),
        (10.5, _LAST_8),
    ),
    ("asin", 8, "fixed"): (
        (1.6, _ROUNDING),
        (3.2, _SLOPE),
        (3.2, _SLOPE),
        (8.4, _SLOPE),
        (11.0, _LAST_8),
    ),
    ("atanh", 8, "fixed"): (
        (1.7, _ROUNDING),
        (9.2, _SLOPE),
        (9.2, _SLOPE),
        (31.0, _SLOPE),
        (38.0, _LAST_8),
        (170.0, _POLE),
        (205.0, _POLE),
    ),
    ("acos", 16, "fixed"): (
        (1.4, _FLAT_16),
        (9.2, _TABLE_16),
        (9.2, _TABLE_16),
        (240.0, _TABLE_16),
        (240.0, _TABLE_16),
    ),
    ("asin", 16, "fixed"): (
        (2.0, _FLAT_16),
        (17.0, _TABLE_16),
        (17.0, _TABLE_16),
        (480.0, _TABLE_16),
        (480.0, _TABLE_16),
    ),
    ("atanh", 16, "fixed"): (
        (1.5, _FLAT_16),
        (60.0, _TABLE_16),
        (60.0, _TABLE_16),
        (8600.0, _TABLE_16),
        (8600.0, _TABLE_16),
        (14200.0, _POLE),
        (14200.0, _POLE),
    ),
    ("acos", 16, "segmented"): (
        (1.35, _SEGMENTS),
        (2.1, _HALF_CODE),
        (2.1, _HALF_CODE),
        (60.0, _HALF_CODE),
        (60.0, _HALF_CODE),
    ),
    ("asin", 16, "segmented"): (
        (1.75, _SEGMENTS),
        (3.1, _HALF_CODE),
        (3.1, _HALF_CODE),
        (120.0, _HALF_CODE),
        (120.0, _HALF_CODE),
    ),
    ("atanh", 16, "segmented"): (
        (1.4, _SEGMENTS),
        (4.9, _HALF_CODE),
        (4.9, _HALF_CODE),
        (42.0, _HALF_CODE),
        (42.0, _HALF_CODE),
        (3900.0, _POLE),
        (3900.0, _POLE),
    ),
    ("acos", 8, "edge_exact"): (
        (1.3, _EXACT_SCALE),
        (2.6, _SLOPE),
        (2.6, _SLOPE),
        (7.5, _SLOPE),
        (7.5, _SLOPE),
    ),
    ("asin", 8, "edge_exact"): (
        (1.1, _EXACT_SCALE),
        (2.2, _SLOPE),
        (2.2, _SLOPE),
        (8.0, _SLOPE),
        (7.0, _SLOPE),
    ),
    ("atanh", 8, "edge_exact"): (
        (1.2, _EXACT_SCALE),
        (6.6, _SLOPE),
        (6.6, _SLOPE),
        (28.5, _SLOPE),
        (28.0, _SLOPE),
        (170.0, _POLE),
        (170.0, _POLE),
    ),
}
_JUDGED_AS = {"observer": "fixed", "upstream": "fixed"}
_REGIONS = (
    Region(-INNER, INNER, "interior"),
    Region(-OUTER, -INNER, "towards -1"),
    Region(INNER, OUTER, "towards +1"),
    Region(-1.0, -OUTER, "edge at -1"),
    Region(OUTER, 1.0, "edge at +1"),
    Region(-1.0, -POLE, "pole at -1"),
    Region(POLE, 1.0, "pole at +1"),
)


def budgets(name: str, bits: int, policy: str) -> tuple[Budget, ...]:
    """Budgets of one network, the narrowest region first, as the judge takes them.

    Raises
    ------
    ConfigError: none was measured for this combination.
    """
    row = _ROWS.get((name, bits, _JUDGED_AS.get(policy, policy)))
    if row is None:
        raise ConfigError(
            f"no budget was measured for {name} with {bits} bits and the policy {policy!r}",
            hint="measured: " + ", ".join(f"{n}/{b}/{p}" for n, b, p in _ROWS),
        )
    found = [Budget(region, limit, reason) for region, (limit, reason) in zip(_REGIONS, row, strict=False)]
    return tuple(reversed(found))
