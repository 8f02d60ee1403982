"""Every operation of the registry: values, both modes, second derivatives, shapes, dtypes,
memory: a test each, over one table.
"""

import inspect
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import registry
from tests.helpers import case_checks as checking
from tests.helpers.op_cases import CASES, Case, sample
from tests.helpers.tables import in_one_test

DECLARED = {
    name: o
    for name, o in registry.items()
    if o.forward.__module__.startswith("minigrad.") and o.inputs
}
"""All but random draws, which have no operands (tests/ops/test_random.py)."""


def each(*cases: Case):
    """Run a test on these cases, named by them."""
    return pytest.mark.parametrize("case", cases, ids=lambda c: c.id)


def has_derivative(case: Case) -> bool:
    return registry[case.primitive].kind != "constant"


REAL = [c for c in CASES if c.real]
COMPLEX = [c for c in CASES if c.complex or not c.real]
SMOOTH = [c for c in REAL if has_derivative(c)]
SMOOTH_COMPLEX = [c for c in COMPLEX if has_derivative(c)]
ANY_SHAPE = [c for c in REAL if c.any_shape]


def test_every_operation_has_a_case() -> None:
    assert {c.primitive for c in CASES} == set(DECLARED)


def test_case_names_are_unique() -> None:
    names = [c.id for c in CASES]
    assert len(set(names)) == len(names)


# ------------------------------------------------------------------------------------------- values

PRECISION = {
    "float64": 1e-13,
    "complex128": 1e-13,
    "float32": 5e-6,
    "complex64": 5e-6,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}


def compare_value(case: Case, dtype: str) -> None:
    arrays = case.inputs(dtype)
    want = case.expected(*arrays)
    raw = case.run(arrays)
    assert not isinstance(raw, mg.Tensor), "arrays in, array out"
    got = case.run(checking.tensors(case, arrays, ()))
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    checking.close(checking.host(got), want, PRECISION[dtype], case.id)
    checking.close(np.asarray(raw), want, PRECISION[dtype], f"{case.id} on arrays")


@in_one_test
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@each(*REAL)
def test_the_value_is_that_of_the_definition(case: Case, dtype: str) -> None:
    compare_value(case, dtype)


@in_one_test
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@each(*COMPLEX)
def test_the_complex_value_is_that_of_the_definition(case: Case, dtype: str) -> None:
    compare_value(case, dtype)


@in_one_test
@each(*[c for c in REAL if registry[c.primitive].parts])
def test_the_parts_give_what_the_operation_gives(case: Case) -> None:
    operation, arrays = registry[case.primitive], case.inputs("float64")
    found = operation.parts(*arrays, **case.params)
    checking.close(np.asarray(found), case.expected(*arrays), PRECISION["float64"], case.id)


# -------------------------------------------------------------------------------------- derivatives


@in_one_test
@each(*SMOOTH)
def test_first_derivatives_agree_in_both_modes(case: Case) -> None:
    checking.check_first_order(case)


@in_one_test
@each(*SMOOTH_COMPLEX)
def test_first_complex_derivatives_agree_in_both_modes(case: Case) -> None:
    checking.check_first_order(case, "complex128")


@in_one_test
@each(*SMOOTH)
def test_second_derivatives_agree_in_all_modes(case: Case) -> None:
    checking.check_second_order(case)


@in_one_test
@each(*SMOOTH_COMPLEX)
def test_second_complex_derivatives_agree_in_all_modes(case: Case) -> None:
    checking.check_second_order(case, "complex128")


@in_one_test
@each(*[c for c in CASES if not has_derivative(c)])
def test_a_result_without_a_derivative_has_no_history_and_no_tangent(case: Case) -> None:
    """A result without a derivative carries no history and no tangent."""
    inputs = checking.tensors(case, case.inputs())
    assert not case.run(inputs).requires_grad
    with checking.fwad.dual_level():
        duals = [
            checking.fwad.make_dual(x, x) if i in case.differentiable() else x
            for i, x in enumerate(inputs)
        ]
        assert checking.fwad.unpack_dual(case.run(duals)).tangent is None


# ------------------------------------------------------------------------------------------- dtypes


