"""The one place that says a public name.

From the declaration of a function follow the function of `mg`, the method of tensors, its in-place
form, the keyword names of PyTorch and NumPy, and `out=`. A function without an underscore in a file
of the vocabulary (minigrad/functions, minigrad/arrays, linalg, …) is public under each name
assigned to it there; `@public(…)` above it says what is unusual about it, and the last line of the
file publishes all:

    @public(in_place=True, theirs="input mat1 mat2")
    def addmm(x, a, b, *, beta=1, alpha=1): ...            # mg.addmm, Tensor.addmm, Tensor.addmm_

    publish(__name__)

Methods and attributes that are no functions of `mg` are declared by `@method` and `@attribute`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

from .backend import can_write
from .core.tensor import Tensor
from .core.views import assign, check_target
from .errors import AutogradError, DTypeError, ShapeError
from .grad_mode import is_grad_enabled, no_grad

TensorLike = Tensor | Any
"""What functions take for a tensor: a tensor, an array, nested lists, a number."""
Function = TypeVar("Function", bound=Callable[..., Any])


class Declaration(NamedTuple):
    """What a public function is, as the arguments of `public` say."""

    function: bool = True
    method: bool | None = None
    in_place: bool = False
    theirs: tuple[str, ...] = ()
    out: bool = False


USUAL = Declaration()
_declared: dict[Callable[..., Any], Declaration] = {}


def public(
    *,
    function: bool = True,
    method: bool | None = None,
    in_place: bool = False,
    theirs: str = "",
    out: bool = False,
) -> Callable[[Function], Function]:
    """Declare what is unusual about a public function, which stays as it is.

    function: whether `mg` offers it; method: whether tensors do (by default as `publish` says);
    in_place: whether tensors have the method with an underscore too, which overwrites them; theirs:
    PyTorch's names of the first parameters, where they are not `input` for x, a or A and `other`
    for b; out: whether the function of `mg` takes `out=` even if its parameters have PyTorch's
    names already.
    """
    declaration = Declaration(function, method, in_place, tuple(theirs.split()), out)

    def declare(made: Function) -> Function:
        _declared[made] = declaration
        return made

    return declare


unlisted: Callable[[Function], Function] = public(function=False, method=False)
"""Declare that a function without an underscore is for other files of the package alone."""


def publish(module: str, *others: str, method: bool = True) -> list[str]:
    """Attach the public functions that a module defines to Tensor, and list in its `__all__` what
    it offers.

    others: names that it offers besides; method: whether its functions become methods, where their
    declaration does not say. Returns the list.
    """
    space, offered = vars(sys.modules[module]), list(others)
    for name, function in list(space.items()):
        if (
            not isinstance(function, FunctionType)
            or name.startswith("_")
            or function.__module__ != module
        ):
            continue
        declaration = _declared.get(function, USUAL)
        if declaration.function:
            offered.append(name)
        if method if declaration.method is None else declaration.method:
            attach(name, respelt(function, name, bound=True))
        if declaration.in_place:
            attach(f"{name}_", in_place(function, f"{name}_"))
    space["__all__"] = sorted(offered)
    return sorted(offered)


def offered(package: str) -> list[str]:
    """What the files of a package that are loaded list in their `__all__`."""
    files = [m for name, m in sys.modules.items() if name.rpartition(".")[0] == package]
    return [name for file in files for name in getattr(file, "__all__", ())]


# --------------------------------------------------------------------------- methods of tensors


attached: dict[str, Any] = {}
"""The methods and attributes that tensors were given."""


def attach(name: str, value: Any, owner: type = Tensor, listed: bool = True) -> None:
    """Give tensors a method or an attribute, or instances of another class of the core. All that
    users find on such a class and the core does not define is attached here. listed: whether it is
    one of the documented names of tensors."""
    if owner is Tensor and listed:
        attached[name] = value
    setattr(owner, name, value)


def method(function: Function) -> Function:
    """Give tensors a method that is no function of `mg`."""
    attach(function.__name__, function)
    return function


def attribute(function: Callable[[Any], Any]) -> property:
    """Give tensors a property, whose setter may follow as `@name.setter` and `attach("name",
    name)`.
    """
    made = property(function)
    attach(function.__name__, made)
    return made


def in_place(function: Callable[..., Any], name: str, shown: str = "") -> Callable[..., Any]:
    """A method that computes `function` and writes the result into its tensor.

    shown: what error messages call it, its name by default.
    """

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_target(self, shown or name)
        made = function(self, *args, **kwargs)
        return assign(self, made, shown or name, checked=made.node is None)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = (
        f"As `{name.rstrip('_')}`, but writes the result into this tensor and returns it."
    )
    if isinstance(function, FunctionType):
        parameters = signature(function).parameters.values()
        shown_to = Signature([p for p in parameters if p.name != "out"], return_annotation="Tensor")
        setattr(method, "__signature__", shown_to)  # for help() and editors  # noqa: B010
    return method


# --------------------------------------------------------------- keyword names, as PyTorch has them

USUAL_NAMES = {"x": "input", "a": "input", "A": "input", "b": "other"}
"""PyTorch's names of the first parameters. Here they are called as formulas call them."""
NUMPY = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
"""The names that PyTorch takes for its own, so that programs written for NumPy run."""


