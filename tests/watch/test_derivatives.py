"""Derivative rules as formulas: what the pictures say of a step is what the rule computes."""

import json
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import OUTPUT, SHAPES, elementwise, registry
from minigrad.trace import validate
from minigrad.trace.text import honest, text_of
from minigrad.watch import derivatives, notation
from minigrad.watch.derivatives import LARGEST, LONGEST, Made, Rules, rule_of, text_of_rule
from minigrad.watch.trace import trace_function
from tests.helpers.formula_values import WORDS, computed
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

BAR = "\u0304"


def written(name: str, operand: int, /, *operands: Any, **params: Any) -> str | None:
    """The rule of an operation v4 = f(x1, x2, …), with v for the adjoint of v4."""
    names = [notation.symbol(f"x{i + 1}") for i in range(len(operands))]
    found = rule_of(
        registry[name],
        operand,
        operands,
        params,
        names,
        notation.symbol("v4"),
        notation.symbol("v4", "bar", "g"),
    )
    return None if found is None else text_of(found).replace(f"v{BAR}4", "v")


X, A, B = np.array(0.7), np.ones((2, 3)), np.ones((3, 4))
WIDE: dict[str, Any] = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,), "groups": 1}
FLAT: dict[str, Any] = {**WIDE, "size": (4,)}
HALVES = {"axis": 2, "size": 2, "stride": 2, "dilation": 1, "padding": (0, 0)}


