"""The four projects of lesson 24c: a putt, a lens, an orbit, a picture.

    python -m minigrad.lessons.projects golf 1.9 2.3             how good these numbers are
    python -m minigrad.lessons.projects golf 1.9 2.3 -o putt.svg      and a picture of them

Each project is a piece of physics whose result depends on a few numbers. The computation here is
the referee's: it takes NumPy, small steps and no derivative. A student's program takes an engine,
steps of its own choice, and finds the numbers. What counts is the miss of the referee.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from .svg import Picture

Numbers = Sequence[float]

# --------------------------------------------------------------------------------------------- golf

TEE, HOLE = np.array([0.0, 0.0]), np.array([4.0, 3.0])
RADIUS, FASTEST = 0.054, 1.6
"""Radius of a hole in metres, and the speed in m/s above which a ball jumps over it."""
SECONDS, ROLLING = 4.0, 0.5
HILLS = np.array([[1.6, 1.9, 0.12, 0.8], [3.0, 1.1, -0.1, 0.7], [3.1, 2.9, 0.06, 0.6]])
"""Bumps of the green: x, y, height and width in metres. One is a hollow."""
MIDDLES, HEIGHTS, WIDTHS = HILLS[:, :2], HILLS[:, 2], HILLS[:, 3]


def _slope(x: np.ndarray) -> np.ndarray:
    """The gradient of the green's height h(x) = Σ height · exp(−|x − middle|² / width²)."""
    away = x - MIDDLES
    shares = HEIGHTS * np.exp(-np.sum(away**2, axis=1) / WIDTHS**2) / WIDTHS**2
    return np.asarray(-2 * shares @ away)


def _stepped(
    rate: Callable[[np.ndarray], np.ndarray], state: np.ndarray, seconds: float, steps: int
) -> np.ndarray:
    """All states on the way, by the classical rule of Runge and Kutta (order 4)."""
    h, path = seconds / steps, [state]
    for _ in range(steps):
        s = path[-1]
        a = rate(s)
        b = rate(s + h / 2 * a)
        c = rate(s + h / 2 * b)
        d = rate(s + h * c)
        path.append(s + h / 6 * (a + 2 * b + 2 * c + d))
    return np.array(path)


def roll(numbers: Numbers, steps: int = 400) -> np.ndarray:
    """Places and velocities of a ball that is hit with this velocity: (steps + 1, 2, 2)."""
    rate = lambda s: np.array([s[1], -9.81 * _slope(s[0]) - ROLLING * s[1]])
    return _stepped(rate, np.array([TEE, numbers]), SECONDS, steps)


def golf_loss(numbers: Numbers) -> float:
    """The squared distance from the hole after four seconds."""
    return float(np.sum((roll(numbers)[-1, 0] - HOLE) ** 2))


def golf_miss(numbers: Numbers) -> float:
    """The distance from the hole after four seconds in metres; infinity if the ball is too fast
    there to fall in.
    """
    place, velocity = roll(numbers)[-1]
    fast = np.linalg.norm(velocity) > FASTEST
    return math.inf if fast else float(np.linalg.norm(place - HOLE))


def golf_picture(numbers: Numbers) -> Picture:
    """The green from above, its hills as circles of equal height, and the path of the ball."""
    p = Picture(640, 430, "A green from above with hills, and the path of a ball into the hole")
    place = lambda x: (140 + 90 * x[0], 385 - 90 * x[1])
    for a, b, height, width in HILLS:
        for share in (0.25, 0.5, 0.75):
            radius = width * math.sqrt(-math.log(share))
            p.dot(*place((a, b)), 90 * radius, "tangent" if height > 0 else "value")
        below = place((a, b - width - 0.04))  # between two circles, off the path to the hole
        p.say(*below, f"{100 * height:.0f} cm".replace("-", "−"), "dim", 11)
    p.line([place(s[0]) for s in roll(numbers)[::4]], "adjoint")
    p.dot(*place(TEE), 5, "yellow")
    p.dot(*place(HOLE), 6, "plain")
    p.say(place(TEE)[0] - 12, place(TEE)[1] + 4, "tee", "right", 12)
    p.say(place(HOLE)[0] + 26, place(HOLE)[1] + 4, "hole", "left", 12)
    p.say(320, 422, f"{1000 * golf_miss(numbers):.1f} mm from the hole", "bold")
    return p


# --------------------------------------------------------------------------------------------- lens

GLASS, FOCUS, APERTURE, RAYS = 1.5, 5.0, 2.0, 101
"""Refractive index; focal length and half the diameter in centimetres; rays that are traced."""


