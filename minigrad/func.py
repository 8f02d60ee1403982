"""Derivatives as functions of functions: grad, value_and_grad, vjp, jvp, freely nestable.

Each takes an ordinary function of tensors and returns a new function. Nesting works because each call differentiates by fresh inputs of its own: in reverse mode a new
place in the graph, in forward mode a new level. Names and conventions are those of torch.func.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import backend
from .engine.modes import enable_grad, forward_level
from .engine.record import history
from .engine.reverse import differentiate
from .errors import NonScalarError, ShapeError
from .functions import clone, zeros_like
from .graph import Leaf, reached_from
from .tensor import Tensor, as_tensor, make_leaf, wrap

Argnums = int | Sequence[int]


def grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar-valued function, as a function of the same arguments.

    argnums: which argument(s) to differentiate by (arguments may be nested lists, tuples, dicts of tensors); has_aux: the function returns (value, extras), and so does the gradient.
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def value_and_grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, but returns (gradient, value) turned round: (value, gradient)."""

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise ValueError(
                    f"grad: argnums={argnums} asks for argument {n}, but the function was called with {len(args)} positional arguments."
                )
        chosen = [args[n] for n in numbers]
        leaves, rebuild = flatten(chosen)
        inputs = [_fresh(x) for x in leaves]
        replaced = list(args)
        for n, value in zip(numbers, rebuild(inputs), strict=True):
            replaced[n] = value
        with enable_grad():
            result = function(*replaced, **kwargs)
        out, aux = result if has_aux else (result, None)
        if not isinstance(out, Tensor) or out.numel() != 1:
            shape = f"shape {out.shape}" if isinstance(out, Tensor) else type(out).__name__
            raise NonScalarError(
                f"grad: the function must return one number, got {shape}. Reduce it, or use vjp or jacrev for several outputs."
            )
        gradients = _pull(out, [wrap(backend.ones(out.shape, out.dtype, out.array))], inputs)
        returned = rebuild(gradients)
        value = _released(out, inputs)
        return ((value, aux) if has_aux else value), (returned[0] if isinstance(argnums, int) else tuple(returned))

    return both


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(outputs, pull): `pull(cotangents)` gives the vector-Jacobian products, one for each primal; it may be called again and again."""
    leaves, rebuild = flatten(list(primals))
    inputs = [_fresh(x) for x in leaves]
    with enable_grad():
        result = function(*rebuild(inputs))
    outputs, aux = result if has_aux else (result, None)
    flat, rebuild_outputs = flatten(outputs)

    def pull(*cotangents: Any) -> tuple[Any, ...]:
        given, _ = flatten(cotangents[0] if len(cotangents) == 1 else tuple(cotangents))
        if len(given) != len(flat):
            raise ValueError(f"vjp: the function has {len(flat)} outputs, got {len(given)} cotangents.")
        for i, (c, out) in enumerate(zip(given, flat, strict=True)):
            if c.shape != out.shape:
                raise ShapeError(f"vjp: cotangent {i} has shape {c.shape}, output {i} has {out.shape}; they must be equal.")
        return tuple(rebuild(_pull(flat, given, inputs)))

    values = rebuild_outputs([_released(out, inputs) for out in flat])
    return (values, pull, aux) if has_aux else (values, pull)


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """(outputs, J · tangents) in one forward pass. primals and tangents: sequences of equal structure, shapes and dtypes."""
    if not isinstance(primals, list | tuple) or not isinstance(tangents, list | tuple):
        raise TypeError("jvp: primals and tangents must be tuples, as in jvp(f, (x,), (v,)).")
    points, rebuild = flatten(list(primals))
    directions, _ = flatten(list(tangents))
    if len(points) != len(directions):
        raise ValueError(f"jvp: got {len(points)} primals and {len(directions)} tangents; give one for each.")
    with forward_level() as level:
        duals = []
        for i, (x, v) in enumerate(zip(points, directions, strict=True)):
            if x.shape != v.shape:
                raise ShapeError(f"jvp: primal {i} has shape {x.shape}, its tangent {v.shape}; they must be equal.")
            v = v if v.dtype == x.dtype else v.to(x.dtype)
            dual = clone(x)
            dual.tangents = {**(dual.tangents or {}), level: v}
            duals.append(dual)
        result = function(*rebuild(duals))
        outputs, aux = result if has_aux else (result, None)
        flat, rebuild_outputs = flatten(outputs)
        values, pushed = [], []
        for out in flat:
            tangent = (out.tangents or {}).get(level)
            lower = {k: t for k, t in (out.tangents or {}).items() if k != level}
            values.append(wrap(out.array, out.node, lower or None))
            pushed.append(zeros_like(out) if tangent is None else tangent)
    answer = rebuild_outputs(values), rebuild_outputs(pushed)
    return (*answer, aux) if has_aux else answer


# ------------------------------------------------------------------------------------------------------------------ helpers


def flatten(structure: Any) -> tuple[list[Tensor], Callable[[Sequence[Any]], Any]]:
    """The tensors (and numbers) of nested tuples, lists and dicts, and a function that puts others in their places."""
    if isinstance(structure, list | tuple):
        parts = [flatten(item) for item in structure]
        counts = [len(leaves) for leaves, _ in parts]

        def rebuild_sequence(values: Sequence[Any]) -> Any:
            items, start = [], 0
            for (_, rebuild), n in zip(parts, counts, strict=True):
                items.append(rebuild(values[start : start + n]))
                start += n
            return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)

        return [leaf for leaves, _ in parts for leaf in leaves], rebuild_sequence
    if isinstance(structure, dict):
        leaves, rebuild_values = flatten([structure[k] for k in structure])
        return leaves, lambda values: dict(zip(structure, rebuild_values(values), strict=True))
    return [as_tensor(structure)], lambda values: values[0]


def _fresh(x: Tensor) -> Tensor:
    """A new place in the graph for the value of x, connected to x where x itself is being differentiated."""
    with enable_grad():
        out = clone(x)
    if out.node is None:
        make_leaf(out)
        assert isinstance(out.node, Leaf)
        out.node.stores_grad = False
    return out


def _pull(outputs: Any, cotangents: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """Cotangents carried back to `inputs`; differentiable in turn if the outputs depend on anything else that requires grad."""
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    roots, seeds = [], []
    for out, c in zip(outs, cotangents, strict=True):
        node = history(out)
        if node is not None:
            roots.append(node)
            seeds.append(c if c.dtype == out.dtype else c.to(out.dtype))
    targets = [x.node for x in inputs if x.node is not None]
    own = set(targets)
    outer = any(isinstance(n, Leaf) and n not in own for n in reached_from(roots)) or any(c.node is not None for c in seeds)
    captured = differentiate(roots, seeds, targets=targets, accumulate=False, create_graph=outer, retain_graph=True)
    return [zeros_like(x) if x.node is None or x.node not in captured else captured[x.node] for x in inputs]


def _released(out: Tensor, inputs: list[Tensor]) -> Tensor:
    """The output without the history that leads only to our own fresh inputs."""
    node = history(out)
    own = {x.node for x in inputs}
    outer = node is not None and any(isinstance(n, Leaf) and n not in own for n in reached_from([node]))
    return out if outer else wrap(out.array, None, out.tangents)
