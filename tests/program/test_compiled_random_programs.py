"""Random programs, eager beside compiled: what can be seen of each call is equal (results, graphs,
gradients, versions, states, errors).

More of them: python -m tests.program.test_compiled_random_programs 3000
"""

import collections
import random
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.nn import functional as F

CAPTURED = ("w", "v", "b", "part")
EXPRESSIONS = (
    "{a} * {b}", "{a} + 0.5 * {b}", "{a}.sin()", "{a}.tanh() * {b}", "({a} * 0.5).exp()",
    "{a}[[3, 1, 1, 0]]", "{a}.flip(0)",
    "mg.cat([{a}[:2], {b}[2:]])", "({a}.reshape(2, 2) @ {b}.reshape(2, 2)).reshape(4)",
    "F.dropout({a}, 0.5, True)", "drop({a})",
    "mg.checkpoint(lambda z: F.dropout(z.tanh() * w, 0.5, True), {a})",
    "norm({a}.reshape(2, 2)).reshape(4)", "{a}.detach()",
    "{a}.clone()", "mg.rand(4) * {a}", "{a}.clamp(-1, 1)", "{a}.sum() * {b}", "{a}.view(4)",
    "linear({a}.reshape(1, 4)).reshape(4)",
    "{a}.sigmoid()", "mg.where({a}.detach() > 0, {a}, {b})", "factor * {a}",
)  # fmt: skip
IN_PLACE = (
    "{t}.mul_(0.5)", "{t}.add_({b})", "{t}[1:3] = {b}[:2]", "{t}[1:3].mul_(0.5)",
    "b.copy_({a}.detach())", "part.add_(0.25)", "b.mul_(0.5)",
    "x.mul_(0.5)", "y[:2].add_(1)", "x.copy_(x)", "{t} = {t}.sin_()",
)  # fmt: skip
PASSES = (
    "({a} * {b}).sum().backward()", "w.grad = None", "opt.zero_grad()", "opt.step()",
    "opt.zero_grad(set_to_none=False)",
    "{t} = mg.autograd.grad(({a} * w).sum(), [w], create_graph=True)[0]",
    "v.grad = {a}.detach() * 1",
    "optim.clip_grad_norm_([w, v], 0.5)", "({a} * w).sum().backward(retain_graph=True)",
)  # fmt: skip
RESULTS = (
    "{a}",
    "{a}",
    "{a}",
    "{a}[1:]",
    "{a}.detach()",
    "x",
    "b",
    "part",
    "w",
    "w.grad",
    "y[:2]",
    "{a}.reshape(2, 2)",
    "1.5",
    "b.view(2, 2)",
)


def source_of(rng: random.Random) -> str:
    """The text of a function of x and y."""
    names, lines = ["x", "y", "w", "v", "b"], ["def step(x, y):"]

    def line(indent: str, depth: int = 0) -> None:
        pick = {"a": rng.choice(names), "b": rng.choice(names), "t": rng.choice(names[5:] or ["x"])}
        kind = rng.random()
        if kind < 0.55:
            name = f"t{len(names)}"
            lines.append(f"{indent}{name} = {rng.choice(EXPRESSIONS).format(**pick)}")
            if not depth:
                names.append(name)
        elif kind < 0.75:
            lines.append(indent + rng.choice(IN_PLACE).format(**pick))
        elif kind < 0.9 or depth:
            lines.append(indent + rng.choice(PASSES).format(**pick))
        else:
            lines.append(f"{indent}with mg.{rng.choice(['no_grad', 'enable_grad'])}():")
            for _ in range(rng.randint(1, 2)):
                line(indent + "    ", depth + 1)

    for _ in range(rng.randint(2, 7)):
        line("    ")
    results = [
        rng.choice(RESULTS).format(a=rng.choice(names[-3:])) for _ in range(rng.randint(1, 3))
    ]
    lines.append(f"    return {results[0] if len(results) == 1 else ', '.join(results)}")
    return "\n".join(lines) + "\n"


