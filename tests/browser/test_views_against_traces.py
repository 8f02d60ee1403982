"""What each view says at every step of a Trace of each sort, against the Trace itself, in a real
browser.

The laws of the Trace (minigrad/trace/replay.py) hold for the document; here they are asked of what
the reader sees: the dictionary of the algorithm, the sums at each cut, the bytes of the memory
lens, the arrays of a step, the matrix of a Jacobian, an order of the reader's own, and that predict
mode hides what it asks for.
"""

import json
import math
import re

import numpy as np
import pytest
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.numbers import short

import minigrad as mg
from minigrad import optim
from minigrad.program import trace as record
from minigrad.trace import check_laws, state_at
from minigrad.trace.replay import cut_sums
from minigrad.watch import trace_function, trace_training_step

pytestmark = pytest.mark.browser

MOST_STEPS = 30  # of longer Traces so many states are looked at
WIDTHS = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16}

# Goes through all states; gives what the views and the table say at the wanted ones, and the first
# state that fails.
WALK = """([wanted, last]) => {
  const slider = document.querySelector(".mg-bar .mg-slider"),
      view = (name) => document.querySelector(`[data-view="${name}"]`),
      seen = {}, failed = (said) => JSON.stringify({ failed: said });
  const texts = (root, selector) => [...(root?.querySelectorAll(selector) ?? [])]
      .map((e) => e.textContent);
  for (let k = 0; k <= last; k++) {
    slider.value = k;
    slider.dispatchEvent(new Event("input"));
    if (document.querySelector(".mg-failed"))
        return failed(`step ${k}: ${document.querySelector(".mg-failed").textContent}`);
    const counter = document.querySelector(".mg-counter").textContent;
    if (counter !== `${k} / ${last}`) return failed(`step ${k}: ${counter}`);
    if (!wanted.includes(k)) continue;
    seen[k] = {
      table: [...document.querySelectorAll(".mg-right .mg-table tr[data-node]:not(.mg-grouprow)")]
          .map((row) =>
        [row.dataset.node,
            [...row.querySelectorAll("td[data-col]")].map((cell) =>
            [cell.dataset.col, cell.textContent, cell.title])]),
      say: document.querySelector(".mg-say").textContent,
      grad: [...(view("algorithm")?.querySelectorAll(".mg-dictionary tbody tr") ?? [])].map((row) =>
        [row.dataset.node, texts(row, ".mg-part"), row.querySelector("td.mg-num").textContent]),
      cut: texts(view("cut"), ".mg-sumup")[0] ?? null,
      memory: texts(view("memory"), ".mg-sumup")[0] ?? null,
      arrays: [...(view("arrays")?.querySelectorAll(".mg-array") ?? [])].map((e) =>
        [e.dataset.node, /mg-c-(\\w)/.exec(e.className)[1],
            /mg-(read|written)/.exec(e.className)[1]]),
      told: texts(view("story"), ".mg-told").length,
      matrices: [...(view("jacobian")?.querySelectorAll(".mg-jacobian") ?? [])].map((table) =>
        [...table.querySelectorAll("tbody tr")].map((row) => texts(row, "td"))),
    };
  }
  return JSON.stringify({ seen }); // nested arrays would take seconds to send
}"""

# Moves the cut through all its places; gives what it says at each.
CUTS = """() => {
  const view = document.querySelector('[data-view="cut"]'),
      slider = view?.querySelector("input"), said = [];
  if (!slider) return null;
  for (let at = Number(slider.min); at <= Number(slider.max); at++) {
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    said.push(view.querySelector(".mg-sumup").textContent);
  }
  return said;
}"""