@pytest.mark.parametrize(
    ("name", "index", "operands", "params", "text"),
    [
        ("sin", 0, [X], {}, "v · cos x1"),
        ("cos", 0, [X], {}, "v · (−sin x1)"),
        ("log", 0, [X], {}, "v / x1"),
        ("exp", 0, [X], {}, "v · v4"),
        ("sub", 1, [X, X], {}, "−v"),
        ("mul", 0, [X, X], {}, "v · x2"),
        ("mul", 0, [X, 3.0], {}, "v · 3"),
        ("div", 1, [X, X], {}, "−v · x1 / x2²"),
        ("sqrt", 0, [X], {}, "v / (2 · v4)"),
        ("remainder", 1, [X, X], {}, "−v · (x1 // x2)"),
        ("erf", 0, [X], {}, "v · 2 / √(π) · exp(−x1²)"),
        ("erfcx", 0, [X], {}, "v · (2 · x1 · v4 − 2 / √(π))"),
        ("erfinv", 0, [X], {}, "v · √(π) / 2 · exp((erfinv x1)²)"),
        ("bessel_i", 0, [X], {"n": 0, "scaled": False}, "v · bessel_i(1, x1)"),
        ("bessel_k", 0, [X], {"n": 0, "scaled": False}, "v · (−bessel_k(1, x1))"),
        ("pow", 0, [X], {"n": 2}, "v · 2 · x1"),
        ("pow", 0, [X], {"n": 3}, "v · 3 · x1²"),
        ("pow_tensor", 0, [X, X], {}, "v · x2 · x1^(x2 − 1)"),
        ("tanh", 0, [np.ones((2, 2))], {}, "v · (1 − v4²)"),
        ("asin", 0, [X], {}, "v / √(1 − x1²)"),
        ("sigmoid", 0, [X], {}, "v · v4 · (1 − v4)"),
        ("floor", 0, [X], {}, "0"),
        ("matmul", 0, [A, B], {}, "v @ x2ᵀ"),
        ("matmul", 1, [A, B], {}, "x1ᵀ @ v"),
        (
            "sum",
            0,
            [A],
            {"axes": (0,), "keepdims": False},
            "expand(v, shape (2, 3))",
        ),
        ("sum", 0, [B], {"axes": (1,), "keepdims": True}, "expand(v, shape (3, 4))"),
        ("sum", 0, [B], {"axes": (1,), "keepdims": False},
            "expand(unsqueeze(v, axis 1), shape (3, 4))"),
        ("sum", 0, [np.ones((2, 4, 3))], {"axes": (0, 2), "keepdims": False},
            "expand(unsqueeze(v, axes 0, 2), shape (2, 4, 3))"),
        ("mean", 0, [np.ones((3, 3))], {"axes": (1,), "keepdims": False},
            "expand(unsqueeze(v / 3, axis 1), shape (3, 3))"),
        ("amin", 0, [A], {"axes": (1,), "keepdims": False},
            "unsqueeze(v, axis 1) · (x1 = unsqueeze(v4, axis 1)) / "
            "sum(x1 = unsqueeze(v4, axis 1), axis 1, keepdims)"),
        ("amax", 0, [A], {"axes": (1,), "keepdims": True},
            "v · (x1 = v4) / sum(x1 = v4, axis 1, keepdims)"),
        ("logsumexp", 0, [A], {"axes": (1,), "keepdims": False},
            "unsqueeze(v, axis 1) · exp(x1 − unsqueeze(v4, axis 1))"),
        ("slice", 0, [A], {"index": (slice(0, 1),)}, "scatter(v at [0:1], 0 elsewhere)"),
        ("amax", 0, [A], {"axes": (0,), "keepdims": False}, "v · (x1 = v4) / sum(x1 = v4, axis 0)"),
        ("cat", 0, [A, A], {"axis": 0, "sizes": (2, 2)}, "v[0:2]"),
        ("cat", 1, [A, A], {"axis": 0, "sizes": (2, 2)}, "v[2:4]"),
        ("stack", 0, [A, A], {"axis": 0, "count": 2}, "v[0]"),
        ("stack", 1, [A, A], {"axis": 2, "count": 2}, "v[:, :, 1]"),
        ("permute", 0, [np.ones(3)], {"axes": (0,)}, "v"),
        ("convolve_input", 0, [np.ones((1, 1, 3)), np.ones((1, 1, 2))], FLAT, "v ∗ x2"),
        ("convolve", 0, [np.ones((1, 1, 4)), np.ones((1, 1, 2))], WIDE, "conv_transpose(v, x2)"),
        ("convolve", 1, [np.ones((1, 1, 4)), np.ones((1, 1, 2))], WIDE, "x1 ∗ v"),
        ("max_pool", 0, [np.ones((1, 1, 4))], HALVES,
            "scatter(v at argmax of each window of x1, 0 elsewhere)"),
        ("nll", 0, [A, np.array([0, 1])], {"axis": 1, "ignored": -1}, "−v · one_hot x2"),
        ("matmul", 1, [np.ones((300, 400)), np.ones((400, 2))], {}, "x1ᵀ @ v"),
        ("permute", 0, [A], {"axes": (1, 0)}, "vᵀ"),
        ("where", 0, [A > 0, A, A], {}, None),
        ("roll", 0, [A], {"shifts": (1, -2), "axes": (0, 1)}, "roll(v, shifts −1, 2, axes 0, 1)"),
        ("roll", 0, [A], {"shifts": (1,), "axes": (1,)}, "roll(v, shift −1, axis 1)"),
        ("triu", 0, [A], {"offset": 1}, "triu(v, offset 1)"),
        ("matmul", 0, [A, np.ones(3)], {}, "outer(v, x2)"),
        ("matmul", 1, [np.ones(2), A], {}, "outer(x1, v)"),
        ("matmul", 1, [np.ones((5, 2, 3)), B], {},
            "reshape(x1, shape (10, 3))ᵀ @ reshape(v, shape (10, 4))"),
        ("det", 0, [np.eye(2)], {}, "v · cofactors x1"),
        ("affine", 2, [A, np.ones((4, 3)), np.ones(4)], {}, "sum(v, axis 0)"),
        ("sum_to", 0, [A], {"shape": (1, 3)}, "expand(v, shape (2, 3))"),
        ("broadcast_to", 0, [np.ones((2, 1))], {"shape": (5, 2, 3)},
            "sum(v, axes 0, 2, shape (2, 1))"),
        ("getitem", 0, [A], {"index": (np.array([1, 1]),)},
            "scatter_add(v at [[1, 1]], 0 elsewhere)"),
        ("getitem", 0, [A], {"index": (slice(None), np.arange(9) % 3)},
            "scatter_add(v at [:, indices of shape (9,)], 0 elsewhere)"),
        ("slice", 0, [X], {"index": ()}, "scatter(v at [()], 0 elsewhere)"),
        ("index_put", 0, [A, np.ones(3)], {"index": (np.array([1]),), "accumulate": False},
            "scatter(0 at [[1]], v elsewhere)"),
        ("max_pool", 0, [np.ones((1, 1, 4))], {**HALVES, "stride": 1},
            "scatter_add(v at argmax of each window of x1, 0 elsewhere)"),
        ("sum_pool", 0, [np.ones((1, 1, 4))], HALVES,
            "scatter(v at every element of each window, 0 elsewhere)"),
        ("standardize", 0, [A], {"axes": (1,), "eps": 0.5},
            "(v − mean(v, axis 1) − v4 · mean(v · v4, axis 1)) / √(var(x1, axis 1) + 0.5)"),
        ("prod", 0, [A], {"axes": (0, 1), "keepdims": False},
            "v · product_of_others(x1, axes 0, 1)"),
        (
            "fft",
            0,
            [A + 0j],
            {"axes": (1,), "inverse": True, "scale": 0.25},
            "fft(v, axis 1, scale 0.25)",
        ),
    ],
)  # fmt: skip
def test_rules_as_formulas(
    name: str, index: int, operands: list[Any], params: dict[str, Any], text: str | None
) -> None:
    assert written(name, index, *operands, **params) == text


ONE_RESULT = [
    c
    for c in CASES
    if registry[c.primitive].kind != "constant"
    and registry[c.primitive].outputs == 1
    and not c.route
]


@in_one_test
@pytest.mark.parametrize("case", ONE_RESULT, ids=lambda case: case.id)
def test_every_rule_can_be_written(case: Case) -> None:
    """On the samples of the table of cases: a formula that names the adjoint, unless the derivative
    is zero or there is no rule. The recorder keeps no operand alive: the formula of stand-ins is
    that of the operands. Every rule for real numbers is shown.
    """
    inputs, prim = case.inputs("float64" if case.real else "complex128"), registry[case.primitive]
    names, rules = [notation.symbol(f"x{i + 1}") for i in range(len(inputs))], Rules()
    rules.note("v4", Made.by(prim, inputs, names, case.params))
    for index in range(len(inputs)):
        text = written(case.primitive, index, *inputs, **case.params)
        assert (text is None) == (prim.pull_rule(index) is None)
        assert (
            text is None
            or "v" in text.replace("v4", "")
            or text == "0"
            or case.primitive in ("detsign", "lu_pivots")
        )
        found = rules.pulled("v4", index)
        if found is not None:
            assert text_of(found).replace(f"v{BAR}4", "v") == text
        elif text is not None and prim.pointwise:
            assert len(text) > LONGEST, "only a formula that is too long to read is left out"
        if case.real and text is not None:
            assert found is not None
        if case.real and prim.push_rule(index) is not None:
            assert rules.pushed("v4", index, f"x{index + 1}") is not None


