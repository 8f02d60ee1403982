"""The reference on the site: each operation stands there with its rule as it is declared, and each
public name with its docstring.
"""

import html
import inspect
import re
import subprocess
import sys
import types
from collections import Counter
from xml.etree import ElementTree

import pytest
from minigrad.lessons import operation_steps, reference

import minigrad as mg
from minigrad.batching.boundary import BOUNDARY
from minigrad.core.primitive import registry
from minigrad.errors import AutogradError
from minigrad.expression import FUNCTIONS
from minigrad.watch import trace_function
from tests.helpers.public_names import FILE, names

pytest.importorskip("matplotlib", reason='pip install -e ".[viz]"')


PICTURES: dict[str, str] = {}
"""By operation what is drawn of it."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By name the pages that are written."""
    source, beside = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("beside")
    reference.write(source, beside)
    for path in beside.rglob("*.svg"):
        PICTURES[path.stem] = path.read_text(encoding="utf-8")
    return {path.stem: path.read_text(encoding="utf-8") for path in source.rglob("*.md")}


@pytest.fixture(scope="module")
def entries(pages):
    """By operation what its page says."""
    parts = re.split(r"^### (.+)$", pages["operations"], flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_each_operation_says_what_each_of_its_operands_receives(entries):
    own = {name for name, one in registry.items() if one.forward.__module__.startswith("minigrad.")}
    assert set(entries) >= own and len(own) > 150
    for name in own:
        primitive = registry[name]
        said = re.findall(r"^- (?:\$\\bar\{(?:\\mathit\{)?(\w+)\}|`(\w+)`)", entries[name], re.M)
        wanted = () if primitive.kind == "constant" else primitive.inputs
        assert tuple(a or b for a, b in said) == wanted, name


FORMULAS = {
    "sin": r"$\bar{x} \mathrel{+}= \bar{y}\,\cdot\,\mathrm{cos}\,x$",
    "mul": r"$\bar{a} \mathrel{+}= \bar{y}\,\cdot\,b$",
    "matmul": r"$\bar{b} \mathrel{+}= {a}^{\mathrm{T}}\,\mathbin{\mathrm{@}}\,\bar{y}$",
    "pow": r"$y = {x}^{\mathrm{3}}$",
    "clamp": "`x` receives `where(_between(x, low, high), g, 0.0)`",
    "where": "`condition` receives nothing",
    "softmax": "return weighted - y * sum_(weighted, axes=_over(axis, y), keepdims=True)",
    "bitwise_and": r"$y = a\mathbin{\&}b$",
    "sigmoid": "`torch.nn.functional.sigmoid`; node `SigmoidBackward0`; SINGA:"
    " `sigmoid`; ONNX: `Sigmoid`; <a",
    "add": "Called by `mg.add`",
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_rule_and_the_names_of_an_operation_are_those_of_its_declaration(entries, name):
    assert FORMULAS[name] in entries[name]


def test_each_operation_that_formulas_have_leads_to_its_steps(entries):
    shown = re.compile(r'<a href="\.\./explore\.html#f=([^"]+)">step through it</a>')
    found = {name: links[1] for name, said in entries.items() if (links := shown.search(said))}
    assert found["sin"] == "sin(x)&amp;x=0.5" and found["acosh"] == "acosh(x)&amp;x=1.5"
    assert found["div"] == "x/y&amp;x=0.5&amp;y=0.25"
    assert len(found) > 40 and {"pow", "neg", "maximum", "erf"} <= set(found)
    assert set(FUNCTIONS) - set(found) <= {"arccos", "arcsin", "arctan", "ln"}, "other names"


@pytest.mark.oracle
def test_the_names_in_pytorch_are_names_of_pytorch(torch):
    reference.load()
    names = {name for calls in reference.callers().values() for name in calls}
    assert len(names) > 250

    def theirs(name):
        found = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        return found

    assert {name for name in names if theirs(name) is None} == reference.OWN


def test_each_operation_has_a_picture_of_a_step_or_a_reason(entries):
    own = {one.name for one in reference.known()}
    assert set(PICTURES) | set(operation_steps.UNSHOWN) == own
    assert not set(PICTURES) & set(operation_steps.UNSHOWN)
    assert set(operation_steps.SAMPLES) <= set(PICTURES)
    for name, said in entries.items():
        image = re.search(
            rf'<img .*src="steps/{name}.svg" width="(\d+)" height="(\d+)" alt="(.+)">', said
        )
        assert bool(image) == (name in PICTURES), name
        if image:
            root = ElementTree.fromstring(PICTURES[name])
            sizes = [round(float(root.get(side))) for side in ("width", "height")]
            assert sizes == [int(image[1]), int(image[2])]
            shown = re.sub(r"\s", "", "".join(root.itertext()))
            assert re.sub(r"\s", "", html.unescape(image[3]).partition(": ")[2]) in shown
        reason = operation_steps.UNSHOWN.get(name)
        assert (f"There is no picture of a step: {reason}." in said) == (name not in PICTURES), name


def test_the_reasons_for_having_no_picture_are_true():
    drawn = {name for name in operation_steps.UNSHOWN if not registry[name].inputs}
    batched = {one.name for one in BOUNDARY}
    assert drawn == {name for name in drawn if registry[name].random}
    assert drawn | batched == set(operation_steps.UNSHOWN)
    shown = trace_function(lambda: mg.rand(2), mode="primal")
    assert [node["kind"] for node in shown["nodes"]] == ["const"]
    with pytest.raises(AutogradError, match="vmap"):
        trace_function(mg.vmap(lambda x: 2 * x), [1.0, 2.0])


def test_a_picture_of_numbers_that_are_drawn_draws_them_again_and_changes_no_others():
    mg.manual_seed(7)
    wanted = mg.rand(2)
    mg.manual_seed(7)
    first, second = (operation_steps.step(registry["dropout_mask"]) for _ in range(2))
    assert first == second
    assert mg.equal(mg.rand(2), wanted)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sin", "sin x has the derivative cos x = 0.8776: v1 sends 0.8776 back to x"),
        ("matmul", "v1 = a @ b sends v̄1 @ bᵀ = [[1, 4], [3, 10]] back to a"),
        ("bessel_j", "bessel_j(1, x) has the derivative 0.1399: v1 sends 0.1399 back to x"),
        (
            "getitem",
            "v1 = x[[2, 0, 2]] sends scatter_add(v̄1 at [[2, 0, 2]], 0 elsewhere) = [2, 0, 4] back",
        ),
        ("gcd", "v1 = gcd(a, b) = 2."),
        ("overwrite", "overwrite(old, new) has the derivative 0 with respect to old: v1 sends 0"),
        ("dropout_mask", "v1 = dropout_mask(x, p 0.5) = [0, 2, 2]."),
        ("imag", "v1 = imag x sends complex(0, v̄1) = 0+1i back to x"),
        (
            "scatter_view",
            "v1 = scatter(values at the view, x elsewhere) sends scatter(0 at the view, v̄1 ",
        ),
        ("fft", "v1 = fft(x, axis 0) = [3+0i, −1+0i]."),
        ("pivots_to_permutation", "v1 = pivots_to_permutation pivots = [2, 1, 0]."),
    ],
)
def test_the_picture_shows_what_the_rule_gives(entries, name, said):
    assert f'alt="One step of {name}: {said}' in entries[name]


