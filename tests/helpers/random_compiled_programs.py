"""Random programs that run eagerly and compiled side by side: the text of a function, what it finds
outside, how it is called, and everything that can be seen of each call.
"""

import functools
import io
import random
import sys
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn, optim
from minigrad.nn import functional as F

DEFAULT = 198
"""How many programs the default run has."""
CAPTURED = ("w", "v", "b", "part")
EXPRESSIONS = (
    "{a} * {b}", "{a} + 0.5 * {b}", "{a}.sin()", "{a}.tanh() * {b}", "({a} * 0.5).exp()",
    "{a}[[3, 1, 1, 0]]", "{a}.flip(0)", "mg.cat([{a}[:2], {b}[2:]])",
    "({a}.reshape(2, 2) @ {b}.reshape(2, 2)).reshape(4)", "{a}.view(2, 2).t().reshape(4)",
    "F.dropout({a}, 0.5, True)", "drop({a})", "{a}.split(2)[1].repeat(2)",
    "mg.checkpoint(lambda z: F.dropout(z.tanh() * w, 0.5, True), {a})",
    "mg.checkpoint(block, {a})", "Square.apply({a})", "{a}.expand(2, 4).sum(0)",
    "norm({a}.reshape(2, 2)).reshape(4)", "{a}.detach()", "{a}.double().cumsum(0).float()",
    "{a}.clone()", "mg.rand(4) * {a}", "{a}.clamp(-1, 1)", "{a}.sum() * {b}", "{a}.view(4)",
    "linear({a}.reshape(1, 4)).reshape(4)", "{a}.sigmoid()", "{a}.view(2, 2)[:, 0].repeat(2)",
    "mg.where({a}.detach() > 0, {a}, {b})", "factor * {a}",
    "F.dropout({a}, 0.5, True) * mg.ones(3)[(x.detach()[0] > 1).long() * 5]", "{a} * cached()",
    "{a}[{a}.detach() > 0].sum() * {b}", "{b} * mg.nonzero({a}.detach() > 0).shape[0]",
    "{b} * (2 if type({a}.array) is np.ndarray else 3)",
    "({a}.detach().half() * 3e-7).float() * {b}",
    "({a}.detach().to(mg.bfloat16) * {b}.detach().sum() / 0.3).float() + {b}",
    "mg.sign({a}) * ({a} / 0.0).clamp(-1, 1)", "{a}.unfold(0, 2, 2).reshape(4)",
    "{a}.unfold(0, 2, 1).sum(1).repeat(2)[:4] + {b}",
    "func.grad(lambda z: (z * w).sin().sum())({a})",
    "func.vmap(lambda p, q: p * q.sin())({a}, {b})",
    "func.grad(lambda z: (z * {b}).tanh().sum())({a}.detach())",
    "func.grad(lambda z: func.grad(lambda u: (u ** 3 * {b}).sum())(z).sum())({a})",
    "func.jvp(lambda z: z.sin() * w, ({a},), ({b},))[1]",
    "func.vjp(lambda z: z * w.tanh(), {a})[1]({b})[0]",
    "func.hessian(lambda z: (z.sin() * {b}).sum())({a}).sum(0)",
    "func.vmap(func.grad(lambda z: z * z.sin()))({a}) * w",
    "func.jacrev(lambda z: z.view(2, 2).sum(1) * v[:2])({a}).sum(0)",
    "func.grad(lambda p: func.functional_call(linear, p, {a}.view(1, 4)).sum())(extra)['bias']",
    "func.vmap(lambda z: F.dropout(z, 0.5, True), randomness='different')({a}.view(2, 2)).view(4)",
)  # fmt: skip
IN_PLACE = (
    "{t}.mul_(0.5)", "{t}.add_({b})", "{t}[1:3] = {b}[:2]", "{t}[1:3].mul_(0.5)",
    "b.copy_({a}.detach())", "part.add_(0.25)", "b.mul_(0.5)", "{t}.view(2, 2).t()[0].mul_(0.5)",
    "x.mul_(0.5)", "y[:2].add_(1)", "x.copy_(x)", "{t} = {t}.sin_()", "{t}.zero_()",
    "F.relu({t}, inplace=True)", "part.copy_({a}.detach()[::2])", "w.data.mul_(0.9)",
    "{t}[{t}.detach() > 0] = 0.5", "cached().mul_(0.5)", "b.copy_({a})",
)  # fmt: skip
PASSES = (
    "({a} * {b}).sum().backward()", "w.grad = None", "opt.zero_grad()", "opt.step()",
    "opt.zero_grad(set_to_none=False)", "opt.step()",
    "{t} = mg.autograd.grad(({a} * w).sum(), [w], create_graph=True)[0]",
    "v.grad = {a}.detach() * 1", "v.requires_grad_(False)", "v.requires_grad_(True)",
    "optim.clip_grad_norm_([w, v], 0.5)", "({a} * w).sum().backward(retain_graph=True)",
    "schedule.step()", "opt.state.clear()", "opt.load_state_dict(early)", "drop.eval()",
    "({a} ** 2).sum().backward(inputs=[w])", "mg.set_grad_enabled(False)", "b.detach_()",
    "mg.checkpoint(lambda z: F.dropout(z * w, 0.5, True), {a}).sum().backward()",
    "w.grad is None or w.grad.mul_({a})", "({a} * x).sum().backward()", "x.grad = None",
    "x.requires_grad_()", "y.requires_grad = True", "x.requires_grad_(False)",
    "{t} = mg.autograd.grad((y.requires_grad_() * {a}).sum(), [y])[0]",
)  # fmt: skip
BLOCKS = (
    "with mg.no_grad():", "with mg.enable_grad():", "with mg.no_grad():", "with mg.enable_grad():",
    "with mg.set_grad_enabled(w.requires_grad):", "with mg.inference_mode():",
    "if {a}.sum() > 0:", "if w.grad is not None:", "for _ in range(2):", "if x is b:",
)  # fmt: skip
RESULTS = (
    "{a}", "{a}", "{a}", "{a}[1:]", "{a}.detach()", "x", "b", "part", "w", "w.grad", "y[:2]",
    "x.grad", "{a}.reshape(2, 2)", "1.5", "b.view(2, 2)", "{a}.view(2, 2).t()",
)  # fmt: skip
BATCHED = ("vmap", "hessian", "jacrev")
REFUSED = frozenset(
    ("{a} * cached()", "cached().mul_(0.5)", "{a}[{a}.detach() > 0].sum() * {b}",
    "{b} * mg.nonzero({a}.detach() > 0).shape[0]", "mg.set_grad_enabled(False)", "b.copy_({a})",
    "if {a}.sum() > 0:", "schedule.step()", "opt.state.clear()",
    "{b} * (2 if type({a}.array) is np.ndarray else 3)",
    *(line for line in EXPRESSIONS if any(f"func.{n}(" in line for n in BATCHED))),
)  # fmt: skip
"""What is never replayed, chosen less often than the others."""
AFTER = (
    "nothing", "backward", "one", "twice", "second", "write", "write with a graph",
    "one after the other", "one after the other, with steps", "step, then second", "hook",
    "between",
)  # fmt: skip
BETWEEN = (
    "freeze", "clear", "load", "save", "schedule", "eval", "number", "data", "gradient", "weights",
    "rate", "hook", "exchange", "decay", "cached", "files", *["nothing"] * 7,
)  # fmt: skip
SHARED = {
    "one": lambda base, w, b: (base[:4],) * 2,
    "two of one memory": lambda base, w, b: (base[:4], base[:4]),
    "overlap": lambda base, w, b: (base[:4], base[2:6]),
    "beside": lambda base, w, b: (base[:4], base[4:8]),
    "interleaved": lambda base, w, b: (base[0:8:2], base[1:8:2]),
    "crossed": lambda base, w, b: (base[0:8:2], base[:4]),
    "reversed": lambda base, w, b: (base.flip(0)[:4], base[1::2][:4]),
    "columns": lambda base, w, b: (base[:8].view(4, 2)[:, 0], base[:8].view(4, 2)[:, 1]),
    "stretched": lambda base, w, b: (base[:1].expand(4), base[4:8]),
    "outside": lambda base, w, b: (b, base[4:8]),
    "a view of outside": lambda base, w, b: (base[:4], b.view(4)),
    "outside twice": lambda base, w, b: (b, b.view(4)),
    "detached": lambda base, w, b: (lambda x: (x, x.detach()))(base[:4]),
    "a parameter's": lambda base, w, b: (w.detach(), base[4:8]),
    "a new leaf": lambda base, w, b: (leaf(base[:4]), base[4:8]),
    "two new leaves": lambda base, w, b: (leaf(base[:4]), leaf(base[4:8])),
    "a new leaf twice": lambda base, w, b: (leaf(base[:4]),) * 2,
    "a new leaf and its alias": lambda base, w, b: (lambda x: (x, x.detach()))(leaf(base[:4])),
    "a new leaf with a gradient": lambda base, w, b: (leaf(base[:4], base[:4]), base[4:8]),
    "a leaf": lambda base, w, b: (w, base[4:8]),
    "a graph": lambda base, w, b: (w * 2, base[4:8]),
    "a graph and its view": lambda base, w, b: (lambda x: (x, x.view(4)))(w * 2),
}
"""How the memory of two arguments lies, apart from "apart": of 12 new numbers, w and b."""


