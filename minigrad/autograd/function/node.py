"""A Function's place in the graph, and its pull: the user's `backward`, with everything that can
be wrong about its results checked.

The engine expects of a vector-Jacobian product one gradient (or None) per argument, in the
argument's shape and dtype, in memory that nothing else uses.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...backend import NumpyArray, Shape, is_complex, zeros
from ...core import primitive
from ...core.graph import Node, state
from ...core.tensor import Tensor, current_node, make_pick, wrap
from ...errors import AutogradError, DTypeError, InPlaceError, NotDifferentiableError, ShapeError
from .context import FunctionCtx

if TYPE_CHECKING:
    from .function import Function


class _Strictness(threading.local):
    dtypes = False


strictness = _Strictness()
"""With `strictness.dtypes`, a gradient in another dtype than its argument's is an error instead
of being cast (gradcheck asks for that).
"""


class FunctionDeclaration:
    """A Function in the eyes of observers (profiler, Trace), with the attributes of an
    operation's declaration that they read.
    """

    kind = "function"
    elementwise = False
    variadic = True
    inputs: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()

    def __init__(self, name: str, doc: str | None) -> None:
        self.name = self.symbol = name
        self.__doc__ = doc

    def __repr__(self) -> str:
        return f"<Function {self.name}>"


class FunctionNode(Node):
    """The place of a Function's result (or, behind one Pick each, results) in the graph.

    shape, dtype: of the result, or tuples of them with None for results that are not
    differentiable; is_tensor: which arguments were tensors; saved_tangents: those of the saved
    tensors, if an argument carried some when the Function ran.
    """

    __slots__ = ("ctx", "function", "is_tensor", "several")

    shape: Any
    dtype: Any

    def __init__(
        self,
        function: type[Function],
        ctx: FunctionCtx,
        args: Sequence[Any],
        parents: tuple[Node | None, ...],
    ) -> None:
        super().__init__(parents=parents)
        self.function, self.ctx = function, ctx
        self.is_tensor = tuple(isinstance(a, Tensor) for a in args)
        self.picks = {}
        ctx._node = weakref.ref(self)

    def settle(self, outs: Sequence[Any], several: bool) -> None:
        """Note what the results look like."""
        shapes = tuple(tuple(o.array.shape) if isinstance(o, Tensor) else None for o in outs)
        dtypes = tuple(o.array.dtype if isinstance(o, Tensor) else None for o in outs)
        self.several = several
        self.shape, self.dtype = (shapes, dtypes) if several else (shapes[0], dtypes[0])

    def place(self, output: int) -> Node:
        """The graph place of one result."""
        return make_pick(self, output) if self.several else self

    @property
    def primitive(self) -> FunctionDeclaration:
        """What observers see in the place of an operation's declaration."""
        return self.function._declaration

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def __getattr__(self, name: str) -> Any:
        """PyTorch's grad_fn of a Function is its ctx: attributes (saved_tensors,
        needs_input_grad, your own) are found there.
        """
        if name.startswith("_") or name in FunctionNode.__slots__:
            raise AttributeError(name)
        return getattr(self.ctx, name)

    def pull(self, g: Any, needed: Any, on_tensors: bool) -> list[tuple[Node, Any]]:
        """The user's backward, on tensors: (parent, contribution) for each parent in `needed`.

        Raises where the result does not fit the arguments.
        """
        cotangents = self._cotangents(g if self.several else [g])
        counts = [None if t is None or t.version is None else t.version.count for t in cotangents]
        grads = self.function._backward_rule()(self.ctx, *cotangents)
        for t, before in zip(cotangents, counts, strict=True):
            if t is not None and t.version is not None and t.version.count != (before or 0):
                raise InPlaceError(
                    f"{self.function.__name__}.backward modified its incoming gradient in place,"
                    " which others may still need. Use the out-of-place form, or modify"
                    " grad_output.clone()."
                )
        grads = self._counted(grads)
        parts: list[tuple[Node, Any]] = []
        for position, (parent, grad) in enumerate(zip(self.parents, grads, strict=True)):
            if grad is None:
                continue
            if not isinstance(grad, Tensor):
                raise TypeError(
                    f"{self.function.__name__}.backward returned {type(grad).__name__} for argument"
                    f" {position}; return a Tensor or None."
                )
            if not self.is_tensor[position]:
                raise AutogradError(
                    f"{self.function.__name__}.backward returned a gradient for argument"
                    f" {position}, which was not a tensor. Return None in that place."
                )
            if parent is not None and parent in needed:
                parts.append((parent, self._contribution(position, parent, grad, g, on_tensors)))
        return parts

    def _cotangents(self, slots: Sequence[Any]) -> list[Tensor | None]:
        """One tensor per result; zeros (or None) for results that were not used."""
        known = next(s for s in slots if s is not None)
        like = known.array if isinstance(known, Tensor) else known
        out: list[Tensor | None] = []
        for index, slot in enumerate(slots):
            shape, dtype = (
                (self.shape[index], self.dtype[index]) if self.several else (self.shape, self.dtype)
            )
            if slot is not None:
                out.append(slot if isinstance(slot, Tensor) else wrap(slot))
            elif shape is None or not self.ctx._materialize:
                out.append(None)
            else:
                out.append(wrap(zeros(shape, dtype, like)))
        return out

    def _counted(self, grads: Any) -> tuple[Any, ...]:
        """One gradient per argument; PyTorch accepts more only if the rest is None."""
        given = grads if isinstance(grads, tuple) else (grads,)
        wanted = len(self.parents)
        if len(given) > wanted and all(extra is None for extra in given[wanted:]):
            given = given[:wanted]
        if len(given) != wanted:
            hint = (
                " It returned a list; return a tuple."
                if isinstance(grads, list)
                else " Return None where an argument has no gradient."
            )
            raise AutogradError(
                f"{self.function.__name__}.backward returned an incorrect number of gradients:"
                f" forward had {wanted} arguments, got {len(given)} gradients.{hint}"
            )
        return given

    def _contribution(
        self, position: int, parent: Node, grad: Tensor, g: Any, on_tensors: bool
    ) -> Any:
        """One gradient in the shape and dtype of its argument."""
        if grad.shape != parent.shape:
            if not _expands_to(parent.shape, grad.shape):
                raise ShapeError(
                    f"{self.function.__name__}.backward returned a gradient of shape {grad.shape}"
                    f" for argument {position} of shape {parent.shape}; they must be equal (or the"
                    " argument's shape must broadcast to the gradient's, which is then summed)."
                )
            grad = primitive.registry["sum_to"](grad, shape=parent.shape)
        if grad.dtype != parent.dtype:
            if strictness.dtypes:
                raise DTypeError(
                    f"{self.function.__name__}.backward returned a gradient of dtype {grad.dtype}"
                    f" for argument {position} of dtype {parent.dtype}."
                )
            if is_complex(grad.dtype) and not is_complex(parent.dtype):
                raise DTypeError(
                    f"{self.function.__name__}.backward returned a {grad.dtype} gradient for"
                    f" argument {position} of dtype {parent.dtype}; the gradient of a real tensor"
                    " is real. Return its real part: grad.real."
                )
            grad = primitive.registry["cast"](grad, dtype=parent.dtype)
        if on_tensors:
            if state.recording or current_node(grad) is None:
                return grad
            return wrap(grad.array, None, grad.tangents)
        if grad.tangents and any(level in state.levels for level in grad.tangents):
            raise NotDifferentiableError(
                f"{self.function.__name__}.backward used a tensor with a tangent that was neither"
                " an argument nor saved, so forward mode cannot pass. Give that tensor to apply()"
                " as an argument."
            )
        # A window, never the array itself, by which the engine sees that the memory is not its own:
        # it may be saved, or returned twice.
        if type(grad.array) is NumpyArray and grad.array is not g:
            return grad.array.view()
        return grad.array

    def release(self) -> None:
        """Let the saved tensors go (a Function that saved none can be walked again)."""
        if self.ctx._saved:
            self.ctx._saved = None
            self.saved_tangents = None


