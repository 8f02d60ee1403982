"""`from_torch`: PyTorch's autograd graph as a Trace.

    trace = viz.from_torch(f, x, w)                 run f and look on: all values and all
                                                    cotangents; mode="primal": values only
    trace = viz.from_torch(y, {"x": x, "w": w})     after the fact: values where PyTorch kept them,
                                                    and all cotangents

PyTorch's graph holds functions that point at those of their operands. A hook on each tells, while
the reverse pass runs, the cotangents that come in and the contributions that go out along each
edge: those are PyTorch's own. Forward values are not part of the graph; they are read off while a
function runs, or else from what the functions saved for the reverse pass.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
from minigrad.viz.adapters.backward_graph import Constants, check_results, write_graph
from minigrad.viz.adapters.writer import Writer, known_operation
from minigrad.viz.printed_layers import printed_layers
from minigrad.viz.tensor_names import FOREIGN, named_tensors
from minigrad.viz.traversal import operands_first

from minigrad.core.primitive import registry
from minigrad.errors import NonScalarError
from minigrad.watch.source_map import SourceMap
from minigrad.watch.trace_writer import LONGEST_NAME, module_label, title_of

MOST = 2_000
NAMES = {
    "rsub": "sub",
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
    mode: str = "reverse",
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
        mode: "reverse", or "primal" for values only, of a result of any shape.
        spaces: mappings of names to tensors and modules, such as ``globals()``: other leaves are
        called as there.

    No ``.grad`` is touched, and the graph is kept.

    Raises:
        ModuleNotFoundError: torch is not installed.
        TypeError: the output is no tensor.
        NonScalarError: it is not a single number, no seed is given, and the mode is "reverse".
        ValueError: there is no such mode; the output carries no graph; an operation with several
            results of which more than one is used (what each of them sends back cannot be told
            apart); more than 2,000 operations.
    """
    import torch

    if mode not in ("primal", "reverse"):
        raise ValueError(f'from_torch: mode must be "primal" or "reverse", got {mode!r}')
    run = _Run()
    source = None
    if not isinstance(output, torch.Tensor) and callable(output):
        inputs = tuple(_leaf(x) for x in inputs)
        labels = list(names or _parameters(output, len(inputs)))
        source = run.source = _source(output)
        text, lines = (source.source() or {}).get("code"), {}
        if isinstance(output, torch.nn.Module) and text is None:
            text, lines = printed_layers(output, "PyTorch", module_label)
        with _naming(run) as path:
            output = _watched(output, inputs, run, path)
        run.spans |= {fn: lines[at] for fn, at in run.modules.items() if at in lines}
    elif len(inputs) == 1 and isinstance(inputs[0], Mapping):
        text, labels, inputs = None, list(inputs[0]), tuple(inputs[0].values())
    else:
        text, labels = None, list(names or [f"x{i + 1}" for i in range(len(inputs))])
    for name, tensor in named_tensors(spaces, torch.Tensor):
        run.call(tensor, name)
    title = title or run.parameters.get(id(output), "")
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
    start = None if mode == "primal" else _start(torch, output, seed, source)
    run.values[output.grad_fn] = output
    given = dict(zip(labels, inputs, strict=False))
    document = _write(torch, output, start, given, run, Writer(title, text))
    if source is not None and not title:
        known = document["inputs"]
        told = [s["writes"][0] for s in document["steps"] if s["writes"]]
        values = {node: value for node, column, value in told if column == "v" and node in known}
        document["title"] = title_of(source.name, values)
    return document


def _start(torch: Any, output: Any, seed: Any, source: SourceMap | None) -> Any:
    """The cotangent of a result."""
    if seed is not None:
        return torch.as_tensor(seed, dtype=output.dtype).expand_as(output)
    if output.numel() == 1:
        return torch.ones_like(output)
    what = "this tensor has" if source is None else f"{source.name} returned"
    raise NonScalarError(
        f"from_torch: reverse mode starts from one number, but {what} the shape"
        f" {tuple(output.shape)}. Reduce the result, for instance with .sum(), give its cotangent"
        " (cotangent=… in viz.show, seed=… here), or trace with mode='primal'."
    )


