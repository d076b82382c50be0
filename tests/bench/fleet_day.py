"""A simulated day of a fleet: `python -m tests.bench.fleet_day --rate 20` draws docs/images/fleet-day.svg.

A million people in the world's time zones are active by day; each dreams once a day, an hour after falling silent in
the evening, or, with `--at-three`, at three in the night. The backlog is what is due and has not dreamt yet: each
minute the fleet plans, admits and runs as many as its rate allows. Rates are dreams a second of one machine.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

MINUTES = 1_440
_ZONES = {-8: 6, -6: 8, -5: 12, -3: 7, 0: 8, 1: 20, 2: 8, 3: 7, 5.5: 12, 8: 8, 9: 4}
"""How many of a hundred people live so many hours from UTC."""
_COLOURS = ("#b3261e", "#1a5fb4", "#2e7d32", "#7b4fa3")
_WIDE, _HIGH, _LEFT, _LOW = 640, 240, 70, 30


def due_by_minute(people: int, *, at_three: bool) -> list[int]:
    """Return how many dreams become due in each minute of a day in UTC."""
    chance = random.Random(7)
    due = [0] * MINUTES
    zones = chance.choices(list(_ZONES), list(_ZONES.values()), k=people)
    for zone in zones:
        local = 3 * 60 if at_three else 22 * 60 + chance.gauss(0, 90)
        due[int(local - zone * 60) % MINUTES] += 1
    return due


def backlog_of(due: Sequence[int], *, rate: float, days: int = 3) -> list[float]:
    """Return the backlog in each minute of the last of some days: what is left of one is there on the next."""
    backlog = 0.0
    curve: list[float] = []
    for _ in range(days):
        curve = []
        for come in due:
            backlog = max(0.0, backlog + come - 60 * rate)
            curve.append(backlog)
    return curve


def drawn(curves: dict[str, list[float]]) -> str:
    """Return the curves as a picture."""
    most = max(max(curve) for curve in curves.values()) or 1
    size = f'viewBox="0 0 {_LEFT + _WIDE + 20} {_HIGH + 80}" font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', '<rect width="100%" height="100%" fill="white"/>']
    for hour in range(0, 25, 4):
        x = _LEFT + _WIDE * hour / 24
        parts.append(f'<path d="M{x:.0f} 10V{_HIGH + 10}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.0f}" y="{_HIGH + _LOW}" text-anchor="middle">{hour:02}:00</text>')
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = 10 + _HIGH * (1 - share)
        parts.append(f'<path d="M{_LEFT} {y:.0f}H{_LEFT + _WIDE}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{most * share:,.0f}</text>')
    for place, (name, curve) in enumerate(curves.items()):
        points = " ".join(
            f"{_LEFT + _WIDE * minute / MINUTES:.1f},{10 + _HIGH * (1 - curve[minute] / most):.1f}"
            for minute in range(0, MINUTES, 5)
        )
        colour, y = _COLOURS[place % len(_COLOURS)], _HIGH + 52 + 16 * (place // 2)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x = _LEFT + 320 * (place % 2)
        parts.append(f'<text x="{x}" y="{y}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(given: argparse.Namespace) -> None:
    """Print what each fleet leaves waiting, and draw it."""
    curves: dict[str, list[float]] = {}
    print("| dreams due | machines | dreams a second | most waiting | longest wait | carries a day |")
    print("|---|---|---|---|---|---|")
    for at_three in (False, True):
        due = due_by_minute(given.people, at_three=at_three)
        when = "at three" if at_three else "in the evening"
        for machines in given.machines:
            rate = machines * given.rate
            curve = backlog_of(due, rate=rate)
            is_carried = rate * 86_400 >= sum(due)
            wait = f"{max(curve) / rate / 3_600:.1f} h" if is_carried else "grows each day"
            print(f"| {when} | {machines} | {rate:,.0f} | {max(curve):,.0f} | {wait} | {rate * 86_400:,.0f} |")
            if is_carried:
                curves[f"{machines} machine{'s' if machines > 1 else ''}, {when}"] = curve
    given.picture.write_text(drawn(curves))


def arguments(told: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, required=True, help="dreams a second of one machine, as measured")
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--picture", type=Path, default=Path("docs/images/fleet-day.svg"))
    return parser.parse_args(told)


if __name__ == "__main__":
    main(arguments())