def derivatives_keep_dtype(case: Case, dtype: str) -> None:
    arrays = case.inputs(dtype)
    y = case.run(checking.tensors(case, arrays))
    u = checking.direction(y.numpy(force=True), 1)
    tangents = {i: checking.direction(arrays[i], 2) for i in case.differentiable()}
    assert forward_dtype(case, arrays, tangents) == y.dtype
    for i, gradient in zip(case.differentiable(), checking.reverse(case, arrays, u), strict=True):
        assert gradient.dtype == arrays[i].dtype
    inputs = [mg.tensor(a, requires_grad=i in tangents) for i, a in enumerate(arrays)]
    gradients = mg.autograd.grad(
        case.run(inputs), [inputs[i] for i in tangents], mg.tensor(u), create_graph=True
    )
    assert [g.dtype for g in gradients] == [arrays[i].dtype for i in tangents]


def forward_dtype(case: Case, arrays, tangents):
    return checking.forward(case, arrays, tangents).dtype


@in_one_test
@each(*SMOOTH)
def test_derivatives_of_float32_stay_float32(case: Case) -> None:
    derivatives_keep_dtype(case, "float32")


@in_one_test
@each(*[c for c in SMOOTH if c.any_shape])
def test_float32_numbers_stay(case: Case) -> None:
    """0-d tensors are held as NumPy scalars, which are promoted by other rules than arrays."""
    arrays = case.inputs("float32", [()] * len(case.shapes))
    y = case.run(checking.tensors(case, arrays))
    assert y.dtype == case.expected(*arrays).dtype
    u = checking.direction(y.numpy(force=True), 1)
    for i, gradient in zip(case.differentiable(), checking.reverse(case, arrays, u), strict=True):
        assert gradient.dtype == arrays[i].dtype


@in_one_test
@each(*SMOOTH_COMPLEX)
def test_derivatives_of_complex64_stay_complex64(case: Case) -> None:
    derivatives_keep_dtype(case, "complex64")


@in_one_test
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@each(*[c for c in REAL if not c.fixed_dtype])
def test_half_precision_is_kept_and_accurate(case: Case, dtype: str) -> None:
    """Values to the precision of the dtype, and everything stays in it. Cases say where NumPy
    (or ml_dtypes) has no such kernel.
    """
    if dtype not in case.half:
        pytest.skip("NumPy computes this in another dtype, or not at all")
    if dtype == "bfloat16":
        dtype = np.dtype(
            pytest.importorskip("ml_dtypes", reason="bfloat16 needs the package ml_dtypes").bfloat16
        )
    arrays = case.inputs(dtype)
    floating = [
        a.astype("float64") if i in case.differentiable() else a for i, a in enumerate(arrays)
    ]
    want = case.expected(*floating)
    got = case.run(checking.tensors(case, arrays, ()))
    assert got.dtype == (dtype if want.dtype == np.float64 else want.dtype)
    checking.close(checking.host(got), want, PRECISION[np.dtype(dtype).name], case.id)
    if has_derivative(case):
        derivatives_keep_dtype(case, dtype)


# ------------------------------------------------------------------------------------------- shapes

SHAPES = {1: [((),), ((0,),), ((2, 0, 3),), ((1,),), ((1, 1),)], 2: [], 3: []}
for a, b in [
    ((), ()),
    ((3, 4), ()),
    ((), (3, 4)),
    ((3, 4), (4,)),
    ((3, 1), (4,)),
    ((2, 1, 4), (3, 1)),
    ((0, 3), (3,)),
    ((0,), ()),
    ((1,), (0,)),
    ((1, 1), (1,)),
]:
    SHAPES[2].append((a, b))
    SHAPES[3].extend([((3, 4) if 0 not in (*a, *b) and len(a) < 3 else (), a, b), ((), a, b)])


def broadcasts(case: Case) -> bool:
    """`overwrite` writes into the shape of its first operand, which the second must fit."""
    return case.primitive != "overwrite"


