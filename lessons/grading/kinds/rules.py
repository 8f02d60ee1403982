"""The kind of exercise that asks for the two rules of one operation: how a tangent goes forward
through it, and how an adjoint goes back.

Rules are judged without an answer key: the tangent rule against the operation's change along a
line, the adjoint rule against its partial derivatives (both by central differences), and the two
against each other by the identity g · ẏ = Σ x̄ᵢ · ẋᵢ. A wrong rule is then put into the Trace of an
example, which shows the first step that it spoils; and its numbers are compared with those of
classic mistakes, each written here for any operation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.trace import first_divergence
from minigrad.trace.text import number

from ..calls import Caller, StudentProblem, need_function
from ..exercise import DERIVATIVES, Accept, Exercise, Misconception
from ..exercise import Case as Call
from ..feedback import Feedback, Line
from ..judge import same
from ..numeric import all_close, close, partials, tidy
from ..student_trace import Example, about, call_text, first_wrong_step, plain, with_rules

Numbers = tuple[float, ...]


def Rules(
    name: str,
    f: Callable[..., float],
    letters: tuple[str, ...],
    values: tuple[Numbers, ...],
    draw: Callable[[random.Random], Numbers],
    examples: tuple[Example, ...],
    hints: tuple[str, ...],
    op: Callable[..., Any] | None = None,
) -> Exercise:
    """tangent_<name>(*inputs, *tangents) and adjoint_<name>(*inputs, g), on plain numbers: a point
    for each of the two.

    The arguments are those of `RulesExercise`; op: the same operation on tensors, element by
    element, where f itself does not take them.
    """
    asked, tensor_op, n = (
        RulesExercise(name, f, letters, values, draw, examples, tuple(hints)),
        op or f,
        len(letters),
    )
    tangent, adjoint = f"tangent_{name}", f"adjoint_{name}"

    def cases(rng: np.random.Generator) -> Iterator[Call]:
        # a rule is not asked the same thing twice: the tangents are none of the adjoint rule's
        # business
        known: set[tuple[Any, ...]] = set()
        for c in asked.cases(random.Random(int(rng.integers(2**62))), GRADED):
            digits, total = c.size
            size = float(digits + total / 1000)
            inputs = dict(zip(letters, c.values, strict=True))
            dots = {f"d{a}": t for a, t in zip(letters, c.tangents, strict=True)}
            for group, call, moved in (
                ("tangent rule", tangent, dots),
                ("adjoint rule", adjoint, {"g": c.g}),
            ):
                args = inputs | moved
                key = (call, *args.values())
                if key not in known:
                    known.add(key)
                    yield Call.of(group, args, call=call, size=size)

    def right(call: str, columns: list[Any]) -> list[Any]:
        """What is right for several calls of a rule at once, given by columns: one entry for
        each call.
        """
        given = [mg.tensor(column, dtype=mg.float64) for column in columns]
        if call == tangent:
            found = [mg.func.jvp(tensor_op, tuple(given[:n]), tuple(given[n:]))[1]]
        else:
            found = list(mg.func.vjp(tensor_op, *given[:n])[1](given[n]))
        parts = [part.numpy().tolist() for part in found]
        return list(map(list, zip(*parts, strict=True))) if len(parts) > 1 else parts[0]

    def judge_of(all_cases: Sequence[Call]) -> Accept:
        known: dict[int, Any] = {}
        for call in (tangent, adjoint):
            asked_here = [case for case in all_cases if case.call == call]
            if asked_here:
                columns = [
                    np.array(column)
                    for column in zip(*(case.args.values() for case in asked_here), strict=True)
                ]
                known |= zip(map(id, asked_here), right(call, columns), strict=True)

        def accept(case: Call, got: Any) -> str:
            if case.call == adjoint and n == 1 and type(got) in (list, tuple) and len(got) == 1:
                got = got[0]
            return same(known[id(case)], got, name=f"what `{case.call}` returned")

        return accept

    made = Exercise(
        name,
        {"tangent rule": 1, "adjoint rule": 1},
        cases,
        answers=(tangent, adjoint),
        title=f"Exercise {name}",
        forbid=(DERIVATIVES,),
        hints=asked.hints,
        notebook=asked.check,
        misconceptions=tuple(_misconceptions(asked)),
    )
    made.accept_all(judge_of)
    return made


def _misconceptions(asked: RulesExercise) -> Iterator[Misconception]:
    """The classic mistakes of both rules: each is broken in the calls of its own rule, and
    silent in those of the other.
    """
    n, probe = len(asked.letters), Case(asked.values[0], (1.0,) * len(asked.letters), 1.0)
    for what, mistakes in (("tangent", tangent_mistakes), ("adjoint", adjoint_mistakes)):

        def run(case: Call, say: str, what: str = what, mistakes: Any = mistakes) -> Any:
            if case.call != f"{what}_{asked.name}":
                return None
            given = tuple(case.args.values())
            tried = (
                Case(given[:n], given[n:], 1.0)
                if what == "tangent"
                else Case(given[:n], (1.0,) * n, given[n])
            )
            made = dict(mistakes(Setting(asked.f, asked.letters, tried)))[say]
            return made[0] if len(made) == 1 else list(made)

        for say, _ in mistakes(Setting(asked.f, asked.letters, probe)):
            yield Misconception(
                f"{what} rule: {say.rstrip('.')}",
                say,
                lambda case, say=say, run=run: run(case, say),
            )


DIRECTIONS = ((1.0, 0.0), (0.0, 1.0))
GRADED = 6
"""Random trials of a hand-in: together with the small ones they tell every classic mistake from
the right rules.
"""


@dataclass(frozen=True)
class Case:
    """One trial: the operation's inputs, their tangents, and the adjoint g of its result."""

    values: Numbers
    tangents: Numbers
    g: float

    @property
    def size(self) -> tuple[int, float]:
        """Small cases are those with few digits and small numbers."""
        every = (*self.values, *self.tangents, self.g)
        return sum(len(f"{abs(x):g}") for x in every), sum(abs(x) for x in every)