def leaf(values: Any, gradient: Any = None) -> Any:
    """A new leaf with memory of its own, which has a gradient already."""
    made = values.clone().requires_grad_()
    made.grad = None if gradient is None else gradient.clone()
    return made


def source_of(rng: random.Random) -> str:
    """The text of a function of x and y."""
    names, lines = ["x", "y", "w", "v", "b"], ["def step(x, y):"]

    def drawn(table: tuple[str, ...]) -> str:
        line = rng.choice(table)
        return rng.choice(table) if line in REFUSED and rng.random() < 0.6 else line

    def line(depth: int = 0) -> None:
        indent = "    " * (depth + 1)
        pick = {"a": rng.choice(names), "b": rng.choice(names), "t": rng.choice(names[5:] or ["x"])}
        kind = rng.random()
        if kind < 0.55:
            name = f"t{len(names)}"
            lines.append(f"{indent}{name} = {drawn(EXPRESSIONS).format(**pick)}")
            if not depth:
                names.append(name)
        elif kind < 0.75:
            lines.append(indent + drawn(IN_PLACE).format(**pick))
        elif kind < 0.9 or depth > 1:
            lines.append(indent + drawn(PASSES).format(**pick))
        else:
            lines.append(indent + drawn(BLOCKS).format(**pick))
            for _ in range(rng.randint(1, 2)):
                line(depth + 1)

    for _ in range(rng.randint(2, 7)):
        line()
    results = [
        rng.choice(RESULTS).format(a=rng.choice(names[-3:])) for _ in range(rng.randint(1, 3))
    ]
    lines.append(f"    return {results[0] if len(results) == 1 else ', '.join(results)}")
    return "\n".join(lines) + "\n"


