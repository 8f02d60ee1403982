"""jacobian, hessian, vjp, jvp, vhp, hvp of a function at given inputs: PyTorch's
torch.autograd.functional.

Each takes a function of tensors that returns a tensor or a tuple of tensors, and its inputs, a
tensor or a tuple of tensors. Tuples in give tuples out: a Jacobian of a tuple of outputs by a tuple
of inputs is a tuple of tuples, J[i][j] of shape outputs[i].shape + inputs[j].shape.

Two arguments appear everywhere. `create_graph`: the result can be differentiated in turn, by the
inputs and by whatever else requires grad. `strict`: an output that does not depend on the inputs,
or an input that the outputs do not depend on, is an error (UnusedInputError) and not a block of
zeros.

The inputs are never touched: the function gets tensors of its own, equal to them and requiring
grad. All of it is recorded, also where the caller is inside `no_grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import backend
from ..batching import per_example
from ..core.forward import forward_level
from ..core.graph import youngest_first
from ..core.tensor import Tensor, alias, current_node, make_leaf, wrap
from ..errors import (
    BatchingError,
    NonScalarError,
    NotDifferentiableError,
    ShapeError,
    UnusedInputError,
)
from ..func.gradients import (
    dual,
    fitting,
    handed,
    pulled,
    pulled_or_none,
    require_differentiable,
    split,
)
from ..func.jacobians import all_rows, column_blocks, row_blocks, unit_seeds
from ..func.vmap import vmap
from ..functions import clone, stack, zeros_like
from ..grad_mode import enable_grad

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]


@enable_grad()
def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool | None = None,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`.

    vectorize: True carries all rows (or columns) through one pass, False takes one pass for each,
    None (the default) one pass unless some operation cannot work on a batch. strategy:
    "reverse-mode" (row by row: few outputs), "forward-mode" (column by column: few inputs) or
    "auto", which runs `func` once more to compare the sizes. Complex outputs in reverse mode need
    vectorize=True: the rows are then pulls of 1, conjugate to the derivative. Raises TypeError
    naming the argument, UnusedInputError (strict), ValueError for an unknown strategy.
    """
    _check_function(func, "jacobian")
    single, points = _tensors(inputs, "inputs", "jacobian")
    _check_strategy("jacobian: strategy", strategy, ("reverse-mode", "forward-mode", "auto"))
    if strategy == "forward-mode":
        return _jacobian_forward(func, points, single, create_graph, strict, vectorize)
    own = _prepared(points, create_graph, "jacobian")
    single_out, outs = _outputs(func, own, "jacobian", strict)
    if strategy == "auto" and sum(o.numel() for o in outs) > sum(x.numel() for x in own):
        return _jacobian_forward(func, points, single, create_graph, strict, vectorize)
    if strict:
        _check_each_pair(outs, own, "jacobian")
        if vectorize:
            raise ValueError(
                "jacobian: strict=True looks at the rows one by one, so it does not go with"
                " vectorize=True. Leave one of them out."
            )
    if not vectorize and any(o.dtype.kind == "c" for o in outs):
        raise NonScalarError(
            "jacobian: the function returns complex tensors, and a gradient is defined for real"
            ' outputs. strategy="forward-mode" gives the derivative of a holomorphic function;'
            " vectorize=True gives the pulls of 1, which are its conjugate."
        )
    pull: Callable[..., Sequence[Tensor]] = lambda *seeds: pulled(outs, seeds, own, create_graph)
    rows = _at_each(lambda: all_rows(pull, outs), pull, outs, own, vectorize)
    blocks = row_blocks(rows, outs, own)
    return _nested(blocks, single_out, single, create_graph, strict)


