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

import functools
from collections.abc import Callable
from typing import Any

from ... import backend
from ...core.tensor import Tensor, current_node
from ...grad_mode import enable_grad
from .batched import check_batched_forward, check_batched_reverse
from .comparison import GradcheckError, GradientCheck, random_leaf
from .forward import check_forward, pushed_forward
from .inputs import check_inputs
from .numerical import check_constant
from .reverse import check_reverse, check_undefined, check_zero_cotangents, pulled_backward

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Func = Callable[..., Any]


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
    check_batched_forward_grad: bool = False,
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
    check_batched_grad, check_batched_forward_grad: a backward (forward) pass over a batch of
    incoming gradients (tangents) gives what single passes give; check_forward_ad,
    check_backward_ad: the modes to check; fast_mode: compare one random projection uᵀ J v of each
    Jacobian instead of all its entries. check_sparse_nnz exists for PyTorch's sake and must stay
    False. Raises ValueError where nothing requires grad, GradcheckError (always) for inputs whose
    elements overlap in memory. Warns (UserWarning) below double precision.
    """
    _check_options(
        check_sparse_nnz,
        check_forward_ad or check_backward_ad,
        check_batched_forward_grad and not check_forward_ad,
    )
    given = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    check = GradientCheck(func, given, eps, atol, rtol, nondet_tol)
    with enable_grad(), backend.ignore_float_errors():
        check_inputs(check)
        try:
            outputs = check.outputs()
            places = [i for i, o in enumerate(outputs) if current_node(o) is not None]
            if not places:
                check_constant(check, outputs)
            if places and check_backward_ad:
                check_reverse(check, places, fast_mode, check_grad_dtypes)
                check_zero_cotangents(check, places)
            if places and check_backward_ad and check_undefined_grad:
                check_undefined(check, places)
            if places and check_backward_ad and check_batched_grad:
                check_batched_reverse(check, places)
            if places and check_forward_ad:
                check_forward(check, places, fast_mode)
            if places and check_batched_forward_grad:
                check_batched_forward(check, places)
        except GradcheckError:
            if raise_exception:
                raise
            return False
    return True


def _check_options(sparse: bool, any_mode: bool, batches_alone: bool) -> None:
    """Raise ValueError for what is not offered, and where nothing is asked for."""
    if sparse:
        raise ValueError(
            "gradcheck: check_sparse_nnz=True is about sparse tensors, which minigrad does not"
            " have; leave it out."
        )
    if batches_alone:
        raise ValueError("gradcheck: check_batched_forward_grad=True needs check_forward_ad=True.")
    if not any_mode:
        raise ValueError(
            "gradcheck: check_forward_ad and check_backward_ad are both off, so there is nothing to"
            " check."
        )


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
    check = GradientCheck(func, given, eps, atol, rtol, nondet_tol)
    with enable_grad():
        outputs = [o for o in check.outputs() if current_node(o) is not None]
    cotangents = _cotangents(outputs, grad_outputs, gen_non_contig_grad_outputs)
    again = functools.partial(
        gradcheck,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
    )
    passed = again(
        pulled_backward(check), (*given, *cotangents), check_forward_ad=check_fwd_over_rev
    )
    if passed and check_rev_over_fwd:
        random = backend.random_generator(1)
        tangents = tuple(random_leaf(random, x, False) for _, x in check.checked)
        passed = again(pushed_forward(check), (*given, *tangents))
    return passed


def _cotangents(outputs: list[Tensor], given: Any, non_contiguous: bool) -> tuple[Any, ...]:
    """The given cotangents, or random ones."""
    if given is None:
        random = backend.random_generator(0)
        return tuple(random_leaf(random, o, non_contiguous) for o in outputs)
    found = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(found) != len(outputs):
        raise ValueError(
            f"gradgradcheck: got {len(found)} grad_outputs for {len(outputs)} differentiable"
            " outputs; give one for each."
        )
    return found