class Side:
    """One of the two worlds: what the function finds outside, and the function."""

    def __init__(self, source: str, seed: int, compiled: bool) -> None:
        rng = np.random.default_rng(seed)
        values = [mg.tensor(rng.standard_normal(4).astype("float32")) for _ in range(3)]
        w, v, b = values
        w.requires_grad_(), v.requires_grad_()
        mg.manual_seed(seed)
        linear, norm, drop = nn.Linear(4, 4), nn.BatchNorm1d(2), nn.Dropout(0.25)
        rule = [
            lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
            lambda p: optim.Adam(p, lr=0.05),
            lambda p: optim.SGD(p, lr=0.1),
        ][seed % 3]
        self.opt = rule([w, v, *linear.parameters()])
        self.space: dict[str, Any] = {
            "mg": mg, "F": F, "optim": optim, "w": w, "v": v, "b": b, "part": b[1:3],
            "linear": linear, "norm": norm, "drop": drop,
            "opt": self.opt, "factor": 1.5,
        }  # fmt: skip
        exec(compile(source, f"<random program {seed}>", "exec"), self.space)
        self.step = mg.compile(self.space["step"]) if compiled else self.space["step"]
        self.schedule = optim.lr_scheduler.ExponentialLR(self.opt, 0.9)
        self.saved = self.opt.state_dict()
        mg.manual_seed(seed + 1)
        self.random = mg.functions.random_state()

    def arguments(self, kind: str, values: np.ndarray) -> tuple[Any, Any]:
        """x and y, apart or in one piece of memory."""
        base, w, b = mg.tensor(values), self.space["w"], self.space["b"]
        x, y = base[:4].clone(), base[4:8].clone()
        return {
            "apart": (x, y), "one": (x, x), "overlap": (base[:4], base[2:6]), "outside": (b, y),
            "a view of outside": (x, b.view(4)),
            "detached": (x, x.detach()), "a parameter's": (w.detach(), y),
            "reversed": (base.flip(0)[:4], base[1::2][:4]),
            "a leaf": (w, y), "a graph": (w * 2, y),
        }[kind]  # fmt: skip

    def change(self, what: str) -> None:
        """A change that is made between two calls."""
        space = self.space
        if what == "freeze":
            space["w"].requires_grad_(not space["w"].requires_grad)
        elif what == "clear":
            self.opt.state.clear()
        elif what == "load":
            self.opt.load_state_dict(self.saved)
        elif what == "save":
            self.saved = self.opt.state_dict()
        elif what == "schedule":
            self.schedule.step()
        elif what == "eval":
            (
                space["drop"].train(not space["drop"].training),
                space["norm"].train(not space["norm"].training),
            )
        elif what == "number":
            space["factor"] += 1.0
        elif what == "data":
            space["v"].data = space["v"].data * 0.5
        elif what == "gradient":
            space["w"].grad = None

    def call(self, kind: str, values: np.ndarray, after: str, inject: Any, grad: bool) -> Any:
        """Everything that can be seen of one call."""
        mg.functions.set_random_state(self.random)
        x, y = self.arguments(kind, values)
        w = self.space["w"]
        waits = [(x * w).sum(), (self.space["b"] * w).sum()] if w.requires_grad else []
        shown: list[Any] = []
        results: list[Any] = []
        try:
            with mg.set_grad_enabled(grad), inject:
                found = self.step(x, y)
            results = [
                r
                for r in (found if isinstance(found, tuple) else (found,))
                if isinstance(r, mg.Tensor)
            ]
        except (Exception, KeyboardInterrupt) as error:
            shown.append(type(error).__name__)
        shown.append(self.seen(x, y, results))
        try:
            self.use(results, after)
        except Exception as error:
            shown.append(type(error).__name__)
        for wait in waits:
            try:
                wait.backward()
            except mg.AutogradError as error:
                shown.append(type(error).__name__)
        shown.append(self.seen(x, y, results))
        self.random = mg.functions.random_state()
        return shown

    def use(self, results: list[Any], how: str) -> None:
        """What a caller does with results."""
        graph = [r for r in results if r.requires_grad and r.grad_fn is not None]
        w = self.space["w"]
        if how == "backward" and graph:
            sum((r * r).sum() for r in graph).backward()
        elif how == "one" and graph:
            graph[-1].sum().backward()
        elif how == "twice" and graph:
            graph[0].sum().backward(retain_graph=True)
            sum(r.sum() for r in graph).backward()
        elif how == "second" and graph and w.requires_grad:
            (g,) = mg.autograd.grad(
                (graph[0] ** 2).sum(), [w], create_graph=True, allow_unused=True
            )
            if g is not None and g.requires_grad:
                (g * g).sum().backward()
        elif how == "one after the other":
            for r in graph:
                r.sum().backward()
        elif how == "one after the other, with steps" and graph:
            for r in graph:
                (r * r.detach()).sum().backward()
                with mg.no_grad():
                    w.mul_(0.5), self.space["b"].add_(0.25)
        elif how == "step, then second" and graph:
            with mg.no_grad():
                self.space["v"].mul_(0.5)
            (g,) = mg.autograd.grad(graph[-1].sum(), [w], create_graph=True, allow_unused=True)
            if g is not None and g.requires_grad:
                (g * g).sum().backward()
        elif how == "write" and results:
            with mg.no_grad():
                results[0].mul_(0.5)
            if graph:
                graph[-1].sum().backward()
        elif how == "write with a graph" and graph:
            graph[0].mul_(0.5)
            sum(r.sum() for r in graph).backward()

    def seen(self, x: Any, y: Any, results: list[Any]) -> Any:
        """Values, flags, versions, who is whom, who shares memory."""
        space = self.space
        outside = [space[name] for name in CAPTURED] + list(space["linear"].parameters())
        named = [x, y, *outside]
        gradients = [t.grad for t in outside]
        state = [[np.copy(v) for _, v in sorted(s.items())] for s in self.opt.state.values()]
        every = [*named, *results]
        arrays = [np.asarray(t.array) for t in every]
        memory = [[np.shares_memory(a, b) for b in arrays[: i + 1]] for i, a in enumerate(arrays)]
        identity = [[r is t for t in (*every, *gradients)] for r in results]
        facts = [(t.shape, str(t.dtype), *_flags(t), t._version) for t in every]
        norm = [space["norm"].running_mean, space["norm"].running_var]
        values = [t.detach().numpy().copy() for t in (*every, *norm)] + [
            None if g is None else g.detach().numpy().copy() for g in gradients
        ]
        return (
            facts,
            identity,
            memory,
            values,
            state,
            [g is not None and g.requires_grad for g in gradients],
            str(mg.functions.random_state()),
        )