@enable_grad()
def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool | None = None,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that returns one number: H[i][j] of shape inputs[i].shape +
    inputs[j].shape.

    The Jacobian of the gradient; outer_jacobian_strategy: the mode of that outer Jacobian,
    "reverse-mode" or "forward-mode". The other arguments are those of `jacobian`. Raises
    NonScalarError if the function returns more than one number.
    """
    _check_function(func, "hessian")
    single, points = _tensors(inputs, "inputs", "hessian")
    modes = ("reverse-mode", "forward-mode")
    _check_strategy("hessian: outer_jacobian_strategy", outer_jacobian_strategy, modes)
    for i, x in enumerate(points):
        require_differentiable(x, f"hessian: input {i}")

    def gradient(*outer: Tensor) -> Tensors:
        # the inputs of an outer Jacobian by forward mode are not
        tracked = all(x.node is not None for x in outer)
        own = outer if tracked else _prepared(outer, True, "hessian")
        single_out, outs = _outputs(func, own, "hessian", strict)
        out = _one_number(single_out, outs, "hessian")
        slopes = _slopes(out, own, "hessian", strict)
        if strict:
            _check_differentiable(slopes, "hessian: the gradient")
        return slopes

    blocks = jacobian(gradient, points, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks[0][0] if single else blocks


@enable_grad()
def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(outputs, vᵀ·J): the product of a vector with the Jacobian, in one reverse pass. v: of the
    outputs' shapes; may be left out if the function returns one number.
    """
    single, own = _begin(func, inputs, create_graph, "vjp")
    single_out, outs = _outputs(func, own, "vjp", strict)
    seeds = _direction(v, outs, single_out, "vjp", "the function returns")
    found = pulled_or_none(outs, seeds, own, create_graph)
    pulls = _filled(found, own, "vjp: the output", strict, create_graph)
    return _finished(outs, single_out, create_graph), _finished(pulls, single, create_graph)


@enable_grad()
def jvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
    strategy: str = "forward-mode",
) -> tuple[Any, Any]:
    """(outputs, J·v): the product of the Jacobian with a vector. v: of the inputs' shapes; may be
    left out if the input is one number.

    strategy: "forward-mode" pushes v through the function while it is computed. "double-backward"
    does it with two reverse passes: the pull is linear in its cotangent, and the pull of the pull
    is the push. It needs no push rules and costs about twice as much.
    """
    _check_strategy("jvp: strategy", strategy, ("forward-mode", "double-backward"))
    single, own = _begin(func, inputs, create_graph, "jvp")
    directions = _direction(v, own, single, "jvp", "the input is")
    if strategy == "forward-mode":
        single_out, outs, pushed = _pushed(func, own, directions, "jvp", strict)
    else:
        single_out, outs = _outputs(func, own, "jvp", strict)
        pushed = _double_backward(outs, own, directions, create_graph)
    if strict:
        _check_all_used(outs, own, "jvp", "output")
    pushes = _filled(pushed, outs, "jvp: the derivative", strict, create_graph, "output")
    return _finished(outs, single_out, create_graph), _finished(pushes, single_out, create_graph)


@enable_grad()
def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(output, vᵀ·H): the product of a vector with the Hessian of a function that returns one
    number, by reverse mode over reverse mode.
    """
    single, own = _begin(func, inputs, create_graph, "vhp")
    directions = _direction(v, own, single, "vhp", "the input is")
    single_out, outs = _outputs(func, own, "vhp", strict)
    slopes = _slopes(_one_number(single_out, outs, "vhp"), own, "vhp", strict)
    pulls = pulled_or_none(slopes, directions, own, create_graph)
    products = _filled(pulls, own, "vhp: the gradient", strict, create_graph)
    return _finished(outs, single_out, create_graph), _finished(products, single, create_graph)


@enable_grad()
def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(output, H·v): the product of the Hessian with a vector, by forward mode over reverse mode.

    The gradient is computed on dual numbers, and its tangent is the answer: about the price of two
    gradients. Where an operation has no push rule, two more reverse passes do it. Equal to `vhp`
    wherever the second derivatives are continuous.
    """
    single, own = _begin(func, inputs, create_graph, "hvp")
    directions = _direction(v, own, single, "hvp", "the input is")

    def gradient(record: bool, *x: Tensor) -> Tensors:
        single_out, outs = _outputs(func, x, "hvp", strict)
        out = _one_number(single_out, outs, "hvp")
        return (out, *_slopes(out, x, "hvp", strict, record))

    try:
        recorded = partial(gradient, create_graph or strict)
        _, results, pushed = _pushed(recorded, own, directions, "hvp")
    except NotDifferentiableError:
        results = gradient(True, *own)
        pushed = _double_backward(results, own, directions, create_graph)
    out, *slopes = results
    if strict:
        _check_all_used(slopes, own, "hvp", "gradient")
    products = _filled(pushed[1:], own, "hvp: the Hessian", strict, create_graph)
    return _finished([out], True, create_graph), _finished(products, single, create_graph)


