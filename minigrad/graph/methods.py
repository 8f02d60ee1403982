"""What a node can do: everything that a Tensor does by computing, and a clear refusal of what a
Tensor does with its values.

Operators and methods are the Tensor's own. They run on nodes as they are, but for one thing: some
look into a shape or a dtype, which may be decided only by what is fed. Such a call becomes a node
that makes it later (`waiting`), and is differentiated then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import arrays, functions, linalg, on_demand
from ..core.tensor import Tensor
from ..errors import GraphError
from ..ops import linalg as la
from ..ops import shape as sh
from .deferred import Arranged, deferred, nodes_in
from .inference import UnknownFact, is_about_dtype
from .node import Node, no_value
from .ops import detach_op, recorded

_SEVERAL = frozenset(
    """
    split chunk unbind tensor_split hsplit vsplit dsplit sort topk kthvalue median nanmedian aminmax
    qr slogdet svd eigh eig unique var_mean std_mean meshgrid broadcast_tensors
    max_pool2d_with_indices
    """.split()
)
"""They answer with several tensors (how many may depend on the shape), so they cannot wait."""
_BY_VALUES = frozenset("nonzero argwhere unique masked_select bincount".split())
"""The shape of their results depends on the elements."""
_ANSWERS = frozenset(
    """
    size dim ndimension numel nelement stride is_contiguous is_complex is_floating_point is_signed
    is_same_size element_size get_device allclose equal type is_tensor is_nonzero
    """.split()
)
"""They answer with Python values."""


def waiting(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`function`, which on nodes of unknown shape or dtype gives a node that calls it when the
    graph runs.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UnknownFact:
            if not _can_wait(name, args, kwargs):
                raise
        except TypeError as error:
            if not is_about_dtype(error):
                raise
        return deferred(
            Arranged(function, args, kwargs),
            name,
            *nodes_in((args, kwargs)),
            recordable=name not in _BY_VALUES,
        )

    return call


def _can_wait(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    # values and indices along an axis
    if name in ("max", "min", "median", "nanmedian", "mode") and len(args) + len(kwargs) > 1:
        return any(isinstance(a, Tensor) for a in args[1:])
    return (name not in _SEVERAL and name not in _ANSWERS) or (
        name in ("median", "nanmedian") and len(args) + len(kwargs) == 1
    )


def function_named(name: str) -> Callable[..., Any]:
    """The public function of that name, for nodes. Raises AttributeError."""
    from ..nn import functional

    if name == "sum":
        return total
    for module in (functions, arrays, *on_demand.load(), linalg, functional):
        found = getattr(module, name, None)
        if (
            callable(found)
            and not isinstance(found, type)
            and (name in getattr(module, "__all__", ()) or module in (linalg, functional))
        ):
            return waiting(found, name)
    raise AttributeError(
        f"module 'minigrad.graph' has no attribute {name!r}, nor has the library a function of that"
        " name."
    )


# -------------------------------------------------------------------------------------- the methods


def _refuses(what: str, instead: str) -> Callable[..., Any]:
    def refuse(self: Node, *_: Any, **__: Any) -> Any:
        raise GraphError(f"{what}: {self.name} is a node of a graph. {instead}")

    return refuse


def _has_no_value(what: str) -> Callable[..., Any]:
    def refuse(self: Node, *_: Any, **__: Any) -> Any:
        raise no_value(self, what)

    return refuse


_VALUES = {
    "__bool__": "bool(node), and so if, while, and, or and not",
    "__float__": "float(node)",
    "__int__": "int(node)",
    "__complex__": "complex(node)",
    "__index__": "a node as a Python index",
    "__array__": "a node as a NumPy array",
    "__contains__": "in",
    **{
        name: f".{name}()"
        for name in "item tolist numpy allclose equal is_nonzero data_ptr astype".split()
    },
}
_DERIVATIVES = """
    backward requires_grad_ retain_grad register_hook register_post_accumulate_grad_hook grad
    stores_grad data
""".split()
_DIFFERENTIATE = (
    "Derivatives of a graph are mg.graph.gradients(y, [x]) and jvp(y, [x], [v]); .detach() stops"
    " them."
)
_KEPT = frozenset(
    """
    shape ndim dtype array node tangents version view_of stored_grad _version __class__ __init__
    __new__ __hash__ __repr__ __str__ __doc__ __getattribute__ __setattr__ __delattr__ __dir__
    __sizeof__ __subclasshook__ __init_subclass__ __slots__ __module__ __annotations__ __weakref__
    __array_ufunc__ __array_priority__ __getstate__ __reduce_ex__ __len__ __iter__ draw_graph
    is_leaf grad_fn creator
    """.split()
)
_IN_PLACE_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor".split()


def attach_surface() -> None:
    """Put the methods of Tensor on Node."""
    for name in dir(Tensor):
        if name in _KEPT or name in _VALUES or name in Node.__dict__:
            continue
        own = getattr(Tensor, name)
        if name in _DERIVATIVES:
            refuse = _refuses(f".{name}", _DIFFERENTIATE)
            setattr(Node, name, property(refuse, refuse) if isinstance(own, property) else refuse)
        elif name.endswith("_") and not name.endswith("__"):
            setattr(
                Node,
                name,
                _refuses(
                    f".{name}",
                    "Nodes stand for one value each; nothing is changed in place. Use"
                    f" .{name[:-1]}(…).",
                ),
            )
        elif isinstance(own, property):
            assert own.fget is not None
            setattr(Node, name, property(waiting(own.fget, name), doc=own.__doc__))
        elif callable(own):
            setattr(Node, name, waiting(own, name))
    for name, what in _VALUES.items():
        setattr(Node, name, _has_no_value(what))
    for name in _IN_PLACE_OPERATORS:  # x += y makes a new node and calls it x
        setattr(Node, f"__i{name}__", getattr(Node, f"__{name}__"))
    for name in ("gaussian", "uniform", "set_value"):
        setattr(
            Node,
            name,
            _refuses(f".{name}", "Nodes stand for one value each; nothing is changed in place."),
        )
    replaced: dict[str, Any] = {
        "__minigrad_apply__": staticmethod(recorded),
        "__setitem__": _refuses(
            "x[index] = value",
            "Nothing is changed in place: use where(…), or index_put on tensors.",
        ),
        "__reduce__": _refuses("pickle", "Save what it is made from instead."),
        "__copy__": lambda self: self,
        "__deepcopy__": lambda self, memo: self,
        "__format__": lambda self, spec: format(self.name, spec),
        "__matmul__": product,
        "__rmatmul__": lambda self, other: product(other, self),
        "__imatmul__": product,
        "matmul": product,
        "sum": total,
        "detach": lambda self: detach_op(self),
        "requires_grad": property(
            lambda self: False,
            _refuses("requires_grad = …", "Any node can be differentiated by any other."),
        ),
    }
    for name, method in replaced.items():
        setattr(Node, name, method)


def total(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The sum over axes, over all of them by default. That one needs no shape: the result has
    none.
    """
    if isinstance(x, Node) and x.known_shape is None and not args and not kwargs:
        return sh.sum_to(x, shape=())
    return waiting(functions.sum, "sum")(x, *args, **kwargs)


def product(a: Any, b: Any) -> Any:
    """The matrix product a @ b of operands whose shapes may be unknown."""
    unknown = any(isinstance(x, Node) and x.known_shape is None for x in (a, b))
    return la.matmul(a, b) if unknown else functions.matmul(a, b)


attach_surface()
