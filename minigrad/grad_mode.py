"""PyTorch's grad modes: whether operations of this thread are recorded for reverse mode.

`no_grad`, `enable_grad` and `set_grad_enabled` work as context managers, as decorators (also of
generators and coroutines, for which the mode holds in each of their steps and not in between), with
or without parentheses.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .core.graph import state

F = TypeVar("F", bound=Callable[..., Any])


class _Told(threading.local):
    """What this thread was told that changes nothing in the engine."""

    multithreading = True
    inference = False


_told = _Told()


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded for reverse mode."""
    return state.recording


class _GradMode:
    """Sets the grad mode inside a block or a function and restores what was there before, after
    exceptions too.
    """

    mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        if callable(function):  # used as a decorator without parentheses
            made.__init__()  # type: ignore[misc]
            return made(function)
        if function is not None:
            raise TypeError(
                f"{cls.__name__} takes a function to decorate, or nothing, as in `with"
                f" {cls.__name__}():`; got {type(function).__name__}."
            )
        return made

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(state.recording)
        state.recording = self.mode

    def __exit__(self, *_: object) -> None:
        state.recording = self._before.pop()

    def _fresh(self) -> _GradMode:
        made = object.__new__(type(self))
        made.mode, made._before = self.mode, []
        return made

    def __call__(self, function: F) -> F:
        return decorated(function, self._fresh)


def decorated(function: F, context: Callable[[], Any]) -> F:
    """`function` run inside a fresh `context()`: each call of a function, each step of a
    generator or coroutine.
    """
    if inspect.isclass(function):
        raise TypeError(
            f"decorate the methods of {function.__name__}, not the class: grad modes wrap"
            " functions."
        )
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            steps = function(*args, **kwargs)
            return (yield from _step_through(steps, context))

        return generator  # type: ignore[return-value]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _Steps(function(*args, **kwargs), context)

        return coroutine  # type: ignore[return-value]
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def async_generator(*args: Any, **kwargs: Any) -> Any:
            steps = function(*args, **kwargs)
            advance: Callable[[], Any] = lambda: steps.asend(None)
            while True:
                try:
                    value = await _Steps(advance(), context)
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await _Steps(steps.aclose(), context)
                    raise
                except BaseException as error:
                    advance = functools.partial(steps.athrow, error)
                else:
                    advance = functools.partial(steps.asend, sent)

        return async_generator  # type: ignore[return-value]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]


class _Steps:
    """An awaitable that runs each step of a coroutine inside a context."""

    def __init__(self, coroutine: Any, context: Callable[[], Any]) -> None:
        self.coroutine, self.context = coroutine, context

    def __await__(self) -> Any:
        return (yield from _step_through(self.coroutine, self.context))


def _step_through(steps: Any, context: Callable[[], Any]) -> Any:
    """Drive a generator or coroutine, entering the context for each step and leaving it while
    the caller runs.
    """
    advance: Callable[[], Any] = lambda: steps.send(None)
    while True:
        try:
            with context():
                value = advance()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield value
        except GeneratorExit:
            with context():
                steps.close()
            raise
        except BaseException as error:
            advance = functools.partial(steps.throw, error)
        else:
            advance = functools.partial(steps.send, sent)


class no_grad(_GradMode):
    """Operations inside are not recorded: their results do not require grad, whatever the
    inputs.
    """

    mode = False


class enable_grad(_GradMode):
    """Operations inside are recorded, even within `no_grad`."""

    mode = True


class set_grad_enabled(_GradMode):
    """Recording on or off by `mode`: takes effect when called, and as a context manager is
    undone at the end of the block.
    """

    def __new__(cls, mode: bool) -> Any:
        return object.__new__(cls)

    _outer: bool | None = None
    """The mode in which it was called, until a `with` block takes charge of restoring it."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._outer = state.recording
        self.mode = bool(mode)
        state.recording = self.mode

    def __enter__(self) -> None:
        self._before.append(state.recording if self._outer is None else self._outer)
        self._outer = None
        state.recording = self.mode

    def __call__(self, function: F) -> F:
        if self._outer is not None:  # used as a decorator: only the function's calls are affected
            state.recording, self._outer = self._outer, None
        return super().__call__(function)


class inference_mode(_GradMode):
    """As `no_grad`; `inference_mode(False)` records. Nothing else is switched off: results are
    ordinary tensors, whose changes in place are counted, and can be used for gradients later.
    (PyTorch's inference tensors refuse that.)
    """

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode):
            return inference_mode()(mode)
        return object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = not mode
        self._around: list[bool] = []

    def __enter__(self) -> None:
        super().__enter__()
        self._around.append(_told.inference)
        _told.inference = not self.mode

    def __exit__(self, *_: object) -> None:
        super().__exit__(*_)
        _told.inference = self._around.pop()

    def _fresh(self) -> inference_mode:
        return inference_mode(not self.mode)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return _told.inference


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last told in this thread."""
    return _told.multithreading


class set_multithreading_enabled:
    """Whether a reverse pass may use several threads: takes effect when called; as a context
    manager or decorator it is undone at the end.

    It exists for PyTorch programs. A reverse pass runs in the thread that called it, in either
    mode, so there is nothing to switch off.
    """

    def __init__(self, mode: bool) -> None:
        self.mode, self._before = bool(mode), _told.multithreading
        _told.multithreading = self.mode

    def __enter__(self) -> None:
        _told.multithreading = self.mode

    def __exit__(self, *_: object) -> None:
        _told.multithreading = self._before

    def __call__(self, function: F) -> F:
        _told.multithreading = self._before  # only the function's calls are affected
        return decorated(function, lambda: set_multithreading_enabled(self.mode))
