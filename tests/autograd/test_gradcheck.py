"""`gradcheck` and `gradgradcheck`: right derivatives pass, every planted mistake is found, and the
message says where.

PyTorch's own gradcheck is the oracle for verdicts.
"""

import itertools
import re
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import Function, gradcheck, gradgradcheck
from minigrad.autograd.gradcheck import GradcheckError
from tests.helpers.tables import in_one_test


def real(*shape: int, seed: int = 0) -> mg.Tensor:
    return mg.tensor(np.random.default_rng(seed).uniform(0.5, 2.0, shape), requires_grad=True)


def imaginary(*shape: int, seed: int = 0) -> mg.Tensor:
    rng = np.random.default_rng(seed)
    return mg.tensor(
        rng.uniform(0.5, 2.0, shape) + 1j * rng.uniform(0.5, 2.0, shape), requires_grad=True
    )


def function(forward, backward, **more):
    methods = {"forward": forward, "backward": backward, **more}
    return type(
        "Planted", (Function,), {key: staticmethod(value) for key, value in methods.items()}
    ).apply


def kept(forward):
    """A forward that saves its tensor arguments."""
    return lambda ctx, *args: (ctx.save_for_backward(*args), forward(*args))[1]


# --------------------------------------------------------------------------- right derivatives pass


def test_one_tensor_returned_twice() -> None:
    """Each of the outputs has its own incoming gradient, though they are one tensor."""

    def twice(x):
        y = x**3
        return y, y, x * 2

    x = real(3)
    assert gradcheck(twice, x, check_forward_ad=True, check_grad_dtypes=True)
    assert gradcheck(twice, x, fast_mode=True)
    assert gradgradcheck(twice, x)
    wrong = function(kept(lambda x: x * 3), lambda ctx, g: g * 2)
    with pytest.raises(GradcheckError, match="output 0"):
        gradcheck(lambda x: (lambda y: (y, y))(wrong(x)), x)


def test_real_functions_of_several_arguments_and_outputs() -> None:
    f = lambda w, x, c: (w @ x.sin() + c, (x * x).sum(), x.argmax(), (c * 2).detach())
    inputs = real(2, 3), real(3, seed=1), mg.tensor([0.5, 0.25], dtype=mg.float64)
    for mode in (
        {},
        {"check_forward_ad": True},
        {"fast_mode": True},
        {"check_forward_ad": True, "check_backward_ad": False},
    ):
        assert gradcheck(f, inputs, **mode) is True
    assert gradgradcheck(f, inputs, check_fwd_over_rev=True, check_rev_over_fwd=True) is True
    assert gradgradcheck(f, inputs, fast_mode=True) is True


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z * z * 2j,
        lambda z: z.exp().conj(),
        lambda z: (z.abs(), z.angle(), z.real * z.imag),
        lambda z: mg.complex(z.imag, z.real) ** 2,
        lambda z: (z * z.conj()).real.sum(),
    ],
)
def test_complex_functions_pass_in_every_mode(f) -> None:
    z = imaginary(3)
    assert gradcheck(f, z, check_forward_ad=True)
    assert gradcheck(f, z, fast_mode=True)
    assert gradgradcheck(f, z, check_fwd_over_rev=True, check_rev_over_fwd=True)


def test_complex_and_real_arguments_together() -> None:
    f = lambda x, z: (x * z, x.sin() * z.abs())
    assert gradcheck(f, (real(3), imaginary(3)), check_forward_ad=True)
    assert gradgradcheck(f, (real(3), imaginary(3)))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (2, 1, 2)])
def test_arrays_of_all_shapes_pass(shape) -> None:
    assert gradcheck(lambda x: x.exp(), real(*shape), check_forward_ad=True)
    assert gradgradcheck(lambda x: x.exp(), real(*shape), gen_non_contig_grad_outputs=True)


def test_inputs_that_are_not_contiguous_or_not_leaves_or_not_checked() -> None:
    strided = mg.tensor(np.arange(12.0).reshape(3, 4) + 1)[::-1, ::2].detach().requires_grad_()
    assert not strided.is_contiguous()
    before = strided.tolist()
    assert gradcheck(lambda x: x.log() * x.t().reshape(3, 2), strided)
    assert strided.tolist() == before
    x = real(3)
    assert gradcheck(lambda y, n, nothing: y**n, (x * 2, 3, None))
    assert x.grad is None


