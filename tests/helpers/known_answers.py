"""Small programs with known answers, run on minigrad, where the answer proves the engine, and on
PyTorch, where it proves the answer.

    s = Scenarios()

    @s.gives([2.0, 2.0])
    def the_gradient_of_a_sum(m):
        x = m.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        return x.grad

    @s.refuses(InPlaceError, "leaf", "no_grad")
    def a_leaf_is_not_modified(m): ...

    test_minigrad, test_pytorch = s.tests()

`m` is the module minigrad or torch. Answers hold numbers, strings, None and nested lists; tensors
are compared by their elements. A refusal names the class of error and words that the user must find
in minigrad's message; PyTorch must refuse as well, in its own words. `mine_only` marks what
minigrad does on purpose in another way (a clearer refusal, a right number where PyTorch gives up);
the reason stands in the docstring.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg


class Refusal:
    """An expected exception: its class, and words that its message must hold."""

    def __init__(self, kind: type[BaseException], words: tuple[str, ...]) -> None:
        self.kind, self.words = kind, words


class Scenarios:
    """A list of small programs and what each must give."""

    def __init__(self) -> None:
        self.programs: list[tuple[Callable[[Any], Any], Any, bool]] = []

    def gives(
        self, answer: Any, *, mine_only: bool = False
    ) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        """The decorated program returns `answer`."""
        return lambda program: self.programs.append((program, answer, mine_only)) or program

    def refuses(
        self, kind: type[BaseException], *words: str, mine_only: bool = False
    ) -> Callable[[Any], Any]:
        """The decorated program raises `kind` with all `words` in its message."""
        return lambda program: (
            self.programs.append((program, Refusal(kind, words), mine_only)) or program
        )

    def tests(self) -> tuple[Callable[..., None], Callable[..., None]]:
        """Two parametrised tests: all programs on minigrad, and those not `mine_only` on
        PyTorch.
        """
        name = lambda entry: entry[0].__name__

        @pytest.mark.parametrize(
            ("program", "answer"), [pytest.param(p, a, id=p.__name__) for p, a, _ in self.programs]
        )
        def on_minigrad(program: Any, answer: Any) -> None:
            if not isinstance(answer, Refusal):
                assert_same(plain(program(mg)), answer)
                return
            with pytest.raises(answer.kind) as caught:
                program(mg)
            missing = [w for w in answer.words if w not in str(caught.value)]
            assert not missing, f"the message does not say {missing}: {caught.value}"

        @pytest.mark.oracle
        @pytest.mark.parametrize(
            ("program", "answer"),
            [pytest.param(p, a, id=p.__name__) for p, a, own in self.programs if not own],
        )
        def on_pytorch(program: Any, answer: Any, torch: Any) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch warns of what the program does on purpose
                if isinstance(answer, Refusal):
                    with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)):
                        program(torch)
                    return
                assert_same(plain(program(torch)), answer)

        assert len({name(p) for p in self.programs}) == len(self.programs), (
            "two programs have one name"
        )
        return on_minigrad, on_pytorch


def plain(value: Any) -> Any:
    """Tensors, shapes and tuples as nested lists, dtypes as their names."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    return str(value).removeprefix("torch.")


def assert_same(value: Any, answer: Any) -> None:
    """Equal, numbers up to rounding (relative 1e-5: most programs compute in float32)."""
    assert _same(value, plain(answer)), f"{value} is not {answer}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if (
        isinstance(a, bool)
        or isinstance(b, bool)
        or not isinstance(a, int | float)
        or not isinstance(b, int | float)
    ):
        return (
            type(a) is type(b) and bool(a == b)
            if not isinstance(a, complex)
            else abs(a - b) <= 1e-5 * abs(b)
        )
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7) or (math.isnan(a) and math.isnan(b))