SCHEDULES: tuple[Any, ...] = (
    lambda opt: optim.lr_scheduler.ExponentialLR(opt, 0.9),
    lambda opt: optim.lr_scheduler.StepLR(opt, 2, 0.5),
    lambda opt: optim.lr_scheduler.CosineAnnealingLR(opt, 5),
    lambda opt: optim.lr_scheduler.LambdaLR(opt, lambda n: 1 / (n + 1)),
    lambda opt: optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=50),
    lambda opt: optim.lr_scheduler.SequentialLR(
        opt,
        [optim.lr_scheduler.ConstantLR(opt, 0.5), optim.lr_scheduler.MultiStepLR(opt, [1, 2])],
        [2],
    ),
)


class Square(mg.autograd.Function):
    """x², with a rule of the user's."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


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
        opt = self.opt = rule([w, v, *linear.parameters()])
        self.schedule = SCHEDULES[seed % len(SCHEDULES)](opt)
        self.saved = opt.state_dict()
        self.weights = {k: p * 0.5 for k, p in linear.state_dict().items()}
        self.space: dict[str, Any] = {
            "mg": mg, "np": np, "F": F, "optim": optim, "w": w, "v": v, "b": b, "part": b[1:3],
            "func": mg.func, "linear": linear, "norm": norm, "drop": drop, "Square": Square,
            "block": nn.Sequential(linear, nn.Tanh(), drop),
            "opt": opt, "schedule": self.schedule, "early": self.saved, "factor": 1.5,
            "cached": functools.lru_cache(lambda: mg.arange(4.0)),
        }  # fmt: skip
        self.space["extra"] = {k: p * 2 for k, p in linear.state_dict().items()}
        exec(compile(source, f"<random program {seed}>", "exec"), self.space)
        self.step = mg.compile(self.space["step"]) if compiled else self.space["step"]
        mg.manual_seed(seed + 1)
        self.random = mg.functions.random_state()

    def arguments(self, kind: str, values: np.ndarray) -> tuple[Any, Any]:
        """x and y, apart or in one piece of memory."""
        if kind == "apart":
            return mg.tensor(values[:4]), mg.tensor(values[4:8])
        return SHARED[kind](mg.tensor(values), self.space["w"], self.space["b"])

    def change(self, what: str) -> None:
        """A change that is made between two calls."""
        space = self.space
        linear, w = space["linear"], space["w"]
        if what == "freeze":
            w.requires_grad_(not w.requires_grad)
        elif what == "clear":
            self.opt.state.clear()
        elif what == "load":
            self.opt.load_state_dict(self.saved)
        elif what == "save":
            self.saved = self.opt.state_dict()
        elif what == "weights":
            linear.load_state_dict(self.weights)
        elif what == "schedule":
            self.schedule.step()
        elif what == "files":
            for thing in (linear, space["norm"], self.opt, self.schedule):
                file = io.BytesIO()
                mg.save(thing.state_dict(), file)
                file.seek(0)
                thing.load_state_dict(mg.load(file))
        elif what == "rate":
            self.opt.param_groups[0]["lr"] *= 0.5
        elif what == "decay":
            self.opt.param_groups[0]["weight_decay"] += 0.5
        elif what == "cached":
            space["cached"]().mul_(0.5)
        elif what == "eval":
            for layer in (space["drop"], space["norm"]):
                layer.train(not layer.training)
        elif what == "number":
            space["factor"] += 1.0
        elif what == "data":
            space["v"].data = space["v"].data * 0.5
        elif what == "gradient":
            w.grad = None
        elif what == "hook" and w.requires_grad:
            w.register_hook(lambda g: g * 2)
        elif what == "exchange":
            linear.bias = nn.Parameter(linear.bias.detach() + 1)

    def call(
        self, kind: str, values: np.ndarray, after: str, inject: "Injected", grad: bool,
        lost: bool = False,
    ) -> Any:  # fmt: skip
        """Everything that can be seen of one call.

        lost: the results do not reach the caller: an interrupt comes when the call is complete, if
        none came before.
        """
        mg.functions.set_random_state(self.random)
        x, y = self.arguments(kind, values)
        w, b = self.space["w"], self.space["b"]
        waits = [(x * w).sum(), (b * w).sum()] if w.requires_grad else []
        shown: list[Any] = []
        results: list[Any] = []
        states = dict(self.opt.state)
        try:
            with mg.set_grad_enabled(grad), inject:
                try:
                    found = self.step(x, y)
                finally:
                    shown.append(mg.is_grad_enabled())
                if lost and not inject.raised:
                    raise KeyboardInterrupt("injected")
            found = found if isinstance(found, tuple) else (found,)
            results = [r for r in found if isinstance(r, mg.Tensor)]
        except (Exception, KeyboardInterrupt) as error:
            shown.append(repr(error))
        shown.append([self.opt.state.get(key) is entries for key, entries in states.items()])
        shown.append(self.seen(x, y, results))
        try:
            shown.append(self.use(results, after))
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

    def use(self, results: list[Any], how: str) -> Any:
        """What a caller does with results; the gradients that it gets."""
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
            self._second((graph[0] ** 2).sum())
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
            self._second(graph[-1].sum())
        elif how == "hook" and graph:
            for r in graph[:2]:
                r.register_hook(lambda g: g * 2), r.retain_grad()
            graph[-1].sum().backward()
            return [None if r.grad is None else _content(r.grad.array) for r in graph]
        elif how == "between" and graph:
            found = mg.autograd.grad(graph[-1].sum(), graph, allow_unused=True, retain_graph=True)
            graph[0].sum().backward()
            return [None if g is None else _content(g.array) for g in found]
        elif how == "write" and results:
            with mg.no_grad():
                results[0].mul_(0.5)
            if graph:
                graph[-1].sum().backward()
        elif how == "write with a graph" and graph:
            graph[0].mul_(0.5)
            sum(r.sum() for r in graph).backward()
        return None

    def _second(self, value: Any) -> None:
        w = self.space["w"]
        (g,) = mg.autograd.grad(value, [w], create_graph=True, allow_unused=True)
        if g is not None and g.requires_grad:
            (g * g).sum().backward()

    def seen(self, x: Any, y: Any, results: list[Any]) -> Any:
        """Values, flags, versions, who is whom, who shares memory."""
        space, norm = self.space, self.space["norm"]
        outside = [space[name] for name in CAPTURED] + list(space["linear"].parameters())
        gradients = [t.grad for t in (x, y, *outside)]
        every = [x, y, *outside, *results]
        facts = [(*_flags(t), t._version) for t in every]
        arrays = [np.asarray(t.array) for t in every]
        low = [np.lib.array_utils.byte_bounds(a) for a in arrays]
        memory = [
            [i < j and a[0] < b[1] and b[0] < a[1] for i, a in enumerate(low)]
            for j, b in enumerate(low)
        ]
        identity = [[r is t for t in (*every, *gradients)] for r in results]
        values = [*arrays, *[np.asarray(t.array) for t in (norm.running_mean, norm.running_var)]]
        values += [v for s in self.opt.state.values() for _, v in sorted(s.items())]
        values += [None if g is None else g.array for g in gradients]
        return (
            facts,
            identity,
            memory,
            [g is not None and g.requires_grad for g in gradients],
            [(g["lr"]) for g in self.opt.param_groups],
            repr(mg.functions.random_state()),
            [v if v is None else _content(v) for v in values],
        )


def _content(value: Any) -> tuple[Any, ...]:
    array = np.asarray(value)
    return array.dtype.char, array.shape, array.tobytes()


def _flags(tensor: Any) -> tuple[Any, ...]:
    try:
        return tensor.requires_grad, tensor.is_leaf
    except mg.AutogradError as error:
        return (type(error).__name__,)


def equal(a: Any, b: Any) -> bool:
    """Numbers but for rounding, all else exactly."""
    if a == b:
        return True
    if not isinstance(a, list | tuple) or type(a) is not type(b) or len(a) != len(b):
        return False
    if len(a) == 3 and isinstance(a[2], bytes) and isinstance(b[2], bytes):
        numbers = [np.frombuffer(n[2], n[0]) for n in (a, b)]
        return a[:2] == b[:2] and np.allclose(*numbers, rtol=2e-4, atol=1e-5, equal_nan=True)
    return all(map(equal, a, b))


class Injected:
    """Raise `error` at line number `at` of the random program that runs inside (None: at none).
    raised: whether it was."""

    def __init__(self, at: int | None = None, error: type[BaseException] = ValueError) -> None:
        self.at, self.error, self.lines, self.raised = at, error, 0, False

    def __enter__(self) -> None:
        if self.at is not None:
            self.before = sys.gettrace()
            sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        if self.at is not None:
            sys.settrace(self.before)

    def _trace(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith("<random program"):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at and not self.raised:
                self.raised = True
                raise self.error("injected")
        return self._trace


def difference(seed: int, injections: bool = False, tally: Any = None) -> str | None:
    """Run random program number `seed` on both sides; the first difference in words."""
    rng, values = random.Random(seed), np.random.default_rng(seed)
    source = source_of(rng)
    eager, compiled = Side(source, seed, False), Side(source, seed, True)
    after, changes = rng.choice(AFTER), rng.random() < 0.5
    routine = "gradient" if rng.random() < 0.15 else "nothing"
    lines = source.count("\n") - 1
    usual = rng.choice([*SHARED]) if rng.random() < 0.15 else "apart"
    for call in range(10):
        # with injections anything may change from the start, else when a program is there
        early = 0 if injections else 4
        kind = usual
        if call >= early and rng.random() < 0.25:
            kind = rng.choice([*SHARED]) if usual == "apart" else "apart"
        grad = call < early or rng.random() < 0.9
        changed = changes and call > early - 1 and rng.random() < 0.5
        what = rng.choice(BETWEEN) if changed and call else routine
        eager.change(what), compiled.change(what)
        error = rng.choice([KeyboardInterrupt, ValueError])
        at = None
        if injections and call < 5 and rng.random() < 0.7:  # a later line is one of the second run
            at = rng.randint(1, lines if rng.random() < 0.75 else 2 * lines)
        data = values.standard_normal(12).astype("float32")
        how = after if call < 3 or rng.random() < 0.5 else rng.choice(AFTER)
        counts = dict(compiled.step.statistics)
        injected = Injected(at, error)
        got = compiled.call(kind, data, how, injected, grad)
        # A replay runs no line of the program; an error in the second run is not the call's own,
        # an interrupt there comes after a complete call.
        probe = Injected(at if injected.raised else None, error)
        lost = injected.raised and error is KeyboardInterrupt
        wanted = eager.call(kind, data, how, probe, grad, lost)
        if tally is not None:
            tally[next(k for k, n in compiled.step.statistics.items() if n > counts[k])] += 1
            tally["raised"] += probe.raised
            tally["raised in the second run"] += injected.raised and not probe.raised
        if not equal(got, wanted):
            places = [
                (i, *(j for j, pair in enumerate(zip(a, b, strict=False)) if not equal(*pair)))
                for i, (a, b) in enumerate(zip(got, wanted, strict=False))
                if not equal(a, b)
                for a, b in [[v if isinstance(v, list | tuple) else [v] for v in (a, b)]]
            ]
            return (
                f"program {seed}, call {call} ({kind}, grad {grad}, then {how}, after {what}, line"
                f" {at}), differs in {places}; {compiled.step!r}\n{source}"
            )
    return None