def heights(numbers: Numbers, r: np.ndarray | None = None) -> np.ndarray:
    """Where rays at the heights r cross the focal plane, in cm; NaN for a ray that stays in the
    glass. The curved face lies 2 mm to the left of where it would be, if numbers are its sag:
    s(r) = a r² + b r⁴ + c r⁶.
    """
    a, b, c = numbers
    r = np.linspace(-APERTURE, APERTURE, RAYS) if r is None else r
    sag = a * r**2 + b * r**4 + c * r**6
    u = 2 * a * r + 4 * b * r**3 + 6 * c * r**5
    with np.errstate(invalid="ignore"):
        d = np.sqrt(1 + u**2 - GLASS**2 * u**2)
        return np.asarray(r - (FOCUS + sag) * u * (GLASS - d) / (d + GLASS * u**2))


def lens_loss(numbers: Numbers) -> float:
    """The mean squared height of the rays in the focal plane, in cm²."""
    return float(np.mean(heights(numbers) ** 2))


def lens_miss(numbers: Numbers) -> float:
    """The root of that: the size of the spot in cm; infinity where a ray stays in the glass."""
    size = math.sqrt(lens_loss(numbers)) if np.all(np.isfinite(heights(numbers))) else math.inf
    return size


def lens_picture(numbers: Numbers) -> Picture:
    """The lens from the side, its rays, and the rays near the focus a hundred times as large."""
    a, b, c = numbers
    p = Picture(640, 330, "A lens, parallel rays that it brings together, and the spot enlarged")
    place = lambda z, r: (170 + 70 * z, 160 - 62 * r)
    r = np.linspace(-APERTURE, APERTURE, 41)
    face = [place(-(a * x**2 + b * x**4 + c * x**6), x) for x in r]
    back = -max(a * APERTURE**2 + b * APERTURE**4 + c * APERTURE**6, 0) - 0.25
    p.line([place(back, r[0]), *face, place(back, r[-1]), place(back, r[0])], "value")
    for x in np.linspace(-APERTURE, APERTURE, 17):
        sag = a * x**2 + b * x**4 + c * x**6
        end = float(heights(numbers, np.array([x]))[0])
        slope = (end - x) / (FOCUS + sag)
        p.line([place(-2.3, x), place(-sag, x), place(FOCUS + 0.6, end + 0.6 * slope)], "yellow")
    p.line([place(FOCUS, -1.2), place(FOCUS, 1.2)], "axis")
    p.say(*place(FOCUS, -1.45), "focal plane", "dim", 11)
    size = 1e4 * lens_miss(numbers)
    p.say(320, 318, f"size of the spot: {size:.3g} µm", "bold")
    return p


# -------------------------------------------------------------------------------------------- orbit

NEAREST, SHORTEST, LONGEST = 0.05, 3, 20
"""How near two bodies may come; the time T at least and at most."""


def _bodies(s: np.ndarray) -> np.ndarray:
    """The rates of three bodies of mass 1: places in the first three rows, velocities below."""
    places = s[:3]
    away = places[None] - places[:, None]
    cubed = (np.sum(away**2, axis=-1) + np.eye(3)) ** 1.5
    return np.vstack([s[3:], np.sum(away / cubed[..., None], axis=1)])


def dance(numbers: Numbers, steps: int = 0) -> np.ndarray:
    """Places and velocities of three bodies in a row, the outer ones with the velocity (p, q), the
    middle one with −2 (p, q), for a time T: (steps + 1, 6, 2). steps: by default 240 for each
    unit of time.
    """
    p, q, seconds = numbers
    steps = steps or max(100, round(240 * min(abs(seconds), LONGEST)))
    start = np.array([[-1, 0], [1, 0], [0, 0], [p, q], [p, q], [-2 * p, -2 * q]], dtype=float)
    return _stepped(_bodies, start, seconds, steps)


def orbit_loss(numbers: Numbers) -> float:
    """The squared distance between the last state and the first."""
    path = dance(numbers)
    return float(np.sum((path[-1] - path[0]) ** 2))


def orbit_miss(numbers: Numbers) -> float:
    """The distance between the last state and the first; infinity for a time that is too short or
    too long, or bodies that come too near each other for the steps.
    """
    if not SHORTEST <= numbers[2] <= LONGEST:
        return math.inf
    path = dance(numbers)
    gaps = np.linalg.norm(path[:, [0, 1, 2]] - path[:, [1, 2, 0]], axis=-1)
    return math.inf if np.min(gaps) < NEAREST else math.sqrt(orbit_loss(numbers))


def _orbit_never(numbers: Numbers) -> str:
    if not SHORTEST <= numbers[2] <= LONGEST:
        return f"the time T is {numbers[2]:.4g}, and not between {SHORTEST} and {LONGEST}"
    return (
        f"two bodies come nearer to each other than {NEAREST:g}, too near for the referee's steps"
    )


