"""The array vocabulary, line by line as a PyTorch user writes it: values, gradients, second
derivatives, tangents, dtypes, layouts.
"""

import math

import numpy as np
import pytest

from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")]

R = np.random.default_rng(0)
INF, NAN = math.inf, math.nan
M = R.standard_normal((3, 4))
T3 = R.standard_normal((2, 3, 4))
V = R.standard_normal(4)
P = R.random((3, 4)) + 0.3
S = np.array(0.7)
TIES = np.array([[1.0, 3, 3, 2], [0, 0, 0, 0], [5, -1, 5, 5]])
ZEROS = np.array([[1.0, 0, 3, 2], [0, 2, 0, 4], [5, -1, 2, 3]])
HOLES = np.array([[1.0, NAN, 3, 2], [NAN, NAN, NAN, NAN], [5, -1, INF, -INF]])
C = R.standard_normal((3, 4)) + 1j * R.standard_normal((3, 4))
CV = R.standard_normal(4) + 1j * R.standard_normal(4)
B1, B2 = R.standard_normal((2, 3, 4)), R.standard_normal((2, 4, 5))
ROWS = np.array([2, 0, 2])
PICK = np.array([[0, 2, 1, 1], [2, 2, 0, 0]])
MASK = np.array(
    [[True, False, True, True], [False, False, True, False], [True, True, False, False]]
)
EMPTY = np.zeros((0, 3))


def least_squares(m, a, b):
    """PyTorch returns the residuals too."""
    result = m.linalg.lstsq(a, b)
    return getattr(result, "solution", result)


SINGULAR = np.array([[[1.0, 0], [0, 0]], [[2, 1], [1, 3]]])

