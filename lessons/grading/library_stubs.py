"""Stubs of packages that only display: importing matplotlib in an answer's cell must not cost
the answer.

While a submission is graded, `plt.plot(x)` does nothing. Anything can be asked of a stub, and any
arithmetic done with it; it gives another one. As soon as code computes with one, or returns one,
the grader is told, and runs the submission again with the real Matplotlib where that is installed:
what a picture gives then has its true value. `minigrad.lessons.grading` is a stub too: the checks
in a notebook are for the student, and the grader does not look at them.

A package that is not here and that a cell imports can be imported as well, so that the rest of the
cell runs: it is the first use of it that fails, with a sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dis import opname
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

DISPLAY_ONLY = frozenset(
    "matplotlib IPython ipywidgets tqdm seaborn plotly bokeh altair graphviz PIL rich ipykernel"
    " otter nbgrader".split()
)
OUR_OWN = ("minigrad.viz", "minigrad.lessons")
"""Of minigrad itself: the pictures, and the checks in a notebook."""

NOT_HERE = frozenset({"sympy"})
"""What the lessons' own cells use and no exercise asks for."""
_missing: set[str] = set(NOT_HERE)
_there: list[str] = []


def may_be_missing(packages: Iterable[str]) -> None:
    """Packages whose import succeeds from now on although they are not here. Those of an import in
    a `try` are not among them: there the failure is expected.
    """
    _missing.update(packages)


_tell: Callable[[], object] | None = None


def tell_of_the_first(tell: Callable[[], object]) -> None:
    """`tell` is called as soon as code computes with a stub for the first time."""
    global _tell
    _tell = tell


def _used() -> None:
    global _tell
    tell, _tell = _tell, None
    if tell is not None:
        tell()


def tell_if_named(message: str) -> None:
    """Tells of a stub where an error's message names its class."""
    if "Nothing" in message or "_StandIn" in message:
        _used()


def tell_if_nothing(value: Any, depth: int = 0) -> None:
    """Tells of a stub in a value that was returned."""
    if isinstance(value, Nothing):
        _used()
    elif depth < 3 and isinstance(value, list | tuple):
        for item in value[:100]:
            tell_if_nothing(item, depth + 1)


def _gives_itself(self: Any, *others: Any) -> Any:
    _used()
    return self


def _gives_no(self: Any, *others: Any) -> bool:
    _used()
    return False


class Nothing:
    """Can be called, indexed, entered, iterated over and asked for any attribute, and does
    nothing. Code that computes with it goes on, and the grader is told.
    """

    __slots__ = ()

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
        if opname[operation] == "UNPACK_SEQUENCE":
            return iter([self] * count)
        _used()  # `for ax, h in zip(axes, steps)` computes something for each step
        return iter([self])

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> bool:
        return False

    def __repr__(self) -> str:
        return "<nothing is displayed while a submission is graded>"

    def __format__(self, form: str) -> str:
        return repr(self)

    def __len__(self) -> int:
        _used()
        return 1

    def __bool__(self) -> bool:
        _used()
        return True

    def __eq__(self, other: object) -> bool:
        _used()
        return self is other

    __hash__ = object.__hash__

    def __float__(self) -> float:
        _used()
        return 0.0

    def __int__(self) -> int:
        _used()
        return 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        _used()
        return np.zeros((), dtype)

    __index__ = __int__
    __lt__ = __le__ = __gt__ = __ge__ = _gives_no
    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = (
        _gives_itself
    )
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = (
        _gives_itself
    )
    __matmul__ = __rmatmul__ = __neg__ = __pos__ = __abs__ = __round__ = _gives_itself
    __or__ = __ror__ = __and__ = __rand__ = __xor__ = __rxor__ = __invert__ = _gives_itself


nothing = Nothing()


def _progress(iterable: Any = (), *args: Any, **kwargs: Any) -> Any:
    return _Progress(iterable)


class _Progress(Nothing):
    """A progress bar that only goes through what it was given."""

    __slots__ = ("_iterable",)

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


class _StubFinder:
    """Finds the packages above, before Python looks for the real ones."""

    def __init__(self, nothing_: Nothing) -> None:
        self.nothing = nothing_

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root = name.partition(".")[0]
        ours = name.startswith(OUR_OWN) or (root in DISPLAY_ONLY and root not in _there)
        return ModuleSpec(name, self, is_package=True) if ours else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _StandIn(spec.name)
        module.nothing = self.nothing  # type: ignore[attr-defined]
        module.__all__ = []  # type: ignore[attr-defined]  # for `from matplotlib import *`
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


# -------------------------------------------------------------------------------- packages not here


GONE = "It is a package that may not be here."


def is_gone(error: BaseException) -> bool:
    """Whether an error is that of a package which could be imported and is not here."""
    return GONE in getattr(error, "__notes__", ())


class _Gone:
    """Something out of a package that is not here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        package = self._name.partition(".")[0]
        here = ", ".join(["NumPy", "minigrad", *sorted(_there)])
        say = (
            f"{package} is not there when a submission is graded, so `{self._name}` cannot be used;"
            f" {here} and the standard library are."
        )
        error = ModuleNotFoundError(say, name=package)
        error.add_note(GONE)
        raise error

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
            ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in _missing else None
        )  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _GonePackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install(nothing_: Nothing, there: Iterable[str] = ()) -> None:
    """From now on, importing one of the packages gives a stub; there: packages that are real."""
    _there[:] = there
    sys.meta_path.insert(0, _StubFinder(nothing_))  # type: ignore[arg-type]
    sys.meta_path.append(_LastFinder())  # type: ignore[arg-type]
