"""A replay never uses a value that Python would read otherwise now: whatever a function can read
outside its arguments, and whatever differs between arguments of one kind, is guarded (another
program is recorded) or refused (the function runs as itself, with a reason).
"""

import abc
import array
import collections
import contextvars
import copy
import ctypes
import dataclasses
import functools
import operator
import os
import pathlib
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import minigrad as mg
from minigrad import optim
from minigrad.core import primitive
from minigrad.program import EagerWarning

Read, Write = Callable[[], float], Callable[[float], Any]


@pytest.fixture(autouse=True)
def _no_eager_warnings() -> Iterator[None]:
    """Reasons are asserted where they matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        yield


LIVE = contextvars.ContextVar("LIVE", default=1.0)
SHARED = [1.0]


class Odd:
    """Attributes that do not exist raise KeyError."""

    def __init__(self) -> None:
        self.values = {"a": 1.0}

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["values"][name]

    def __getitem__(self, key: str) -> float:
        return self.values[key]


class Holder:
    def __init__(self) -> None:
        self.value = 1.0


class Listed:
    __match_args__ = ("value",)

    def __init__(self) -> None:
        self.value = 1.0


class Slotted:
    __slots__ = ("value",)


@dataclasses.dataclass(eq=False, repr=False)
class Settings:
    value: float = 1.0


def _containers() -> dict[str, tuple[Read, Write]]:
    """Values in containers and environments of Python."""
    buffer, bytes_ = array.array("d", [1.0]), bytearray(b"\x01")
    chain, queue, keys = (
        collections.ChainMap({}, {"a": 1.0}),
        collections.deque([1.0]),
        {"a": 1.0},
    )
    local = types.SimpleNamespace()
    holder = Holder()
    weak = weakref.ref(holder)
    os.environ["MINIGRAD_TEST"] = "1.0"

    def swap_key(v: float) -> None:
        keys.clear()
        keys["a" if v == 1.0 else "b"] = v

    def new_attribute() -> float:
        try:
            return local.value
        except AttributeError:
            return 1.0

    return {
        "os.environ": (
            lambda: float(os.environ["MINIGRAD_TEST"]),
            lambda v: os.environ.update(MINIGRAD_TEST=str(v)),
        ),
        "os.getenv": (
            lambda: float(os.getenv("MINIGRAD_TEST")),
            lambda v: os.environ.update(MINIGRAD_TEST=str(v)),
        ),
        "array.array": (lambda: buffer[0], lambda v: buffer.__setitem__(0, v)),
        "bytearray": (lambda: float(bytes_[0]), lambda v: bytes_.__setitem__(0, int(v))),
        "contextvars": (lambda: LIVE.get(), lambda v: LIVE.set(v)),
        "weakref.ref": (lambda: weak().value, lambda v: setattr(holder, "value", v)),
        "ChainMap": (lambda: chain["a"], lambda v: chain.maps[1].__setitem__("a", v)),
        "deque": (lambda: queue[0], lambda v: queue.__setitem__(0, v)),
        "a key": (lambda: float(next(iter(keys)) == "a"), swap_key),
        "a new attribute": (new_attribute, lambda v: setattr(local, "value", v)),
        "globals": (lambda: globals()["SHARED"][0], lambda v: SHARED.__setitem__(0, v)),
    }


# Long: a list of programs.
def _attributes() -> dict[str, tuple[Read, Write]]:
    """Attributes of which the code does not say the name, or that come and go."""
    name, at, odd, listed, settings = (
        "value",
        types.SimpleNamespace(value=1.0),
        Odd(),
        Listed(),
        Settings(),
    )
    get, slotted = operator.attrgetter("value"), Slotted()

    def positional() -> float:
        match listed:
            case Listed(found):
                return found
        raise AssertionError

    def keyword() -> float:
        match listed:
            case Listed(value=found):
                return found
        raise AssertionError

    def unset() -> float:
        try:
            return slotted.value
        except AttributeError:
            return 1.0

    class Meta(type):
        value = 1.0

        def __getattr__(cls, name: str) -> float:
            return cls.value

    class Made(metaclass=Meta):
        pass

    class Plain:
        pass

    class Other:
        pass

    plain = Plain()

    def added() -> float:
        try:
            return float(-plain)
        except TypeError:
            return 1.0

    def negated(v: float) -> None:
        Plain.__neg__ = lambda self: v

    def kind() -> float:
        return 1.0 if type(plain) is Plain else 3.0

    return {
        "getattr": (lambda: getattr(at, name), lambda v: setattr(at, name, v)),
        "vars": (lambda: vars(at)[name], lambda v: setattr(at, name, v)),
        "__getattr__": (lambda: odd.a, lambda v: odd.values.update(a=v)),
        "__getitem__": (lambda: odd["a"], lambda v: odd.values.update(a=v)),
        "attrgetter": (lambda: get(at), lambda v: setattr(at, "value", v)),
        "a positional pattern": (positional, lambda v: setattr(listed, "value", v)),
        "a keyword pattern": (keyword, lambda v: setattr(listed, "value", v)),
        "asdict": (
            lambda: sum(dataclasses.asdict(settings).values()),
            lambda v: setattr(settings, "value", v),
        ),
        "copy": (
            lambda: sum(copy.copy(settings).__dict__.values()),
            lambda v: setattr(settings, "value", v),
        ),
        "an unset slot": (unset, lambda v: setattr(slotted, "value", v)),
        "a new operator": (added, negated),
        "a metaclass": (lambda: Made.anything, lambda v: setattr(Meta, "value", v)),
        "the class": (kind, lambda v: setattr(plain, "__class__", Plain if v == 1.0 else Other)),
    }


def _code() -> dict[str, tuple[Read, Write]]:
    """What a function is made of, and modules that it imports while it runs."""

    def scaled() -> float:
        return scaled.value

    scaled.value = 1.0

    def default(v: float = 1.0) -> float:
        return v

    def body() -> float:
        return 1.0

    def set_code(v: float) -> None:
        body.__code__ = {1.0: lambda: 1.0, 2.0: lambda: 2.0, 3.0: lambda: 3.0}[v].__code__

    module = types.ModuleType("minigrad_test_module")
    module.value, sys.modules[module.__name__] = 1.0, module

    def imported() -> float:
        import minigrad_test_module

        return minigrad_test_module.value

    def imported_from() -> float:
        from minigrad_test_module import value

        return value

    space: dict[str, Any] = {"module": module}
    exec("def shadowed(): return float(max(1.0, 0.5))", space)
    exec("def patched(): return module.answer()", space)
    module.answer = lambda: 1.0
    return {
        "a function's attribute": (lambda: scaled(), lambda v: setattr(scaled, "value", v)),
        "a default": (lambda: default(), lambda v: setattr(default, "__defaults__", (v,))),
        "code": (lambda: body(), set_code),
        "import": (imported, lambda v: setattr(module, "value", v)),
        "from … import": (imported_from, lambda v: setattr(module, "value", v)),
        "a shadowed built-in": (
            lambda: space["shadowed"](),
            lambda v: space.update(max=lambda *_: v),
        ),
        "a function of a module": (
            lambda: space["patched"](),
            lambda v: setattr(module, "answer", lambda: v),
        ),
    }


def _files(folder: pathlib.Path) -> dict[str, tuple[Read, Write]]:
    """What lies in files."""
    text, numbers, tensors = folder / "text", folder / "numbers.npy", folder / "tensors"
    flag = str(folder / "flag")

    def switch(v: float) -> None:
        pathlib.Path(flag).unlink(missing_ok=True)
        if v != 1.0:
            pathlib.Path(flag).touch()

    return {
        "Path.read_text": (lambda: float(text.read_text()), lambda v: text.write_text(str(v))),
        "os.path.exists": (lambda: 2.0 if os.path.exists(flag) else 1.0, switch),
        "numpy.load": (
            lambda: float(np.load(numbers)[0]),
            lambda v: np.save(numbers, np.array([v])),
        ),
        "load": (
            lambda: mg.load(str(tensors))["v"],
            lambda v: mg.save({"v": mg.tensor([v])}, str(tensors)),
        ),
    }


def _tensors() -> dict[str, tuple[Read, Write]]:
    """Values of tensors that leave them in ways that are no operation, and settings of
    optimisers."""
    w = mg.tensor([1.0])
    times = operator.methodcaller("__mul__", w)
    optimizer = optim.Adam([mg.ones(1, requires_grad=True)], lr=1.0)
    group = optimizer.param_groups[0]

    matrix, held = mg.ones(2, 3), functools.lru_cache(lambda: mg.ones(1))

    def fill(v: float) -> None:
        w.fill_(v)

    def turn(v: float) -> None:
        matrix.data = mg.ones(2, 3) if v == 1.0 else mg.ones(3, 2).t()

    return {
        "str": (lambda: float(str(w).split("[")[1].split("]")[0]), fill),
        "methodcaller": (lambda: times(mg.ones(1)), fill),
        "the length of nonzero": (lambda: 1.0 + mg.nonzero(w > 1).shape[0], fill),
        "a stride": (lambda: float(matrix.stride(1)), turn),
        "a tensor that a cache holds": (lambda: held(), lambda v: held().fill_(v)),
        "_version": (lambda: float(w._version), fill),
        "a rate": (lambda: optimizer.param_groups[0]["lr"], lambda v: group.update(lr=v)),
        "a default setting": (
            lambda: optimizer.defaults["lr"],
            lambda v: optimizer.defaults.update(lr=v),
        ),
        "a rate in a state": (
            lambda: optimizer.state_dict()["param_groups"][0]["lr"],
            lambda v: group.update(lr=v),
        ),
        "a rate in a text": (
            lambda: float(f"{optimizer}".split("lr=")[1].split(",")[0]),
            lambda v: group.update(lr=v),
        ),
    }


class Base:
    level = 1.0
    made: ClassVar[list[float]] = [1.0]

    def __init__(self, start: float = 1.0) -> None:
        self.start, self.first = start, Base.made[0]

    def __class_getitem__(cls, key: int) -> float:
        return Base.made[0]


class Derived(Base):
    pass


class Abstract(abc.ABC):  # noqa: B024
    pass


class Text(str):
    __slots__ = ("size",)


class Numbers(np.ndarray):
    scale = 1.0


def _reflection() -> dict[str, tuple[Read, Write]]:
    """What classes, functions and modules say of themselves, and what making an object reads."""
    name, module, box = "level", types.ModuleType("answers"), [1.0]
    vars(module)["__getattr__"] = lambda name: box[0]
    text, error, numbers = Text("a"), ValueError(1.0), np.ones(2).view(Numbers)
    text.size = 1.0  # type: ignore[attr-defined]
    lines, holder, kinds = ["{0.value}"], Holder(), [type("Kind0", (Base,), {})]
    builtins = vars(sys.modules["builtins"])

    def noted(x: 1.0) -> None:  # type: ignore[valid-type]
        """1.0"""

    def register(v: float) -> None:
        if v != 1.0:
            Abstract.register(type("Other", (), {})) if v == 2.0 else Abstract.register(Holder)

    return {
        "a class's attribute by name": (
            lambda: getattr(Derived, name), lambda v: setattr(Base, "level", v)),
        "a default of __init__": (
            lambda: Derived().start, lambda v: setattr(Base.__init__, "__defaults__", (v,))),
        "what __init__ reads": (
            lambda: Derived().first, lambda v: Base.made.__setitem__(0, v)),
        "what __class_getitem__ reads": (
            lambda: Base[0], lambda v: Base.made.__setitem__(0, v)),  # type: ignore[arg-type]
        "a module's __getattr__": (lambda: module.k, lambda v: box.__setitem__(0, v)),
        "a format from outside": (
            lambda: float(lines[0].format(holder)), lambda v: setattr(holder, "value", v)),
        "__annotations__": (
            lambda: noted.__annotations__["x"], lambda v: noted.__annotations__.update(x=v)),
        "__doc__": (lambda: float(noted.__doc__ or 0), lambda v: setattr(noted, "__doc__", str(v))),
        "__name__": (
            lambda: float(len(noted.__name__)), lambda v: setattr(noted, "__name__", "n" * int(v))),
        "__name__ of a class": (
            lambda: float(kinds[0].__name__[4:]),
            lambda v: setattr(kinds[0], "__name__", f"Kind{v}")),
        "__subclasses__": (
            lambda: float(len(Base.__subclasses__())),
            lambda v: kinds.append(type("Kind", (Base,), {}))),
        "register of an ABC": (lambda: 1.0 + isinstance(holder, Abstract), register),
        "a string's attribute": (
            lambda: text.size, lambda v: setattr(text, "size", v)),  # type: ignore[attr-defined]
        "an exception's arguments": (
            lambda: error.args[0], lambda v: setattr(error, "args", (v,))),
        "a name among Python's own": (
            lambda: UNUSUAL, lambda v: builtins.update(UNUSUAL=v)),  # type: ignore[name-defined]  # noqa: F821
        "an array's attribute": (lambda: numbers.scale, lambda v: setattr(numbers, "scale", v)),
    }  # fmt: skip


def _arrays() -> dict[str, tuple[Read, Write]]:
    """What NumPy's arrays and settings hold besides numbers."""
    inner = [1.0]
    objects, numbers, number = np.array([inner, None], dtype=object), np.ones(6), ctypes.c_double(1)
    times = np.frompyfunc(lambda a: a * inner[0], 1, 1)

    def fill(v: float) -> None:
        inner[0] = number.value = v

    return {
        "an object in an array": (lambda: objects[0][0], fill),
        "ctypes": (lambda: number.value, fill),
        "frompyfunc": (lambda: float(times(1.0)), fill),
        "flags": (
            lambda: 1.0 + numbers.flags.writeable,
            lambda v: numbers.setflags(write=v != 2.0),
        ),
        "a shape": (
            lambda: float(numbers.shape[0]),
            lambda v: setattr(numbers, "shape", (int(v), 6 // int(v))),
        ),
        "a dtype": (
            lambda: float(numbers.itemsize),
            lambda v: setattr(numbers, "dtype", "f4" if v == 3.0 else "f8"),
        ),
        "geterr": (
            lambda: 1.0 + (np.geterr()["under"] == "warn"),
            lambda v: np.seterr(under="warn" if v == 3.0 else "ignore"),
        ),
        "get_printoptions": (
            lambda: float(np.get_printoptions()["precision"]),
            lambda v: np.set_printoptions(precision=int(v)),
        ),
    }


@pytest.mark.parametrize(
    "table",
    [_containers, _attributes, _code, _files, _tensors, _reflection, _arrays],
    ids=lambda t: t.__name__[1:],
)
def test_values_that_guards_hardly_see(
    table: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is guarded or refused; none is frozen."""
    monkeypatch.setitem(vars(sys.modules["builtins"]), "UNUSUAL", 1.0)
    printing, errors = np.get_printoptions(), np.geterr()
    try:
        _each_is_seen(table, tmp_path)
    finally:
        np.set_printoptions(**printing), np.seterr(**errors)


def _each_is_seen(table: Any, tmp_path: pathlib.Path) -> None:
    for name, (read, write) in (table(tmp_path) if table is _files else table()).items():
        write(1.0) if table is _files else None
        f = mg.compile(lambda x, read=read: x * read())
        for value in (1.0, 3.0, 2.0):
            write(value) if value != 1.0 else None
            wanted = float(read())
            for _ in range(5):
                assert f(mg.ones(1)).item() == wanted, name


def test_an_object_that_dies_and_a_cache_that_is_emptied() -> None:
    kept, computed = [Holder()], []
    found = weakref.ref(kept[0])

    @functools.cache
    def cached() -> float:
        computed.append(1)
        return float(len(computed))

    by_reference = mg.compile(lambda x: x * (1.0 if found() is not None else 2.0))
    by_cache = mg.compile(lambda x: x * cached())
    for _ in range(5):
        assert by_reference(mg.ones(1)).item() == by_cache(mg.ones(1)).item() == 1
    assert by_cache.statistics["replayed"]
    kept.clear()
    cached.cache_clear()
    assert by_reference(mg.ones(1)).item() == by_cache(mg.ones(1)).item() == 2


def test_a_rate_that_each_call_sets() -> None:
    """By loading a state, or by itself: what a schedule, or the caller, has set in between is
    overwritten."""
    for load in (
        lambda o, state: o.load_state_dict(state),
        lambda o, state: o.param_groups[0].update(lr=state["param_groups"][0]["lr"]),
    ):
        w = mg.ones(1, requires_grad=True)
        optimizer = optim.SGD([w], lr=1.0)
        early = optimizer.state_dict()

        @mg.compile
        def step(x: Any) -> Any:
            load(optimizer, early)  # noqa: B023
            return x * w  # noqa: B023

        for i in range(9):
            if i in (5, 7):
                optimizer.param_groups[0]["lr"] = 0.5
            step(mg.ones(1))
            assert optimizer.param_groups[0]["lr"] == 1.0, i


def test_objects_whose_getattr_raises() -> None:
    """The walk asks no object for attributes that it does not have: replays as usual."""
    odd = Odd()
    f = mg.compile(lambda x: x * odd.values["a"])
    for _ in range(6):
        assert f(mg.ones(1)).item() == 1
    assert f.statistics["replayed"] == 3


def test_the_globals_of_a_users_function_class() -> None:
    """Its backward method is called by the library, so no code that is followed names it."""
    space: dict[str, Any] = {"mg": mg, "SCALE": 2.0}
    exec(
        "class Double(mg.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x): return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, g): return g * SCALE\n",
        space,
    )
    double, w = space["Double"], mg.ones(1, requires_grad=True)
    f = mg.compile(lambda x: mg.autograd.grad(double.apply(w * x).sum(), [w])[0])
    for scale in (2.0, 7.0):
        space["SCALE"] = scale
        for _ in range(5):
            assert f(mg.ones(1)).item() == scale


# ----------------------------------------------------------------------------------- the arguments


def test_lists_and_dicts_that_are_changed_or_returned() -> None:
    """A list or dict that is given is changed, and a list that is returned is the one that it is
    in the plain call."""

    def put(d: Any) -> Any:
        d["y"] = d["x"] * 2

    f = mg.compile(put)
    for i in range(6):
        d = {"x": mg.tensor([float(i)])}
        f(d)
        assert d["y"].item() == 2 * i
    kept = [mg.ones(1)]
    for function in (lambda xs: xs, lambda xs: kept, lambda xs: [xs[0] * 1] * 2):
        f = mg.compile(function)
        for i in range(6):
            given = [mg.tensor([float(i)])]
            result, wanted = f(given), function(given)
            assert (result is given) == (wanted is given) and (result is kept) == (wanted is kept)
    twice = mg.compile(lambda x: [[x * 2]] * 2)
    for _ in range(6):
        first, second = twice(mg.ones(1))
        assert first is second


def test_arguments_of_one_kind_that_are_not_alike() -> None:
    """Keys of other types, one list given twice, and a .grad: each decides in Python."""
    f = mg.compile(lambda d: sum(x * (k if type(k) is bool else 5 * k) for k, x in d.items()))
    g = mg.compile(lambda a, b: a[0] * (2 if a is b else 3))
    h = mg.compile(lambda x: x if x.grad is None else x * x.grad)
    for key, same, grad in ((1, True, 1.0), (True, False, 7.0)):
        for _ in range(5):
            x = mg.ones(1)
            assert f({key: x}).item() == (1 if key is True else 5)
            listed = [x]
            assert g(listed, listed if same else [x]).item() == (2 if same else 3)
            x.grad = mg.tensor([grad])
            assert h(x).item() == grad


def test_another_leaf_in_each_call_is_an_input_unless_it_has_a_gradient() -> None:
    @mg.compile
    def step(x: mg.Tensor) -> mg.Tensor:
        y = (x * x).sum()
        y.backward()
        return y

    def call(grad: mg.Tensor | None) -> mg.Tensor:
        x = mg.tensor([1.0, 2.0], requires_grad=True)
        x.grad = grad
        step(x)
        assert x.grad is not None
        return x.grad

    for _ in range(4):
        assert call(mg.ones(2)).tolist() == [3.0, 5.0]
    assert step.statistics["eager"] == 4
    assert step.reason is not None and "argument 0 is another leaf, with a .grad" in step.reason
    for _ in range(4):
        assert call(None).tolist() == [2.0, 4.0]
    assert step.reason is None and step.statistics["replayed"] > 0


def test_an_argument_that_is_found_outside_too() -> None:
    """It is recorded as neither: later arguments are others."""
    w = mg.tensor([3.0])
    leaf = mg.ones(1, requires_grad=True)
    leaf.grad = mg.tensor([5.0])
    cases = [
        (lambda x: x + w, w, 6.0, 4.0),
        (lambda x: x * 1 if x is w else x * 2, w, 3.0, 2.0),
        (lambda x: x + leaf.grad, leaf.grad, 10.0, 6.0),
    ]
    for function, outside, first, then in cases:
        for order in ((outside, first), (mg.ones(1), then)), ((mg.ones(1), then), (outside, first)):
            f = mg.compile(function)
            for x, wanted in order:
                for _ in range(5):
                    assert f(x).item() == wanted
    returned = mg.compile(lambda x: (x * 2, w)[1])
    for x in (w, mg.ones(1)):
        for _ in range(5):
            assert returned(x) is w


def test_a_call_that_leaves_gradients_switched_off() -> None:
    """The switch is what the plain call leaves, in every call."""
    w = mg.ones(1, requires_grad=True)

    @mg.compile
    def f(x: Any) -> Any:
        y = x * w
        mg.set_grad_enabled(False)
        return y

    for _ in range(6):
        with mg.enable_grad():
            assert f(mg.ones(1)).requires_grad
            assert not mg.is_grad_enabled()
    assert "leaves gradients switched" in f.reason


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (mg.linalg.inv, mg.eye(2), mg.zeros(2, 2)),
        (mg.linalg.cholesky, mg.eye(2), -mg.eye(2)),
        (lambda i: mg.ones(3)[i], mg.tensor([1]), mg.tensor([9])),
    ],
    ids=["inverse", "cholesky", "index"],
)
def test_operations_that_raise_are_run_though_nothing_reads_them(
    check: Any, good: Any, bad: Any
) -> None:
    """The error of the plain call is raised in replays too."""

    def function(x: Any) -> Any:
        check(x)
        return x * 2

    f = mg.compile(function)
    for _ in range(5):
        f(good)
    assert f.statistics["replayed"] == 2
    with pytest.raises(Exception) as plain:
        function(bad)
    with pytest.raises(type(plain.value), match=r"."):
        f(bad)


def test_an_operation_is_looked_through_where_its_functions_are_a_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(primitive, "registry", {**primitive.registry})
    scale = [2.0]
    scaled = primitive.elementwise("scaled", lambda xp, x: x * scale[0], lambda g, x: g * scale[0])
    log1p = primitive.registry["log1p"]
    f = mg.compile(lambda x: log1p(scaled(x)))
    for _ in range(4):
        assert f(mg.ones(2))[0].item() == pytest.approx(np.log(3.0))
    assert f.statistics["replayed"] == 1
    scale[0] = 3.0
    assert f(mg.ones(2))[0].item() == pytest.approx(np.log(4.0))