@dataclass(frozen=True)
class Wrong:
    """What a wrong rule did: the smallest failing case, what it returned there and what is
    right, and the mistake it looks like.
    """

    case: Case
    got: Numbers
    right: Numbers
    mistake: str | None


@dataclass(frozen=True)
class RulesExercise:
    """The tangent and the adjoint rule of one operation.

    name: also that of the operation in a Trace; f: its value, on floats; letters: its inputs, as
    the rules' parameters are called;
    values: small inputs to try, inside its domain; draw: random ones; examples: functions of two
    arguments in which it occurs.
    """

    name: str
    f: Callable[..., float]
    letters: tuple[str, ...]
    values: tuple[Numbers, ...]
    draw: Callable[[random.Random], Numbers]
    examples: tuple[Example, ...]
    hints: tuple[str, ...]

    def check(
        self, tangent: Any = None, adjoint: Any = None, *rest: Any, rng: random.Random | None = None
    ) -> Feedback:
        """Judge the two rules; rng: where the random cases come from (fresh ones on every run by
        default).
        """
        title, caller = f"Exercise {self.name}", Caller()
        cases = self.cases(rng or random.Random())
        tries = {"tangent": self._try_tangent, "adjoint": self._try_adjoint}
        given: dict[str, Any] = {"tangent": tangent, "adjoint": adjoint}
        lines, found, statuses = [], {}, []
        for what, attempt in tries.items():
            try:
                need_function(given[what], f"{what}_{self.name}")
                found[what] = attempt(caller, given[what], cases)
                statuses.append("wrong" if found[what] else "right")
                lines += self._verdict(what, found[what], len(cases))
            except StudentProblem as problem:
                kind = "unfinished" if problem.kind == "unfinished" else "trouble"
                statuses.append(kind)
                lines.append(Line(kind, f"{what} rule: {problem.say}"))
        lines += self._identity(caller, given, found, cases)
        points = float(statuses.count("right"))
        # Where one rule is not there yet, the state of the other one is the more useful headline.
        status = next(
            (s for s in ("wrong", "trouble") if s in statuses),
            "right" if points == 2 else "unfinished" if points == 0 else "wrong",
        )
        feedback = Feedback(
            title,
            status,
            self.name,
            lines,
            points,
            2.0,
            () if points == 2 else self.hints,
            printed=caller.printed,
        )
        if "wrong" in statuses:
            self._show_on_trace(caller, given, found, feedback)
        if found:
            feedback.checked = (
                f"Checked here: {len(cases)} cases, some small and some random, against central"
                " differences. Work that you hand in is graded on other cases of the same kind."
            )
        return feedback

    # --------------------------------------------------------------------------------------- trials

    def cases(self, rng: random.Random, drawn: int = 20) -> list[Case]:
        """Small cases, and so many random ones with one digit after the point, in order of size."""
        n = len(self.letters)
        ways = [tuple(1.0 if j == i else 0.0 for j in range(n)) for i in range(n)] + [
            tuple(float(j + 2) for j in range(n))
        ]
        small = [Case(v, t, g) for v in self.values for t in ways for g in (1.0, 2.0)]
        random_ = [
            Case(
                tuple(round(x, 1) for x in self.draw(rng)),
                tuple(round(rng.uniform(-3, 3), 1) for _ in range(n)),
                round(rng.uniform(-3, 3), 1),
            )
            for _ in range(drawn)
        ]
        return sorted(small + random_, key=lambda c: c.size)

    def _try_tangent(self, caller: Caller, rule: Any, cases: list[Case]) -> Wrong | None:
        names = [*self.letters, *(f"d{a}" for a in self.letters)]
        call = lambda c: (
            caller.number(
                rule,
                (*c.values, *c.tangents),
                call_text(f"tangent_{self.name}", (*c.values, *c.tangents), names),
            ),
        )
        right = lambda c: (
            sum(p * t for p, t in zip(partials(self.f, c.values), c.tangents, strict=True)),
        )
        return self._judge(cases, [call(c) for c in cases], right, tangent_mistakes)

    def _try_adjoint(self, caller: Caller, rule: Any, cases: list[Case]) -> Wrong | None:
        names = [*self.letters, "g"]
        call = lambda c: caller.numbers(
            rule,
            (*c.values, c.g),
            call_text(f"adjoint_{self.name}", (*c.values, c.g), names),
            len(self.letters),
        )
        right = lambda c: tuple(c.g * p for p in partials(self.f, c.values))
        return self._judge(cases, [call(c) for c in cases], right, adjoint_mistakes)

    def _judge(
        self, cases: list[Case], got: list[Numbers], right: Callable[[Case], Numbers], mistakes: Any
    ) -> Wrong | None:
        first = next((i for i, c in enumerate(cases) if not all_close(got[i], right(c))), None)
        if first is None:
            return None
        told = [dict(mistakes(Setting(self.f, self.letters, c))) for c in cases]
        mistake = next(
            (
                say
                for say in told[0]
                if all(all_close(got[i], told[i][say]) for i in range(len(cases)))
            ),
            None,
        )
        return Wrong(cases[first], got[first], right(cases[first]), mistake)

    # ---------------------------------------------------------------------------------------- words

    def _verdict(self, what: str, wrong: Wrong | None, count: int) -> Iterator[Line]:
        if wrong is None:
            yield Line(
                "right", f"{what} rule: agrees with central differences in all {count} cases."
            )
            return
        c = wrong.case
        args, names = (
            ((*c.values, *c.tangents), [f"d{a}" for a in self.letters])
            if what == "tangent"
            else ((*c.values, c.g), ["g"])
        )
        call = call_text(f"{what}_{self.name}", args, [*self.letters, *names])
        yield Line(
            "wrong",
            f"{what} rule: `{call}` returned {_pair(wrong.got)}, but a central difference says"
            f" {_pair(tuple(map(tidy, wrong.right)))}.",
        )
        if any(x != x for x in wrong.got):
            yield Line(
                "note",
                "NaN means “not a number”: somewhere in your rule there is something like ∞ − ∞ or"
                " ∞ · 0.",
            )
        if wrong.mistake:
            yield Line("note", f"It looks as if {wrong.mistake}")

    def _identity(
        self,
        caller: Caller,
        given: dict[str, Any],
        found: dict[str, Wrong | None],
        cases: list[Case],
    ) -> Iterator[Line]:
        """g · ẏ = Σ x̄ᵢ · ẋᵢ ties the two rules to each other, whatever the operation is."""
        if len(found) < 2:
            return
        both_wrong = all(found.values())
        try:
            for c in cases:
                dot = caller.number(given["tangent"], (*c.values, *c.tangents), "tangent")
                bars = caller.numbers(
                    given["adjoint"], (*c.values, c.g), "adjoint", len(self.letters)
                )
                one, other = c.g * dot, sum(b * t for b, t in zip(bars, c.tangents, strict=True))
                if not close(one, other):
                    if not both_wrong:
                        sum_ = " + ".join(f"{a}̄·{a}̇" for a in self.letters)
                        say = (
                            f"g·ẏ = {number(plain(one))}, but {sum_} = {number(plain(other))}. Two"
                            " rules that are right give equal numbers."
                        )
                        yield Line("note", f"together: {say}")
                    return
        except StudentProblem:
            # the rule answers differently from call to call; its own line has said what is wrong
            return
        if both_wrong:
            yield Line("note", "together: g·ẏ = Σ x̄·ẋ holds, so the two rules share one mistake.")
        else:
            yield Line(
                "right",
                "together: g·ẏ = Σ x̄·ẋ holds in every case: the two rules belong to each other.",
            )

    def _show_on_trace(
        self,
        caller: Caller,
        given: dict[str, Any],
        found: dict[str, Wrong | None],
        feedback: Feedback,
    ) -> None:
        """Find an example in which the wrong rule shows, and put the viewer at the first wrong
        step.
        """
        n = len(self.letters)
        tangent = (
            (lambda *a: caller.number(given["tangent"], a, call_text(f"tangent_{self.name}", a)))
            if "tangent" in found
            else None
        )
        adjoint = (
            (
                lambda *a: caller.numbers(
                    given["adjoint"], a, call_text(f"adjoint_{self.name}", a), n
                )
            )
            if "adjoint" in found
            else None
        )
        try:
            for example in self.examples:
                for tangents in DIRECTIONS:
                    reference = example.trace(tangents=tangents)
                    theirs = with_rules(reference, self.name, tangent, adjoint)
                    index, parting = (
                        first_wrong_step(reference, theirs),
                        first_divergence(reference, theirs),
                    )
                    if index is None or parting is None:
                        continue
                    step = theirs["steps"][index]
                    feedback.trace, feedback.step = theirs, index + 1
                    place = f"step {index + 1} of {len(theirs['steps'])}"
                    feedback.lines.append(
                        Line(
                            "note",
                            f"On the Trace of {reference['title']} it first goes wrong at {place}:"
                            f" {step['say']}",
                        )
                    )
                    edges = {e["id"]: e for e in reference["edges"]}
                    source = (
                        edges[step["edges"][0]]["dst"]
                        if step["phase"] in ("adjoint", "accumulate")
                        else step["node"]
                    )
                    feedback.lines.append(
                        Line("note", f"The operation at fault is {about(reference, source)}.")
                    )
                    return
        except StudentProblem as problem:
            feedback.lines.append(Line("trouble", f"on the example: {problem.say}"))


