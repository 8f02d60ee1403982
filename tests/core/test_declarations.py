"""The errors of wrong declarations of operations; a refused declaration adds nothing to the
registry.
"""

import pytest

from minigrad.core.primitive import bilinear, elementwise, registry


@pytest.mark.parametrize(
    ("declare", "error", "said"),
    [
        (
            lambda: elementwise("new", lambda x: x, lambda g: g),
            TypeError,
            r"one rule for each input .* got 1 for 0 \(inputs: none\).*lambda xp, x",
        ),
        (
            lambda: elementwise("new", lambda xp, a, b: a * b, lambda g, b: g * b),
            TypeError,
            r"got 1 for 2 \(inputs: a, b\)",
        ),
        (
            lambda: elementwise("new", lambda xp, x: x, lambda g, z: g),
            TypeError,
            "`z` is neither an input",
        ),
        (
            lambda: bilinear("new", lambda xp, a: a, lambda g, b: g, lambda g, a: g),
            TypeError,
            r"got 2 for 1 \(inputs: a\)",
        ),
        (
            lambda: elementwise("sin", lambda xp, x: x, lambda g: g),
            ValueError,
            "named sin exists already; choose another name",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_and_leaves_nothing(declare, error, said):
    before = dict(registry)
    with pytest.raises(error, match=said):
        declare()
    assert registry == before
