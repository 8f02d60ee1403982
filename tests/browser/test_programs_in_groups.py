"""A large graph reads like its program: loops and rounds, calls, lines; what conditions decided;
where a function failed."""

import re

import pytest
from minigrad.viz.grouping import Tree
from minigrad.viz.reading import heading_runs

import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
from tests.browser.conftest import at_each, step_of, to
from tests.helpers.trace_samples import half_sines


def layer(h, w):
    return mg.tanh(h * w) + 1


def program(x, w):
    for _ in range(50):
        x = layer(x, w)
        x = x * 0.5 + w
    if x > 0:  # noqa: SIM108
        y = x * x
    else:
        y = -x
    return layer(y, w)


@pytest.fixture(scope="module")
def trace():
    return trace_function(program, 0.5, 1.5, mode="reverse")


def test_the_number_of_a_line_runs_to_it_and_with_shift_back(show, trace):
    """Each press comes to the line's next round, in the reverse pass as well."""
    viewer = show(trace, 1280, 800)
    first = trace["source"].get("first_line", 1)
    scaled = next(i for i, text in enumerate(trace["source"]["code"].split("\n")) if "0.5" in text)
    line = viewer.get_by_role("button", name=f"Run to line {first + scaled};")
    spans = {node["id"]: node.get("span") for node in trace["nodes"]}
    own = {name for name, span in spans.items() if span and span[0] == scaled + 1}
    told = "(button) => button.closest('.mg-root').querySelector('.mg-counter').textContent"

    def at(text):
        k = int(text.split("/")[0])
        return k, trace["steps"][k - 1]

    step = lambda: at(line.evaluate(told))
    line.click()
    pressed = f"(button) => Array.from({{ length: 50 }}, () => (button.click(), ({told})(button)))"
    seen = [step(), *map(at, line.evaluate(pressed))]
    assert [one["phase"] for _, one in seen] == ["primal"] * 50 + ["adjoint"]
    assert all(one["node"] in own for _, one in seen[:50])
    assert [k for k, _ in seen] == sorted({k for k, _ in seen})
    line.click(modifiers=["Shift"])
    assert step() == seen[49]
    line.focus()
    viewer.page.keyboard.press("Enter")
    assert step() == seen[50]
    viewer.page.keyboard.press("Shift+Enter")
    assert step() == seen[49]
    assert viewer.get_by_role("button", name=re.compile("^Run to line")).count() < 9


def short(x):
    for _ in range(3):
        x = mg.sin(x * 2.0)
    return x


@pytest.mark.parametrize("mode", ["reverse", "both"])
def test_the_number_of_a_loop_of_one_line_goes_to_each_of_its_rounds(show, mode):
    found = trace_function(short, 0.5, mode=mode)
    viewer = show(found, 1280, 800)
    viewer.focus()
    viewer.page.keyboard.press("?")
    assert viewer.get_by_text("on the number of a line: run to it").is_visible()
    viewer.page.keyboard.press("Escape")
    body = found["source"].get("first_line", 1) + 2
    line = viewer.get_by_role("button", name=f"Run to line {body};")
    rounds = viewer.locator(".mg-source figcaption small").last
    seen, told = [], []
    for _ in range(7):
        line.click()
        seen.append(step_of(viewer))
        told.append(rounds.inner_text())
    there = [f"round {i} of 3" for i in (1, 2, 3)]
    assert told == [*there, *reversed(there), there[0]]
    assert seen[:6] == sorted(set(seen)) and seen[6] == seen[0], "and from the first again"
    line.click(modifiers=["Shift"])
    assert step_of(viewer) == seen[5]


NODE_IN_SIGHT = """root => {
    const now = root.querySelector(".mg-node.mg-write");
    const box = now.getBoundingClientRect(),
        space = root.querySelector(".mg-graph").getBoundingClientRect();
    const inside = box.left >= space.left - 1 && box.right <= space.right + 1
        && box.top >= space.top - 1 && box.bottom <= space.bottom + 1;
    const names = [...root.querySelectorAll(".mg-crumbs .mg-fold")].map(e => e.textContent);
    return [inside, root.querySelectorAll(".mg-node").length, names,
            [...root.querySelectorAll(".mg-node.mg-write")].map(e => e.dataset.node)];
}"""


