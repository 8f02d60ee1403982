"""Layers without parameters: a function together with its settings. `PixelShuffle(2)(x)` is
`functional.pixel_shuffle(x, 2)`.

    class AvgPool1d(FunctionLayer, function=F.avg_pool1d):
        \"""Mean of each window.\"""

The function's signature says the rest: the parameters that have a default value, or that
`settings=` names, are the settings of the layer, and the others are what it is called with.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from ..core.tensor import Tensor, as_tensor
from .extra_repr import shown
from .module import Module

BUFFERS = ("weight", "pos_weight", "_random_samples")
"""Settings that belong to the state of a layer."""
NO_SETTINGS = ("training", "out", "dtype")


class FunctionLayer(Module):
    """A function with its settings; a subclass is a declaration.

    function: what it calls; settings: names of its parameters in the order of the constructor, by
    default all with a default value; shows: the format of `extra_repr`, or a function of the layer
    (by default "name=value" of each setting, of `inplace` only where it is set); prepare: changes
    the given settings, or raises for wrong ones, as a function of the layer's name and these;
    defaults: default values where they are not the function's. A `training` of the function is the
    module's.
    """

    function: Callable[..., Any]
    settings: dict[str, Any]
    operands: tuple[str, ...]
    _names: str | None = None
    _shows: Any = None
    _prepare: Callable[[str, dict[str, Any]], object] | None = None
    _trains = False

    def __init_subclass__(
        cls,
        *,
        function: Callable[..., Any] | None = None,
        settings: str | None = None,
        shows: str | Callable[[Any], str] | None = None,
        prepare: Callable[[str, dict[str, Any]], object] | None = None,
        **defaults: Any,
    ) -> None:
        super().__init_subclass__()
        cls._names = cls._names if settings is None else settings
        cls._shows = cls._shows if shows is None else shows
        if prepare is not None:
            cls._prepare = staticmethod(prepare)
        if function is None:
            if "__init__" in vars(cls):
                own = list(inspect.signature(cls.__init__).parameters.values())[1:]
                setattr(cls, "__signature__", Signature(own))  # noqa: B010
            return
        cls.function = staticmethod(function)
        parameters = dict(inspect.signature(function).parameters)
        cls._trains = parameters.pop("training", None) is not None
        usual = [n for n, p in parameters.items() if p.default is not p.empty]
        names = (
            [n for n in usual if n not in NO_SETTINGS] if cls._names is None else cls._names.split()
        )
        cls.settings = {name: defaults.get(name, parameters[name].default) for name in names}
        cls.operands = tuple(n for n in parameters if n not in usual and n not in names)
        signature = Signature(
            [
                Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value)
                for name, value in cls.settings.items()
            ]
        )
        setattr(cls, "__signature__", signature)  # for help() and editors  # noqa: B010
        if cls.__doc__ is None:
            called = f"\n\nCalled with ({', '.join(cls.operands)})." * (len(cls.operands) > 1)
            cls.__doc__ = inspect.cleandoc(function.__doc__ or "") + called

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name, settings = type(self).__name__, self.settings
        given = {**settings, **dict(zip(settings, args, strict=False)), **kwargs}
        applied = any(isinstance(a, Tensor) for a in args) and not set(BUFFERS) & set(settings)
        missing = [n for n, value in given.items() if value is Parameter.empty]
        if applied or missing or len(args) > len(settings) or set(kwargs) - set(settings):
            called = f" To apply it: {name}()({', '.join(self.operands)})." if applied else ""
            got = [*(type(a).__name__ for a in args), *(f"{key}=" for key in kwargs)]
            raise TypeError(
                f"{name} takes {', '.join(settings) or 'no arguments'}; got"
                f" {', '.join(got) or 'nothing'}.{called}"
            )
        if self._prepare is not None:
            self._prepare(name, given)
        for key, value in given.items():
            if key in BUFFERS or isinstance(value, Tensor):
                self.register_buffer(key, None if value is None else as_tensor(value))
            else:
                setattr(self, key, value)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        values = {name: getattr(self, name) for name in self.settings}
        if self._trains:
            values["training"] = self.training
        return type(self).function(*inputs, **named, **values)

    def extra_repr(self) -> str:
        if self._shows is None:
            names = [n for n in self.settings if n != "inplace" or vars(self)["inplace"]]
            return shown(self, *names)
        made: str = (
            self._shows.format(**vars(self)) if isinstance(self._shows, str) else self._shows()
        )
        return made


def function_layer(
    name: str,
    function: Callable[..., Any],
    text: str | None = None,
    base: type[FunctionLayer] = FunctionLayer,
    **options: Any,
) -> type[FunctionLayer]:
    """The class `name` of the calling module, a declaration as in `FunctionLayer` with these
    options. text: its docstring, by default the function's.
    """
    space = {"__doc__": text, "__module__": sys._getframe(1).f_globals["__name__"]}
    return type(name, (base,), space, function=function, **options)