DECLARED = [
    c
    for c in ONE_RESULT
    if registry[c.primitive].pull_notation or registry[c.primitive].push_notation
]


@in_one_test
@pytest.mark.parametrize("case", DECLARED, ids=lambda case: case.id)
def test_declared_rules_compute_what_the_rules_compute(case: Case) -> None:
    """A declaration may write a rule in fewer operations. NumPy evaluates what it writes, on
    samples with equal elements among them, with axes that a reduction keeps and without them."""
    kept = [{"keepdims": keepdims} for keepdims in (False, True)]
    for more in kept if "keepdims" in case.params else [{}]:
        _check_declared(case, {**case.params, **more})


def _check_declared(case: Case, params: dict[str, Any]) -> None:
    prim, rng = registry[case.primitive], np.random.default_rng(3)
    inputs = [np.asarray(one) for one in case.inputs("float64")]
    if case.primitive in ("amax", "amin", "scatter_extreme"):
        inputs = [np.round(one, 0) for one in inputs]
    y = prim.forward(np, *inputs, **params)
    names = {**_words(inputs, y, params), **dict(zip(prim.inputs, inputs, strict=True)), "y": y}
    for pull in (True, False):
        for index in range(len(inputs)):
            if not (prim.pull_notation if pull else prim.push_notation):
                continue
            text = text_of_rule(prim, index, inputs, not pull, params)
            rule = prim.pull_rule(index) if pull else prim.push_rule(index)
            if text is None:
                continue
            assert rule is not None
            incoming = rng.normal(size=y.shape if pull else inputs[index].shape)
            wanted = rule.function(
                mg.tensor(incoming),
                *(_read(source, inputs, y) for source in rule.sources),
                **rule.keyword_arguments(params, index),
            ).numpy()
            given = {**names, "g" if pull else "t": incoming}
            found = eval(text, {"__builtins__": {}}, given)
            found = np.broadcast_to(found, wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def _read(source: int, inputs: list[Any], y: Any) -> Any:
    if source == OUTPUT:
        return mg.tensor(y)
    return mg.tensor(inputs[source]) if source >= 0 else inputs[SHAPES - source].shape


class _Zeros:
    """`zeros.at[index].add(part)` of a shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.at = shape, self

    def __call__(self, *shape: int) -> Any:
        return _Zeros(shape)

    def set(self, part: Any) -> Any:
        whole = np.zeros(self.shape)
        whole[self.index] = part
        return whole

    def __getitem__(self, index: Any) -> Any:
        self.index = index
        return self

    def add(self, part: Any) -> Any:
        whole = np.zeros(self.shape)
        np.add.at(whole, self.index, part)
        return whole


def _words(inputs: list[Any], y: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The functions that the texts of rules use, each written down for itself."""
    x = inputs[0]
    index = params.get("index")
    first = float(len(inputs) == 1)  # what stands before the first of running products, and of sums

    def recurrence(a: Any, b: Any, axis: int) -> Any:
        out = np.moveaxis(np.array(b), axis, 0)
        for k in range(1, len(out)):
            out[k] += np.moveaxis(a, axis, 0)[k] * out[k - 1]
        return np.moveaxis(out, 0, axis)

    def reverse_recurrence(a: Any, g: Any, axis: int) -> Any:
        out = np.moveaxis(np.array(g), axis, 0)
        for k in reversed(range(len(out) - 1)):
            out[k] += np.moveaxis(a, axis, 0)[k + 1] * out[k + 1]
        return np.moveaxis(out, 0, axis)

    def previous(one: Any, axis: int) -> Any:
        moved = np.roll(np.moveaxis(one, axis, 0), 1, axis=0)
        moved[:1] = first
        return np.moveaxis(moved, 0, axis)

    def product_of_others(one: Any, axes: tuple[int, ...]) -> Any:
        out = np.ones(one.shape)
        for place in np.ndindex(one.shape):
            others = one[tuple(slice(None) if i in axes else n for i, n in enumerate(place))]
            own = (
                np.ravel_multi_index([place[i] for i in axes], [one.shape[i] for i in axes])
                if axes
                else 0
            )
            out[place] = np.prod(np.delete(others.ravel(), own))
        return out

    def number_of_equals(found: Any) -> Any:
        equal = _Zeros(y.shape).at[index].add(inputs[1] == y[index]) + (x == y)
        return equal if found is y else equal[index]

    along: Any = {
        name: lambda one, axes, name=name: getattr(np, name)(one, axis=axes, keepdims=True)
        for name in ("mean", "var")
    }
    return WORDS | along | params | {
        "keepdims": True, "unsqueeze": np.expand_dims,
        "sum": lambda one, axes=None, keepdims=False: np.sum(one, axis=axes, keepdims=keepdims),
        "π": np.pi,
        "erfinv": registry["erfinv"], "zeta": registry["zeta"], "Γ": np.vectorize(math.gamma),
        "zeros": _Zeros(y.shape),
        "recurrence": recurrence, "reverse_recurrence": reverse_recurrence,
        "previous": previous, "product_of_others": product_of_others,
        "number_of_equals": number_of_equals,
        **{
            name: lambda *all, name=name: registry[name].forward(np, *all[:-1], **params)
            for name in ("standardize", "standardize_jvp")
        },
    }  # fmt: skip


COMPLEX = [c for c in ONE_RESULT if c.complex]
IN_WORDS = set(
    """
    convolve convolve_input convolve_weight sum_pool sum_pool_backward unfold unfold_backward
    sum mean cumprod prod recurrence diagonal diagonal_backward scatter_view view_as_real
    move affine
    """.split()
)
"""Operations whose formulas leave out sizes, or name functions that NumPy does not have."""


@in_one_test
@pytest.mark.parametrize("real", [None, 0, -1], ids=["complex", "first real", "last real"])
@pytest.mark.parametrize("case", COMPLEX, ids=lambda case: case.id)
def test_rules_of_complex_numbers_compute_what_the_engine_computes(
    case: Case, real: int | None
) -> None:
    """NumPy evaluates each formula, with its conjugates and real parts."""
    prim, rng, inputs = (
        registry[case.primitive],
        np.random.default_rng(4),
        case.inputs("complex128"),
    )
    if real is not None:
        if len(inputs) < 2 or not case.real or not prim.elementwise or prim.name == "overwrite":
            return
        inputs[real] = case.inputs("float64")[real]
    inputs = [np.asarray(x) for x in inputs]
    names, rules = [f"x{i + 1}" for i in range(len(inputs))], Rules()
    rules.note("v4", Made.by(prim, inputs, [notation.symbol(n) for n in names], case.params))
    y = prim(*map(mg.tensor, inputs), **case.params).numpy()
    values = {**dict(zip(names, inputs, strict=True)), "v4": y}
    random = lambda x: (
        rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if _complex(x) else 0)
    )
    for index, (name, x) in enumerate(zip(names, inputs, strict=True)):
        if prim.pull_rule(index) is None or not (_complex(x) or x.dtype.kind == "f"):
            continue
        given = [mg.tensor(a) for a in inputs]
        given[index].requires_grad_()
        g, t = random(y), random(x)
        out = prim(*given, **case.params)
        (wanted,) = mg.autograd.grad(out, given[index], mg.tensor(g))
        _, pushed = mg.func.jvp(
            lambda a, given=given, index=index: prim(
                *given[:index], a, *given[index + 1 :], **case.params
            ),
            (mg.tensor(x),),
            (mg.tensor(t),),
        )
        for formula, more, found in (
            (rules.pulled("v4", index), {"v4 bar": g}, wanted),
            (rules.pushed("v4", index, name), {f"{name} dot": t}, pushed),
        ):
            assert formula is not None
            if case.primitive in IN_WORDS:
                continue
            expected = found.numpy()
            value = np.asarray(computed(formula, values | more, case.params, expected.shape))
            if value.shape != expected.shape and value.ndim:  # the operand was broadcast
                value = WORDS["sum"](value, shape=expected.shape)
            np.testing.assert_allclose(value + 0 * expected, expected, rtol=1e-9, atol=1e-9)


