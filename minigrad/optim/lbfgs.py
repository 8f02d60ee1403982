"""L-BFGS: Newton's method with a Hessian that is only remembered by what the last steps and
gradients were.

Source: Liu & Nocedal 1989; the line search is Nocedal & Wright, Numerical Optimization (2nd
edition), algorithms 3.5 and 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..backend import Array, ignore_float_errors, zeros
from ..core.tensor import Leaf, Tensor, ensure_version
from ..grad_mode import enable_grad
from .optimizer import Optimizer, checked
from .rules import RANGES

Vector = list[Array]
"""One array for each parameter: a point or a direction in the space of all of them."""


class LBFGS(Optimizer):
    """Each `step(closure)` makes up to max_iter iterations, each of which calls `closure`: it must
    clear the gradients, compute the loss, call backward, and return the loss. Small problems in
    full batches converge in a few steps.

    max_eval: most calls of closure in a step (5/4 of max_iter by default); tolerance_grad,
    tolerance_change: a step ends early where the largest element of the gradient, or of a change
    (or the change of the loss), is smaller; history_size: how many changes are remembered;
    line_search_fn: None for steps of the length lr, or "strong_wolfe". There is one group of
    parameters.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        searches = (lambda v: v in (None, "strong_wolfe"), 'None or "strong_wolfe"')
        at_least_1 = (lambda v: v >= 1, "at least 1")
        rules = {name: RANGES[name] for name in ("lr", "tolerance_grad", "tolerance_change")}
        rules |= dict.fromkeys(("max_iter", "max_eval", "history_size"), at_least_1)
        rules["line_search_fn"] = searches
        checked("LBFGS", settings, [(name, *rule) for name, rule in rules.items()])
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS: all parameters make one vector, so there can be one group only."
            )

    def update(self, param: Tensor, grad: Tensor) -> None:
        """Raises TypeError: this method needs the loss at several points."""
        raise TypeError(
            "LBFGS has no update(parameter, gradient): it computes the loss several times in a"
            " step. Use step(closure)."
        )

    __call__ = update

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to max_iter iterations; returns the loss that `closure` gave first."""
        if closure is None:
            raise TypeError(
                "LBFGS.step needs a closure that clears the gradients, computes the loss, calls"
                " backward and returns the loss."
            )
        group = self.param_groups[0]
        params: list[Tensor] = group["params"]
        state = self.state.setdefault(
            id(params[0]), {"n_iter": 0, "func_evals": 0, "steps": [], "changes": []}
        )
        calls = 0

        def evaluate() -> tuple[Any, float, Vector]:
            nonlocal calls
            with enable_grad():
                loss = closure()
            calls += 1
            state["func_evals"] += 1
            gradient = [
                zeros(p.shape, p.array.dtype, p.array) if p.grad is None else p.grad.array.copy()
                for p in params
            ]
            return loss, float(loss), gradient

        with ignore_float_errors():
            first, loss, gradient = evaluate()
            for iteration in range(1, group["max_iter"] + 1):
                if _largest(gradient) <= group["tolerance_grad"]:
                    break
                direction = self._direction(state, gradient, group["history_size"])
                slope, small = _dot(gradient, direction), group["tolerance_change"]
                if slope > -small:
                    break
                length = group["lr"] * (
                    1.0 if state["n_iter"] else min(1.0, 1 / _sum_of_sizes(gradient))
                )
                state["n_iter"] += 1
                before = loss
                if group["line_search_fn"]:
                    start = Point(0.0, loss, slope, gradient)
                    found = _searched(params, evaluate, direction, start, length, small)
                    length, loss, gradient = found.t, found.loss, found.gradient
                else:
                    _place(params, _moved([p.array for p in params], length, direction))
                    if iteration < group["max_iter"]:
                        _, loss, gradient = evaluate()
                state["direction"], state["length"] = direction, length
                if (
                    calls >= group["max_eval"]
                    or length * _largest(direction) <= small
                    or abs(loss - before) < small
                ):
                    break
        return first

    @staticmethod
    def _direction(state: dict[str, Any], gradient: Vector, history: int) -> Vector:
        """−H g, where H is the inverse of a Hessian under which the remembered steps s explain the
        changes y of the gradient.

        The two-loop recursion: what each pair contributes is taken off newest first, and put on
        again oldest first.
        """
        steps, changes = state["steps"], state["changes"]
        if "gradient" in state:
            y = [g - old for g, old in zip(gradient, state["gradient"], strict=True)]
            s = [state["length"] * d for d in state["direction"]]
            if _dot(y, s) > 1e-10:  # only then the Hessian stays positive
                if len(steps) == history:
                    del steps[0], changes[0]
                steps.append(s)
                changes.append(y)
                state["scale"] = _dot(y, s) / _dot(y, y)
        state["gradient"] = gradient
        q = [-g for g in gradient]
        shares = []
        for s, y in zip(reversed(steps), reversed(changes), strict=True):
            shares.append(_dot(s, q) / _dot(y, s))
            q = [a - shares[-1] * b for a, b in zip(q, y, strict=True)]
        scale = state.get("scale", 1.0)
        q = [scale * a for a in q]
        for s, y, share in zip(steps, changes, reversed(shares), strict=True):
            rest = share - _dot(y, q) / _dot(y, s)
            q = [a + rest * b for a, b in zip(q, s, strict=True)]
        return q


# -------------------------------------------------------------------------------------- line search


class Point(NamedTuple):
    """A point on the line: how far along the direction, the loss and its slope there, the
    gradient.
    """

    t: float
    loss: float
    slope: float
    gradient: Vector


def _searched(
    params: list[Tensor],
    evaluate: Callable[[], tuple[Any, float, Vector]],
    direction: Vector,
    start: Point,
    length: float,
    least: float,
) -> Point:
    """The point that the line search finds along a direction; the parameters are put there."""
    begin = [p.array.copy() for p in params]

    def along(t: float) -> Point:
        _place(params, _moved(begin, t, direction))
        _, loss, gradient = evaluate()
        return Point(t, loss, _dot(gradient, direction), gradient)

    found = strong_wolfe(along, start, length, least, _largest(direction))
    _place(params, _moved(begin, found.t, direction))
    return found


def strong_wolfe(
    along: Callable[[float], Point],
    start: Point,
    t: float,
    least: float,
    size: float = 1.0,
    most: int = 25,
) -> Point:
    """A point where the loss has fallen enough, f(t) <= f(0) + 10⁻⁴ t f'(0), and the slope is flat
    enough, |f'(t)| <= 0.9 |f'(0)|.

    t: the length to try first. After `most` trials, or where a bracket times `size` (the largest
    element of the direction) is narrower than `least`, the best point so far. The trials are those
    of PyTorch, but that the low end of a bracket always has fallen enough.
    """

    def falls(p: Point) -> bool:
        return p.loss <= start.loss + 1e-4 * p.t * start.slope  # also False for NaN

    def flat(p: Point) -> bool:
        return abs(p.slope) <= 0.9 * abs(start.slope)

    trials, before, here = 0, start, along(t)
    while True:  # outwards, until a fitting point lies between the last two
        if not falls(here) or (trials > 1 and here.loss >= before.loss):
            break
        if flat(here):
            return here
        if here.slope >= 0:
            break
        further = _lowest(before, here, here.t + 0.01 * (here.t - before.t), 10 * here.t)
        before, here = here, along(further)
        trials += 1
        if trials == most:
            before = start
            break
    low, high = (here, before) if falls(here) and here.loss < before.loss else (before, here)
    stuck = False
    while trials < most and abs(high.t - low.t) * size >= least:
        left, right = min(low.t, high.t), max(low.t, high.t)
        t, margin = _lowest(low, high, left, right), 0.1 * (right - left)
        if min(right - t, t - left) < margin:  # once near an end is chance, twice is no progress
            if stuck or t >= right or t <= left:
                t, stuck = right - margin if right - t < t - left else left + margin, False
            else:
                stuck = True
        else:
            stuck = False
        here = along(t)
        trials += 1
        if not falls(here) or here.loss >= low.loss:
            high = here
            continue
        if flat(here):
            return here
        if here.slope * (high.t - low.t) >= 0:
            high = low
        low = here
    return low


def _lowest(a: Point, b: Point, least: float, most: float) -> float:
    """Where the cubic through two points and their slopes is lowest, limited to [least, most]; the
    middle of these where it has no minimum.
    """
    if a.t > b.t:
        a, b = b, a
    middle = (least + most) / 2
    if a.t == b.t:
        return middle
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return middle
    d2 = math.sqrt(square)
    below = b.slope - a.slope + 2 * d2
    t = b.t - (b.t - a.t) * (b.slope + d2 - d1) / below if below else math.nan
    return min(max(t, least), most) if math.isfinite(t) else middle


# ------------------------------------------------------------------------------------------ vectors


def _moved(begin: Vector, t: float, direction: Vector) -> Vector:
    return [x + t * d for x, d in zip(begin, direction, strict=True)]


def _dot(a: Vector, b: Vector) -> float:
    return sum(float((x.conj() * y).real.sum()) for x, y in zip(a, b, strict=True))


def _largest(a: Vector) -> float:
    return max((float(abs(part).max()) for x in a if x.size for part in _parts(x)), default=0.0)


def _sum_of_sizes(a: Vector) -> float:
    return sum(float(abs(part).sum()) for x in a for part in _parts(x))


def _place(params: list[Tensor], values: Vector) -> None:
    for p, value in zip(params, values, strict=True):
        version = ensure_version(p)
        p.array[...] = value
        version.count += 1
        if isinstance(p.node, Leaf):
            p.node.array = p.array


def _parts(x: Any) -> tuple[Any, ...]:
    """Real and imaginary part: a complex parameter counts as two real ones."""
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)