# ------------------------------------------------------------------ what goes in and what comes out


def _begin(func: Any, inputs: Any, create_graph: bool, caller: str) -> tuple[bool, Tensors]:
    """(whether the input is a single tensor, the function's own inputs), after checks."""
    _check_function(func, caller)
    single, points = _tensors(inputs, "inputs", caller)
    return single, _prepared(points, create_graph, caller)


def _check_function(func: Any, name: str) -> None:
    if not callable(func):
        raise TypeError(
            f"{name}: the first argument must be a function, got {type(func).__name__}. Give the"
            " function and then its inputs."
        )


def _tensors(value: Any, argument: str, caller: str) -> tuple[bool, Tensors]:
    """(whether it was a single tensor, the tensors). Raises TypeError naming the argument and
    the element.
    """
    if isinstance(value, Tensor):
        return True, (value,)
    if not isinstance(value, tuple):
        raise TypeError(
            f"{caller}: {argument} must be a Tensor or a tuple of Tensors, got"
            f" {type(value).__name__}."
        )
    for i, x in enumerate(value):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{caller}: {argument} must be a Tensor or a tuple of Tensors; element {i} of the"
                f" tuple is {type(x).__name__}."
            )
    return False, value


def _check_strategy(what: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise ValueError(
            f"{what} must be one of {', '.join(repr(k) for k in known)}, got {given!r}."
        )


def _prepared(points: Tensors, create_graph: bool, caller: str) -> Tensors:
    """The function's own inputs: equal to the user's, requiring grad, connected to them if the
    result is to be differentiable.
    """
    own = []
    for i, x in enumerate(points):
        require_differentiable(x, f"{caller}: input {i}")
        current_node(x)
        if not create_graph:
            x = wrap(x.array, None, x.tangents)
        with enable_grad():
            inner = clone(per_example(x))
        if inner.node is None:
            make_leaf(inner)
        own.append(inner)
    return tuple(own)


def _outputs(func: Function, own: Tensors, caller: str, strict: bool) -> tuple[bool, Tensors]:
    """Run the function, recording. Raises TypeError for results that are no tensors,
    UnusedInputError (strict) for constant ones.
    """
    with enable_grad():
        single, outs = _tensors(func(*handed(own)), "the function's result", caller)
    for i, out in enumerate(outs):
        if strict and current_node(out) is None:
            raise UnusedInputError(
                f"{caller}: output {i} of the function does not require grad: it is not computed"
                f" from the inputs in a differentiable way. {NO_ZEROS}"
            )
    return single, outs


def _one_number(single: bool, outs: Tensors, caller: str) -> Tensor:
    if not single:
        raise NonScalarError(
            f"{caller}: the function must return a single Tensor, got a tuple of {len(outs)}."
        )
    (out,) = outs
    if out.numel() != 1:
        raise NonScalarError(
            f"{caller}: the function must return one number, got shape {out.shape}. Reduce it with"
            " .sum() or .mean()."
        )
    if out.dtype.kind == "c":
        raise NonScalarError(
            f"{caller}: the function must return a real number, got a complex one. Take .real or"
            " .abs() of it."
        )
    return out


def _direction(v: Any, like: Tensors, single: bool, caller: str, whose: str) -> Tensors:
    """The vector v as tensors like those it belongs to; a one where it is left out."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise NonScalarError(
                f"{caller}: v may be left out only if {whose} a single Tensor with a single"
                " element. Give a v of its shape."
            )
        if like[0].dtype.kind == "c":
            raise NonScalarError(
                f"{caller}: v may be left out only for real numbers; {whose} complex. Give a v."
            )
        return (wrap(backend.ones(like[0].shape, like[0].dtype, like[0].array)),)
    _, given = _tensors(v, "v", caller)
    if len(given) != len(like):
        wanted = "a single Tensor" if single else f"a tuple of {len(like)} Tensors"
        raise ShapeError(f"{caller}: v must be {wanted}, got {len(given)} Tensors.")
    return tuple(
        fitting(w, x, f"{caller}: v" if single else f"{caller}: v[{i}]", "what it belongs to")
        for i, (w, x) in enumerate(zip(given, like, strict=True))
    )


def _finished(results: Sequence[Tensor], single: bool, create_graph: bool) -> Any:
    """A tensor or a tuple, without history unless the user asked for it."""
    out = tuple(r if create_graph else _constant(r) for r in results)
    return out[0] if single else out


def _constant(x: Tensor) -> Tensor:
    """x without history; tangents of enclosing forward-mode derivatives stay."""
    current_node(x)
    out = alias(x)
    out.tangents = x.tangents
    return out


def _nested(
    blocks: list[list[Tensor]], single_out: bool, single_in: bool, create_graph: bool, strict: bool
) -> Any:
    if strict and create_graph:
        for row in blocks:
            _check_differentiable(row, "jacobian: the Jacobian")
    rows = tuple(_finished(row, single_in, create_graph) for row in blocks)
    return rows[0] if single_out else rows


# --------------------------------------------------------------------------------------- strictness


NO_ZEROS = "strict=True does not allow that; strict=False gives zeros."


def _dependence(outs: Sequence[Tensor], own: Tensors) -> list[list[bool]]:
    """[i][j]: whether output i was computed from input j."""
    reached = [
        set() if (node := current_node(out)) is None else youngest_first([node])[1] for out in outs
    ]
    return [[x.node in nodes for x in own] for nodes in reached]


def _check_each_pair(outs: Sequence[Tensor], own: Tensors, caller: str) -> None:
    """Raise UnusedInputError unless every output was computed from every input."""
    for i, row in enumerate(_dependence(outs, own)):
        for j, depends in enumerate(row):
            if not depends:
                raise UnusedInputError(
                    f"{caller}: output {i} of the function does not depend on input {j}. {NO_ZEROS}"
                )


def _check_all_used(outs: Sequence[Tensor], own: Tensors, caller: str, what: str) -> None:
    """Raise UnusedInputError if some output was computed from no input, or some input used for
    no output.
    """
    table = _dependence(outs, own)
    for i, row in enumerate(table):
        if not any(row):
            raise UnusedInputError(
                f"{caller}: {what} {i} does not depend on the inputs. {NO_ZEROS}"
            )
    for j in range(len(own)):
        if not any(row[j] for row in table):
            raise UnusedInputError(f"{caller}: no {what} depends on input {j}. {NO_ZEROS}")


def _filled(
    results: Sequence[Tensor | None],
    like: Sequence[Tensor],
    what: str,
    strict: bool,
    create_graph: bool,
    noun: str = "input",
) -> list[Tensor]:
    """Zeros for missing results, or errors where strict."""
    for i, r in enumerate(results):
        if strict and r is None:
            raise UnusedInputError(f"{what} does not depend on {noun} {i}. {NO_ZEROS}")
    filled = [zeros_like(x) if r is None else r for r, x in zip(results, like, strict=True)]
    if strict and create_graph:
        _check_differentiable(filled, f"{what}, differentiated,")
    return filled


def _check_differentiable(results: Sequence[Tensor], what: str) -> None:
    for i, r in enumerate(results):
        if current_node(r) is None:
            raise UnusedInputError(
                f"{what} by input {i} does not depend on the inputs, so it cannot be differentiated"
                f" further (a linear function has a constant derivative). {NO_ZEROS}"
            )


# ------------------------------------------------------------------------------------------- passes


def _slopes(out: Tensor, own: Tensors, caller: str, strict: bool, record: bool = True) -> Tensors:
    """The gradient of one number, differentiable in turn if `record`."""
    seed = wrap(backend.ones(out.shape, out.dtype, out.array))
    pulls = pulled_or_none([out], [seed], own, record)
    return tuple(_filled(pulls, own, f"{caller}: the output", strict, False))


def _pushed(
    func: Function, own: Tensors, directions: Sequence[Tensor], caller: str, strict: bool = False
) -> tuple[bool, Tensors, list[Tensor | None]]:
    """One forward pass: (whether the result is a single tensor, outputs, their tangents or
    None).
    """
    with forward_level() as level:
        duals = tuple(dual(x, v, level) for x, v in zip(own, directions, strict=True))
        single, outs = _outputs(func, duals, caller, strict)
        parts = [split(out, level) for out in outs]
    return single, tuple(value for value, _ in parts), [tangent for _, tangent in parts]


def _double_backward(
    outs: Tensors, own: Tensors, directions: Sequence[Tensor], create_graph: bool
) -> list[Tensor | None]:
    """J·v by two reverse passes: u ↦ Jᵀu is linear, and its pull at v is (Jᵀ)ᵀv."""
    cotangents = []
    for out in outs:
        u = zeros_like(out)
        make_leaf(u)
        cotangents.append(u)
    pulls = pulled_or_none(outs, cotangents, own, create_graph=True)
    known = [(p, v) for p, v in zip(pulls, directions, strict=True) if p is not None]
    return pulled_or_none([p for p, _ in known], [v for _, v in known], cotangents, create_graph)


def _at_each(
    all_at_once: Callable[[], Sequence[Tensor]],
    function: Callable[..., Sequence[Tensor]],
    of: Tensors,
    like: Tensors | None,
    vectorize: bool | None,
) -> Sequence[Tensor]:
    """`function` of each unit seed of the tensors, stacked: in one pass, or one by one."""
    if vectorize is not False:
        try:
            return all_at_once()
        except BatchingError:
            if vectorize:
                raise
    seeds = unit_seeds(of)
    parts = [function(*(s[i] for s in seeds)) for i in range(seeds[0].shape[0])]
    if not parts:
        return all_at_once() if like is None else [zeros_like(x)[None][:0] for x in like]
    return [stack(column) for column in zip(*parts, strict=True)]


def _jacobian_forward(
    func: Function,
    points: Tensors,
    single: bool,
    create_graph: bool,
    strict: bool,
    vectorize: bool | None,
) -> Any:
    own = tuple(wrap(x.array, None, x.tangents) for x in points)
    if create_graph or strict:
        own = _prepared(points, create_graph, "jacobian")
    seen: list[bool] = []

    def push(*tangents: Tensor) -> Tensors:
        single_out, outs, pushed = _pushed(func, own, tangents, "jacobian", strict)
        if strict:
            _check_each_pair(outs, own, "jacobian")
        seen[:] = [single_out]
        return tuple(zeros_like(o) if t is None else t for o, t in zip(outs, pushed, strict=True))

    columns = _at_each(lambda: vmap(push)(*unit_seeds(own)), push, own, None, vectorize)
    blocks = column_blocks(columns, own)
    return _nested(blocks, seen[0], single, create_graph, strict)