def _complex(x: Any) -> bool:
    return bool(np.iscomplexobj(x))


def test_the_operand_of_a_function_is_no_base_of_a_power() -> None:
    square = registry["pow"]
    sine = notation.applied(registry["sin"], [([notation.symbol("x")], notation.ATOM)], {})
    assert text_of(notation.applied(square, [sine], {"n": 2})[0]) == "(sin x)²"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"axes": (), "shifts": (), "scale": 1.0, "inverse": False, "shape": ()}, "f x"),
        ({"axis": 0, "offset": np.int64(-2)}, "f(x, axis 0, offset −2)"),
        ({"axes": None, "scale": np.ones(3), "offset": np.ones(())}, "f x"),
    ],
)
def test_parameters_after_operands(params: dict[str, Any], text: str) -> None:
    """What changes nothing is left out, and so is an array."""
    function = SimpleNamespace(symbol="f", inputs=("x",))
    found = notation.applied(function, [([notation.symbol("x")], notation.ATOM)], params)  # type: ignore[arg-type]
    assert text_of(found[0]) == text


def test_forward_rules_of_operations_of_no_kind() -> None:
    """The push rule runs on symbols too: the tangent of a softmax, of a largest element, of joined
    arrays."""

    def pushed(f: Any, *inputs: Any) -> str:
        steps = trace_function(f, *inputs, mode="forward")["steps"]
        return text_of(next(s for s in steps if s["phase"] == "tangent")["formula"])

    A3 = np.arange(6.0).reshape(2, 3)
    dot = "\u0307"
    assert f"x{dot} · v1 − v1 · sum(x{dot} · v1, axis 1)" in pushed(lambda x: x.softmax(1), A3)
    hit = "x = unsqueeze(v1, axis 1)"
    assert f"sum(x{dot} · ({hit}), axis 1) / sum({hit}, axis 1)" in pushed(lambda x: x.amax(1), A3)
    joined = pushed(lambda a, b: mg.cat([a, b]), A3, A3)
    assert f"pad(a{dot}, axis 0, after 2) + pad(b{dot}, axis 0, before 2)" in joined


