"""`from_torch`: PyTorch's autograd graph as a Trace.

    trace = viz.from_torch(f, x, w)                 run f and look on: all values and all cotangents
    trace = viz.from_torch(y, {"x": x, "w": w})     after the fact: values where PyTorch kept them,
                                                    and all cotangents

PyTorch's graph holds functions that point at those of their operands. A hook on each tells, while
the reverse pass runs, the cotangents that come in and the contributions that go out along each
edge: those are PyTorch's own. Forward values are not part of the graph; they are read off while a
function runs, or else from what the functions saved for the reverse pass.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.viz.adapters.backward_graph import Constants, check_results, write_graph
from minigrad.viz.adapters.writer import Writer
from minigrad.viz.tensor_names import named_tensors
from minigrad.viz.traversal import operands_first

from minigrad.watch.source_map import SourceMap
from minigrad.watch.trace_writer import LONGEST_NAME, title_of

MOST = 2_000
NAMES = {
    "t": "permute",
    "transpose": "permute",
    "view": "reshape",
    "unsafeview": "reshape",
    "reshapealias": "reshape",
    "threshold": "relu",
    "logsoftmax": "log_softmax",
    "nllloss": "nll_loss",
}


def from_torch(
    output: Any,
    *inputs: Any,
    names: Sequence[str] | None = None,
    title: str = "",
    seed: Any = None,
    spaces: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The Trace of a PyTorch computation.

    Args:
        output: a tensor, or a function of tensors, which is then called with ``inputs``.
        inputs: for a function, its arguments (tensors are detached and made to require grad); for a
            tensor, one mapping of names to the leaves that it was made from, or the leaves
            themselves. Other leaves that require grad are shown as parameters.
        names: of the inputs.
        title: of the Trace; by default of a function its name and the inputs.
        seed: the cotangent to start from; by default 1 for a single number.
        spaces: mappings of names to tensors and modules, such as ``globals()``: other leaves are
        called as there.

    No ``.grad`` is touched, and the graph is kept.

    Raises:
        ModuleNotFoundError: torch is not installed.
        TypeError: the output is no tensor.
        ValueError: it carries no graph; it is not a single number and no seed is given; an
            operation with several results of which more than one is used (what each of them sends
            back cannot be told apart); more than 2,000 operations.
    """
    import torch

    seen: dict[Any, Any] = {}
    spans: dict[Any, list[int]] = {}
    parameters: dict[int, str] = {}
    modules: dict[Any, str] = {}
    source = None
    if not isinstance(output, torch.Tensor) and callable(output):
        inputs = tuple(_leaf(x) for x in inputs)
        labels = list(names or _parameters(output, len(inputs)))
        source = _source(output)
        with _naming(parameters) as path:
            output = _watched(output, inputs, seen, source, spans, modules, path)
    elif len(inputs) == 1 and isinstance(inputs[0], Mapping):
        labels, inputs = list(inputs[0]), tuple(inputs[0].values())
    else:
        labels = list(names or [f"x{i + 1}" for i in range(len(inputs))])
    for name, tensor in named_tensors(spaces, torch.Tensor):
        parameters.setdefault(id(tensor), name)
    title = title or parameters.get(id(output), "")
    if not isinstance(output, torch.Tensor):
        raise TypeError(
            f"from_torch: expected a tensor, got {type(output).__name__}; return one tensor from"
            " the function"
        )
    if output.grad_fn is None:
        raise ValueError(
            "from_torch: this tensor has no graph: nothing that it was made from requires grad, or"
            " it was made under no_grad()"
        )
    if seed is None and output.numel() != 1:
        raise ValueError(
            "from_torch: reverse mode starts from one number, but the result has the shape"
            f" {tuple(output.shape)}; reduce it or give seed="
        )
    start = (
        torch.ones_like(output)
        if seed is None
        else torch.as_tensor(seed, dtype=output.dtype).expand_as(output)
    )
    seen[output.grad_fn] = output
    given = dict(zip(labels, inputs, strict=False))
    writer = Writer(title, ((source and source.source()) or {}).get("code"))
    document = _write(torch, output, start, given, seen, spans, modules, parameters, writer)
    if source is not None and not title:
        known = document["inputs"]
        told = [s["writes"][0] for s in document["steps"] if s["writes"]]
        values = {node: value for node, column, value in told if column == "v" and node in known}
        document["title"] = title_of(source.name, values)
    return document