def _flags(tensor: Any) -> tuple[Any, ...]:
    try:
        return tensor.requires_grad, tensor.is_leaf
    except mg.AutogradError as error:
        return (type(error).__name__,)


def equal(a: Any, b: Any) -> bool:
    """Numbers but for rounding, all else exactly."""
    kind = type(a)
    if kind is list or kind is tuple:
        return type(b) in (list, tuple) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray | np.generic | float):
        if not isinstance(b, np.ndarray | np.generic | float) or np.shape(a) != np.shape(b):
            return False
        if isinstance(a, np.ndarray) and a.tobytes() == b.tobytes():  # the usual case
            return True
        return bool(np.allclose(a, b, rtol=2e-4, atol=1e-5, equal_nan=True))
    return not isinstance(b, np.ndarray) and bool(a == b)


class Injected:
    """Raise `error` at line number `at`, of those in files named like `where`, of what runs inside.
    raised: whether it was."""

    def __init__(
        self,
        at: int | None = None,
        error: type[BaseException] = KeyboardInterrupt,
        where: str = "<random program",
    ) -> None:
        self.at, self.error, self.where, self.lines, self.raised = at, error, where, 0, False

    def __enter__(self) -> None:
        self.before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def _trace(self, frame: Any, event: str, _: Any) -> Any:
        if self.where not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at and not self.raised:
                self.raised = True
                raise self.error
        return self._trace


