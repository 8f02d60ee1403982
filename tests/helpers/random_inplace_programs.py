"""Random programs with views and in-place operations, as plain data, and three machines that run
them: PyTorch, minigrad and a naive one.

A program is a list of statements over numbered variables, so that a failing one can be printed,
shrunk statement by statement and kept as a test. The naive machine keeps a value array and a
tangent array for each variable and does to the tangents, alias by alias, what the derivative says;
it knows no graph, no versions and no views but NumPy's own, which is why it can be trusted.

    ("leaf", shape)                  a new tensor that requires grad
    ("const", shape)                 a new tensor that does not
    ("unary", name, a)
    ("binary", name, a, b)
    ("sum", a, axis)
    ("clone", a)
    ("gather", a, index)
    ("view", name, a, args)          a window into a
    ("detach", a)                    shares memory, no history
    ("inplace", name, a, operand)    operand: a variable, a number or None
    ("set", a, index, operand)       a[index] = operand
    ("put", a, index, operand)       a[integer array or mask] = operand
    ("no_grad", on)                  switch recording off or on

Statements that make a tensor append it to the list of variables. A statement that raises does
nothing (and appends None).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import minigrad as mg

Program = list[tuple]
UNARY = ("sin", "tanh", "square", "neg", "relu", "sigmoid")
BINARY = ("add", "add", "sub", "sub", "mul", "maximum")
IN_PLACE_UNARY = ("sin_", "tanh_", "square_", "neg_", "relu_", "sigmoid_", "zero_")
IN_PLACE_BINARY = ("add_", "sub_", "mul_", "copy_", "div_")
IN_PLACE_NUMBER = ("add_", "mul_", "fill_", "pow_", "div_", "clamp_")
OPERATORS = ("+=", "-=", "*=", "/=")


# --------------------------------------------------------------------------------------- generating


def generate(seed: int, length: int = 14) -> Program:
    """A program of about `length` statements; the same seed gives the same program. Shapes are
    followed by running it naively.
    """
    r = np.random.default_rng(seed)
    program: Program = []
    machine = Naive()

    def do(statement: tuple) -> None:
        program.append(statement)
        machine.step(statement, len(program))

    for _ in range(int(r.integers(1, 4))):
        do(("leaf" if r.random() < 0.7 else "const", _shape(r)))
    do(("leaf", _shape(r)))
    while len(program) < length:
        do(_statement(r, machine))
    return program


def _shape(r: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in r.choice([1, 2, 3, 3], size=r.choice([0, 1, 1, 2, 2, 3])))


# Long: a case for each kind of statement.
def _statement(r: Any, machine: Naive) -> tuple:
    live = [i for i, v in enumerate(machine.variables) if v is not None]
    # Recent variables more often: long chains of views of views.
    a = int(r.choice(live[-4:]) if r.random() < 0.6 else r.choice(live))
    shape = machine.variables[a].value.shape
    kind = r.choice(
        [
            "unary",
            "binary",
            "sum",
            "clone",
            "gather",
            "view",
            "detach",
            "inplace",
            "operator",
            "set",
            "put",
            "no_grad",
            "const",
            "leaf",
        ],
        p=[0.08, 0.11, 0.02, 0.04, 0.03, 0.25, 0.04, 0.19, 0.05, 0.10, 0.04, 0.03, 0.01, 0.01],
    )
    if kind == "no_grad":
        return ("no_grad", not machine.no_grad)
    if machine.no_grad and r.random() < 0.35:
        return ("no_grad", False)  # keep such blocks short
    if kind in ("leaf", "const"):
        return (str(kind), _shape(r))
    if (
        kind in ("inplace", "operator", "set", "put", "view")
        and machine.variables[a].leaf
        and not machine.no_grad
        and r.random() < 0.95
    ):
        free = [
            i for i in live if not machine.variables[i].leaf
        ]  # an error otherwise: seldom interesting
        if not free:
            return ("clone", a)
        a = int(r.choice(free[-4:]))
        shape = machine.variables[a].value.shape
    if kind == "unary":
        return ("unary", str(r.choice(UNARY)), a)
    if kind == "binary":
        fitting = [
            i for i in live if _broadcast(shape, machine.variables[i].value.shape) is not None
        ]
        return ("binary", str(r.choice(BINARY)), a, int(r.choice(fitting)))
    if kind == "sum":
        return ("sum", a, None if not shape or r.random() < 0.3 else int(r.integers(len(shape))))
    if kind in ("clone", "detach"):
        return (str(kind), a)
    if kind == "gather" and shape:
        return ("gather", a, tuple(int(i) for i in r.integers(shape[0], size=3)))
    if kind == "view":
        return ("view", *_view(r, a, shape))
    if kind in ("inplace", "operator"):
        if kind == "inplace" and r.random() < 0.35:
            return ("inplace", str(r.choice(IN_PLACE_UNARY)), a, None)
        if kind == "inplace" and r.random() < 0.4:
            return ("inplace", str(r.choice(IN_PLACE_NUMBER)), a, float(r.choice([2.0, 3.0, 0.5])))
        results = {
            i: _broadcast(shape, machine.variables[i].value.shape)
            for i in live
            if i == a or not machine.overlap(a, i)
        }
        fitting = [
            i
            for i, result in results.items()
            if result == shape or (result is not None and r.random() < 0.05)
        ]
        name = str(r.choice(OPERATORS if kind == "operator" else IN_PLACE_BINARY))
        return ("inplace", name, a, int(r.choice(fitting)))
    if kind == "put" and shape:
        index = (
            tuple(int(i) for i in r.permutation(shape[0])[: max(1, shape[0] - 1)])
            if r.random() < 0.5
            else "mask"
        )
        operand: Any = float(r.choice([1.0, -0.5]))
        if index != "mask":
            region = (len(index), *shape[1:])
            fitting = [
                i
                for i in live
                if _broadcast(region, machine.variables[i].value.shape) == region
                and not machine.overlap(a, i)
            ]
            operand = int(r.choice(fitting)) if fitting and r.random() < 0.7 else operand
        return ("put", a, index, operand)
    index = _index(r, shape)
    region = np.empty(shape)[index].shape
    fitting = [
        i
        for i in live
        if _broadcast(region, machine.variables[i].value.shape) == region
        and not machine.overlap(a, i)
    ]
    return (
        "set",
        a,
        index,
        int(r.choice(fitting)) if fitting and r.random() < 0.75 else float(r.choice([0.0, 1.5])),
    )


def _view(r: Any, a: int, shape: tuple[int, ...]) -> tuple:
    kinds = {
        "index": 0.4,
        "reshape": 0.15,
        "permute": 0.15,
        "unsqueeze": 0.08,
        "squeeze": 0.05,
        "expand": 0.07,
        "flatten": 0.05,
    }
    kinds |= {"diagonal": 0.03, "unbind": 0.02}
    kind = r.choice(list(kinds), p=list(kinds.values()))
    if (kind == "diagonal" and len(shape) < 2) or (kind == "unbind" and not shape):
        kind = "squeeze"
    if kind == "index":
        return ("index", a, _index(r, shape))
    if kind == "reshape":
        return (
            ("reshape", a, tuple(int(n) for n in r.permutation(shape)))
            if shape and r.random() < 0.5
            else ("reshape", a, (-1,))
        )
    if kind == "permute":
        return ("permute", a, tuple(int(n) for n in r.permutation(len(shape))))
    if kind == "unsqueeze":
        return ("unsqueeze", a, int(r.integers(len(shape) + 1)))
    if kind == "expand":
        return ("expand", a, (2, *(3 if n == 1 and r.random() < 0.5 else n for n in shape)))
    return (str(kind), a, None)


def _index(r: Any, shape: tuple[int, ...]) -> tuple:
    parts: list[Any] = []
    axes, dots = shape[: int(r.integers(0, len(shape) + 1))], None
    if r.random() < 0.2:  # an Ellipsis: the parts after it are about the last axes
        dots = int(r.integers(len(axes) + 1))
        axes = axes[:dots] + shape[len(shape) - (len(axes) - dots) :]
    for n in axes:
        choice = r.random()
        if choice < 0.35:
            parts.append(int(r.integers(-n, n)))
        elif choice < 0.85:
            start = int(r.integers(0, n))
            parts.append(slice(start, int(r.integers(start + 1, n + 1)), int(r.choice([1, 1, 2]))))
        else:
            parts.append(slice(None))
    if dots is not None:
        parts.insert(dots, Ellipsis)
    if r.random() < 0.1:
        parts.insert(int(r.integers(len(parts) + 1)), None)
    return tuple(parts)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def numbers(shape: tuple[int, ...], key: int, low: float = -1.5, high: float = 1.5) -> np.ndarray:
    """Fixed pseudo-random numbers for statement number `key`, the same for every machine."""
    return np.random.default_rng((shape and zlib.crc32(bytes(shape)), key)).uniform(
        low, high, shape
    )


# ----------------------------------------------------------------------------------------- machines


@dataclass
class Outcome:
    """What a machine says about a program. `stopped`: the exception that ended it, and at which
    statement (None: while differentiating).
    """

    values: list[np.ndarray | None] = field(default_factory=list)
    gradients: list[np.ndarray] = field(default_factory=list)
    loss: float = 0.0
    slope: float = 0.0
    windows: list[bool] = field(
        default_factory=list
    )  # whether each reshape and flatten looked into its operand's memory
    stopped: tuple[int | None, BaseException] | None = None


@dataclass
class Pair:
    """A value and its tangent, arrays that alias those of other pairs exactly where the tensors
    do.
    """

    value: np.ndarray
    tangent: np.ndarray
    leaf: bool = False  # a leaf that requires grad, or a view of one: not to be modified in place


class Naive:
    """Forward mode with aliasing: each variable is a pair of NumPy arrays. A write changes both;
    under no_grad the value only.
    """

    def __init__(self) -> None:
        self.variables: list[Pair | None] = []
        self.no_grad = False

    def run(self, program: Program, skip: frozenset[int] = frozenset()) -> Outcome:
        """Execute the program without the statements numbered in `skip`."""
        for number, statement in enumerate(program, 1):
            if number in skip:
                if makes_variable(statement):
                    self.variables.append(None)
                continue
            self.step(statement, number)
        pairs = [p for p in self.variables if p is not None]
        return Outcome(
            [None if p is None else p.value.copy() for p in self.variables],
            slope=sum(
                float((weights(p.value.shape, i) * p.tangent).sum()) for i, p in enumerate(pairs)
            ),
            loss=sum(
                float((weights(p.value.shape, i) * p.value).sum()) for i, p in enumerate(pairs)
            ),
        )

    def step(self, statement: tuple, number: int) -> None:
        """One statement; in the generator a program is valid as far as shapes go, everything
        else is the engines' business.
        """
        kind, *rest = statement
        if kind == "no_grad":
            self.no_grad = rest[0]
        elif kind in ("leaf", "const"):
            value = numbers(rest[0], number)
            self.variables.append(
                Pair(
                    value,
                    direction(rest[0], number) if kind == "leaf" else np.zeros(rest[0]),
                    kind == "leaf",
                )
            )
        elif kind in ("inplace", "set", "put"):
            self._write(kind, *rest)
        else:
            self.variables.append(self._made(kind, *rest))

    def overlap(self, a: int, b: int) -> bool:
        """Whether two variables share memory. PyTorch leaves open what an operation between such
        operands gives, so programs have none.
        """
        return np.shares_memory(self._get(a).value, self._get(b).value)

    def _made(self, kind: str, *rest: Any) -> Pair | None:
        if kind == "view":
            name, a, arguments = rest
            pair = self._get(a)
            if name == "flatten" and pair.value.ndim == 1:
                return pair  # nothing to flatten: the tensor itself
            value = _numpy_view(name, pair.value, arguments)
            tangent = _numpy_view(name, pair.tangent, arguments)
            return Pair(value, np.zeros(value.shape) if self.no_grad else tangent, pair.leaf)
        if kind == "detach":
            pair = self._get(rest[0])
            return Pair(pair.value, np.zeros(pair.value.shape))
        if kind == "unary":
            value, tangent = _unary(rest[0], self._get(rest[1]))
        elif kind == "binary":
            value, tangent = _binary(rest[0], self._get(rest[1]), self._get(rest[2]))
        elif kind == "sum":
            pair = self._get(rest[0])
            value = np.asarray(pair.value.sum(axis=rest[1]))
            tangent = np.asarray(pair.tangent.sum(axis=rest[1]))
        elif kind == "clone":
            pair = self._get(rest[0])
            value, tangent = _clone(pair.value), _clone(pair.tangent)
        elif kind == "gather":
            pair = self._get(rest[0])
            value, tangent = pair.value[list(rest[1])], pair.tangent[list(rest[1])]
        else:
            raise ValueError(kind)
        return Pair(value, np.zeros(value.shape) if self.no_grad else tangent)

    def _write(self, kind: str, *rest: Any) -> None:
        if kind == "inplace":
            name, a, operand = rest
            pair = self._get(a)
            value, tangent = _new_values(name, pair, self._operand(operand))
            region: Any = ...
            if value.shape != pair.value.shape:
                return  # the target would have to grow: both engines refuse
        else:
            a, index, operand = rest
            pair, source = self._get(a), self._operand(operand)
            region = (
                (pair.value > 0 if index == "mask" else list(index)) if kind == "put" else index
            )
            value, tangent = source.value, source.tangent
        if (
            any(s == 0 and n > 1 for s, n in zip(pair.value.strides, pair.value.shape, strict=True))
            or not pair.value.flags.writeable
        ):
            return  # expanded memory: both engines refuse
        value, tangent = value.copy(), tangent.copy()
        pair.value[region] = value
        if not self.no_grad:
            pair.tangent[region] = tangent

    def _get(self, a: int) -> Pair:
        pair = self.variables[a]
        if pair is None:
            raise KeyError(a)
        return pair

    def _operand(self, operand: Any) -> Pair:
        if isinstance(operand, int):
            return self._get(operand)
        return Pair(np.asarray(0.0 if operand is None else operand), np.asarray(0.0))


def makes_variable(statement: tuple) -> bool:
    """Whether a statement appends a variable."""
    return statement[0] not in ("inplace", "set", "put", "no_grad")


def uses(statement: tuple) -> set[int]:
    """The variables that a statement reads or writes."""
    kind, *rest = statement
    if kind in ("leaf", "const", "no_grad"):
        return set()
    used = {"unary": rest[1:2], "binary": rest[1:], "view": rest[1:2], "inplace": rest[1:]}.get(
        kind, [rest[0], *rest[2:]]
    )
    return {v for v in used if isinstance(v, int)}


def _clone(x: np.ndarray) -> np.ndarray:
    """A copy with the strides of x if x is dense in some order of its axes, else row-major:
    PyTorch's rule.
    """
    order = np.argsort([-s for s in x.strides], kind="stable")
    return x.copy(order="K" if x.transpose(order).flags.c_contiguous else "C")


def _numpy_view(name: str, x: np.ndarray, arguments: Any) -> np.ndarray:
    if name == "index":
        return x[arguments if Ellipsis in arguments else (*arguments, ...)]
    if name == "expand":
        view = np.broadcast_to(x, arguments)
        if x.flags.writeable:
            view.setflags(write=True)
        return view
    if name == "unsqueeze":
        return np.expand_dims(x, arguments)
    if name == "unbind":
        return x[0, ...]
    if name == "diagonal":
        view = np.diagonal(x)
        view.setflags(write=x.flags.writeable)
        return view
    shape = arguments if name == "reshape" else (-1,)
    return {"permute": lambda: x.transpose(arguments), "squeeze": x.squeeze}.get(
        name, lambda: x.reshape(shape)
    )()


def _unary(name: str, p: Pair) -> tuple[np.ndarray, np.ndarray]:
    x = p.value
    s = 1 / (1 + np.exp(-x))
    value, slope = {
        "sin": lambda: (np.sin(x), np.cos(x)),
        "tanh": lambda: (np.tanh(x), 1 - np.tanh(x) ** 2),
        "square": lambda: (x * x, 2 * x),
        "neg": lambda: (-x, -np.ones_like(x)),
        "relu": lambda: (np.maximum(x, 0), 1.0 * (x > 0)),
        "sigmoid": lambda: (s, s * (1 - s)),
        "zero": lambda: (np.zeros_like(x), np.zeros_like(x)),
    }[name]()
    return np.asarray(value), np.asarray(np.where(slope == 0, 0, slope * p.tangent))


def _binary(name: str, p: Pair, q: Pair) -> tuple[np.ndarray, np.ndarray]:
    a, b = p.value, q.value
    value, left, right = {
        "add": lambda: (a + b, 1.0, 1.0),
        "sub": lambda: (a - b, 1.0, -1.0),
        "mul": lambda: (a * b, b, a),
        "div": lambda: (a / b, 1 / b, -a / b**2),
        "maximum": lambda: (np.maximum(a, b), (a > b) + 0.5 * (a == b), (b > a) + 0.5 * (a == b)),
        "pow": lambda: (a**b, b * a ** (b - 1), 0.0),
        "copy": lambda: (b + 0 * np.zeros_like(a), 0.0, 1.0),
        "fill": lambda: (b + 0 * np.zeros_like(a), 0.0, 1.0),
        "clamp": lambda: (np.minimum(a, b), 1.0 * (a <= b), 0.0),
    }[name]()
    with np.errstate(all="ignore"):
        return np.asarray(value), np.asarray(left * p.tangent + right * q.tangent)


def _new_values(name: str, target: Pair, operand: Pair) -> tuple[np.ndarray, np.ndarray]:
    plain = {"+=": "add", "-=": "sub", "*=": "mul", "/=": "div"}.get(name, name.rstrip("_"))
    with np.errstate(all="ignore"):
        return (
            _unary(plain, target) if plain in (*UNARY, "zero") else _binary(plain, target, operand)
        )


def weights(shape: tuple[int, ...], i: int) -> np.ndarray:
    """The weights with which variable i enters the loss."""
    return np.random.default_rng((7, i, *shape)).uniform(0.5, 1.5, shape)


def direction(shape: tuple[int, ...], number: int) -> np.ndarray:
    """The direction in which the naive machine differentiates the leaf made by statement
    `number`.
    """
    return numbers(shape, number + 1000)


class Library:
    """A program run by minigrad or PyTorch: `module` is either; both understand the same method
    names.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.mine = module is mg

    def run(
        self, program: Program, skip: frozenset[int] = frozenset(), forward: str = ""
    ) -> Outcome:
        """Execute, then differentiate the weighted sum of all variables. Statements in `skip` are
        left out; others that raise are noted.

        forward: carry tangents (minigrad's forward mode) instead of going back: "alone", or "over a
        graph" that is recorded, too.
        """
        m, variables, leaves, outcome = self.module, [], [], Outcome()
        m.set_grad_enabled(True)
        try:
            for number, statement in enumerate(program, 1):
                if number in skip:
                    if makes_variable(statement):
                        variables.append(None)
                    continue
                kind, *rest = statement
                try:
                    if kind == "no_grad":
                        m.set_grad_enabled(not rest[0])
                    elif kind in ("leaf", "const"):
                        x = self._tensor(numbers(rest[0], number))
                        if kind == "leaf" and not forward:
                            x.requires_grad_()
                            leaves.append((x, number))
                        elif kind == "leaf":
                            tangent = self._tensor(direction(rest[0], number))
                            with m.enable_grad():
                                x = x.requires_grad_() * 1 if forward == "over a graph" else x
                            x = m.autograd.forward_ad.make_dual(x, tangent)
                        variables.append(x)
                    elif kind in ("inplace", "set", "put"):
                        self._write(variables, kind, rest)
                    else:
                        variables.append(self._made(variables, kind, rest))
                        if kind == "view" and rest[0] in ("reshape", "flatten"):
                            outcome.windows.append(
                                self._share_memory(variables[-1], variables[rest[1]])
                            )
                except Exception as error:
                    outcome.stopped = (number, error)
                    return outcome
            m.set_grad_enabled(not forward)  # a view that no_grad made has tangents, no gradient
            try:
                self._differentiate(variables, leaves, outcome, forward)
            except Exception as error:
                outcome.stopped = (None, error)
        finally:
            m.set_grad_enabled(True)
        return outcome

    def _differentiate(
        self, variables: list[Any], leaves: list[Any], outcome: Outcome, forward: str
    ) -> None:
        m = self.module
        kept = [v for v in variables if v is not None]
        loss = self._tensor(np.asarray(0.0))
        for i, v in enumerate(kept):
            loss = loss + (v * self._tensor(weights(tuple(v.shape), i))).sum()
        outcome.values = [None if v is None else np.array(v.detach().numpy()) for v in variables]
        outcome.loss = float(loss.detach())
        if forward:
            tangent = m.autograd.forward_ad.unpack_dual(loss).tangent
            outcome.slope = 0.0 if tangent is None else float(tangent)
            return
        found = (
            m.autograd.grad(loss, [x for x, _ in leaves], allow_unused=True)
            if loss.requires_grad
            else [None] * len(leaves)
        )
        outcome.gradients = [
            np.zeros(x.shape) if g is None else g.numpy()
            for g, (x, _) in zip(found, leaves, strict=True)
        ]
        outcome.slope = sum(
            float((g * direction(g.shape, number)).sum())
            for g, (_, number) in zip(outcome.gradients, leaves, strict=True)
        )

    def _share_memory(self, a: Any, b: Any) -> bool:
        if self.mine:
            return a is b or np.shares_memory(a.array, b.array)
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()

    def _tensor(self, array: np.ndarray) -> Any:
        return mg.tensor(array) if self.mine else self.module.tensor(array)

    def _made(self, variables: list[Any], kind: str, rest: list[Any]) -> Any:
        if kind == "view":
            name, a, arguments = rest
            x = variables[a]
            if name == "index":
                return x[arguments]
            if name in ("squeeze", "flatten", "diagonal"):
                return getattr(x, name)()
            if name == "unbind":
                return x.unbind()[0]
            return getattr(x, name)(arguments)
        if kind == "unary":
            return getattr(variables[rest[1]], rest[0])()
        if kind == "binary":
            return getattr(self.module, rest[0])(variables[rest[1]], variables[rest[2]])
        if kind == "sum":
            return variables[rest[0]].sum() if rest[1] is None else variables[rest[0]].sum(rest[1])
        if kind == "gather":
            return variables[rest[0]][list(rest[1])]
        return getattr(variables[rest[0]], kind)()

    def _write(self, variables: list[Any], kind: str, rest: list[Any]) -> None:
        if kind == "inplace":
            name, a, operand = rest
            x = variables[a]
            value = variables[operand] if isinstance(operand, int) else operand
            if name in OPERATORS:
                method = {
                    "+=": "__iadd__",
                    "-=": "__isub__",
                    "*=": "__imul__",
                    "/=": "__itruediv__",
                }[name]
                getattr(x, method)(value)
            elif name == "clamp_":
                x.clamp_(max=value)
            else:
                getattr(x, name)(*(() if value is None else (value,)))
            return
        a, index, operand = rest
        x = variables[a]
        value = variables[operand] if isinstance(operand, int) else operand
        x[((x.detach() > 0) if index == "mask" else list(index)) if kind == "put" else index] = (
            value
        )


