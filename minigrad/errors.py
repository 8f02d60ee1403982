"""Every mistake that minigrad can tell you about, one class each.

Reading this file teaches what can go wrong in automatic differentiation. Each docstring shows the
smallest program that fails and its cure. All classes derive from `RuntimeError` (shape mistakes
also from `ValueError`), as PyTorch users expect.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any


class AutogradError(RuntimeError):
    """The common ancestor: `except minigrad.AutogradError` catches every error below."""


class GraphFreedError(AutogradError):
    """A graph was walked backward a second time after its saved values were freed.

    >>> y = x.exp(); y.backward(); y.backward()            # fails
    >>> y.backward(retain_graph=True); y.backward()        # the cure
    """


class InPlaceError(AutogradError):
    """A value that a derivative rule needs was overwritten, or an in-place change cannot be
    differentiated.

    >>> y = x.sin(); x.mul_(2); y.backward()               # fails: the rule of sin needs the old x
    >>> y = x.sin(); x = x * 2; y.backward()               # the cure: make a new tensor
    """


class NonScalarError(AutogradError):
    """`backward()` was called on a tensor with several elements and without saying which
    combination of them to differentiate.

    >>> (x * 2).backward()                   # fails for x of shape (3,)
    >>> (x * 2).backward(mg.ones(3))         # a cotangent ("vector" of the vector-Jacobian product)
    >>> (x * 2).sum().backward()             # or reduce to one number first
    """


class NoGradientError(AutogradError):
    """A derivative was asked of something that carries no history.

    >>> mg.tensor(2.0).exp().backward()                    # fails: nothing requires grad
    >>> mg.tensor(2.0, requires_grad=True).exp().backward()
    """


class UnusedInputError(AutogradError):
    """`grad(outputs, inputs)` was asked for an input that the outputs do not depend on.

    >>> mg.autograd.grad(x.sum(), [x, z])                  # fails: z is not used
    >>> mg.autograd.grad(x.sum(), [x, z], allow_unused=True)      # None for z
    """


class NotDifferentiableError(AutogradError):
    """An operation, or one of its arguments, has no derivative rule in the mode that was asked
    for.
    """


class BatchingError(AutogradError):
    """Inside `vmap`, something was asked for that has a different answer in each example of the
    batch.

    >>> func.vmap(lambda x: x if x > 0 else -x)(xs)         # fails: Python can take one branch only
    >>> func.vmap(lambda x: mg.where(x > 0, x, -x))(xs)     # the cure
    """


class ShapeError(AutogradError, ValueError):
    """Shapes do not fit together; the message names the operation, the arguments and their
    shapes.
    """


class DTypeError(AutogradError, TypeError):
    """A dtype cannot be used here, for instance an integer tensor that shall require grad."""


class DeviceError(AutogradError):
    """Arrays of different devices met in one operation."""


class LinAlgError(AutogradError):
    """A matrix has no inverse, no Cholesky factor, or no factorisation that the algorithm could
    find.

    >>> mg.linalg.inv(mg.ones(2, 2))                    # fails: singular
    >>> mg.linalg.pinv(mg.ones(2, 2))                   # the cure: the pseudo-inverse exists always
    """


class GraphError(AutogradError):
    """A static graph was asked for something that it has not, or was fed something that it cannot
    use.

    >>> x = mg.graph.Variable("x"); y = x * x; bool(y > 1)        # fails: a graph has no values yet
    >>> mg.graph.Executor([y]).run({})                            # fails: x is not fed
    >>> mg.graph.Executor([y > 1]).run({x: 3.0})                  # the cure
    """


class TraceTooLargeError(AutogradError):
    """A Trace would have more nodes than were allowed; the recording was stopped there.

    >>> # fails, if long(1.0) makes more than 100 nodes
    >>> watch.trace_function(long, 1.0, most=100)
    >>> # the cure: a smaller part, or a larger limit
    >>> watch.trace_function(one_layer, 1.0, most=100)
    """


class ProgramError(AutogradError):
    """A recorded program is malformed, was called with inputs that it was not recorded for, or
    something cannot be recorded.

    >>> program = mg.graph.trace(f, mg.ones(3))
    >>> program(mg.ones(4))                              # fails: shapes are part of a program
    >>> program = mg.graph.trace(f, mg.ones(4))
    >>> program(mg.ones(4))                              # the cure: record again
    """


def one_of(function: str, name: str, value: Any, *known: Any) -> None:
    """Raise ValueError unless an argument is one of the values that it may have."""
    if value not in known:
        *others, last = (f'"{k}"' if isinstance(k, str) else repr(k) for k in known)
        raise ValueError(
            f"{function}: {name} must be {', '.join(others)} or {last}, got {value!r}."
        )


def did_you_mean(name: str, known: Iterable[str], place: str = "") -> str:
    """What to write instead of a name that does not exist, as the end of a message; "" where
    nothing is like it.

    place: where the name was looked for, a key of the table in hints.py. Names that are nearly
    right follow from `known`, or from what the library has in other places.
    """
    from difflib import get_close_matches

    from .hints import elsewhere, instead_of, spelt

    known = [k for k in known if not k.startswith("_")]
    found = instead_of(place, name) if place else None
    if found is not None and found.endswith("."):
        return f" {found}"
    alike = [k for k in known if k.lower() == name.lower()]
    sure = dict.fromkeys([*([found] if found else []), *alike])
    similar = [*sure] or get_close_matches(name, known, 2, 0.76)
    if place and not similar:
        paths = elsewhere()
        alike = [key for key in paths if spelt(key) == spelt(name)][:1]
        similar = [paths[key] for key in alike or get_close_matches(name, paths, 1, 0.76)]
    return f" Did you mean {' or '.join(similar)}?" if similar else ""


def no_such_name(module: str, name: str, known: Iterable[str]) -> AttributeError | ImportError:
    """The error of a module that is asked, by its `__getattr__`, for a name that it does not have.

    ImportError in `from module import name`: Python would replace the message of an AttributeError
    there.
    """
    from dis import opname

    frame = sys._getframe(2)
    looks_for_module = frame.f_code.co_name == "_handle_fromlist"  # Python asks before it imports
    unasked = looks_for_module or name.startswith("_")
    hint = "" if unasked else did_you_mean(name, known, module)
    imported = opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"
    # Python finds such a module itself after an AttributeError
    if imported and f"{module}.{name}" not in sys.modules:
        return ImportError(f"cannot import name {name!r} from {module!r}.{hint}", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}.{hint}", name=name)


def with_hints(module: ModuleType) -> None:
    """Give a module the `__getattr__` that says what to write instead of a name that it does not
    have.

    A module keeps one of its own: where an exercise forbids a module, it says so
    (lessons/grading/stripped_library.py).
    """
    names = vars(module)
    if "__getattr__" in names:
        return

    def __getattr__(name: str) -> Any:
        raise no_such_name(module.__name__, name, names)

    names["__getattr__"] = __getattr__


class MissingModules:
    """Says what to write where `import minigrad.name` names no module, for names that hints.py
    knows.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Nothing; raises ModuleNotFoundError with a hint if there is one. Python asks this when
        all other finders found nothing.
        """
        place, _, name = fullname.rpartition(".")
        if place.partition(".")[0] != "minigrad":
            return
        from .hints import instead_of

        found = instead_of(place, name)
        if found is not None:
            hint = found if found.endswith(".") else f"Did you mean {found}?"
            raise ModuleNotFoundError(f"No module named {fullname!r}. {hint}", name=fullname)