@in_one_test
@each(*ANY_SHAPE)
def test_numbers_empty_arrays_and_missing_axes(case: Case) -> None:
    """Numbers, empty arrays, axes of size 1, missing axes: value, derivatives, and gradients in
    the operand's own shape.
    """
    for shapes in SHAPES[len(case.shapes)]:
        try:
            full = np.broadcast_shapes(*shapes)
        except ValueError:
            continue
        if not broadcasts(case) and shapes[0] != full:
            continue
        arrays = case.inputs("float64", shapes)
        want = case.expected(*arrays)
        y = case.run(checking.tensors(case, arrays))
        assert y.shape == want.shape == full
        checking.close(y.numpy(force=True), want, 1e-13, f"{case.id} {shapes}")
        if not has_derivative(case):
            continue
        u = checking.direction(want, 1)
        gradients = checking.reverse(case, arrays, u)
        for i, gradient in zip(case.differentiable(), gradients, strict=True):
            assert gradient.shape == shapes[i], (shapes, i)
            v = checking.direction(arrays[i], 2)
            pushed = checking.forward(case, arrays, {i: v})
            assert pushed.shape == full
            assert math.isclose(
                checking.inner(u, pushed),
                checking.inner(gradient, v),
                rel_tol=case.precision * 10,
                abs_tol=case.precision * 10,
            ), (shapes, i)
            checking.close(
                pushed,
                checking.numeric(case, arrays, {i: v}),
                max(2e-8, case.precision),
                f"{case.id} {shapes}",
            )


@in_one_test
@each(
    *[
        c
        for c in ANY_SHAPE
        if len(c.differentiable()) == 2 == len(c.shapes)
        and c.primitive not in ("overwrite", "complex")
    ]
)
def test_a_python_number_takes_the_dtype_of_the_tensor(case: Case) -> None:
    """A Python number in place of either operand takes the tensor's dtype and needs no gradient."""
    for dtype in ("float64", "float32"):
        a, b = case.inputs(dtype)
        left, right = float(a[0, 0]), float(b[0, 0])
        for args, number in (((left, b), 0), ((a, right), 1)):
            want = case.expected(*[np.asarray(x, dtype) for x in args])
            inputs = [x if isinstance(x, float) else mg.tensor(x, requires_grad=True) for x in args]
            y = case.run(inputs)
            assert y.dtype == want.dtype
            checking.close(y.numpy(force=True), want, PRECISION[dtype], case.id)
            if has_derivative(case):
                u = checking.direction(want, 1)
                (gradient,) = mg.autograd.grad(y, [inputs[1 - number]], mg.tensor(u))
                full = [np.full((3, 4), x, dtype) if isinstance(x, float) else x for x in args]
                checking.close(
                    checking.host(gradient),
                    checking.reverse(case, full, u)[1 - number],
                    PRECISION[dtype],
                    case.id,
                )
                assert gradient.dtype == dtype


def awkward(array):
    """Arrays with these numbers, in memory that runs backwards along each axis, and with the axes
    exchanged.
    """
    backwards = np.flip(np.flip(array).copy())
    return [backwards, array.T.copy().T, np.repeat(array[..., None], 2, axis=-1)[..., 0]]


@in_one_test
@each(*REAL)
def test_layout_does_not_matter(case: Case) -> None:
    arrays = case.inputs()
    want = checking.host(case.run(checking.tensors(case, arrays, ())))
    u = checking.direction(want, 1)
    gradients = checking.reverse(case, arrays, u) if has_derivative(case) else []
    for layouts in zip(*(awkward(a) for a in arrays), strict=True):
        inputs = [mg.from_numpy(a) for a in layouts]
        for i in case.differentiable():
            inputs[i].requires_grad_()
        y = case.run(inputs)
        checking.close(y.numpy(force=True), want, 1e-15, case.id)
        for seed in awkward(u) if gradients else []:
            got = mg.autograd.grad(
                y,
                [inputs[i] for i in case.differentiable()],
                mg.from_numpy(seed),
                retain_graph=True,
            )
            for g, expected in zip(got, gradients, strict=True):
                checking.close(checking.host(g), expected, 1e-14, case.id)


# ------------------------------------------------------------------------------------------- memory


def named(rule) -> set[str]:
    """What a rule asks for by name, read from its signature: all but the first parameter, the
    cotangent.
    """
    return {
        p.name
        for p in list(inspect.signature(rule.function).parameters.values())[1:]
        if p.kind is p.POSITIONAL_OR_KEYWORD
    }


