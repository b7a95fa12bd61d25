"""Lines over time as SVG, without a library."""

from collections.abc import Mapping, Sequence
from html import escape

from msgspec import Struct

WIDTH, HEIGHT, LEFT, TOP, GAP = 720, 150, 60, 28, 34
COLORS = ("#2563eb", "#d97706", "#059669", "#7c3aed")


class Panel(Struct, frozen=True):
    """One diagram; its lines share a scale, which begins at zero."""

    title: str
    lines: Mapping[str, Sequence[float]]


def plot(unit: str, xs: Sequence[float], panels: Sequence[Panel]) -> str:
    height = len(panels) * (HEIGHT + GAP) + GAP
    parts = [_panel(panel, xs, place * (HEIGHT + GAP) + TOP) for place, panel in enumerate(panels)]
    label = _text(WIDTH - 10, height - 8, f"{unit}: 0 to {max(xs):.0f}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif"'
    return f'{head} font-size="11"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}{label}</svg>\n'


def _panel(panel: Panel, xs: Sequence[float], top: float) -> str:
    most = max((max(ys) for ys in panel.lines.values()), default=0) or 1
    parts = [
        _text(LEFT, top - 6, panel.title, anchor="start"),
        _text(LEFT - 6, top + 10, f"{most:,.0f}"),
        _text(LEFT - 6, top + HEIGHT, "0"),
        f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - 10}" height="{HEIGHT}" fill="none" stroke="#ccc"/>',
    ]
    for place, (name, ys) in enumerate(panel.lines.items()):
        parts += [
            _text(WIDTH - 10 - 100 * place, top - 6, name, COLORS[place]),
            _line(xs, ys, most, top, COLORS[place]),
        ]
    return "".join(parts)


def _text(x: float, y: float, text: str, color: str = "black", anchor: str = "end") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'


def _line(xs: Sequence[float], ys: Sequence[float], most: float, top: float, color: str) -> str:
    width = WIDTH - LEFT - 10
    points = " ".join(
        f"{LEFT + width * x / (max(xs) or 1):.1f},{top + HEIGHT * (1 - y / most):.1f}"
        for x, y in zip(xs, ys, strict=True)
    )
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>'