def test_the_outline_is_the_program_and_each_step_opens_what_is_around_it(show, visit, trace):
    viewer = show(trace, 1280, 800)
    names = viewer.locator(".mg-group-name").all_text_contents()
    assert names == [
        "▸ rounds 1 … 12 of 50",
        "▸ rounds 13 … 24 of 50",
        "▸ rounds 25 … 36 of 50",
        "▸ rounds 37 … 48 of 50",
        "▸ rounds 49 … 50 of 50",
        "▸ layer(y, w)",
    ]
    steps = [i for i in range(1, len(trace["steps"]) + 1, 23) if trace["steps"][i - 1]["writes"]]
    written = [trace["steps"][k - 1]["node"] for k in steps]
    users = {edge["id"]: edge["dst"] for edge in trace["edges"]}
    blocks = {block["id"]: block for block in trace["blocks"]}
    innermost = {node["id"]: node.get("block") for node in trace["nodes"]}
    rounds = {id: block["round"] for id, block in blocks.items() if block["kind"] == "round"}

    def round_of(node):
        block = innermost[node]
        while block is not None and block not in rounds:
            block = blocks[block].get("parent")
        return block

    for k, node, (inside, boxes, crumbs, lit) in zip(
        steps, written, at_each(viewer, steps, NODE_IN_SIGHT), strict=True
    ):
        assert inside and boxes < 40, f"step {k}: the node at work is in the window"
        assert node in lit, "the node itself is on view, and not a box around it"
        around = {node, *(users[edge] for edge in trace["steps"][k - 1]["edges"])}
        numbers = {rounds[block] for one in around if (block := round_of(one)) is not None}
        opened = re.findall(r"▾ round (\d+) of 50\b", " ".join(crumbs))
        assert set(map(int, opened)) == numbers, f"step {k}"
    viewer.get_by_role("button", name="Follow the step").click()
    before = viewer.locator(".mg-node").count()
    to(viewer, 5)
    assert viewer.locator(".mg-node").count() == before, "without following nothing opens"


def test_the_round_whose_operation_is_at_work_is_open_as_the_source_says(show):
    """In the reverse pass too, where it sends to the input, or to the round before it."""
    trace = trace_function(half_sines(50), 0.7, mode="reverse")
    tree, users = Tree(trace), {edge["id"]: edge["dst"] for edge in trace["edges"]}
    viewer = show(trace, 1280, 800)
    back = [k for k, s in enumerate(trace["steps"], 1) if s["edges"] and s["phase"] != "primal"]
    told = """(root) => [root.querySelector(".mg-source figcaption").textContent,
      [...root.querySelectorAll(".mg-crumbs .mg-fold")].map((one) => one.textContent)]"""
    for k, (source, crumbs) in zip(back, at_each(viewer, back, told), strict=True):
        [number] = re.findall(r"round (\d+) of 50", source)
        assert f"▾ round {number} of 50" in crumbs, f"step {k}: {crumbs}"
        step = trace["steps"][k - 1]
        open_now = {tree.groups[id].label for id in tree.at_work(step)}
        assert f"round {number} of 50" in open_now, f"step {k} of a still: {open_now}"
        assert users[step["edges"][0]] in tree.shown(set(tree.at_work(step)))


def test_on_a_page_that_opens_at_a_step_the_rows_that_it_reads_are_whole(show):
    """Also where the groups of that step have just been opened, and the table has many rows."""
    trace = trace_function(half_sines(50), 0.7, mode="reverse")
    viewer = show(trace, 1280, 800, step=234)
    inside = """(root) => {
      const box = root.querySelector(".mg-tablebox").getBoundingClientRect();
      return [...root.querySelectorAll("td.mg-read")].map((cell) => {
        const { top, bottom } = cell.getBoundingClientRect();
        return box.top <= top && bottom <= box.bottom + 0.5;
      });
    }"""
    assert all(viewer.evaluate(inside))