# Picks nodes in an order of its own: always the first in birth that may go. Gives what was said in
# the end and the sums.
ORDER = """() => {
  const view = document.querySelector('[data-view="orders"]');
  if (!view) return null;
  const open = () => [...view.querySelectorAll(".mg-pick:not(.mg-done)")], refused = [], taken = [];
  for (let round = 0; open().length && round < 130; round++)
    for (const button of open()) {
      button.click();
      if (button.classList.contains("mg-done")) {
        taken.push(button.dataset.node);
        break;
      }
      refused.push(view.querySelector(".mg-sumup").textContent);
    }
  return { left: open().length, refused, taken, said: view.querySelector(".mg-sumup").textContent,
    sums: [...view.querySelectorAll("tbody tr")]
        .map((row) => [row.dataset.node, row.querySelector("td.mg-num").textContent]) };
}"""

# Answers nothing and has everything shown. Gives for each question what stood in the table's cell
# before.
PREDICT = """() => {
  const view = document.querySelector('[data-view="predict"]'),
      show = view?.querySelectorAll(".mg-predict button")[1],
      asked = [];
  if (!view) return null;
  const last = document.querySelector(".mg-btn-last"),
      at = () => Number(document.querySelector(".mg-counter").textContent.split("/")[0]);
  last.click();
  for (let round = 0; round < 5000 && !view.querySelector(".mg-predict").hidden; round++) {
    asked.push([at(), view.querySelector(".mg-question").textContent,
        document.querySelector(".mg-formula").textContent]);
    show.click();
    last.click();
  }
  return { asked, end: at(),
      log: JSON.parse(decodeURIComponent(view.querySelector("a[download]")
      .href.split(",").slice(1).join(","))) };
}"""