# ------------------------------------------------------------------------------------------ judging


@dataclass
class Verdict:
    """What came out: `word` is "agree", "both refuse", "minigrad refuses", "minigrad goes further",
    "other layouts" or "DISAGREE".

    "minigrad goes further": PyTorch refuses, and the naive machine confirms what minigrad gives.
    "other layouts": the sum of two operands that lie in memory in different orders lies in NumPy's
    order here and in PyTorch's there, so that reshape copies on one side and not on the other
    (which both leave open); the naive machine confirms what minigrad gives.
    """

    word: str
    why: str = ""
    error: BaseException | None = None


def judge(program: Program, torch: Any = None) -> Verdict:
    """Run a program everywhere and compare. A statement that both refuse is left out and the
    rest is run again.
    """
    skip: frozenset[int] = frozenset()
    both_refused = False
    while True:
        skip = closed(program, skip)
        mine = Library(mg).run(program, skip)
        theirs = Library(torch).run(program, skip) if torch is not None else None
        at = mine.stopped[0] if mine.stopped else 0
        if mine.stopped and at is not None:
            if not _acceptable(mine.stopped[1]):
                return Verdict(
                    "DISAGREE",
                    f"minigrad raised {mine.stopped[1]!r} at statement {at}",
                    mine.stopped[1],
                )
            if theirs is not None and not (theirs.stopped and theirs.stopped[0] == at):
                if theirs.stopped is None or (theirs.stopped[0] or 10**9) > at:
                    return Verdict("minigrad refuses", str(mine.stopped[1]), mine.stopped[1])
                at = theirs.stopped[0]  # PyTorch gave up earlier: go on without that statement
            skip, both_refused = skip | {at}, True
            continue
        break
    if mine.stopped:
        if not _acceptable(mine.stopped[1]):
            return Verdict(
                "DISAGREE",
                f"minigrad raised {mine.stopped[1]!r} while differentiating",
                mine.stopped[1],
            )
        return Verdict(
            "both refuse" if theirs is not None and theirs.stopped else "minigrad refuses",
            str(mine.stopped[1]),
            mine.stopped[1],
        )
    naive = Naive().run(program, skip)
    if theirs is not None and theirs.stopped is None and mine.windows == theirs.windows:
        problem = _differences(mine, theirs, full=True)
        return (
            Verdict("DISAGREE", problem + " (PyTorch)")
            if problem
            else Verdict("both refuse" if both_refused else "agree")
        )
    problem = _differences(mine, naive, full=False)
    if problem:
        return Verdict("DISAGREE", problem + " (naive)")
    return Verdict(
        "agree"
        if theirs is None
        else "minigrad goes further"
        if theirs.stopped
        else "other layouts"
    )