def _pair(numbers: Numbers) -> str:
    text = ", ".join(number(plain(x)) for x in numbers)
    return f"({text})" if len(numbers) > 1 else text


# --------------------------------------------------------------------------------- classic mistakes


class Setting:
    """What a mistake is made of: the inputs, the value, the partial derivatives, at one case."""

    def __init__(self, f: Callable[..., float], letters: tuple[str, ...], case: Case) -> None:
        self.f, self.letters, self.case = f, letters, case
        self.x, self.t, self.g = case.values, case.tangents, case.g
        self.y, self.p = f(*case.values), partials(f, case.values)
        self.one = len(letters) == 1

    def at(self, *point: float) -> Numbers:
        """The partial derivatives at another point; the value of f there is of no interest."""
        return partials(self.f, point)

    def value_at(self, *point: float) -> float:
        """f there, NaN outside its domain."""
        try:
            return self.f(*point)
        except (ValueError, ZeroDivisionError):
            return float("nan")


def tangent_mistakes(s: Setting) -> Iterator[tuple[str, Numbers]]:
    """(sentence, the number that this mistake gives) for each classic wrong tangent rule."""
    d = " and ".join(f"`d{a}`" for a in s.letters)
    dot = lambda p: (sum(a * b for a, b in zip(p, s.t, strict=True)),)
    yield f"you forgot the chain rule's factor: multiply by {d}.", (sum(s.p),)
    yield "the sign is turned round.", dot([-p for p in s.p])
    yield (
        f"you used the operation's value instead of its derivative, times {d}.",
        dot([s.y] * len(s.p)),
    )
    yield (
        f"you applied the operation to {d}: a tangent is multiplied by a derivative.",
        (s.value_at(*s.t),),
    )
    yield "the tangent passes unchanged: the operation's own derivative is missing.", (sum(s.t),)
    if s.one:
        yield "you took the derivative at the result instead of at the input.", dot(s.at(s.y))
        yield "you took the derivative at the tangent instead of at the input.", dot(s.at(*s.t))
        yield "you added the tangent where it is to be multiplied.", (s.p[0] + s.t[0],)
        return
    a, b = s.letters
    yield (
        (
            f"the operands are swapped: the factor of `d{a}` belongs to `d{b}` and the other way"
            " round."
        ),
        dot(s.p[::-1]),
    )
    yield (
        f"the part of `d{b}` is missing: each input sends its own contribution.",
        (s.p[0] * s.t[0],),
    )
    yield (
        f"the part of `d{a}` is missing: each input sends its own contribution.",
        (s.p[1] * s.t[1],),
    )
    yield f"the sign of the part of `d{b}` is wrong.", dot((s.p[0], -s.p[1]))
    yield f"the sign of the part of `d{a}` is wrong.", dot((-s.p[0], s.p[1]))
    yield (
        "you multiplied the two contributions; they are added.",
        (s.p[0] * s.t[0] * s.p[1] * s.t[1],),
    )
    yield (
        "the operands are swapped and a sign is turned: check which part is which.",
        dot((s.p[1], -s.p[0])),
    )
    for name, factors in _off_by(s):
        yield name, dot(tuple(p * k for p, k in zip(s.p, factors, strict=True)))