def nested(x, w):
    for _ in range(3):
        for _ in range(20):
            x = layer(x, w)
        x = x * 0.5
    return x


def test_a_row_of_the_table_is_set_in_as_far_as_it_is_nested(show):
    def nested(x):
        for _ in range(12):
            for _ in range(4):
                x = mg.sin(x) * 1.01 + 0.1
            x = x * 2
        return x * x

    traced = trace_function(nested, 0.4, mode="reverse")
    viewer = show(traced, 1280, 800)
    to(viewer, 10)
    left = viewer.evaluate("""root => {
        const all = [...root.querySelectorAll("tbody tr")],
            of = (row) => row.querySelector("button").getBoundingClientRect().left;
        return Object.fromEntries(all.map((row) => [row.dataset.node, of(row)]));
    }""")
    assert left["x"] == left["v157"] == min(left.values()), "in no round"
    depths = sorted({round(at - left["x"]) / 6 for at in left.values()})
    assert len(depths) > 3 and depths == [*range(len(depths))]
    assert left[traced["steps"][9]["node"]] == max(left.values())


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_an_open_group_has_a_heading_in_the_table(show, size):
    """Where its rows began could not be told from the table."""

    def rounds(x):
        for _ in range(50):
            x = mg.sin(x) * 0.5 + 1
        return x * x

    trace = trace_function(rounds, 0.4, mode="reverse")
    viewer = show(trace, *size)
    to(viewer, 90)  # of round 30
    told = """root => [...root.querySelectorAll("tbody tr")].map((row) => [
        row.querySelector("button").textContent,
        [...row.querySelectorAll("td.mg-num")].filter((cell) => cell.textContent).length])"""
    rows = viewer.evaluate(told)
    heads = [name for name, _ in rows if name.startswith("▾")]
    open_ones = viewer.locator(".mg-crumbs .mg-fold").all_text_contents()
    assert heads == open_ones and len(heads) == 3, "those around the step"
    at = rows.index([heads[-1], 0])
    assert rows[at + 1][0] == "v88" and rows[at - 1][0] == "▸ round 29 of 50"
    assert all(count == 0 for name, count in rows if name.startswith("▾"))
    viewer.get_by_role("button", name=heads[1], exact=True).last.click()
    names = [name for name, _ in viewer.evaluate(told)]
    assert heads[1].replace("▾", "▸") in names and "v88" not in names


def test_rounds_of_one_call_each_are_named_as_rounds_inside_other_rounds_too(show):
    trace = trace_function(nested, 0.5, 1.5, mode="reverse")
    labels = [group.label for group in Tree(trace).groups.values()]
    assert "layer(x, w)" not in labels, "each stands as the round that it is"
    assert labels.count("for _ in range(20)") == 3 and labels.count("round 7 of 20") == 3
    viewer = show(trace, 1280, 800)
    to(viewer, 40)
    assert viewer.locator(".mg-crumbs .mg-fold").all_text_contents() == [
        "▾ for _ in range(3)",
        "▾ round 1 of 3",
        "▾ for _ in range(20)",
        "▾ round 13 of 20",
    ]


def wide(first_measurement, second_measurement):
    return mg.sin(first_measurement * first_measurement + second_measurement * 2.0 + first_measurement * 0.5) * mg.exp(second_measurement)  # fmt: skip # noqa: E501


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_a_long_line_of_code_is_moved_to_the_piece_at_work(show, size):
    trace = trace_function(wide, 0.5, 1.5, mode="reverse")
    viewer = show(trace, *size)
    ends = at_each(
        viewer,
        range(len(trace["steps"]) + 1),
        """root => {
            const of = name => root.querySelector(`.mg-source ${name}`)?.getBoundingClientRect(),
                [lit, space, gutter] = ["mark", ".mg-scroll", ".mg-gutter"].map(of);
            return lit ? [lit.left - gutter.right, space.right - lit.left, gutter.left - space.left,
                lit.width < space.width - gutter.width - 20 ? space.right - lit.right : 0] : null;
        }""",
    )
    ends = [end for end in ends if end is not None]
    assert len(ends) > 5 and min(map(min, ends)) >= 0, "the numbers of the lines stay, too"


