"""Is a derivative right? Compare it with what the function itself does when an input is moved a
little.

For f: ℝⁿ → ℝᵐ the central difference (f(x + εeⱼ) - f(x - εeⱼ)) / 2ε approximates column j of the
Jacobian with an error of order ε²; reverse mode gives its rows, forward mode its columns. The check
also finds what else can be wrong with a derivative besides its numbers: it may ignore the incoming
gradient, differ from run to run, have the wrong dtype, or fail where an output was not used.

Complex numbers. A function that is not holomorphic has no complex Jacobian, so each complex number
is treated as two real ones: an input is moved along 1 and along i. A real loss L = Re(v̄ · f(x))
with cotangent v has the gradient ∂L/∂a + i ∂L/∂b at x = a + ib (the conjugate Wirtinger derivative,
up to its factor 2, which is PyTorch's convention); for complex outputs it is compared for v = 1 and
v = i, which together fix the whole real Jacobian.

Sources: PyTorch's documentation of torch.autograd.gradcheck; central differences as in any text on
numerical differentiation.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import backend
from ..backend import Array, DType
from ..core import primitive
from ..core.graph import OpNode
from ..core.modes import Event, observing
from ..core.tensor import Tensor, make_leaf, memory_version, wrap
from ..core.views import grad_node
from ..errors import AutogradError, DTypeError
from ..grad_mode import enable_grad
from . import forward_ad
from .backward import grad
from .custom.node import strictness

Func = Callable[..., Any]
host: Any = backend.array_module([])
"""The array library of the host, on which Jacobians are put together and compared."""


class GradcheckError(AutogradError):
    """A derivative did not pass the check; the message shows which one and by how much."""


@dataclass
class _Check:
    """What is compared, and how closely."""

    func: Func
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    @property
    def checked(self) -> list[tuple[int, Tensor]]:
        """(position, tensor) of each input that requires grad."""
        return [
            (i, x)
            for i, x in enumerate(self.inputs)
            if isinstance(x, Tensor) and grad_node(x) is not None
        ]

    def outputs(self, *inputs: Any) -> tuple[Tensor, ...]:
        """What func returns, as a tuple of tensors."""
        out = self.func(*(inputs or self.inputs))
        outs = tuple(out) if isinstance(out, list | tuple) else (out,)
        for i, o in enumerate(outs):
            if not isinstance(o, Tensor):
                raise ValueError(
                    f"gradcheck: func must return a Tensor or a tuple of Tensors; output {i} is"
                    f" {type(o).__name__}."
                )
        return outs


# ----------------------------------------------------------------------------- the public functions


def gradcheck(
    func: Func,
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    check_sparse_nnz: bool = False,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Whether the derivatives of `func` at `inputs` agree with finite differences: |analytical -
    numerical| <= atol + rtol · |numerical| everywhere.

    func: takes the inputs, returns a tensor or a tuple of tensors; inputs: a tensor or a tuple
    (those that require grad are checked, floating or complex, in double precision if the default
    tolerances are to be met); eps: how far an input is moved; raise_exception: raise
    GradcheckError, which shows both Jacobians and the largest difference, or return False;
    nondet_tol: how much two runs of the same backward pass may differ; check_undefined_grad:
    outputs that were not used must count as outputs with zero gradients; check_grad_dtypes: no rule
    on the way may return a gradient in another dtype than its input's (else the engine casts);
    check_forward_ad, check_backward_ad: the modes to check; fast_mode: compare one random
    projection uᵀ J v of each Jacobian instead of all its entries. check_sparse_nnz and
    check_batched_grad exist for PyTorch's sake and must stay False. Raises ValueError where nothing
    requires grad, GradcheckError (always) for inputs whose elements overlap in memory. Warns
    (UserWarning) below double precision.
    """
    if check_sparse_nnz:
        raise ValueError(
            "gradcheck: check_sparse_nnz=True is about sparse tensors, which minigrad does not"
            " have; leave it out."
        )
    if check_batched_grad:
        raise ValueError(
            "gradcheck: check_batched_grad=True is not offered; compare func.vmap over a vjp with"
            " single calls instead."
        )
    if not (check_forward_ad or check_backward_ad):
        raise ValueError(
            "gradcheck: check_forward_ad and check_backward_ad are both off, so there is nothing to"
            " check."
        )
    check = _Check(
        func,
        tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,),
        eps,
        atol,
        rtol,
        nondet_tol,
    )
    with enable_grad(), backend.ignore_float_errors():
        _check_inputs(check)
        try:
            outputs = check.outputs()
            places = [i for i, o in enumerate(outputs) if grad_node(o) is not None]
            if not places:
                _check_constant(check, outputs)
                return True
            if check_backward_ad:
                _check_reverse(check, places, fast_mode, check_grad_dtypes)
                _check_zero_cotangents(check, places)
                if check_undefined_grad:
                    _check_undefined(check, places)
            if check_forward_ad:
                _check_forward(check, places)
        except GradcheckError:
            if raise_exception:
                raise
            return False
    return True


