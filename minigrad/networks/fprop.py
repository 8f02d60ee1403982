"""The operator K: a function becomes one that returns its result together with its own pullback.

MindSpore's formulation. For every function (an operation, or a whole network) there is a gradient
function

    bprop: dout → (df, dinputs)

where `dinputs` are the gradients of the inputs and `df` those of the **free variables**: what the
function uses without being given it, like the weights of a network. K maps f to fprop = K(f), which
returns (result, bprop). The total derivative of a variable v is the sum over its two ways into the
function:

    (result, bprop) = K(f)(inputs)
    df, dinputs = bprop(dout)
    v.d += df[v];  v.d += dinputs[i] for each input i that is v

`bprop` is a closure: it keeps the graph recorded while f ran, and starts one reverse pass through
it. Because bprop is a function of tensors, K applies to it in turn. That is how GradOperation nests
and how Jvp is made.

What happens outside f is not part of it: if an input was itself computed from w, df[w] counts only
what f does with w directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from .. import backend
from ..core.graph import OpNode, youngest_first
from ..core.tensor import Leaf, Tensor, current_node, wrap
from ..errors import NoGradientError, NonScalarError
from ..func.gradients import fitting, fresh, handed, outputs_of, pulled_or_none, released
from ..func.tree import matching
from ..functions import zeros_like
from ..grad_mode import enable_grad, is_grad_enabled


class FreeGradients:
    """The gradients `df` of the free variables: `df[w]` is that of the tensor w, and iterating
    gives (tensor, gradient) pairs.

    Tensors are told apart by identity, not by their values. Raises KeyError for a tensor that the
    function does not use.
    """

    def __init__(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        self._pairs = tuple(pairs)

    def __getitem__(self, variable: Tensor) -> Tensor:
        for tensor, gradient in self._pairs:
            if tensor is variable:
                return gradient
        raise KeyError(
            f"a tensor of shape {tuple(variable.shape)} is no free variable of this function."
        )

    def __contains__(self, variable: Tensor) -> bool:
        return any(tensor is variable for tensor, _ in self._pairs)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"FreeGradients({', '.join(f'{tuple(t.shape)}: {g!r}' for t, g in self._pairs)})"


class Recording:
    """One run of a function on fresh places for its inputs: all that a pullback needs to know.

    places: the tensors that stood for the inputs to differentiate by; flat: the outputs, with their
    history; value: what the caller gets, nested as the function returned it, without the history
    that leads only to our own places.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        positions: Sequence[int] | None,
        caller: str,
    ) -> None:
        """positions: the arguments to differentiate by (None: all that are tensors). Raises
        DTypeError for integers among them.
        """
        self.caller = caller
        self.positions = (
            [i for i, a in enumerate(args) if isinstance(a, Tensor)]
            if positions is None
            else list(positions)
        )
        self.places = [fresh(args[i], f"{caller}: input {i}") for i in self.positions]
        given = list(args)
        for i, place in zip(self.positions, handed(self.places), strict=True):
            given[i] = place
        with enable_grad():
            result = function(*given)
        self.flat, self.rebuild = outputs_of(result, caller)
        self.value = self.rebuild([released(out, self.places) for out in self.flat])

    def free_variables(self) -> list[Tensor]:
        """The tensors that require grad and that the function used without being given them, the
        oldest first.
        """
        own = {x.node for x in self.places}
        with _apart(self.places):
            leaves = [
                n for n in youngest_first(self._roots())[1] if isinstance(n, Leaf) and n not in own
            ]
        return [leaf.variable for leaf in sorted(leaves, key=attrgetter("sequence_number"))]

    def cotangents(self, dout: tuple[Any, ...]) -> list[Tensor]:
        """One cotangent for each output, ones where none are given. Raises ValueError or
        ShapeError where they do not fit.
        """
        if not dout:
            for out in self.flat:
                if out.dtype.kind == "c":
                    raise NonScalarError(
                        f"{self.caller}: an output is complex; without a cotangent only real"
                        " outputs have a gradient. Give one, or take .real or .abs() in the"
                        " function."
                    )
            return [wrap(backend.ones(out.shape, out.dtype, out.array)) for out in self.flat]
        given = matching(
            self.value,
            dout[0] if len(dout) == 1 else dout,
            f"{self.caller}: outputs and cotangents",
        )
        pairs = enumerate(zip(given, self.flat, strict=True))
        return [
            fitting(c, out, f"{self.caller}: the cotangent of output {i}", f"output {i}")
            for i, (c, out) in pairs
        ]

    def pull(
        self,
        cotangents: Sequence[Tensor],
        variables: Sequence[Tensor] = (),
        hidden: Sequence[Tensor] = (),
    ) -> tuple[list[Tensor], list[Tensor]]:
        """(gradients of the free `variables`, gradients of the places): one reverse pass, zeros
        where nothing arrives.

        The result can be differentiated in turn if recording is on and anything (besides the places
        and the `hidden` tensors) requires grad.
        """
        own = {x.node for x in (*self.places, *hidden)}
        outside = any(
            isinstance(n, Leaf) and n not in own for n in youngest_first(self._roots())[1]
        )
        live = is_grad_enabled() and (
            outside or any(current_node(c) is not None for c in cotangents)
        )
        for v in variables:
            current_node(v)  # a parameter's view updates its place if its base has changed
        with _apart(self.places):
            found = pulled_or_none(
                self.flat, cotangents, [*variables, *self.places], create_graph=live
            )
        full = [
            zeros_like(x) if g is None else g
            for x, g in zip([*variables, *self.places], found, strict=True)
        ]
        return full[: len(variables)], full[len(variables) :]

    def _roots(self) -> list[Any]:
        return [node for out in self.flat if (node := current_node(out)) is not None]