def test_products_of_complex_numbers_in_sentences() -> None:
    """Derivatives are conjugate where they multiply an adjoint; where real parts are taken, no
    product of two numbers is written."""
    square = lambda z: (z * z).abs()
    back = trace_function(square, np.array(1 + 2j), mode="reverse")
    first = next(s for s in back["steps"] if s["phase"] == "adjoint" and s["node"] == "v1")
    assert text_of(first["formula"]) == f"v{BAR}1 = v{BAR}2 · sgn v1 = −0.6+0.8i"
    assert "local" not in first["contribs"][0]
    last = back["steps"][-1]
    assert last["phase"] == "accumulate"
    assert (
        f"z{BAR} += v{BAR}1 · conj(∂(z · z)/∂(second z)) = v{BAR}1 · conj z = (−0.6+0.8i) · "
        "(1−2i) = " in text_of(last["formula"])
    )
    ahead = trace_function(square, np.array(1 + 2j), mode="forward")["steps"][-1]
    dot = "\u0307"
    assert text_of(ahead["formula"]) == f"v{dot}2 = real(conj(sgn v1) · v{dot}1) = 2"
    mixed = trace_function(
        lambda a, z: (a * z).abs().sum(), np.ones(1), np.array([1j, 2j]), mode="reverse"
    )
    assert "real" in said(mixed, "adjoint", "a")


def test_a_sign_stands_between_its_operands() -> None:
    x, w = np.ones((1, 1, 4)), np.ones((1, 1, 2))
    trace = trace_function(lambda x, w: mg.nn.functional.conv1d(x, w).sum(), x, w, mode="reverse")
    assert trace["steps"][2]["say"].startswith("v1 = x ∗ w = ")
    assert said(trace, "adjoint", "w").startswith("w = x ∗ v1 = ")


def test_einsum_takes_no_step_that_changes_nothing() -> None:
    """Axes in their order and shapes that fit are left alone; the result is never an operand
    itself."""
    a, b = np.ones((2, 3)), np.ones((3, 2))
    ops = lambda equation, *inputs: [
        node["op"]
        for node in trace_function(
            lambda *xs: mg.einsum(equation, *xs),
            *inputs,
            mode="forward",
            names=["a", "b"][: len(inputs)],
        )["nodes"]
        if node["kind"] in ("op", "output")
    ]
    assert ops("ij,jk->ik", a, b) == ["matmul"]
    assert ops("ij,jk->", a, b) == ["sum", "sum", "reshape", "reshape", "matmul", "reshape"]
    assert ops("ij->ji", a) == ["permute"]
    x = mg.tensor(a)
    assert mg.einsum("ij->ij", x) is not x


def test_only_pointwise_rules_are_written_for_large_operands() -> None:
    """A pointwise rule is written for arrays of any size; others need not run for a formula that
    large.
    """
    long = np.ones(LARGEST + 1)
    assert written("sin", 0, long) == "v · cos x1"
    assert written("cumsum", 0, long, axis=0) is None


def test_rules_of_a_users_own_operation() -> None:
    """Nothing is declared for the formula: it is the rule that the user wrote."""
    elementwise("derivatives_test_cube", lambda xp, x: x * x * x, lambda g, x: g * (3 * x * x))
    try:
        assert written("derivatives_test_cube", 0, X) == "v · 3 · x1 · x1"
    finally:
        del registry["derivatives_test_cube"]


def test_a_trace_runs_each_rule_no_more_often_than_it_must() -> None:
    """The engine's tangent and its adjoint, the local derivative of both, and a formula for each
    mode, which all applications have in common.
    """
    runs = []
    rule = lambda g, x: (runs.append(type(g).__name__), g * (3 * x * x))[1]
    cube = elementwise("derivatives_test_cube", lambda xp, x: x * x * x, rule)
    try:
        trace_function(lambda x: cube(cube(cube(x))), 0.5)
    finally:
        del registry["derivatives_test_cube"]
    assert runs.count("Symbol") == 2 and len(runs) == 2 + 3 * 3


def test_nothing_is_recorded_or_changed() -> None:
    x = mg.tensor(2.0, requires_grad=True)
    y = x * 3
    assert written("sin", 0, y.array) == "v · cos x1"
    y.backward()
    assert x.grad.item() == 3.0


def said(trace: dict[str, Any], phase: str, node: str) -> str:
    step = next(s for s in trace["steps"] if (s["phase"], s["node"]) == (phase, node))
    return text_of(step["formula"]).replace(BAR, "").replace("\u0307", "\N{PRIME}")


def test_each_step_names_its_rule() -> None:
    trace = trace_function(lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), 2.0, 5.0)
    assert (
        said(trace, "adjoint", "x2")
        == "x2 = v4 · ∂ sin x2/∂x2 = v4 · cos x2 = (−1) · 0.2837 = −0.2837"
    )
    assert said(trace, "accumulate", "x1") == (
        "x1 += v1 · ∂ ln x1/∂x1 = v1 / x1 = 1 / 2 = 0.5 → 5 + 0.5 = 5.5"
    )
    assert said(trace, "tangent", "v5") == (
        "v′5 = ∂v5/∂v3 · v′3 + ∂v5/∂v4 · v′4 = v′3 − v′4 = 5.5 − 0 = 5.5"
    )
    say = {(s["phase"], s["node"]): s["say"] for s in trace["steps"]}
    assert say["tangent", "v2"] == (
        "x1 · x2 has the derivatives x2 = 5 with respect to x1 and x1 = 2 with respect to x2:"
        " the tangent of v2 is 5."
    )
    assert say["adjoint", "x2"] == (
        "sin x2 has the derivative cos x2 = 0.2837: v4 sends −0.2837 back to x2 as"
        " x2's adjoint so far."
    )
    assert say["accumulate", "x2"] == (
        "x1 · x2 has the derivative x1 = 2 with respect to x2: v2 sends 2 back to x2; added to"
        " −0.2837, x2's adjoint is now 1.716."
    )


