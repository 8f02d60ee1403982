"""Stubs of packages that only display: importing matplotlib in an answer's cell must not cost
the answer.

While a hand-in is graded, `plt.plot(x)` does nothing. Anything can be asked of a stub; it gives
another one. `minigrad.lessons.grading` is one too: the checks in a notebook are for the student,
and the grader does not look at them. A package that a lesson's own cells use, and that is not here,
can be imported as well, so that the rest of the cell runs: it is the first use of it that fails,
with a sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dis import opname
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, NoReturn

DISPLAY_ONLY = frozenset(
    "matplotlib IPython ipywidgets tqdm seaborn plotly bokeh altair graphviz PIL rich ipykernel"
    " otter nbgrader".split()
)
OUR_OWN = ("minigrad.viz", "minigrad.lessons")
"""Of minigrad itself: the pictures, and the checks in a notebook."""

NOT_HERE = frozenset({"sympy"})
"""What the lessons' own cells use and no exercise asks for. Any other package that is not here
fails at its import, as everywhere.
"""


class Nothing:
    """Can be called, indexed, entered, iterated over and asked for any attribute, and does
    nothing.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # As a decorator, such as `@interact`, it leaves the function as it is.
        return (
            args[0]
            if len(args) == 1 and isinstance(args[0], FunctionType | type) and not kwargs
            else self
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        # `figure, axes = plt.subplots()` wants two: the number stands in the instruction that asks.
        # Any other loop gets one.
        asking = sys._getframe(1)
        operation, count = asking.f_code.co_code[asking.f_lasti : asking.f_lasti + 2]
        return iter([self] * (count if opname[operation] == "UNPACK_SEQUENCE" else 1))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> bool:
        return False

    def __repr__(self) -> str:
        return "<nothing is displayed while a hand-in is graded>"


nothing = Nothing()


def _progress(iterable: Any = (), *args: Any, **kwargs: Any) -> Any:
    return _Progress(iterable)


class _Progress(Nothing):
    """A progress bar that only goes through what it was given."""

    def __init__(self, iterable: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def __len__(self) -> int:
        return len(self._iterable)


class _StandIn(ModuleType):
    # so that its submodules are looked for, and found here
    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__.partition(".")[0] == "tqdm" and name in (
            "tqdm",
            "trange",
            "tqdm_notebook",
        ):
            return (lambda n, *a, **k: _Progress(range(n))) if name == "trange" else _progress
        return self.nothing

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.nothing(*args, **kwargs)


class _Finder:
    """Finds the packages above, before Python looks for the real ones."""

    def __init__(self, nothing_: Nothing) -> None:
        self.nothing = nothing_

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        ours = name.startswith(OUR_OWN) or name.partition(".")[0] in DISPLAY_ONLY
        return ModuleSpec(name, self, is_package=True) if ours else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _StandIn(spec.name)
        module.nothing = self.nothing  # type: ignore[attr-defined]
        module.__all__ = []  # type: ignore[attr-defined]  # for `from matplotlib import *`
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


# -------------------------------------------------------------------------------- packages not here


class _Gone:
    """Something out of a package that is not here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        package = self._name.partition(".")[0]
        here = "NumPy, minigrad and the standard library are"
        say = (
            f"{package} is not there when a hand-in is graded, so `{self._name}` cannot be used;"
            f" {here}."
        )
        raise ModuleNotFoundError(say, name=package)

    __call__ = __getitem__ = __iter__ = __len__ = __mro_entries__ = __enter__ = __exit__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        __pow__
    ) = __matmul__ = __neg__ = _fail

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._fail()


class _GonePackage(ModuleType):
    # so that its submodules are looked for, and found here
    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Gone(f"{self.__name__}.{name}")


class _LastFinder:
    """Finds those packages when no other finder has."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return (
            ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in NOT_HERE else None
        )  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _GonePackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install(nothing_: Nothing) -> None:
    """From now on, importing one of the packages gives a stub."""
    sys.meta_path.insert(0, _Finder(nothing_))  # type: ignore[arg-type]
    sys.meta_path.append(_LastFinder())  # type: ignore[arg-type]
