"""Do the checks notice a wrong derivative? Every rule of every operation is broken, one at a
time, and the checks must fail each time.
"""

import pytest

import minigrad as mg
from minigrad.core.primitive import Rule, registry
from tests.helpers import case_checks as checking
from tests.helpers import network_cases as net
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

OPERATIONS = [
    name for name in dict.fromkeys(c.primitive for c in CASES) if registry[name].kind != "constant"
]


def rules(operation) -> list[tuple[str, Rule]]:
    """Each pull and push rule once (an elementwise rule is both)."""
    found: dict[int, tuple[str, Rule]] = {}
    for direction, of_inputs in (("pull", operation.pull_rules), ("push", operation.push_rules)):
        for name, rule in zip(operation.inputs, of_inputs, strict=True):
            if rule is not None:
                found.setdefault(id(rule), (f"{direction} rule of {name}", rule))
    return list(found.values())


def wrong_by_a_hundredth(function, zero: bool):
    """The rule times 1.01. A rule that says 0 says 0.01 times the incoming derivative instead,
    since 1.01 · 0 would still be right.
    """

    def broken(g, *values, **params):
        right = function(g, *values, **params)
        if isinstance(right, tuple):  # the push rule of an operation with several results
            return tuple(1.01 * r for r in right)
        if zero:
            return right + 0.01 * (g if g.shape == right.shape else 1.0)
        return 1.01 * right

    return broken


def is_zero(name: str, rule: Rule) -> bool:
    """Whether the rule is `zeros_like(g)`, whatever the values."""
    return name == "zeros_like" or rule.function.__code__.co_names == ("zeros_like",)


def check_image(case: Case) -> None:
    """The derivative of what follows the maxima of windows by the image, which the cases fill in,
    is 0: no central difference says so, since a moved image has other maxima.
    """
    if case.primitive in ("max_pool_jvp", "max_pool_backward"):
        x = mg.tensor(net.RANKED, requires_grad=True)
        maxima = registry["max_pool"](x.detach(), **case.params)
        y = registry[case.primitive](mg.tensor(case.inputs()[0]), x, maxima, **case.params)
        (gradient,) = mg.autograd.grad(y, [x], mg.ones_like(y))
        assert gradient.shape == x.shape and not gradient.any()


def notices(name: str) -> bool:
    """Whether a compact run of the generic checks fails for some case of the operation."""
    for case in CASES:
        if case.primitive != name:
            continue
        for dtype in (["float64"] if case.real else []) + (
            ["complex128"] if case.complex or not case.real else []
        ):
            try:
                checking.check_first_order(case, dtype)
                check_image(case)
            except AssertionError:
                return True
    return False


def survivors(name: str, monkeypatch) -> list[str]:
    """The rules of an operation that can be 1% wrong without any check failing."""
    found = []
    for label, rule in rules(registry[name]):
        with monkeypatch.context() as patch:
            broken = wrong_by_a_hundredth(rule.function, is_zero(name, rule))
            patch.setattr(rule, "function", broken)
            patch.setattr(rule, "upcasting", broken)
            if not notices(name):
                found.append(label)
    return found


@in_one_test
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_broken_rule_is_noticed(name: str, monkeypatch) -> None:
    assert not notices(name), "the rules are wrong before they are broken"
    assert survivors(name, monkeypatch) == []


def test_a_rule_survives_where_no_check_reads_it(monkeypatch) -> None:
    """The mutation check can fail: without the generic checks every broken rule passes."""
    assert survivors("mul", monkeypatch) == []
    monkeypatch.setattr(checking, "check_first_order", lambda case, dtype: None)
    assert len(survivors("mul", monkeypatch)) == len(rules(registry["mul"])) > 1


def test_there_is_something_to_break() -> None:
    """That every operation has a case is tested beside the table; here, that the rules were
    found at all.
    """
    assert sum(len(rules(registry[name])) for name in OPERATIONS) >= 100
