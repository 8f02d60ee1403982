"""grad, value_and_grad, vjp, jvp, linearize: one derivative of a function, in either mode.

Nesting works because each call differentiates by fresh inputs of its own: in reverse mode a new
place in the graph, in forward mode a new level. Inside `vmap` the fresh inputs are members of the
batch, so that the derivative is one for each example.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import backend
from ..batching import per_example
from ..core.backward import differentiate
from ..core.forward import forward_level
from ..core.graph import Node, state, youngest_first
from ..core.tensor import Leaf, Tensor, as_tensor, current_node, make_leaf, wrap
from ..errors import DTypeError, NonScalarError, ShapeError
from ..functions import clone, zeros_like
from ..grad_mode import enable_grad
from .tree import Rebuild, flatten, matching

Argnums = int | Sequence[int]


def grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a scalar-valued function, as a function of the same arguments.

    argnums: which argument(s) to differentiate by (arguments may be nested lists, tuples, dicts of
    tensors); has_aux: the function returns (value, extras), and the new one (gradient, extras).
    Raises NonScalarError if the value is not one number, DTypeError for an argument of integers.
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def value_and_grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`, but the new function returns (value, gradient), or ((value, extras), gradient):
    JAX's name and order.
    """
    if not callable(function):
        raise TypeError(
            f"grad: the first argument must be a function, got {type(function).__name__}. Write"
            " grad(f)(x)."
        )
    _check_argnums(argnums, "grad")

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        points, partial, rebuild = chosen(function, argnums, args, kwargs, "grad")
        inputs = [fresh(x, "grad") for x in points]
        with enable_grad():
            result = partial(handed(inputs))
        out, aux = with_aux(result, has_aux, "grad")
        if not isinstance(out, Tensor) or out.numel() != 1:
            if not isinstance(out, Tensor):
                raise NonScalarError(
                    "grad: the function must return a tensor with one element, got"
                    f" {type(out).__name__}. Compute with tensors from the arguments to the result:"
                    " minigrad.sin, not math.sin; no .item(), float() or .numpy() on the way; and"
                    " do return it."
                )
            raise NonScalarError(
                f"grad: the function must return one number, got shape {out.shape}. Reduce it, or"
                " use vjp or jacrev for several outputs."
            )
        if out.dtype.kind == "c":
            raise NonScalarError(
                "grad: the function must return a real number, got a complex one. Take .real or"
                " .abs() of it, or use vjp."
            )
        seed = wrap(backend.ones(out.shape, out.dtype, out.array))
        gradients = pulled([out], [seed], inputs, free=not has_aux)  # extras may need the graph
        value = released(out, inputs)
        return ((value, _extras(aux, inputs)) if has_aux else value), rebuild(gradients)

    return both


