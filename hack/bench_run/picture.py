"""The ratios as a picture: one bar for each row, with its spread and a line at 1. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench_run.result import Row

LEFT, WIDTH, LINE, TOP = 430, 460, 26, 40
FONT = 'font-family="sans-serif" font-size="12"'


def picture(found: Sequence[Row]) -> str:
    """An SVG document."""
    most = max([1.5, *(max(row.ratio.rounds) for row in found)]) * 1.05
    width, height = LEFT + WIDTH + 60, TOP + LINE * len(found) + 20

    def x(ratio: float) -> float:
        return LEFT + WIDTH * ratio / most

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        '<text x="10" y="20" font-size="14">Muster through the in-tree controller: less than 1 is faster</text>',
    ]
    for number, row in enumerate(found):
        y, middle = TOP + LINE * number, row.ratio.middle
        low, high = x(min(row.ratio.rounds)), x(max(row.ratio.rounds))
        color = "#2a9d8f" if middle <= 1 else "#457b9d"
        lines += [
            f'<text x="10" y="{y + 14}">{escape(f"{row.work}: {row.quantity}")}</text>',
            f'<rect x="{LEFT}" y="{y + 3}" width="{x(middle) - LEFT:.1f}" height="15" fill="{color}"/>',
            f'<line x1="{low:.1f}" y1="{y + 10.5}" x2="{high:.1f}" y2="{y + 10.5}" stroke="black"/>',
            f'<text x="{max(high, x(middle)) + 5:.1f}" y="{y + 15}">{middle:.2f}</text>',
        ]
    end = TOP + LINE * len(found)
    lines.append(
        f'<line x1="{x(1):.1f}" y1="{TOP - 8}" x2="{x(1):.1f}" y2="{end}" stroke="black" stroke-dasharray="4"/>'
    )
    return "\n".join([*lines, "</svg>", ""])