@contextmanager
def _apart(places: Sequence[Tensor]) -> Iterator[None]:
    """Cut the places from what they were copied from while a pass runs, so that it ends at the
    function's inputs.

    What the pass records hangs on the places, and is connected with the outside again as soon as
    they are.
    """
    copies = [x.node for x in places if type(x.node) is OpNode]
    parents = [node.parents for node in copies]
    for node in copies:
        node.parents = (None,) * len(node.parents)
    try:
        yield
    finally:
        for node, before in zip(copies, parents, strict=True):
            node.parents = before


def fprop(
    function: Callable[..., Any], variables: Sequence[Tensor] | None = None
) -> Callable[..., Any]:
    """K(function): a function of the same inputs that returns (result, bprop).

    bprop(dout) returns (df, dinputs): `df` maps each free variable to its gradient (`df[w]`),
    `dinputs` is a tuple with the gradient of each input that is a tensor. dout has the shape of the
    result, or is a tuple of such; without it, it is ones. bprop may be called
    again. variables: the free variables to differentiate by (default: all that the function used
    and that require grad).

    Other inputs than tensors pass through. Inputs are not changed, nor is their requires_grad.
    Raises DTypeError for inputs of integers, TypeError if the function returns something else than
    tensors, NoGradientError for a variable that does not require grad.
    """
    if not callable(function):
        raise TypeError(f"fprop: needs a function or a module, got {type(function).__name__}.")
    wanted = None if variables is None else checked_variables(variables, "fprop")

    def k(*inputs: Any) -> tuple[Any, Callable[..., tuple[FreeGradients, tuple[Tensor, ...]]]]:
        run = Recording(function, inputs, None, "fprop")

        def bprop(*dout: Any) -> tuple[FreeGradients, tuple[Tensor, ...]]:
            free = run.free_variables() if wanted is None else wanted
            df, dinputs = run.pull(run.cotangents(dout), free)
            return FreeGradients(list(zip(free, df, strict=True))), tuple(dinputs)

        return run.value, bprop

    return k


def checked_variables(variables: Sequence[Any], caller: str) -> list[Tensor]:
    """The variables as a list. Raises TypeError for what is no tensor, NoGradientError for a
    tensor that does not require grad.
    """
    for i, v in enumerate(variables):
        if not isinstance(v, Tensor):
            raise TypeError(f"{caller}: parameter {i} is {type(v).__name__}, not a Tensor.")
        if current_node(v) is None:
            raise NoGradientError(
                f"{caller}: parameter {i} (shape {v.shape}) does not require grad. Create it with"
                " requires_grad=True."
            )
    return list(variables)
