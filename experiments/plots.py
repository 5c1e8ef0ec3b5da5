"""Plots as SVG, written by hand: no library, same bytes from the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 46
COLOURS = ["#256343", "#2f62a3", "#8a5300", "#7650a8", "#a32a2a", "#2f8577"]
STYLE = (
    "text{font:12px system-ui,'Liberation Sans',Arial,sans-serif;fill:#333}.t{font-size:14px;font-weight:600}"
    ".g{stroke:#e2e2da}.a{stroke:#555}@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#3a3f3a}"
    ".a{stroke:#aaa}.b{fill:#1a1e1a}}"
)


@dataclass
class Axis:
    low: float
    high: float
    ticks: list[float]
    log: bool = False

    def place(self, value: float) -> float:
        import math

        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            return (math.log10(max(value, self.low)) - low) / ((high - low) or 1.0)
        return (value - self.low) / ((self.high - self.low) or 1.0)


def linear(high: float) -> Axis:
    import math

    high = high if high > 0 else 1.0
    power = 10 ** math.floor(math.log10(high / 4))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * 4 >= high)
    count = math.ceil(high / step - 1e-9)
    return Axis(0.0, count * step, [index * step for index in range(count + 1)])


def _number(value: float) -> str:
    return f"{value:g}"


class Plot:
    def __init__(self, title: str, x: Axis, y: Axis, x_name: str, y_name: str, description: str) -> None:
        self.x, self.y = x, y
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc><style>{STYLE}</style>",
            f'<rect class="b" width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            f'<text class="t" x="{LEFT}" y="20">{escape(title)}</text>',
        ]
        for tick in y.ticks:
            place = self.vertical(tick)
            self.parts.append(f'<line class="g" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>')
            self.parts.append(f'<text x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
        for tick in x.ticks:
            place = self.horizontal(tick)
            self.parts.append(
                f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_number(tick)}</text>'
            )
        self.parts.append(
            f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(x_name)}</text>'
            f'<text x="14" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
            f'transform="rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2})">{escape(y_name)}</text>'
        )
        self.names = 0

    def horizontal(self, value: float) -> float:
        return LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)

    def vertical(self, value: float) -> float:
        return HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - BOTTOM - TOP)

    def stems(self, values: list[tuple[float, float]], colour: int = 0) -> None:
        path = "".join(
            f"M{self.horizontal(x):.1f} {self.vertical(0):.1f}V{self.vertical(y):.1f}" for x, y in values if y
        )
        self.parts.append(f'<path d="{path}" stroke="{COLOURS[colour]}" stroke-width="1.6"/>')

    def line(self, name: str, values: list[tuple[float, float]], colour: int) -> None:
        path = "L".join(f"{self.horizontal(x):.1f} {self.vertical(y):.1f}" for x, y in values)
        tint = COLOURS[colour % len(COLOURS)]
        dashes = ' stroke-dasharray="6 4"' if colour >= len(COLOURS) else ""
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{tint}" stroke-width="2"{dashes}/>')
        for x, y in values:
            self.parts.append(f'<circle cx="{self.horizontal(x):.1f}" cy="{self.vertical(y):.1f}" r="3" fill="{tint}"/>')
        if name:
            x, y = LEFT + 8 + 165 * (self.names % 4), TOP + 10 + 16 * (self.names // 4)
            self.parts.append(f'<rect x="{x}" y="{y - 8}" width="14" height="4" fill="{tint}"/>')
            self.parts.append(f'<text x="{x + 19}" y="{y - 2}">{escape(name)}</text>')
            self.names += 1

    def svg(self) -> str:
        return "\n".join([*self.parts, "</svg>", ""])