@cache
def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """The names of the parameters in order, and of what kind each is."""
    return {name: parameter.kind for name, parameter in signature(function).parameters.items()}


def other_names(function: Callable[..., Any]) -> dict[str, str]:
    """What PyTorch and NumPy call the parameters of a function: {their name: its own}. Its own
    names stay what they are.
    """
    own = list(_parameters(function))
    found: dict[str, str] = {}
    theirs = _declared.get(function, USUAL).theirs or [USUAL_NAMES.get(p, p) for p in own[:2]]
    for mine, pytorch in zip(own, [*theirs, *own[len(theirs) :]], strict=False):
        for spelling in (pytorch, *NUMPY.get(pytorch, ())):
            if spelling not in own:
                found.setdefault(spelling, mine)
    return found


_respelt: dict[tuple[Any, ...], Callable[..., Any]] = {}
"""One function for all names of a function with the same other names of its parameters."""


def respelt(function: Callable[..., Any], name: str, bound: bool = False) -> Callable[..., Any]:
    """The function, taking also PyTorch's and NumPy's names of its parameters, and `out=`.

    The function itself where there are no such names that matter. bound: it becomes a method, whose
    first argument has no name. Calls raise TypeError where two names of one parameter are given.
    """
    declaration = _declared.get(function, USUAL)
    names = other_names(function)
    kinds = _parameters(function)
    first = next(iter(kinds), "")
    others = {theirs for theirs, mine in names.items() if not (bound and mine == first)} - {
        "x",
        "a",
        "x1",
        "x2",
    }
    if not others and not ((declaration.theirs or declaration.out) and not bound):
        return function
    key = (function, bound)
    if key in _respelt:
        return _respelt[key]
    unnamed = {Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL} & set(kinds.values())
    by_place = [p for p in kinds if kinds[p] is not Parameter.KEYWORD_ONLY] if unnamed else []

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if "out" in kwargs and "out" not in kinds:
                out = kwargs.pop("out")
                return into(out, run(*args, **kwargs), name, (*args, *kwargs.values()))
            given = {names.get(key, key): value for key, value in kwargs.items()}
            if len(given) < len(kwargs):
                raise TypeError(f"{name}: two of {', '.join(kwargs)} are names of one parameter.")
            args = (*args, *(given.pop(p) for p in by_place if p in given))
            return function(*args, **given)
        return function(*args)

    _respelt[key] = run
    return run


def respell(module: str, names: Iterable[str]) -> None:
    """Let the functions of a module that users call take PyTorch's and NumPy's names of
    parameters.
    """
    space = vars(sys.modules[module])
    for name in names:
        function = space.get(name)
        if isinstance(function, FunctionType):
            space[name] = made = respelt(function, name)
            if made is not function and made.__module__ != module:
                made.__module__, made.__qualname__ = module, name  # where pickle finds it


# ------------------------------------------------------------------------------------------ out=


@overload
def into(out: Any, result: Tensor, name: str, inputs: Any) -> Tensor: ...
@overload
def into(out: Any, result: Any, name: str, inputs: Any) -> Any: ...
def into(out: Any, result: Any, name: str, inputs: Any) -> Any:
    """Write a result into `out`, a tensor or a tuple of them, and return it: PyTorch's `out=`.

    An empty tensor takes the result's shape. Raises AutogradError where the operation would be
    recorded or an argument has a tangent, ShapeError for another shape, DTypeError for a dtype that
    cannot take the values.
    """
    if out is None:
        return result
    if isinstance(result, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(result):
            raise TypeError(
                f"{name}: out must be a tuple of {len(result)} tensors, got {type(out).__name__}."
            )
        made = [into(o, r, name, inputs) for o, r in zip(out, result, strict=True)]
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
    if not isinstance(out, Tensor) or not isinstance(result, Tensor):
        raise TypeError(f"{name}: out must be a Tensor, got {type(out).__name__}.")
    given = [x for a in inputs for x in (a if isinstance(a, list | tuple) else (a,))]
    tensors = [out, *(x for x in given if isinstance(x, Tensor))]
    if is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise AutogradError(
            f"{name}: out= cannot be differentiated, and an argument requires grad. Leave out="
            " away, or compute it under mg.no_grad()."
        )
    if any(x.tangents for x in tensors):
        raise AutogradError(
            f"{name}: out= cannot be differentiated, and an argument has a tangent. Leave out="
            " away."
        )
    if not can_write(result.dtype, out.dtype):
        raise DTypeError(
            f"{name}: a result of dtype {result.dtype} cannot be written to out of dtype"
            f" {out.dtype}."
        )
    with no_grad():
        if out.shape == result.shape:
            out.copy_(result)
        elif out.numel():
            raise ShapeError(
                f"{name}: out has shape {out.shape}, but the result has {result.shape}. Give out"
                " that shape, or none: mg.empty(0)."
            )
        else:
            # attached by minigrad/methods
            setattr(out, "data", result.detach().to(out.dtype, copy=True))  # noqa: B010
    return out
