"""A Function inside `vmap`.

Usually there is nothing to do: forward and backward run on tensors that hold a whole batch and look
like one example. A Function that leaves the tensors (for NumPy, say) brings its own rule: a static
method `vmap(info, in_dims, *args)`, which gets the arguments with the batch axis visible and
returns the result and where its batch axis lies. Source of the interface: PyTorch's
torch.autograd.Function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...batching import Batched
from ...batching.boundary import enter, leave, shared
from ...batching.value import axes_of, union
from ...core.graph import state
from ...core.tensor import Tensor, current_node
from ...errors import BatchingError

if TYPE_CHECKING:
    from .function import Function


class VmapInfo(NamedTuple):
    """What a Function's vmap rule is told: how many examples there are, and what random
    functions do ("error", "different", "same").
    """

    batch_size: int
    randomness: str


def is_batched(args: tuple[Any, ...]) -> bool:
    """Whether some argument differs between the examples of a running vmap."""
    return any(isinstance(a, Tensor) and type(a.array) is Batched for a in args)


def joined(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, those with a history from outside as members of the batch, so that their
    gradients are summed over the examples.
    """
    axes = union([a.array for a in args if isinstance(a, Tensor)])
    return tuple(
        shared(a, axes) if isinstance(a, Tensor) and current_node(a) is not None else a
        for a in args
    )


def run_rule(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """The user's vmap rule for the innermost batch axis. Raises BatchingError where it does not
    return (output, out_dims).
    """
    place = max(
        (axis for a in args if isinstance(a, Tensor) for axis in axes_of(a.array)),
        key=lambda axis: axis.number,
    )
    inside = [isinstance(a, Tensor) and place in axes_of(a.array) for a in args]
    opened = tuple(
        leave(a, place=place, axis=0) if i else a for a, i in zip(args, inside, strict=True)
    )
    outer, state.batches = state.batches, tuple(axis for axis in state.batches if axis is not place)
    try:
        answer = cls.vmap(
            VmapInfo(place.size, place.randomness), tuple(0 if i else None for i in inside), *opened
        )
    finally:
        state.batches = outer
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise BatchingError(
            f"{cls.__name__}.vmap must return (output, out_dims): the result and, for each output,"
            " where its batch axis is (or None)."
        )
    output, dims = answer
    single = not isinstance(output, tuple)
    wanted = 1 if single or not isinstance(dims, tuple) else len(output)
    given = dims if isinstance(dims, tuple) and not single else (dims,)
    if len(given) != wanted or not all(d is None or isinstance(d, int) for d in given):
        raise BatchingError(
            f"{cls.__name__}.vmap returned out_dims={dims!r} for"
            f" {'one output' if single else f'{len(output)} outputs'}; out_dims must be an int or"
            " None, or, with several outputs, a tuple of as many of them."
        )
    if single:
        return _entered(output, dims, place)
    dims = dims if isinstance(dims, tuple) else (dims,) * len(output)
    return tuple(_entered(o, d, place) for o, d in zip(output, dims, strict=True))


def _entered(output: Any, dim: int | None, place: Any) -> Any:
    """One output back in the batch."""
    if dim is None or not isinstance(output, Tensor):
        return output
    return enter(output, place=place, axis=dim % output.ndim)
