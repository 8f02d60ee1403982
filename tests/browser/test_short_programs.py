"""A program with short names does what it did with its own."""

import pytest
from minigrad.viz import bundle
from minigrad.viz.explorer import bundle as explorer
from minigrad.viz.renaming import renamed, with_free_names
from minigrad.viz.squeeze import squeezed
from minigrad.viz.training import assets

pytestmark = pytest.mark.browser

RESULT = "text => import('data:text/javascript,' + encodeURIComponent(text)).then(m => m.default)"

PROGRAMS = {
    "names of numbers, some of which change": """
        const WIDE = 12, TALL = 0.5, told = "told", MANY = 123456789;
        let count = 0, steps = 1, sum = 2, last = 3, first = 4;
        const LAST = 7;
        const one = () => { count++; steps += WIDE; sum = TALL; --last;
          ({ first } = { first: 5 }); };
        one();
        const many = [MANY, MANY, MANY, MANY], { length = LAST } = {}, fixed = 2, at = 3;
        export default [WIDE === 12 ? WIDE : TALL, -TALL, `${TALL}${told}`, count, steps, sum,
          last, first, many, length, fixed.toFixed(1), { at }, WIDE - -TALL, LAST == 7];""",
    "a name of a block, and of what is around": """
        const part = "outer";
        function both(list) { const seen = [];
          for (const part of list) { seen.push(part); }
          if (list) { let part = "inner"; seen.push(part); }
          return [...seen, part]; }
        export default both([1, 2]);""",
    "a name of a block, and of the browser": """
        function both() { { const screen = 1; if (screen !== 1) return 2; } return typeof screen; }
        const elsewhere = () => screen;
        export default both() + typeof elsewhere();""",
    "values of parameters that are not given": """
        const size = 7;
        function made({ size: width = size, ...rest } = {}, [first = size] = []) {
          const size = width + first; return [size, rest]; }
        function late(to = size) { const size = 1; return [to, size]; }
        export default [made(), made({ size: 1, other: 2 }, [3]), late()];""",
    "names that are both a key and a variable": """
        const one = 1, two = 2, key = "three";
        const held = { one, two, [key]: one + two, four() { return one; }, get five() { return 5; },
          async six(one) { return { one }; }, seven: (one) => ({ one, two }), if: 8 };
        const { one: first, two: { length } = [], seven = two, ...others } = held;
        export default [first, length, seven(3), Object.keys(others), held.four(), held.five,
          await held.six(6), held.if];""",
    "a key of a pattern that is computed": """
        const keyed = (number) => number ? "more" : "less";
        const found = [{ less: 1, more: 2 }, { less: 3, more: 4 }].map((held, number) => {
          const { [keyed(number)]: value, [`${keyed(0)}`]: least = 5 } = held;
          return [value, least, keyed(number)]; });
        export default found;""",
    "templates, patterns and divisions": """
        const total = 8, half = 4, g = 2;
        const told = `${total / half / g} ${[half].map((half) => `${half}${{ half }.half}`)} half`;
        const found = /half["'`/]/g.test("half/"), what = (total) / half / g;
        export default [told, found, what, "half ${half}", 'half'];""",
    "choices, labels of cases, classes and loops": """
        class Held extends Error { kind = "kind";
          constructor(text) { super(text); this.text = text; }
          static of(text) { return new Held(text); } get whole() { return this.text + this.kind; } }
        function told(of) { switch (of) { case "a": { const part = of + 1; return part; }
            case of ? "b" : "c": return { of }; default: { return [of]; } } }
        let sum = 0, set = 0, get = (set) => set;
        for (let i = 0, j = 9; i < j; i++, j--) sum += i ? j : 0;
        for (const [k, { v = 3 }] of Object.entries({ a: {}, b: { v: 4 } })) sum += v + k.length;
        for (const k in { length: 1 }) set += k.length;
        try { throw Held.of("text"); } catch ({ whole, message }) { get = whole + message; }
        const pick = (a) => a ? (b) => b ?? a : { a }, count = (...all) => all.length;
        export default [told("a"), told("b"), told("d"), sum, set, get, pick(1)(), pick(0),
          count(1, 2), [1, 2].map((a, b) => a?.b ?? b)];""",
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_renamed_program_gives_the_same(visit, what):
    visit.page.goto("about:blank")
    text = squeezed(PROGRAMS[what])
    same = renamed(text)
    assert len(same) < len(text)
    assert visit.page.evaluate(RESULT, same) == visit.page.evaluate(RESULT, PROGRAMS[what])


def test_exports_keep_their_names(visit):
    visit.page.goto("about:blank")
    text = "const some = 4, more = 5;\nexport { some, more };\nexport default { some };\n"
    all_of = RESULT.replace("m.default", "({ ...m })")
    found = visit.page.evaluate(all_of, renamed(squeezed(text)))
    assert found == {"some": 4, "more": 5, "default": {"some": 4}}


@pytest.mark.parametrize(
    "program", [bundle.script, assets.script, explorer.script, explorer.viewer_with_engine]
)
def test_each_name_that_stays_is_the_browsers(visit, bench, program):
    """None was overlooked where it is declared."""
    visit.page.goto(bench.as_uri())
    _, free = with_free_names(squeezed(program()))
    missing = "names => names.filter((name) => !(name in globalThis))"
    assert visit.page.evaluate(missing, sorted(free)) == []
