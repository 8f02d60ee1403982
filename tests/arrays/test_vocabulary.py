"""The further array vocabulary and the rarer arguments of the common one, line by line as a
PyTorch user writes it.
"""

# a table: one case a line

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import gradcheck
from minigrad.errors import InPlaceError
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

R = np.random.default_rng(1)
INF, NAN = math.inf, math.nan
M, N = R.standard_normal((3, 4)), R.standard_normal((3, 4))
V, W = R.standard_normal(4), R.standard_normal(5)
P = R.random((3, 4)) * 0.8 + 0.1
T3 = R.standard_normal((2, 3, 4))
S = np.array(0.7)
TIES = np.array([[1.0, 3, 3, 2], [0, 0, 0, 0], [5, -1, 5, 5]])
HOLES = np.array([[1.0, NAN, 3, 2], [NAN, NAN, NAN, NAN], [5, -1, INF, -INF]])
SIGNS = np.array([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN])
C = R.standard_normal((3, 4)) + 1j * R.standard_normal((3, 4))
I1, I2 = np.array([12, -18, 0, 7]), np.array([8, 27, 5, 0])
SMALL = np.array([1, 0, 3, 2])
SQUARE = R.standard_normal((3, 3))
GRAM = SQUARE @ SQUARE.T + np.eye(3)
LOWER = np.linalg.cholesky(GRAM)
BATCH = R.standard_normal((2, 3, 3))
TALL = R.standard_normal((2, 5, 3))
UNSORTED = np.array([[3.0, 1, 2], [0, 5, 4]])
ORDER = np.argsort(UNSORTED, -1)


def _shifted_in_place(x):
    x = x.clone()
    x <<= 3
    x >>= 1
    return x


