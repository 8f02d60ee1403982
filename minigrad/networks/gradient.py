"""GradOperation: MindSpore's way to say which gradients of a function are wanted.

    grad = GradOperation(get_all=True)       what is wanted
    grad(net)                                a function: the gradient of net
    grad(net)(x, y)                          its value at (x, y): (∂net/∂x, ∂net/∂y)

It is a choice from what `fprop` gives: (df, dinputs) = bprop(dout).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor, current_node
from ..func.gradients import require_differentiable
from .fprop import Recording, checked_variables

ParameterTuple = tuple  # type: ignore[type-arg]
"""MindSpore's name for several parameters; any sequence of tensors will do."""


class GradOperation:
    """A higher-order function: called with a function or Module, it returns the function that
    computes its gradient.

    get_all: the gradients of all inputs that are tensors, as a tuple (False: of the first input
    alone).
    get_by_list: the gradients of the parameters that are given as second argument (default, for a
    Module: all its parameters), as a tuple, or as one gradient if one parameter is given. With
    get_all as well: the pair (those of the inputs, those of the parameters).
    sens_param: the gradient function takes the cotangent of the output as one more argument, the
    last (or by keyword, `sens=`); a tuple of cotangents for a function with several outputs.
    Without it the cotangent is ones: the gradient of the sum of all outputs.

    A parameter that is also handed in as an input is one variable: its gradient in the list is the
    sum of both ways. Parameters without influence have zero gradients. Inputs that are no tensors
    pass through and have no entry. The result can itself be differentiated; inside `no_grad` one
    ordinary pass computes the numbers alone.
    Source: MindSpore's ops.GradOperation.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        for name, value in (
            ("get_all", get_all),
            ("get_by_list", get_by_list),
            ("sens_param", sens_param),
        ):
            if not isinstance(value, bool):
                raise TypeError(f"GradOperation: {name} must be True or False, got {value!r}.")
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __repr__(self) -> str:
        return (
            f"GradOperation(get_all={self.get_all}, get_by_list={self.get_by_list},"
            f" sens_param={self.sens_param})"
        )

    def __call__(self, function: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        """The gradient function of `function`.

        Raises TypeError if that is not callable or if parameters are given (or missing) against
        `get_by_list`, NoGradientError for a parameter that does not require grad. The gradient
        function raises TypeError or DTypeError for inputs without a derivative, and ShapeError or
        ValueError for a cotangent that does not fit.
        """
        if not callable(function):
            raise TypeError(
                f"GradOperation: needs a function or a Module, got {type(function).__name__}."
            )
        parameters = self._parameters(function, weights)
        single = isinstance(weights, Tensor)

        def gradient(*inputs: Any, **options: Any) -> Any:
            inputs, dout = self._cotangent(inputs, options)
            run = Recording(
                lambda *xs: function(*xs, **options),
                inputs,
                self._positions(inputs),
                "GradOperation",
            )
            df, dinputs = run.pull(run.cotangents(dout), parameters)
            if not self.get_by_list:
                return tuple(dinputs) if self.get_all else dinputs[0]
            by_list = tuple(
                _total(p, d, inputs, run.positions, dinputs)
                for p, d in zip(parameters, df, strict=True)
            )
            answer = by_list[0] if single else by_list
            return (tuple(dinputs), answer) if self.get_all else answer

        return gradient

    def _parameters(self, function: Any, weights: Any) -> list[Tensor]:
        if not self.get_by_list:
            if weights is not None:
                raise TypeError(
                    "GradOperation: parameters were given, but get_by_list is False. Write"
                    " GradOperation(get_by_list=True)."
                )
            return []
        if weights is None:
            if not hasattr(function, "parameters"):
                raise TypeError(
                    "GradOperation: get_by_list=True needs the parameters as second argument:"
                    " grad(function, [w, b])."
                )
            weights = [p for p in function.parameters() if p.node is not None]
        elif isinstance(weights, Tensor):
            weights = [weights]
        elif not isinstance(weights, Sequence):
            weights = list(weights)
        return checked_variables(weights, "GradOperation")

    def _cotangent(
        self, inputs: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The inputs without the cotangent, and the cotangent (an empty tuple: ones)."""
        if not self.sens_param:
            return inputs, ()
        if "sens" in options:
            return inputs, (options.pop("sens"),)
        if not inputs:
            raise TypeError(
                "GradOperation: sens_param=True needs the output's cotangent as last argument."
            )
        return inputs[:-1], (inputs[-1],)

    def _positions(self, inputs: tuple[Any, ...]) -> list[int]:
        """Which inputs to differentiate by."""
        tensors = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        # those with a history of their own, which is not to be counted as the function's
        if self.get_by_list and not self.get_all:
            return [i for i in tensors if current_node(inputs[i]) is not None]
        if self.get_all:
            wanted = tensors
        elif not inputs or not isinstance(inputs[0], Tensor):
            what = type(inputs[0]).__name__ if inputs else "nothing"
            raise TypeError(
                f"GradOperation: the first input must be a tensor with a derivative, got {what}."
                " Use get_all=True for the gradients of all inputs that are tensors."
            )
        else:
            wanted = [0]
        for i in wanted:
            require_differentiable(inputs[i], f"GradOperation: input {i}")
        return wanted


def _total(
    parameter: Tensor,
    df: Tensor,
    inputs: tuple[Any, ...],
    positions: list[int],
    dinputs: list[Tensor],
) -> Tensor:
    """The gradient of a parameter as a free variable, plus that of each input which is the same
    tensor.
    """
    for i, d in zip(positions, dinputs, strict=True):
        if inputs[i] is parameter:
            df = df + d
    return df