def test_a_function_that_refers_to_its_input_otherwise() -> None:
    x = real(2)
    assert gradcheck(lambda y: x * y, x)


def test_grad_outputs_of_ones_own() -> None:
    x = real(3)
    assert gradgradcheck(lambda x: x**3, x, grad_outputs=real(3, seed=5))
    assert gradgradcheck(lambda x: (x**3, x.sum()), x, (real(3, seed=5), real(seed=6)))
    with pytest.raises(ValueError, match="2 grad_outputs for 1 differentiable outputs"):
        gradgradcheck(lambda x: x**3, x, (real(3), real(3)))


def test_positional_arguments_in_the_documented_order() -> None:
    assert gradcheck(lambda x: x**2, (real(2),), 1e-6, 1e-5, 1e-3, True, False, 0.0, True, False)
    assert gradgradcheck(
        lambda x: x**2, (real(2),), None, 1e-6, 1e-5, 1e-3, False, True, 0.0, True, False
    )


def test_under_no_grad() -> None:
    with mg.no_grad():
        assert gradcheck(lambda x: x**2, real(2))


# ----------------------------------------------------------------------- planted mistakes are found

PLANTED = {
    "wrong scale": (
        function(kept(lambda x: x**2), lambda ctx, g: 2.01 * ctx.saved_tensors[0] * g),
        real(3),
        "Jacobian mismatch",
    ),
    "missing term": (
        function(kept(lambda x: x * x.exp()), lambda ctx, g: g * ctx.saved_tensors[0].exp()),
        real(3),
        "Jacobian mismatch",
    ),
    "wrong sign of a single element": (
        function(
            lambda ctx, x: x * 1, lambda ctx, g: g * mg.tensor([1.0, 1.0, -1.0], dtype=mg.float64)
        ),
        real(3),
        r"between output 0\[2\] and input 0\[2\]: numerical 1(\.0+\d*)?, analytical -1",
    ),
    "missing conjugation": (
        function(kept(lambda z: z * z), lambda ctx, g: 2 * ctx.saved_tensors[0] * g),
        imaginary(2),
        "Jacobian mismatch",
    ),
    "missing factor i": (
        function(lambda ctx, z: z * 1j, lambda ctx, g: g * 1j),
        imaginary(2),
        r"for cotangent 1;",
    ),
    "right for cotangent 1 only": (
        function(lambda ctx, z: z * 1, lambda ctx, g: mg.complex(g.real, g.real * 0)),
        imaginary(2),
        r"for cotangent 1j",
    ),
    "half the transpose": (
        function(lambda ctx, x: x.t() * 1, lambda ctx, g: g.reshape(2, 2)),
        real(2, 2),
        "Jacobian mismatch",
    ),
    "gradient where there is none": (
        function(lambda ctx, x: x.detach() * 0 + 3, lambda ctx, g: g),
        real(3),
        "Jacobian mismatch",
    ),
    "no gradient where there is one": (
        function(lambda ctx, x: x * 2, lambda ctx, g: None),
        real(3),
        "Jacobian mismatch",
    ),
    "incoming gradient ignored": (
        function(kept(lambda x: (x**2).sum()), lambda ctx, g: 2 * ctx.saved_tensors[0]),
        real(3),
        "not multiplied by grad_output",
    ),
    "not a number": (
        function(lambda ctx, x: x * 1, lambda ctx, g: g * mg.nan),
        real(2),
        "Jacobian mismatch",
    ),
    "history lost": (
        lambda x: (x.detach() ** 2).sum(),
        real(3),
        r"output 0 does not require grad.*detached",
    ),
    "mistake in the second output": (
        function(
            kept(lambda x: (x * 2, x.sum() ** 2)),
            lambda ctx, g, h: g * 2 + 3 * h * ctx.saved_tensors[0].sum(),
        ),
        real(3),
        "mismatch for output 1 with respect to input 0",
    ),
    "mistake in the second input": (
        function(
            kept(lambda a, b: a * b),
            lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[1]),
        ),
        (real(3), real(3, seed=1)),
        "mismatch for output 0 with respect to input 1",
    ),
}