CASES = {
    # arguments of functions that everybody uses
    "add alpha": (lambda m, x, y: m.add(x, y, alpha=2), M, V),
    "add alpha integers": (lambda m, x, y: m.add(x, y, alpha=3), I1, I2),
    "sub alpha": (lambda m, x, y: x.sub(y, alpha=0.5), M, V),
    "add in place": (lambda m, x, y: x.clone().add_(y, alpha=-2).sub_(y, alpha=3), M, V),
    "arange whole": (lambda m: [m.arange(0.1, -7.9, -4.0, dtype=m.int64),
        m.arange(-0.9, 2.1, 2.0, dtype=m.int64)],),
    "linspace whole": (lambda m: [m.linspace(-2, b, 50, dtype=m.int64) for b in (-3, 0,
        50)] + [m.linspace(1, 5, 1, dtype=m.int32)],),
    "logspace whole": (lambda m: m.logspace(0, 4, 5, base=2, dtype=m.int64, device="cpu"),),
    "movedim several": (lambda m,
        x: [m.movedim(x, (0, 1), (2, 0)), x.movedim([2, 0], [0, 1]), m.movedim(x, -1, 0)], T3),
    "flip dims": (lambda m, x: [m.flip(x, dims=(0, 2)), x.flip(dims=[1])], T3),
    "cat empty": (lambda m, x: m.cat([m.zeros(0, dtype=m.float64), x, x], dim=1), M),
    "cat nothing": (lambda m: m.cat([m.zeros(0), m.zeros(0)]),),
    "sums of a dtype": (lambda m,
        x: [f(x, d, dtype=m.int32) for f in (m.sum, m.prod, m.cumsum, m.cumprod) for d in (0,)],
        SMALL),
    "sum to size": (lambda m, x: [x.sum_to_size(1), x.sum_to_size(4)], np.arange(4, dtype="uint8")),
    "diff joined": (lambda m, x,
        y: [m.diff(x, 1, 0, y, None), m.diff(x, prepend=x, append=x, dim=1),
            m.diff(x, 0, prepend=x)], M, N),
    "bincount weights": (lambda m, x,
        w: [m.bincount(x, w.detach()), m.bincount(x, weights=w.detach().float(), minlength=6)],
        np.array([2, 0, 2, 3]), V),
    "tensordot spread": (lambda m, x, y: m.tensordot(x, y, dims=([0, 1], [2, 0])),
        R.standard_normal((1, 1, 3)), R.standard_normal((2, 1, 2))),
    "cdist mode": (lambda m, x, y: m.cdist(x, y, 2.0, "donot_use_mm_for_euclid_dist"), M, N),
    "logit integers": (lambda m, x: [m.logit(x), m.sinc(x)], SMALL),
    "isclose logical": (lambda m, x: m.isclose(x, x[:1]),
        np.array([[True, False], [False, False]])),
    "triangle indices": (lambda m: [m.tril_indices(3, 4, -1, dtype=m.int32, device="cpu"),
        m.triu_indices(3, 3, dtype=m.int64)],),
    "repeat alone": (lambda m,
        x: [m.repeat_interleave(x), m.repeat_interleave(x, x, output_size=6)], SMALL),
    "scatter multiply": (lambda m,
        x: x.detach().scatter_(1, m.tensor([[0, 0], [1, 2]]), 3.0, reduce="multiply"), M.copy()),
    "scatter mean small": (
        lambda m, x: m.scatter_reduce(x, 0, m.tensor([0, 0, 1]), m.tensor([5, 6, 7], dtype=m.int32),
            "mean"),
        np.array([1, 2, 3, 4], dtype="int32"),
    ),
    "norm nuclear": (lambda m, x: [m.norm(x, "nuc"), m.norm(x, p="nuc", dim=(1, 0), keepdim=True)],
        M),
    "norm below zero": (lambda m, x: [m.linalg.vector_norm(x, p, 1) for p in (-1, -0.5, -2)], TIES),
    "norm in a dtype": (
        lambda m, x: [f(x.detach(), dtype=m.float64) for f in (m.norm, m.linalg.norm,
            m.linalg.matrix_norm)],
        M.astype("float32"),
    ),
    "sums in a dtype": (lambda m,
        x: [m.nansum(x, 1, dtype=m.float64), m.nanmean(x, dtype=m.float64)],
        HOLES[:1].astype("float32")),
    "sums of whole numbers in a dtype": (lambda m, x: m.nansum(x, 1, dtype=m.float64),
        SMALL.reshape(1, -1)),
    "norm counted": (lambda m, x: m.linalg.vector_norm(x, 0, 1), TIES),
    "searchsorted": (
        lambda m, s, o, v: m.searchsorted(s, v, sorter=o, out_int32=True, right=True),
        UNSORTED,
        ORDER,
        np.array([[1.0, 2.5], [4, 9]]),
    ),
    "bucketize": (lambda m, v, b: [m.bucketize(v, b), m.bucketize(v, b, right=True)],
        np.array([[1.0, 2], [3, 9]]), np.array([1.0, 3, 5])),
    # the same elements again
    "unique slices": (lambda m,
        x: m.unique(x.detach(), return_inverse=True, return_counts=True, dim=1),
        TIES[[1, 0, 1]][:, [1, 0, 1, 2]]),
    "unique rows": (lambda m, x: m.unique(x, dim=0), np.array([[1, 2], [0, 5], [1, 2], [0, 3]])),
    "unique consecutive": (lambda m,
        x: m.unique_consecutive(x.detach(), return_inverse=True, return_counts=True), TIES),
    "unique consecutive rows": (lambda m, x: m.unique_consecutive(x, dim=0),
        np.array([[1, 2], [1, 2], [0, 5], [1, 2]])),
    "unique of nothing": (lambda m,
        x: m.unique(x.detach(), return_inverse=True, return_counts=True), np.zeros(0)),
    "isin": (lambda m, x, y: [m.isin(x, y), m.isin(x, y, invert=True), m.isin(x, y[:0])], I1,
        np.array([7, 12, 3])),
    "isin mixed": (lambda m, x, y: m.isin(x, y), I1, np.array([7.0, 11.5])),
    # element by element
    "fmax": (lambda m, x, y: [m.fmax(x, y), m.fmin(x, y)], HOLES, TIES),
    "fmax ties": (lambda m, x, y: [x.fmax(y), y.fmin(x)], TIES, TIES[::-1].copy()),
    "copysign": (lambda m, x, y: m.copysign(x, y), np.array([2.0, -3, 0, -0.0, 4, 5, -6]), SIGNS),
    "copysign number": (lambda m, x: [x.copysign(-1.0), m.copysign(x, -0.0)], M),
    "nextafter": (lambda m, x, y: [m.nextafter(x, y), x.nextafter(x), m.nextafter(x, y[1:2])],
        HOLES, TIES),
    "signbit": (lambda m, x: m.signbit(x), SIGNS[:-1]),
    "signbit whole": (lambda m, x: m.signbit(x), I1),
    "isreal": (lambda m, x: m.isreal(x * m.tensor([1.0, 0, 1, 0], dtype=m.float64)), C),
    "logaddexp2": (lambda m, x, y: m.logaddexp2(x, y), M, V),
    "ldexp": (lambda m, x, n: m.ldexp(x, n), M, np.array([0, 1, -2.0, 0.5])),
    "ldexp whole": (lambda m, x, n: m.ldexp(x, n), SMALL, SMALL),
    "float power": (lambda m, x: [m.float_power(x, 2), x.float_power(1.5)], P.astype("float32")),
    "float power whole": (lambda m, x, y: m.float_power(x, y), SMALL, I2 / 10),
    "xlog1py": (lambda m, x, y: m.special.xlog1py(x, y), TIES, P),
    "entr": (lambda m, x: m.special.entr(x), np.array([0.5, 1.0, 0.0, 7.0])),
    "mvlgamma": (lambda m, x: m.mvlgamma(x + 2, 3), P),
    "erfinv": (lambda m, x: m.erfinv(x), np.array([0.0, 0.3, -0.9, 0.999999, 1e-12])),
    "erfinv ends": (lambda m, x: m.erfinv(x.detach()), np.array([1.0, -1.0, 2.0, NAN])),
    "normal distribution": (lambda m, x: [m.special.ndtr(x), m.special.log_ndtr(x)],
        np.array([-3.0, -1, 0, 0.5, 4])),
    "normal tail": (lambda m, x: m.special.log_ndtr(x), np.array([-6.0, -20, -40, 9])),
    "normal quantile": (lambda m, x: m.special.ndtri(x), P),
    "gcd": (lambda m, x, y: [m.gcd(x, y), m.lcm(x, y)], I1, I2),
    "shifts": (lambda m, x,
        n: [m.bitwise_left_shift(x, n), x.bitwise_right_shift(n), m.bitwise_left_shift(x, 2)], I1,
        SMALL),
    # statistics
    "quantile": (lambda m, x: m.quantile(x, m.tensor([0.0, 0.3, 1.0], dtype=m.float64), dim=1), M),
    "quantile by both": (lambda m, x, q: m.quantile(x, q[0], dim=1), M, P),
    "nanquantile by both": (lambda m, x, q: m.nanquantile(x, q[0]), HOLES[:2], P),
    "index_fill twice": (lambda m, x, v: x.index_fill(-1, m.tensor([1, 0, 1]), v.sum()), M, P),
    "index_fill all": (lambda m, x, v: m.index_fill(x[0, 0], 0, m.tensor([0, 0]), v.sum()), M, P),
    "flip one number": (lambda m, x: [m.flip(x, (0,)), x.flip(-1)], S),
    "shift operators": (lambda m, x, y: [x << 2, x >> 1, 1 << y, 100 >> y, x << y], I1, SMALL),
    "shift in place": (lambda m, x: _shifted_in_place(x), I1.copy()),
    "matrix power 0": (lambda m, x: [m.linalg.matrix_power(x, 0), x.sum() * 1], BATCH),
    "quantile all": (lambda m,
        x: [m.quantile(x, 0.4), x.quantile(0.5, 0, True), m.quantile(x, 0.25, keepdim=True)], M),
    "quantile kinds": (lambda m,
        x: [m.quantile(x, 0.4, 1, interpolation=k) for k in ("lower", "higher", "nearest",
            "midpoint")], M),
    "quantile nan": (lambda m, x: m.quantile(x, 0.4, 1), HOLES[:2]),
    "nanquantile": (lambda m, x: m.nanquantile(x, m.tensor([0.4, 0.9], dtype=m.float64), 1),
        HOLES[:2]),
    "mode": (lambda m, x: m.mode(x, 1), TIES),
    "mode keepdim": (lambda m, x: x.mode(0, keepdim=True), TIES),
    "cov": (lambda m, x: [m.cov(x), m.cov(x, correction=0), m.cov(x[0])], M),
    "cov weights": (lambda m, x, f, a: m.cov(x, fweights=f, aweights=a), M, np.array([1, 2, 1, 3]),
        np.array([0.5, 1, 2, 0.1])),
    "cov complex": (lambda m, x: m.cov(x), C),
    "corrcoef": (lambda m, x: m.corrcoef(x), M),
    "histc": (lambda m, x: [m.histc(x, 4), m.histc(x, bins=3, min=-1, max=1), m.histc(x[:0], 2)],
        M),
    "trapezoid": (lambda m, y,
        x: [m.trapezoid(y), m.trapz(y, x, dim=1), m.trapezoid(y, dx=0.5, dim=0), m.trapezoid(y, y)],
        M, V),
    "cumulative trapezoid": (lambda m, y,
        x: [m.cumulative_trapezoid(y, x), m.cumulative_trapezoid(y, dx=2.0, dim=0)], M, V),
    "gradient": (lambda m, x: [*m.gradient(x), *m.gradient(x, spacing=0.5, dim=1, edge_order=2)],
        M),
    "gradient places": (lambda m, x, t: m.gradient(x, spacing=(m.cumsum(t * t + 0.1, 0),), dim=1),
        M, V),
    "renorm": (lambda m, x: [m.renorm(x, 2, 0, 1.5), m.renorm(x, 1, 1, 2.0)], M),
    "histogram": (lambda m, x,
        w: [*m.histogram(x.detach(), 4),
            *m.histogram(x.detach(), 3, range=(-1.0, 1.0), weight=w.detach()),
            *x.detach().histogram(2, density=True)], M, P),
    "histogram ends": (lambda m, x, e: m.histogram(x.detach(), e.detach()),
        np.array([0.0, 1, 1.5, 2, 3, 4, -1, NAN]), np.array([0.0, 1.0, 2.5, 3.0])),
    "histogram of one": (lambda m,
        x: [m.histogram(x.detach(), 3).hist, m.histogram(x.detach(), 2).bin_edges],
        np.ones((2, 2))),
    "histogramdd": (lambda m, x,
        w: [m.histogramdd(x.detach(), [2, 3, 1])[0],
            *m.histogramdd(x.detach(), 2, weight=w[:, 0].detach(), density=True).bin_edges,
            m.histogramdd(x.detach(), [2, 2, 2], range=[-1.0, 1, -1, 1, -2, 2],
                weight=w[:, 0].detach(), density=True)[0]], R.standard_normal((5, 3)),
                R.random((5, 1))),
    "histogramdd ends": (lambda m, x, e: m.histogramdd(x.detach(), [e.detach(), e.detach() * 2])[0],
        R.standard_normal((9, 2)), np.array([-1.0, 0.0, 0.5])),
    "logsumexp complex": (lambda m,
        x: [m.logsumexp(x, 1), m.logsumexp(x * 400, (0, 1)),
            m.special.logsumexp(x, 0, keepdim=True)], C),
    "logsumexp of no complex": (lambda m,
        x: [m.logsumexp(x[:0].detach(), 0), m.logsumexp(x[0, 0], 0)], C),
    # reordered
    **{
        f"index_reduce {reduce} {'with' if own else 'without'} self": (
            lambda m, x, s, reduce=reduce,
            own=own: m.index_reduce(x, 1, m.tensor([2, 0, 2]), s, reduce, include_self=own), M,
            R.random((3, 3)) + 0.5,
        )
        for reduce in ("prod", "mean", "amax", "amin")
        for own in (True, False)
    },
    "index_reduce number": (lambda m, x, s: m.index_reduce(x, 0, m.tensor([0]), s, "amax"), S,
        np.array(0.9)),
    "dsplit": (lambda m, x: [*m.dsplit(x, 2), *x.dsplit([1])], T3),
    "split by other names": (lambda m, x: [*m.unsafe_split(x, 2, 1), *m.unsafe_chunk(x, 2)], M),
    "pad with a constant": (lambda m,
        x: [m.constant_pad_nd(x, (1, 2)), m.constant_pad_nd(x, [0, 1, -1, 2], 3.0)], M),
    "nonzero of a size": (lambda m,
        x: [m.nonzero_static(x.detach(), size=3),
            m.nonzero_static(x.detach(), size=15, fill_value=7)], TIES),
    "copies": (lambda m,
        x: [m.alias_copy(x), m.diagonal_copy(x, 1), m.expand_copy(x, (2, 3, 4)),
            m.narrow_copy(x, 1, 1, 2), m.permute_copy(x, (1, 0)), m.squeeze_copy(x[:1]),
            m.squeeze_copy(x[:1], 0), m.t_copy(x), m.transpose_copy(x, 0, 1), *m.unbind_copy(x, 1),
            m.unfold_copy(x, 1, 2, 1), m.unsqueeze_copy(x, 1), m.view_copy(x, (4, 3)),
            *m.split_with_sizes_copy(x, [1, 3], 1)], M),
    "strided copy": (lambda m,
        x: [m.as_strided_copy(x, (3, 2), (1, 4)), m.as_strided_copy(x, (2, 2), (2, 3), 1),
            m.as_strided_copy(x, (), (), 5)], M),
    "strided scatter": (lambda m, x, s: m.as_strided_scatter(x.detach(), s, (2, 2), (1, 4), 2), M,
        N[:2, :2].copy()),
    "reversed difference": (lambda m, x, y: [m.rsub(x, y), m.rsub(x, 2.5), m.rsub(x, y, alpha=3)],
        M, V),
    "conjugates at once": (lambda m,
        x: [m.conj_physical(x), x.conj_physical(), m.resolve_neg(x), x.resolve_neg(),
            m.resolve_conj(x)], C),
    "scalar tensor": (lambda m: [m.scalar_tensor(2.5), m.scalar_tensor(3, dtype=m.int64)],),
    "block diagonal": (lambda m, x, y, s: m.block_diag(x, y, s), M, V, S),
    "cartesian product": (lambda m, x, y: [m.cartesian_prod(x, y, x), m.cartesian_prod(x)], V, W),
    "combinations": (lambda m,
        x: [m.combinations(x), m.combinations(x, 3, with_replacement=True), m.combinations(x, 5)],
        V),
    "unravel": (lambda m, x: list(m.unravel_index(x, (3, 4, 2))), np.array([[5, 23], [0, 11]])),
    "msort": (lambda m, x: m.msort(x), M),
    "windows": (lambda m, x: [x.unfold(1, 2, 1), x.unfold(-2, 3, 2), x.unfold(2, 4, 1)], T3),
    "index put": (lambda m, x, v: m.index_put(x, (m.tensor([0, 2]), m.tensor([1, 1])), v[:2]), M,
        V),
    "index put adding": (lambda m, x, v: x.index_put((m.tensor([0, 0]),), v, accumulate=True), M,
        V),
    "select scatter": (lambda m, x, v: m.select_scatter(x, v, 0, -1), M, V),
    "slice scatter": (lambda m, x, y: m.slice_scatter(x, y[:, :2], 1, 0, None, 2), M, N),
    "diagonal scatter": (lambda m, x, v: m.diagonal_scatter(x, v[:3], 1), M, V),
    "fill": (lambda m, x, s: m.fill(x, s), M, S),
    # linear algebra
    "triangular": (
        lambda m, a, b: [
            m.linalg.solve_triangular(a, b, upper=False),
            m.linalg.solve_triangular(a, b, upper=True, unitriangular=True),
            m.linalg.solve_triangular(a, b.mT, upper=True, left=False),
        ],
        GRAM,
        R.standard_normal((3, 2)),
    ),
    "cholesky solve": (lambda m, b, a: m.cholesky_solve(b, m.linalg.cholesky(a)),
        R.standard_normal((3, 2)), GRAM),
    "cholesky inverse": (lambda m,
        a: m.cholesky_inverse(m.linalg.cholesky(a, upper=True), upper=True), GRAM),
    "tensor inverse": (lambda m, x: m.linalg.tensorinv(x.reshape(2, 3, 6), ind=2),
        R.standard_normal((6, 6))),
    "tensor solve": (lambda m, x, b: m.linalg.tensorsolve(x.reshape(2, 3, 6), b),
        R.standard_normal((6, 6)), R.standard_normal((2, 3))),
    "rank": (lambda m, x: [m.linalg.matrix_rank(x @ x.mT), m.linalg.matrix_rank(x, atol=1e-3,
        rtol=0.5)], TALL),
    "condition": (lambda m,
        x: [m.linalg.cond(x.detach(), p) for p in (None, 2, -2, "fro", "nuc", 1, -1, INF)], BATCH),
    "vandermonde": (lambda m, x: [m.linalg.vander(x), m.linalg.vander(x, N=2)], M),
    "reflections": (lambda m, x, t: m.linalg.householder_product(x, t), R.standard_normal((4, 3)),
        R.standard_normal(3)),
    "svd values": (lambda m, x: m.linalg.svd(x)[1], TALL),
    "svd by default": (lambda m, x: [(u := m.linalg.svd(x)).U.abs(), u.Vh[..., :3, :].abs()],
        TALL.mT.copy()),
    "qr r": (lambda m, x: m.linalg.qr(x.detach(), mode="r"), TALL),
    "pinv hermitian": (lambda m, x: m.linalg.pinv(x + x.mT, hermitian=True), SQUARE),
    "lstsq": (lambda m, a, b: m.linalg.lstsq(a, b, driver="gelsd").solution, TALL,
        R.standard_normal((2, 5, 2))),
}  # fmt: skip