CASES = {
    # singular matrices
    **{
        f"cond {p}": (lambda m, x, p=p: m.linalg.cond(x.detach(), p), SINGULAR)
        for p in (1, -1, INF, -INF, "fro")
    },
    "cond of one": (lambda m, x: m.linalg.cond(x.detach(), -1), SINGULAR[0]),
    # order
    "max": (lambda m, x: m.max(x), M),
    "max ties": (lambda m, x: x.max(), TIES),
    "max dim": (lambda m, x: m.max(x, 1), M),
    "max dim ties": (lambda m, x: x.max(1).values, TIES),
    "max dim keepdim": (lambda m, x: m.max(x, dim=0, keepdim=True), M),
    "max two": (lambda m, x, y: m.max(x, y), TIES, TIES[::-1].copy()),
    "max number": (lambda m, x: m.max(x, 0), S),
    "max nan": (lambda m, x: m.max(x, 1), HOLES),
    "min": (lambda m, x: m.min(x), TIES),
    "min dim": (lambda m, x: x.min(-1, keepdim=True), M),
    "min two": (lambda m, x, y: m.min(x, y), M, V),
    "aminmax": (lambda m, x: m.aminmax(x), TIES),
    "aminmax dim": (lambda m, x: m.aminmax(x, dim=1, keepdim=True), TIES),
    "cummax": (lambda m, x: m.cummax(x, 1), M),
    "cummax ties": (lambda m, x: m.cummax(x, dim=0), TIES),
    "cummax nan": (lambda m, x: x.cummax(1), HOLES),
    "cummax number": (lambda m, x: m.cummax(x, 0), S),
    "cummax empty": (lambda m, x: [*m.cummax(x, 0), *m.cummin(x, 1)], EMPTY),
    "cummin": (lambda m, x: m.cummin(x, -1), M),
    "cummin ties": (lambda m, x: x.cummin(1), TIES),
    "cummin nan": (lambda m, x: m.cummin(x, 0), HOLES),
    "sort": (lambda m, x: m.sort(x), M),
    "sort descending": (lambda m, x: x.sort(0, descending=True), M),
    "sort stable": (lambda m, x: m.sort(x, stable=True, dim=1, descending=True), TIES),
    "sort nan": (lambda m, x: m.sort(x, dim=1, descending=True, stable=True), HOLES),
    "sort number": (lambda m, x: m.sort(x), S),
    "sort empty": (lambda m, x: m.sort(x, 1), EMPTY),
    "argsort": (lambda m, x: m.argsort(x, dim=0), M),
    "topk": (lambda m, x: m.topk(x, 2), M),
    "topk smallest": (lambda m, x: x.topk(2, 0, largest=False), M),
    "topk none": (lambda m, x: x.topk(0, 1), M),
    "kthvalue": (lambda m, x: m.kthvalue(x, 2), M),
    "kthvalue keepdim": (lambda m, x: x.kthvalue(3, 0, True), M),
    "median": (lambda m, x: m.median(x), M),
    "median ties": (lambda m, x: m.median(x), TIES),
    "median dim": (lambda m, x: m.median(x, 1), M),
    "median nan": (lambda m, x: m.median(x, 1).values, HOLES),
    "nanmedian": (lambda m, x: m.nanmedian(x, 0).values, HOLES),
    "nanmedian all": (lambda m, x: m.nanmedian(x), HOLES),
    "unique": (lambda m, x: m.unique(x.detach(), return_inverse=True, return_counts=True), TIES),
    "searchsorted": (lambda m, x, v: m.searchsorted(x, v), np.array([1.0, 2, 2, 5]), TIES),
    "searchsorted right": (lambda m, x, v: m.searchsorted(x, v, right=True), np.sort(M),
        M[:, :2].copy()),
    # running
    "cumsum": (lambda m, x: m.cumsum(x, 1), M),
    "cumsum dim": (lambda m, x: x.cumsum(dim=-3), T3),
    "cumsum number": (lambda m, x: m.cumsum(x, 0), S),
    "cumsum empty": (lambda m, x: m.cumsum(x, 0), EMPTY),
    "cumsum complex": (lambda m, x: m.cumsum(x, 1), C),
    "cumsum int": (lambda m, x: m.cumsum(x, 0), PICK),
    "cumprod": (lambda m, x: m.cumprod(x, 1), M),
    "cumprod zeros": (lambda m, x: m.cumprod(x, 1), ZEROS),
    "cumprod zeros dim": (lambda m, x: x.cumprod(0), ZEROS),
    "cumprod complex": (lambda m, x: m.cumprod(x, 1), C),
    "cumprod number": (lambda m, x: m.cumprod(x, 0), S),
    "cumprod empty": (lambda m, x: m.cumprod(x, 0), EMPTY),
    "logcumsumexp": (lambda m, x: m.logcumsumexp(x, 1), M),
    "logcumsumexp large": (lambda m, x: m.logcumsumexp(x, 0), M * 1e4),
    "diff": (lambda m, x: m.diff(x, n=2), M),
    "diff dim": (lambda m, x: x.diff(dim=0), M),
    "prod": (lambda m, x: m.prod(x), M),
    "prod zeros": (lambda m, x: m.prod(x, 1), ZEROS),
    "prod one zero": (lambda m, x: m.prod(x), np.array([2.0, 0.0, 3.0, 4.0])),
    "prod two zeros": (lambda m, x: m.prod(x), np.array([2.0, 0.0, 0.0, 4.0])),
    "prod three zeros": (lambda m, x: m.prod(x), np.array([2.0, 0.0, 0.0, 0.0])),
    "prod keepdim": (lambda m, x: m.prod(x, 1, True), ZEROS),
    "prod complex": (lambda m, x: m.prod(x, 0), C),
    "prod empty": (lambda m, x: m.prod(x, 0), EMPTY),
    "prod number": (lambda m, x: m.prod(x), S),
    "prod int": (lambda m, x: m.prod(x, 0), PICK),
    "logsumexp": (lambda m, x: m.logsumexp(x, 1), M),
    "logsumexp dims": (lambda m, x: m.logsumexp(x, (0, 2), keepdim=True), T3),
    "logsumexp large": (lambda m, x: m.logsumexp(x, 1), M * 1e4),
    "logsumexp of nothing": (lambda m, x: m.logsumexp(x, 0), np.full(3, -INF)),
    "logsumexp half nothing": (lambda m, x: m.logsumexp(x, 1),
        np.array([[-INF, 1.0], [2.0, -INF]])),
    "logsumexp infinity": (lambda m, x: m.logsumexp(x, 0), np.array([1.0, INF, 2.0])),
    "logsumexp empty": (lambda m, x: m.logsumexp(x, 0), EMPTY),
    "nansum": (lambda m, x: m.nansum(x[:2], 1), HOLES),
    "nanmean": (lambda m, x: m.nanmean(x[::2], 0), HOLES),
    "count_nonzero": (lambda m, x: m.count_nonzero(x, 1), ZEROS),
    "bincount": (lambda m, x: m.bincount(x, minlength=5), ROWS),
    # statistics and norms
    "var": (lambda m, x: m.var(x), M),
    "var dim": (lambda m, x: m.var(x, 1, keepdim=True), M),
    "var biased": (lambda m, x: m.var(x, 0, unbiased=False), M),
    "var correction": (lambda m, x: m.var(x, dim=(0, 2), correction=2), T3),
    "var of one": (lambda m, x: m.var(x, 0), M[:1].copy()),
    "var flag": (lambda m, x: x.var(False), M),
    "var complex": (lambda m, x: m.var(x, 1), C),
    "std": (lambda m, x: m.std(x, 0), M),
    "std equal": (lambda m, x: m.std(x, 1), np.ones((2, 3))),
    "std of one": (lambda m, x: x.std(1), M[:, :1].copy()),
    "std complex": (lambda m, x: m.std(x), C),
    "var_mean": (lambda m, x: m.var_mean(x, 0), M),
    "std_mean": (lambda m, x: m.std_mean(x, 1), M),
    "norm": (lambda m, x: m.norm(x), M),
    "norm dim": (lambda m, x: x.norm(dim=1, keepdim=True), M),
    "norm 1": (lambda m, x: m.norm(x, p=1, dim=0), ZEROS),
    "norm inf": (lambda m, x: m.norm(x, p=INF, dim=1), TIES),
    "norm -inf": (lambda m, x: m.norm(x, p=-INF, dim=1), TIES),
    "norm 0": (lambda m, x: m.norm(x, p=0, dim=1).detach(), ZEROS),
    "norm 3": (lambda m, x: m.norm(x, p=3, dim=1), M),
    "norm 1.5": (lambda m, x: m.norm(x, p=1.5), M),
    "norm half": (lambda m, x: m.norm(x, p=0.5, dim=1), M),
    "norm at zero": (lambda m, x: [m.norm(x, p=p) for p in (2, 1, 3, 1.5, 0.5, INF)], np.zeros(3)),
    "norm complex": (lambda m, x: [m.norm(x), m.norm(x, p=3), m.norm(x, p=1), m.norm(x, p=INF)], C),
    "dist": (lambda m, x, y: m.dist(x, y, 3), M, M[::-1].copy()),
    # products
    "einsum product": (lambda m, a, b: m.einsum("bij,bjk->bik", a, b), B1, B2),
    "einsum implicit": (lambda m, a, b: m.einsum("ij,kj", a, b), M, M + 1),
    "einsum order": (lambda m, a: m.einsum("ba", a), M),
    "einsum trace": (lambda m, a: m.einsum("ii", a[:, :3]), M),
    "einsum diagonal": (lambda m, a: m.einsum("ii->i", a[:, :3]), M),
    "einsum batch diagonal": (lambda m, a: m.einsum("...ii->...i", a[..., :3]), T3),
    "einsum ellipsis": (lambda m, a, b: m.einsum("...ij,...jk->...ik", a, b[0]), B1, B2),
    "einsum ellipsis implicit": (lambda m, a, b: m.einsum("i...,i...", a, b), M, M * 2),
    "einsum outer": (lambda m, a, b: m.einsum("i,j->ij", a, b), V, V * 2),
    "einsum three": (lambda m, a, b, c: m.einsum("ij,jk,kl->il", a, b, c), M,
        R.standard_normal((4, 2)), R.standard_normal((2, 5))),
    "einsum sum": (lambda m, a: m.einsum("ijk->j", a), T3),
    "einsum size one": (lambda m, a, b: m.einsum("ij,ij->ij", a, b), M, M[:, :1].copy()),
    "einsum bilinear": (lambda m, a, b, c: m.einsum("bn,anm,bm->ba", a, b, c), M[:2, :3],
        R.standard_normal((5, 3, 4)), M[:2]),
    "einsum complex": (lambda m, a, b: m.einsum("ij,kj->ik", a, b), C, C[::-1].copy()),
    "einsum number": (lambda m, a, b: m.einsum(",i->i", a, b), S, V),
    "einsum numbered": (lambda m, a, b: m.einsum(a, [0, 1, 2], b, [0, 2, 40], [40, 0, 1]), B1, B2),
    "einsum numbered implicit": (lambda m, a,
        b: [m.einsum(a, (0, 1, 2), b, (0, 2, 3)), m.einsum(a, [7, 0, 3])], B1, B2),
    "einsum numbered ellipsis": (lambda m, a,
        b: m.einsum(a, [..., 1, 2], b, [..., 2, 0], [..., 0, 1]), B1, B2),
    "einsum empty": (lambda m, a, b: m.einsum("ij,jk->ik", a, b), np.zeros((2, 0)),
        np.zeros((0, 3))),
    "dot": (lambda m, a, b: m.dot(a, b), V, V + 1),
    "vdot": (lambda m, a, b: m.vdot(a, b), CV, CV * 2j),
    "inner": (lambda m, a, b: m.inner(a, b), T3, M),
    "inner number": (lambda m, a, b: m.inner(a, b), M, S),
    "outer": (lambda m, a, b: m.outer(a, b), V, V[:3].copy()),
    "mv": (lambda m, a, b: a.mv(b), M, V),
    "mm": (lambda m, a, b: m.mm(a, b.T), M, M + 1),
    "bmm": (lambda m, a, b: m.bmm(a, b), B1, B2),
    "addmm": (lambda m, x, a, b: m.addmm(x, a, b, beta=0.5, alpha=2), R.standard_normal(5), M,
        R.standard_normal((4, 5))),
    "addmm nan": (lambda m, x, a, b: m.addmm(x.detach(), a, b, beta=0), np.full(5, NAN), M,
        R.standard_normal((4, 5))),
    "addmv": (lambda m, x, a, b: m.addmv(x, a, b), R.standard_normal(3), M, V),
    "baddbmm": (lambda m, x, a, b: m.baddbmm(x, a, b, alpha=3), R.standard_normal((1, 3, 5)), B1,
        B2),
    "addbmm": (lambda m, x, a, b: m.addbmm(x, a, b), R.standard_normal((3, 5)), B1, B2),
    "addr": (lambda m, x, a, b: m.addr(x, a, b), M, V[:3].copy(), V),
    "tensordot": (lambda m, a, b: m.tensordot(a, b, dims=2), T3, R.standard_normal((3, 4, 5))),
    "tensordot axes": (lambda m, a, b: m.tensordot(a, b, dims=([1, 0], [0, 1])), T3,
        R.standard_normal((3, 2))),
    "tensordot 0": (lambda m, a, b: m.tensordot(a, b, dims=0), V, M),
    "kron": (lambda m, a, b: m.kron(a, b), M, T3),
    "cross": (lambda m, a, b: m.cross(a, b, dim=1), T3, T3[::-1].copy()),
    "linalg.cross": (lambda m, a, b: m.linalg.cross(a, b, dim=0), M, M[:, :1].copy()),
    "cdist": (lambda m, a, b: m.cdist(a, b), T3, T3[:, :2] + 1),
    "multi_dot": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), M, R.standard_normal((4, 2)),
        R.standard_normal((2, 5))),
    "multi_dot vectors": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), R.standard_normal(3), M,
        V),
    # pieces
    "narrow": (lambda m, x: x.narrow(1, 1, 2), M),
    "select": (lambda m, x: x.select(0, -1), M),
    "split": (lambda m, x: m.split(x, 3, 1), M),
    "split sizes": (lambda m, x: x.split([1, 0, 3], dim=1), M),
    "chunk": (lambda m, x: m.chunk(x, 3, 1), M),
    "chunk many": (lambda m, x: m.chunk(x, 9, 1), M),
    "chunk empty": (lambda m, x: m.chunk(x, 3, 0), EMPTY),
    "tensor_split": (lambda m, x: m.tensor_split(x, 3, dim=1), M),
    "tensor_split at": (lambda m, x: m.tensor_split(x, (1, 3, 9), dim=1), M),
    "hsplit": (lambda m, x: m.hsplit(x, 2), M),
    "vsplit": (lambda m, x: m.vsplit(x, [1]), M),
    "unbind": (lambda m, x: m.unbind(x, 1), M),
    "stack": (lambda m, x, y: m.stack([x, y], -1), M, M * 2),
    "hstack": (lambda m, x, y: m.hstack([x, y]), M, M[:, :1].copy()),
    "hstack vectors": (lambda m, x, y: m.hstack((x, y)), V, S),
    "vstack": (lambda m, x, y: m.vstack([x, y]), M, V),
    "dstack": (lambda m, x, y: m.dstack([x, y]), M, M * 2),
    "column_stack": (lambda m, x, y: m.column_stack([x, y]), M, V[:3].copy()),
    "tile": (lambda m, x: m.tile(x, (2, 1, 3)), M),
    "tile short": (lambda m, x: m.tile(x, (2,)), M),
    "repeat": (lambda m, x: x.repeat(2, 1, 2), M),
    "repeat none": (lambda m, x: x.repeat(0, 2), M),
    "repeat_interleave": (lambda m, x: m.repeat_interleave(x, 2, 1), M),
    "repeat_interleave flat": (lambda m, x: x.repeat_interleave(2), M),
    "repeat_interleave each": (lambda m, x: x.repeat_interleave(m.tensor([2, 0, 3]), 0), M),
    "roll": (lambda m, x: m.roll(x, 1), M),
    "roll dims": (lambda m, x: m.roll(x, (1, -2), (0, 1)), M),
    "rot90": (lambda m, x: [m.rot90(x, k) for k in (-1, 0, 1, 2, 3)], M),
    "rot90 dims": (lambda m, x: m.rot90(x, 1, (2, 0)), T3),
    "fliplr": (lambda m, x: [m.fliplr(x), m.flipud(x)], M),
    "unflatten": (lambda m, x: x.unflatten(1, (2, -1)), M),
    "atleast": (lambda m, x, y: [*m.atleast_2d(x, y), *m.atleast_3d([x, y])], S, V),
    "broadcast_tensors": (lambda m, x, y: m.broadcast_tensors(x, y), M, V),
    "meshgrid": (lambda m, x, y: m.meshgrid(x, y, indexing="ij"), V, V[:3].copy()),
    "meshgrid xy": (lambda m, x, y: m.meshgrid(x, y, indexing="xy"), V, V[:3].copy()),
    # picking
    "index_select": (lambda m, x, i: m.index_select(x, 0, i), M, ROWS),
    "gather": (lambda m, x, i: m.gather(x, 0, i), M, PICK),
    "gather 1": (lambda m, x, i: x.gather(1, i), M, PICK),
    "gather number": (lambda m, x: [m.gather(x, 0, m.tensor(2)), x[0].gather(0, m.tensor([0, 0]))],
        V),
    "take": (lambda m, x, i: m.take(x, i), M, np.array([[0, -1], [5, 5]])),
    "take_along_dim": (lambda m, x, i: m.take_along_dim(x, i, 1), M, np.array([[1], [3], [0]])),
    "take_along_dim broadcast": (lambda m, x, i: m.take_along_dim(x, i, dim=0), M,
        np.array([[1], [2]])),
    "masked_select": (lambda m, x, k: m.masked_select(x, k), M, MASK),
    "masked_fill": (lambda m, x, k: x.masked_fill(k, -INF), M, MASK),
    "masked_fill tensor": (lambda m, x, k, v: m.masked_fill(x, k, v), M, MASK, S),
    "masked_fill nan": (lambda m, x: m.log(x).masked_fill(x <= 0, 0.0), np.array([1.0, 2.0])),
    "softmax of masked rows": (lambda m, x, k: x.masked_fill(k, -INF).softmax(1), M, MASK),
    "masked_fill int": (lambda m, x, k: x.masked_fill(k[:2], 7), PICK, MASK),
    "masked_scatter": (lambda m, x, k, s: x.masked_scatter(k, s), M, MASK,
        R.standard_normal((2, 5))),
    "index_add": (lambda m, x, i, s: m.index_add(x, 0, i, s, alpha=2), M, ROWS,
        R.standard_normal((3, 4))),
    "index_copy": (lambda m, x, i, s: m.index_copy(x, 1, i, s), M, np.array([3, 0]),
        R.standard_normal((3, 2))),
    "index_fill": (lambda m, x, i: m.index_fill(x, 0, i, 2.0), M, ROWS),
    "scatter": (lambda m, x, i, s: m.scatter(x, 0, i, s), M, np.array([[0, 2, 1, 1], [2, 1, 0, 0]]),
        R.standard_normal((2, 4))),
    "scatter value": (lambda m, x, i: m.scatter(x, 1, i, 1.5), M, np.array([[0], [2]])),
    "scatter_add": (lambda m, x, i, s: m.scatter_add(x, 1, i, s), M, PICK,
        R.standard_normal((2, 4))),
    "put": (lambda m, x, i, s: x.put(i, s), M, np.array([3, -1]), R.standard_normal(2)),
    "put add": (lambda m, x, i, s: x.put(i, s, accumulate=True), M, np.array([3, 3]),
        R.standard_normal(2)),
    "nonzero": (lambda m, x: m.nonzero(x), ZEROS),
    "nonzero tuple": (lambda m, x: x.nonzero(as_tuple=True), ZEROS),
    "nonzero number": (lambda m, x: m.nonzero(x), S),
    "where": (lambda m, x: m.where(x > 1), ZEROS),
    # triangles
    "tril": (lambda m, x: m.tril(x, -1), T3),
    "triu": (lambda m, x: x.triu(1), M),
    "tril nan": (lambda m, x: m.tril(x), HOLES[:, :3].copy()),
    "tril bool": (lambda m, x: m.tril(x), MASK),
    "diagonal": (lambda m, x: m.diagonal(x, 1), M),
    "diagonal dims": (lambda m, x: m.diagonal(x, -1, dim1=2, dim2=0), T3),
    "diag": (lambda m, x: m.diag(x, 1), V),
    "diag matrix": (lambda m, x: x.diag(-1), M),
    "diag_embed": (lambda m, x: m.diag_embed(x, 1), M),
    "diag_embed dims": (lambda m, x: m.diag_embed(x, -2, dim1=0, dim2=2), M),
    "diagflat": (lambda m, x: m.diagflat(x, 1), M),
    "trace": (lambda m, x: x.trace(), M),
    "tril_indices": (lambda m, x: [m.tril_indices(3, 4, 1), m.triu_indices(3, 4)], M),
    # pointwise
    "xlogy": (lambda m, x, y: m.xlogy(x, y), ZEROS, P),
    "xlogy zero": (lambda m, x, y: m.xlogy(x, y), np.array([0.0, 0.0, 0.0, 1.0]),
        np.array([0.0, NAN, -1.0, 0.0])),
    "hypot": (lambda m, x, y: m.hypot(x, y), M, V),
    "hypot zero": (lambda m, x, y: m.hypot(x, y), S * 0, S * 0),
    "erfc": (lambda m, x: m.erfc(x * 3), M),
    "lgamma": (lambda m, x: m.lgamma(x * 3), M),
    "digamma": (lambda m, x: m.digamma(x * 3), M),
    "polygamma": (lambda m, x: [m.polygamma(n, x) for n in (0, 1, 2, 4)] + [x.polygamma(1)], P * 2),
    "trigamma below zero": (lambda m, x: m.polygamma(1, x * 3), M),
    "heaviside": (lambda m, x, y: m.heaviside(x.detach(), y.detach()), ZEROS - 1, M),
    "nan_to_num": (lambda m, x: m.nan_to_num(x), HOLES),
    "nan_to_num given": (lambda m, x: m.nan_to_num(x, 1.0, 2.0, 3.0), HOLES),
    "lerp": (lambda m, x, y: m.lerp(x, y, 0.3), M, V),
    "lerp tensor": (lambda m, x, y, w: m.lerp(x, y, w), M, M * 2, P),
    "addcmul": (lambda m, x, a, b: m.addcmul(x, a, b, value=0.5), M, V, P),
    "addcdiv": (lambda m, x, a, b: x.addcdiv(a, b), M, V, P),
    "deg2rad": (lambda m, x: [m.deg2rad(x), m.rad2deg(x)], M),
    "frac": (lambda m, x: m.frac(x * 3), M),
    "logit": (lambda m, x: [m.logit(x), m.logit(x, eps=0.2)], R.random((3, 4))),
    "sinc": (lambda m, x: m.sinc(x), M),
    "isclose": (lambda m, x: m.isclose(x, x.flip(0), rtol=0.5, equal_nan=True), HOLES),
    # scattering with a reduction
    **{
        f"scatter_reduce {reduce} {'with' if own else 'without'} self": (
            lambda m, x, s, reduce=reduce,
            own=own: m.scatter_reduce(x, 0, m.tensor(PICK), s, reduce, include_self=own),
            A,
            B,
        )
        for reduce in ("sum", "mean", "amax", "amin")
        for own in (True, False)
        for A, B in [(M, M[:2] * 1.5)]
    },
    "scatter_reduce prod": (lambda m, x, s: m.scatter_reduce(x, 0, m.tensor(PICK), s, "prod"), M,
        P[:2]),
    "scatter_reduce prod without self": (lambda m, x,
        s: x.scatter_reduce(0, m.tensor(PICK), s, "prod", include_self=False), M, P[:2]),
    "scatter_reduce ties": (lambda m, x, s: m.scatter_reduce(x, 1, m.tensor(PICK), s, "amax"), TIES,
        TIES[:2]),
    "scatter_reduce ties min": (lambda m, x, s: m.scatter_reduce(x, 1, m.tensor(PICK), s, "amin"),
        TIES, TIES[:2]),
    # Fourier transforms
    "fft": (lambda m, x: [m.fft.fft(x), m.fft.fft(x, dim=0), m.fft.fft(x, 6), m.fft.fft(x, 3,
        norm="ortho")], C),
    "fft forward": (lambda m, x: m.fft.fft(x, norm="forward"), C),
    "fft real": (lambda m, x: m.fft.fft(x, norm="ortho"), M),
    "ifft": (lambda m, x: [m.fft.ifft(x, norm=n) for n in (None, "ortho",
        "forward")] + [m.fft.ifft(x, 2, 0), m.fft.ifft(x, 7, 1)], C),
    "fft2": (lambda m, x: [m.fft.fft2(x), m.fft.ifft2(x, (2, 5), norm="ortho"), m.fft.fftn(x),
        m.fft.ifftn(x, (3,), norm="forward")], T3),
    "fftn some": (lambda m, x: [m.fft.fftn(x, dim=(0, 2)), m.fft.fftn(x, (4, 2), (2, 0))], T3),
    "rfft": (lambda m, x: [m.fft.rfft(x), m.fft.rfft(x, 5), m.fft.rfft(x, dim=0, norm="ortho"),
        m.fft.rfft(x, 1)], M),
    "rfft2": (lambda m, x: [m.fft.rfft2(x), m.fft.rfftn(x, norm="forward"), m.fft.rfftn(x, (5, 3),
        (0, 1))], T3),
    "irfft": (lambda m, x: [m.fft.irfft(x), m.fft.irfft(x, 7), m.fft.irfft(x, 3, 0, "ortho"),
        m.fft.irfft(x, 1), m.fft.irfft(x, 12)], C),
    "irfft2": (lambda m,
        x: [m.fft.irfft2(x), m.fft.irfftn(x, (4, 5), norm="forward"), m.fft.irfftn(x, dim=(1, 0))],
        C),
    "fftshift": (lambda m,
        x: [m.fft.fftshift(x), m.fft.ifftshift(x, 1), m.fft.fftshift(x, (0, 1)),
            m.fft.ifftshift(x)], M),
    **{
        f"{name} {norm}": (lambda m, x, f=name, n=norm: [getattr(m.fft, f)(x, norm=n),
            getattr(m.fft, f)(x, 7, 0, n), getattr(m.fft, f)(x, 4, norm=n)], x)
        for name, x in (("hfft", C), ("ihfft", M))
        for norm in (None, "backward", "ortho", "forward")
    },
    **{
        f"{name}n {norm}": (lambda m, x, f=name, n=norm: [getattr(m.fft, f + "2")(x, norm=n),
            getattr(m.fft, f + "n")(x, (4, 3), norm=n), getattr(m.fft, f + "n")(x, dim=(1, 0))], x)
        for name, x in (("hfft", C), ("ihfft", M))
        for norm in (None, "backward", "ortho", "forward")
    },
    # linear algebra
    "inv": (lambda m, x: m.linalg.inv(x[..., :3]), T3),
    "inv complex": (lambda m, x: m.linalg.inv(x[:, :3]), C),
    "solve": (lambda m, a, b: m.linalg.solve(a[..., :3], b), T3, T3 * 2),
    "solve vector": (lambda m, a, b: m.linalg.solve(a[:, :3], b), M, V[:3].copy()),
    "solve vectors": (lambda m, a, b: m.linalg.solve(a[..., :3], b), T3, R.standard_normal((2, 3))),
    "solve broadcast": (lambda m, a, b: m.linalg.solve(a[..., :3], b), T3, M),
    "solve right": (lambda m, a, b: m.linalg.solve(a[:, :3], b.T, left=False), M, M),
    "solve complex": (lambda m, a, b: m.linalg.solve(a[:, :3], b), C, C),
    "pinv": (lambda m, x: m.linalg.pinv(x), T3),
    "pinv complex": (lambda m, x: m.linalg.pinv(x), C),
    "det": (lambda m, x: m.linalg.det(x[..., :3]), T3),
    "det complex": (lambda m, x: m.linalg.det(x[:, :3]), C),
    "slogdet": (lambda m, x: m.linalg.slogdet(x[..., :3])[1], T3),
    "slogdet complex": (lambda m, x: m.linalg.slogdet(x[:, :3]), C),
    "logdet": (lambda m, x: m.logdet(x @ x.mT + m.eye(3, dtype=x.dtype)), M),
    "cholesky": (lambda m, x: m.linalg.cholesky(x @ x.mT + m.eye(3, dtype=x.dtype)), T3),
    "cholesky alone": (lambda m, x: m.linalg.cholesky(x), M @ M.T + np.eye(3)),
    "cholesky of a triangle": (lambda m,
        x: [m.linalg.cholesky(x), m.linalg.cholesky(x, upper=True)], M[:, :3] + 9 * np.eye(3)),
    "cholesky complex": (lambda m,
        x: m.linalg.cholesky(x @ x.mT.conj() + m.eye(3, dtype=x.dtype), upper=True), C),
    "qr": (lambda m, x: m.linalg.qr(x.mT), T3),
    "qr wide": (lambda m, x: m.linalg.qr(x), M),
    "qr complex": (lambda m, x: m.linalg.qr(x.mT), C),
    "svdvals": (lambda m, x: m.linalg.svdvals(x), T3),
    "svd": (lambda m, x: [abs(v) for v in m.linalg.svd(x, full_matrices=False)], M),
    "svd complex": (lambda m, x: [abs(v) for v in m.linalg.svd(x, full_matrices=False)], C),
    "eigvalsh": (lambda m, x: m.linalg.eigvalsh(x @ x.mT), T3),
    "eigh": (lambda m, x: [v.abs() for v in m.linalg.eigh(x @ x.mT)], M),
    "eigh of a triangle": (lambda m, x: [v.abs() for U in "LU" for v in m.linalg.eigh(x, UPLO=U)],
        M[:, :3]),
    "eigh of a triangle complex": (lambda m,
        x: [v.abs() for U in "LU" for v in m.linalg.eigh(x, UPLO=U)], C[:, :3]),
    "eigh complex": (lambda m, x: [v.abs() for v in m.linalg.eigh(x @ x.mT.conj())], C),
    "matrix_power": (lambda m, x: [m.linalg.matrix_power(x[:, :3], n) for n in (3, -2, 1)], M),
    "matrix_exp": (lambda m, x: m.linalg.matrix_exp(x[..., :3] * 2), T3),
    "lstsq": (lambda m, a, b: least_squares(m, a.mT, b), M, R.standard_normal((4, 2))),
    "vector_norm": (lambda m,
        x: [m.linalg.vector_norm(x, p, dim=1) for p in (2, 1, 3.5, INF, -INF, -2)], M),
    "matrix_norm": (lambda m,
        x: [m.linalg.matrix_norm(x, p) for p in ("fro", "nuc", 2, -2, 1, -1, INF, -INF)], T3),
    "matrix_norm keepdim": (lambda m, x: m.linalg.matrix_norm(x, 1, dim=(2, 0), keepdim=True), T3),
    "linalg.norm": (lambda m,
        x: [m.linalg.norm(x), m.linalg.norm(x, 1), m.linalg.norm(x, dim=1),
            m.linalg.norm(x, INF, dim=(0, 1))], M),
    "vecdot": (lambda m, a, b: m.linalg.vecdot(a, b), C, CV),
    "linalg empty": (lambda m, x: [m.linalg.det(x), m.linalg.inv(x)], np.zeros((2, 0, 0))),
}  # fmt: skip
FIRST_ONLY = {"cdist", "logcumsumexp large"}
"""PyTorch has no second derivative of one, and only its rounding errors for the other, whose
second derivative is 0.
"""