@in_one_test
@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_mistake_is_found(name) -> None:
    f, inputs, message = PLANTED[name]
    with pytest.raises(GradcheckError, match=re.compile(message, re.DOTALL)):
        gradcheck(f, inputs)
    assert gradcheck(f, inputs, raise_exception=False) is False
    assert gradcheck(f, inputs, raise_exception=False, fast_mode=True) is False


def test_planted_forward_mode_mistake() -> None:
    f = function(
        kept(lambda x: x**2),
        lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
        jvp=lambda ctx, t: 3 * ctx.saved_tensors[0] * t,
    )
    assert gradcheck(f, real(3))
    with pytest.raises(GradcheckError, match="by forward mode, for tangent 1"):
        gradcheck(f, real(3), check_forward_ad=True)
    g = function(
        kept(lambda z: z * z),
        lambda ctx, g: g,
        jvp=lambda ctx, t: 2 * ctx.saved_tensors[0] * t.conj(),
    )
    with pytest.raises(GradcheckError, match="by forward mode, for tangent 1j"):
        gradcheck(g, imaginary(3), check_forward_ad=True, check_backward_ad=False)


def test_a_random_gradient_is_found_unless_it_is_tolerated() -> None:
    noise = np.random.default_rng(0)
    f = function(lambda ctx, x: x * 1, lambda ctx, g: g + 1e-9 * noise.standard_normal() * g)
    with pytest.raises(
        GradcheckError,
        match=r"Backward is not reentrant.*output 0 with respect to input 0.*nondet_tol is 0",
    ):
        gradcheck(f, real(3))
    assert gradcheck(f, real(3), nondet_tol=1e-7)
    assert not gradcheck(f, real(3), nondet_tol=1e-13, raise_exception=False)
    assert not gradcheck(lambda x: x * noise.standard_normal(), real(3), raise_exception=False)


def test_planted_undefined_gradients() -> None:
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    crash = function(forward, lambda ctx, g, h: g * 2 + h * 3)
    with pytest.raises(
        GradcheckError,
        match=r"backward failed where only output . was used \(TypeError.*set_materialize_grads",
    ):
        gradcheck(crash, real(2))
    one_for_none = function(
        forward, lambda ctx, g, h: (0 if g is None else g * 2) + (3 if h is None else h * 3)
    )
    with pytest.raises(
        GradcheckError,
        match=re.compile(
            "undefined incoming gradients are not treated as zeros.*where only output 0 was used",
            re.DOTALL,
        ),
    ):
        gradcheck(one_for_none, real(2))
    for f in (crash, one_for_none):  # no derivative is wrong, as long as all outputs are used
        assert gradcheck(f, real(2), check_undefined_grad=False)
    careful = function(
        forward, lambda ctx, g, h: (0 if g is None else g * 2) + (0 if h is None else h * 3)
    )
    assert gradcheck(careful, real(2))


def test_a_gradient_of_the_wrong_dtype_is_found_where_asked_for() -> None:
    f = function(lambda ctx, x: x * 2, lambda ctx, g: g.to(mg.float32) * 2)
    assert gradcheck(f, real(2))  # the engine casts it
    with pytest.raises(
        GradcheckError,
        match=(
            r"wrong dtype: Planted\.backward returned a gradient of dtype float32 for argument 0 of"
            r" dtype float64"
        ),
    ):
        gradcheck(f, real(2), check_grad_dtypes=True)
    assert gradcheck(
        function(lambda ctx, x: x * 2, lambda ctx, g: g.to(mg.float32).to(g.dtype) * 2),
        real(2),
        check_grad_dtypes=True,
    )
    assert gradcheck(lambda x: x.to(mg.complex128) * 2j + x.sin(), real(2), check_grad_dtypes=True)


def test_planted_dtype_of_an_operation(monkeypatch) -> None:
    sine = mg.core.primitive.registry["sin"]
    monkeypatch.setattr(
        sine.pull_rules[0],
        "function",
        lambda g, x: mg.core.primitive.registry["cast"](
            g * mg.cos(x).array, dtype=mg.backend.float32
        ),
    )
    with pytest.raises(
        GradcheckError,
        match="wrong dtype: the backward rule of sin returned float32 where its input is float64",
    ):
        gradcheck(lambda x: x.sin(), real(2), check_grad_dtypes=True)


