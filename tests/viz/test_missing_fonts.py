"""A still whose letters no installed font has is drawn with a warning that says which, and what
to install.
"""

import warnings

import pytest
from minigrad.viz.picture import fonts

from minigrad import viz
from minigrad.watch import trace_function

pytest.importorskip("matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"')


@pytest.fixture
def plain_fonts(monkeypatch):
    """A machine that has matplotlib's own font alone."""
    monkeypatch.setattr(fonts, "fonts", lambda: ["DejaVu Sans"])
    fonts._drawable.cache_clear()
    yield
    fonts._drawable.cache_clear()


def drawn(path, **options):
    """The warnings of a picture of f(x) = x²; matplotlib adds one for each box."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        viz.save(trace_function(lambda x: x * x, 2.0, source=""), path, **options)
    assert path.exists()
    return [str(one.message) for one in seen if one.category is fonts.MissingFontWarning]


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_chinese_letters_without_a_font_are_named_with_the_cure(tmp_path, plain_fonts, form):
    (said,) = drawn(tmp_path / f"a.{form}", title="速度 and 速")
    assert "速 (U+901F) 度 (U+5EA6)." in said and said.count("U+901F") == 1
    assert "apt-get install fonts-noto-cjk" in said and "Noto Sans CJK SC" in said
    assert "fontlist-*.json" in said and ".svg or .html" in said


def test_letters_of_another_script_are_named_without_a_chinese_cure(tmp_path, plain_fonts):
    (said,) = drawn(tmp_path / "a.png", title="\u0e01 alone")
    assert "(U+0E01)" in said and "noto-cjk" not in said and "other characters" in said


def test_a_film_warns_once(tmp_path, plain_fonts):
    assert len(drawn(tmp_path / "a.gif", title="速", steps=(1, 2))) == 1


def test_letters_that_a_font_has_need_no_warning(tmp_path, plain_fonts):
    assert drawn(tmp_path / "a.png", title="Ableitung für θ → ∂f/∂θ, é, ✓") == []
    assert drawn(tmp_path / "a.svg", title="速度") == [], "the reader's fonts are taken"