def grad_and_value(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`, but the new function returns (gradient, value), or (gradient, (value, extras)):
    PyTorch's name and order.
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def reversed_pair(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return gradients, value

    return reversed_pair


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(outputs, pull): `pull(cotangents)` gives the vector-Jacobian products, a tuple of one for
    each primal; it may be called again and again.

    has_aux: the function returns (outputs, extras), and so (outputs, pull, extras) is returned.
    Raises ValueError or ShapeError where cotangents do not fit the outputs.
    """
    points, rebuild = flatten(primals)
    inputs = [fresh(x, "vjp") for x in points]
    with enable_grad():
        result = function(*rebuild(handed(inputs)))
    outputs, aux = with_aux(result, has_aux, "vjp")
    flat, rebuild_outputs = outputs_of(outputs, "vjp")
    values = rebuild_outputs([released(out, inputs) for out in flat])
    extras = _extras(aux, inputs)

    def pull(*cotangents: Any) -> Any:
        given = matching(
            values,
            cotangents[0] if len(cotangents) == 1 else cotangents,
            "vjp: outputs and cotangents",
        )
        seeds = [
            fitting(c, out, f"vjp: cotangent {i}", f"output {i}")
            for i, (c, out) in enumerate(zip(given, flat, strict=True))
        ]
        return rebuild(pulled(flat, seeds, inputs))

    return (values, pull, extras) if has_aux else (values, pull)


def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
) -> Any:
    """(outputs, J · tangents) in one forward pass.

    primals and tangents: tuples of equal structure and shapes; has_aux: the function returns
    (outputs, extras), and so (outputs, tangents, extras) is returned. The function gets copies of
    the primals: unlike in PyTorch, what it writes into them does not reach the caller's. Raises
    TypeError where they are not tuples, ValueError or ShapeError where they do not fit.
    """
    if not isinstance(primals, list | tuple) or not isinstance(tangents, list | tuple):
        raise TypeError("jvp: primals and tangents must be tuples, as in jvp(f, (x,), (v,)).")
    leaves, rebuild = flatten(primals)
    points = [as_tensor(x) for x in leaves]
    directions = [
        fitting(v, x, f"jvp: tangent {i}", f"primal {i}")
        for i, (v, x) in enumerate(
            zip(matching(primals, tangents, "jvp: primals and tangents"), points, strict=True)
        )
    ]
    for i, x in enumerate(points):
        require_differentiable(x, f"jvp: primal {i}")
    with forward_level() as level:
        duals = [dual(x, v, level) for x, v in zip(points, directions, strict=True)]
        outputs, aux = with_aux(function(*rebuild(duals)), has_aux, "jvp")
        flat, rebuild_outputs = outputs_of(outputs, "jvp")
        parts = [split(out, level) for out in flat]
        values = [value for value, _ in parts]
        pushed = [zeros_like(value) if t is None else t for value, t in parts]
        extras, rebuild_aux = flatten(aux)
        aux = rebuild_aux([split(e, level)[0] if isinstance(e, Tensor) else e for e in extras])
    answer = rebuild_outputs(values), rebuild_outputs(pushed)
    return (*answer, aux) if has_aux else answer


def linearize(function: Callable[..., Any], *primals: Any) -> Any:
    """(outputs, push): `push(*tangents)` gives J · tangents without running the function again;
    useful for many tangents at one point.

    The pull is a linear function of the cotangent, recorded once; its own pull is the push (the
    transpose of the transpose, "the double-backward trick").
    """
    points, rebuild = flatten(primals)
    inputs = [fresh(x, "linearize") for x in points]
    with enable_grad():
        flat, rebuild_outputs = outputs_of(function(*rebuild(handed(inputs))), "linearize")
    cotangents = [fresh(zeros_like(out), "linearize: a result") for out in flat]
    pulls = pulled(flat, cotangents, inputs, create_graph=True)

    def push(*tangents: Any) -> Any:
        given = matching(primals, tangents, "linearize: primals and tangents")
        directions = [
            fitting(v, x, f"linearize: tangent {i}", f"primal {i}")
            for i, (v, x) in enumerate(zip(given, inputs, strict=True))
        ]
        return rebuild_outputs(pulled(pulls, directions, cotangents, hidden=inputs))

    return rebuild_outputs([released(out, inputs) for out in flat]), push


# ------------------------------------------------------------------------------------------ helpers


def dual(x: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A copy of x that carries a tangent at `level`."""
    made = clone(x)
    made.tangents = {**(made.tangents or {}), level: tangent}
    return made


def split(x: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """x without its tangent at `level`, and a copy of that tangent: x + 1 and x have one tangent,
    so the caller's direction or two results may share it."""
    current_node(x)  # a view's tangents may have to be derived again
    lower = {k: t for k, t in (x.tangents or {}).items() if k != level}
    tangent = (x.tangents or {}).get(level)
    if tangent is not None:
        tangent = wrap(tangent.array.copy(), current_node(tangent), tangent.tangents)
    return wrap(x.array, x.node, lower or None), tangent


def _extras(aux: Any, inputs: list[Tensor]) -> Any:
    """Extras without the history that leads only to our own fresh inputs."""
    leaves, rebuild = flatten(aux)
    return rebuild([released(e, inputs) if isinstance(e, Tensor) else e for e in leaves])


def chosen(
    function: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    caller: str,
) -> tuple[list[Any], Callable[[Sequence[Any]], Any], Rebuild]:
    """The leaves of the arguments that `argnums` names, the function of these leaves alone, and
    what puts derivatives into their places.
    """
    _check_argnums(argnums, caller)
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{caller}: argnums={argnums} asks for argument {n}, but the function was called"
                f" with {len(args)} positional arguments."
            )
    if len({n % len(args) for n in numbers}) != len(numbers):
        raise ValueError(f"{caller}: argnums={argnums} names an argument twice.")
    picked = tuple(args[n] for n in numbers)
    leaves, rebuild = flatten(picked[0] if isinstance(argnums, int) else picked)

    def partial(values: Sequence[Any]) -> Any:
        replaced, put = list(args), rebuild(values)
        for n, value in zip(numbers, (put,) if isinstance(argnums, int) else put, strict=True):
            replaced[n] = value
        return function(*replaced, **kwargs)

    return leaves, partial, rebuild


def _check_argnums(argnums: Any, caller: str) -> None:
    """Raise TypeError unless these are numbers of arguments, ValueError for none."""
    if not isinstance(argnums, int) and not (
        isinstance(argnums, Sequence) and all(isinstance(n, int) for n in argnums)
    ):
        raise TypeError(
            f"{caller}: argnums must be an int or a tuple of ints, got {argnums!r}. {caller}(f)"
            f" makes a function, which is then called: {caller}(f)(x)."
        )
    if argnums == () or argnums == []:
        raise ValueError(
            f"{caller}: argnums is empty; name at least one argument to differentiate with"
            " respect to."
        )


def with_aux(result: Any, has_aux: bool, caller: str) -> tuple[Any, Any]:
    """(outputs, extras) of a function's result."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{caller}: with has_aux=True the function must return a pair (outputs, extras), got"
            f" {type(result).__name__}."
        )
    return result


def outputs_of(outputs: Any, caller: str) -> tuple[list[Tensor], Rebuild]:
    """The tensors that a function returned. Raises TypeError for anything else."""
    flat, rebuild = flatten(outputs)
    for i, out in enumerate(flat):
        if not isinstance(out, Tensor):
            raise TypeError(
                f"{caller}: the function must return tensors (nested in tuples, lists, dicts);"
                f" result {i} is {type(out).__name__}."
            )
    return flat, rebuild


def fitting(v: Any, x: Tensor, what: str, whom: str) -> Tensor:
    """v as a tensor of x's shape and dtype. Raises ShapeError or DTypeError."""
    v = as_tensor(v)
    if v.shape != x.shape:
        raise ShapeError(f"{what} has shape {v.shape}, {whom} has {x.shape}; they must be equal.")
    if v.dtype == x.dtype:
        out: Tensor = v
        return out
    if v.dtype.kind == "c" and x.dtype.kind != "c":
        raise DTypeError(f"{what} is complex, {whom} is {x.dtype}.")
    out = v.to(x.dtype)
    return out


def require_differentiable(x: Tensor, what: str) -> None:
    """Raise DTypeError for integers and booleans."""
    if not backend.is_differentiable(x.dtype):
        raise DTypeError(
            f"{what} has dtype {x.dtype}; only floating and complex tensors have derivatives."
            " Convert it first: x.float()."
        )


def fresh(x: Any, caller: str) -> Tensor:
    """A new place in the graph for the value of x, connected to x where x itself is being
    differentiated, and a member of every running vmap's batch.
    """
    x = as_tensor(x)
    require_differentiable(x, f"{caller}: an argument to differentiate with respect to")
    with enable_grad():
        out: Tensor = clone(per_example(x))
    if out.node is None:
        make_leaf(out)
        assert isinstance(out.node, Leaf)
        out.node.stores_grad = False
    return out


def handed(inputs: Iterable[Tensor]) -> list[Tensor]:
    """What a function gets for its inputs: other tensors on their memory, so that one that it
    writes in place gets another node, and the input keeps the one at which its gradient arrives.
    (A leaf refuses to be written to.)
    """
    return [x if isinstance(x.node, Leaf) else wrap(x.array, x.node, x.tangents) for x in inputs]


def pulled(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    inputs: Sequence[Tensor],
    create_graph: bool | None = None,
    hidden: Sequence[Tensor] = (),
    free: bool = False,
) -> list[Tensor]:
    """Cotangents carried back to `inputs`, zeros where nothing arrives.

    create_graph: whether the result is differentiable in turn; None: if the outputs, or tangents
    on the path to them, depend on anything else that requires grad, besides the `hidden` tensors,
    and recording is on: a derivative taken inside `no_grad` is a constant to
    what is around it. free: whether the pass frees the saved values where the result is constant.
    """
    reached = pulled_or_none(outputs, cotangents, inputs, create_graph, hidden, free)
    return [zeros_like(x) if g is None else g for x, g in zip(inputs, reached, strict=True)]


def pulled_or_none(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    inputs: Sequence[Tensor],
    create_graph: bool | None = None,
    hidden: Sequence[Tensor] = (),
    free: bool = False,
) -> list[Tensor | None]:
    """As `pulled`, with None where the outputs do not depend on an input."""
    roots, seeds = [], []
    for out, c in zip(outputs, cotangents, strict=True):
        node = current_node(out)
        if node is not None:
            roots.append(node)
            seeds.append(c)
    targets = [x.node for x in inputs if x.node is not None]
    if create_graph is None and not state.recording:
        create_graph = False
    elif create_graph is None:
        own = {*targets, *(x.node for x in hidden)}
        create_graph = any(
            _is_variable(n) and n not in own for n in _history(outputs)
        ) or _recorded(seeds)
    captured = differentiate(
        roots,
        seeds,
        targets=targets,
        accumulate=False,
        create_graph=create_graph,
        retain_graph=bool(create_graph or not free),
    )
    found = [None if x.node is None else captured.get(x.node) for x in inputs]
    return found if create_graph else _in_own_memory(found, seeds)


def _in_own_memory(results: list[Tensor | None], seeds: list[Tensor]) -> list[Tensor | None]:
    """Copies of results that share memory with a cotangent, or with one another."""
    seen = {id(getattr(c.array, "array", c.array)) for c in seeds}
    own: list[Tensor | None] = []
    for g in results:
        if g is not None and not backend.is_immutable(g.array):
            array: Any = getattr(g.array, "array", g.array)  # of a batched value
            if array.base is not None or id(array) in seen or not backend.is_writable(array):
                g = wrap(g.array.copy(), None, g.tangents)
            else:
                seen.add(id(array))
        own.append(g)
    return own


def released(out: Tensor, inputs: list[Tensor]) -> Tensor:
    """The output, and its tangents, without the history that leads only to our own fresh inputs;
    inside `no_grad` without any.
    """
    node = current_node(out)
    own = {x.node for x in inputs}
    outer = (
        state.recording
        and node is not None
        and any(_is_variable(n) and n not in own for n in youngest_first([node])[1])
    )
    if outer:
        return out
    tangents = {level: released(t, inputs) for level, t in (out.tangents or {}).items()}
    return wrap(out.array, None, tangents or None)


def _is_variable(node: Node) -> bool:
    """Whether this is a leaf, but not the fresh input of a derivative that has been taken."""
    return isinstance(node, Leaf) and (node.stores_grad or node.tensor() is not None)


def _recorded(values: Iterable[Tensor]) -> bool:
    """Whether any of these tensors, or of their tangents, has a node."""
    return any(x.node is not None or any(_nodes_in(x.tangents)) for x in values)


def _nodes_in(tangents: Any) -> Iterator[Node]:
    """The nodes of tangents: by level of one tensor, or nested tuples of these."""
    if isinstance(tangents, dict):
        for t in tangents.values():
            if t.node is not None:
                yield t.node
            yield from _nodes_in(t.tangents)
    else:
        for part in tangents or ():
            yield from _nodes_in(part)


def _history(outputs: Sequence[Tensor]) -> list[Node]:
    """The nodes that the outputs were computed from, and those that their tangents, and the
    tangents of saved values, were computed from; the youngest first.
    """
    roots = {node for out in outputs if (node := current_node(out)) is not None}
    roots.update(*[_nodes_in(out.tangents) for out in outputs])
    while True:
        order, reached = youngest_first(roots)
        known = [node.saved_tangents for node in order if node.saved_tangents]
        found = set(_nodes_in(tuple(known))) - reached
        if not found:
            return order
        roots |= found
