"""gradcheck and gradgradcheck of every differentiable public function, in float64 and (where it
means something) complex128, with PyTorch's gradients as the oracle.

The table `CALLS` names each function of `minigrad.functions` once or more; `WITHOUT_DERIVATIVE`
names the rest; a test compares both with `__all__`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import gradcheck, gradgradcheck
from tests.helpers.tables import in_one_test

CONSTANT = """
    Size dtype newaxis empty empty_like scalar_tensor logspace normal bernoulli randint_like
    randperm detach promote_types can_cast bitwise_and bitwise_or bitwise_xor bitwise_not fix
    not_equal is_complex is_floating_point is_inference is_inference_mode_enabled is_nonzero
    all allclose any arange argmax argmin eq equal eye from_dlpack from_numpy full full_like ge
    greater greater_equal gt is_tensor isfinite isinf isnan le less less_equal linspace logical_and
    logical_not logical_or logical_xor lt manual_seed ne nonzero numel ones ones_like rand rand_like
    randint randn randn_like random_state result_type set_random_state tensor zeros zeros_like
"""
WITHOUT_DERIVATIVE = set(CONSTANT.split())
"""They make tensors, or answer questions."""

SAME = {
    **{
        "arccos": "acos",
        "arccosh": "acosh",
        "arcsin": "asin",
        "arcsinh": "asinh",
        "arctan": "atan",
        "arctanh": "atanh",
        "arctan2": "atan2",
    },
    **{
        "absolute": "abs",
        "negative": "neg",
        "subtract": "sub",
        "multiply": "mul",
        "divide": "div",
        "true_divide": "div",
        "clip": "clamp",
    },
    **{"concat": "cat", "concatenate": "cat", "swapdims": "transpose"},
    **{
        "moveaxis": "movedim",
        "resolve_conj": "positive",
        "resolve_neg": "positive",
        "conj_physical": "conj",
    },
    **{"get_rng_state": "random_state", "set_rng_state": "set_random_state"},
}
"""Other names of the same function object."""

INTERVALS = {
    "real": ((-2.0, -0.3), (0.3, 2.0)),
    "positive": ((0.3, 2.5),),
    "small": ((-0.8, -0.1), (0.1, 0.8)),
    "above one": ((1.2, 3.0),),
    "between": ((-1.8, -1.2), (-0.8, -0.2), (0.2, 0.8), (1.2, 1.8)),
    "large": ((2.0, 2.2),),
}


@dataclass(frozen=True)
class Call:
    """One way of calling a public function: `run(library, *tensors)`, with inputs of these shapes
    from this interval; `kinds`: "r" real, "c" complex.
    """

    name: str
    run: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ((2, 3),)
    domain: str = "real"
    kinds: str = "rc"
    note: str = ""
    oracle: bool = True

    @property
    def id(self) -> str:
        return f"{self.name}-{self.note}" if self.note else self.name

    def arrays(self, kind: str) -> list[Any]:
        """Inputs clear of kinks, poles and branch cuts; the same in each call."""
        rng = np.random.default_rng([len(kind), *self.id.encode()])

        def draw(shape: tuple[int, ...], domain: str) -> Any:
            bounds = np.array(INTERVALS[domain])[rng.integers(0, len(INTERVALS[domain]), shape)]
            return np.asarray(
                bounds[..., 0] + (bounds[..., 1] - bounds[..., 0]) * rng.random(shape)
            )

        parts = "small" if kind == "c" else self.domain
        return [
            draw(s, parts) * 2 + 1j * draw(s, "small") if kind == "c" else draw(s, parts)
            for s in self.shapes
        ]


def unary(names: str, domain: str = "real", kinds: str = "rc", **more: Any) -> list[Call]:
    return [
        Call(n, lambda lib, x, n=n: getattr(lib, n)(x), domain=domain, kinds=kinds, **more)
        for n in names.split()
    ]


def binary(names: str, domain: str = "real", kinds: str = "rc", **more: Any) -> list[Call]:
    """Each with operands that broadcast in several dimensions, and with one of no dimension."""
    both = [
        Call(
            n,
            lambda lib, a, b, n=n: getattr(lib, n)(a, b),
            ((2, 1, 3), (2, 1)),
            domain,
            kinds,
            "broadcast",
            **more,
        )
        for n in names.split()
    ]
    return both + [
        Call(
            n,
            lambda lib, a, b, n=n: getattr(lib, n)(a, b),
            ((), (3,)),
            domain,
            kinds,
            "0-d",
            **more,
        )
        for n in names.split()
    ]


CALLS = [
    *unary("exp exp2 expm1 sin cos tan sinh cosh tanh sigmoid square neg abs sgn conj angle clone"),
    *unary("log log2 log10 log1p sqrt rsqrt", "positive"),
    *unary("reciprocal atan asinh"),
    *unary("asin acos atanh", "small"),
    *unary("acosh", "above one"),
    *unary("erf relu sign", kinds="r"),
    *unary("floor ceil trunc round", "between", kinds="r"),
    Call(
        "softplus", lambda lib, x: (lib if lib is mg else lib.nn.functional).softplus(x), kinds="r"
    ),
    *unary("real imag view_as_real", kinds="c"),
    Call("view_as_complex", lambda lib, x: lib.view_as_complex(x), ((3, 2),), kinds="r"),
    Call("imag", lambda lib, x: lib.imag(x * 1), kinds="c", note="of a result"),
    Call("real", lambda lib, x: lib.real(x), kinds="r", note="of a real tensor"),
    *[
        Call(f, lambda lib, x, f=f: getattr(lib, f)(x, dim=-1), kinds="r")
        for f in ("softmax", "log_softmax", "logsumexp")
    ],
    Call(
        "logsumexp",
        lambda lib, x: lib.logsumexp(x, (0, 1), keepdim=True),
        kinds="r",
        note="two axes",
    ),
    Call("complex", lambda lib, a, b: lib.complex(a, b), ((2, 3), (2, 3)), kinds="r"),
    *binary("add sub mul div"),
    Call("add", lambda lib, x: lib.add(x, 2.5) + (1.5 + x), note="numbers"),
    Call("mul", lambda lib, x: lib.mul(x, 2j) + 3 * x, kinds="c", note="numbers"),
    Call("div", lambda lib, x: lib.div(x, 2.5) + 1 / x, note="numbers"),
    Call(
        "div",
        lambda lib, a, b: (
            lib.div(a, b, rounding_mode="floor") + lib.div(a, b, rounding_mode="trunc")
        ),
        ((3,), (3,)),
        "large",
        "r",
        "rounded",
    ),
    Call(
        "mul",
        lambda lib, x, z: lib.mul(x, z) + lib.div(x, z) + lib.sub(x, z),
        ((2, 3), (3,)),
        kinds="m",
        note="mixed",
    ),
    *binary("atan2 logaddexp", kinds="r"),
    *binary("fmod remainder", "large", kinds="r"),
    *binary("floor_divide", "large", kinds="r", oracle=False),
    Call(
        "fmod",
        lambda lib, a: lib.fmod(a, 0.95) + lib.remainder(a, -0.95),
        domain="between",
        kinds="r",
        note="numbers",
    ),
    Call("maximum", lambda lib, a, b: lib.maximum(a, b * 5), ((2, 3), (3,)), kinds="r"),
    Call("minimum", lambda lib, a, b: lib.minimum(a, b * 5), ((2, 3), (3,)), kinds="r"),
    *binary("pow", "positive"),
    *[Call("pow", lambda lib, x, n=n: lib.pow(x, n), note=str(n)) for n in (0, 1, 2, 3, 4, -1, -2)],
    *[
        Call("pow", lambda lib, x, n=n: lib.pow(x, n), domain="positive", note=str(n))
        for n in (0.5, -1.5, 2.5)
    ],
    Call("pow", lambda lib, x: lib.pow(2.0, x), note="number to a tensor"),
    Call(
        "pow", lambda lib, x: x ** (0.5 + 1j), kinds="c", note="complex exponent", domain="positive"
    ),
    Call("where", lambda lib, a, b: lib.where(abs(a) > 0.7, a, b), ((2, 3), (3,))),
    Call(
        "where",
        lambda lib, x: lib.where(abs(x) > 0.7, x, 0.0) + lib.where(abs(x) > 0.7, 1.0, x),
        note="numbers",
    ),
    Call("clamp", lambda lib, x: lib.clamp(x, -1.0, 1.0), domain="between", kinds="r"),
    Call(
        "clamp",
        lambda lib, x: lib.clamp(x, min=0.0) + lib.clamp(x, max=0.9),
        domain="between",
        kinds="r",
        note="one bound",
    ),
    Call(
        "clamp",
        lambda lib, x, a: lib.clamp(x, a - 5, a + 0.1),
        ((2, 3), (3,)),
        "between",
        "r",
        "tensors",
        False,
    ),
    *[
        Call(
            f,
            lambda lib, x, f=f, d=d, k=k: getattr(lib, f)(x, d, keepdim=k),
            ((2, 3, 2),),
            note=f"{d}, {k}",
        )
        for f in ("sum", "mean")
        for d in (0, (0, -1))
        for k in (False, True)
    ],
    *[Call(f, lambda lib, x, f=f: getattr(lib, f)(x), note="all") for f in ("sum", "mean")],
    *[Call(f, lambda lib, x, f=f: getattr(lib, f)(x, dim=1), kinds="r") for f in ("amax", "amin")],
    *[
        Call(
            f,
            lambda lib, x, f=f: getattr(lib, f)(x, dim=(0, 1), keepdim=True),
            kinds="r",
            note="two axes",
        )
        for f in ("amax", "amin")
    ],
    Call("reshape", lambda lib, x: lib.reshape(x, (3, -1))),
    *unary("positive"),
    Call("clamp_min", lambda lib, x: lib.clamp_min(x, 0.0), kinds="r"),
    Call("clamp_max", lambda lib, x: lib.clamp_max(x, 0.0), kinds="r"),
    Call("rsub", lambda lib, a, b: lib.rsub(a, b, alpha=2), ((2, 3), (2, 3))),
    Call(
        "polar", lambda lib, a, b: lib.polar(a, b), ((2, 3), (2, 3)), domain="positive", kinds="r"
    ),
    Call("ravel", lambda lib, x: lib.ravel(x)),
    Call("reshape", lambda lib, x: lib.reshape(lib.transpose(x, 0, 1), (6,)), note="a copy"),
    Call("flatten", lambda lib, x: lib.flatten(x, 1), ((2, 3, 2),)),
    Call("squeeze", lambda lib, x: lib.squeeze(x), ((1, 3, 1),)),
    Call("squeeze", lambda lib, x: lib.squeeze(x, 0), ((1, 3, 1),), note="dim"),
    Call("unsqueeze", lambda lib, x: lib.unsqueeze(x, 1)),
    Call("permute", lambda lib, x: lib.permute(x, (2, 0, 1)), ((2, 3, 1),)),
    Call("swapaxes", lambda lib, x: lib.swapaxes(x, axis0=0, axis1=-1)),
    Call("transpose", lambda lib, x: lib.transpose(x, 0, -1), ((2, 3, 2),)),
    Call("t", lambda lib, x: lib.t(x)),
    Call("movedim", lambda lib, x: lib.movedim(x, 0, -1), ((2, 3, 1),)),
    Call("broadcast_to", lambda lib, x: lib.broadcast_to(x, (4, 2, 3)), ((2, 1),)),
    Call(
        "sum_to",
        lambda lib, x: lib.sum_to(x, (2, 1)) if lib is mg else x.sum_to_size(2, 1),
        ((4, 2, 3),),
    ),
    Call("flip", lambda lib, x: lib.flip(x, (0, 1))),
    Call("cat", lambda lib, a, b: lib.cat([a, b, a], dim=1), ((2, 1), (2, 2))),
    Call("cat", lambda lib, x, z: lib.cat([x, z]), ((2, 3), (1, 3)), kinds="m", note="mixed"),
    Call("stack", lambda lib, a, b: lib.stack([a, b], dim=-1), ((2, 3), (2, 3))),
    *[
        Call("matmul", lambda lib, a, b: lib.matmul(a, b), (a, b), note=f"{a} @ {b}")
        for a, b in [
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3, 2)),
            ((2, 1, 2, 3), (3, 3, 2)),
            ((2, 2, 3), (3,)),
            ((3,), (2, 3, 2)),
            ((2, 2, 3), (3, 2)),
        ]
    ],
    Call(
        "matmul",
        lambda lib, x, z: lib.matmul(x, z),
        ((2, 3), (3, 2)),
        kinds="m",
        note="mixed",
        oracle=False,
    ),
    Call("getitem", lambda lib, x: x[1, ::2], ((2, 3),)),
    Call(
        "getitem",
        lambda lib, x: x[:, [0, 2, 0]] * x[..., None, 1:2][:, 0],
        ((2, 3),),
        note="repeated",
    ),
    Call("getitem", lambda lib, x: x[abs(x) > 0.7], ((2, 3),), note="mask"),
]
CASES = [
    pytest.param(c, k, id=f"{c.id}-{ {'r': 'real', 'c': 'complex', 'm': 'mixed'}[k] }")
    for c in CALLS
    for k in c.kinds
]


def leaves(call: Call, kind: str, lib: Any = mg) -> list[Any]:
    """The inputs as leaves; for "m" the first is real, the others complex."""
    arrays = [*call.arrays("r")[:1], *call.arrays("c")[1:]] if kind == "m" else call.arrays(kind)
    return [lib.tensor(a, requires_grad=True) for a in arrays]


def test_every_function_is_named() -> None:
    """A new public function belongs into CALLS (or, if it has no derivative, into
    WITHOUT_DERIVATIVE).
    """
    named = {c.name for c in CALLS}
    assert named | set(SAME) | WITHOUT_DERIVATIVE == set(mg.functions.__all__)
    assert not named & WITHOUT_DERIVATIVE
    assert all(getattr(mg, alias) is getattr(mg, original) for alias, original in SAME.items())


@in_one_test
@pytest.mark.parametrize(("call", "kind"), CASES)
def test_every_function_passes_gradcheck(call: Call, kind: str) -> None:
    inputs = leaves(call, kind)
    assert gradcheck(
        lambda *x: call.run(mg, *x), inputs, check_forward_ad=True, check_grad_dtypes=True
    )


@in_one_test
@pytest.mark.parametrize(("call", "kind"), CASES)
def test_every_function_passes_gradgradcheck(call: Call, kind: str) -> None:
    """Along random directions; tests/ops checks each operation in all modes."""
    inputs = leaves(call, kind)
    run = lambda *x: call.run(mg, *x)
    assert gradgradcheck(
        run,
        inputs,
        gen_non_contig_grad_outputs=True,
        fast_mode=True,
        check_rev_over_fwd=True,
    )


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(("call", "kind"), [c for c in CASES if c.values[0].oracle])
def test_values_and_both_gradients_agree_with_pytorch(torch: Any, call: Call, kind: str) -> None:
    """The result, the gradient for a random cotangent, and the gradient of the gradient's
    squared length.
    """

    def derivatives(lib: Any) -> list[Any]:
        x = leaves(call, kind, lib)
        y = call.run(lib, *x)
        rng = np.random.default_rng(0)
        seed = rng.standard_normal(tuple(y.shape)) * (1 + 0.5j if y.is_complex() else 1)
        first = lib.autograd.grad(y, x, lib.tensor(seed), create_graph=True, allow_unused=True)
        length = sum((g * g.conj()).real.sum() for g in first if g is not None)
        second = (
            lib.autograd.grad(length, x, allow_unused=True)
            if length.requires_grad
            else [None] * len(x)
        )
        return [y, *first, *second]

    host = lambda t: (
        t.detach().resolve_conj().numpy(force=True)
        if hasattr(t, "resolve_conj")
        else t.detach().numpy()
    )
    for ours, theirs in zip(derivatives(mg), derivatives(torch), strict=True):
        if (
            ours is None or theirs is None
        ):  # no path, or one along which everything is zero: both mean the same
            assert all(t is None or not host(t).any() for t in (ours, theirs))
            continue
        got, want = host(ours), host(theirs)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