def _write(
    torch: Any,
    output: Any,
    start: Any,
    inputs: dict[str, Any],
    seen: dict[Any, Any],
    spans: Mapping[Any, list[int]],
    modules: dict[Any, str],
    parameters: Mapping[int, str],
    writer: Writer,
) -> dict[str, Any]:
    ends = {
        _place(x): (name, x)
        for name, x in inputs.items()
        if isinstance(x, torch.Tensor) and x.requires_grad
    }
    root = output.grad_fn
    complaint = (
        f"from_torch: the graph has more than {MOST:,} operations; trace a smaller part of the"
        " computation"
    )
    parents = lambda fn: [p for p, _ in fn.next_functions if p is not None and fn not in ends]
    order = [fn for fn in operands_first([root], parents, MOST, complaint) if fn not in ends]
    advice = "; use indexing or select() instead"
    check_results(order, {root: output.output_nr}, "from_torch", advice)
    functions = [fn for fn in order if not _is_leaf(fn)]
    constants = _saved(functions, seen)
    _inner(functions, seen, modules)
    layers = _Layers(functions, ends)
    for fn in layers.weights:
        if (fn, 1) in constants:
            constants[fn, 0] = constants.pop((fn, 1))
    below = lambda fn: [p for p, _ in layers.operands(fn) if p is not None and fn not in ends]
    order = [fn for fn in operands_first([root], below, MOST, complaint) if fn not in ends]

    def leaf(fn: Any) -> str | None:
        if fn in ends:
            return writer.input(ends[fn][0], _plain(ends[fn][1]))
        if not _is_leaf(fn):
            return None
        path = parameters.get(id(fn.variable), "")
        short = path if len(path) <= LONGEST_NAME else ""
        return writer.input(short, _plain(fn.variable), kind="param")

    def operation(fn: Any, operands: list[str], absent: list[int]) -> str:
        value = _plain(seen[fn]) if fn in seen else None
        shape, dtype = _shape_of(fn)
        name, params = (
            ("affine", {}) if fn in layers.weights else (_operation(fn), _params(fn, shape))
        )
        told = {"shape": shape, "dtype": dtype, "span": spans.get(fn), "params": params}
        told["group"] = modules.get(fn, "")
        return writer.op(name, operands, value, **told)

    wanted = [x for _, x in ends.values()] + [fn.variable for fn in order if _is_leaf(fn)]
    local = _local_derivatives(torch, functions, output.dtype)
    run = lambda: torch.autograd.grad(output, wanted, start, retain_graph=True, allow_unused=True)
    nodes, seed = [*ends, *order], (root, start)
    turned = layers.operands, layers.parts
    return write_graph(writer, nodes, constants, leaf, operation, seed, run, _plain, local, *turned)


class _Layers:
    """PyTorch's linear layers: functions that compute x @ Wᵀ + b, of which the transpose is a part
    in minigrad's operation.

    weights: by each such function, where W comes from.
    """

    def __init__(self, functions: list[Any], ends: Mapping[Any, Any]) -> None:
        """ends: functions that are inputs."""
        users = Counter(parent for fn in functions for parent, _ in fn.next_functions)
        self.weights: dict[Any, Any] = {}
        for fn in functions:
            if not fn.name().startswith("AddmmBackward"):
                continue
            scaled = any(getattr(fn, f"_saved_{name}") != 1 for name in ("alpha", "beta"))
            bias, turned = fn.next_functions[0][0], fn.next_functions[2][0]
            transposed = turned is not None and turned.name().startswith("TBackward")
            alone = transposed and users[turned] == 1 and turned not in ends
            if alone and not scaled and bias is not None and len(_shape_of(bias)[0] or ()) == 1:
                self.weights[fn] = turned.next_functions[0]

    def operands(self, fn: Any) -> Any:
        """Where the operands of any function come from, of a layer in minigrad's order."""
        if fn not in self.weights:
            return fn.next_functions
        bias, x, _ = fn.next_functions
        return x, self.weights[fn], bias

    def parts(self, fn: Any, sent: Any) -> Any:
        """What any function sends to its operands, in the same order."""
        if fn not in self.weights:
            return sent
        bias, x, turned = sent
        return x, None if turned is None else turned.t(), bias


