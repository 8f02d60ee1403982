"""What all optimisers share: groups of parameters with their settings, a state for each parameter,
and the loop over them.

Two ways to use one:

    optimizer = SGD(model.parameters(), lr=0.1); loss.backward(); optimizer.step()       # PyTorch's
    sgd = SGD(0.1);  for p, g in autograd.backward(loss): sgd.update(p, g)               # SINGA's

Updates happen outside the graph, in the parameters' own memory, and are counted by their version
counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..backend import (
    Array,
    float32,
    ignore_float_errors,
    is_complex,
    is_differentiable,
    is_immutable,
    is_narrow,
    materialise,
    to_device_of,
    zeros,
)
from ..core.tensor import Leaf, Tensor, ensure_version
from ..grad_mode import enable_grad
from ..ops.elementwise import view_as_real

Group = dict[str, Any]


def _records(array: Array) -> bool:
    """Whether a parameter's payload records updates. It then has two more members than those of
    `core.tensor.Payload`: `__minigrad_update__(optimizer, param, group)` returns a context, which
    gives the settings of the step and in which `param` is updated, and `__minigrad_read__(what)` is
    called when Python reads what may differ in another run, such as "the settings of SGD"."""
    return hasattr(array, "__minigrad_update__")


class Optimizer:
    """Base class. A subclass gives its settings to `__init__` as `defaults` and writes `rule`;
    numbers that differ from step to step (a rate on a schedule, a count of steps) it computes in
    `numbers`.

    params: tensors, or groups `{"params": [...], "lr": ...}` with settings of their own, or a
    number: the learning rate, for use through `update`. Raises TypeError or ValueError for what
    cannot be optimised, naming the position.
    """

    scheduled: tuple[str, ...] = ()
    """Settings that `numbers` hands on: a schedule may change them, and a compiled step
    (`mg.compile`) reads them again in each run."""

    _stepped = False
    """Whether it has made a step, for schedules, which begin after the first one."""

    linear = False
    """Whether `rule` is linear in gradient and state, so that complex numbers need no separation
    into parts. Squares and signs are those of each part, as in PyTorch."""

    in_float32 = False
    """Whether `rule` is given float16 and bfloat16 in float32. The square of a gradient over 256
    is infinite in float16."""

    def __init__(self, params: Any, defaults: Group) -> None:
        self.defaults = defaults
        self.state: dict[int, dict[str, Any]] = {}
        self.param_groups: list[Group] = []
        self._known: dict[int, Tensor] = {}  # keeps parameters alive as long as their state
        if params is None:
            return
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: `params` must be a list of tensors or of groups, got one"
                " Tensor. Write [x]."
            )
        if callable(getattr(params, "parameters", None)) or not isinstance(params, Iterable):
            cure = (
                "Give it model.parameters()"
                if hasattr(params, "parameters") or callable(params)
                else "Give it a list of tensors"
            )
            raise TypeError(
                f"{type(self).__name__}: `params` must be a list of tensors or of groups, got"
                f" {type(params).__name__}. {cure}."
            )
        items = list(params)
        if not items:
            why = "A module's parameters are the tensors with requires_grad among its attributes."
            if isinstance(params, Iterator):
                why = (
                    "Either a generator that was used up before (call model.parameters() again),"
                    f" or a module without any. {why}"
                )
            raise ValueError(f"{type(self).__name__}: got an empty list of parameters. {why}")
        for group in items if isinstance(items[0], dict) else [{"params": items}]:
            self.add_param_group(group)

    def add_param_group(self, group: Group) -> None:
        """Optimise further parameters, with settings of their own where given."""
        if not isinstance(group, dict) or "params" not in group:
            raise TypeError(
                f'{type(self).__name__}: a group is a dict with "params", got'
                f" {type(group).__name__}."
            )
        tensors = (
            [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        )
        # named parameters
        tensors = [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in tensors]
        for i, p in enumerate(tensors):
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"{type(self).__name__}: parameter {i} is {type(p).__name__}, not a Tensor."
                )
            if not p.is_leaf:
                raise ValueError(
                    f"{type(self).__name__}: parameter {i} (shape {p.shape}) is the result of an"
                    " operation; only leaf tensors can be optimised."
                )
            if id(p) in self._known:
                raise ValueError(
                    f"{type(self).__name__}: parameter {i} (shape {p.shape}) is given twice."
                )
            self._known[id(p)] = p
        settings = {
            k: _number(type(self).__name__, k, v) for k, v in group.items() if k != "params"
        }
        self.param_groups.append({**self.defaults, **settings, "params": tensors})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.detach_()
                    p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient. `closure`, if given, recomputes the loss
        first; its result is returned."""
        self._stepped = True
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with ignore_float_errors():
            for group in self.param_groups:
                for p in group["params"]:
                    if (grad := p.grad) is not None:
                        self._apply(p, grad.array, group)
        return loss

    def update(self, param: Tensor, grad: Tensor) -> None:
        """Update one parameter with a gradient (SINGA's way)."""
        if grad.shape != param.shape:
            raise ValueError(
                f"{type(self).__name__}.update: the gradient has shape {grad.shape}, the parameter"
                f" {param.shape}."
            )
        self._stepped = True
        self._known.setdefault(id(param), param)
        with ignore_float_errors():
            self._apply(param, grad.array, self._group_of(param))

    __call__ = update

    def _group_of(self, param: Tensor) -> Group:
        for group in self.param_groups:
            if any(p is param for p in group["params"]):
                return group
        return self.defaults

    def _apply(self, param: Tensor, grad: Array, group: Group) -> None:
        state = self.state.setdefault(id(param), {})
        if group.get("maximize"):
            grad = -grad
        version = ensure_version(param)
        if _records(param.array):  # the state's arrays are values of the program too
            with param.array.__minigrad_update__(self, param, group) as settings:
                self._run_rule(self._parts(param.array), self._parts(grad), state, settings)
        else:
            grad = materialise(grad) if is_immutable(grad) else grad
            settings = {**group, **self.numbers(state, group)}
            self._run_rule(self._parts(param.array), self._parts(grad), state, settings)
        if not state:
            self.state.pop(id(param), None)  # as in PyTorch: a rule without a state leaves no entry
        version.count += 1
        if isinstance(param.node, Leaf):
            param.node.array = param.array

    def _run_rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        """`rule`; for a parameter in float16 or bfloat16, if the class is `in_float32`, on copies
        in float32, from which the parameter and its state are rounded once."""
        if not (self.in_float32 and is_narrow(array.dtype)):
            return self.rule(array, grad, state, group)
        wide = array.astype(float32)
        wide_state = {name: _widened(value) for name, value in state.items()}
        self.rule(wide, _widened(grad), wide_state, group)
        array[...] = wide.astype(array.dtype)
        for name, value in wide_state.items():
            if name not in state:
                state[name] = value.astype(array.dtype) if hasattr(value, "dtype") else value
            elif value is not state[name]:
                state[name][...] = value.astype(state[name].dtype)

    def _parts(self, array: Array) -> Array:
        if self.linear or array.dtype.kind != "c":
            return array
        if _records(array):
            raise NotImplementedError(
                f"{type(self).__name__}: the step of a complex parameter is not recorded"
            )
        return view_as_real.forward(None, array)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """The Python numbers of the coming step that differ from step to step; `rule` finds them
        among the settings. Counting is done here.

        A step that is recorded (mg.compile) calls this in each run, and `rule` only once: so what
        `rule` does with these numbers must be arithmetic with arrays, and what it computes in
        Python belongs here.
        """
        return {}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        """Change `array` in place, given its gradient, the parameter's state and its settings.
        `grad` must not be changed. A complex parameter comes as its real and imaginary parts, on a
        new last axis; its state has that shape too
        (unless the rule is `linear`)."""
        raise NotImplementedError(f"{type(self).__name__} does not define rule().")

    def state_dict(self) -> dict[str, Any]:
        """Settings and states as plain data (arrays, numbers), parameters by their position."""
        order = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        groups = [
            {
                **{k: v for k, v in g.items() if k != "params"},
                "params": [order[id(p)] for p in g["params"]],
            }
            for g in self.param_groups
        ]
        state = {
            order[k]: {n: _copied(v) for n, v in s.items()}
            for k, s in self.state.items()
            if k in order
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave. Raises ValueError if the groups differ in number or
        size.
        """
        groups = state_dict["param_groups"]
        ours = [len(g["params"]) for g in self.param_groups]
        theirs = [len(g["params"]) for g in groups]
        if ours != theirs:
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: the saved groups hold {theirs} parameters,"
                f" this optimiser's {ours}."
            )
        self._stepped = True  # before it was saved, so a schedule may go on
        params = [p for g in self.param_groups for p in g["params"]]
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update({k: v for k, v in saved.items() if k != "params"})
        self.state = {}
        for i, saved in state_dict["state"].items():
            self.adopt(params[int(i)], saved)

    def adopt(self, param: Tensor, state: dict[str, Any]) -> None:
        """Take over a parameter's state: numbers, and arrays, which are copied to the
        parameter's device and, as in PyTorch, to its precision.
        """
        self._known[id(param)] = param
        self.state[id(param)] = {n: _copied(v, param.array) for n, v in state.items()}

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: states beside their parameters, whose copies have other ids."""
        states = [(self._known[key], state) for key, state in self.state.items()]
        return {**vars(self), "_known": list(self._known.values()), "state": states}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self._known = {id(p): p for p in saved["_known"]}
        self.state = {id(p): state for p, state in saved["state"]}

    def __repr__(self) -> str:
        groups = self.param_groups or [{**self.defaults, "params": []}]
        for p in (p for group in groups for p in group["params"]):
            if _records(p.array):
                p.array.__minigrad_read__(f"the settings of {type(self).__name__}")
                break
        lines = [
            f"  group {i}: "
            + ", ".join(f"{k}={v}" for k, v in g.items() if k != "params")
            + f", {len(g['params'])} tensors"
            for i, g in enumerate(groups)
        ]
        return f"{type(self).__name__}(\n" + "\n".join(lines) + "\n)"


def parameter_of(optimizer: Optimizer, key: int) -> Tensor:
    """The tensor whose state `optimizer.state` holds under this key."""
    return optimizer._known[key]


def _copied(value: Any, like: Array | None = None) -> Any:
    """A value of a state, with arrays in memory of their own, on the device and in the precision of
    `like` if that is given.
    """
    if isinstance(value, list):
        return [_copied(v, like) for v in value]
    if not hasattr(value, "dtype"):
        return value
    if like is None:
        return materialise(value.copy())
    there = to_device_of(value, like)
    wanted = like if is_complex(there.dtype) else like.real  # the parts of a complex parameter
    precise = is_differentiable(there.dtype)
    return materialise(there.astype(wanted.dtype if precise else there.dtype))


def _widened(value: Any) -> Any:
    """A copy in float32 of an array of float16 or bfloat16; any other value as it is."""
    return value.astype(float32) if is_narrow(getattr(value, "dtype", None)) else value


def buffer(state: dict[str, Any], name: str, like: Array) -> Array:
    """A zero-initialised array of the parameter's state."""
    found = state.get(name)
    if found is None:
        found = state[name] = materialise(zeros(like.shape, like.dtype, like))
    return found


def _number(owner: str, name: str, value: Any) -> Any:
    """A setting, with Python's number for a Tensor of one element: the rules compute with numbers,
    which cannot be changed from outside."""
    if isinstance(value, list | tuple):
        return type(value)(_number(owner, name, v) for v in value)
    if not isinstance(value, Tensor):
        return value
    if value.numel() != 1:
        raise ValueError(
            f"{owner}: {name} must be one number, got a Tensor of shape {value.shape}."
        )
    return value.item()


def checked(
    owner: str, settings: Group, tests: Iterable[tuple[str, Callable[[Any], bool], str]]
) -> Group:
    """The settings, after raising ValueError for the first that is out of range, TypeError for
    one of another type.
    """
    settings.update({name: _number(owner, name, value) for name, value in settings.items()})
    for name, test, what in tests:
        try:
            fits = test(settings[name])
        except TypeError:
            raise TypeError(
                f"{owner}: {name} must be {what}, got {settings[name]!r}"
                f" ({type(settings[name]).__name__})."
            ) from None
        if not fits:
            raise ValueError(f"{owner}: {name} must be {what}, got {settings[name]!r}.")
    return settings
