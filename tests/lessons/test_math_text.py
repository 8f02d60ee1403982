"""A formula of a page becomes a line of text for the excerpts of a search."""

import unicodedata

import pytest
from minigrad.lessons.math_text import math_text
from minigrad.lessons.site import write_texts

pytest.importorskip("docutils", reason="docutils comes with Sphinx: pip install -e '.[site]'")

FORMULAS = {
    r"\bar{v}_1 = \frac{\partial y}{\partial v_1}": "v̄1 = ∂y/∂v1",
    r"\frac{a + b}{2}": "(a + b)/2",
    r"W^\top \bar y": "Wᵀȳ",
    r"\dot v_{i} \mathrel{+}= 3 \times 10^{-4}": "v̇i + = 3 × 10⁻⁴",
    r"e^{x_1 + 1} \sin x_2 \cdot \sin(x_2)": "e^(x1 + 1)sin x2 ⋅ sin(x2)",
    r"(-2p, -q) - 1": "(−2p, −q) − 1",
    r"\sum_{i=1}^{n} w_i^2": "∑wi²",
    r"\sqrt{x} \le x_1, \dots, x_n": "√(x) ≤ x1, …, xn",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}": "(a, b, c, d)",
    r"\nosuchcommand{x} + 1": "x + 1",
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_told_in_letters_and_signs(formula):
    assert math_text(formula) == unicodedata.normalize("NFC", FORMULAS[formula])


def test_the_texts_that_a_search_shows_hold_no_tex(tmp_path):
    span = r'<span class="math notranslate">\(\bar x &lt; \frac{a}{b}\)</span>'
    page = f'<article role="main"><p>The adjoint is {span}.</p></article>'
    (tmp_path / "one.html").write_text(page, encoding="utf-8")
    write_texts(tmp_path)
    told = (tmp_path / "texts/one.js").read_text(encoding="utf-8")
    assert unicodedata.normalize("NFC", "x̄ &lt; a/b") in told and "frac" not in told