TEN_DIGITS = {"digamma", "polygamma", "trigamma below zero"}
"""PyTorch's trigamma has no more (ours are compared with the definition in
tests/helpers/op_cases.py).
"""


@in_one_test
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree_with_pytorch(torch, name: str) -> None:
    function, *arrays = CASES[name]
    agree(
        torch,
        function,
        *arrays,
        order=1 if name in FIRST_ONLY else 2,
        tolerance=1e-8 if name in TEN_DIGITS else 1e-10,
    )


def backwards(array):
    """An array with these numbers, stored in memory from the last to the first."""
    array = np.asarray(array)
    return np.flip(np.flip(array).copy()) if array.ndim else array


@in_one_test
@pytest.mark.parametrize("name", CASES)
def test_agrees_in_another_layout(torch, name: str) -> None:
    function, *arrays = CASES[name]
    agree(
        torch,
        function,
        *(backwards(a) for a in arrays),
        order=1,
        tolerance=1e-8 if name in TEN_DIGITS else 1e-10,
        forward=False,
    )


@in_one_test
@pytest.mark.parametrize(
    "name", [n for n in CASES if not n.startswith(("svd", "matrix_power", "norm at zero"))]
)
def test_results_of_float32_stay_float32(torch, name: str) -> None:
    function, *arrays = CASES[name]
    small = {"float64": "float32", "complex128": "complex64"}
    arrays = [
        np.asarray(a).astype(small.get(np.asarray(a).dtype.name, np.asarray(a).dtype))
        for a in arrays
    ]
    agree(torch, function, *arrays, order=1, tolerance=3e-3, forward=False)