@pytest.mark.parametrize(
    ("f", "at", "formula", "say"),
    [
        (lambda x: x**2, 3.0, "x = v1 · ∂(x²)/∂x = v1 · 2 · x = 1 · 2 · 3 = 6",
            "x² has the derivative 2 · x = 6: v1 sends 6 back to x"),
        (lambda x: x**3, -2.0, "x = v1 · ∂(x³)/∂x = v1 · 3 · x² = 1 · 3 · (−2)² = 12",
            "x³ has the derivative 3 · x² = 12: v1 sends 12 back to x"),
        (lambda x: x**1, 5.0, "x = v1 · ∂(x¹)/∂x = v1 = 1",
            "x¹ has the derivative 1: v1 sends 1 back to x"),
        (lambda x: -x, 5.0, "x = v1 · ∂(−x)/∂x = −v1 = −1",
            "−x has the derivative −1: v1 sends −1 back to x"),
        (mg.sqrt, 4.0, "x = v1 · ∂√(x)/∂x = v1 / (2 · v1) = 1 / (2 · 2) = 0.25",
            "√(x) has the derivative 1 / (2 · v1) = 0.25: v1 sends 0.25 back to x"),
        (mg.tanh, 0.5, "x = v1 · ∂ tanh x/∂x = v1 · (1 − v1²) = 1 · (1 − 0.4621²) ≈ 0.7864",
            "tanh x has the derivative 1 − v1² = 0.7864: v1 sends 0.7864 back to x"),
        (lambda x: 3 / x, 2.0, "x = v1 · ∂(3 / x)/∂x = −v1 · 3 / x² = −1 · 3 / 2² = −0.75",
            "3 / x has the derivative −3 / x² = −0.75: v1 sends −0.75 back to x"),
        (mg.cos, 1.0, "x = v1 · ∂ cos x/∂x = v1 · (−sin x) = 1 · (−0.8415) = −0.8415",
            "cos x has the derivative −sin x = −0.8415: v1 sends −0.8415 back to x"),
        (mg.relu, 2.0, "x = v1 · ∂ relu x/∂x = where(v1 ≤ 0, 0, v1) = 1 · 1 = 1",
            "relu x has the derivative where(v1 ≤ 0, 0, 1) = 1: v1 sends 1 back to x"),
        (lambda x: mg.clamp(x, -1, 1), 2.0,
            "x = v1 · ∂v1/∂x = where((x ≥ (−1)) & (x ≤ 1), v1, 0) = 1 · 0 = 0",
            "clamp(x, −1, 1) has the derivative 0: v1 sends 0 back to x"),
    ],
    ids=lambda given: given.partition(" ")[0] if isinstance(given, str) else "",
)  # fmt: skip
def test_a_local_derivative_is_told_as_a_rule_and_in_numbers(
    f: Any, at: float, formula: str, say: str
) -> None:
    """The formula names what is differentiated and puts numbers into a rule of arithmetic; the
    sentence gives the derivative by itself."""
    step = trace_function(lambda x: f(x), at, mode="reverse")["steps"][-1]
    assert text_of(honest(step["formula"])).replace(BAR, "") == formula
    assert step["say"] == f"{say} as x's adjoint."


NOT_COMPUTED = set(
    """
    imag move binary_cross_entropy lgamma digamma polygamma erfinv igamma igammac airy_ai
    zeta bessel_j bessel_y bessel_i bessel_k copysign
    """.split()
)
"""Parts of complex numbers, and formulas with functions that NumPy does not have."""
POINTWISE = [
    c
    for c in ONE_RESULT
    if registry[c.primitive].pointwise and c.real and c.primitive not in NOT_COMPUTED
]


@in_one_test
@pytest.mark.parametrize("case", POINTWISE, ids=lambda case: case.id)
def test_the_derivative_that_a_sentence_names_is_the_local_derivative(case: Case) -> None:
    """NumPy evaluates what is left of each operation's rule without the adjoint."""
    prim, inputs = registry[case.primitive], [np.asarray(x) for x in case.inputs("float64")]
    names, rules = [f"x{i + 1}" for i in range(len(inputs))], Rules()
    rules.note("v4", Made.by(prim, inputs, [notation.symbol(n) for n in names], case.params))
    for index, name in enumerate(names):
        if prim.pull_rule(index) is None or inputs[index].dtype != np.float64:
            continue
        given = [mg.tensor(x) for x in inputs]
        given[index].requires_grad_()
        y = prim(*given, **case.params)
        if mg.is_complex(y):
            continue
        (wanted,) = mg.autograd.grad(y, given[index], mg.ones_like(y))
        values = {**dict(zip(names, inputs, strict=True)), "v4": y.detach().numpy()}
        rule = rules.pulled("v4", index)
        assert rule is not None
        known = {"σ": lambda x: 1 / (1 + np.exp(-x)), "π": np.pi}
        known["trunc_divide"] = lambda a, b: np.trunc(a / b)
        shown = notation.slope(rule)
        assert BAR not in text_of(shown)
        found = np.asarray(computed(shown, values, case.params, y.shape, known))
        found = np.broadcast_to(found, np.broadcast_shapes(found.shape, y.shape))
        if found.shape != wanted.shape:
            found = WORDS["sum"](found, shape=wanted.shape)
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-9, atol=1e-9, err_msg=name)