def _inner(functions: list[Any], seen: dict[Any, Any], modules: dict[Any, str]) -> None:
    """Of functions that are called inside of others, the values that these tell, and the modules:
    those of their users.
    """
    for fn in reversed(functions):
        for parent, _ in fn.next_functions:
            if parent is not None and fn in modules and not _is_leaf(parent):
                modules.setdefault(parent, modules[fn])
        made = fn.next_functions[0][0] if _operation(fn) == "reshape" else None
        if made is not None and fn in seen and not _is_leaf(made) and _shape_of(made)[0]:
            seen.setdefault(made, seen[fn].reshape(_shape_of(made)[0]))


def _local_derivatives(torch: Any, functions: list[Any], dtype: Any) -> dict[Any, float]:
    """The local derivatives of PyTorch's own functions of single numbers: what such a function
    sends back for the cotangent 1.
    """
    local: dict[Any, float] = {}
    for fn in functions:
        # a user's Function may do more than compute
        if _shape_of(fn)[0] != [] or hasattr(fn, "_forward_cls"):
            continue
        try:
            sent = fn(torch.ones((), dtype=dtype))
        except (
            RuntimeError,
            TypeError,
            NotImplementedError,
        ):  # a function that needs more than one cotangent
            continue
        for slot, part in enumerate(sent if isinstance(sent, tuple) else (sent,)):
            if part is not None and part.numel() == 1 and part.ndim == 0:
                local[fn, slot] = float(part.detach())
    return local


def _source(f: Callable[..., Any]) -> SourceMap:
    """A function's own text, or that of a module's `forward`; without that of PyTorch itself."""
    import torch

    if not isinstance(f, torch.nn.Module):
        return SourceMap(f)
    foreign = type(f).__module__.partition(".")[0] == "torch"
    source = SourceMap(None if foreign else f.forward)
    source.name = type(f).__name__
    return source