@in_one_test
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta")
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree_with_pytorch(torch, name):
    run, *arrays = CASES[name]
    agree(torch, run, *arrays, order=1, tolerance=1e-9, forward=False)


@pytest.mark.oracle
def test_full_factors_are_orthonormal_and_rebuild_the_matrix(torch):
    """The further columns are some orthonormal ones, so what must agree is what they are for."""
    for array in (TALL, TALL.mT.copy(), BATCH):
        x = mg.tensor(array)
        u, s, vh = mg.linalg.svd(x)
        want = torch.linalg.svd(torch.tensor(array))
        assert [tuple(t.shape) for t in (u, s, vh)] == [tuple(t.shape) for t in want]
        for q in (u, vh):
            np.testing.assert_allclose(
                (q @ q.mT).numpy(), np.broadcast_to(np.eye(q.shape[-1]), q.shape), atol=1e-12
            )
        k = s.shape[-1]
        np.testing.assert_allclose(
            (u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :]).numpy(), array, atol=1e-12
        )
        q, r = mg.linalg.qr(x, mode="complete")
        assert [tuple(t.shape) for t in (q, r)] == [
            tuple(t.shape) for t in torch.linalg.qr(torch.tensor(array), mode="complete")
        ]
        np.testing.assert_allclose(
            (q @ q.mT).numpy(), np.broadcast_to(np.eye(q.shape[-1]), q.shape), atol=1e-12
        )
        np.testing.assert_allclose((q @ r).numpy(), array, atol=1e-12)