def test_planted_mistake_with_cotangents_that_are_not_contiguous() -> None:
    def backward(ctx, g):
        array = g.detach().numpy()
        # right only if the memory is row-major
        in_a_row = np.lib.stride_tricks.as_strided(array, strides=np.empty(array.shape).strides)
        return g * 2 + (mg.tensor(in_a_row.copy()) - g.detach())

    f = function(lambda ctx, x: x * 2, backward)
    assert gradcheck(f, real(2, 3))
    assert gradgradcheck(f, real(2, 3))
    with pytest.raises(GradcheckError, match="with respect to input 1"):
        gradgradcheck(f, real(2, 3), gen_non_contig_grad_outputs=True)


def test_planted_mistake_in_the_second_derivative() -> None:
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x.detach()  # right, but a constant for the second derivative

    f = function(kept(lambda x: x**2), backward)
    assert gradcheck(f, real(3))
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 0"):
        gradgradcheck(f, real(3))
    assert not gradgradcheck(f, real(3), raise_exception=False)


def test_planted_mistakes_that_only_mixed_modes_meet() -> None:
    constant = function(
        kept(lambda x: x**2),
        lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
        jvp=lambda ctx, t: 2 * ctx.saved_tensors[0].detach() * t,
    )
    assert gradcheck(constant, real(3), check_forward_ad=True)
    assert gradgradcheck(constant, real(3))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(constant, real(3), check_rev_over_fwd=True)
    double = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 3)
    inside = function(
        kept(lambda x: x**2),
        lambda ctx, g: double(ctx.saved_tensors[0]) * g,
        jvp=lambda ctx, t: 2 * ctx.saved_tensors[0] * t,
    )
    assert gradcheck(inside, real(3), check_forward_ad=True)
    assert gradgradcheck(inside, real(3), check_rev_over_fwd=True)
    with pytest.raises(GradcheckError, match="by forward mode"):
        gradgradcheck(inside, real(3), check_fwd_over_rev=True)


# ----------------------------------------------------------------------------------------- messages


def test_the_message_shows_everything() -> None:
    f = function(
        lambda ctx, x, y: x * 2 + y,
        lambda ctx, g: (g * 2, g * mg.tensor([[1.0, 1.0], [1.5, 1.25]], dtype=mg.float64)),
    )
    with pytest.raises(GradcheckError) as caught:
        gradcheck(f, (real(2, 2), real(2, 2)))
    text = str(caught.value)
    assert "Jacobian mismatch for output 0 with respect to input 1" in text
    assert "numerical:\n[[1. " in text.replace("0.99999999", "1. ")
    assert (
        "analytical:\n[[1.   0.   0.   0.  ]\n [0.   1.   0.   0.  ]\n [0.   0.   1.5  0.  ]\n [0. "
        "  0.   0.   1.25]]" in text
    )
    assert (
        "The largest difference is 0.5, between output 0[1, 0] and input 1[1, 0]: numerical" in text
    )
    assert "analytical 1.5. 2 of 16 entries" in text
    assert "atol 1e-05, rtol 0.001" in text


def test_nothing_requires_grad() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x * 2, mg.tensor([1.0], dtype=mg.float64), raise_exception=False)