def test_groups_wait_until_a_dragged_slider_rests(show, trace):
    viewer = show(trace, 1280, 800)
    names = viewer.locator(".mg-group-name")
    before = names.all_text_contents()
    during = viewer.evaluate("""root => {
        const slider = root.querySelector(".mg-bar .mg-slider"), seen = [];
        for (const k of [60, 200, 300]) {
            slider.value = k;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            seen.push([...root.querySelectorAll(".mg-group-name")].map(e => e.textContent),
                      root.querySelector(".mg-counter").textContent.split(" ")[0],
                      root.querySelectorAll(".mg-node.mg-write").length > 0);
        }
        return seen;
    }""")
    assert during[::3] == [before] * 3, "the graph stays as it is"
    assert during[1::3] == ["60", "200", "300"]
    assert all(during[2::3]), "the box around the node at work is marked"
    viewer.locator(".mg-opened .mg-fold").first.wait_for()
    to(viewer, 300)
    rested = names.all_text_contents()
    to(viewer, 0)
    measured = viewer.evaluate("""root => {
        const { prototype } = SVGTextContentElement, own = prototype.getComputedTextLength;
        let count = 0;
        prototype.getComputedTextLength = function () { count += 1; return own.call(this); };
        const slider = root.querySelector(".mg-bar .mg-slider");
        slider.value = 300;
        for (const kind of ["input", "change"]) slider.dispatchEvent(new Event(kind));
        prototype.getComputedTextLength = own;
        return count / root.querySelectorAll(".mg-node").length;
    }""")
    assert rested == names.all_text_contents() != before
    assert measured == 1, "the picture is laid out when it is whole, and not before"


def test_a_group_that_the_reader_closes_stays_closed(show, trace):
    viewer = show(trace, 1440, 900, step=60)
    crumbs = viewer.locator(".mg-crumbs .mg-fold")
    opened = viewer.locator(".mg-opened .mg-fold").count()
    assert crumbs.count() >= 3
    crumbs.last.click()
    to(viewer, 61)
    to(viewer, 60)
    assert viewer.locator(".mg-opened .mg-fold").count() == opened - 1


def test_two_edges_that_are_drawn_as_one_wire_share_its_label(show):
    def doubled(x):
        for _ in range(200):
            x = x + x
        return x

    trace = trace_function(doubled, 0.5, mode="forward")
    viewer = show(trace, 1280, 800)
    told = "root => [...root.querySelectorAll('.mg-label text')].map(e => e.textContent)"
    steps = [k for k, step in enumerate(trace["steps"], 1) if step.get("contribs")][:20]
    labels = at_each(viewer, steps, told)
    assert ["× 1, × 1"] in labels and ["× 1", "× 1"] in labels


def test_page_and_still_have_the_same_groups_of_a_program(show, trace):
    def lines(x):
        a = x * 2 + x - 1
        b = a * a + a - x * 3 + 1 - a + x
        return mg.tanh(a * b + b * x - a + b * 2)

    def repeated(x):
        for i in range(60):
            x = lines(x) if i % 2 else x * 0.5 + x * 0.25
        return x

    flat = trace_function(eval("lambda x: " + " + ".join(["x * 2.0"] * 100)), 1.0, mode="primal")
    again = trace_function(repeated, 0.5, mode="primal")
    two = mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.Sequential(mg.nn.Linear(3, 2), mg.nn.Tanh()))
    modules = trace_function(lambda x: two(x).sum(), [[0.5, -1.0, 2.0]], mode="reverse")
    deep = mg.nn.Sequential(*(mg.nn.Linear(n, n + 1) for n in range(1, 15)))
    loss = trace_function(lambda x: mg.nn.CrossEntropyLoss()(deep(x), mg.tensor([0])), [[0.5]])

    def loops(x):  # a round of one operation is that operation
        n, y = 0, x
        for _ in range(30):
            x = 1.01 * x
        while n < 25:
            y, n = mg.sin(y), n + 1
        return x * y

    def long(x):  # stretches of stretches
        for _ in range(600):
            x = mg.sin(x)
        return x

    loop = trace_function(loops, 1.0, mode="primal")
    deeper = trace_function(long, 1.0, mode="primal")
    shown = (
        (trace, "zh"),
        (again, "en"),
        (flat, "en"),
        (modules, "en"),
        (loss, "zh"),
        (deeper, "zh"),
        (loop, "en"),
    )
    for one, lang in shown:
        viewer = show(one, lang=lang)
        tree = Tree(one, viz.texts.words(lang))
        there = viewer.locator(".mg-node").evaluate_all("all => all.map(e => e.dataset.node)")
        assert there == tree.shown(tree.open_at_first())
        labels = viewer.locator(".mg-group-name").all_text_contents()
        assert labels == [f"▸ {tree.groups[i].label}" for i in there if i in tree.groups]
    assert labels == ["▸ for _ in range(30) · 30 rounds", "▸ while n < 25 · 25 rounds"]


