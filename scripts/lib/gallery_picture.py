"""A network's picture: device against float64, and below it the distance in output steps between its budget's lines.

Black on white with one grey, so that it reads on paper and on a phone. Of many elements the least and the largest
distance of each bucket are drawn, so that no outlier is lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corstone.accuracy.plot import HEIGHT, WIDTH, Line, Plot, svg

Floats = npt.NDArray[np.float64]
_BUCKETS = 160
_STYLE = (
    "text{font:13px sans-serif;fill:#000}.grid{stroke:#ddd;fill:none}.axis{stroke:#000;fill:none}"
    ".exact{stroke:#777;stroke-width:1.5;fill:none}.budget{stroke:#000;stroke-width:1.5;stroke-dasharray:7 4;fill:none}"
    ".points{stroke:none;fill:none}.dot{fill:#000}"
)


def picture(name: str, exact: Floats, got: Floats, scale: float, budget: float) -> str:
    """Both panels as one SVG file. ``exact``, ``got``: real values [N]; ``scale``: one output step."""
    exact, got = thinned(exact, got)
    apart = (got - exact) / scale
    level = np.full(exact.size, budget)
    panels = (
        Plot(
            f"{name}: device against float64",
            exact,
            (Line(exact, "exact"), Line(got, "points", dots=True)),
            "float64",
            "device",
        ),
        Plot(
            f"{name}: distance in output steps, budget {budget:g}",
            exact,
            (Line(level, "budget"), Line(-level, "budget"), Line(apart, "points", dots=True)),
            f"float64 (dashed: budget of {budget:g} LSB)",
            "device - float64, LSB",
        ),
    )
    inner = "".join(
        svg(panel).replace("<svg ", f'<svg y="{i * HEIGHT}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        for i, panel in enumerate(panels)
    )
    size = f'width="{WIDTH}" height="{2 * HEIGHT}" viewBox="0 0 {WIDTH} {2 * HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{name}"><style>{_STYLE}</style>'
    return f'{head}<rect width="100%" height="100%" fill="#fff"/>{inner}</svg>\n'


def thinned(exact: Floats, got: Floats) -> tuple[Floats, Floats]:
    """Ascending by ``exact``; of many, the least and the largest distance of each bucket of neighbours."""
    order = np.argsort(exact, kind="stable")
    exact, got = exact[order], got[order]
    if exact.size <= 2 * _BUCKETS:
        return exact, got
    kept: list[int] = []
    for part in np.array_split(np.arange(exact.size), _BUCKETS):
        apart = got[part] - exact[part]
        kept += sorted({int(part[apart.argmin()]), int(part[apart.argmax()])})
    return exact[kept], got[kept]