def test_an_operation_that_a_program_declares_is_not_in_the_reference():
    from minigrad.core.primitive import elementwise

    elementwise("doubled_here", lambda xp, x: 2 * x, lambda g: 2 * g)
    try:
        assert "doubled_here" not in [one.name for one in reference.known()]
    finally:
        registry.pop("doubled_here")


def test_the_words_of_a_rule_are_the_very_lambda_of_its_declaration():
    reference.load()
    rules = [
        inspect.unwrap(rule.function)
        for primitive in registry.values()
        for rule in primitive.pull_rules
        if rule is not None and rule.function.__name__ == "<lambda>"
    ]
    assert len(rules) > 80
    for function in rules:
        text = reference.declared(function)
        parameters = str(inspect.signature(function))[1:-1]
        again = eval(f"lambda {parameters}: ({text})", dict(function.__globals__))
        ours, theirs = again.__code__, function.__code__
        used = lambda code: {*code.co_names, *code.co_freevars, *plain(code.co_consts)}
        assert used(ours) == used(theirs), text


def plain(constants):
    """Without the code of inner functions, which is equal to no other."""
    return [one for one in constants if not isinstance(one, types.CodeType)]


def test_each_public_function_and_class_is_documented_on_a_page(pages):
    text = "\n".join(pages.values())
    found = set(re.findall(r"^\.\. auto\w+:: minigrad\.(\S+)$", text, re.MULTILINE))
    of_tensors = {name for name in found if name.startswith("Tensor.")}
    known = {id(resolved(name)) for name in found - of_tensors}
    listed = names(FILE.read_text(encoding="utf-8"))
    missing = []
    for name in [name.removeprefix("mg.") for name in listed]:
        if name.startswith("Tensor."):
            missing += [name] * (name not in of_tensors and not name.startswith("Tensor.__"))
            continue
        value = resolved(name)
        own = isinstance(value, types.FunctionType | type) and "__" not in name
        if own and value.__module__.startswith("minigrad") and id(value) not in known:
            missing.append(name)
    assert len(listed) > 1000 and missing == []


