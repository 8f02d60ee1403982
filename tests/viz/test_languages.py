"""What Python draws or writes of a Trace speaks the language that is asked for, with the
viewer's own words, and names the seeds.
"""

import copy
import re
import unicodedata
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from minigrad.viz import drawing, scale, training
from minigrad.viz import texts as viewer_texts
from minigrad.viz.bundle import STATIC
from minigrad.viz.export.frame import Scene
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.page import VIEWS
from minigrad.viz.picture import fonts, mathtext
from minigrad.viz.picture.fonts import text_width, wrap
from minigrad.viz.picture.legend import legend_of
from minigrad.viz.reading import heading_runs
from minigrad.viz.speech import beginning, names_of, phase_name, sentence, spoken, table_words
from minigrad.viz.svg import to_svg
from minigrad.viz.texts import _COMMENT, _ENTRY, _SECTION, LANGUAGES, texts, words

import minigrad as mg
from minigrad import viz
from minigrad.cli import main as command
from minigrad.program import trace as record
from minigrad.trace import table
from minigrad.trace.text import EXPLAINED, WORDS
from minigrad.watch import trace_function
from tests.helpers.trace_samples import all_samples
from tests.helpers.trace_sentences import kinds_of_sentences


def baydin(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


class Net(mg.nn.Module):
    def __init__(self):
        self.blocks = mg.nn.Sequential(*(mg.nn.Linear(3, 3) for _ in range(4)))
        self.head = mg.nn.Linear(3, 1)

    def forward(self, x):
        return self.head(self.blocks(x).tanh()).sum()


@pytest.fixture(scope="module")
def both():
    return trace_function(baydin, 2.0, 5.0, tangents=[0.0, 1.0])


@pytest.fixture(scope="module")
def growing():
    once = lambda f: lambda x: mg.autograd.grad(f(x), [x], create_graph=True)[0]
    return trace_function(once(once(lambda x: mg.sin(x * x))), 0.7)


@pytest.fixture(scope="module")
def net():
    mg.manual_seed(3)
    return trace_function(Net(), np.ones((2, 3), "float32"), mode="reverse")


def svg_texts(svg):
    return [
        "".join(e.itertext()) for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def frame_texts(trace, at, **options):
    return scene_texts(Scene(trace, **options), at)


def scene_texts(scene, at):
    figure = scene.figure(72)
    scene.draw(figure, at)
    return [t.get_text() for axes in figure.axes for t in axes.texts]


# ---- the table


def test_nothing_of_the_viewers_table_is_overlooked():
    found = texts()
    assert tuple(found) == LANGUAGES
    source = (STATIC / "viewer" / "texts.js").read_text(encoding="utf-8")
    for lang, part in _SECTION.findall(source):
        rest = _ENTRY.sub("", _COMMENT.sub("", part))
        assert re.fullmatch(r"[\s,]*", rest), f"{lang}: not understood: {rest.strip()[:80]}"
    assert found["zh"]["nothing"] == "尚未计算" and len(found["en"]) > 150
    assert set(found["en"]) <= set(found["zh"]) | {"counter"}, (
        "what is missing in Chinese would be said in English"
    )


def test_each_view_has_a_title_in_every_language():
    found = viewer_texts.views()
    assert found == {name: found[name] for name in VIEWS} and len(found) >= 8
    for titles in found.values():
        assert tuple(titles) == LANGUAGES and all(titles.values())
    assert words("zh")("view_jacobian") == found["jacobian"]["zh"] == "雅可比矩阵"


def test_the_help_of_the_command_lists_the_views(capsys):
    assert command(["trace", "--help"]) == 0
    assert ", ".join(VIEWS) in " ".join(capsys.readouterr().out.split())


def test_the_help_of_show_and_the_cheat_sheet_list_the_views_and_where_answers_are():
    sheet = (STATIC.parents[1] / "lessons" / "cheat_sheet.md").read_text(encoding="utf-8")
    for text in (" ".join(viz.show.__doc__.split()).replace('"', ""), sheet):
        assert ", ".join(VIEWS) in text
        assert "shown.answers" in text


def test_what_a_function_does_is_said_in_the_same_words_in_texts_and_pages():
    for name, told in EXPLAINED.items():
        assert words("en")(f"fn_{name}") == told
        assert name in words("zh")(f"fn_{name}") != told
    trace = trace_function(lambda x, y: (x * y).sum(), [[1.0], [2.0]], [1.0, 2.0])
    assert table(trace).count(EXPLAINED["sum"]) == 1
    assert words("zh")("fn_sum") in table(trace, words=table_words(words("zh")))


def test_a_view_without_a_title_is_refused_by_name(monkeypatch, tmp_path):
    folder = tmp_path / "viewer"
    (folder / "views").mkdir(parents=True)
    (folder / "views.js").write_text("export const VIEWS = [\n  tallyView,\n];\n")
    (folder / "views" / "tally.js").write_text('const tallyView = {\n  name: "tally",\n};\n')
    monkeypatch.setattr(viewer_texts, "STATIC", tmp_path)
    with pytest.raises(ValueError, match=r"views/tally.js: tallyView must begin with its name and"):
        viewer_texts.views.__wrapped__()


def test_blanks_are_filled_and_unknown_names_stay():
    t = words("zh")
    assert (
        t("stepOf", k=1, n=2, phase="值") == "第 1 步，共 2 步，值"
        and t("counter", k=3, n=4) == "3 / 4"
    ), "English where Chinese is silent"
    assert t("another engine's {phase}") == "another engine's {phase}"
    with pytest.raises(ValueError, match="no texts in 'la'; the languages are en, zh"):
        words("la")


# ---- stills


@pytest.mark.parametrize("name", ["both", pytest.param("growing", marks=pytest.mark.whole), "net"])
def test_a_chinese_still_has_no_english_word(request, name):
    trace = request.getfixturevalue(name)
    english = {text for text in texts()["en"].values() if re.fullmatch(r"[A-Za-z ,]{3,}", text)}
    t, numbers = words("zh"), (0, 1, len(trace["steps"]) // 2, len(trace["steps"]))
    scene = Scene(trace, lang="zh", steps=numbers)
    for at in numbers:
        for found in (svg_texts(to_svg(trace, at, lang="zh")), scene_texts(scene, at)):
            assert not english & set(found)
            assert not [
                text
                for text in found
                if re.search(r"\b(is|the|step|Step|seed|mode|operations?)\b", text)
            ]
            if at:
                assert any(
                    t("say", k=at, n=len(trace["steps"])).split("，")[0] in text for text in found
                ) or any(f"{at} / {len(trace['steps'])}" in text for text in found)
            for look in legend_of(trace, t):
                assert look.words in found and any(
                    "\u4e00" <= letter <= "\u9fff" for letter in look.words
                )
    assert 'lang="zh"' in to_svg(trace, lang="zh") and 'lang="en"' in to_svg(trace)


def test_the_sentence_names_the_node_that_a_closed_box_hides(net):
    steps, t = net["steps"], words("zh")
    hidden = next(k for k, s in enumerate(steps, 1) if s["phase"] == "primal" and s["node"] == "v1")
    expected = sentence(steps[hidden - 1], t, names_of(net))
    drawn = "".join(svg_texts(to_svg(net, hidden, lang="zh")))  # in several lines
    assert "v1" in expected and expected.replace(" ", "") in drawn.replace(" ", "")
    assert "8 个运算" in " ".join(
        svg_texts(to_svg(net, groups="closed", lang="zh"))
    ) or "个运算" in to_svg(net, groups="closed", lang="zh")
    assert "operations" not in to_svg(net, groups="closed", lang="zh")


def test_a_seed_says_what_it_is_a_seed_of_in_chinese():
    def said(f, **options):
        trace = trace_function(f, 2.0, **options)
        seeds = [step for step in trace["steps"] if step["phase"] == "seed"]
        return [sentence(step, words("zh"), names_of(trace)) for step in seeds]

    assert said(lambda x: x * x, tangents=0.5) == [
        "x 的切向量，即它的变化率，从 0.5 开始（种子）。",
        "v1 的伴随，即结果的导数 ∂v1/∂v1，从 1 开始（种子）。",
    ]
    assert said(lambda x: x * x, cotangent=2.0)[1] == "v1 的伴随从 2 开始（种子）。"


def test_the_seed_of_each_pass_stands_in_every_still(both, net):
    for at in (0, 5, len(both["steps"])):
        found = " ".join(svg_texts(to_svg(both, at)))
        assert (
            "Forward mode, seed x\u03071 = 0, x\u03072 = 1" in found
            and "Reverse mode, seed v\u03045 = 1" in found
        )
        drawn = frame_texts(both, at)
        assert {"Forward mode, seed", "Reverse mode, seed"} <= set(drawn)
    assert "Reverse mode, seed" in to_svg(net, groups="closed"), (
        "the node of the seed stands in a closed box"
    )
    alone = trace_function(baydin, 2.0, 5.0, mode="reverse")
    assert "Forward mode" not in to_svg(alone) and "seed" not in to_svg(
        trace_function(baydin, 2.0, 5.0, mode="primal")
    )


def test_of_many_seeds_the_first_that_are_not_zero_are_named():
    f = lambda *xs: sum(xs[1:], xs[0])
    trace = trace_function(
        f,
        *(1.0,) * 9,
        mode="forward",
        tangents=[0, 0, 0, 0, 0, 0, 7, 0, 8],
        names=[f"x{i}" for i in range(1, 10)],
    )
    line = table(trace).splitlines()[1]
    assert line == "forward mode, seed x\u03077 = 7, x\u03079 = 8, x\u03071 = 0, x\u03072 = 0, …"
    assert line.removeprefix("f") in " ".join(svg_texts(to_svg(trace)))


def test_of_several_passes_each_is_named_at_its_steps():
    trace = jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0)
    passes = [None, *(step.get("pass") for step in trace["steps"]), None]
    numbers = [  # the first and the last step of the pass, and those beside them
        k
        for k in range(1, len(passes) - 1)
        if 3 in passes[k - 1 : k + 2] and passes[k - 1 : k + 2] != [3] * 3
    ]
    for lang, phrase in (
        ("en", "Reverse mode, pass 2 of 2, seeded with 1 at v2"),
        ("zh", "反向模式，第 2 次，共 2 次，在 v2 处取种子 1"),
    ):
        scene = Scene(trace, lang=lang, steps=numbers)
        for at in numbers:
            for found in (svg_texts(to_svg(trace, at, lang=lang)), scene_texts(scene, at)):
                assert (phrase in found) is (passes[at] == 3)
    assert "雅可比" in jacobian_trace(lambda a: a * a, 2.0, lang="zh")["title"]


def test_seeds_that_need_space_get_lines_of_their_own():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    f = lambda aa, bb, cc: (aa * bb * cc).sum()
    wide = trace_function(
        f, *(np.full((2, 2), 0.123456),) * 3, tangents=[np.full((2, 2), -0.123456)] * 3
    )
    scene, plain = Scene(wide), Scene(trace_function(lambda x: x * x, 1.0))
    assert [len(one.words_above.seed_rows(one.across)) for one in (scene, plain)] == [2, 1]
    figure = scene.figure(72)
    scene.draw(figure, len(wide["steps"]))
    renderer, right = FigureCanvasAgg(figure).get_renderer(), scene.width - 10
    for axes in figure.axes:
        for text in axes.texts:
            box = text.get_window_extent(renderer)
            assert box.x1 * 72 / figure.dpi <= right + 10, f"cut: {text.get_text()}"


def test_a_name_that_mathtext_cannot_set_stands_in_the_seed_as_plain_text():
    trace = trace_function(lambda 速度: 速度 * 2.0, 3.0, mode="forward")
    assert any("速" in text and "= 1" in text for text in frame_texts(trace, 1))


@pytest.mark.parametrize("phase", ["primal", "accumulate"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_name_of_a_phase_stands_close_before_its_formula(both, lang, phase):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if words(lang).foreign and not fonts.chinese_fonts():
        pytest.skip(
            "no font with Chinese letters is known to matplotlib: apt-get install fonts-noto-cjk"
        )
    at = next(k for k, step in enumerate(both["steps"], 1) if step["phase"] == phase)
    scene = Scene(both, lang=lang)
    figure = scene.figure(72)
    scene.draw(figure, at)
    renderer, named = (
        FigureCanvasAgg(figure).get_renderer(),
        phase_name(both["steps"][at - 1], words(lang)),
    )
    boxes = {
        t.get_text(): t.get_window_extent(renderer) for axes in figure.axes for t in axes.texts
    }
    level = [
        box for text, box in boxes.items() if text != named and abs(box.y0 - boxes[named].y0) < 8
    ]
    assert level and all(box.x0 > boxes[named].x1 + 9 for box in level), (
        "neither into the formula nor into its rim"
    )
    assert min(box.x0 for box in level) < boxes[named].x1 + 30


def test_an_exponent_with_an_index_is_one_exponent():
    trace = trace_function(lambda x: mg.exp(x * 2.0 + x * 3.0), 0.5)
    name = trace["nodes"][-1]["id"]
    heading = mathtext.of_runs(heading_runs(trace["nodes"][-1]))
    assert heading.endswith(r"^{\mathrm{v3}}") and mathtext.drawable(heading), (
        "two exponents one after another are no formula"
    )
    assert f"<title>{name} = exp(v3)</title>" in to_svg(trace), "and one sign in plain text"


def test_the_title_of_a_jacobian_is_said_in_the_language_and_the_users_is_kept():
    f = lambda a: a * a
    for trace in (jacobian_trace(f, 2.0), jacobian_trace(f, 2.0, lang="zh")):
        assert "雅可比矩阵: " in "".join(svg_texts(to_svg(trace, 0, lang="zh"))) and any(
            "雅可比矩阵: " in text for text in frame_texts(trace, 0, lang="zh")
        )
    assert "Jacobian matrix: mine" in svg_texts(
        to_svg({**trace_function(f, 2.0), "title": "Jacobian matrix: mine"}, 0, lang="zh")
    )


@pytest.fixture(scope="module")
def kinds():
    return kinds_of_sentences()


def in_chinese(trace):
    """The English and the Chinese sentence of each step."""
    names = names_of(trace)
    return [(step["say"], sentence(step, words("zh"), names)) for step in trace["steps"]]


def test_a_chinese_sentence_is_made_from_the_fields_of_its_step(kinds):
    for trace in kinds.values():
        silent = {**trace, "steps": [{**step, "say": ""} for step in trace["steps"]]}
        assert [said for _, said in in_chinese(silent)] == [said for _, said in in_chinese(trace)]


def test_a_chinese_sentence_tells_the_derivatives_that_the_english_one_tells(kinds):
    told = 0
    for title, trace in kinds.items():
        for english, chinese in in_chinese(trace):
            has = re.search(r" has the derivatives? (.*): (?:the tangent of |\w+ sends )", english)
            assert bool(has) is ("的导数是" in chinese), (title, english, chinese)
            for one in has[1].split(" and ") if has else ():
                slope, _, by = one.partition(" with respect to ")
                name = by.split(" ")[-1]
                by = f"对 {name}（第" if by.startswith("the ") else f"对 {name} " if by else ""
                assert f"的导数是 {slope}" in chinese and by in chinese, (title, english, chinese)
                told += 1
    assert told > 40


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("numbers", "sin b 的导数是 cos b = 0.2837：v4 向 b 传回 −0.2837，这是 b 目前的伴随。"),
        (
            "numbers",
            "a · b 对 b 的导数是 a = 2：v2 向 b 传回 2；"
            "与原有的 −0.2837 相加，b 的伴随现在是 1.716。",
        ),
        ("numbers", "a · a 对 a（第 2 个） 的导数是 a = 2：v6 向 a（第 2 个） 传回 2；"),
        ("numbers", "a · b 对 a 的导数是 b = 5，对 b 的导数是 a = 2：v2 的切向量是 5。"),
        ("powers", "a^b 对 a 的导数是 b · a^(b − 1) = 0.3536：v1 向 a 传回"),
        ("powers", "floor a 的导数是 0：v4 向 a 传回 0"),
        (
            "rows",
            "b 被广播到 v2 = v1 + b 的 3 行（轴 0）：v2 向 b 传回各行之和 sum(v̄2, axis 0) = [",
        ),
        ("rows", "v1 = x @ w 的切向量是 ẋ @ w + x @ ẇ = ["),
        ("columns", "y 被广播到 v1 = x · y 的 2 列（轴 1）：v1 向 y 传回各列之和 sum("),
        ("axes", "x 在 v1 = x · y 中沿轴 0, 2 被广播：v1 向 x 传回沿轴 0, 2 的和 sum("),
        ("axes", "v2 = max(v1, axis 0) 向 v1 传回 v̄2 · (v1 = "),
        ("complex", "v2 = z · v1 向 z 传回 v̄2 · conj v1 = "),
        ("checkpoint", "检查点结束：释放 v1、v2 为反向传播保留的值，以后从 x 重新计算。"),
        ("checkpoint", "重新计算：v1 的值是 sin x = 0.4794。"),
        ("hook", "v1 的伴随被改为 1.938，不再是各项贡献之和。"),
        ("function", "v1 = Doubled x 的切向量是 jvp(ẋ) = 2。"),
        ("program", "它写在缓冲区的字节 0 处。"),
        ("program", "不再读取 v1：它的 8 字节空了出来。"),
        ("training", "SGD 把 w 更新为 w′ = "),
        ("wrong engine", "b 的值没有保留。"),
        ("wrong engine", "传回 3；a 的伴随原来是 3，现在是 3。"),
        ("wrong engine", "输入 a 的值是 3。"),
    ],
)
def test_each_kind_of_step_has_its_chinese_sentence(kinds, kind, said):
    found = [chinese for _, chinese in in_chinese(kinds[kind])]
    plain = lambda text: unicodedata.normalize("NFC", text)
    assert any(plain(said) in plain(one) for one in found), "\n".join(found)


# ---- text, pages, curves


def test_the_text_table_in_chinese_is_aligned_and_names_the_seed(both):
    said = table(both, words=table_words(words("zh")))
    assert table_words(words("en")) is None and set(WORDS) <= set(table_words(words("zh")))
    lines = said.splitlines()
    assert (
        lines[1] == "前向模式，种子 x\u03071 = 0, x\u03072 = 1"
        and lines[2] == "反向模式，种子 v\u03045 = 1"
        and "求值轨迹，前向模式" in lines
    )
    wide = lambda text: sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
    rule = next(i for i, line in enumerate(lines) if "──" in line)
    assert {wide(line) for line in lines[rule - 1 : rule + 8]} == {wide(lines[rule])}, (
        "numbers end below one another"
    )
    assert not re.search(r"\b(node|is|value|step|input|mode)\b", said)


def test_save_takes_a_language_for_all_but_the_trace_itself(both, tmp_path):
    assert viz.save(both, tmp_path / "a.txt", lang="zh").read_text(encoding="utf-8") == table(
        both, words=table_words(words("zh"))
    )
    drawn = viz.save(both, tmp_path / "a.svg", lang="zh", step=3, dark=None)
    assert drawn.read_text(encoding="utf-8") == to_svg(both, 3, lang="zh")
    with pytest.raises(ValueError, match=r"a \.json is the Trace itself"):
        viz.save(both, tmp_path / "a.json", lang="zh")
    for name in ("a.svg", "a.png", "a.txt", "a.html", "a.gif"):
        with pytest.raises(ValueError, match="no texts in 'la'"):
            viz.save(both, tmp_path / name, lang="la")


@pytest.mark.parametrize("name", ["a.png", "a.pdf", "a.webp", "a.gif"])
def test_where_no_font_has_the_letters_nothing_is_drawn_but_said(both, tmp_path, monkeypatch, name):
    pytest.importorskip(
        "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
    )
    monkeypatch.setattr(fonts, "fonts", lambda: ["DejaVu Sans"])
    with pytest.raises(ValueError, match=r"no font with Chinese letters.*Noto Sans CJK SC.*svg"):
        viz.save(
            both,
            tmp_path / name,
            lang="zh",
            **({"steps": (1, 2)} if name.endswith(("webp", "gif")) else {}),
        )
    assert list(tmp_path.iterdir()) == []
    viz.save(both, tmp_path / "a.png")


def test_cells_and_pages_without_scripts_speak_the_language(both):
    cell = viz.iframe(both, lang="zh")._repr_html_()
    before = cell[: cell.index("<iframe")]
    assert (
        "由来" in before
        and "前向模式，种子" in before
        and "以表格显示数值" in before
        and not re.search(r">(node|value|input)<", before)
    )
    assert repr(viz.iframe(both, lang="zh")) == table(both, words=table_words(words("zh"))).rstrip()
    assert (
        "how it is made" in viz.to_html(both)
        and "how it is made"
        not in viz.to_html(both, lang="zh").split("<noscript>")[1].split("</noscript>")[0]
    )
    history = viz.History("run")
    history.log(1, loss=0.5)
    page = training.to_html(history, lang="zh")
    assert (
        "指标" in page.split("<noscript>")[1].split("</noscript>")[0]
        and "<th>measure</th>" not in page
    )


def test_curves_in_chinese(tmp_path):
    pytest.importorskip(
        "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
    )
    from minigrad.viz.training.figure import _drawn

    history = viz.History("run")
    for epoch in range(3):
        history.log(epoch, loss=1 / (epoch + 1), accuracy=0.5)
    axes = _drawn(history, -1, None, words("zh")).axes
    assert [a.get_title() for a in axes] == ["损失", "准确率"] and {
        a.get_xlabel() for a in axes
    } == {"轮次"}
    with pytest.raises(ValueError, match="no texts in 'la'"):
        training.draw_curves(history, tmp_path / "a.png", lang="la")


# ---- drawings of a graph


def drawn_words(drawing):
    """The lines in the boxes of a drawing."""
    return [
        line
        for label in re.findall(r'label="?(.*?)"? (?:color|fillcolor)=', drawing.source)
        for line in label.split(r"\n")
    ]


def all_drawings(lang):
    """A drawing of each kind, by name."""
    x, w = mg.ones(2, 3), mg.ones(3, 4, requires_grad=True)
    used = (x @ w).exp().sum()
    used.backward()
    a = mg.graph.Variable(name="a")
    y = mg.graph.exp(a) * a
    squared = lambda x, w: mg.autograd.grad((x @ w).tanh().sum() ** 2, [w])[0] * mg.tensor([2.0])
    model = mg.nn.Sequential(mg.nn.Linear(3, 1), mg.nn.Sequential(mg.nn.Linear(1, 1, bias=False)))
    things = {
        "tensor": (x @ w).exp() * mg.ones(4, requires_grad=True),
        "used": used,
        "program": record(squared, x, w),
        "symbols": [y, *mg.graph.gradients(y, [a])],
        "model": model,
    }
    drawings = {name: viz.draw_graph(thing, lang=lang) for name, thing in things.items()}
    return drawings | {
        "layers": model.draw_graph(x, lang=lang),
        "operations": model.draw_graph(x, depth=None, lang=lang),
    }


def test_a_drawing_speaks_the_language():
    pytest.importorskip("graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"')
    expected = {
        "tensor": {"leaf": "叶节点", "saves result: (2, 4) float32": "保留 结果: (2, 4) float32"},
        "used": {"all saved values are freed": "所有保留的值已释放"},
        "program": {
            "first backward": "第一次反向",
            "input  float32 (2, 3)": "输入  float32 (2, 3)",
        },
        "symbols": {"of (exp(a)*a)": "属于 (exp(a)*a) 的导数"},
        "model": {
            "5 parameters": "5 个参数",
            "1 parameter": "1 个参数",
            "1 module inside": "内含 1 个模块",
        },
        "layers": {"input": "输入", "4 parameters": "4 个参数", "→ (2, 1)": "→ (2, 1)"},
        "operations": {"input": "输入"},
    }
    english, chinese = all_drawings("en"), all_drawings("zh")
    left = (
        r"leaf|save[sd]|freed|result|input|constant|captured|backward|of"
        r"|parameters?|modules?|inside"
    )
    for name, pairs in expected.items():
        before, after = drawn_words(english[name]), drawn_words(chinese[name])
        assert len(before) == len(after) > 1
        for said, translated in pairs.items():
            assert [b for a, b in zip(before, after, strict=True) if a == said] == [
                translated
            ] * before.count(said)
            assert said in before, f"{name}: {before}"
        assert not [line for line in after if re.search(rf"\b({left})\b", line)], name
        assert " width=" not in english[name].source
    assert (
        'label="保留' not in english["tensor"].source
        and drawn_words(viz.draw_graph(mg.ones(1, requires_grad=True)))[0] == "leaf"
    )
    for thing in (mg.ones(1, requires_grad=True), mg.nn.Linear(1, 1), mg.graph.Variable(name="a")):
        with pytest.raises(ValueError, match="no texts in 'la'"):
            viz.draw_graph(thing, lang="la")


def test_a_box_has_space_for_the_letters_of_east_asia():
    pytest.importorskip("graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"')
    学习率 = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    source = (学习率 * 2.0).draw_graph(lang="zh").source
    line = "保留 学习率 = [1, 2, 3]"
    assert line not in source, "a product with a number needs no value of its other factor"
    source = (学习率 * mg.ones(3, requires_grad=True)).draw_graph(lang="zh").source
    found = next(line_ for line_ in source.splitlines() if line in line_)
    wide = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.5 for c in line)
    assert float(re.search(r' width="?([\d.]+)', found)[1]) * 72 > wide * 11 + 20, (
        "one em each, and the margins"
    )


def test_drawings_are_not_painted_where_no_font_has_the_letters(tmp_path, monkeypatch):
    pytest.importorskip(
        "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
    )
    pytest.importorskip("graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"')
    result = mg.tensor([1.0, 2.0], requires_grad=True).log()
    monkeypatch.setattr(fonts, "fonts", lambda: ["DejaVu Sans"])
    assert drawing.paint(result.draw_graph(), "png").startswith(b"\x89PNG")
    with pytest.raises(
        ValueError,
        match=r"no font with Chinese letters.*painted as a \.png.*Noto Sans CJK SC.*\.svg or \.dot",
    ):
        drawing.paint(result.draw_graph(lang="zh"), "png")


def test_the_command_draws_and_traces_in_the_language(tmp_path, capsys, monkeypatch):
    pytest.importorskip("graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"')
    assert command(["draw", "sin(x)*x", "x=2", "--lang", "zh"]) == 0
    assert "保留 x = 2" in capsys.readouterr().out
    (tmp_path / "mine.py").write_text(
        "import minigrad as mg\nnet = mg.nn.Linear(2, 1)\nloss = net(mg.ones(2)).sum()\n",
        encoding="utf-8",
    )
    for words_of, arguments in (
        ("个参数", ["mine.py:net", "input=[1, 2]", "--groups", "closed"]),
        ("保留 数据", ["mine.py:loss"]),
    ):
        monkeypatch.chdir(tmp_path)
        assert command(["draw", *arguments, "-o", "g.dot", "--lang", "zh"]) == 0, (
            capsys.readouterr().err
        )
        assert words_of in (tmp_path / "g.dot").read_text(encoding="utf-8")
    assert (
        command(["draw", "sin(x)", "x=2", "--lang", "la"]) == 2
        and "choose from" in capsys.readouterr().err
    )


# ---- graphs too large, and two Traces


def test_the_overview_of_a_graph_too_large_speaks_the_language(both, monkeypatch):
    monkeypatch.setattr(scale, "FULL_DETAIL", 5)
    said = "计算图有 7 个节点；完整显示最多 5 个。"
    page, cell = viz.to_html(both, lang="zh"), viz.iframe(both, lang="zh")
    for text in (page, cell._repr_html_(), repr(cell), scale.as_text(scale.overview(both), "zh")):
        assert (
            said in text
            and "8 条边，23 个步骤，最长链 4，值共 56 字节。" in text
            and "按阶段统计的步骤" in text
        )
        assert not re.search(
            r"\b(nodes|edges|steps|The|input|primal|tangent|adjoint|accumulate)\b", text
        )
        assert "输入" in text and "伴随（累加）" in text and "mul" in text
    assert '<html lang="zh">' in page and '<html lang="en">' in viz.to_html(both)
    assert "<title>求值轨迹</title>" in viz.to_html({**both, "title": ""}, lang="zh")
    with pytest.raises(scale.TooLarge, match=said):
        to_svg(both, lang="zh")
    with pytest.raises(scale.TooLarge, match="The graph has 7 nodes"):
        to_svg(both)
    pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')
    with pytest.raises(scale.TooLarge, match=said):
        viz.Stepper(both, lang="zh")


def test_a_long_list_of_an_overview_says_how_many_more_there_are():
    found = scale.overview(all_samples()["seed"])._replace(
        groups=[(f"layer{i}", 1) for i in range(15)]
    )
    assert (
        "… 另有 3 个" in scale.as_text(found, "zh")
        and "… and 3 more" in scale.as_text(found)
        and "<p>另有 3 个</p>" in scale.as_html(found, "zh")
    )


def test_a_comparison_speaks_the_language(both):
    other = copy.deepcopy(both)
    step = next(
        i for i, s in enumerate(both["steps"]) if s["phase"] == "tangent" and s["node"] == "v2"
    )
    product = other["steps"][step]["contribs"][-1]
    product["product"] = -product["product"]
    found = viz.compare(both, other, lang="zh")
    assert repr(found) == (
        f"第一处差异在第 {step + 1} 步：从 x2 沿边传给 v2 的切向量贡献应为 2，却是 −2。 符号错了。"
    )
    assert repr(viz.compare(both, other)).startswith(
        f"First difference, at step {step + 1}. x2 should send 2 to the tangent of v2"
    )
    plus = viz.compare(lambda x, y: x * y - mg.sin(y), [5.0, 2 + np.cos(5.0)], 2.0, 5.0, lang="zh")
    assert repr(plus).endswith("却是 2.284。 来自 v2 的贡献 −0.2837 的符号错了。")
    assert repr(viz.compare(both, both, lang="zh")) == "两条轨迹的所有值都一致。"
    assert (
        "两条轨迹的所有值都一致。"
        in viz.compare(both, both, lang="zh")._repr_mimebundle_()["text/plain"]
    )
    wrong = copy.deepcopy(both)
    last = wrong["steps"][-1]["writes"][0]
    last[2] = last[2] + 1.0
    assert re.fullmatch(
        r"第一处差异在第 23 步：x1 的伴随应为 5.5，却是 6.5。",
        repr(viz.compare(both, wrong, lang="zh")),
    )
    short_ = {**both, "steps": both["steps"][:-1]}
    assert "却是" in repr(viz.compare(both, short_, lang="zh")), "a partial sum is a value"
    primal = trace_function(baydin, 2.0, 5.0, mode="primal")
    assert "从未计算；应为" in repr(viz.compare(both, primal, lang="zh"))
    parted = viz.compare(both, trace_function(lambda a, b: a * b, 2.0, 5.0), lang="zh")
    assert (
        repr(parted)
        == "结果应为 11.65，却是 10。 计算图不同，首先在第 5 步："
        "第一条 有 7 个节点，第二条 有 3 个；v1 只在其中一个里。"
        and parted.document["names"]
        == [
            "第一条",
            "第二条",
        ]
    )
    assert viz.compare(both, both).document["names"] == ["first", "second"]
    assert viz.compare(both, both, names=["mine", "theirs"], lang="zh").document["names"] == [
        "mine",
        "theirs",
    ]
    with pytest.raises(ValueError, match="no texts in 'la'"):
        viz.compare(both, both, lang="la")


# ---- lines


def test_chinese_is_wrapped_between_letters_and_never_begins_with_a_closing_sign():
    text = "向 v4 传回 −1；它的伴随目前是 −1。再传回一次，与原有的相加（见上）。"
    space = text_width("一二三四五六七", 12)
    assert space == 84 and text_width("v4，", 12) == 12 + text_width("v4", 12), (
        "a letter of East Asia is as wide as high"
    )
    lines = wrap(text, 12, space)
    assert "".join("".join(lines).split()) == "".join(text.split()), "nothing is lost"
    assert all(text_width(line, 12) <= space * 1.2 for line in lines) and len(lines) > 3
    assert not [line for line in lines if line[0] in "；。，）"]
    assert wrap("one  two\nthree", 12, 1000) == ["one two three"] and wrap("", 12, 10) == []


def test_a_picture_of_the_beginning_says_what_is_seen(both):
    for lang, said in (
        ("en", "Nothing has been computed yet; 23 steps follow."),
        ("zh", "尚未计算任何值；接下来有 23 步。"),
    ):
        assert beginning(both, words(lang)) == said
        for found in (svg_texts(to_svg(both, 0, lang=lang)), frame_texts(both, 0, lang=lang)):
            assert said in found and not [
                text for text in found if "Ready" in text or "就绪" in text
            ]
        assert said not in svg_texts(to_svg(both, 1, lang=lang)) + frame_texts(both, 1, lang=lang)
    assert (
        beginning({**both, "steps": both["steps"][:1]}, words("en"))
        == "Nothing has been computed yet; one step follows."
    )
    assert (
        beginning({**both, "steps": []}, words("en"))
        == "This trace has no steps: nothing was computed."
    )


def test_a_trace_made_ready_for_a_still_is_a_copy(both):
    before = repr(both)
    found = spoken(both, words("zh"))
    assert (
        repr(both) == before
        and found["steps"][0]["say"] != both["steps"][0]["say"]
        and found["title"] == both["title"]
    )
    assert [c["label"] for c in found["columns"]] == [
        "值",
        "切向量",
        "伴随",
    ] and "seeded" not in all_samples()["seed"]