@pytest.mark.oracle
def test_least_squares_in_full(torch):
    for a, b in (
        (TALL, R.standard_normal((2, 5, 2))),
        (TALL.mT.copy(), R.standard_normal((2, 3, 2))),
    ):
        ours = mg.linalg.lstsq(mg.tensor(a), mg.tensor(b))
        theirs = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), driver="gelsd")
        for name in ("solution", "residuals", "rank", "singular_values"):
            got, want = getattr(ours, name), getattr(theirs, name)
            assert tuple(got.shape) == tuple(want.shape), name
            np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-10, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_gives_the_next_number(dtype):
    a, b = np.array([1.0, 1.0, 0.0, 2.0], dtype=dtype), np.array([2.0, 0.0, 1.0, 2.0], dtype=dtype)
    np.testing.assert_array_equal(
        mg.nextafter(mg.tensor(a), mg.tensor(b)).numpy(), np.nextafter(a, b)
    )
    x = mg.tensor(a)
    x.nextafter_(mg.tensor(b))
    np.testing.assert_array_equal(x.numpy(), np.nextafter(a, b))


@pytest.mark.oracle
def test_the_sign_that_is_copied_has_the_gradient_zero(torch):
    a, b = [2.0, -3.0, 0.0, -0.0, 5.0], [-1.0, -0.0, -4.0, 3.0, 0.0]
    for m in (mg, torch):
        x, y = m.tensor(a, requires_grad=True), m.tensor(b, requires_grad=True)
        found = m.autograd.grad(m.copysign(x, y).sum(), (x, y))
        assert [g.tolist() for g in found] == [[-1, 1, 0, 0, 1], [0] * 5]