AFTER = (
    "nothing", "backward", "one", "twice", "second", "write", "write with a graph",
    "one after the other", "one after the other, with steps", "step, then second",
)  # fmt: skip
BETWEEN = (
    "freeze",
    "clear",
    "load",
    "save",
    "schedule",
    "eval",
    "number",
    "data",
    "gradient",
    "nothing",
    "nothing",
    "nothing",
    "nothing",
    "nothing",
)
KINDS = (
    "one",
    "overlap",
    "outside",
    "a view of outside",
    "detached",
    "a parameter's",
    "reversed",
    "a leaf",
    "a graph",
)


def difference(seed: int, injections: bool = False, tally: Any = None) -> str | None:
    """Run random program number `seed` on both sides; the first difference in words."""
    rng, values = random.Random(seed), np.random.default_rng(seed)
    source = source_of(rng)
    eager, compiled = Side(source, seed, False), Side(source, seed, True)
    after, changes = rng.choice(AFTER), rng.random() < 0.5
    for call in range(8):
        kind = rng.choice(KINDS) if rng.random() < 0.2 else "apart"
        grad = rng.random() < 0.9
        if changes and call and rng.random() < 0.4:
            what = rng.choice(BETWEEN)
            eager.change(what), compiled.change(what)
        at = rng.randint(1, 9) if injections and call < 5 and rng.random() < 0.7 else None
        error = rng.choice([KeyboardInterrupt, ValueError])
        data = values.standard_normal(12).astype("float32")
        how = after if rng.random() < 0.7 else rng.choice(AFTER)
        if call < 5:
            how = after
        probe, injected = Injected(), Injected(at, error)
        # the plain side first, to know how many lines there are; where a replay runs none of them,
        # nothing is raised there
        replays = compiled.step.statistics["replayed"]
        got = compiled.call(kind, data, how, injected, grad) if at is None else None
        if at is not None:
            variant_lines = _lines(source)
            at = min(at, variant_lines)
            injected = Injected(at, error)
            got = compiled.call(kind, data, how, injected, grad)
        probe = Injected(at if injected.raised else None, error)
        wanted = eager.call(kind, data, how, probe, grad)
        if injected.raised and not probe.raised:
            # it was raised in the second run: the call itself was complete (its result is lost)
            continue
        if tally is not None:
            tally["replayed" if compiled.step.statistics["replayed"] > replays else "other"] += 1
            tally["raised"] += injected.raised
        if not equal(got, wanted):
            parts = [
                i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if not equal(a, b)
            ]
            inner = [
                j
                for i in parts[:1]
                if isinstance(got[i], tuple)
                for j, (a, b) in enumerate(zip(got[i], wanted[i], strict=False))
                if not equal(a, b)
            ]
            return (
                f"program {seed}, call {call} ({kind}, grad {grad}, then {how}), differs in {parts}"
                f" {inner}; {compiled.step!r}\n{source}"
            )
    return None


def _lines(source: str) -> int:
    return source.count("\n") - 1


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("block", range(5))
def test_compiled_random_programs_agree_with_plain_calls(block: int) -> None:
    """Forty programs, eight calls each."""
    for seed in range(block * 40, block * 40 + 40):
        assert (found := difference(seed, injections=seed % 3 == 0)) is None, found


@pytest.mark.whole
@pytest.mark.parametrize("block", range(6))
def test_hundreds_of_compiled_random_programs_agree_with_plain_calls(block: int) -> None:
    """900 of them, 150 in each block."""
    for seed in range(1000 + block * 150, 1000 + block * 150 + 150):
        assert (found := difference(seed, injections=seed % 2 == 0)) is None, found


def main() -> None:
    """As many programs as the command says, of other seeds, and what became of their calls."""
    count = int(sys.argv[1])
    tally: Any = collections.Counter()
    warnings.simplefilter("ignore")
    for seed in range(20_000, 20_000 + count):
        found = difference(seed, injections=seed % 2 == 0, tally=tally)
        if found is not None:
            tally["different"] += 1
            print(found)
    print(f"{count} programs, {tally['different']} different; calls: {dict(tally)}")


if __name__ == "__main__":
    main()