class SecondTimeNode(Node):
    """Stands behind a gradient whose rule was marked `once_differentiable`: it raises when it is
    differentiated."""

    __slots__ = ("function_name",)

    def __init__(self, function_name: str, parents: tuple[Node | None, ...], value: Tensor) -> None:
        super().__init__(parents=parents, shape=value.shape, dtype=value.dtype)
        self.function_name = function_name

    def name(self) -> str:
        return f"{self.function_name}OnceDifferentiableBackward"

    @property
    def primitive(self) -> FunctionDeclaration:
        """What observers see in the place of an operation's declaration."""
        return FunctionDeclaration(self.name(), "A gradient that cannot be differentiated again.")

    def pull(self, g: Any, needed: Any, on_tensors: bool) -> list[tuple[Node, Any]]:
        """Raises NotDifferentiableError."""
        raise NotDifferentiableError(
            "trying to differentiate twice a Function that was marked with @once_differentiable:"
            f" {self.function_name}.backward. Write its backward in tensor operations and remove"
            " the mark to get higher derivatives."
        )

    def release(self) -> None:
        """Nothing is kept."""


def _expands_to(shape: Shape, larger: Shape) -> bool:
    """Whether `shape` broadcasts to `larger`."""
    lead = len(larger) - len(shape)
    return lead >= 0 and all(a in (1, b) for a, b in zip(shape, larger[lead:], strict=True))