def test_precision_below_double_is_warned_of() -> None:
    with pytest.warns(
        UserWarning, match=r"input 1 requires gradient and is float32, not of double precision"
    ):
        gradcheck(
            lambda x, y: x * y, (real(2), mg.ones(2, requires_grad=True)), raise_exception=False
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gradcheck(lambda x: x * 2, imaginary(2))
    assert caught == []


@pytest.mark.filterwarnings("ignore:.*double precision:UserWarning")
@pytest.mark.parametrize("dtype", [mg.float32, mg.complex64])
def test_single_precision_passes_with_tolerances_of_its_own(dtype) -> None:
    x = mg.ones(3, dtype=dtype, requires_grad=True)
    assert gradcheck(lambda x: x.sin(), x, eps=1e-2, atol=1e-2, rtol=1e-2, check_forward_ad=True)
    assert not gradcheck(lambda x: x.sin(), x, eps=1e-9, raise_exception=False)


@pytest.mark.parametrize("layout", ["expanded", "sliding windows"])
def test_inputs_that_overlap_themselves_are_refused(layout) -> None:
    if layout == "expanded":
        x = mg.ones(1, dtype=mg.float64).expand(3).detach().requires_grad_()
    else:
        x = mg.from_numpy(
            np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2, writeable=True)
        ).requires_grad_()
    for options in ({}, {"raise_exception": False}):
        with pytest.raises(GradcheckError, match=r"input 0 .* has overlapping memory.*clone"):
            gradcheck(lambda x: x * 2, x, **options)
    assert gradcheck(lambda x: x * 2, x.detach().clone().requires_grad_())
    with pytest.raises(GradcheckError, match=r"input 1 .* has overlapping memory"):
        gradgradcheck(
            lambda x: x * 2,
            real(3),
            mg.ones(1, dtype=mg.float64).expand(3).detach().requires_grad_(),
        )


# ------------------------------------------------------------------------------- batches of passes


@pytest.mark.parametrize("fast", [True, False])
def test_batches_of_right_derivatives_pass(fast) -> None:
    """Real and complex, several inputs and outputs, one of them unused, empty, without axes."""
    both = {"check_batched_grad": True, "check_batched_forward_grad": True}
    for f, inputs in (
        (lambda x, y: (x @ y, x.sum(), y * 2), (real(2, 3), real(3, 2))),
        (lambda x: (x * x.conj()).real, (imaginary(3),)),
        (lambda x: x.exp(), (imaginary(2),)),
        (lambda x: mg.nn.functional.conv2d(x, x[:1, :1, :2, :2]), (real(1, 1, 3, 3),)),
        (lambda x: (x.max(0)[0], x.sort(0)[0], x.cumsum(0)), (real(3, 2),)),
        (lambda x: x.sum() * 2, (real(0),)),
        (lambda x: x * 2, (real(1)[0].detach().requires_grad_(),)),
    ):
        assert gradcheck(f, inputs, fast_mode=fast, check_forward_ad=True, **both)
        assert gradgradcheck(f, inputs, fast_mode=fast, check_batched_grad=True)


def test_a_backward_that_fails_or_differs_in_a_batch_is_found(torch) -> None:
    inside = function(kept(lambda x: x * 2), lambda ctx, g: g * 2 + 0 * g.sum().item())
    differs = function(
        kept(lambda x: x * 2), lambda ctx, g: g * (2 if type(g.array) is np.ndarray else 3)
    )
    x = real(3)
    for f in (inside, differs):
        assert gradcheck(f, x)
    with pytest.raises(GradcheckError, match="a batch of incoming gradients failed"):
        gradcheck(inside, x, check_batched_grad=True)
    with pytest.raises(GradcheckError, match="the gradient of output 0 with respect to input 0 is"):
        gradcheck(differs, x, check_batched_grad=True)
    assert gradcheck(differs, x, check_batched_grad=True, raise_exception=False) is False

    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * g.sum().item()

    its = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Inside.apply, its)
    with pytest.raises(RuntimeError, match="batched gradients"):
        torch.autograd.gradcheck(Inside.apply, its, check_batched_grad=True)


def test_a_forward_mode_that_fails_or_differs_in_a_batch_is_found() -> None:
    rules = {
        "failed": lambda ctx, t: t * 2 + 0 * t.sum().item(),
        "the tangent of output 0 along input 0 is": lambda ctx, t: (
            t * (2 if type(t.array) is np.ndarray else 3)
        ),
    }
    for message, rule in rules.items():
        f = function(kept(lambda x: x * 2), lambda ctx, g: g * 2, jvp=rule)
        assert gradcheck(f, real(3), check_forward_ad=True)
        with pytest.raises(GradcheckError, match=message):
            gradcheck(f, real(3), check_forward_ad=True, check_batched_forward_grad=True)


def test_read_only_memory() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.raises(GradcheckError, match="may only be read"):
        gradcheck(lambda x: x * 2, mg.from_numpy(array).requires_grad_())


