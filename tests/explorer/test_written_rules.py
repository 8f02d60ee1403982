"""Every operation of the grammar is written in JavaScript from its declaration."""

import re

import pytest
from minigrad.viz.explorer import bundle, javascript
from minigrad.viz.texts import words as words_in

from minigrad import ops
from minigrad.core.primitive import elementwise, registry
from minigrad.expression import FUNCTIONS
from minigrad.expression.grammar import FormulaFunction
from minigrad.ops.elementwise import cos, mul


def test_each_operation_that_the_grammar_reaches_has_a_forward_and_its_rules():
    text = javascript.rules()
    written = set(re.findall(r"^  (\w+): \{$", text, re.M))
    for name, function in FUNCTIONS.items():
        assert re.search(rf'^    {name}: ["(]', text, re.M), f"{name} ({function}) is not there"
    for name in written - {"functions", "operators"}:
        part = text[text.index(f"\n  {name}: {{") :]
        part = part[: part.index("\n  },")]
        primitive = registry[name]
        assert "forward: " in part
        pulls, pushes = (
            javascript._rules(primitive, rules)
            for rules in (primitive.pull_rules, primitive.push_rules)
        )
        expected = len(pulls) + (len(pushes) if pushes != pulls else 0)
        assert part.count("      [[") + part.count("      null,") == expected


NO_FUNCTION_OF_A_FORMULA = {
    **dict.fromkeys("bitwise_not bitwise_xor".split(), "of integers"),
    **dict.fromkeys("logical_and logical_not logical_or logical_xor".split(), "of truth values"),
    **dict.fromkeys("isfinite isinf isnan".split(), "no number of a formula is anything else"),
    **dict.fromkeys("cast clone overwrite ones_like".split(), "of dtypes and memory"),
    **dict.fromkeys("fmod trunc_divide".split(), "formulas have no remainder"),
    "hypot": "a formula spells it sqrt(x*x + y*y)",
    **dict.fromkeys("binary_cross_entropy scale_shift".split(), "parts of losses and layers"),
}
"""Operations with a scalar expression that the grammar does not reach, and why."""


def test_each_operation_with_a_scalar_expression_is_in_the_page_or_has_a_reason():
    ops.load()
    written = set(re.findall(r"^  (\w+): \{$", javascript.rules(), re.M))
    scalar = {
        name
        for name, declared in registry.items()
        # extras and special functions, which are loaded on demand, are no part of the grammar
        if isinstance(declared.scalar, str)
        and declared.forward.__module__.startswith("minigrad.ops")
    }
    assert scalar - written == set(NO_FUNCTION_OF_A_FORMULA)


def test_each_word_of_a_forward_function_is_defined():
    called = set(re.findall(r"\bF\.(\w+)\(", javascript.rules()))
    own = (bundle.STATIC / "functions.js").read_text(encoding="utf-8")
    of_math = set("abs sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan".split())
    of_math |= set("atan2 sinh cosh tanh asinh acosh atanh hypot floor ceil trunc".split())
    assert {"exp", "maximum", "power"} <= called
    assert all(word in of_math or re.search(rf"^  {word}[,:]", own, re.M) for word in called)


@pytest.fixture
def larger_grammar(monkeypatch):
    """A grammar with one more function, of an operation that is declared here."""

    def add(rule, scalar):
        made = elementwise("doubled_sine", lambda xp, x: 2 * xp.sin(x), rule, scalar=scalar)
        monkeypatch.setattr("minigrad.functions.doubled_sine", made, raising=False)
        monkeypatch.setitem(FUNCTIONS, "dsin", FormulaFunction("doubled_sine", 1))
        javascript.rules.cache_clear()

    yield add
    registry.pop("doubled_sine", None)
    javascript.rules.cache_clear()


def test_a_new_operation_is_written_without_further_work(larger_grammar):
    larger_grammar(lambda g, x: g * (2 * cos(x)), "2 * sin(x)")
    text = javascript.rules()
    assert "forward: (x) => 2 * F.sin(x)," in text
    assert "[[0], ({ mul, cos }, g, x) => mul(g, mul(2, cos(x)))]" in text
    assert '    dsin: "doubled_sine",' in text


def test_a_value_that_a_rule_uses_twice_is_computed_once(larger_grammar):
    def rule(g, x):
        c = cos(x)
        return mul(g, c * c)

    larger_grammar(rule, "2 * sin(x)")
    assert "const t = cos(x);\n        return mul(g, mul(t, t));" in javascript.rules()


@pytest.mark.parametrize(
    "rule",
    [
        lambda g, x: g * float(cos(x)),
        lambda g, x: g * cos(x).item(),
        lambda g, x: g if x > 0 else -g,
    ],
    ids=["float", "item", "branch"],
)
def test_a_rule_that_reads_a_number_is_refused_and_not_written_with_a_sample(larger_grammar, rule):
    larger_grammar(rule, "2 * sin(x)")
    with pytest.raises(TypeError, match="symbol"):
        javascript.rules()


def test_the_rules_are_the_same_text_each_time():
    first = javascript.rules()
    javascript.rules.cache_clear()
    assert javascript.rules() == first


@pytest.mark.parametrize("joined", [bundle.script, bundle.viewer_with_engine])
def test_the_joined_modules_declare_each_name_once(joined):
    text = joined()
    names = re.findall(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", text, re.M)
    more = re.findall(r"^const [^;]*?^  (\w+) = ", text, re.M)
    assert len(names) > 200
    assert {n for n in names if names.count(n) > 1} == set()
    assert set(more) & set(names) <= set(), set(more) & set(names)


@pytest.mark.parametrize("whole", [False, True])
def test_each_module_has_what_others_import_from_it(whole):
    """Also where a smaller one stands in its place."""
    texts = bundle.modules("explore.js", whole=whole)
    asked = [
        (path.name, name, texts[(path.parent / place).resolve()])
        for path, text in texts.items()
        for names, place in re.findall(r'^import \{([^}]*)\} from "([^"]+)";', text, re.M)
        for name in re.findall(r"\w+", names)
    ]
    lacks = [(of, name) for of, name, text in asked if not re.search(rf"\b{name}\b", text)]
    assert lacks == [] and len(asked) > 150


def test_the_page_has_each_word_that_it_asks_for_and_no_words_of_what_it_cannot_show():
    text = bundle.script()
    words = text[text.index("const TEXTS = {") :]
    words = words[: words.index("\n};")]
    has = set(re.findall(r"^    (\w+):", words, re.M))
    asked = set(re.findall(r"\bt\(\s*\"(\w+)\"", text)) | set(re.findall(r", \"(key\w+)\"\]", text))
    asked |= {"primal", "tangent", "adjoint", "accumulate", "seed", "v", "d", "g", "algorithm6"}
    of_arrays = {"shapeOf", "cutSummary"} | {"askEntry"}  # and of a Jacobian
    said = words_in("en")  # a word that is its own key is left out
    lacks = {word for word in asked - of_arrays - has if said(word) != word}
    assert len(asked) > 60 and not lacks and not of_arrays & has
    assert not has & {"buffersWhat", "passPlain", "surfaceSaid", "pairAt", "decidesRuns"}


def test_the_page_has_the_styles_of_its_own_elements_alone():
    style = bundle.stylesheet()
    for selector in (".mg-card{", ".mg-kind-input", ".mg-c-g{", ".mg-strip-of{", ".mgx-plot{"):
        assert selector in style
    assert not re.search(r"\.mg-(?:jacobian|buffers|pairname)\b", style)
    assert style.count("{") == style.count("}")