def judge_forward(program: Program, forward: str = "alone") -> Verdict:
    """Compare minigrad's forward mode with the naive machine, for which no_grad is left out: it
    switches off recording, and tangents go on. Without a graph no pass needs saved values, so
    nearly every program must go through.
    """
    skip: frozenset[int] = frozenset()
    while True:
        skip = closed(program, skip)
        with mg.autograd.forward_ad.dual_level():
            mine = Library(mg).run(program, skip, forward)
        if not mine.stopped:
            break
        if mine.stopped[0] is None or not _acceptable(mine.stopped[1]):
            return Verdict(
                "DISAGREE",
                f"minigrad raised {mine.stopped[1]!r} at statement {mine.stopped[0]}",
                mine.stopped[1],
            )
        skip |= {mine.stopped[0]}
    recording = [("no_grad", False) if s[0] == "no_grad" else s for s in program]
    problem = _differences(mine, Naive().run(recording, skip), full=False)
    return Verdict("DISAGREE", problem) if problem else Verdict("agree")


def closed(program: Program, skip: frozenset[int]) -> frozenset[int]:
    """`skip` and every statement that uses a variable which was then never made."""
    missing: set[int] = set()
    out, count = set(skip), 0
    for number, statement in enumerate(program, 1):
        if uses(statement) & missing:
            out.add(number)
        if makes_variable(statement):
            if number in out:
                missing.add(count)
            count += 1
    return frozenset(out)