def test_drawing_by_weight():
    mg.manual_seed(0)
    weights = mg.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    drawn = mg.multinomial(weights, 4000, replacement=True)
    assert drawn.dtype == mg.int64 and drawn.shape == (2, 4000)
    share = (drawn[0] == 2).double().mean().item()
    assert 0.71 < share < 0.79 and not (drawn[0] == 1).any() and (drawn[1] == 1).all()
    first = mg.stack([mg.multinomial(weights[0], 2) for _ in range(400)])
    assert (first[:, 0] != first[:, 1]).all() and not (first == 1).any()
    assert 0.68 < (first[:, 0] == 2).double().mean().item() < 0.82
    with pytest.raises(RuntimeError, match="cannot draw 3 different"):
        mg.multinomial(weights[0], 3)
    with pytest.raises(RuntimeError, match="not all of them 0"):
        mg.multinomial(mg.zeros(3), 1)


def test_strided_scatter_has_the_gradient_of_what_it_keeps():
    """PyTorch 2.13 gives x the gradient of what was overwritten."""
    x, src = mg.tensor(M, requires_grad=True), mg.tensor(N[:2, :2], requires_grad=True)
    assert gradcheck(
        lambda x, s: mg.as_strided_scatter(x, s, (2, 2), (1, 4), 2), [x, src], check_forward_ad=True
    )


