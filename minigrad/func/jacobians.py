"""jacrev, jacfwd, hessian: all rows, or all columns, of a Jacobian in one pass.

Row i of the Jacobian is the pull of the i-th unit cotangent, column j the push of the j-th unit
tangent. Instead of one pass for each, `vmap` carries the whole identity matrix through a single
pass: the function's own values are computed once, and each rule works on all seeds together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import backend
from ..batching import batch_axis, enter, taken_out
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import NonScalarError
from ..functions import reshape
from .gradients import Argnums, chosen, jvp, outputs_of, vjp, with_aux
from .tree import flatten
from .vmap import vmap


def jacrev(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian by reverse mode, as a function of the same arguments: cheap where there are
    fewer outputs than inputs.

    The result is nested as the function's outputs, each of them as the argument(s) of `argnums`;
    each block has the shape output.shape +
    input.shape. has_aux: the function returns (outputs, extras), and the new one (Jacobian,
    extras). chunk_size: carry at most so many rows at once. Raises NonScalarError for complex
    tensors.
    """

    @functools.wraps(function)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        points, partial, rebuild = chosen(function, argnums, args, kwargs, "jacrev")
        outputs, pull, aux = vjp(
            lambda *leaves: with_aux(partial(leaves), has_aux, "jacrev"), *points, has_aux=True
        )
        flat, rebuild_outputs = outputs_of(outputs, "jacrev")
        _need_outputs(flat, "jacrev")
        _refuse_complex("jacrev", [*map(as_tensor, points), *flat])
        rows = all_rows(lambda *seeds: pull(rebuild_outputs(seeds)), flat, chunk_size)
        blocks = rebuild_outputs(
            [rebuild(block) for block in row_blocks(rows, flat, [as_tensor(x) for x in points])]
        )
        return (blocks, aux) if has_aux else blocks

    return jacobian


def jacfwd(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian by forward mode: cheap where there are fewer inputs than outputs. Same result
    as `jacrev`; randomness: as in `vmap`.
    """

    @functools.wraps(function)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        points, partial, rebuild = chosen(function, argnums, args, kwargs, "jacfwd")
        inputs = tuple(as_tensor(x) for x in points)
        seen: list[Any] = []

        def push(*tangents: Any) -> Any:
            _, pushed, aux = jvp(
                lambda *leaves: with_aux(partial(leaves), has_aux, "jacfwd"),
                inputs,
                tangents,
                has_aux=True,
            )
            flat, rebuild_outputs = flatten(pushed)
            _need_outputs(flat, "jacfwd")
            _refuse_complex("jacfwd", [*inputs, *flat])
            extras, rebuild_aux = flatten(aux)
            seen[:] = [rebuild_outputs, extras, rebuild_aux]
            return tuple(flat), tuple(e for e in extras if isinstance(e, Tensor))

        columns, tensors = vmap(push, randomness=randomness, chunk_size=chunk_size)(
            *unit_seeds(inputs)
        )
        rebuild_outputs, extras, rebuild_aux = seen
        blocks = rebuild_outputs([rebuild(block) for block in column_blocks(columns, inputs)])
        if not has_aux:
            return blocks
        # extras do not depend on the tangents: those of the first column are those of all
        rest = iter(tensors)
        return blocks, rebuild_aux([next(rest)[0] if isinstance(e, Tensor) else e for e in extras])

    return jacobian


def hessian(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of a scalar-valued function: forward mode over reverse
    mode, all columns at once.
    """
    return jacfwd(jacrev(function, argnums), argnums)


# ------------------------------------------------------------------------------------------ helpers


def _need_outputs(outputs: Sequence[Any], caller: str) -> None:
    if not outputs:
        raise ValueError(
            f"{caller}: the function returned no tensors, so there is nothing to differentiate."
        )


def _refuse_complex(caller: str, tensors: Sequence[Tensor]) -> None:
    """The derivative of a complex function is a real 2x2 matrix for each pair of elements, and one
    complex number only if it is holomorphic.
    """
    if any(t.dtype.kind == "c" for t in tensors):
        raise NonScalarError(
            f"{caller}: complex inputs or outputs have no single Jacobian. Differentiate real and"
            " imaginary parts separately, use vjp or jvp, or, for a holomorphic function,"
            ' autograd.functional.jacobian(..., strategy="forward-mode").'
        )


def unit_seeds(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor (of n_i elements, n in total) its part of the identity matrix, of shape
    (n, *tensor.shape).
    """
    sizes = [math.prod(t.shape) for t in tensors]
    total, start, seeds = sum(sizes), 0, []
    for t, size in zip(tensors, sizes, strict=True):
        part = backend.identity_columns(total, start, size, t.dtype, t.array)
        seeds.append(wrap(part.reshape((total, *t.shape))))
        start += size
    return seeds


def all_rows(
    pull: Callable[..., Sequence[Tensor]], outputs: Sequence[Tensor], chunk_size: int | None = None
) -> list[Tensor]:
    """For each input the pulls of all unit cotangents, of shape (n, *input.shape)."""
    seeds = unit_seeds(outputs)
    if len(outputs) == 1 and seeds[0].shape[0] == 1:  # one number: an ordinary pass
        return [reshape(row, (1, *row.shape)) for row in pull(reshape(seeds[0], outputs[0].shape))]
    if chunk_size is not None:
        return list(vmap(lambda *s: tuple(pull(*s)), chunk_size=chunk_size)(*seeds))
    with batch_axis(
        seeds[0].shape[0]
    ) as place:  # what vmap does, without its looking into nested arguments
        return [
            taken_out(row, place, 0)
            for row in pull(*(enter(s, place=place, axis=0) for s in seeds))
        ]


def row_blocks(
    rows: Sequence[Tensor], outputs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[list[Tensor]]:
    """Rows cut by output: block [i][j] of shape outputs[i].shape + inputs[j].shape."""
    blocks, start = [], 0
    for out in outputs:
        stop = start + math.prod(out.shape)
        whole = len(outputs) == 1
        blocks.append(
            [
                reshape(r if whole else r[start:stop], (*out.shape, *x.shape))
                for r, x in zip(rows, inputs, strict=True)
            ]
        )
        start = stop
    return blocks


def column_blocks(columns: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """Columns (n, *output.shape) cut by input and turned: block [i][j] of shape outputs[i].shape
    + inputs[j].shape.
    """
    blocks = []
    for c in columns:
        row, start = [], 0
        turned = c.permute((*range(1, c.ndim), 0))
        for x in inputs:
            stop = start + math.prod(x.shape)
            row.append(
                reshape(
                    turned if len(inputs) == 1 else turned[..., start:stop],
                    (*c.shape[1:], *x.shape),
                )
            )
            start = stop
        blocks.append(row)
    return blocks