def test_each_step_of_arrays_names_its_rule() -> None:
    def layer(x: mg.Tensor, w: mg.Tensor, b: mg.Tensor) -> mg.Tensor:
        return mg.tanh(x @ w + b).sum()

    trace = trace_function(layer, np.ones((2, 3)), np.ones((3, 4)), np.ones(4), mode="both")
    assert said(trace, "adjoint", "w").startswith("w = xᵀ @ v1 = ")
    assert said(trace, "adjoint", "x").startswith("x = v1 @ wᵀ = ")
    assert said(trace, "adjoint", "b").startswith(
        "b = sum(v2 · ∂(v1 + b)/∂b, axis 0) = sum(v2, axis 0) = "
    )
    assert said(trace, "adjoint", "v3").startswith("v3 = expand(v4, shape (2, 4)) = ")
    assert said(trace, "adjoint", "v2").startswith("v2 = v3 · ∂ tanh v2/∂v2 = v3 · (1 − v3²) = ")
    assert said(trace, "tangent", "v1").startswith("v′1 = x′ @ w + x @ w′ = ")


def test_a_rule_that_cannot_be_read_leaves_the_symbols() -> None:
    """An operand that is a list of numbers has no formula."""
    trace = trace_function(lambda x: (x * [2.0]).sum(), np.ones(1), mode="reverse")
    assert said(trace, "adjoint", "x").startswith("x = v1 · ∂(x · c1)/∂x = ")


@pytest.mark.parametrize(
    ("f", "shape", "row", "say"),
    [
        (
            lambda x, c: c * x,
            (3, 1),
            "sum(v1 · c, axis 1, keepdims)",
            "the 4 columns of v1 = c · x (axis 1): v1 sends the sum over the columns, ",
        ),
        (
            lambda x, c: c * x,
            (4,),
            "sum(v1 · c, axis 0)",
            "the 3 rows of v1 = c · x (axis 0): v1 sends the sum over the rows, ",
        ),
        (
            lambda x, c: c * x,
            (),
            "sum(v1 · c, axes 0, 1)",
            "along axes 0, 1 of v1 = c · x: v1 sends the sum along them, ",
        ),
        (lambda x, c: c * x, (3, 4), "v1 · c", ""),
        (registry["scale_shift"], (), "v1", ""),
    ],
)
def test_sums_of_broadcast_operands_name_their_axes(f: Any, shape: Any, row: str, say: str) -> None:
    """In the formula and in the sentence, in whatever axis an operand was broadcast."""
    given = [np.ones(shape), np.arange(12.0).reshape(3, 4)]
    if f is registry["scale_shift"]:  # pointwise, too: x · w + b
        g = lambda x, c: f(c, mg.tensor(2.0, dtype=mg.float64), x).sum()
        row, say = "sum(v1, axes 0, 1)", "along axes 0, 1 of v1 = c · c1 + x: v1 sends the sum"
    else:
        g = lambda x, c: f(x, c).sum()
    steps = trace_function(g, *given, mode="reverse")["steps"]
    (step,) = [s for s in steps if s["node"] == "x" and s["phase"] == "adjoint"]
    assert f" = {row} = " in text_of(step["formula"]).replace(BAR, "")
    assert say in step["say"]


def test_the_bias_of_a_layer_is_summed_over_the_rows_in_words_too() -> None:
    """A layer is one operation, which adds its bias to each row."""
    layer = lambda x1, x2, x3: mg.nn.functional.linear(x1, x2, x3).sum()
    given = np.ones((4, 2)), np.ones((3, 2)), np.ones(3)
    steps = trace_function(layer, *given, mode="reverse")["steps"]
    told = {step["node"]: step["say"] for step in steps}
    assert told["x3"].replace(BAR, "") == (
        "x3 was broadcast over the 4 rows of v1 = x1 @ x2ᵀ + x3 (axis 0): v1 sends the sum over"
        " the rows, sum(v1, axis 0) = [4, 4, 4], back to x3 as x3's adjoint."
    )
    assert "broadcast" not in told["x1"] + told["x2"]


def test_an_operand_that_occurs_twice_says_which_occurrence_receives() -> None:
    """In reverse mode and in forward mode; an operand that occurs once is named alone."""
    trace = trace_function(lambda x: x * x, 3.0)
    assert said(trace, "adjoint", "x").startswith("x = v1 · ∂(x · x)/∂(first x) = v1 · x = ")
    assert said(trace, "accumulate", "x").startswith("x += v1 · ∂(x · x)/∂(second x) = v1 · x = ")
    assert said(trace, "tangent", "v1").startswith(
        "v′1 = ∂v1/∂(first x) · x′ + ∂v1/∂(second x) · x′ = x′ · x + x′ · x = "
    )
    first, second = (s["say"] for s in trace["steps"][-2:])
    assert first.endswith("sends 3 back to the first x as x's adjoint so far.")
    assert second.endswith("sends 3 back to the second x; added to 3, x's adjoint is now 6.")
    square = trace_function(lambda x: (x @ x).sum(), np.eye(2), mode="reverse")
    sent = [s["say"].partition(" back to ")[2] for s in square["steps"][-2:]]
    assert [re.split("; | as ", to)[0] for to in sent] == ["the first x", "the second x"]
    many = trace_function(lambda x: mg.stack([x] * 4).sum(), 1.0, mode="reverse")
    assert "back to v4;" in many["steps"][-1]["say"] or "x" in many["steps"][-1]["say"]
    once = trace_function(lambda x, y: x * y, 3.0, 2.0)
    assert said(once, "adjoint", "x").startswith("x = v1 · ∂(x · y)/∂x = ")