Known = tuple[str, Any]
"""The name of a constant, and what is equal for the same one."""
_ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys("Add Sub Mul Div Maximum Minimum MseLoss".split(), lambda args: args[:2]),
    **dict.fromkeys(("Stack", "Cat"), lambda args: args[0]),
    "Where": lambda args: args[:3],
    "Rsub": lambda args: args[1::-1],
}
"""Which arguments of a call are a function's operands."""


class _Run:
    """What has been seen of a run: by the graph's functions their values, modules and places in the
    source, and, with their numbers, operands without a gradient; the names of parameters by their
    ids, and of constants by their memory.
    """

    def __init__(self) -> None:
        self.source: SourceMap | None = None
        self.values: dict[Any, Any] = {}
        self.constants: dict[tuple[Any, int], tuple[Any, Known]] = {}
        self.modules: dict[Any, str] = {}
        self.spans: dict[Any, list[int]] = {}
        self.parameters: dict[int, str] = {}
        self._names: dict[Any, str] = {}
        self._kept: list[Any] = []  # so that no memory is used for another tensor meanwhile

    def call(self, tensor: Any, name: str) -> None:
        """Give a tensor a name, if it has none."""
        self.parameters.setdefault(id(tensor), name)
        if not tensor.requires_grad:
            self._names.setdefault(_memory(tensor), name)
            self._kept.append(tensor)

    def look(self, arguments: Iterable[Any]) -> None:
        """Give constants among the arguments of an operation the program's words."""
        for one in arguments:
            if isinstance(one, list | tuple):
                self.look(one)
            elif hasattr(one, "data_ptr") and not one.requires_grad:
                known = self.parameters.get(id(one))
                if known is None and self.source is not None and _memory(one) not in self._names:
                    found = self.source.outside(one, _users_calls())
                    known = None if found is None else found[0]
                if known is not None:
                    self.call(one, known)

    def operands(self, fn: Any, arguments: Sequence[Any]) -> None:
        """Note which arguments of a call are constants of its function."""
        kind = fn.name().partition("Backward")[0]
        given = _ARGUMENTS[kind](arguments) if kind in _ARGUMENTS else ()
        for slot, ((parent, _), one) in enumerate(zip(_operands(fn), given, strict=False)):
            if parent is None and hasattr(one, "detach"):
                self.constants[fn, slot] = one.detach().clone(), self.constant(one)
            elif parent is None and isinstance(one, int | float):
                self.constants[fn, slot] = one, ("", one)

    def constant(self, tensor: Any) -> Known:
        name = self._names.get(_memory(tensor), "")
        return (name if len(name) <= LONGEST_NAME else ""), _memory(tensor)


def _memory(tensor: Any) -> Any:
    """Which elements of which memory a tensor shows, as they are now."""
    try:
        return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor._version
    except RuntimeError:  # it has none, or is a sparse one
        return id(tensor)


