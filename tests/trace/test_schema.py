"""Every kind of malformed document is refused, and the message names the place."""

import copy
import math

import pytest

import minigrad as mg
from minigrad.trace import TraceError, validate
from minigrad.watch import trace_function
from tests.helpers.tables import in_one_test


def f(x1, x2):
    a = mg.log(x1)
    return (a + x1 * x2 - mg.sqrt(x2) ** 2).sum()


GOOD = trace_function(f, 2.0, [5.0, 6.0], mode="both")
ARRAY = {"shape": [2], "dtype": "float64", "sample": [1.0, 2.0]}


def put(path, value):
    """A change of one place in the document."""

    def change(t):
        for key in path[:-1]:
            t = t[key]
        t[path[-1]] = value

    return change


def drop(*path):
    def change(t):
        for key in path[:-1]:
            t = t[key]
        del t[path[-1]]

    return change


def find(phase, number=0):
    """The position of a step of a phase."""
    return [i for i, s in enumerate(GOOD["steps"]) if s["phase"] == phase][number]


ADJOINT, ACCUMULATE, TANGENT = find("adjoint"), find("accumulate"), find("tangent")
OPERATION = next(i for i, n in enumerate(GOOD["nodes"]) if n["kind"] == "op")

MALFORMED = {
    "other schema": (put(["schema"], "minigrad.trace/2"), r"^schema must be"),
    "no title": (drop("title"), r"^title must be present"),
    "inputs no list": (put(["inputs"], {}), r"^inputs must be"),
    "no steps": (drop("steps"), r"^steps must be"),
    "source without code": (put(["source"], {}), r"^source\.code"),
    "source no object": (put(["source"], "text"), r"^source must be an object"),
    "input names no node": (put(["inputs", 0], "x9"), r"^inputs\[0\] names no node: 'x9'"),
    "output is a list": (put(["outputs", 0], ["v1"]), r"^outputs\[0\] names no node"),
    "seed of another kind": (put(["seed", "steps"], {}), r"^seed\.steps must be"),
    "seed names no node": (put(["seed", "tangents", "q"], 1.0),
        r"^seed\.tangents names no node: 'q'"),
    "seed no number": (put(["seed", "tangents", "x1"], "one"),
        r"^seed\.tangents\.x1 must be a number"),
    "seed no object": (put(["seed", "adjoints"], [1]), r"^seed\.adjoints must be an object"),
    "node no object": (put(["nodes", 0], "x1"), r"^nodes\[0\] must be an object"),
    "node without id": (drop("nodes", 1, "id"), r"^nodes\[1\]\.id"),
    "id empty": (put(["nodes", 1, "id"], ""), r"^nodes\[1\]\.id"),
    "id twice": (put(["nodes", 1, "id"], "x1"), r"^nodes\[1\]\.id is used twice: 'x1'"),
    "label without base": (put(["nodes", 0, "label"], {"sub": "1"}), r"^nodes\[0\]\.label"),
    "label's sub a number": (put(["nodes", 0, "label"], {"base": "x", "sub": 1}),
        r"^nodes\[0\]\.label\.sub"),
    "unknown kind": (put(["nodes", 0, "kind"], "leaf"), r"^nodes\[0\]\.kind must be one of"),
    "kind a list": (put(["nodes", 0, "kind"], ["op"]), r"^nodes\[0\]\.kind must be one of"),
    "unknown stage": (put(["nodes", 0, "stage"], "forward"), r"^nodes\[0\]\.stage"),
    "negative size": (put(["nodes", 0, "shape"], [-1]), r"^nodes\[0\]\.shape"),
    "boolean size": (put(["nodes", 0, "shape"], [True]), r"^nodes\[0\]\.shape"),
    "dtype no text": (put(["nodes", 0, "dtype"], 64), r"^nodes\[0\]\.dtype"),
    "expr no list": (put(["nodes", 0, "expr"], "x"), r"^nodes\[0\]\.expr"),
    "operation without op": (drop("nodes", OPERATION, "op"),
        rf"^nodes\[{OPERATION}\]\.op must be a text for op"),
    "name no text": (put(["nodes", 0, "name"], 3), r"^nodes\[0\]\.name must be a text"),
    "of names no node": (put(["nodes", 0, "of"], "v99"), r"^nodes\[0\]\.of names no node"),
    "saved no list": (put(["nodes", 0, "saved"], "v1"), r"^nodes\[0\]\.saved"),
    "span of three": (put(["nodes", 0, "span"], [1, 0, 1]), r"^nodes\[0\]\.span must be four"),
    "span backwards": (put(["nodes", 0, "span"], [2, 5, 2, 3]),
        r"^nodes\[0\]\.span must end after"),
    "span on line 0": (put(["nodes", 0, "span"], [0, 0, 1, 1]), r"^nodes\[0\]\.span"),
    "span outside": (put(["nodes", 0, "span"], [1, 0, 1, 99]),
        r"^nodes\[0\]\.span leaves the source text"),
    "edge to nowhere": (put(["edges", 0, "dst"], "v99"),
        r"^edges\[0\]\.dst must be a node's id, got 'v99'"),
    "edge to the older": (put(["edges", 0],
        {"id": "e1", "src": "v2", "dst": "v1", "slot": 0, "stage": "primal"}),
        r"^edges\[0\] leads from v2 to the older v1"),
    "edge to itself": (put(["edges", 0, "src"], GOOD["edges"][0]["dst"]),
        r"^edges\[0\] leads from"),
    "edge twice": (put(["edges", 1, "id"], "e1"), r"^edges\[1\]\.id is used twice"),
    "slot negative": (put(["edges", 0, "slot"], -1), r"^edges\[0\]\.slot"),
    "slot boolean": (put(["edges", 0, "slot"], True), r"^edges\[0\]\.slot"),
    "column unknown": (put(["columns", 0, "key"], "w"), r"^columns\[0\]\.key"),
    "column twice": (put(["columns", 1], GOOD["columns"][0]), r"^columns\[1\]\.key is used twice"),
    "column's phase": (put(["columns", 0, "phase"], "adjoint"),
        r"^columns\[0\]\.phase must be primal"),
    "column's label": (drop("columns", 0, "label"), r"^columns\[0\]\.label"),
    "column missing": (lambda t: t["columns"].pop(), r"writes names no node or column"),
    "step's phase": (put(["steps", 3, "phase"], "backward"), r"^steps\[3\]\.phase"),
    "step's node": (put(["steps", 3, "node"], "q"), r"^steps\[3\]\.node"),
    "step says nothing": (drop("steps", 3, "say"), r"^steps\[3\]\.say"),
    "step's edge": (put(["steps", 3, "edges"], ["e99"]),
        r"^steps\[3\]\.edges names no edge: 'e99'"),
    "reads too early": (put(["steps", 0, "reads"], [["x2", "v"]]),
        r"^steps\[0\]\.reads reads x2 \(v\) before it was written"),
    "reads what no step writes": (put(["steps", -1, "reads"], [["x2", "q"]]),
        r"reads x2 \(q\) before"),
    "reads of three": (put(["steps", 5, "reads"], [["x1", "v", 2]]),
        r"^steps\[5\]\.reads must hold"),
    "reads a list": (put(["steps", 5, "reads"], [[["x1"], "v"]]), r"^steps\[5\]\.reads must hold"),
    "reads what it writes itself": (put(["steps", 0, "reads"], [["x1", "v"]]),
        r"^steps\[0\]\.reads reads x1"),
    "writes of two": (put(["steps", 0, "writes"], [["x1", "v"]]), r"^steps\[0\]\.writes must hold"),
    "writes nowhere": (put(["steps", 0, "writes"], [["q", "v", 1.0]]),
        r"^steps\[0\]\.writes names no node"),
    "writes nothing": (put(["steps", 0, "writes"], [["x1", "v", None]]),
        r"^steps\[0\]\.writes must be a number, got NoneType"),
    "NaN as a number": (put(["steps", 0, "writes"], [["x1", "v", math.nan]]),
        r'writes NaN|must write NaN'),
    "infinity as a number": (put(["steps", 0, "writes"], [["x1", "v", math.inf]]),
        r"must write NaN and infinity"),
    "a word as a number": (put(["steps", 0, "writes"], [["x1", "v", "two"]]),
        r"must be a number, got 'two'"),
    "half a complex number": (put(["steps", 0, "writes"], [["x1", "v", {"re": 1.0}]]),
        r"must be a number or a value object"),
    "a complex part of parts": (put(["steps", 0, "writes"],
        [["x1", "v", {"re": {"re": 1, "im": 1}, "im": 1}]]), r"parts of a complex number"),
    "array without sample": (put(["steps", 0, "writes"],
        [["x1", "v", {"shape": [2], "dtype": "float64"}]]), r"sample must be"),
    "array without dtype": (put(["steps", 0, "writes"],
        [["x1", "v", {"shape": [1], "sample": [1]}]]), r"dtype must be"),
    "sample too short": (put(["steps", 0, "writes"], [["x1", "v", {**ARRAY, "sample": [1.0]}]]),
        r"sample must hold 2 of the 2"),
    "sample too long": (put(["steps", 0, "writes"],
        [["x1", "v", {**ARRAY, "shape": [20], "sample": [0.0] * 17}]]), r"must hold 16 of the 20"),
    "array in an array": (put(["steps", 0, "writes"],
        [["x1", "v", {**ARRAY, "sample": [1.0, ARRAY]}]]), r"elements must be numbers"),
    "array's shape": (put(["steps", 0, "writes"], [["x1", "v", {**ARRAY, "shape": "2"}]]),
        r"shape must be"),
    "contribution along no edge": (put(["steps", ADJOINT, "contribs", 0, "edge"], "e99"),
        rf"^steps\[{ADJOINT}\]\.contribs\[0\]\.edge"),
    "contribution along another's edge": (put(["steps", TANGENT, "contribs", 0, "edge"],
        GOOD["edges"][-1]["id"]),
        rf"^steps\[{TANGENT}\]\.contribs\[0\]\.edge e\d+ does not lead to"),
    "adjoint along another's edge": (put(["steps", ACCUMULATE, "contribs", 0, "edge"],
        GOOD["edges"][-1]["id"]), r"does not lead back to"),
    "contribution without product": (drop("steps", ADJOINT, "contribs", 0, "product"),
        rf"^steps\[{ADJOINT}\]\.contribs\[0\]\.product must be present"),
    "contribution of text": (put(["steps", ADJOINT, "contribs", 0, "local"], "x"),
        rf"^steps\[{ADJOINT}\]\.contribs\[0\]\.local must be a number"),
    "contributions no list": (put(["steps", ADJOINT, "contribs"], {}),
        rf"^steps\[{ADJOINT}\]\.contribs"),
    "line 0": (put(["steps", 0, "line"], 0), r"^steps\[0\]\.line"),
    "frees nothing known": (put(["steps", 0, "free"], ["q"]), r"^steps\[0\]\.free"),
    "adds nothing known": (put(["steps", 0, "add"], "x1"), r"^steps\[0\]\.add"),
    "unknown token": (put(["steps", 0, "formula"], [{"t": "symbol"}]),
        r"^steps\[0\]\.formula\[0\]\.t must be one of"),
    "token no object": (put(["steps", 0, "formula"], ["x"]),
        r"^steps\[0\]\.formula\[0\] must be an object"),
    "symbol without base": (put(["steps", 0, "formula"], [{"t": "sym"}]),
        r"^steps\[0\]\.formula\[0\]\.base"),
    "number without value": (put(["steps", 0, "formula"], [{"t": "num"}]),
        r"^steps\[0\]\.formula\[0\]\.value"),
    "number of text": (put(["steps", 0, "formula"], [{"t": "num", "value": "two"}]),
        r"^steps\[0\]\.formula\[0\]\.value"),
    "deep in a fraction": (put(["steps", 0, "formula"],
        [{"t": "frac", "num": [{"t": "op", "text": "+"}], "den": [{"t": "op"}]}]),
        r"^steps\[0\]\.formula\[0\]\.den\[0\]\.text"),
    "fraction without den": (put(["steps", 0, "formula"], [{"t": "frac", "num": []}]),
        r"^steps\[0\]\.formula\[0\]\.den"),
    "unknown accent": (put(["steps", 0, "formula"], [{"t": "sym", "base": "x", "accent": "hat"}]),
        r"accent must be dot or bar"),
    "unknown colour": (put(["steps", 0, "formula"], [{"t": "num", "value": 1, "col": "z"}]),
        r"\.col must be one of"),
    "layout without width": (put(["layout"], {"height": 3, "nodes": {}, "edges": {}}),
        r"^layout\.width"),
    "layout of no node": (put(["layout"],
        {"width": 3, "height": 3, "nodes": {"q": {}}, "edges": {}}),
        r"^layout\.nodes names no node"),
    "layout's box": (put(["layout"],
        {"width": 3, "height": 3, "nodes": {"x1": {"x": 1, "y": 1, "w": 1}}, "edges": {}}),
        r"^layout\.nodes\.x1\.h"),
    "layout's points": (put(["layout"],
        {"width": 3, "height": 3, "nodes": {}, "edges": {"e1": {"points": [[1]]}}}),
        r"^layout\.edges\.e1\.points"),
}  # fmt: skip


