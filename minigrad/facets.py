"""What a declaration says about an operation besides its forward function and its rules: one
attribute for each mechanism that asks.

vmap asks for `batch`, static graphs for `shape` and `dtype`, and so on. The mechanisms read these
attributes; no table elsewhere names operations. None means "not declared": the mechanism then takes
its general way, which is right and slow, or refuses. What follows from the kind of an operation is
filled in here, so the rows of element-wise operations stay short.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import wraps
from itertools import repeat
from typing import Any

from .backend import float32, in_range, integer_of, is_narrow, modulo, shares_memory
from .explain import check_integer
from .half_precision import accumulating, is_factor, scaling
from .scalar import FUNCTIONS, formula


class Facets:
    """The attributes of an operation that its declaration may set by keyword, and their
    defaults."""

    name: str
    view: bool
    promote: str | None
    forward: Callable[..., Any]

    declared_forward: Callable[..., Any]
    """The forward function as it was declared, which is right for float32 and float64."""

    accumulates: bool = False
    """It adds or multiplies many numbers, so float16 and bfloat16 inputs are computed in float32,
    and the result is rounded once (half_precision.py): by `forward`, not by `declared_forward`."""

    scales: bool = False
    """Of its two operands, one may be a number that float16 and bfloat16 do not hold. Beside arrays
    of these it is not rounded: they are computed in float32, and the result is rounded once."""

    symbol: str = ""
    """How formulas show it; its name by default."""

    pointwise: bool = False
    """Each element of the result depends on one element of each operand, after broadcasting. True
    for the kind `elementwise`; comparisons and other operations of that nature, whatever their
    kind, declare it."""

    batch: Callable[..., Any] | str | None = None
    """How vmap runs it once for all examples: "pointwise", "itself" (its forward function takes
    batched payloads), or a rule (operation, xp, arrays, k, **params) as in ops/batch.py. None:
    example by example."""

    shape: Callable[..., Any] | str | None = None
    """The shape of the (first) result, for static graphs: "broadcast" (of all operands), "first"
    (the first operand's), "valid first" (the first operand's, if the operation accepts the
    operands), "given" (the parameter `shape`), "data" (it depends on the elements), "masks" (on
    those of boolean arrays among the parameters), or a function of the operands' shapes (None where
    unknown) and of the parameters, which returns None where it cannot say. None: the operation is
    tried on operands of these shapes."""

    dtype: str | None = None
    """The dtype of the results, for static graphs: "first" (the first operand's), "given" (the
    parameter `dtype`), "real" (of complex operands the dtype of their parts), "complex" (the
    complex dtype of such parts), or the name of a dtype. None: what the operands promote to."""

    scalar: Callable[..., str | None] | str | None = None
    """What a pointwise operation does to single numbers, in the language of scalar.py: "1 /
    (exp(-x) + 1)"; or a function of the parameters that returns such a text. Where that language
    has a function of the operation's name, this is filled in. None: generated code cannot compute
    it."""

    notation: Callable[..., str] | str | None = None
    """How mathematics writes it, in Python's operators: "x ** 2", "a @ b", "x[index]"; or a
    function of the parameters that returns such a text. Filled in where the scalar expression has
    no function in it. None: its symbol before the operands, or between two where the symbol is a
    sign."""

    pull_notation: Callable[..., tuple[str | None, ...]] | tuple[str | None, ...] | str | None = (
        None
    )
    """How mathematics writes the pull rule of an operand, where that rule computes it in more
    operations: "g * (x == y) / sum(x == y)"; of several operands a tuple; or a function of the
    operands and the parameters that returns this tuple. For complex numbers conjugates are filled
    in. Where the rule itself conjugates, a text is for real numbers, and only a function's is for
    complex ones too. None: the
    operations of the rule are written."""

    push_notation: Callable[..., tuple[str | None, ...]] | tuple[str | None, ...] | str | None = (
        None
    )
    """As `pull_notation`, of the push rule: "sum(t * (x == y), axes) / sum(x == y, axes)"."""

    kernel: Callable[..., Any] | str | None = None
    """How a program computes it without allocating: "scalar" (as its scalar expression says), a
    template for a view of {0} ("{0}.reshape({shape})"), or a function as in ops/kernels.py. None:
    by the forward function."""

    reduction: str | None = None
    """What a generated loop makes of many elements, over the axes of the parameter `axes` or down
    to the parameter `shape`: "sum", "mean" or "largest". None: generated loops cannot hold it."""

    windows: str | None = None
    """What a generated loop makes of the windows along an axis: "largest" or "sum" of each, or of
    what is given for each window, "spread" (to all its elements) or "first largest" (to that one).
    None: NumPy does it."""

    parts: Callable[..., Any] | None = None
    """What it is made of: a function of its operands and parameters, written in operations that
    generated kernels can hold, and products of matrices. It gives the same within rounding. None:
    kernels end where it begins, and begin where it ends."""

    cost: Callable[..., tuple[int, int, int]] | tuple[int, int, int] | None = None
    """How many multiplications, additions and other operations it takes: for each element of the
    (first) result, or a formula of the shapes as in ops/costs.py. Views cost nothing, and a
    pointwise operation what its scalar expression counts, or else one other operation for each
    element. None: unknown, taken for one operation an element."""

    terms: Callable[..., Any] | None = None
    """Which elements of its operands meet in an element of its result: a formula of the shapes as
    in ops/terms.py, for pictures of one element. None: no picture is made."""

    domain: str | None = None
    """Where it has a finite value, as a condition in the language of scalar.py: "x > 0". None: for
    all numbers."""

    graph_name: str | Callable[[Any], str] | None = None
    """What PyTorch calls its node in the graph, or a function of the node that says so. None: the
    name with capitals in the place of underscores (PyTorch's own rule), and Backward0."""

    integers: str | None = None
    """What it does with a Python integer that the dtype of its integer tensors cannot hold:
    "modulo" (reduces it modulo 2ⁿ, as the arithmetic of integers does), "written" (takes negative
    ones for unsigned dtypes only, as a write into memory does) or "any" (takes it exactly, as
    comparisons do). None: it refuses it."""

    random: bool = False
    """It reads the random generator: two runs on the same operands give different results."""

    def node_name(self, node: Any) -> str:
        """The name of an operation's node: its `graph_name`, or what follows from its name."""
        if self.graph_name is None:
            return self.name.title().replace("_", "") + "Backward0"
        return self.graph_name if isinstance(self.graph_name, str) else self.graph_name(node)

    def upcasts(self, dtypes: Collection[Any]) -> bool:
        """Whether `forward` computes operands of these dtypes (None: a Python number) in float32,
        so that `declared_forward` would compute something else."""
        narrow = any(map(is_narrow, dtypes))
        return narrow and (self.accumulates or (self.scales and len(set(dtypes)) > 1))

    def dtypes_for(self, operands: Iterable[Any], dtype: Any) -> Iterable[Any]:
        """To what each operand is cast, given the dtype that all promote to."""
        if not (self.scales and is_narrow(dtype)):
            return repeat(dtype)
        return [float32 if is_factor(operand, dtype) else dtype for operand in operands]

    def integer_operand(self, operand: Any, dtype: Any) -> Any:
        """An operand beside integers that promote to `dtype`: a Python integer as `integers` says,
        anything else unchanged. Raises OverflowError for integers out of range."""
        if type(operand) is not int:
            return operand
        check_integer(self.name, operand)
        if self.integers == "modulo":
            return modulo(operand, dtype)
        if self.integers == "written":
            return integer_of(operand, dtype, self.name)
        if self.integers == "any" or self.promote == "float":
            return operand
        return in_range(operand, dtype, self.name)

    def declare(self, kind: str, inputs: tuple[str, ...], facets: dict[str, Any]) -> None:
        """Set the attributes that a declaration gives, and fill in what follows from the
        operation's kind. Raises TypeError for other names, ValueError for a notation that is no
        formula."""
        known = self.options()
        for facet in facets:
            if facet not in known:
                raise TypeError(
                    f"{self.name}: a declaration has no keyword {facet!r}; it has"
                    f" {', '.join(sorted(known))}."
                )
        vars(self).update({name: facets.get(name, getattr(self, name)) for name in known})
        if not self.view and not str(self.forward.__module__).startswith("minigrad."):
            self.forward = in_new_memory(self.forward)
        if self.accumulates or self.scales:
            declared, upcasting = self.forward, accumulating if self.accumulates else scaling
            self.forward = upcasting(declared)
            self.declared_forward = declared
        self.symbol = self.symbol or self.name
        for name in ("pull_notation", "push_notation"):
            if isinstance(text := getattr(self, name), str):
                setattr(self, name, (text,))
        texts = (self.notation, self.pull_notation, self.push_notation)
        for text in (
            one for given in texts for one in (given if type(given) is tuple else [given])
        ):
            if isinstance(text, str):
                formula(text)
        self.pointwise = self.pointwise or kind == "elementwise"
        text = self.scalar if isinstance(self.scalar, str) else ""
        if self.notation is None and "(" not in text and not text.isalnum():
            self.notation = text or None
        if self.view and self.cost is None:
            self.cost = 0, 0, 0
        if self.pointwise:
            self.batch = self.batch or "pointwise"
            self.shape = self.shape or "broadcast"
            if self.scalar is None and self.name in FUNCTIONS:
                self.scalar = f"{self.name}({', '.join(inputs)})"
            if self.scalar is not None and "kernel" not in facets:
                self.kernel = "scalar"

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "forward":  # whoever replaces the computation replaces it for every dtype
            self.declared_forward = value

    @classmethod
    def options(cls) -> set[str]:
        """The attributes of the class that have a type and a default."""
        typed = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
        return {name for name in typed if hasattr(cls, name)}


def in_new_memory(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A user's forward function, whose results are copied where they may share memory with an
    operand. The identity with a rule of its own (`lambda xp, x: x`) returns its operand, which a
    write to the result would change.
    """

    @wraps(forward)
    def run(library: Any, *arrays: Any, **params: Any) -> Any:
        result = forward(library, *arrays, **params)
        operands = [a for a in arrays if hasattr(a, "base")]
        own: Any = lambda y: y.copy() if any(shares_memory(y, a) for a in operands) else y
        return tuple(map(own, result)) if isinstance(result, tuple) else own(result)

    return run
