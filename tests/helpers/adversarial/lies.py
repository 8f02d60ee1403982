"""Values that pretend to be right: to each comparison, each conversion, each look at them. None is
an answer.

A submission answers with the text of this file, each call with the next of them.
"""

import itertools
import pickle

import numpy as np


def always(value):
    return lambda *operands: value


class EqualToAll:
    __eq__ = __ge__ = __le__ = always(True)
    __array__ = lambda *a, **k: np.zeros(4)
    __float__ = __sub__ = __rsub__ = always(0.0)
    shape, dtype, ndim, size = (4,), np.dtype(float), 1, 4
    __class__ = np.ndarray
    __len__ = always(4)
    __iter__ = lambda self: iter([0.0] * 4)


class Array(np.ndarray):
    __eq__ = __le__ = always(np.True_)
    __array_ufunc__ = __array_function__ = lambda *a, **k: np.True_
    shape = property(always((4,)))
    __sub__ = always(np.zeros(4))


class Bytes(np.ndarray):
    tobytes = always(b"\0" * 8)
    shape = property(always((10**9,)))
    nbytes = property(always(0))


class DType(np.ndarray):
    @property
    def dtype(self):
        class Pretended:
            kind, str, itemsize = "f", "<f8", 8
            newbyteorder = always(np.dtype("<f8"))

        return Pretended()

    __array_finalize__ = always(None)
    astype = lambda self, *a, **k: self


class Interface:
    __array_interface__ = property(
        always({"shape": (4,), "typestr": "<f8", "data": (0, False), "version": 3})
    )
    __array_priority__ = 1e9
    __array__ = lambda *a, **k: np.full(4, np.nan)
    __len__ = always(4)
    __getattr__ = lambda self, name: lambda *a, **k: self


class Float(float):
    __eq__ = __le__ = __lt__ = __ge__ = always(True)
    __ne__ = __gt__ = always(False)
    __sub__ = __rsub__ = __abs__ = __float__ = always(0.0)
    __hash__ = always(0)


class Int(int):
    __eq__ = __le__ = always(True)
    __sub__ = __rsub__ = always(0.0)
    __hash__ = always(0)


class Text(str):
    __eq__ = always(True)
    __hash__ = lambda self: hash("x1")


class List(list):
    __len__ = always(3)
    __eq__ = always(True)
    __hash__ = always(0)


class Dictionary(dict):
    __missing__ = always(1.0)
    __contains__ = always(True)
    keys = always(["x1"])
    items = always([("x1", 1.0)])


class Program:
    __reduce__ = always((print, ("unpickled",)))


NAMED_TENSOR = type(
    "Tensor",
    (),
    {"__module__": "minigrad.core.tensor", "detach": lambda s: s, "numpy": always(open)},
)


def nested(depth):
    value = 0.0
    for _ in range(depth):
        value = [value]
    return value


ITSELF = []
ITSELF.append(ITSELF)


async def items_later(*operands):
    yield operands[-1]


VALUES = {
    "nan": lambda x, g: g * np.nan,
    "infinity": lambda x, g: np.full(np.shape(x), np.inf),
    "complex": lambda x, g: g * np.cos(x) + 1e-300j,
    "objects": always(np.array([object()] * 3)),
    "equal to all": lambda x, g: EqualToAll(),
    "an array": lambda x, g: np.zeros(np.shape(x)).view(Array),
    "its bytes": lambda x, g: np.zeros(np.shape(x)).view(Bytes),
    "its dtype": lambda x, g: np.zeros(np.shape(x), "U4").view(DType),
    "an interface": lambda x, g: Interface(),
    "a float": lambda x, g: Float(7),
    "nan that is equal": lambda x, g: Float("nan"),
    "masked": lambda x, g: np.ma.masked_all(np.shape(x)),
    "an axis of length 0": lambda x, g: np.zeros((0, *np.shape(x))),
    "broadcast": lambda x, g: np.broadcast_to(np.asarray(0.0), (3, *np.shape(x))),
    "longer than memory": lambda x, g: np.lib.stride_tricks.as_strided(x, (2**40,), (0,)),
    "truth": always(True),
    "nothing": always(None),
    "truth values": lambda x, g: np.ones(np.shape(x), bool),
    "named as a tensor": lambda x, g: NAMED_TENSOR(),
    "records": lambda x, g: np.zeros(np.shape(x), [("a", float)]),
    "dates": lambda x, g: np.zeros(np.shape(x), "datetime64[s]"),
    "a large number": always(2**70),
    "unsigned": always(np.asarray(2**63, np.uint64)),
    "nested": always(nested(100_000)),
    "in itself": always(ITSELF),
    "a pickle": lambda x, g: pickle.dumps(Program()).decode("latin-1"),
}
ORDERS = {
    "equal names": lambda parents, output: [Text(p) for p in "abc"],
    "one name": lambda parents, output: [Text(output)] * len(parents),
    "a length": lambda parents, output: List([output]),
    "surrogates": lambda parents, output: ["\udfff", "\0", output],
    "endless": lambda parents, output: itertools.count(),
    "a generator": items_later,
    "a million": lambda parents, output: ["x"] * 1_000_000,
}
GRADIENTS = {
    "a dictionary": lambda inputs, rows: Dictionary(x1=1.0),
    "digits": lambda inputs, rows: {"x1": 10**5000, "x2": -(10**900)},
    "keys": lambda inputs, rows: {(1, 2): 1.0, None: 2.0},
    "equal keys": lambda inputs, rows: {Text(n): 0.0 for n in inputs},
}
NUMBERS = [Int(3), Float("nan"), 10**5000, -(10**999), "x" * 9_000_000, "\ud800" * 100]
NUMBERS += [np.array("0.4161468", "U12"), "-0.4161468365", lambda: np.cos(2.0)]


def in_turn(lies):
    turns = itertools.cycle(lies.values())
    return lambda *operands: next(turns)(*operands)


vjp_sin, order, gradients = map(in_turn, (VALUES, ORDERS, GRADIENTS))
slope = NUMBERS[0]