def _users_calls() -> list[FrameType]:
    """The calls under way of code that is not a library's, the innermost last."""
    found, frame = [], sys._getframe(1)
    while frame.f_code is not _watched.__code__ and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in FOREIGN:
            found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _write(
    torch: Any, output: Any, start: Any, inputs: dict[str, Any], run: _Run, writer: Writer
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
    found = _constants(functions, run)
    _inner(functions, run)
    layers = _Layers(functions, ends)
    for fn in layers.weights:
        if (fn, 1) in found:
            found[fn, 0] = found.pop((fn, 1))
    constants = {place: _plain(value) for place, (value, _) in found.items()}
    called = {place: known for place, (_, known) in found.items()}
    below = lambda fn: [p for p, _ in layers.operands(fn) if p is not None and fn not in ends]
    order = [fn for fn in operands_first([root], below, MOST, complaint) if fn not in ends]

    def leaf(fn: Any) -> str | None:
        if fn in ends:
            return writer.input(ends[fn][0], _plain(ends[fn][1]))
        if not _is_leaf(fn):
            return None
        path = run.parameters.get(id(fn.variable), "")
        short = path if len(path) <= LONGEST_NAME else ""
        return writer.input(short, _plain(fn.variable), kind="param")

    def operation(fn: Any, operands: list[str | float], absent: list[int]) -> str:
        value = _plain(run.values[fn]) if fn in run.values else None
        shape, dtype = _shape_of(fn)
        own = fn in layers.weights or absent
        known = None if own else _of_minigrad(fn, shape or [])
        name, params = known or (_operation(fn), _params(fn, shape, absent, constants))
        if fn in layers.weights:
            name, params = "affine", {}
        told = {"shape": shape, "dtype": dtype, "span": run.spans.get(fn), "params": params}
        told |= {"group": run.modules.get(fn, ""), "absent": absent, "checked": True}
        return writer.op(name, operands, value, **told)

    wanted = [x for _, x in ends.values()] + [fn.variable for fn in order if _is_leaf(fn)]
    local = {} if start is None else _local_derivatives(torch, functions, output.dtype)
    back = lambda: torch.autograd.grad(output, wanted, start, retain_graph=True, allow_unused=True)
    turned = layers.operands, layers.parts, called
    nodes = [*ends, *order]
    return write_graph(
        writer, nodes, constants, leaf, operation, root, start, back, _plain, local, *turned
    )


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
            return _operands(fn)
        bias, x, _ = fn.next_functions
        return x, self.weights[fn], bias

    def parts(self, fn: Any, sent: Any) -> Any:
        """What any function sends to its operands, in the same order."""
        if _lacks_first(fn):
            return None, *sent
        if fn not in self.weights:
            return sent
        bias, x, turned = sent
        return x, None if turned is None else turned.t(), bias


def _inner(functions: list[Any], run: _Run) -> None:
    """Of functions that are called inside of others, the values that these tell, and the modules:
    those of their users.
    """
    for fn in reversed(functions):
        for parent, _ in fn.next_functions:
            if parent is not None and fn in run.modules and not _is_leaf(parent):
                run.modules.setdefault(parent, run.modules[fn])
        same = _operation(fn) in ("reshape", "squeeze", "unsqueeze")
        made = fn.next_functions[0][0] if same else None
        if made is not None and fn in run.values and not _is_leaf(made) and _shape_of(made)[0]:
            run.values.setdefault(made, run.values[fn].reshape(_shape_of(made)[0]))


def _local_derivatives(torch: Any, functions: list[Any], dtype: Any) -> dict[Any, float]:
    """The local derivatives of PyTorch's own functions of single numbers, and of those that
    minigrad has as elementwise ones on arrays of one shape: what such a function sends back for
    the cotangent 1.
    """
    local: dict[Any, Any] = {}
    for fn in functions:
        shape, own_dtype = _shape_of(fn)
        # a user's Function may do more than compute
        if hasattr(fn, "_forward_cls") or not (shape == [] or _is_elementwise(fn, shape)):
            continue
        try:
            sent = fn(torch.ones(shape, dtype=getattr(torch, own_dtype) if shape else dtype))
        except (
            RuntimeError,
            TypeError,
            NotImplementedError,
        ):  # a function that needs more than one cotangent
            continue
        for slot, part in enumerate(sent if isinstance(sent, tuple) else (sent,)):
            if part is not None and list(part.shape) == shape:
                local[fn, slot + _lacks_first(fn)] = _plain(part)
    return local


def _is_elementwise(fn: Any, shape: Sequence[int] | None) -> bool:
    """Whether each element of a function's result is made of one element of each operand, by what
    minigrad says of its operation."""
    operands = _operands(fn)
    name, _ = known_operation(_operation(fn), len(operands))
    shapes = [_shape_of(one)[0] for one, _ in operands if one is not None]
    return getattr(registry.get(name), "elementwise", False) and all(
        one == shape or (one is None and shape is not None) for one in shapes
    )


def _lacks_first(fn: Any) -> bool:
    """Whether PyTorch does not keep a function's first operand: of 3 − x, and the condition of
    where(x > 0, x, 1)."""
    return bool(fn.name().startswith(("RsubBackward", "WhereBackward")))


def _operands(fn: Any) -> Any:
    """Where the operands of a function come from, without a bias that a convolution lacks."""
    if _is_convolution(fn) and not any(_kept_by(fn, "_saved_bias_sym_sizes_opt") or ()):
        return fn.next_functions[:2]
    return ((None, 0), *fn.next_functions) if _lacks_first(fn) else fn.next_functions


def _is_convolution(fn: Any) -> bool:
    return bool(fn.name().startswith("ConvolutionBackward"))


def _source(f: Callable[..., Any]) -> SourceMap:
    """A function's own text, or that of a module's `forward`; without that of PyTorch itself."""
    import torch

    if not isinstance(f, torch.nn.Module):
        return SourceMap(f)
    foreign = type(f).__module__.partition(".")[0] == "torch"
    source = SourceMap(None if foreign else f.forward)
    source.name = type(f).__name__
    return source


def _watched(f: Callable[..., Any], inputs: Sequence[Any], run: _Run, path: list[str]) -> Any:
    """Call f and note of each function of the graph its value and its arguments, where in the
    source it was called, and in which module. path: of the modules under way.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    class Looker(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            run.look(args)
            result = func(*args, **(kwargs or {}))
            frame = run.source.frame() if run.source is not None else None
            span = None if frame is None else run.source.span(frame)
            for tensor in result if isinstance(result, tuple | list) else (result,):
                if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                    run.values[tensor.grad_fn] = tensor.detach().clone()
                    run.modules.setdefault(tensor.grad_fn, "/".join(path))
                    run.operands(tensor.grad_fn, args)
                    if span is not None:
                        run.spans[tensor.grad_fn] = span
            return result

    with torch.enable_grad(), Looker():
        return f(*inputs)


@contextmanager
def _naming(run: _Run) -> Iterator[list[str]]:
    """Note the names that the outermost module under way gives its parameters and buffers. Gives
    the path of the modules under way, as a list that changes.
    """
    from torch.nn.modules.module import (
        register_module_forward_hook,
        register_module_forward_pre_hook,
    )

    path: list[str] = []
    under_way: list[Any] = []

    def begin(module: Any, args: Any) -> None:
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            run.call(tensor, name)
        kind = type(module).__name__
        inside = under_way[-1].named_modules() if under_way else ()
        name = next((name for name, one in inside if one is module and name), kind)
        path.append(module_label(name, module))
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
    "Mv": {"_saved_self": 0, "_saved_vec": 1},
    "Dot": {"_saved_self": 0, "_saved_tensor": 1},
    "Addmm": {"_saved_mat1": 1, "_saved_mat2": 2},
    "Where": {"_saved_condition": 0},
}
"""Under which name a function keeps which operand."""


def _constants(functions: list[Any], run: _Run) -> dict[tuple[Any, int], tuple[Any, Known]]:
    """Operands without a gradient by (function, number): the arguments of a call that was seen,
    and what the functions saved and can be read. The values of results are noted, too.
    """
    constants: dict[tuple[Any, int], tuple[Any, Known]] = {}
    for fn in functions:
        kind = fn.name().partition("Backward")[0]
        for name, slot in SAVED_BY.get(kind, SAVED).items():
            value = _read(fn, name)
            if value is None or slot >= len(_operands(fn)):
                continue
            parent = _operands(fn)[slot][0]
            if parent is None:
                constants[fn, slot] = value, run.constant(value)
            elif not _is_leaf(parent) and _shape_of(parent)[0] == list(value.shape):
                run.values.setdefault(parent, value)
        result = _read(fn, "_saved_result")
        if result is not None:
            run.values.setdefault(fn, result)
    return constants | run.constants


def _read(fn: Any, name: str) -> Any:
    value = _kept_by(fn, name)
    return value.detach() if hasattr(value, "detach") else None


def _kept_by(fn: Any, name: str) -> Any:
    """What a function keeps under this name; None where it has been freed."""
    try:
        return getattr(fn, name, None)
    except RuntimeError:  # freed, or changed in place since
        return None


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


def _of_minigrad(fn: Any, shape: Sequence[int]) -> tuple[str, dict[str, Any]] | None:
    """The operation of minigrad that a function of another form corresponds to, with its
    parameters; None where there is none. shape: of the result."""
    kind = _operation(fn)
    known = lambda name: _kept_by(fn, f"_saved_{name}")
    # PyTorch keeps −1 as 2**64 − 1, and an open end as 2**63 − 1
    signed = lambda n: n - 2**64 if n >= 2**63 else None if n == 2**63 - 1 else n
    sizes = known("self_sym_sizes") or _shape_of(fn.next_functions[0][0])[0]
    if kind in ("unsqueeze", "squeeze"):
        return "reshape", {"shape": tuple(shape)}
    if kind == "expand":
        return "broadcast_to", {"shape": tuple(shape)}
    if kind in ("max", "min"):
        kind = f"a{kind}"
    if kind in ("embedding", "index"):
        index = known("indices")
        index = index if kind == "embedding" else index[0] if len(index) == 1 else None
        return None if index is None else ("getitem", {"index": index.cpu().numpy()})
    if kind == "clamp":
        low, high = known("min"), known("max")
        numbers = all(isinstance(one, int | float | None) for one in (low, high))
        return (kind, {"low": low, "high": high}) if numbers else None
    if sizes is None:
        return None
    dim = known("dim")
    axis = None if not isinstance(dim, int) or not sizes else signed(dim) % len(sizes)
    if kind in ("select", "slice") and axis is not None:
        part = known("index")
        if kind == "slice":
            start, end, step = map(signed, (known("start"), known("end"), known("step")))
            part = slice(start or None, end, None if step == 1 else step)
        else:
            part = signed(part)
        return "slice", {"index": (*(slice(None),) * axis, part)}
    if kind in ("softmax", "log_softmax", "cumsum") and axis is not None:
        return kind, {"axis": axis}
    if kind in ("amax", "amin", "prod", "logsumexp"):
        axes = range(len(sizes)) if dim is None else [dim] if isinstance(dim, int) else dim
        axes = tuple(sorted(signed(one) % len(sizes) for one in axes)) if sizes else ()
        return kind, {"axes": axes, "keepdims": bool(known("keepdim"))}
    if _is_convolution(fn) and len(_operands(fn)) == 2 and not known("transposed"):
        told = {name: known(name) for name in ("stride", "dilation")}
        padding = tuple((n, n) for n in known("padding"))
        return "convolve", {**told, "padding": padding, "groups": known("groups")}
    return None


def _params(
    fn: Any, shape: Sequence[int] | None, absent: Sequence[int], constants: Constants
) -> dict[str, Any] | None:
    """The parameters of a sum, mean, stack, cat, permute or reshape, as minigrad's operation has
    them; None for another one. shape: of the result; absent: the numbers of unknown operands."""
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
    if name == "stack" and shape and not absent:
        return {"axis": place(fn._saved_dim, len(shape)), "count": len(fn.next_functions)}
    joined = [
        _shape_of(made)[0] if made else list(np.shape(constants.get((fn, slot), ())))
        for slot, (made, _) in enumerate(fn.next_functions)
    ]
    if name == "cat" and shape and all(joined) and not absent:
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
    if isinstance(value, int | float):
        return value
    array = value.detach().cpu().numpy()
    return array.item() if array.ndim == 0 else array
