"""Formulas differentiated by the engine of the page (viz/explorer) and by minigrad, and the two
documents compared.
"""

from __future__ import annotations

import functools
import json
import math
import subprocess
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

from minigrad.cli.target import ComputationError, UsageError
from minigrad.cli.trace import compute
from minigrad.expression import ExpressionError, compile
from minigrad.trace.diff import first_divergence

RTOL, ATOL = 1e-6, 1e-9
"""The tolerance of `first_divergence`: elementary functions of two languages differ in their last
places (`ULPS`), and cancellation enlarges that."""

ULPS = {
    **dict.fromkeys("abs ceil floor mean reciprocal relu sign sqrt square sum trunc".split(), 0),
    **dict.fromkeys("maximum minimum rsqrt".split(), 0),
    **dict.fromkeys("cosh erf log10 logaddexp sigmoid sinh softplus tanh".split(), 2),
}
"""By how many units in the last place a function of the page and minigrad's may differ; 1 for the
others. Stated, with the reasons, in minigrad/design/0013-explorer.md."""

EDGE = "one of the two is at the edge of a domain: tanh(19) is 1, or one place less"

RUN = """
globalThis.answers = (cases) => cases.map(({ text, values, mode, seeds, points, again }) => {
  try {
    if (again) {
      const compiled = compileFormula(text),
        { out, inputs } = runRecorded(compiled, values),
        found = derivativeOf(out, inputs.get(again), values, 0).found;
      return { program: programOf(found, again, compiled.names) };
    }
    if (points) {
      const compiled = compileFormula(text);
      return points.map((point) => evaluateAt(compiled, point));
    }
    return { trace: differentiate(text, values, { mode, seeds }) };
  } catch (error) {
    if (!(error instanceof FormulaError)) return { crash: String(error.stack) };
    const { problem, hint, line, column, width } = error;
    return { refused: { problem, hint, line, column, width } };
  }
});
"""


def in_node(engine: str, cases: list[Any], folder: Path) -> list[Any]:
    """What the engine answers to each case, in Node."""
    script = folder / "engine.mjs"
    script.write_text(
        f"import {{ readFileSync }} from 'node:fs';\n{engine}\n{RUN}"
        # JSON has no NaN and no infinity, but Python writes them
        "const text = readFileSync(0, 'utf-8').replace(/: (NaN|-?Infinity)/g, ': \"$1\"');\n"
        "const special = (v) => typeof v === 'string' && /^(NaN|-?Infinity)$/.test(v);\n"
        "const revived = (_, v) => (special(v) ? Number(v) : v);\n"
        "console.log(JSON.stringify(answers(JSON.parse(text, revived))));\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["node", str(script)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return list(json.loads(done.stdout))


def in_browser(engine: str, cases: list[Any], page: Any) -> list[Any]:
    """What the engine answers to each case, in a tab of a browser."""
    page.goto("about:blank")
    page.add_script_tag(content=f"{engine}\n{RUN}", type="module")
    page.wait_for_function("() => globalThis.answers")
    return list(json.loads(page.evaluate("(cases) => JSON.stringify(answers(cases))", cases)))


def by_minigrad(case: dict[str, Any]) -> dict[str, Any]:
    """What `minigrad trace` answers: a Trace, or what is refused and why. It is asked once for the
    two engines of the page."""
    return _answered(json.dumps({key: case[key] for key in ("text", "values", "mode", "seeds")}))


@functools.cache
def _answered(asked: str) -> dict[str, Any]:
    case = json.loads(asked)
    try:
        names = compile(case["text"]).names
        pairs = lambda given: [f"{name}={given[name]!r}" for name in names]
        options = Namespace(
            formula=case["text"],
            values=pairs(case["values"]),
            mode=case["mode"],
            seed=[]
            if case["seeds"] is None
            else pairs({name: case["seeds"].get(name, 0.0) for name in names}),
            lang="en",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"trace": compute(options)}
    except ExpressionError as error:
        return {
            "refused": {
                "problem": error.problem,
                "hint": error.hint,
                "line": error.text,
                "column": error.column,
                "width": error.width,
            }
        }
    except (ComputationError, UsageError) as error:
        return {"refused": {"message": str(error)}}


NUMBERS = {"value", "say", "local", "upstream", "product", "before", "after", "seed", "title"}
PARENTHESES = ({"t": "op", "text": "("}, {"t": "op", "text": ")"})


def without_numbers(thing: Any) -> Any:
    """A document without what depends on the last places of its numbers: values, sentences, and the
    parentheses around negative numbers."""
    if isinstance(thing, dict):
        return {k: without_numbers(value) for k, value in thing.items() if k not in NUMBERS}
    if isinstance(thing, list):
        return [without_numbers(one) for one in thing if one not in PARENTHESES]
    return thing


def structure(trace: dict[str, Any]) -> Any:
    """What two Traces must have in common to the letter. What is freed at one step is a set: its
    order is that in which Python's interpreter drops variables."""
    bare = without_numbers(trace)
    for step in bare["steps"]:
        step["writes"] = [write[:2] for write in step["writes"]]
        if "free" in step:
            step["free"] = sorted(step["free"])
    return bare


def differences(case: dict[str, Any], answer: dict[str, Any]) -> str | None:
    """How the page's answer differs from minigrad's; None where it does not."""
    wanted = by_minigrad(case)
    if "crash" in answer:
        return f"the engine failed: {answer['crash']}"
    if ("trace" in wanted) != ("trace" in answer):
        return f"one refuses: {str(wanted)[:300]} and {str(answer)[:300]}"
    if "trace" not in wanted:
        told, said = wanted["refused"], answer["refused"]
        if "problem" in told:
            return None if told == said else f"the words differ: {told} and {said}"
        return None
    ours, theirs = structure(wanted["trace"]), structure(answer["trace"])
    if not_finite(ours) != not_finite(theirs):
        return EDGE
    if ours != theirs:
        return f"the structure differs: {first_difference(ours, theirs)}"
    parts = first_divergence(wanted["trace"], answer["trace"], RTOL, ATOL)
    return None if parts is None else parts.say


def not_finite(trace: dict[str, Any]) -> list[str | None]:
    """Which results are NaN or infinite: one that is close to it may differ by its last place."""
    return [step.get("nonfinite", {}).get("kind") for step in trace["steps"]]


def first_difference(a: Any, b: Any, path: str = "") -> str:
    """The first place at which two documents differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(k for k in b if k not in a)]:
            if a.get(key, "absent") != b.get(key, "absent"):
                return first_difference(a.get(key, "absent"), b.get(key, "absent"), f"{path}.{key}")
    if isinstance(a, list) and isinstance(b, list):
        for k in range(max(len(a), len(b))):
            left, right = (one[k] if k < len(one) else "absent" for one in (a, b))
            if left != right:
                return first_difference(left, right, f"{path}[{k}]")
    return f"{path}: {a!r} and {b!r}"


def ulps(a: float, b: float) -> float:
    """By how many units in the last place two numbers differ."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / math.ulp(max(abs(a), abs(b)))
