"""Functions whose results are copies, though they may end with a view of an intermediate result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ..core.tensor import Tensor
from .elementwise import clone

Copying = TypeVar("Copying", bound=Callable[..., Any])


def in_own_memory(function: Copying) -> Copying:
    """Declare that the results of a function are copies, also where it ends with a view of an
    intermediate result, or with its input because there was nothing to compute.

    Such a view is a tensor with memory of its own: only the result refers to the intermediate one.
    So it may be modified in place as any other tensor.
    """
    return _ending(function, clone)


def in_own_memory_or_view(function: Copying) -> Copying:
    """As `in_own_memory`, for functions that return a view of their input where there is nothing
    to compute.
    """
    return _ending(function, lambda x: x)


def _ending(function: Copying, of_input: Callable[[Tensor], Tensor]) -> Copying:
    def ended(made: Any, given: list[Tensor]) -> Any:
        if not isinstance(made, Tensor):
            return made
        base = made if made.view_of is None else made.view_of.base
        if any(base is x or (x.view_of is not None and x.view_of.base is base) for x in given):
            return of_input(made)
        made.view_of = None
        return made

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        made = function(*args, **options)
        if type(made) is Tensor and made.view_of is None and not options:  # the usual case
            for a in args:
                if type(a) is Tensor:
                    if a is made or (a.view_of is not None and a.view_of.base is made):
                        break
                elif isinstance(a, list | tuple):
                    break
            else:
                return made
        given = [
            x
            for a in (*args, *options.values())
            for x in (a if isinstance(a, list | tuple) else (a,))
            if isinstance(x, Tensor)
        ]
        if not isinstance(made, tuple):
            return ended(made, given)
        parts = [ended(part, given) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)

    return cast(Copying, run)