@in_one_test
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_documents_are_refused_with_the_place(name):
    change, message = MALFORMED[name]
    trace = copy.deepcopy(GOOD)
    change(trace)
    with pytest.raises(TraceError, match=message):
        validate(trace)


@pytest.mark.parametrize("document", [None, [], "trace", 3, {}, {"schema": "minigrad.trace/1"}])
def test_what_is_no_document_is_refused(document):
    with pytest.raises(TraceError):
        validate(document)


def test_a_column_without_a_write_is_refused():
    trace = copy.deepcopy(trace_function(f, 2.0, [5.0, 6.0], mode="reverse"))
    trace["columns"].insert(1, {"key": "d", "label": "tangent", "phase": "tangent"})
    with pytest.raises(
        TraceError, match="columns has 'd', but no step writes it: absent means not computed"
    ):
        validate(trace)


def test_well_formed_documents_are_returned_as_they_are():
    before = copy.deepcopy(GOOD)
    assert validate(GOOD) is GOOD and before == GOOD
    with_layout = {
        **GOOD,
        "layout": {
            "width": 10,
            "height": 5.5,
            "nodes": {"x1": {"x": 1, "y": 2, "w": 3, "h": 4}},
            "edges": {"e1": {"points": [[0, 1], [2, 3]]}},
        },
    }
    validate(with_layout)
    without_source = {k: v for k, v in GOOD.items() if k != "source"}
    validate(without_source)


def test_a_trace_error_is_a_value_error():
    assert issubclass(TraceError, ValueError)
