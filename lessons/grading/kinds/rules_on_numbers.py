"""`Rules`: the two rules of one operation on plain numbers: how a tangent goes forward through it,
and how an adjoint goes back.

In the notebook they are judged without an answer key: each against central differences, and the two
against each other by the identity g · ẏ = Σ x̄ᵢ · ẋᵢ. A wrong rule is then put into the Trace of an
example, which shows the first step that it spoils.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minigrad.trace import first_divergence
from minigrad.trace.text import number
from minigrad.watch.values import value as plain

from ..calls import Caller, StudentProblem, need_function
from ..comparison import same
from ..exercise import DERIVATIVES, Accept, Case, Exercise, Misconception, Returned
from ..feedback import Feedback, Line
from ..graphs import AskedRule, where_in_rule
from ..judge import Judgement, weigh
from ..numeric import all_close, close, partials, tidy
from ..student_trace import Example, about, call_text, first_wrong_step, with_rules
from .rules_on_arrays import pulled, pushed

Numbers = tuple[float, ...]
Trial = tuple[Numbers, Numbers, float]
"""The operation's inputs, their tangents, and the adjoint g of its result."""

DIRECTIONS = ((1.0, 0.0), (0.0, 1.0))
GRADED = 6
"""Random trials of a submission: together with the small ones they tell every classic mistake from
the right rules.
"""
PRACTICE = 20


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

    name: also that of the operation in a Trace; f: its value, on floats; op: the same operation on
    tensors, where f itself does not take them; letters: its inputs, as the rules' parameters are
    called; values: small inputs to try, inside its domain; draw: random ones; examples: functions
    of two arguments in which it occurs.
    """
    asked = _Asked(name, f, op or f, letters, values, draw, examples, tuple(hints))
    return asked.exercise


class _Asked:
    """What `Rules` asks for, and its check in the notebook."""

    def __init__(
        self,
        name: str,
        f: Callable[..., float],
        op: Callable[..., Any],
        letters: tuple[str, ...],
        values: tuple[Numbers, ...],
        draw: Callable[[random.Random], Numbers],
        examples: tuple[Example, ...],
        hints: tuple[str, ...],
    ) -> None:
        self.name, self.f, self.op, self.letters = name, f, op, letters
        self.values, self.draw, self.examples = values, draw, examples
        self.tangent, self.adjoint = f"tangent_{name}", f"adjoint_{name}"
        self.exercise = Exercise(
            name,
            {"tangent rule": 1, "adjoint rule": 1},
            lambda rng: self.cases(self.trials(random.Random(int(rng.integers(2**62))), GRADED)),
            answers=(self.tangent, self.adjoint),
            title=f"Exercise {name}",
            forbid=(DERIVATIVES,),
            hints=hints,
            notebook=self.check,
            where=where_in_rule(self.asked),
            misconceptions=tuple(self.misconceptions()),
        )
        self.exercise.accept_all(self.judge_of)

    # ---------------------------------------------------------------------------------------- cases

    def trials(self, rng: random.Random, drawn: int) -> list[Trial]:
        """Small trials, and so many random ones with one digit after the point, in order of size:
        those with few digits and small numbers come first.
        """
        n = len(self.letters)
        units = [tuple(1.0 if j == i else 0.0 for j in range(n)) for i in range(n)]
        tangents = [*units, tuple(float(j + 2) for j in range(n))]
        small: list[Trial] = [(v, t, g) for v in self.values for t in tangents for g in (1.0, 2.0)]
        random_: list[Trial] = [
            (
                tuple(round(x, 1) for x in self.draw(rng)),
                tuple(round(rng.uniform(-3, 3), 1) for _ in range(n)),
                round(rng.uniform(-3, 3), 1),
            )
            for _ in range(drawn)
        ]
        return sorted(small + random_, key=_size)

    def cases(self, trials: Sequence[Trial]) -> Iterator[Case]:
        """The calls of both rules; a rule is not asked the same thing twice."""
        known: set[tuple[Any, ...]] = set()
        for trial in trials:
            x, t, g = trial
            inputs = dict(zip(self.letters, x, strict=True))
            dots = {f"d{a}": dot for a, dot in zip(self.letters, t, strict=True)}
            for group, call, moved in (
                ("tangent rule", self.tangent, dots),
                ("adjoint rule", self.adjoint, {"g": g}),
            ):
                args = inputs | moved
                key = (call, *args.values())
                if key not in known:
                    known.add(key)
                    digits, total = _size(trial)
                    yield Case.of(group, args, call=call, size=digits + total / 1000)

    def asked(self, case: Case) -> AskedRule:
        """A case's rule, for its picture."""
        x, moved = self.split(case)
        inputs = dict(zip(self.letters, x, strict=True))
        return AskedRule(self.op, inputs, moved, case.call == self.tangent)

    def split(self, case: Case) -> tuple[Numbers, Numbers]:
        """A case's inputs, and what moves: the tangents, or g alone."""
        given, n = tuple(case.args.values()), len(self.letters)
        return given[:n], given[n:]

    # ------------------------------------------------------------------------------------- verdicts

    def judge_of(self, cases: Sequence[Case]) -> Accept:
        """The verdict of the trusted side. The engine is asked once for each of the two rules."""
        right: dict[Case, Any] = {}
        for call in (self.tangent, self.adjoint):
            if mine := [case for case in cases if case.call == call]:
                right |= zip(mine, self.by_engine(call, mine), strict=True)
        return lambda case, got: same(
            right[case], self.alone(got), name=f"what `{case.call}` returned"
        )

    def by_engine(self, call: str, cases: Sequence[Case]) -> list[Any]:
        """What is right in the calls of one rule."""
        columns = np.array([tuple(case.args.values()) for case in cases], dtype=np.float64).T
        x, moved = columns[: len(self.letters)], columns[len(self.letters) :]
        if call == self.tangent:
            return list(pushed(self.op, x, moved).tolist())
        parts = [part.tolist() for part in pulled(self.op, x, moved[0])]
        return parts[0] if len(parts) == 1 else list(map(list, zip(*parts, strict=True)))

    def verify(self, case: Case, got: Any) -> bool:
        """The verdict of the notebook, by central differences."""
        return all_close(got if isinstance(got, tuple) else (got,), self.by_differences(case))

    def by_differences(self, case: Case) -> Numbers:
        """What is right, as well as central differences tell."""
        x, moved = self.split(case)
        slopes = partials(self.f, x)
        if case.call == self.tangent:
            return (sum(p * t for p, t in zip(slopes, moved, strict=True)),)
        return tuple(moved[0] * p for p in slopes)

    def alone(self, got: Any) -> Any:
        """A pair of one as its only entry, where there is one input."""
        single = len(self.letters) == 1 and type(got) in (list, tuple) and len(got) == 1
        return got[0] if single else got

    def misconceptions(self) -> Iterator[Misconception]:
        """The classic mistakes of both rules: each is broken in the calls of its own rule, and
        silent in those of the other.
        """
        ones = (1.0,) * len(self.letters)
        for call, mistakes in ((self.tangent, tangent_mistakes), (self.adjoint, adjoint_mistakes)):

            def run(case: Case, say: str, call: str = call, mistakes: Any = mistakes) -> Any:
                if case.call != call:
                    return None
                x, moved = self.split(case)
                t, g = (moved, 1.0) if call == self.tangent else (ones, moved[0])
                made = dict(mistakes(Setting(self.f, self.letters, x, t, g)))[say]
                return made[0] if len(made) == 1 else list(made)

            for say, _ in mistakes(Setting(self.f, self.letters, self.values[0], ones, 1.0)):
                yield Misconception(
                    f"{call.partition('_')[0]} rule: {say.rstrip('.')}",
                    say,
                    lambda case, say=say, run=run: run(case, say),
                )

    # --------------------------------------------------------------------------------- the notebook

    def check(
        self, tangent: Any = None, adjoint: Any = None, *rest: Any, rng: random.Random | None = None
    ) -> Feedback:
        """Judge the two rules; rng: where the random trials come from (fresh ones on every run by
        default).
        """
        caller, given = Caller(), {self.tangent: tangent, self.adjoint: adjoint}
        trials = self.trials(rng or random.Random(), PRACTICE)
        cases = list(self.cases(trials))
        lines: list[Line] = []
        found: dict[str, Judgement] = {}
        statuses = []
        for call, rule in given.items():
            mine = [case for case in cases if case.call == call]
            try:
                need_function(rule, call)
                returned = [Returned(self.called(caller, rule, case)) for case in mine]
                found[call] = weigh(self.exercise, mine, returned, self.verify)
                statuses.append("right" if found[call].full else "wrong")
                lines += self.verdict(found[call], mine, returned)
            except StudentProblem as problem:
                kind = "unfinished" if problem.kind == "unfinished" else "trouble"
                statuses.append(kind)
                lines.append(Line(kind, f"{call.partition('_')[0]} rule: {problem.say}"))
        lines += self.identity(caller, given, found, trials)
        points = float(statuses.count("right"))
        # Where one rule is not there yet, the state of the other one is the more useful headline.
        status = next(
            (s for s in ("wrong", "trouble") if s in statuses),
            "right" if points == 2 else "unfinished" if points == 0 else "wrong",
        )
        hints = () if points == 2 else self.exercise.hints
        feedback = Feedback(
            self.exercise.title, status, self.name, lines, points, 2.0, hints,
            printed=caller.printed,
        )  # fmt: skip
        if "wrong" in statuses:
            self.show_on_trace(caller, given, found, feedback)
        if found:
            feedback.checked = (
                f"Checked here: {len(trials)} cases, some small and some random, against central"
                " differences. Work that you hand in is graded on other cases of the same kind."
            )
        return feedback

    def called(self, caller: Caller, rule: Any, case: Case) -> Any:
        """What a rule gives for a case: a number, or a tuple of them. Raises StudentProblem."""
        args = tuple(case.args.values())
        return self.alone(self.value(caller, rule, case.call, args, case.args))

    def value(
        self, caller: Caller, rule: Any, call: str, args: Numbers, names: Mapping[str, Any] | None
    ) -> Any:
        shown = call_text(call, args, names)
        if call == self.tangent:
            return caller.number(rule, args, shown)
        return caller.numbers(rule, args, shown, len(self.letters))

    def verdict(
        self, judgement: Judgement, cases: Sequence[Case], returned: Sequence[Returned]
    ) -> Iterator[Line]:
        """The lines about one rule."""
        what = f"{cases[0].call.partition('_')[0]} rule"
        first = next((i for i, item in enumerate(judgement.items) if not item.right), None)
        if first is None:
            yield Line(
                "right", f"{what}: agrees with central differences in all {len(cases)} cases."
            )
            return
        case, got = cases[first], returned[first].value
        got = got if isinstance(got, tuple) else (got,)
        call = call_text(case.call, case.args.values(), case.args)
        right = tuple(map(tidy, self.by_differences(case)))
        yield Line(
            "wrong",
            f"{what}: `{call}` returned {_pair(got)}, but a central difference says"
            f" {_pair(right)}.",
        )
        if any(x != x for x in got):
            yield Line(
                "note",
                "NaN means “not a number”: somewhere in your rule there is something like ∞ − ∞ or"
                " ∞ · 0.",
            )
        if judgement.misconception:
            yield Line("note", judgement.misconception["say"])

    def identity(
        self,
        caller: Caller,
        given: Mapping[str, Any],
        found: Mapping[str, Judgement],
        trials: Sequence[Trial],
    ) -> Iterator[Line]:
        """g · ẏ = Σ x̄ᵢ · ẋᵢ ties the two rules to each other, whatever the operation is."""
        if len(found) < 2:
            return
        both_wrong = not any(judgement.full for judgement in found.values())
        try:
            for x, t, g in trials:
                dot = self.value(caller, given[self.tangent], self.tangent, (*x, *t), None)
                bars = self.value(caller, given[self.adjoint], self.adjoint, (*x, g), None)
                one, other = g * dot, sum(b * d for b, d in zip(bars, t, strict=True))
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

    def show_on_trace(
        self,
        caller: Caller,
        given: Mapping[str, Any],
        found: Mapping[str, Judgement],
        feedback: Feedback,
    ) -> None:
        """Find an example in which the wrong rule shows, and put the viewer at the first wrong
        step.
        """

        def in_trace(call: str) -> Callable[..., Any] | None:
            run = lambda *args: self.value(caller, given[call], call, args, None)
            return run if call in found else None

        try:
            for example in self.examples:
                for tangents in DIRECTIONS:
                    reference = example.trace(tangents=tangents)
                    theirs = with_rules(
                        reference, self.name, in_trace(self.tangent), in_trace(self.adjoint)
                    )
                    index = first_wrong_step(reference, theirs)
                    if index is None or first_divergence(reference, theirs) is None:
                        continue
                    step = theirs["steps"][index]
                    feedback.trace, feedback.step = theirs, index + 1
                    feedback.reference = reference
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


