"""vmap: a function of one example becomes a function of a whole batch, without a loop.

The function runs once, on tensors whose payload is a batch (see minigrad/batching/value.py). Names
and conventions are those of torch.func.vmap.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import functions
from ..batching import BatchAxis, axes_of, batch_axis, enter, taken_out
from ..core.tensor import Tensor, as_tensor
from ..errors import BatchingError, one_of
from ..names import public
from .tree import Rebuild, flatten, spread


@public(method=False, theirs="func")
def vmap(
    function: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `function` over a dimension of its arguments.

    in_dims: which dimension of each positional argument holds the examples: an int (may be
    negative), None for an argument that is the same for all, or a tuple (nested like the arguments
    where they are nested). Keyword arguments are the same for all. out_dims: where the
    results get theirs; None for a result that is the same for all. randomness: what random
    functions inside do: "error", "different" (draw for each example), "same" (one draw for all).
    chunk_size: run at most so many examples at once. Raises ValueError for dimensions that do not
    fit, BatchingError where the function asks for one Python value of something that differs
    between the examples.
    """
    one_of("vmap", "randomness", randomness, "error", "different", "same")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size must be None or at least 1, got {chunk_size}.")
    name = getattr(function, "__name__", repr(function))

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, rebuild = _inputs(name, in_dims, args)
        size = _batch_size(name, leaves, dims)

        def run(part: list[Any]) -> tuple[list[Tensor], list[int | None], Rebuild]:
            of_args = functools.partial(function, **kwargs)
            return _run(of_args, name, part, dims, rebuild, out_dims, randomness)

        if chunk_size is None or size <= chunk_size:
            results, _, put = run(leaves)
            return put(results)
        return _in_chunks(run, leaves, dims, size, chunk_size, randomness)

    return mapped


def _inputs(
    name: str, in_dims: Any, args: tuple[Any, ...]
) -> tuple[list[Any], list[int | None], Rebuild]:
    """The arguments' leaves, the dimension of each (non-negative, None for not mapped), and what
    puts leaves back into the arguments.
    """
    if not isinstance(in_dims, int | tuple | list) or isinstance(in_dims, bool):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims!r}): in_dims must be an int or a tuple with an entry"
            " for each argument."
        )
    if not args:
        raise ValueError(
            f"vmap({name}): called without positional arguments, so there is nothing to map over."
        )
    leaves, rebuild = flatten(args)
    given = spread(
        tuple(in_dims) if isinstance(in_dims, list) else in_dims,
        args,
        f"vmap({name}): in_dims and the arguments",
    )
    dims: list[int | None] = []
    for i, (leaf, dim) in enumerate(zip(leaves, given, strict=True)):
        if dim is None:
            dims.append(None)
            continue
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise ValueError(
                f"vmap({name}): in_dims holds {dim!r} for input {i}; an entry is an int or None."
            )
        if not isinstance(leaf, Tensor) and not hasattr(leaf, "__array__"):
            raise ValueError(
                f"vmap({name}): in_dims maps over dimension {dim} of input {i}, which is"
                f" {type(leaf).__name__} and no tensor. Use None for it, or make a tensor of the"
                " whole list."
            )
        ndim = leaf.ndim
        if not -ndim <= dim < ndim:
            raise ValueError(
                f"vmap({name}): in_dims asks for dimension {dim} of input {i}, which has shape"
                f" {tuple(leaf.shape)}."
            )
        dims.append(dim % ndim)
    return leaves, dims, rebuild


def _batch_size(name: str, leaves: list[Any], dims: list[int | None]) -> int:
    sizes = {
        i: leaf.shape[dim]
        for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True))
        if dim is not None
    }
    if not sizes:
        raise ValueError(
            f"vmap({name}): in_dims is None for every input, so there is nothing to map over. Call"
            " the function itself."
        )
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{n} (input {i})" for i, n in sizes.items())
        raise ValueError(f"vmap({name}): the mapped dimensions must have one size, got {found}.")
    return int(next(iter(sizes.values())))


def _run(
    function: Callable[..., Any],
    name: str,
    leaves: list[Any],
    dims: list[int | None],
    rebuild: Rebuild,
    out_dims: Any,
    randomness: str,
) -> tuple[list[Tensor], list[int | None], Rebuild]:
    """One run of the function on a batch: the results' leaves for all examples, where they have
    the batch, and what nests them.
    """
    size = next(leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None)
    with batch_axis(int(size), randomness) as place:
        inside = [
            leaf if dim is None else enter(as_tensor(leaf), place=place, axis=dim)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        results, put = flatten(function(*rebuild(inside)))
        places = spread(out_dims, put(results), f"vmap({name}): out_dims and the results")
        outside = [
            _result(name, i, result, dim, place)
            for i, (result, dim) in enumerate(zip(results, places, strict=True))
        ]
    return outside, places, put


def _result(name: str, i: int, result: Any, dim: Any, place: BatchAxis) -> Tensor:
    if not isinstance(result, Tensor):
        raise ValueError(
            f"vmap({name}): the function must return tensors (nested in tuples, lists, dicts);"
            f" result {i} is {type(result).__name__}."
        )
    if any(not axis.open for axis in axes_of(result.array)):
        raise BatchingError(
            f"vmap({name}): result {i} belongs to the batch of another vmap that has ended."
        )
    if dim is None:
        if place in axes_of(result.array):
            raise ValueError(
                f"vmap({name}): result {i} differs between the examples, so its out_dims entry"
                " cannot be None."
            )
        return result
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ValueError(
            f"vmap({name}): out_dims holds {dim!r} for result {i}; an entry is an int or None."
        )
    if not -result.ndim - 1 <= dim <= result.ndim:
        raise ValueError(
            f"vmap({name}): out_dims asks for dimension {dim} of result {i}, which has shape"
            f" {result.shape} in each example."
        )
    out: Tensor = taken_out(result, place, dim % (result.ndim + 1))
    return out


def _in_chunks(
    run: Callable[[list[Any]], Any],
    leaves: list[Any],
    dims: list[int | None],
    size: int,
    chunk_size: int,
    randomness: str,
) -> Any:
    """The batch in parts of at most `chunk_size` examples, joined. With randomness="same" each
    part draws the same numbers.
    """
    parts = []
    before = functions.random_state()
    for start in range(0, size, chunk_size):
        if randomness == "same":
            functions.set_random_state(before)
        piece = slice(start, start + chunk_size)
        parts.append(
            run(
                [
                    leaf if d is None else as_tensor(leaf)[(slice(None),) * d + (piece,)]
                    for leaf, d in zip(leaves, dims, strict=True)
                ]
            )
        )
    _, places, put = parts[0]
    joined = [
        column[0] if dim is None else functions.cat(column, dim % column[0].ndim)
        for dim, column in zip(
            places, zip(*(results for results, _, _ in parts), strict=True), strict=True
        )
    ]
    return put(joined)