def _acceptable(error: BaseException) -> bool:
    """A refusal that a user can understand: one of the library's errors with words in it, not an
    accident inside it.
    """
    return isinstance(error, mg.AutogradError) and len(str(error)) > 40


def _differences(a: Outcome, b: Outcome, full: bool) -> str:
    for i, (x, y) in enumerate(zip(a.values, b.values, strict=True)):
        if (x is None) != (y is None) or (
            x is not None
            and (x.shape != y.shape or not np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True))
        ):
            return f"variable {i} is {x}, not {y}"
    if full:
        for i, (g, h) in enumerate(zip(a.gradients, b.gradients, strict=True)):
            if g.shape != h.shape or not np.allclose(g, h, rtol=1e-8, atol=1e-10, equal_nan=True):
                return f"gradient of leaf {i} is {g}, not {h}"
        return ""
    if np.isnan(a.slope) or np.isnan(b.slope):
        # 0 · ∞ on a branch that an in-place write has cut off: one mode carries it along, the other
        # does not
        return ""
    return (
        ""
        if np.allclose(a.slope, b.slope, rtol=1e-7, atol=1e-8, equal_nan=True)
        else f"directional derivative is {a.slope}, not {b.slope}"
    )


def shrink(program: Program, fails: Any) -> Program:
    """The program without every statement that can go while `fails(program)` stays true."""
    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(program))):
            smaller = _without(program, k)
            if smaller is not None and fails(smaller):
                program, changed = smaller, True
    return program


def _without(program: Program, k: int) -> Program | None:
    """The program without statement k, variables renumbered; None if another statement needs its
    variable.
    """
    gone = sum(makes_variable(s) for s in program[:k]) if makes_variable(program[k]) else None
    out = []
    for statement in (*program[:k], *program[k + 1 :]):
        if gone is not None:
            if gone in uses(statement):
                return None
            statement = _renumbered(statement, gone)
        out.append(statement)
    return out


def _renumbered(statement: tuple, gone: int) -> tuple:
    lower = lambda v: v - 1 if isinstance(v, int) and v > gone else v
    kind, *rest = statement
    if kind in ("leaf", "const", "no_grad"):
        return statement
    if kind in ("unary", "inplace", "binary"):
        return (kind, rest[0], *map(lower, rest[1:]))
    if kind == "view":
        return (kind, rest[0], lower(rest[1]), rest[2])
    if kind in ("set", "put"):
        return (kind, lower(rest[0]), rest[1], lower(rest[2]))
    return (kind, lower(rest[0]), *rest[1:])