def _size(trial: Trial) -> tuple[int, float]:
    x, t, g = trial
    every = (*x, *t, g)
    return sum(len(f"{abs(v):g}") for v in every), sum(abs(v) for v in every)


def _pair(numbers: Numbers) -> str:
    text = ", ".join(number(plain(x)) for x in numbers)
    return f"({text})" if len(numbers) > 1 else text


# --------------------------------------------------------------------------------- classic mistakes


class Setting:
    """What a mistake is made of: the inputs, the value, the partial derivatives, at one case."""

    def __init__(
        self, f: Callable[..., float], letters: tuple[str, ...], x: Numbers, t: Numbers, g: float
    ) -> None:
        self.f, self.letters = f, letters
        self.x, self.t, self.g = x, t, g
        self.y, self.p = f(*x), partials(f, x)
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
    yield "the sign is reversed.", dot([-p for p in s.p])
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
        f"the term with `d{b}` is missing: each input sends its own contribution.",
        (s.p[0] * s.t[0],),
    )
    yield (
        f"the term with `d{a}` is missing: each input sends its own contribution.",
        (s.p[1] * s.t[1],),
    )
    yield f"the sign of the term with `d{b}` is wrong.", dot((s.p[0], -s.p[1]))
    yield f"the sign of the term with `d{a}` is wrong.", dot((-s.p[0], s.p[1]))
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
    yield "the sign is reversed.", scaled([-p for p in s.p])
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
