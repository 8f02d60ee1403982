"""Sums of products: the Einstein notation, and the vector and matrix products that have names of
their own.

All of them rest on `matmul`: axes are moved into the order (batch, left, inner) and (batch, inner,
right), multiplied, and moved back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from .. import functions as fn
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions.arguments import check_factor
from ..names import TensorLike, public, publish
from ..ops import diagonals
from ..ops import shape as sh
from ..ops.elementwise import in_float32, overwrite
from .norms import vector_norm

Label = str | int
"""A letter of the equation, or the number of an axis that an Ellipsis stands for."""
Labelled = tuple[Tensor, list[Label]]

# ------------------------------------------------------------------------------------------- einsum

_LETTERS = ascii_uppercase + ascii_lowercase
"""The letters of the axes 0 to 51."""


@public(method=False)
@fn.in_own_memory_or_view
def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products that the equation describes: `einsum("bij,bjk->bik", a, b)`, or with a
    list of numbers (0 to 51) after each operand, and one for the output if it is wanted: `einsum(a,
    [0, 1, 2], b, [0, 2, 3], [0, 1, 3])`.

    Each letter names an axis; a letter twice in one operand takes the diagonal; axes whose letter
    is not in the output are summed; "..." stands for leading axes, which broadcast; without "->"
    the output has the letters that occur once, in alphabetical order. Operands are combined from
    left to right. Raises ShapeError naming the letter whose sizes differ, ValueError for an
    equation that does not fit the operands.
    """
    if not isinstance(equation, str):
        equation, operands = _lettered(equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    tensors = [as_tensor(x) for x in operands]
    terms, output = _parsed(equation, tensors)
    sizes = _sizes(equation, tensors, terms)
    wrong = [letter for letter in output if letter not in sizes]
    if wrong or len(set(output)) != len(output):
        raise ValueError(
            f"einsum: the output of {equation!r} must name axes of the operands, each once; got"
            f" {output}."
        )
    parts = [_distinct(x, term, sizes) for x, term in zip(tensors, terms, strict=True)]
    total = parts[0]
    for position, part in enumerate(parts[1:], 1):
        needed = set(output).union(*(labels for _, labels in parts[position + 1 :]))
        total = _pair(total, part, needed)
    x, labels = _summed(total, set(output))
    x = _in_order(x, [labels.index(letter) for letter in output])
    return x.view_as(x) if any(x is one for one in tensors) else x


def _in_order(x: Tensor, axes: list[int]) -> Tensor:
    """The axes in another order; x itself where the order is the present one."""
    return x if axes == [*range(x.ndim)] else fn.permute(x, axes)


def _in_shape(x: Tensor, shape: list[int]) -> Tensor:
    """The elements in another shape; x itself where that is its own."""
    return x if tuple(shape) == x.shape else x.reshape(shape)


def _lettered(*operands: Any) -> tuple[str, tuple[Any, ...]]:
    """Operands with a list of numbers behind each, as an equation and operands; later numbers
    are later letters.
    """
    lists = [*operands[1::2], *operands[-1:]] if len(operands) % 2 else list(operands[1::2])
    if len(operands) < 2 or not all(isinstance(numbers, list | tuple) for numbers in lists):
        raise TypeError(
            "einsum: give an equation and operands, or each operand followed by a list of numbers"
            " for its axes."
        )
    terms = []
    for numbers in lists:
        wrong = [
            n
            for n in numbers
            if n is not Ellipsis and not (isinstance(n, int) and 0 <= n < len(_LETTERS))
        ]
        if wrong:
            raise ValueError(
                f"einsum: axes are numbered 0 to {len(_LETTERS) - 1} (or are ...), got"
                f" {wrong[0]!r}."
            )
        terms.append("".join("..." if n is Ellipsis else _LETTERS[n] for n in numbers))
    arrow = "->" + terms.pop() if len(operands) % 2 else ""
    return ",".join(terms) + arrow, operands[: len(operands) - len(operands) % 2 : 2]


def _parsed(equation: str, tensors: list[Tensor]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand and of the output, with numbers 0 … E-1 for the axes of an
    Ellipsis.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ValueError(
            f"einsum: {equation!r} describes {len(terms)} operands, got {len(tensors)}."
        )
    counts = []
    for number, (term, x) in enumerate(zip(terms, tensors, strict=True)):
        letters = term.replace("...", "", 1)
        if not all(c.isascii() and c.isalpha() for c in letters):
            raise ValueError(
                f"einsum: {term!r} in {equation!r} may hold letters and one '...' only."
            )
        count = x.ndim - len(letters)
        if count < 0 or (count > 0 and "..." not in term):
            raise ValueError(
                f"einsum: {term!r} names {len(letters)} axes, operand {number} has shape {x.shape}."
            )
        counts.append(count)
    most = max(counts)

    def labels(term: str, count: int) -> list[Label]:
        before, dots, after = term.partition("...")
        return [*before, *(range(most - count, most) if dots else ()), *after]

    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        return [labels(t, c) for t, c in zip(terms, counts, strict=True)], [
            *range(most),
            *sorted(c for c in set(letters) if letters.count(c) == 1),
        ]
    return [labels(t, c) for t, c in zip(terms, counts, strict=True)], labels(
        right, most if "..." in right else 0
    )


def _sizes(equation: str, tensors: list[Tensor], terms: list[list[Label]]) -> dict[Label, int]:
    """How long each labelled axis is; length 1 broadcasts."""
    sizes: dict[Label, int] = {}
    for x, term in zip(tensors, terms, strict=True):
        for letter, n in zip(term, x.shape, strict=True):
            known = sizes.get(letter, 1)
            if n != known and 1 not in (n, known):
                raise ShapeError(
                    f"einsum: {equation!r}: axis {letter!r} has sizes {known} and {n}. Shapes:"
                    f" {[t.shape for t in tensors]}."
                )
            sizes[letter] = n if known == 1 else known
    return sizes


def _distinct(x: Tensor, labels: list[Label], sizes: dict[Label, int]) -> Labelled:
    """The operand with each label once (diagonals taken) and without axes of length 1 that other
    operands make longer.
    """
    kept = [i for i, letter in enumerate(labels) if x.shape[i] == sizes[letter]]
    x, labels = _in_shape(x, [x.shape[i] for i in kept]), [labels[i] for i in kept]
    for letter in dict.fromkeys(labels):
        while labels.count(letter) > 1:
            first = labels.index(letter)
            second = labels.index(letter, first + 1)
            x = diagonals.diagonal(x, offset=0, axis1=first, axis2=second)
            labels = [c for i, c in enumerate(labels) if i not in (first, second)] + [letter]
    return x, labels


def _summed(part: Labelled, needed: set[Label]) -> Labelled:
    x, labels = part
    axes = [i for i, letter in enumerate(labels) if letter not in needed]
    return (fn.sum(x, axes) if axes else x), [letter for letter in labels if letter in needed]


def _pair(a: Labelled, b: Labelled, needed: set[Label]) -> Labelled:
    """The product of two operands, summed over the labels that are not needed any more."""
    (x, xs), (y, ys) = _summed(a, needed.union(b[1])), _summed(b, needed.union(a[1]))
    batch = [c for c in xs if c in ys and c in needed]
    inner = [c for c in xs if c in ys and c not in needed]
    left, right = [c for c in xs if c not in ys], [c for c in ys if c not in xs]
    size = dict(zip([*xs, *ys], [*x.shape, *y.shape], strict=True))
    total: Callable[[list[Label]], int] = lambda letters: math.prod(size[c] for c in letters)
    x = _in_order(x, [xs.index(c) for c in (*batch, *left, *inner)])
    y = _in_order(y, [ys.index(c) for c in (*batch, *inner, *right)])
    lead = [size[c] for c in batch]
    x = _in_shape(x, [*lead, total(left), total(inner)])
    y = _in_shape(y, [*lead, total(inner), total(right)])
    product = fn.matmul(x, y) if inner else x * y
    shape = [*lead, *(size[c] for c in (*left, *right))]
    return _in_shape(product, shape), [*batch, *left, *right]


# ------------------------------------------------------------------------------ products with names


def _ranks(function: str, *named: tuple[str, Tensor, int], instead: str = "") -> None:
    for name, x, rank in named:
        if x.ndim != rank:
            raise ShapeError(
                f"{function}: {name} must have {rank} dimension{'s' * (rank != 1)}, got shape"
                f" {x.shape}.{instead}"
            )


@public(theirs="input tensor")
def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Σ a[i] b[i] of two vectors of equal length."""
    a, b = as_tensor(a), as_tensor(b)
    instead = " With a matrix write a @ b (mg.matmul)."
    _ranks("dot", ("a", a, 1), ("b", b, 1), instead=instead)
    return fn.matmul(a, b)


@in_float32
def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """Σ conj(a[i]) b[i] of two vectors of equal length."""
    return dot(fn.conj(a), b)


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """Σ over the last axis of both, for every pair of their other indices; the plain product if
    one is a number.
    """
    a, b = as_tensor(a), as_tensor(b)
    return a * b if 0 in (a.ndim, b.ndim) else tensordot(a, b, ([-1], [-1]))


@public(theirs="input vec2")
def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """a[i] b[j] of two vectors."""
    a, b = as_tensor(a), as_tensor(b)
    _ranks("outer", ("a", a, 1), ("b", b, 1))
    return a.reshape(-1, 1) * b


ger = outer


@public(theirs="input vec")
def mv(a: TensorLike, b: TensorLike) -> Tensor:
    """Matrix times vector."""
    a, b = as_tensor(a), as_tensor(b)
    _ranks("mv", ("the matrix", a, 2), ("the vector", b, 1))
    return fn.matmul(a, b)


@public(theirs="input mat2")
def mm(a: TensorLike, b: TensorLike) -> Tensor:
    """Matrix times matrix, without broadcasting."""
    a, b = as_tensor(a), as_tensor(b)
    _ranks("mm", ("a", a, 2), ("b", b, 2))
    return fn.matmul(a, b)


@public(theirs="input mat2")
def bmm(a: TensorLike, b: TensorLike) -> Tensor:
    """The products of two batches of matrices, of shapes (B, n, k) and (B, k, m)."""
    a, b = as_tensor(a), as_tensor(b)
    _ranks("bmm", ("a", a, 3), ("b", b, 3))
    if a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"bmm: the batches have {a.shape[0]} and {b.shape[0]} matrices (shapes {a.shape} and"
            f" {b.shape})."
        )
    return fn.matmul(a, b)


def _added(function: str, x: TensorLike, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta x + alpha product; with beta = 0 the values of x do not count, not even NaN.
    Raises DTypeError for factors of a higher kind."""
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if type(factor) is not int:
            check_factor(function, name, factor, x, product)
    product = product if type(alpha) in (int, float) and alpha == 1 else product * alpha
    if type(beta) in (int, float) and beta == 0:
        if not isinstance(x, Tensor) or not x.requires_grad:
            return product
        return overwrite(fn.broadcast_to(x, product.shape), product)  # the gradient of x is 0
    return (x if type(beta) in (int, float) and beta == 1 else x * beta) + product


def _adding(
    name: str, product: Callable[[Any, Any], Tensor], theirs: str, text: str
) -> Callable[..., Tensor]:
    """The public function beta x + alpha · product(a, b). theirs: PyTorch's names of a and b."""

    def added(
        x: TensorLike, a: TensorLike, b: TensorLike, *, beta: Any = 1, alpha: Any = 1
    ) -> Tensor:
        return _added(name, as_tensor(x), product(a, b), beta, alpha)

    added.__name__ = added.__qualname__ = name
    added.__doc__ = f"beta x + alpha {text}; x broadcasts."
    return public(in_place=True, theirs=f"input {theirs}")(in_float32(added))


def _total_of_products(a: TensorLike, b: TensorLike) -> Tensor:
    products = bmm(a, b)
    return fn.sum(products, 0, dtype=products.dtype)


addmm = _adding("addmm", mm, "mat1 mat2", "(a @ b) of matrices")
addmv = _adding("addmv", mv, "mat vec", "(a @ b) of a matrix and a vector")
baddbmm = _adding("baddbmm", bmm, "batch1 batch2", "(a @ b) of batches of matrices")
addbmm = _adding("addbmm", _total_of_products, "batch1 batch2", "Σ (a[i] @ b[i]) over the batch")
addr = _adding("addr", outer, "vec1 vec2", "outer(a, b)")


@fn.in_own_memory
def tensordot(a: TensorLike, b: TensorLike, dims: Any = 2) -> Tensor:
    """Σ over pairs of axes: the last `dims` of a with the first of b, or `dims = (axes of a,
    axes of b)`.
    """
    a, b = as_tensor(a), as_tensor(b)
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot: dims={dims} does not fit shapes {a.shape} and {b.shape}.")
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first = [
            fn.axis_of(a.ndim, d, "tensordot")
            for d in ([dims[0]] if isinstance(dims[0], int) else dims[0])
        ]
        second = [
            fn.axis_of(b.ndim, d, "tensordot")
            for d in ([dims[1]] if isinstance(dims[1], int) else dims[1])
        ]
    if len(first) == len(second):  # a size 1 broadcasts
        pairs = dict(zip(first, second, strict=True))
        grown = [b.shape[pairs[i]] if i in pairs and n == 1 else n for i, n in enumerate(a.shape)]
        pairs = dict(zip(second, first, strict=True))
        b = fn.broadcast_to(
            b, [a.shape[pairs[i]] if i in pairs and n == 1 else n for i, n in enumerate(b.shape)]
        )
        a = fn.broadcast_to(a, grown)
    if [a.shape[i] for i in first] != [b.shape[i] for i in second]:
        raise ShapeError(
            f"tensordot: axes {first} of shape {a.shape} and axes {second} of shape {b.shape} have"
            " different sizes."
        )
    left = [i for i in range(a.ndim) if i not in first]
    right = [i for i in range(b.ndim) if i not in second]
    count = math.prod(a.shape[i] for i in first)
    rows = fn.permute(a, left + first).reshape(math.prod(a.shape[i] for i in left), count)
    columns = fn.permute(b, second + right).reshape(count, math.prod(b.shape[i] for i in right))
    return fn.matmul(rows, columns).reshape(
        [a.shape[i] for i in left] + [b.shape[i] for i in right]
    )


@fn.in_own_memory
def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """The Kronecker product: each element of a times the whole of b, as blocks."""
    a, b = as_tensor(a), as_tensor(b)
    rank = max(a.ndim, b.ndim)
    m, n = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    spread: Callable[..., list[int]] = lambda shape, place: [
        s for k in shape for s in ((k, 1) if place == 0 else (1, k))
    ]
    return (a.reshape(spread(m, 0)) * b.reshape(spread(n, 1))).reshape(
        [i * j for i, j in zip(m, n, strict=True)]
    )


def cross(a: TensorLike, b: TensorLike, dim: int | None = None) -> Tensor:
    """The vector product along an axis of length 3 (by default the first one); the other axes
    broadcast.
    """
    a, b = as_tensor(a), as_tensor(b)
    if a.ndim != b.ndim:
        raise ShapeError(
            f"cross: needs as many dimensions in both operands, got shapes {a.shape} and {b.shape}."
        )
    if dim is None:
        threes = [i for i, n in enumerate(a.shape) if n == 3]
        if not threes:
            raise RuntimeError(f"cross: no dimension of shape {a.shape} has size 3.")
        dim = threes[0]
    axis = fn.axis_of(a.ndim, dim, "cross")
    if a.ndim == 0 or a.shape[axis] != 3 or b.shape[axis] != 3:
        raise RuntimeError(
            f"cross: dimension {dim} must have size 3 in both operands, got shapes {a.shape} and"
            f" {b.shape}."
        )
    turned: Callable[[Tensor, int], Tensor] = lambda x, k: sh.roll(x, shifts=(-k,), axes=(axis,))
    return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1)


@public(method=False, theirs="x1 x2")
@in_float32
def cdist(a: TensorLike, b: TensorLike, p: float = 2.0, compute_mode: str = "") -> Tensor:
    """The p-norms of all differences between rows of a (…, n, d) and rows of b (…, m, d): (…, n,
    m). The derivative is 0 where rows
    are equal. compute_mode: PyTorch's choice of algorithm, which changes nothing here.
    """
    a, b = as_tensor(a), as_tensor(b)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"cdist: needs shapes (…, n, d) and (…, m, d), got {a.shape} and {b.shape}."
        )
    return vector_norm(fn.unsqueeze(a, -2) - fn.unsqueeze(b, -3), p, -1)


@public(method=False)
@fn.in_own_memory
def multi_dot(tensors: Sequence[Any]) -> Tensor:
    """The product of several matrices (the first and the last may be vectors), in the order that
    needs the fewest multiplications.
    """
    parts = [as_tensor(x) for x in tensors]
    if len(parts) < 2:
        raise ValueError(f"multi_dot: needs at least two matrices, got {len(parts)}.")
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0].reshape(1, -1) if row else parts[0]
    parts[-1] = parts[-1].reshape(-1, 1) if column else parts[-1]
    _ranks("multi_dot", *((f"matrix {i}", x, 2) for i, x in enumerate(parts)))
    sizes = [parts[0].shape[0], *(x.shape[1] for x in parts)]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(parts))}
    for length in range(1, len(parts)):
        for i in range(len(parts) - length):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        return parts[i] if i == j else mm(product(i, cost[i, j][1]), product(cost[i, j][1] + 1, j))

    out = product(0, len(parts) - 1)
    return out.reshape([n for n, gone in zip(out.shape, (row, column), strict=True) if not gone])


publish(__name__)