def test_options_that_cannot_be_offered_say_so() -> None:
    with pytest.raises(ValueError, match="check_sparse_nnz=True is about sparse tensors"):
        gradcheck(lambda x: x * 2, real(2), check_sparse_nnz=True)
    with pytest.raises(ValueError, match="needs check_forward_ad=True"):
        gradcheck(lambda x: x * 2, real(2), check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="nothing to check"):
        gradcheck(lambda x: x * 2, real(2), check_backward_ad=False)


def test_functions_that_return_something_else() -> None:
    with pytest.raises(ValueError, match="output 1 is float"):
        gradcheck(lambda x: (x * 2, 3.0), real(2))
    sizes = iter(range(1, 100))
    with pytest.raises(GradcheckError, match="different number, shape or dtype"):
        gradcheck(lambda x: x.sum().expand(next(sizes)), real(2), fast_mode=False)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("side", [1, -1], ids=["ahead", "behind"])
def test_outputs_whose_shape_or_dtype_depends_on_values_are_refused(fast, side) -> None:
    x = mg.ones(1, dtype=mg.float64, requires_grad=True)
    moved = lambda x: x.item() * side > side
    for f in (
        lambda x: x.reshape(1, 1) if moved(x) else x,
        lambda x: mg.cat([x, x]) if moved(x) else x,
        lambda x: x.to(mg.float32) if moved(x) else x,
    ):
        with pytest.raises(GradcheckError, match="different number, shape or dtype"):
            gradcheck(f, (x,), fast_mode=fast)


def test_inputs_keep_their_values_after_an_exception() -> None:
    calls = []

    def fragile(x):
        calls.append(0)
        if len(calls) == 4:
            raise ZeroDivisionError
        return x * 2

    x = real(3)
    before = x.tolist()
    with pytest.raises(ZeroDivisionError):
        gradcheck(fragile, x)
    assert x.tolist() == before


def test_large_input_in_fast_mode() -> None:
    w, x = real(60, 80), real(80, seed=1)
    calls = []
    f = lambda w, x: calls.append(1) or (w @ x).tanh()
    assert gradcheck(f, (w, x), fast_mode=True, check_forward_ad=True)
    assert len(calls) < 20


def test_fast_mode_sees_a_backward_and_a_jvp_that_are_wrong_or_differ_from_run_to_run() -> None:
    numbers = itertools.count(1)

    class F(Function):
        @staticmethod
        def forward(ctx, x, way):
            ctx.way = way
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * (2 + 1e-9 * next(numbers) if ctx.way == "other each time" else 2), None

        @staticmethod
        def jvp(ctx, t, _):
            return t * (2.5 if ctx.way == "wrong jvp" else 2)

    for way, message in (("other each time", "not reentrant"), ("wrong jvp", "by forward mode")):
        with pytest.raises(GradcheckError, match=message):
            gradcheck(
                lambda x, way=way: F.apply(x, way), real(3), fast_mode=True, check_forward_ad=True
            )
    assert gradcheck(lambda x: F.apply(x, "right"), real(3), fast_mode=True, check_forward_ad=True)


# ------------------------------------------------------------------------------- PyTorch's verdicts


@pytest.mark.oracle
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("kind", ["real", "complex", "two outputs", "second derivative"])
def test_verdicts_like_pytorch(torch, kind, right) -> None:
    def verdict(lib, function_class, check, check_again) -> bool:
        factor = 2 if right else 2.1

        class F(function_class):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return (x * x, x.sum()) if kind == "two outputs" else x * x

            @staticmethod
            def backward(ctx, g, h=None):
                (x,) = ctx.saved_tensors
                if kind == "complex":
                    return g * 2 * (x.conj() if right else x)
                if kind == "second derivative":
                    return g * 2 * (x if right else x.detach())
                return factor * x * g + (0 if h is None else h)

        values = np.array([0.5, 1.5, -0.7]) * (1 + 2j if kind == "complex" else 1)
        x = lib.tensor(values, requires_grad=True)
        first = check(F.apply, (x,), raise_exception=False)
        return first, check_again(F.apply, (x,), raise_exception=False)

    ours = verdict(mg, Function, gradcheck, gradgradcheck)
    theirs = verdict(
        torch, torch.autograd.Function, torch.autograd.gradcheck, torch.autograd.gradgradcheck
    )
    assert ours == theirs
    assert (ours == (True, True)) == right