@in_one_test
@each(*SMOOTH)
def test_exactly_what_the_rules_name_is_saved(case: Case) -> None:
    """After the operation an input is overwritten in place: an error if a rule names it, no
    matter if none does.
    """
    operation = registry[case.primitive]
    if any(math.prod(s) == 0 for s in case.shapes):
        pytest.skip("nothing to overwrite")
    for needed in [case.differentiable(), *[[i] for i in case.differentiable()]]:
        names = set().union(*(named(operation.pull_rule(i)) for i in needed))
        for changed in range(len(case.shapes)):
            name = operation.inputs[0 if operation.variadic else changed]
            arrays = case.inputs()
            want = checking.reverse(
                case, arrays, checking.direction(case.expected(*arrays), 1), needed
            )
            leaves = checking.tensors(case, arrays, needed)
            inputs = [mg.clone(x) for x in leaves]
            y = case.run(inputs)
            u = mg.tensor(checking.direction(y.numpy(force=True), 1))
            if y._is_view() or y.ndim == 0 or inputs[changed].ndim == 0:
                continue
            inputs[changed].copy_(inputs[changed].clone())
            if name in names:
                with pytest.raises(mg.errors.InPlaceError, match=case.primitive):
                    mg.autograd.grad(y, [leaves[i] for i in needed], u)
            else:
                for g, w in zip(
                    mg.autograd.grad(y, [leaves[i] for i in needed], u), want, strict=True
                ):
                    checking.close(checking.host(g), w, 1e-15, case.id)
        inputs = [mg.clone(x) for x in checking.tensors(case, case.inputs(), needed)]
        y = case.run(inputs)
        if y._is_view() or y.ndim == 0:
            continue
        seed = mg.tensor(checking.direction(y.numpy(force=True), 1))
        z = y * 1
        y.copy_(mg.clone(y).detach())
        if "y" in names:
            with pytest.raises(mg.errors.InPlaceError, match=case.primitive):
                mg.autograd.grad(z, [inputs[i] for i in needed], seed)
        else:
            mg.autograd.grad(z, [inputs[i] for i in needed], seed)


@in_one_test
@each(*REAL)
def test_only_views_share_memory(case: Case) -> None:
    """A result is a declared view, which shares its input's version counter, or it has memory of
    its own.
    """
    for dtype in (
        ["float64", "int64"]
        if case.any_shape
        and case.primitive in ("floor", "ceil", "trunc", "round", "conj", "abs", "cast")
        else ["float64"]
    ):
        arrays = case.inputs(dtype)
        inputs = [mg.from_numpy(a) for a in arrays]
        y = case.run(inputs)
        for x, array in zip(inputs, arrays, strict=True):
            if np.shares_memory(np.asarray(y.array), array):
                assert registry[case.primitive].view
                assert y.version is x.version


@in_one_test
@each(*SMOOTH)
def test_gradients_share_no_memory(case: Case) -> None:
    """Neither `grad` nor `.grad` hands out the memory of an input, of the result, of the seed,
    or of another gradient.
    """
    inputs = checking.tensors(case, case.inputs())
    leaves = [inputs[i] for i in case.differentiable()]
    y = case.run(inputs)
    u = mg.tensor(checking.direction(y.numpy(force=True), 1))
    gradients = list(mg.autograd.grad(y, leaves, u, retain_graph=True))
    y.backward(u)
    gradients += [x.grad for x in leaves]
    owners = [np.asarray(t.array) for t in (*inputs, y, u, *gradients)]
    for k in range(len(gradients)):
        mine = owners[len(inputs) + 2 + k]
        others = [o for j, o in enumerate(owners) if j != len(inputs) + 2 + k]
        assert not any(np.shares_memory(mine, other) for other in others)


def test_sampling_respects_domains() -> None:
    """The table's intervals mean what they say: no sample lies in a gap."""
    numbers = sample(np.random.default_rng(0), ((-2.0, -1.0), (1.0, 2.0)), (1000,), "float64")
    assert np.all((abs(numbers) >= 1) & (abs(numbers) <= 2))
    assert {-1.0, 1.0} == set(np.sign(numbers))
