"""`backward` and `grad`: the two entry points to reverse mode. They check what they were given and
start the engine's one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import backend
from ..batching import batch_axis, check_leaves, check_per_example, enter, taken_out
from ..core.backward import differentiate, root_and_seed
from ..core.graph import Node, youngest_first
from ..core.tensor import Leaf, Tensor, add_to_grad, current_node, make_pick, wrap
from ..errors import AutogradError, NoGradientError, UnusedInputError
from ..functions import zeros_like
from .edges import GradientEdge


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> list[tuple[Tensor, Tensor]]:
    """Add the gradients of `tensors` to the `.grad` of the leaves that they were computed from.

    tensors: a tensor or a sequence; grad_tensors: for each the cotangent, of its shape (None for
    one-element tensors: a one);
    retain_graph: keep the saved values for another pass (default: as create_graph); create_graph:
    make the gradients differentiable;
    inputs: only these get a gradient. Returns the (tensor, gradient) pairs of this pass in the
    order in which they became final, so that SINGA's `for p, g in autograd.backward(loss):
    sgd.update(p, g)` works. Raises NoGradientError if a tensor has no history, NonScalarError if a
    cotangent is missing, ShapeError if one does not fit, GraphFreedError, InPlaceError.
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise TypeError(
                "backward: grad_variables is the old name of grad_tensors; give one of them."
            )
        grad_tensors = grad_variables
    stored: list[tuple[Tensor, Tensor]] = []
    run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, stored)
    return stored


def run_backward(
    tensors: Any,
    grad_tensors: Any,
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Any,
    stored: list[tuple[Tensor, Tensor]] | None,
) -> None:
    """As `backward`; the pairs go into `stored`. None: they are not needed, and no gradient
    is copied for them."""
    outputs = as_sequence(tensors, "tensors")
    roots, seeds = _roots(outputs, _cotangents(grad_tensors, len(outputs)), "backward")
    targets: list[Node] | None = None
    if inputs is not None:
        wanted = as_sequence(inputs, "inputs")
        if not wanted:
            raise AutogradError(
                "backward: `inputs` cannot be empty; leave it out to reach all leaves."
            )
        targets = [_target(x, i, "backward") for i, x in enumerate(wanted)]
    keep = create_graph if retain_graph is None else retain_graph
    check_leaves([out.array for out in outputs], roots, targets)
    captured = differentiate(
        roots, seeds, targets=targets, create_graph=create_graph, retain_graph=keep, stored=stored
    )
    if inputs is not None:
        for node, x in dict(zip(targets or [], wanted, strict=True)).items():
            retained = None if node.retained is None else node.retained()
            # the engine stores gradients of leaves, and of tensors that retain theirs
            if node.parents and node in captured and retained is not x:
                add_to_grad(x, captured[node], create_graph, stored)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, returned and not accumulated (unless
    only_inputs is False: then other leaves' `.grad` grows as well): a tuple, or where `inputs` is a
    dictionary one with the same keys.

    Tensors may be replaced by GradientEdges.
    grad_outputs: a cotangent for each output; allow_unused: None instead of an error for an input
    that the outputs do not depend on;
    materialize_grads: zeros instead. Raises UnusedInputError, NoGradientError, NonScalarError,
    ShapeError, GraphFreedError, InPlaceError.
    """
    if isinstance(inputs, dict):
        how = grad_outputs, retain_graph, create_graph, only_inputs, allow_unused
        named = tuple(_values(inputs, "inputs"))
        found = grad(outputs, named, *how, is_grads_batched, materialize_grads)
        return dict(zip(inputs, found, strict=True))
    outs = as_sequence(outputs, "outputs")
    given = inputs if isinstance(inputs, list | tuple) else [inputs]
    edges = {i for i, x in enumerate(given) if isinstance(x, GradientEdge)}
    ins = as_sequence(inputs, "inputs")
    if not ins:
        raise AutogradError(
            "grad: `inputs` cannot be empty; name the tensors whose gradients you want."
        )
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True needs allow_unused to be True or left out.")
    cotangents = _cotangents(grad_outputs, len(outs))
    if is_grads_batched:
        options = retain_graph, create_graph, allow_unused, materialize_grads
        return _batched_grad(outs, ins, cotangents, *options)
    roots, seeds = _roots(outs, cotangents, "grad")
    targets = [_target(x, i, "grad") for i, x in enumerate(ins)]
    keep = create_graph if retain_graph is None else retain_graph
    graph = {"create_graph": create_graph, "retain_graph": keep}
    if only_inputs:
        captured = differentiate(roots, seeds, targets=targets, accumulate=False, **graph)
    else:
        captured = _with_other_leaves(roots, seeds, targets, create_graph, keep)
    results: list[Tensor | None] = []
    for i, (x, node) in enumerate(zip(ins, targets, strict=True)):
        g = captured.get(node)
        if g is not None:
            for out in outs:
                check_per_example(out.array, x.array, "grad", f"input {i}")
            if not create_graph and _shares_a_seed(g, seeds, captured, node):
                g = wrap(backend.as_payload(g.array), None, g.tangents)
        elif materialize_grads:
            g = _zeros(x, i, i in edges, create_graph)
        elif not allow_unused:
            raise UnusedInputError(
                f"grad: input {i} (shape {x.shape}) was not used to compute the outputs (or was"
                " modified in place since). Set allow_unused=True to get None for it, or"
                " materialize_grads=True to get zeros."
            )
        results.append(g)
    return tuple(results)


def _zeros(x: Tensor, number: int, is_edge: bool, create_graph: bool) -> Tensor:
    """The gradient by an input that was not used, for materialize_grads=True."""
    if is_edge:
        raise AutogradError(
            f"grad: input {number} is a GradientEdge that was not used, and"
            " materialize_grads=True cannot make zeros for it, since it does not say"
            " on which device. Give the tensor itself, or take None with"
            " allow_unused=True."
        )
    made = zeros_like(x)
    if create_graph:
        made.requires_grad_()  # so that it can be differentiated again, as the others
    return made


def _batched_grad(
    outs: Any,
    ins: Any,
    cotangents: list[Any],
    retain: bool | None,
    create: bool,
    unused: bool | None,
    zeros: bool,
) -> tuple[Any, ...]:
    """All cotangents of a batch (dimension 0 of each grad_output) in one pass."""
    sizes = {c.shape[0] if isinstance(c, Tensor) and c.ndim else -1 for c in cotangents}
    if len(sizes) != 1 or -1 in sizes:
        raise ValueError(
            "grad: with is_grads_batched=True every grad_output must be a Tensor, and their first"
            " dimensions must have one size."
        )
    with batch_axis(sizes.pop()) as place:
        seeds = [enter(c, place=place, axis=0) for c in cotangents]
        results = grad(
            outs, ins, seeds, retain, create, allow_unused=unused, materialize_grads=zeros
        )
        return tuple(None if g is None else taken_out(g, place, 0) for g in results)


def _shares_a_seed(
    g: Tensor, seeds: Sequence[Tensor], captured: dict[Node, Tensor], node: Node
) -> bool:
    """Whether a result shares another's array: a seed's, a window into another, or that of another
    result."""
    array = g.array
    if backend.is_immutable(array):
        return False
    return (
        not backend.owns_fresh_memory(array)
        or any(array is s.array for s in seeds)
        or any(n is not node and c.array is array for n, c in captured.items())
    )


def _with_other_leaves(
    roots: Any, seeds: Any, targets: list[Node], create_graph: bool, keep: bool
) -> dict[Node, Tensor]:
    """only_inputs=False: one pass for the inputs, one that adds to the other leaves' `.grad`."""
    again = {"create_graph": create_graph, "retain_graph": True}
    captured = differentiate(roots, seeds, targets=targets, accumulate=False, **again)
    others = [n for n in youngest_first(list(roots))[1] if isinstance(n, Leaf) and n not in targets]
    differentiate(roots, seeds, targets=others, create_graph=create_graph, retain_graph=keep)
    return captured


def as_sequence(value: Any, name: str) -> tuple[Tensor, ...]:
    """One tensor, a sequence or the values of a dict as a tuple; a GradientEdge counts as a tensor.
    Raises TypeError naming the argument and position otherwise.
    """
    single = isinstance(value, Tensor | GradientEdge)
    if isinstance(value, Mapping):
        value = _values(value, name)
    items = (value,) if single else tuple(value) if isinstance(value, list | tuple) else None
    if items is None:
        items = tuple(value) if hasattr(value, "__iter__") else (value,)
    for i, x in enumerate(items):
        if not isinstance(x, Tensor | GradientEdge):
            raise TypeError(
                f"`{name}` must be a Tensor or a sequence of Tensors; element {i} is"
                f" {type(x).__name__}."
            )
    return tuple(_at(x) if isinstance(x, GradientEdge) else x for x in items)


def _values(given: Mapping[Any, Any], name: str) -> list[Any]:
    if type(given) is not dict:
        raise TypeError(
            f"`{name}` must be a dict, a Tensor or a sequence of Tensors, got"
            f" {type(given).__name__}."
        )
    return list(given.values())


def _at(edge: GradientEdge) -> Tensor:
    """A tensor in an edge's place: the leaf itself, else one of the right shape whose values are
    never read."""
    node, number = edge.node, edge.output_nr
    if isinstance(node, Leaf):
        out: Tensor = node.variable
        return out
    several = isinstance(node.shape, tuple) and any(not isinstance(n, int) for n in node.shape)
    shape: Any = node.shape[number] if several else node.shape
    dtype: Any = node.dtype[number] if several else node.dtype
    stand_in = wrap(backend.zeros(shape, dtype, 0.0), node)
    if several:
        stand_in.node = edge.ownership_token or make_pick(node, number)
    return stand_in


def _cotangents(given: Any, count: int) -> list[Any]:
    cotangents = (
        [None] * count
        if given is None
        else (
            [given]
            if isinstance(given, Tensor) or not isinstance(given, list | tuple)
            else list(given)
        )
    )
    if len(cotangents) != count:
        if count == 1 and not any(isinstance(c, Tensor) or c is None for c in cotangents):
            raise TypeError("a list of numbers is no cotangent: write tensor([...]) around it.")
        raise ValueError(
            f"got {count} tensors to differentiate and {len(cotangents)} cotangents; give one for"
            " each (None for one-element tensors)."
        )
    return cotangents


def _roots(
    outputs: Sequence[Tensor], cotangents: list[Any], caller: str
) -> tuple[list[Node], list[Tensor]]:
    """The nodes where the pass begins, and their cotangents."""
    pairs = zip(outputs, cotangents, strict=True)
    found = [root_and_seed(out, seed, caller, i) for i, (out, seed) in enumerate(pairs)]
    return [node for node, _ in found], [seed for _, seed in found]


def _target(x: Tensor, index: int, caller: str) -> Node:
    node = current_node(x)
    if node is None:
        raise NoGradientError(
            f"{caller}: input {index} (shape {x.shape}) does not require grad, so it cannot be"
            " differentiated by. Set requires_grad=True before computing."
        )
    return node