def orbit_picture(numbers: Numbers) -> Picture:
    """The paths of the three bodies, and where they are at the beginning."""
    p = Picture(640, 300, "The paths of three bodies")
    path = dance(numbers, 600)
    reach = max(1.2, float(np.max(np.abs(path[:, :3]))))
    scale = min(290 / reach, 120 / max(0.4, float(np.max(np.abs(path[:, :3, 1])))))
    place = lambda x: (320 + scale * x[0], 150 - scale * x[1])
    for body, style in enumerate(("value", "tangent", "adjoint")):
        p.line([place(x) for x in path[::3, body]], style)
        p.dot(*place(path[0, body]), 7, style)
    miss = f"{orbit_miss(numbers):.1e}".replace("-", "−")
    p.say(320, 20, f"after T = {numbers[2]:.4f}: {miss} from the start", "bold")
    return p


# ----------------------------------------------------------------------------------------- renderer

SIZE, DISCS, EDGE = 24, 9, 0.5
"""Pixels of a side; discs at most; width of their edges in pixels."""
_middles = np.arange(SIZE) + 0.5
ACROSS, DOWN = (grid.reshape(-1, 1) for grid in np.meshgrid(_middles, _middles))


def scene() -> np.ndarray:
    """The picture that is to be painted with discs: a sun, two hills, a lake; (576, 3)."""
    sky = np.array([0.55, 0.75, 0.95]) + (DOWN / SIZE) * np.array([0.35, 0.15, -0.1])
    picture = sky.copy()
    for inside, colour in (
        (np.hypot(ACROSS - 17, DOWN - 6) < 3.2, (0.98, 0.80, 0.25)),
        (16 - 5 * np.exp(-(((ACROSS - 6) / 5) ** 2)) < DOWN, (0.35, 0.55, 0.35)),
        (18 - 5 * np.exp(-(((ACROSS - 19) / 4) ** 2)) < DOWN, (0.25, 0.45, 0.30)),
        (DOWN > 20, (0.20, 0.40, 0.65)),
    ):
        picture = np.where(inside, np.array(colour), picture)
    return picture


def painted(numbers: Numbers) -> np.ndarray:
    """The picture of discs x, y, r, red, green, blue, the first at the bottom, on grey paper."""
    picture = np.full((SIZE * SIZE, 3), 0.7)
    for x, y, r, *colour in np.reshape(np.asarray(numbers, dtype=float), (-1, 6)):
        away = np.sqrt((ACROSS - x) ** 2 + (DOWN - y) ** 2 + 0.001)
        cover = 1 / (1 + np.exp(np.clip((away - r) / EDGE, -700, 700)))
        picture = picture * (1 - cover) + cover * np.array(colour)
    return picture


def renderer_loss(numbers: Numbers) -> float:
    """The mean squared difference between the picture of the discs and the scene."""
    return float(np.mean((painted(numbers) - scene()) ** 2))


def renderer_miss(numbers: Numbers) -> float:
    """The root of that; infinity for more than nine discs."""
    return math.inf if len(numbers) > 6 * DISCS else math.sqrt(renderer_loss(numbers))