def question(x):
    if x > 0:  # noqa: SIM108
        y = mg.log(x) * x
    else:
        y = -x
    return y * (2.0 if y < 5 else 3.0)


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_a_condition_shows_its_answer_and_the_branch_that_does_not_run(show, visit, axe, size):
    trace = trace_function(question, 2.0)
    viewer = show(trace, *size, step=len(trace["steps"]))
    asked, chosen = (n["id"] for n in trace["nodes"] if n.get("decides"))
    card = viewer.locator(f".mg-node[data-node='{asked}']")
    said = ["if x > 0: yes", "line 3 runs, line 5 does not run"]
    assert card.locator(".mg-caption").all_text_contents() == said
    rim, caption = card.locator("rect.mg-card"), card.locator(".mg-caption").last
    assert caption.bounding_box()["width"] < rim.bounding_box()["width"]
    said += viewer.locator(f".mg-node[data-node='{chosen}'] .mg-caption").all_text_contents()
    assert said[2:] == ["if y < 5: yes", "2.0 is computed, 3.0 is not"]
    still = viz.to_svg(trace, step=len(trace["steps"]))
    assert all(line.replace("<", "&lt;").replace(">", "&gt;") in still for line in said)
    assert "True" in card.text_content() and "mg-dangling" not in card.get_attribute("class")
    assert viewer.locator(".mg-skipped").all_text_contents() == ["y = -x", "3.0"]
    if size == (390, 844):
        axe(visit.page, "section.mg-root")
        return
    to(viewer, 1)
    assert viewer.locator(".mg-skipped").count() == 0, "nothing was decided yet"
    to(viewer, next(i for i, s in enumerate(trace["steps"], 1) if s.get("decides")))
    assert "line 3 runs, line 5 does not run" in viewer.locator(".mg-say").inner_text()
    chinese = show(trace, *size, step=len(trace["steps"]), lang="zh")
    there = chinese.locator(f".mg-node[data-node='{asked}'] .mg-caption").all_text_contents()
    there += chinese.locator(f".mg-node[data-node='{chosen}'] .mg-caption").all_text_contents()
    assert there[:2] == ["if x > 0：是", "执行第 3 行，跳过第 5 行"]
    assert there[2:] == ["if y < 5：是", "计算 2.0，不计算 3.0"]
    to(chinese, next(i for i, s in enumerate(trace["steps"], 1) if s.get("decides")))
    assert "执行第 3 行，跳过第 5 行" in chinese.locator(".mg-say").inner_text()


def changing(x):
    total = x
    for i in range(3):
        if total > 2:  # noqa: SIM108
            total = total * 0.5
        else:
            total = total + x * i
    return mg.log(total)