def test_so_far_is_said_where_a_contribution_follows() -> None:
    say = {}
    for step in trace_function(lambda x, y: x * y + mg.sin(x), 1.0, 2.0, mode="reverse")["steps"]:
        say.setdefault(step["node"], []).append(step["say"])
    assert say["x"][1].endswith(" so far.") and not say["x"][2].endswith(" so far.")
    assert say["y"][1].endswith(" as y's adjoint.")


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: x > 0, "v1 = (x > 0)"),
        (lambda x: x.clamp(-1, 2), "v1 = clamp(x, −1, 2)"),
        (lambda x: x.clamp(min=0.5), "v1 = max(x, 0.5)"),
        (lambda x: x.sum(1), "v1 = sum(x, axis 1)"),
        (lambda x: x.sum(), "v1 = sum(x, axes 0, 1)"),
        (lambda x: mg.linalg.svd(x)[1], "v2 = svd(x)[1]"),
        (lambda x: x.to(mg.float32), "v1 = cast(x, float32)"),
        (lambda x: mg.nn.functional.linear(x, x, x[:, 0]), "v2 = x @ xᵀ + v1"),
        (lambda x: x[mg.tensor([1, 0, 1])], "v1 = x[[1, 0, 1]]"),
        (lambda x: x.round(decimals=2), "v1 = round(x, decimals 2)"),
    ],
)  # fmt: skip
def test_expressions_say_all_that_changes_the_result(f: Any, text: str) -> None:
    steps = trace_function(f, np.arange(6.0).reshape(2, 3), mode="primal")["steps"]
    assert any(text_of(s["formula"]).startswith(text + " = ") for s in steps)


def test_shortened_arrays_show_the_entries_that_change() -> None:
    """Of a sum of contributions all three arrays show the same entries, among them some that the
    new contribution changes, also of those that stand in no sample."""
    f = lambda x: x[1] * x[7] + x[20] * 2
    trace = validate(trace_function(f, np.arange(24.0), mode="reverse"))
    first, second, third = (s for s in trace["steps"] if s["writes"][0][:2] == ["x", "g"])
    assert text_of(first["formula"]).endswith(" = [0, 0, …, 2, …] (24,)")
    assert second["say"].endswith(
        "elsewhere) = [0, …, 1, …, 0, …] (24,) back to x; added to [0, …, 0, …, 2, …] (24,), x's"
        " adjoint is now [0, …, 1, …, 2, …] (24,)."
    )
    assert text_of(third["formula"]).endswith(
        "[…, 0, …, 1, …, 2, …] (24,) + […, 7, …, 0, …, 0, …] (24,) = […, 7, …, 1, …, 2, …] (24,)"
    )
    assert "chosen" not in third["writes"][0][2]
    dense = trace_function(lambda x: (x * x).sum(), np.ones(24), mode="reverse")
    assert "chosen" not in str(dense)


def test_an_elementwise_rule_is_written_once_for_both_modes(monkeypatch):
    written, formula = [], derivatives._formula
    monkeypatch.setattr(
        derivatives,
        "_formula",
        lambda made, index, *a: written.append(index) or formula(made, index, *a),
    )
    monkeypatch.setattr(derivatives, "_known", {})
    for _ in range(2):  # the second Trace finds the formulas of the first
        trace_function(lambda x, y: mg.sin(x + y), 1.0, 2.0, mode="both")
    assert sorted(written) == [0, 0, 1]


def test_formulas_tell_a_negative_zero_from_zero() -> None:
    """By the value; it is written 0, as everywhere."""
    for zero in (0.0, -0.0):
        trace = trace_function(lambda x, zero=zero: x * zero, 2.0, mode="reverse")
        formula = trace["steps"][-1]["formula"]
        assert text_of(formula) == "x̄ = v̄1 · ∂(x · 0)/∂x = v̄1 · 0 = 1 · 0 = 0"
        zeros = [t["value"] for t in formula if t["t"] == "num" and t["value"] == 0]
        assert {math.copysign(1, found) for found in zeros} == {math.copysign(1, zero)}


def test_traces_share_no_token_that_a_change_of_one_would_change_in_another() -> None:
    def record() -> dict[str, Any]:
        return trace_function(lambda x: mg.sin(x) * mg.exp(x), 0.5)

    before, first = json.dumps(record()), record()
    for step in first["steps"]:
        for token in step["formula"]:
            token["t"] = "changed"
    assert json.dumps(record()) == before


def test_the_formulas_that_are_kept_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivatives, "MOST_KNOWN", 3)
    monkeypatch.setattr(derivatives, "_known", {})
    for factor in range(2, 9):
        trace = trace_function(lambda x, factor=factor: x * factor, 2.0, mode="reverse")
        assert f"· {factor} =" in text_of(trace["steps"][-1]["formula"])
    assert len(derivatives._known) <= 3