def gradgradcheck(
    func: Func,
    inputs: Any,
    grad_outputs: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_fwd: bool = False,
    fast_mode: bool = False,
) -> bool:
    """Whether the derivatives of the gradients agree with finite differences: `gradcheck` of
    (inputs, grad_outputs) ↦ vector-Jacobian products.

    grad_outputs: a cotangent for each differentiable output of func (default: random ones that
    require grad, the same in each call);
    gen_non_contig_grad_outputs: make those non-contiguous; check_fwd_over_rev: also differentiate
    the backward pass by forward mode;
    check_rev_over_fwd: also differentiate forward mode's derivative by reverse mode. The other
    arguments are gradcheck's.
    """
    given = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    check = _Check(func, given, eps, atol, rtol, nondet_tol)
    with enable_grad():
        outputs = [o for o in check.outputs() if grad_node(o) is not None]
    if grad_outputs is None:
        random = backend.random_generator(0)
        cotangents = tuple(_random_leaf(random, o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        cotangents = (
            tuple(grad_outputs) if isinstance(grad_outputs, list | tuple) else (grad_outputs,)
        )
        if len(cotangents) != len(outputs):
            raise ValueError(
                f"gradgradcheck: got {len(cotangents)} grad_outputs for {len(outputs)}"
                " differentiable outputs; give one for each."
            )
    count = len(given)

    def pulled(*arguments: Any) -> tuple[Tensor, ...]:
        at = _Check(func, arguments[:count], eps, atol, rtol, nondet_tol)
        outs = [o for o in at.outputs() if grad_node(o) is not None]
        grads = grad(
            outs,
            [x for _, x in at.checked],
            arguments[count:],
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in grads if g is not None)

    options = (
        eps,
        atol,
        rtol,
        raise_exception,
        False,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
    )
    passed = gradcheck(
        pulled,
        (*given, *cotangents),
        *options,
        check_forward_ad=check_fwd_over_rev,
        fast_mode=fast_mode,
    )
    if passed and check_rev_over_fwd:
        random = backend.random_generator(1)
        tangents = tuple(_random_leaf(random, x, False) for _, x in check.checked)
        passed = gradcheck(_pushed(check), (*given, *tangents), *options, fast_mode=fast_mode)
    return passed


def _pushed(check: _Check) -> Func:
    """(inputs, tangents) ↦ Jacobian-vector products."""
    count = len(check.inputs)
    places = [i for i, _ in check.checked]

    def pushed(*arguments: Any) -> tuple[Tensor, ...]:
        with forward_ad.dual_level():
            duals = list(arguments[:count])
            for place, tangent in zip(places, arguments[count:], strict=True):
                duals[place] = forward_ad.make_dual(duals[place], tangent)
            found = [forward_ad.unpack_dual(o).tangent for o in check.outputs(*duals)]
        return tuple(t for t in found if t is not None)

    return pushed


# --------------------------------------------------------------------------------------- the inputs


def _check_inputs(check: _Check) -> None:
    if not check.checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them has"
            " requires_grad=True."
        )
    for i, x in check.checked:
        if x.dtype not in (backend.float64, backend.complex128):
            warnings.warn(
                f"gradcheck: input {i} requires gradient and is {x.dtype}, not of double precision."
                " Its rounding errors are larger than the default tolerances, so the check will"
                " likely fail; use float64 or complex128, or a larger eps, atol and rtol.",
                UserWarning,
                stacklevel=4,
            )
        memory_version(x)
        if _overlaps(x.array):
            raise GradcheckError(
                f"gradcheck: input {i} (shape {x.shape}, strides {x.array.strides} bytes) has"
                " overlapping memory: several of its elements are one place in memory, so moving"
                " one moves the others and the numerical gradient would be wrong. Give it memory"
                " of its own: .clone() (or .contiguous())."
            )
        if not backend.is_writable(x.array):
            raise GradcheckError(
                f"gradcheck: the memory of input {i} may only be read, so its elements cannot be"
                " moved. Give a .clone()."
            )


def _overlaps(array: Array) -> bool:
    """Whether two indices name the same place."""
    if backend.is_dense(array):
        return False
    offsets = [
        sum(i * s for i, s in zip(index, array.strides, strict=True))
        for index in _indices(array.shape)
    ]
    places = sorted(offsets)
    return any(
        later - earlier < array.dtype.itemsize for earlier, later in itertools.pairwise(places)
    )


def _indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices, in row-major order."""
    return itertools.product(*map(range, shape))


def _random_leaf(random: Any, like: Tensor, non_contiguous: bool) -> Tensor:
    """Random numbers in the shape and dtype of a tensor, as a leaf that requires grad."""
    shape = (*like.shape[:-1], 2 * like.shape[-1]) if non_contiguous and like.ndim else like.shape
    drawn = random.standard_normal(shape)
    if backend.is_complex(like.dtype):
        drawn = drawn + 1j * random.standard_normal(shape)
    array = backend.to_device(
        backend.materialise(backend.as_payload(drawn, like.dtype)), backend.device_of(like.array)
    )
    out = wrap(array[..., ::2] if non_contiguous and like.ndim else array)
    make_leaf(out)
    return out


# ---------------------------------------------------------------------------- numerical derivatives


def _directions(x: Tensor) -> tuple[complex, ...]:
    """The directions in which one element can move: along 1, and for complex numbers along i."""
    return (1, 1j) if backend.is_complex(x.dtype) else (1,)


def _wide(x: Tensor | None, like: Tensor) -> Any:
    """The elements as a flat host array in double precision; zeros for None."""
    if x is None:
        return host.zeros(like.numel(), _wide_dtype(like))
    return backend.to_numpy(backend.materialise(x.array)).astype(_wide_dtype(like)).reshape(-1)


def _wide_dtype(x: Tensor) -> Any:
    return backend.complex128 if backend.is_complex(x.dtype) else backend.float64


def _numerical(check: _Check, x: Tensor, outputs: Sequence[Tensor]) -> list[dict[complex, Any]]:
    """For each output and each direction the matrix of central differences: rows are the
    output's elements, columns the input's.
    """
    found: list[dict[complex, Any]] = [
        {d: host.zeros((o.numel(), x.numel()), _wide_dtype(o)) for d in _directions(x)}
        for o in outputs
    ]
    for column, index in enumerate(_indices(x.shape)):
        for d in _directions(x):
            ahead, behind = (
                _moved(check, x, index, check.eps * d),
                _moved(check, x, index, -check.eps * d),
            )
            if len(ahead) != len(outputs) or any(
                a.shape != o.shape for a, o in zip(ahead, outputs, strict=True)
            ):
                raise GradcheckError(
                    "gradcheck: func returned outputs of different number or shape when an input"
                    " was moved a little."
                )
            for matrices, a, b, o in zip(found, ahead, behind, outputs, strict=True):
                matrices[d][:, column] = (_wide(a, o) - _wide(b, o)) / (2 * check.eps)
    return found


def _moved(check: _Check, x: Tensor, index: tuple[int, ...], step: complex) -> tuple[Tensor, ...]:
    """The outputs with one element of an input moved.

    It is moved in its own memory, so that functions that refer to the input otherwise see it too.
    """
    before = x.array[index].copy()
    x.array[index] = before + step
    try:
        return tuple(wrap(backend.materialise(o.array).copy()) for o in check.outputs())
    finally:
        x.array[index] = before


def _gradient_of(matrices: dict[complex, Any], v: complex) -> Any:
    """The Jacobian whose rows are gradients of Re(v̄ · output): ∂/∂a + i ∂/∂b."""
    along = {d: (host.conj(v) * m).real for d, m in matrices.items()}
    return along[1] + 1j * along[1j] if 1j in along else along[1]


# --------------------------------------------------------------------------- analytical derivatives


def _cotangents(out: Tensor) -> tuple[complex, ...]:
    return (1, 1j) if backend.is_complex(out.dtype) else (1,)


def _unit(out: Tensor, row: int, v: complex) -> Tensor:
    """v at one element, zeros elsewhere."""
    array = backend.materialise(backend.zeros((out.numel(),), out.dtype, out.array))
    array[row] = v
    return wrap(array.reshape(out.shape))


def _seeds(outputs: Sequence[Tensor], chosen: int, seed: Tensor) -> list[Tensor]:
    """The given cotangent for one output, zeros for the others; by position, for a function may
    return one tensor twice.
    """
    return [
        seed if i == chosen else wrap(backend.zeros(o.shape, o.dtype, o.array))
        for i, o in enumerate(outputs)
    ]


def _analytical(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], chosen: int, v: complex
) -> list[Any]:
    """For each input the matrix whose rows are the gradients that reverse mode gives for
    cotangent v at each element of the output.
    """
    out = outputs[chosen]
    rows: list[list[Any]] = [[] for _ in inputs]
    for row in range(out.numel()):
        grads = grad(
            outputs,
            inputs,
            _seeds(outputs, chosen, _unit(out, row, v)),
            retain_graph=True,
            allow_unused=True,
        )
        for x, g, collected in zip(inputs, grads, rows, strict=True):
            if g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"gradcheck: a gradient has dtype {g.dtype}, but its input has dtype {x.dtype}."
                )
            collected.append(_wide(g, x))
    return [
        (
            host.array(r).reshape(len(r), x.numel())
            if r
            else host.zeros((0, x.numel()), _wide_dtype(x))
        )
        for r, x in zip(rows, inputs, strict=True)
    ]


def _check_reverse(check: _Check, places: Sequence[int], fast: bool, dtypes: bool) -> None:
    """Reverse mode: the same twice, in the right dtypes, and equal to the numerical derivative."""
    outputs = check.outputs()
    inputs = [x for _, x in check.checked]
    differentiable = [outputs[p] for p in places]
    if dtypes:
        _check_dtypes(inputs, differentiable)
    if fast and _projections_agree(check, outputs, places, inputs):
        return
    analytical = {}
    for chosen, place in enumerate(places):
        for v in _cotangents(outputs[place]):
            first, second = (_analytical(inputs, differentiable, chosen, v) for _ in range(2))
            for (i, _), a, b in zip(check.checked, first, second, strict=True):
                _check_reentrant(check, a, b, place, i)
                analytical[place, i, v] = a
    for i, x in check.checked:
        numerical = _numerical(check, x, outputs)
        for place in places:
            for v in _cotangents(outputs[place]):
                _compare(
                    check,
                    _gradient_of(numerical[place], v),
                    analytical[place, i, v],
                    place,
                    i,
                    outputs[place],
                    x,
                    f"for cotangent {_name(v)}",
                )


def _check_reentrant(check: _Check, a: Any, b: Any, place: int, i: int) -> None:
    difference = host.abs(a - b)
    same = (a == b) | ((a != a) & (b != b)) | (difference <= check.nondet_tol)
    if not same.all():
        raise GradcheckError(
            "Backward is not reentrant: running it twice with the same input and grad_output gives"
            f" different gradients of output {place} with respect to input {i} (they differ by up"
            f" to {float(host.nanmax(difference)):.3g}; the tolerance nondet_tol is"
            f" {check.nondet_tol}). Look for randomness or for state that a backward changes."
        )


def _projections_agree(
    check: _Check, outputs: Sequence[Tensor], places: Sequence[int], inputs: Sequence[Tensor]
) -> bool:
    """fast_mode: Re(ūᵀ J v) for random u and v, numerically and by reverse mode.

    Where they disagree the full comparison finds out where.
    """
    random = backend.random_generator(2)
    vs = [_random_leaf(random, x, False) for x in inputs]
    for place in places:
        u = _random_leaf(random, outputs[place], False)
        grads = grad(outputs[place], inputs, wrap(u.array), retain_graph=True, allow_unused=True)
        for x, v, g in zip(inputs, vs, grads, strict=True):
            before = x.array.copy()
            try:
                x.array[...] = before + check.eps * v.array
                ahead = _wide(check.outputs()[place], u).copy()
                x.array[...] = before - check.eps * v.array
                behind = _wide(check.outputs()[place], u).copy()
            finally:
                x.array[...] = before
            weights = host.conj(_wide(u, u))
            numerical = float((weights * (ahead - behind)).real.sum()) / (2 * check.eps)
            analytical = float((host.conj(_wide(g, x)) * _wide(v, v)).real.sum())
            scale = float(host.abs(_wide(u, u)).sum() * host.abs(_wide(v, v)).sum())
            if not abs(numerical - analytical) <= check.atol * scale + check.rtol * abs(numerical):
                return False
    return True


class _DTypeWatch:
    """An observer that notes where the engine had to cast what a backward rule returned."""

    def __init__(self) -> None:
        self.casts: list[Event] = []
        self.found: list[str] = []

    def begin(self, event: Event) -> None:
        """Nothing to do."""

    def end(self, event: Event) -> None:
        """A cast within a pull is the engine's if its result is what the pull gave."""
        cast = primitive.registry["cast"]
        if (
            event.phase == "forward"
            and event.primitive is cast
            and event.parent is not None
            and event.parent.phase == "backward"
        ):
            self.casts.append(event)
        elif (
            event.phase == "backward"
            and isinstance(event.node, OpNode)
            and event.primitive is not cast
            and event.result is not None
        ):
            for made in self.casts:
                given, wanted = made.args[0].dtype, made.params["dtype"]
                if (
                    made.parent is event
                    and any(c is made.result for _, c in event.result)
                    and not _is_real_part(given, wanted)
                ):
                    self.found.append(
                        f"the backward rule of {event.primitive.name} returned {given} where its"
                        f" input is {wanted}"
                    )
            self.casts = [made for made in self.casts if made.parent is not event]


def _is_real_part(given: DType, wanted: DType) -> bool:
    """A real gradient of a complex input is one whose imaginary part is zero: nothing is lost."""
    return (
        backend.is_complex(wanted)
        and backend.is_floating(given)
        and 2 * given.itemsize == wanted.itemsize
    )


def _check_dtypes(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    watch = _DTypeWatch()
    strictness.dtypes = True
    try:
        with observing(watch):
            for i, out in enumerate(outputs):
                grad(
                    outputs,
                    inputs,
                    _seeds(outputs, i, _unit(out, 0, 1) if out.numel() else out),
                    retain_graph=True,
                    allow_unused=True,
                )
    except DTypeError as error:
        raise GradcheckError(f"gradcheck: a gradient has the wrong dtype: {error}") from error
    finally:
        strictness.dtypes = False
    if watch.found:
        raise GradcheckError(f"gradcheck: a gradient has the wrong dtype: {watch.found[0]}.")


# ------------------------------------------------------------------------------------- forward mode


def _check_forward(check: _Check, places: Sequence[int]) -> None:
    """Forward mode: each column of the Jacobian against the central difference along it."""
    outputs = check.outputs()
    for i, x in check.checked:
        numerical = _numerical(check, x, outputs)
        for d in _directions(x):
            columns: list[list[Any]] = [[] for _ in outputs]
            for column in range(x.numel()):
                with forward_ad.dual_level():
                    duals = list(check.inputs)
                    duals[i] = forward_ad.make_dual(x, _unit(x, column, d))
                    for o, collected in zip(check.outputs(*duals), columns, strict=True):
                        collected.append(_wide(forward_ad.unpack_dual(o).tangent, o))
            for place in places:
                o = outputs[place]
                pushed = (
                    host.array(columns[place]).reshape(x.numel(), o.numel()).T
                    if x.numel()
                    else host.zeros((o.numel(), 0))
                )
                _compare(
                    check,
                    numerical[place][d],
                    pushed,
                    place,
                    i,
                    o,
                    x,
                    f"by forward mode, for tangent {_name(d)}",
                )


# --------------------------------------------------------------------------------------- comparison


def _name(number: complex) -> str:
    return "1" if number == 1 else "1j"


def _compare(
    check: _Check,
    numerical: Any,
    analytical: Any,
    place: int,
    i: int,
    out: Tensor,
    x: Tensor,
    how: str,
) -> None:
    """Raise GradcheckError with both matrices and the largest difference unless they agree."""
    difference = host.abs(analytical - numerical)
    wrong = ~(difference <= check.atol + check.rtol * host.abs(numerical))  # NaN is wrong too
    if not wrong.any():
        return
    excess = host.where(host.isnan(difference), math.inf, host.where(wrong, difference, -1.0))
    row, column = (int(k) for k in host.unravel_index(excess.argmax(), excess.shape))
    raise GradcheckError(
        f"Jacobian mismatch for output {place} with respect to input {i} ({how}; rows: elements of"
        " the output, columns: elements of the"
        f" input),\nnumerical:\n{numerical}\nanalytical:\n{analytical}\nThe largest difference is"
        f" {float(difference[row, column]):.6g}, between output {place}{_at(row, out)} and input"
        f" {i}{_at(column, x)}: numerical {numerical[row, column]:.8g}, analytical"
        f" {analytical[row, column]:.8g}. {int(wrong.sum())} of {wrong.size} entries differ by more"
        f" than atol + rtol·|numerical| with atol {check.atol:g}, rtol {check.rtol:g}."
    )


def _at(flat: int, x: Tensor) -> str:
    """The index of a flat position, as it is written behind a tensor's name."""
    return str(list(int(k) for k in host.unravel_index(flat, x.shape))) if x.ndim else ""


# ---------------------------------------------------------------------------------- further demands


def _check_constant(check: _Check, outputs: Sequence[Tensor]) -> None:
    """No output requires grad: then nothing may change when the inputs do."""
    for i, x in check.checked:
        for place, matrices in enumerate(_numerical(check, x, outputs)):
            for matrix in matrices.values():
                if not (host.abs(matrix) <= check.atol).all():
                    raise GradcheckError(
                        f"gradcheck: output {place} does not require grad, so its derivative with"
                        f" respect to input {i} counts as zero, but its numerical derivative"
                        f" is\n{matrix}\nWas it detached, or computed under no_grad?"
                    )


def _check_zero_cotangents(check: _Check, places: Sequence[int]) -> None:
    """A gradient is linear in the incoming one, so it is zero where that is zero."""
    outputs = [o for k, o in enumerate(check.outputs()) if k in places]
    zero = [wrap(backend.zeros(o.shape, o.dtype, o.array)) for o in outputs]
    grads = grad(outputs, [x for _, x in check.checked], zero, allow_unused=True)
    for (i, x), g in zip(check.checked, grads, strict=True):
        if g is not None and host.nan_to_num(_wide(g, x)).any():
            raise GradcheckError(
                f"backward not multiplied by grad_output: the gradient of input {i} is not zero"
                f" where all incoming gradients are:\n{_wide(g, x).reshape(x.shape)}"
            )


def _check_undefined(check: _Check, places: Sequence[int]) -> None:
    """An output that was not used must count as one with a zero gradient."""
    if len(places) < 2:
        return
    outputs = [o for k, o in enumerate(check.outputs()) if k in places]
    inputs = [x for _, x in check.checked]
    random = backend.random_generator(3)
    for chosen, (place, out) in enumerate(zip(places, outputs, strict=True)):
        v = wrap(_random_leaf(random, out, False).array)
        expected = grad(
            outputs, inputs, _seeds(outputs, chosen, v), retain_graph=True, allow_unused=True
        )
        try:
            alone = grad(out, inputs, v, retain_graph=True, allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                f"backward failed where only output {place} was used ({type(error).__name__}:"
                f" {error}). A Function that calls ctx.set_materialize_grads(False) gets None for"
                " the incoming gradients of unused outputs and must treat them as zeros."
            ) from error
        for (i, x), a, b in zip(check.checked, alone, expected, strict=True):
            got, wanted = _wide(a, x), _wide(b, x)
            if not host.allclose(got, wanted, rtol=check.rtol, atol=check.atol, equal_nan=True):
                raise GradcheckError(
                    "undefined incoming gradients are not treated as zeros: the gradient of input"
                    f" {i} is\n{got.reshape(x.shape)}\nwhere only output {place} was used,"
                    f" but\n{wanted.reshape(x.shape)}\nwhere the other outputs got zeros."
                )