def _watched(
    f: Callable[..., Any],
    inputs: Sequence[Any],
    seen: dict[Any, Any],
    source: SourceMap,
    spans: dict[Any, list[int]],
    modules: dict[Any, str],
    path: list[str],
) -> Any:
    """Call f and note the value that each function of the graph made, where in the source, and in
    which module. path: of the modules under way.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    class Looker(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            frame = source.frame()
            span = None if frame is None else source.span(frame)
            for tensor in result if isinstance(result, tuple | list) else (result,):
                if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                    seen[tensor.grad_fn] = tensor.detach().clone()
                    modules.setdefault(tensor.grad_fn, "/".join(path))
                    if span is not None:
                        spans[tensor.grad_fn] = span
            return result

    with torch.enable_grad(), Looker():
        return f(*inputs)


@contextmanager
def _naming(parameters: dict[int, str]) -> Iterator[list[str]]:
    """Note, by their ids, the names that the outermost module under way gives its parameters. Gives
    the path of the modules under way, as a list that changes.
    """
    from torch.nn.modules.module import (
        register_module_forward_hook,
        register_module_forward_pre_hook,
    )

    path: list[str] = []
    under_way: list[Any] = []

    def begin(module: Any, args: Any) -> None:
        for name, parameter in module.named_parameters():
            parameters.setdefault(id(parameter), name)
        kind = type(module).__name__
        inside = under_way[-1].named_modules() if under_way else ()
        name = next((name for name, one in inside if one is module and name), kind)
        path.append(f"{name}: {kind}" if name.isdigit() else name)
        under_way.append(module)

    def end(module: Any, args: Any, result: Any) -> None:
        path.pop()
        under_way.pop()

    handles = [
        register_module_forward_pre_hook(begin),
        register_module_forward_hook(end, always_call=True),
    ]
    try:
        yield path
    finally:
        for handle in handles:
            handle.remove()


SAVED = {"_saved_self": 0, "_saved_other": 1}
SAVED_BY = {
    "Mm": {"_saved_self": 0, "_saved_mat2": 1},
    "Bmm": {"_saved_self": 0, "_saved_mat2": 1},
    "Addmm": {"_saved_mat1": 1, "_saved_mat2": 2},
}
"""Under which name a function keeps which operand."""


def _saved(functions: list[Any], seen: dict[Any, Any]) -> Constants:
    """What the functions saved, where it can be read: operands without a gradient by (function,
    number); ``seen`` gets results.
    """
    constants: Constants = {}
    for fn in functions:
        for name, slot in SAVED_BY.get(fn.name().partition("Backward")[0], SAVED).items():
            value = _read(fn, name)
            if value is None or slot >= len(fn.next_functions):
                continue
            parent = fn.next_functions[slot][0]
            if parent is None:
                constants[fn, slot] = _plain(value)
            elif not _is_leaf(parent) and _shape_of(parent)[0] == list(value.shape):
                seen.setdefault(parent, value)
        result = _read(fn, "_saved_result")
        if result is not None:
            seen.setdefault(fn, result)
    return constants


def _read(fn: Any, name: str) -> Any:
    try:
        value = getattr(fn, name, None)
    except RuntimeError:  # freed, or changed in place since
        return None
    return value.detach() if hasattr(value, "detach") else None


def _is_leaf(fn: Any) -> bool:
    return hasattr(fn, "variable")


def _place(x: Any) -> Any:
    """A tensor's place in the graph. That of a leaf is made on demand, and stays the same as long
    as it is referenced."""
    return x.expand_as(x).grad_fn.next_functions[0][0] if x.grad_fn is None else x.grad_fn


def _leaf(x: Any) -> Any:
    import torch

    if not isinstance(x, torch.Tensor):
        x = torch.tensor(x, dtype=torch.float64) if isinstance(x, float | int | list) else x
    return (
        x.detach().clone().requires_grad_()
        if isinstance(x, torch.Tensor) and x.is_floating_point()
        else x
    )


def _parameters(f: Callable[..., Any], count: int) -> list[str]:
    try:
        own = inspect.signature(getattr(f, "forward", f)).parameters.values()
        found = [p.name for p in own if p.kind is not p.VAR_POSITIONAL][:count]
    except (TypeError, ValueError):
        found = []
    return found + [f"x{i + 1}" for i in range(len(found), count)]


def _operation(fn: Any) -> str:
    name = fn.name().split("::")[-1].rstrip("0123456789").removesuffix("Backward").lower()
    exponent = getattr(fn, "_saved_exponent", None) if name == "pow" else None
    return NAMES.get(name, name) if not isinstance(exponent, int | float) else f"**{exponent}"


def _params(fn: Any, shape: Sequence[int] | None) -> dict[str, Any] | None:
    """The parameters of a sum, mean, stack, cat, permute or reshape, as minigrad's operation has
    them; None for another one. shape: of the result."""
    sizes, name = getattr(fn, "_saved_self_sym_sizes", None), _operation(fn)
    place = lambda d, n: (d - 2**64 if d >= 2**63 else d) % n  # PyTorch keeps −1 as 2**64 − 1
    if name == "reshape" and shape is not None:
        return {"shape": tuple(shape)}
    if name == "permute" and shape is not None:
        n = len(shape)
        axes = [*range(n)]
        if hasattr(fn, "_saved_dims"):
            axes = [place(d, n) for d in fn._saved_dims]
        elif n > 1:
            i, j = place(getattr(fn, "_saved_dim0", 0), n), place(getattr(fn, "_saved_dim1", 1), n)
            axes[i], axes[j] = j, i
        return {"axes": tuple(axes)}
    if name == "stack" and shape and all(made for made, _ in fn.next_functions):
        return {"axis": place(fn._saved_dim, len(shape)), "count": len(fn.next_functions)}
    joined = [_shape_of(made)[0] for made, _ in fn.next_functions if made]
    if name == "cat" and shape and all(joined) and len(joined) == len(fn.next_functions):
        axis = place(fn._saved_dim, len(shape))
        return {"axis": axis, "sizes": tuple(one[axis] for one in joined if one)}
    if name not in ("sum", "mean") or sizes is None:
        return None
    dims = getattr(fn, "_saved_dim", None) or range(len(sizes))
    axes = tuple(sorted(place(d, len(sizes)) for d in dims)) if sizes else ()
    return {"axes": axes, "keepdims": getattr(fn, "_saved_keepdim", False)}


def _shape_of(fn: Any) -> tuple[list[int] | None, str | None]:
    found = getattr(fn, "_input_metadata", None)
    return (
        (list(found[0].shape), str(found[0].dtype).removeprefix("torch."))
        if found
        else (None, None)
    )


def _plain(value: Any) -> Any:
    array = value.detach().cpu().numpy()
    return array.item() if array.ndim == 0 else array