def held_bytes(trace):
    """Bytes kept for the reverse pass after each step, and which values: the operation keeps its
    values from its step until its free.
    """
    nodes = {node["id"]: node for node in trace["nodes"]}
    keeping, held, begun, out = set(), [], set(), []

    def kept():
        return {
            value for node in keeping for value in nodes[node].get("saved", []) if value in nodes
        } | set(held)

    size = lambda node: (
        math.prod(node["shape"])
        * WIDTHS.get(node["dtype"], int(re.search(r"\d+$", node["dtype"] + "64")[0][:2]) // 8)
    )
    out.append((0, set()))
    for step in trace["steps"]:
        if step["phase"] == "primal" and step["node"] not in begun:
            begun.add(step["node"])
            keeping.add(step["node"])
        keeping |= set(step.get("keep", []))
        keeping -= set(step.get("free", []))
        held += step.get("holds", [])
        for name in step.get("drops", []):
            held.remove(name)
        out.append((sum(size(nodes[name]) for name in kept()), kept()))
    return out


def dictionary(trace, k):
    """grad after k steps: node -> its partial adjoints."""
    grad = {}
    for step in trace["steps"][:k]:
        if not step["writes"] or step["writes"][0][1] != "g":
            continue
        node, _, value = step["writes"][0]
        if step["phase"] in ("seed", "adjoint", "accumulate"):
            grad.setdefault(node, []).extend(
                [c["product"] for c in step.get("contribs", [])] or [value]
            )
        else:
            grad[node] = [value]
    return grad


def computed(trace):
    """The steps that compute a number, which a student can be asked for."""
    kinds = {node["id"]: node["kind"] for node in trace["nodes"]}
    number = lambda step: (
        isinstance(step["writes"][0][2], float | int) and not isinstance(step["writes"][0][2], bool)
    )
    made = lambda step: (
        kinds[step["node"]] not in ("input", "const", "param", "seed") and "keep" not in step
    )
    derived = ("tangent", "adjoint", "accumulate")
    steps = [
        (k, s)
        for k, s in enumerate(trace["steps"])
        if s["phase"] in derived or (s["phase"] == "primal" and made(s))
    ]
    return [k for k, step in steps if step["writes"] and number(step)]


# Long: one comparison after another, in the browser.
def hold(trace, show, visit):
    """Ask all views of one Trace."""
    last, passes = len(trace["steps"]), trace.get("passes") or []
    lawful = check_laws(trace) == []
    wanted = (
        list(range(last + 1))
        if last <= MOST_STEPS
        else sorted({*range(0, last + 1, -(-last // MOST_STEPS)), last})
    )
    views = ["story", "algorithm", "orders", "cut", "memory", "arrays", "jacobian"]
    show(trace, views=views)
    found = json.loads(visit.page.evaluate(WALK, [wanted, last]))
    assert "seen" in found, f"{trace['title']}: {found.get('failed')}"
    adjoints, buffers = (
        any(c["key"] == "g" for c in trace["columns"]),
        any(n.get("memory") for n in trace["nodes"]),
    )
    held, end = held_bytes(trace), state_at(trace, last)
    for k in wanted:
        here, state, step = (
            found["seen"][str(k)],
            state_at(trace, k),
            trace["steps"][k - 1] if k else None,
        )
        place = f"{trace['title']}, step {k}"
        assert here["told"] == min(k, 200), place
        if k:
            assert here["say"] == step["say"], place
        for node, column, text, title in (
            (node, *cell) for node, row in here["table"] for cell in row
        ):
            # before the first step the table has the values of the end, which are faint
            value = (state if k else end).cells.get((node, column))
            assert (text == "") == (value is None), f"{place}: {node} {column}"
            assert isinstance(value, dict) or value is None or text == short(value), (
                f"{place}: {node} {column}"
            )
            assert value is None or title or not k, f"{place}: {node} {column}"
        if adjoints and not passes:
            expected = dictionary(trace, k)
            shown = {node: (parts, total) for node, parts, total in here["grad"]}
            assert {n: p for n, (p, _) in shown.items()} == {
                n: [short(v) for v in parts] for n, parts in expected.items()
            }, place
            assert all(
                total == short(state.cells[node, "g"]) for node, (_, total) in shown.items()
            ), place
        if here["cut"] and lawful:
            assert "disagree" not in here["cut"], place
        if here["memory"] and not buffers:
            number, unit, count = re.search(
                r"adjoints: ([\d.]+) (\w+) in (\d+) values?", here["memory"]
            ).groups()
            expected, names = held[k]
            assert int(count) == len(names), place
            assert unit != "B" or int(number) == expected, place
        if step and any(n.get("shape") for n in trace["nodes"]):
            cells = [[n, c, "written"] for n, c, _ in step["writes"]] + [
                [n, c, "read"] for n, c in step["reads"]
            ]
            once = [
                cell for i, cell in enumerate(cells) if [c[:2] for c in cells].index(cell[:2]) == i
            ]
            assert here["arrays"] == once, place
        if "jacobian" in trace:
            modes = [
                mode for mode in ("forward", "reverse") if any(p["mode"] == mode for p in passes)
            ]
            entries = {}
            for one in trace["steps"][:k]:
                entries |= {
                    (passes[one["pass"]]["mode"], i, j): short(v)
                    for i, j, v in one.get("entries", [])
                }
            rows, columns = (
                range(len(trace["jacobian"]["rows"])),
                range(len(trace["jacobian"]["columns"])),
            )
            assert here["matrices"] == [
                [[entries.get((mode, i, j), "") for j in columns] for i in rows] for mode in modes
            ], place
    told = visit.page.evaluate(CUTS)
    if told and lawful:
        sums = cut_sums(trace)
        assert sums is None or len(told) == len(sums), trace["title"]
        for said, value in zip(told, sums or [], strict=sums is not None):
            assert "only by its summary" in said or f"the sum is {short(value)}" in said, (
                f"{trace['title']}: {said}"
            )
    order = visit.page.evaluate(ORDER)
    if order and lawful:
        end = state_at(trace, last).cells
        assert order["left"] == 0 and all(
            "lacks a contribution" in said for said in order["refused"]
        ), trace["title"]
        edges = {e["id"]: e for e in trace["edges"]}
        sent = [
            edges[c["edge"]]
            for s in trace["steps"]
            if s["phase"] in ("adjoint", "accumulate")
            for c in s.get("contribs", [])
        ]
        late = [
            e
            for e in sent
            if e["src"] in order["taken"]
            and order["taken"].index(e["dst"]) > order["taken"].index(e["src"])
        ]
        assert late == [], (
            f"{trace['title']}: a node was freed before all its contributions had arrived"
        )
        if not any(step["phase"] == "update" for step in trace["steps"]):
            assert "the engine's adjoints" in order["said"], trace["title"]
            for node, shown in order["sums"]:
                assert shown in ("", short(end[node, "g"])) or math.isclose(
                    float(shown.replace("−", "-")), end[node, "g"], rel_tol=2e-3
                )

    show(trace, views=["predict"])
    asked, certain = visit.page.evaluate(PREDICT), computed(trace)
    if asked is None:
        assert not certain, f"{trace['title']}: no predict mode"
        return
    assert asked["end"] == last and len(asked["log"]) == len(asked["asked"]), trace["title"]
    assert [entry["step"] for entry in asked["log"]] == [k for k, *_ in asked["asked"]], (
        "each question stands before the step that it is about"
    )
    for entry in asked["log"]:
        step = trace["steps"][entry["step"]]
        assert (
            [entry["node"], entry["column"]] == step["writes"][0][:2]
            and entry["answer"] is None
            and entry["correct"] is False
        )
        assert ("pass" in entry) == ("pass" in step) and entry.get("pass") == step.get("pass")
    assert set(certain) <= {entry["step"] for entry in asked["log"]}, (
        f"{trace['title']}: every number that is computed is asked for"
    )


class Net(mg.nn.Module):
    def __init__(self):
        self.first, self.second = mg.nn.Linear(2, 3), mg.nn.Linear(3, 1)

    def forward(self, x):
        return self.second(self.first(x).tanh())


def examples():
    """One Trace of each sort: numbers, arrays that are broadcast, layers, growing graphs, a name
    of several letters, Jacobians, a training step, a checkpoint, a compiled program.
    """
    mg.manual_seed(3)
    net = Net()
    w, x = (mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in ([2.0, -1.0], 0.5))

    def second(x):
        (g,) = mg.autograd.grad(mg.sin(x) * x, x, create_graph=True)
        return g

    def slope(w):
        return mg.autograd.grad((w.tanh() * w).sum(), [w])[0]

    with np.errstate(all="ignore"):
        infinite = trace_function(lambda a, b: mg.log(a) * b + a / a, 0.0, -2.0)
    return {
        "numbers": trace_function(lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), 2.0, 5.0),
        "broadcast": trace_function(
            lambda x, b: ((x + b) * x).sum(),
            [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]],
            [0.1, 0.2, -0.3],
            mode="reverse",
        ),
        "layers": trace_function(lambda x: net(x).square().sum(), [[0.5, -1.0], [1.0, 0.0]]),
        "growing": trace_function(second, 0.5),
        "infinite": infinite,
        "names": trace_function(
            lambda phi, alpha_long: mg.sin(phi) * alpha_long + phi, 0.9, 2.0, mode="forward"
        ),
        "large": trace_function(
            lambda x: (x * x).mean(),
            [[float(i * j % 7) for i in range(9)] for j in range(8)],
            mode="primal",
        ),
        "jacobian": jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0),
        "columns": jacobian_trace(lambda x: mg.exp(x) * x.sum(), [0.5, -1.0], by="columns"),
        "rows": jacobian_trace(lambda x: mg.exp(x) * x.sum(), [0.5, -1.0], by="rows"),
        "update": trace_training_step(
            lambda t: ((w * x).sum() - t) ** 2, optim.SGD([w, x], lr=0.1), 1.5
        ),
        "checkpoint": trace_function(
            lambda x: mg.checkpoint(lambda a: mg.sin(a * a).exp(), x).square(), 0.5, mode="reverse"
        ),
        "program": record(slope, w).as_trace(w),
    }


@pytest.mark.parametrize(
    "name",
    [
        "numbers",
        "broadcast",
        "jacobian",
        *(
            pytest.param(name, marks=pytest.mark.whole)
            for name in (
                *("layers", "growing", "infinite", "names", "large", "columns", "rows"),
                *("update", "checkpoint", "program"),
            )
        ),
    ],
)
def test_every_view_says_what_the_trace_says(name, show, visit):
    hold(examples()[name], show, visit)