def test_nothing_is_described_twice(pages):
    """Sphinx warns of it when it builds in one process, and then there is no site."""
    names = re.findall(
        r"^\.\. auto(?:class|function):: minigrad\.(\S+)$", "\n".join(pages.values()), re.M
    )
    described = Counter(id(resolved(name)) for name in names)
    assert len(names) > 500 and described.most_common(1)[0][1] == 1


def test_a_line_of_a_table_has_the_first_sentence_and_leads_to_the_description(pages):
    assert "| {py:obj}`~minigrad.trace.Divergence` | The first difference. |" in pages["trace"]
    for page in (text for name, text in pages.items() if name not in ("tensor", "index")):
        described = re.findall(r"^\.\. auto\w+:: (\S+)$", page, re.MULTILINE)
        assert re.findall(r"^\| \{py:obj\}`~(\S+)` \| \S.* \|$", page, re.M) == described


def resolved(name):
    value = mg
    for part in name.split("."):
        value = getattr(value, part)
    return value


DOCSTRING = """\
Multiplies by *a* and x_ and |b|, as `f(*args)` does; a lone ` too.

    code = stays * as_it_is

- no list, ``literal``

x. is no tenth entry
.. note:: nothing"""


def test_signs_of_restructured_text_in_a_docstring_stay_signs():
    docutils = pytest.importorskip("docutils.core")
    lines = reference.readable(DOCSTRING.splitlines())
    tree = docutils.publish_doctree("\n".join(lines), settings_overrides={"report_level": 5})
    text = tree.astext()
    assert "by *a* and x_ and |b|, as" in text and "code = stays * as_it_is" in text
    assert "- no list," in text and "x. is no tenth" in text and ".. note:: nothing" in text
    names = {node.tagname for node in tree.findall()}
    assert "literal_block" in names and not names & {"system_message", "emphasis", "note"}


@pytest.mark.whole
def test_each_docstring_is_restructured_text(pages):
    """Sphinx warns of what is not, and then there is no site."""
    docutils = pytest.importorskip("docutils.core")
    quiet = {"report_level": 1, "halt_level": 5, "warning_stream": False, "_disable_config": True}
    described = re.findall(r"^\.\. auto\w+:: minigrad\.(\S+)$", "\n".join(pages.values()), re.M)
    wrong = {}
    for name in described:
        lines = reference.readable((inspect.getdoc(resolved(name)) or "").splitlines())
        tree = docutils.publish_doctree("\n".join(lines), settings_overrides=quiet)
        if "system_message" in {node.tagname for node in tree.findall()}:
            wrong[name] = tree.astext()
    assert wrong == {} and len(described) > 1000


def test_a_type_in_a_signature_leads_to_its_entry(tmp_path):
    pytest.importorskip("sphinx", reason='pip install -e ".[site]"')
    lines = [f"{name} = {value!r}\n" for name, value in reference.SETTINGS.items()]
    lines.append(f"extensions = {reference.EXTENSIONS!r}\n")
    (tmp_path / "conf.py").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "index.rst").write_text(
        "All\n===\n\n.. autofunction:: minigrad.celu\n\n.. autoclass:: minigrad.Tensor\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(tmp_path), str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True)
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    signature = re.search(r'<dt[^>]* id="minigrad.celu">.*?</dt>', text, re.DOTALL)
    assert 'href="#minigrad.Tensor"' in signature[0]