def renderer_picture(numbers: Numbers) -> Picture:
    """The scene, what the discs make of it, and their outlines."""
    p = Picture(640, 260, "A landscape in pixels, the same painted with discs, and their outlines")
    for left, pixels in ((20, scene()), (225, painted(numbers))):
        for i, colour in enumerate(np.clip(pixels, 0, 1)):
            x, y = left + 8 * (i % SIZE), 30 + 8 * (i // SIZE)
            p.pixel(x, y, 8, tuple(colour))
    p.box(430, 30, 192, 192, "empty")
    outlines = Picture(192, 192, "")
    for x, y, r, *_ in np.reshape(np.asarray(numbers, dtype=float), (-1, 6)):
        outlines.dot(8 * x, 8 * y, 8 * abs(r), "line")
    p.window(outlines, 430, 30)
    p.say(116, 20, "scene", "dim", 11)
    p.say(321, 20, f"{len(numbers) // 6} discs", "dim", 11)
    p.say(320, 246, f"root mean squared difference: {renderer_miss(numbers):.4f}", "bold")
    return p


# -------------------------------------------------------------------------------------- the referee


@dataclass(frozen=True)
class Project:
    """A project: what its numbers are, where a search may begin, what it measures.

    loss: what a student's program computes as well; miss: what counts; unit: of the miss; good,
    fine: the misses that pass; never: why some numbers have an infinite miss.
    """

    title: str
    numbers: str
    start: tuple[float, ...]
    loss: Callable[[Numbers], float]
    miss: Callable[[Numbers], float]
    good: float
    fine: float
    unit: str
    never: Callable[[Numbers], str]
    picture: Callable[[Numbers], Picture]


def _scattered() -> tuple[float, ...]:
    """Nine grey discs at places drawn with seed 0."""
    rng = np.random.default_rng(0)
    rows = [(*rng.uniform(3, SIZE - 3, 2), 5.0, 0.5, 0.5, 0.5) for _ in range(DISCS)]
    return tuple(float(part) for row in rows for part in row)


PROJECTS = {
    "golf": Project(
        "A putt over hills",
        "the velocity (x, y) of the ball in m/s",
        (1.9, 2.3),
        golf_loss,
        golf_miss,
        RADIUS,
        0.005,
        "m from the hole",
        lambda _: f"the ball is faster than {FASTEST} m/s after four seconds, and does not fall in",
        golf_picture,
    ),
    "lens": Project(
        "A lens without a blur",
        "a, b, c of the face s(r) = a r² + b r⁴ + c r⁶, in cm",
        (0.2, 0.0, 0.0),
        lens_loss,
        lens_miss,
        0.02,
        0.002,
        "cm, the size of the spot",
        lambda _: "a ray stays in the glass",
        lens_picture,
    ),
    "orbit": Project(
        "Three bodies that return",
        "p, q and the time T",
        (0.3, 0.5, 6.0),
        orbit_loss,
        orbit_miss,
        0.1,
        0.001,
        "between the last state and the first",
        _orbit_never,
        orbit_picture,
    ),
    "renderer": Project(
        "A landscape of discs",
        "x, y, r, red, green, blue of up to nine discs",
        _scattered(),
        renderer_loss,
        renderer_miss,
        0.1,
        0.07,
        "root mean squared difference",
        lambda _: f"there are more than {DISCS} discs",
        renderer_picture,
    ),
}


def problem_with(name: object, numbers: object) -> str:
    """Why these are no numbers of a project; "" if they are."""
    if not isinstance(name, str) or name not in PROJECTS:
        return f"there is no project {name!r}; there are {', '.join(PROJECTS)}."
    try:
        found = np.asarray(numbers, dtype=float)
    except (TypeError, ValueError):
        return "the numbers should be a list of numbers."
    wanted, count = len(PROJECTS[name].start), found.size
    if found.ndim != 1:
        return f"the numbers should be one flat list; they have the shape {found.shape}."
    if name == "renderer" and (count % 6 or not 0 < count <= wanted):
        return f"{count} numbers; six belong to each disc, and there are 1 to {DISCS} discs."
    if name != "renderer" and count != wanted:
        return f"{count} numbers; {name} has {wanted}: {PROJECTS[name].numbers}."
    if not np.all(np.isfinite(found)) or np.max(np.abs(found)) > 1e3:
        return "each number should be finite, and not beyond 1000."
    return ""


def missed(name: str, numbers: Numbers) -> float:
    """The miss of some numbers that fit the project; infinity where there is no finite one."""
    return _missed(name, tuple(float(n) for n in numbers))


@lru_cache(maxsize=64)
def _missed(name: str, numbers: tuple[float, ...]) -> float:
    with np.errstate(all="ignore"):
        found = PROJECTS[name].miss(numbers)
    return found if math.isfinite(found) else math.inf


def verdict(name: str, numbers: Numbers) -> str:
    """What the referee says of some numbers, as a line of text. Raises ValueError for numbers that
    do not fit the project.
    """
    if problem := problem_with(name, numbers):
        raise ValueError(problem)
    project, miss = PROJECTS[name], missed(name, numbers)
    if not math.isfinite(miss):
        return f"{project.title}: {project.never(numbers)}: not yet"
    grade = "fine" if miss <= project.fine else "good" if miss <= project.good else "not yet"
    return (
        f"{project.title}: {miss:.4g} {project.unit}: {grade}"
        f" (good up to {project.good:g}, fine up to {project.fine:g})"
    )


def write_picture(name: str, numbers: Numbers, path: str | Path) -> None:
    """Writes the picture of a project as an SVG file. Raises ValueError as `verdict` does."""
    if problem := problem_with(name, numbers):
        raise ValueError(problem)
    with np.errstate(all="ignore"):
        Path(path).write_text(PROJECTS[name].picture(numbers).text(), encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """The command. Raises SystemExit for arguments that make no sense."""
    out, given = None, list(arguments)
    if "-o" in given[:-1]:
        at = given.index("-o")
        out = given[at + 1]
        del given[at : at + 2]
    if not given:
        raise SystemExit("usage: python -m minigrad.lessons.projects NAME NUMBERS… [-o FILE.svg]")
    try:
        numbers = [float(text) for text in given[1:]]
        print(verdict(given[0], numbers))
        if out is not None:
            write_picture(given[0], numbers, out)
            print(f"wrote {out}")
    except (ValueError, OSError) as problem:
        raise SystemExit(f"{given[0]}: {problem}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