def test_copies_have_memory_of_their_own():
    x = mg.tensor(M)
    for copy in (
        mg.alias_copy(x),
        mg.diagonal_copy(x),
        mg.t_copy(x),
        mg.view_copy(x, (12,)),
        *mg.unbind_copy(x),
        mg.expand_copy(x, 1, 3, 4),
    ):
        assert not np.shares_memory(copy.numpy(), x.numpy()) and not copy._is_view()
    assert mg.view_copy.__name__ == "view_copy" and "memory of its own" in mg.t_copy.__doc__


def test_svd_lowrank_is_exact_for_a_matrix_of_low_rank():
    """The exact factors of a matrix that has that rank, and principal components of samples."""
    mg.manual_seed(2)
    for shape in ((6, 4), (4, 6), (2, 5, 5)):
        A = R.standard_normal((*shape[:-1], 2)) @ R.standard_normal((*shape[:-2], 2, shape[-1]))
        for array in (A, A * (1 + 2j), A.astype("float32")):
            U, S, V = mg.svd_lowrank(mg.tensor(array), q=2)
            assert U.dtype == array.dtype
            assert U.shape == (*shape[:-1], 2)
            assert V.shape == (*shape[:-2], shape[-1], 2)
            np.testing.assert_allclose(
                (U * S.unsqueeze(-2) @ mg.conj(V).mT).numpy(), array, atol=1e-5
            )
    samples = R.standard_normal((30, 5)) * np.array([5.0, 3, 1, 0.1, 0.1])
    U, S, V = mg.pca_lowrank(mg.tensor(samples), q=3, niter=6)
    exact = np.linalg.svd(samples - samples.mean(0), full_matrices=False)
    np.testing.assert_allclose(S.numpy(), exact.S[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(V.numpy().T @ exact.Vh[:3].T), np.eye(3), atol=1e-6)
    assert mg.pca_lowrank(mg.tensor(samples), center=False)[1].shape == (5,)
    M2 = mg.tensor(R.standard_normal((6, 4)))
    assert mg.svd_lowrank(M2, 2, M=M2)[1].abs().max() < 1e-12
    x = mg.tensor(A[0] + np.eye(5), requires_grad=True)
    mg.svd_lowrank(x, 5)[1].sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(),
        mg.func.grad(lambda a: mg.linalg.svdvals(a).sum())(x.detach()).numpy(),
        atol=1e-8,
    )


def test_draws_of_further_distributions():
    mg.manual_seed(4)
    cauchy = mg.empty(4000).cauchy_(2.0, 0.5)
    trials = mg.empty(4000, dtype="int64").geometric_(0.25)
    grown = mg.empty(4000).log_normal_(0.5, 0.25)
    assert abs(mg.median(cauchy).item() - 2) < 0.1
    assert 0.45 < ((cauchy - 2).abs() < 0.5).float().mean().item() < 0.55
    assert trials.min().item() == 1
    assert 3.7 < trials.float().mean().item() < 4.3
    assert trials.dtype == mg.int64
    assert abs(mg.log(grown).mean().item() - 0.5) < 0.03
    assert abs(mg.log(grown).std().item() - 0.25) < 0.03
    for fill in (lambda x: x.cauchy_(), lambda x: x.geometric_(0.5), lambda x: x.log_normal_()):
        with pytest.raises(InPlaceError, match="leaf"):
            fill(mg.ones(2, requires_grad=True))