def adjoint_mistakes(s: Setting) -> Iterator[tuple[str, Numbers]]:
    """(sentence, the numbers that this mistake gives) for each classic wrong adjoint rule."""
    g, scaled = s.g, lambda p: tuple(s.g * x for x in p)
    yield "you left out the adjoint `g` that arrives from above: multiply by it.", s.p
    yield "the sign is turned round.", scaled([-p for p in s.p])
    yield "you used the operation's value instead of its derivative.", scaled([s.y] * len(s.p))
    yield "`g` passes unchanged: the operation's own derivative is missing.", (g,) * len(s.p)
    yield "you added `g` where it is to be multiplied.", tuple(p + g for p in s.p)
    if s.one:
        yield "you applied the operation to `g`.", (s.value_at(g),)
        yield "you took the derivative at the result instead of at the input.", scaled(s.at(s.y))
        yield "you took the derivative at `g` instead of at the input.", s.at(g)
        return
    a, b = s.letters
    yield f"the operands are swapped: what belongs to `{a}` was given to `{b}`.", scaled(s.p[::-1])
    yield f"`{b}` gets nothing: both inputs had an influence.", (g * s.p[0], 0.0)
    yield f"`{a}` gets nothing: both inputs had an influence.", (0.0, g * s.p[1])
    yield (
        f"you gave both inputs the same sum; `{a}` and `{b}` get one part each.",
        (g * sum(s.p),) * 2,
    )
    yield f"the sign of the part of `{b}` is wrong.", scaled((s.p[0], -s.p[1]))
    yield f"the sign of the part of `{a}` is wrong.", scaled((-s.p[0], s.p[1]))
    yield "you left out `g` in the first part.", (s.p[0], g * s.p[1])
    yield "you left out `g` in the second part.", (g * s.p[0], s.p[1])
    for name, factors in _off_by(s):
        yield name, scaled(tuple(p * k for p, k in zip(s.p, factors, strict=True)))


def _off_by(s: Setting) -> Iterator[tuple[str, Numbers]]:
    """Rules of two inputs in which one part has a factor too many, or one too few."""
    for i, part in enumerate(s.letters):
        for letter, x in zip(s.letters, s.x, strict=True):
            for say, factor in (
                ("has a factor `{}` too many", x),
                ("lacks a factor `{}`", 1 / x),
                ("has the wrong sign and a factor `{}` too many", -x),
            ):
                where = f"the part of `{part}` {say.format(letter)}."
                yield where, tuple(factor if j == i else 1.0 for j in range(2))