def test_in_a_loop_the_line_of_a_step_is_marked_also_where_the_last_round_left_it_out(show):
    """In both directions: the reverse pass comes back to rounds that took the other branch."""
    trace = trace_function(changing, 1.5, mode="reverse")
    nodes = {node["id"]: node for node in trace["nodes"]}
    senders = {edge["id"]: edge["dst"] for edge in trace["edges"]}
    viewer = show(trace)
    seen = set()
    for k, step in enumerate(trace["steps"], 1):
        node = nodes[step["node"]]
        sender = step["edges"] and nodes[senders[step["edges"][0]]].get("span")
        span = sender or node.get("span")
        to(viewer, k)
        marked = viewer.locator(".mg-source mark").all_text_contents()
        if span:
            line = trace["source"]["code"].split("\n")[span[0] - 1]
            assert marked == [line[span[1] : span[3]]], k
            branch = {5: "total = total + x * i", 7: "total = total * 0.5"}.get(span[0])
            if branch:
                assert viewer.locator(".mg-skipped").all_text_contents() == [branch], k
                seen.add((span[0], step["phase"]))
    assert {(5, "adjoint"), (7, "adjoint"), (5, "primal"), (7, "primal")} <= seen


def test_a_function_that_fails_is_shown_up_to_there_in_red_with_the_message(show, visit, axe):
    def fails(x, w):
        h = mg.tanh(x @ w)
        return h @ w

    found = viz.show(fails, [[1.0, 2.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    viewer = show(found.trace, 1280, 800, step=len(found.trace["steps"]))
    message = viewer.locator(".mg-error").inner_text()
    assert message.startswith("Line 3 fails: ShapeError: matmul: shapes (1, 3) and (2, 3)")
    text = viewer.inner_text()
    assert text.count("matmul: shapes (1, 3) and (2, 3)") == 1, "the message stands once"
    assert viewer.locator(".mg-say").inner_text().startswith("v3 fails: ShapeError.")
    failing = viewer.locator(".mg-node.mg-failing")
    assert failing.count() == 1 and viewer.locator(".mg-node").count() == 5
    assert viewer.locator(".mg-source .mg-wrong").inner_text() == "h @ w"
    for scheme, red in (("light", "rgb(179, 38, 30)"), ("dark", "rgb(255, 157, 148)")):
        visit.page.emulate_media(color_scheme=scheme)
        assert failing.locator(".mg-card").evaluate("e => getComputedStyle(e).stroke") == red
    axe(visit.page, "section.mg-root")
    assert "failed" in viz.to_svg(found.trace)


@pytest.mark.parametrize(
    "lang, said",
    [
        ("en", "The reverse pass fails at v2: InPlaceError. See the message above."),
        ("zh", "反向传播在 v2 处出错：InPlaceError。错误信息见上方。"),
    ],
)
def test_of_a_reverse_pass_that_fails_the_operation_is_named_and_written(show, lang, said):
    def fails(x):
        y = mg.exp(x)
        z = y * x
        y.mul_(2.0)
        return z.sum()

    found = viz.show(fails, [0.5, 1.0], mode="reverse")
    viewer = show(found.trace, step=len(found.trace["steps"]), lang=lang)
    assert viewer.locator(".mg-say").inner_text() == said
    assert viewer.locator(".mg-formula").text_content() == "v1·x"
    assert viewer.locator(".mg-sums").text_content() == ""


def test_a_heading_that_is_too_long_keeps_its_operands(show):
    a_value_with_a_long_name = mg.ones(2, 3)
    net = mg.nn.Sequential(mg.nn.Conv2d(1, 2, 2), mg.nn.BatchNorm2d(2))

    def f(x):
        return net(x).reshape(1, 8).sum() + (x.reshape(3, 3)[:2] * a_value_with_a_long_name).sum()

    trace = trace_function(f, mg.ones(1, 1, 3, 3), mode="reverse")
    viewer = show(trace)
    viewer.get_by_role("button", name="Open all").click()
    heads = dict(
        viewer.locator(".mg-node[data-node]:not(.mg-group)").evaluate_all(
            "all => all.map((e) => [e.dataset.node, e.querySelector('.mg-heading').textContent])"
        )
    )
    wanted = {n["id"]: "".join(r.text for r in heading_runs(n)) for n in trace["nodes"]}
    assert heads == {name: wanted[name] for name in heads}
    cut = [text for text in heads.values() if "…" in text]
    assert len(cut) > 1 and "reshape(0.bias, …)'" in str(cut)
    sources = {edge["dst"]: edge["src"] for edge in reversed(trace["edges"])}
    first = {name: wanted[source].partition(" =")[0][-4:] for name, source in sources.items()}
    assert all(first[name] in text for name, text in heads.items() if name in first)


def test_long_names_leave_the_table_its_column_of_how_a_value_is_made(show):
    def f(first_argument_of_the_function, second_argument_of_the_function):
        return mg.sin(first_argument_of_the_function * second_argument_of_the_function**2)

    viewer = show(trace_function(f, 2.0, 5.0, mode="reverse"), 1280, 800)
    made = viewer.locator(".mg-table .mg-made").all_text_contents()
    assert made[-2:] == ["first_argum…·v1", "sinv2"]
    assert viewer.locator(".mg-table td.mg-made").last.is_visible()
    heads = viewer.locator(".mg-heading").all_text_contents()
    assert "v2 = first_argumen… · v1" in heads


@pytest.mark.parametrize("shape", [(4,), (4, 1), (2, 3)], ids=str)
def test_the_numbers_of_an_array_stay_inside_the_box_of_a_group(show, shape):
    """Of whatever shape, also of one that other boxes write out in full."""
    mg.manual_seed(0)
    layer = mg.nn.Sequential(mg.nn.Linear(shape[-1], 3), mg.nn.Tanh(), mg.nn.Linear(3, shape[-1]))
    trace = trace_function(
        lambda x: layer(x).square().sum(), mg.ones(*shape) * 0.123456, mode="reverse"
    )
    viewer = show(trace)
    viewer.get_by_role("button", name="Open all").click()
    heads = viewer.locator(".mg-node[data-node]:not(.mg-group)").evaluate_all(
        "all => all.map((e) => [e.dataset.node, e.querySelector('.mg-heading').textContent])"
    )
    wanted = {n["id"]: "".join(r.text for r in heading_runs(n)) for n in trace["nodes"]}
    assert dict(heads) == {name: wanted[name] for name, _ in heads}
    if len(shape) == 2:
        assert "x @ 0.weightT + 0.bias" in str(heads)
    viewer.get_by_role("button", name="Close all").click()
    to(viewer, len(trace["steps"]))
    viewer.get_by_role("button", name="Close all").click()
    over = viewer.locator(".mg-group").evaluate_all(
        """all => all.flatMap((group) => {
            const card = group.querySelector("rect.mg-card:not(.mg-pile)").getBoundingClientRect();
            return [...group.querySelectorAll(".mg-value")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.width && (box.left < card.left || box.right > card.right);
            }).map((text) => text.textContent);
        })"""
    )
    assert viewer.locator(".mg-group .mg-value").count() and over == []


def outer_and_more(x):
    return (mg.outer(mg.exp(x), x) * 3).sum()


def test_a_library_function_on_arrays_is_one_closed_box_in_a_small_graph_and_opens_in_place(show):
    trace = trace_function(outer_and_more, [1.0, 2.0], mode="reverse")
    viewer = show(trace, 1280, 800)
    shown = lambda: viewer.locator(".mg-node").evaluate_all("all => all.map(e => e.dataset.node)")
    tree = Tree(trace)
    assert shown() == tree.shown(tree.open_at_first()) == ["x", "v1", "group 1", "v4", "v5"]
    assert viewer.locator(".mg-group-name").all_text_contents() == ["▸ mg.outer(mg.exp(x), x)"]
    viewer.locator(".mg-group-name").click()
    assert {"v2", "v3"} <= set(shown())


def test_a_library_function_whose_operations_are_all_or_one_of_which_fails_shows_them():
    def alone(x):
        return mg.outer(x, x)

    def failing(x):
        return mg.kron(x * 2, "no tensor")

    for f in (alone, failing):
        trace = trace_function(f, [1.0, 2.0], mode="primal", partial=True)
        assert {block["kind"] for block in trace.get("blocks", ())} <= {"function"}
        assert Tree(trace).groups == {}
