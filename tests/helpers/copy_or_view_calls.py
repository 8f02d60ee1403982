"""Calls of every public function and method, by whether the result is a copy, a view or the input.

The calls are written for PyTorch and minigrad alike. T is the library; F, L, FT, SP, SG, MK and N
are its nn.functional, linalg, fft, special, signal, masked and nn. The other names are those of
`arrays`. They include the cases in which nothing has to be computed: repeat by 1, pad by nothing,
one part.
"""

import re
from typing import Any

import numpy as np

COPY, VIEW, EXPANDED, WINDOWS, ITSELF = "copy", "view", "expanded view", "windows", "itself"
"""What a call gives: memory of its own; a view; a view in which one location has several elements,
so that it cannot be written to; overlapping windows, which can be filled with one number only; the
input.
"""


def arrays() -> dict[str, np.ndarray]:
    """What the calls are made on: x, y (3, 4), o (3, 1), l (1, 4), vectors, a number s and so
    on.
    """
    r = np.random.default_rng(0)

    def u(*shape: int) -> np.ndarray:
        return np.asarray(r.uniform(0.1, 0.9, shape))

    m = u(3, 3)
    m = m @ m.T + np.eye(3)
    floats = {
        "x": u(3, 4), "y": u(3, 4), "o": u(3, 1), "l": u(1, 4), "v": u(4), "w": u(4), "s": u(),
        "q": u(1), "m": m,
        "ll": u(1, 1), "m34": u(4, 3), "x3": u(4, 3), "v3": u(3), "g3": u(3, 3, 3), "p": u(3, 2),
        "e": np.zeros((0, 4)), "e0": np.zeros(0), "one": np.ones(1), "one1": np.ones((1, 1)),
        "one111": np.ones((1, 1, 1)), "one1111": np.ones((1, 1, 1, 1)), "one3": np.ones(3),
        "ones34": np.ones((3, 4)), "ones4": np.ones(4), "zeros4": np.zeros(4), "s1": u(1, 1),
        "g": u(2, 4, 4, 4), "h1": u(2, 4, 5), "d": u(2, 4, 3, 3, 3), "cols": u(2, 4, 16),
        "cols1": u(2, 9, 1),
        "k1": u(4, 4, 1), "k2": u(4, 4, 1, 1), "kd": u(4, 4, 1, 1, 1), "w344": u(3, 4, 4),
        "w155": u(15, 5),
        "w55": u(5, 5), "theta": u(2, 2, 3), "flow": u(2, 3, 3, 2), "v12": u(12),
        "logp": np.log(u(5, 2, 3)),
        "sgns": np.sign(u(3, 4) - 0.5),
    }  # fmt: skip
    integers = {
        "i": r.integers(0, 4, (3, 4)), "j": r.integers(0, 4, (3, 4)), "k": r.permutation(4),
        "k4": np.arange(4),
        "k3": np.arange(1, 4), "k0": np.arange(3), "ks": np.array(0), "ks1": np.array([0]),
        "i0": np.array([[0, 1, 2, 0]] * 3), "ones3": np.ones(3, int),
        "targets": np.array([[1, 2], [2, 1]]),
        "lens": np.array([5, 5]), "tlens": np.array([2, 2]), "pivots": np.array([1, 2, 3], "i4"),
        "places1": np.tile(np.arange(5), (2, 4, 1)),
        "places2": np.tile(np.arange(16).reshape(4, 4), (2, 4, 1, 1)),
        "places3": np.tile(np.arange(27).reshape(3, 3, 3), (2, 4, 1, 1, 1)),
        "u8g": r.integers(0, 255, (1, 1, 4, 4)).astype("u1"),
    }  # fmt: skip
    others = {
        "b": np.ones((3, 4), bool), "n": r.random((3, 4)) < 0.5, "bs": np.array(True),
        "bq": np.array([True]),
        "bo": np.ones((3, 1), bool), "c": u(3, 4) + 1j * u(3, 4), "cq": u(1) + 1j * u(1),
        "c33": u(3, 13) + 1j * u(3, 13), "c64": u(3).astype("F"), "f": u(3, 4).astype("f"),
        "h": u(3).astype("e"),
        "i8": np.arange(3, dtype="i1"), "u8": np.arange(3, dtype="u1"),
        "i16": np.arange(3, dtype="i2"),
        "i32": np.arange(3, dtype="i4"),
    }  # fmt: skip
    return floats | integers | others


ARRAYS = arrays()


def names_in(call: str) -> list[str]:
    """The inputs of a call in the order in which they appear; t is the transpose of x."""
    found = re.findall(r"(?<![.\w])([a-z]\w*)\b(?!\s*=[^=])", call)
    return [name for name in dict.fromkeys(found) if name in ARRAYS or name == "t"]


COPIES = """
T.mvlgamma(x, 1); x.polygamma(1); m.addbmm(g3, g3)
T.abs(x); T.absolute(x); T.acos(x); T.acosh(x); T.angle(x); T.arccos(x); T.arccosh(x); T.arcsin(x)
T.arcsinh(x); T.arctan(x); T.arctanh(x); T.asin(x); T.asinh(x); T.atan(x); T.atanh(x); T.ceil(x)
T.cos(x); T.cosh(x); T.deg2rad(x); T.digamma(x); T.erf(x); T.erfc(x); T.erfinv(x); T.exp(x)
T.exp2(x); T.expm1(x); T.fix(x); T.floor(x); T.frac(x); T.frexp(x); T.i0(x); T.isfinite(x)
T.isinf(x); T.isnan(x); T.isneginf(x); T.isposinf(x); T.isreal(x); T.lgamma(x); T.log(x); T.log10(x)
T.log1p(x); T.log2(x); T.logical_not(x); T.logit(x); T.nan_to_num(x); T.neg(x); T.negative(x)
T.rad2deg(x); T.reciprocal(x); T.relu(x); T.round(x); T.rsqrt(x); T.sgn(x); T.sigmoid(x); T.sign(x)
T.signbit(x); T.sin(x); T.sinc(x); T.sinh(x); T.sqrt(x); T.square(x); T.tan(x); T.tanh(x)
T.trunc(x); T.clone(x); T.std_mean(x); T.var_mean(x); T.std(x); T.var(x); T.mean(x); T.sum(x)
T.prod(x); T.amax(x); T.amin(x); T.aminmax(x); T.all(x); T.any(x); T.argmax(x); T.argmin(x)
T.argsort(x); T.argwhere(x); T.count_nonzero(x); T.cov(x); T.corrcoef(x); T.max(x); T.min(x)
T.median(x); T.nanmean(x); T.nanmedian(x); T.nansum(x); T.nonzero(x); T.norm(x); T.msort(x)
T.sort(x); T.unique(x); T.unique_consecutive(x); T.histc(x); T.mode(x); T.diff(x); T.fliplr(x)
T.flipud(x); T.rot90(x); T.tril(x); T.triu(x); T.diagflat(x); T.zeros_like(x); T.ones_like(x)
T.empty_like(x); T.rand_like(x); T.randn_like(x); T.bernoulli(x); T.add(x, y); T.arctan2(x, y)
T.atan2(x, y); T.copysign(x, y); T.div(x, y); T.divide(x, y); T.dist(x, y); T.eq(x, y)
T.float_power(x, y); T.floor_divide(x, y); T.fmax(x, y); T.fmin(x, y); T.fmod(x, y); T.ge(x, y)
T.greater(x, y); T.greater_equal(x, y); T.gt(x, y); T.heaviside(x, y); T.hypot(x, y); T.igamma(x, y)
T.igammac(x, y); T.inner(x, y); T.isclose(x, y); T.isin(x, y); T.kron(x, y); T.ldexp(x, y)
T.le(x, y); T.less(x, y); T.less_equal(x, y); T.logaddexp(x, y); T.logaddexp2(x, y)
T.logical_and(x, y); T.logical_or(x, y); T.logical_xor(x, y); T.lt(x, y); T.maximum(x, y)
T.minimum(x, y); T.mul(x, y); T.multiply(x, y); T.ne(x, y); T.nextafter(x, y); T.not_equal(x, y)
T.pow(x, y); T.remainder(x, y); T.rsub(x, y); T.sub(x, y); T.subtract(x, y); T.true_divide(x, y)
T.xlogy(x, y); T.cdist(x, y); T.acosh(x + 1); T.bincount(k); T.relu(y); T.abs(i); T.abs(c)
T.angle(c); T.neg(s); T.abs(s); T.relu(s); T.floor(i); T.ceil(i); T.trunc(i); T.round(i)
T.round(x, decimals=1); T.fix(i); T.sgn(c); T.clone(s); T.clone(t); T.nan_to_num(i)
T.conj_physical(c); T.isreal(c); T.clamp(x, 0, 1); T.clamp(x, min=0); T.clamp(i, 0, 9)
T.clip(x, 0, 1); T.clamp_min(x, 0); T.clamp_max(x, 9); T.clamp(s, 0, 1); T.add(x, 0); T.sub(x, 0)
T.mul(x, 1); T.div(x, 1); T.pow(x, 1); T.pow(x, 0); T.pow(i, 1); T.add(x, y, alpha=0); T.mul(x, s)
T.add(s, 0); T.float_power(x, 1); T.maximum(x, x); T.minimum(x, x); T.remainder(i, j + 9)
T.fmod(i, j + 9); T.floor_divide(i, 1); T.logical_and(n, b); T.logical_not(b); T.bitwise_and(i, j)
T.bitwise_or(i, j); T.bitwise_xor(i, j); T.bitwise_not(i); T.bitwise_left_shift(i, j)
T.bitwise_right_shift(i, j); T.bitwise_left_shift(i, 0); T.bitwise_or(i, 0); T.gcd(i, j)
T.lcm(i, j); T.isin(i, j); T.bitwise_and(b, b); T.addcdiv(x, y, y); T.addcmul(x, y, y)
T.addcmul(x, y, y, value=0); T.lerp(x, y, 0.5); T.lerp(x, y, 0.0); T.lerp(x, y, 1.0)
T.mvlgamma(x + 1, 2); T.polygamma(1, x); T.polygamma(0, x); T.renorm(x, 2, 0, 100.0)
T.heaviside(x, s); T.softmax(x, 1); T.softmax(o, 1); T.log_softmax(x, 1); T.log_softmax(o, 1)
T.fill(x, 2.0); T.fill(s, 2.0); T.full_like(x, 1.0); T.logsumexp(x, 1); T.logsumexp(o, 1)
T.complex(x, y); T.polar(x, y); T.frexp(s); T.where(b, x, y); T.where(n, x, 0.0); T.where(b, x, x)
T.where(bs, s, s); T.where(b); T.where(b, s, s); T.sum(x, 1); T.sum(o, 1); T.sum(o, 1, keepdim=True)
T.sum(s); T.sum(q); T.sum(i); T.sum(q, 0); T.sum(x, dtype=T.float64); T.sum(e, 0)
T.sum(l, 0, keepdim=True); T.sum(s, 0); T.mean(x, 1); T.mean(o, 1); T.mean(o, 1, keepdim=True)
T.mean(s); T.mean(s, 0); T.mean(q); T.prod(x, 1); T.prod(o, 1); T.prod(s); T.prod(q)
T.prod(l, 0, keepdim=True); T.prod(s, 0); T.amax(x, 1); T.amax(o, 1); T.amax(o, 1, keepdim=True)
T.amax(s); T.amax(q); T.amin(x, 1); T.amin(o, 1, keepdim=True); T.amin(s); T.aminmax(x, dim=1)
T.aminmax(o, dim=1); T.aminmax(s); T.max(x, 1); T.max(o, 1); T.max(o, 1, keepdim=True); T.max(s)
T.max(q); T.max(x, y); T.max(s, 0); T.min(x, 1); T.min(o, 1); T.min(s); T.min(x, y); T.min(s, 0)
T.median(x, 1); T.median(o, 1); T.median(s); T.median(q); T.median(s, 0); T.nanmedian(x, 1)
T.nanmedian(o, 1); T.nanmedian(s); T.nanmedian(s, 0); T.mode(x, 1); T.mode(o, 1); T.mode(s)
T.kthvalue(x, 1, 1); T.kthvalue(o, 1, 1); T.kthvalue(s, 1); T.kthvalue(q, 1); T.quantile(x, 0.5)
T.quantile(q, 0.5); T.quantile(s, 0.5); T.nanquantile(x, 0.5); T.nanquantile(q, 0.5)
T.quantile(o, 0.0, dim=1); T.all(b, 1); T.all(bs); T.any(bs); T.all(b[:, :1], 1); T.any(n, 1)
T.any(n[:, :1], 1); T.all(bq, 0); T.any(bq, 0); T.std(x, 1); T.var(x, 1); T.std_mean(x, 1)
T.var_mean(x, 1); T.std(o, 1, correction=0); T.std_mean(o, 1, correction=0)
T.var_mean(o, 1, correction=0); T.nansum(o, 1); T.nansum(s); T.nanmean(o, 1); T.nanmean(s)
T.norm(x, dim=1); T.norm(o, dim=1); T.norm(o, 1, dim=1, keepdim=True); T.norm(s); T.norm(q, 1)
T.count_nonzero(x, 1); T.dist(s, s); T.cumsum(x, 0); T.cumsum(l, 0); T.cumsum(s, 0); T.cumsum(q, 0)
T.cumprod(x, 0); T.cumprod(l, 0); T.cumprod(s, 0); T.cummax(x, 0); T.cummax(l, 0); T.cummax(s, 0)
T.cummin(x, 0); T.cummin(l, 0); T.cummin(s, 0); T.logcumsumexp(x, 0); T.logcumsumexp(l, 0)
T.logcumsumexp(s, 0); T.diff(x, n=0); T.diff(x, n=1); T.diff(x, n=0, dim=0)
T.diff(x, n=0, prepend=x); T.diff(i, n=0); T.sort(x, 0); T.sort(l, 0); T.sort(q); T.sort(s)
T.sort(e); T.argsort(l, 0); T.msort(l); T.msort(q); T.topk(x, 2); T.topk(q, 1); T.topk(v, 4)
T.topk(s, 1); T.unique(q); T.unique(v); T.unique(i); T.unique_consecutive(q)
T.unique_consecutive(v); T.unique(x, dim=0); T.unique(l, dim=0); T.unique_consecutive(l, dim=0)
T.unique(v, return_inverse=True); T.searchsorted(v, w); T.bucketize(w, v); T.histogram(x, 3)
T.histogramdd(x[:, :2], [2, 2]); T.multinomial(v, 2); T.histc(q, 2); T.bincount(k, w); T.cat([x])
T.cat([x, y]); T.cat([x, e]); T.cat([e0, x]); T.cat([x, x], 1); T.concat([x]); T.concatenate([x])
T.stack([x]); T.stack([s]); T.stack([x, y]); T.hstack([x]); T.hstack([v]); T.hstack([s])
T.vstack([x]); T.vstack([v]); T.row_stack([x]); T.dstack([x]); T.dstack([g[0]]); T.column_stack([x])
T.column_stack([v]); T.block_diag(x); T.block_diag(v); T.block_diag(s); T.cat([q]); T.cat([e])
T.cartesian_prod(v, w); T.combinations(v, 2); T.combinations(v, 1); T.combinations(q, 1)
x.repeat(1, 1); x.repeat(2, 1); x.repeat(2, 1, 1); x.repeat(1, 1, 1); x.repeat(0, 1); v.repeat(1)
v.repeat(3); v.repeat(3, 1); s.repeat(1); s.repeat(()); s.repeat(2, 3); e.repeat(1, 1)
t.repeat(1, 1); c.repeat(1, 1); i.repeat(1, 1); o.repeat(1, 4)
T.tile(x, (1, 1)); T.tile(x, (1,)); T.tile(x, ()); T.tile(v, (2, 1)); T.tile(s, ()); T.tile(s, (1,))
T.tile(x, (2, 2)); T.tile(x, (1, 1, 1)); T.tile(o, (1, 1)); T.repeat_interleave(x, 1, 0)
T.repeat_interleave(x, 1); T.repeat_interleave(v, 1); T.repeat_interleave(x, 2, 1)
T.repeat_interleave(s, 1); T.repeat_interleave(x, ones3, 0); T.repeat_interleave(k)
T.repeat_interleave(o, 4, 1); T.repeat_interleave(q, 3); T.roll(x, 0); T.roll(x, 0, 0); T.roll(x, 1)
T.roll(x, 4, 1); T.roll(s, 0); T.roll(q, 1); T.roll(e, 1, 0); T.roll(x, (0, 0), (0, 1))
T.roll(l, 1, 0); T.roll(t, 1); T.flip(x, ()); T.flip(x, (0,)); T.flip(l, (0,)); T.flip(s, ())
T.flip(q, (0,)); T.flip(x, (0, 1)); T.fliplr(o); T.flipud(l); T.flipud(q); T.rot90(x, 0)
T.rot90(x, 1); T.rot90(x, 2); T.rot90(x, 3); T.rot90(x, 4); T.rot90(o, 2); T.rot90(o, 1)
T.rot90(ll, 1); T.rot90(ll, 2); T.rot90(ll, 3); T.tril(x, 9); T.triu(x, -9); T.tril(x, -9)
T.tril(ll); T.triu(ll); T.diag(v); T.diag(m); T.diag(q); T.diag(ll); T.diag(x, 1); T.diag_embed(v)
T.diag_embed(q); T.diagflat(q); T.diagflat(v); T.diagflat(s); T.reshape(t, (12,)); T.flatten(t)
T.ravel(t); T.index_select(x, 0, k[:2] * 0); T.index_select(x, 1, k4); T.index_select(x, 0, k0)
T.index_select(v, 0, k4)
x[b]; x[n]; x[[0, 1, 2]]; x[k4[:3]]; x[:, k4]; x[i[:, :1] * 0]; x[0, k4]; s[bs]; x[True]; s[True]
v[k4]; x[k0]; t.contiguous(); x.expand(2, 3, 4).contiguous(); x.to(T.float32)
x.to(T.float64, copy=True); x.float(); f.double(); x.half(); i.int(); x.bool(); x.long(); c.cfloat()
x.cdouble(); i.short(); i.char(); i.byte(); f.bfloat16(); x.type(T.float32); x.type_as(f)
x.sum_to_size(1, 4); s.sum_to_size(()); x.sum_to_size(()); x.sum_to_size(1, 1); x.where(b, y)
x.new_tensor(3.0); x.new_zeros(2); x.new_ones(2); x.new_full((2,), 1.0); x.new_empty(2); -x; abs(x)
~b; x + 0; x * 1; x ** 1; x / 1; x - 0; x // 1; x % 9; x @ m34; x == x; x < y; i & i; i | i; i ^ i
i << 0; i >> 0; 1 * x; 0 + x; 1 ** x; 1 / x
T.alias_copy(x); T.alias_copy(s); T.diagonal_copy(m); T.expand_copy(x, (3, 4))
T.expand_copy(o, (3, 4)); T.narrow_copy(x, 0, 0, 3); T.permute_copy(x, (0, 1)); T.squeeze_copy(x)
T.squeeze_copy(s); T.t_copy(x); T.transpose_copy(x, 0, 1); T.unbind_copy(x); T.unbind_copy(l)
T.unfold_copy(x, 0, 2, 1); T.unsqueeze_copy(x, 0); T.view_copy(x, (3, 4))
T.split_with_sizes_copy(x, [3]); T.as_strided_copy(x, (3, 4), (4, 1))
T.as_strided_scatter(x, y, (3, 4), (4, 1)); T.gather(x, 1, i); T.gather(q, 0, k[:1] * 0)
T.gather(s, 0, ks); T.scatter(x, 1, i0, y); T.scatter(x, 1, i0[:0], y); T.scatter(x, 1, i0, 2.0)
T.scatter(x, 1, i0[:0], 2.0); T.scatter_add(x, 1, i, y); T.scatter_add(x, 1, i[:0], y)
T.scatter_reduce(x, 1, i, y, "sum"); T.scatter_reduce(x, 1, i[:0], y, "sum")
T.scatter_reduce(x, 1, i[:0], y, "amax"); T.scatter_reduce(x, 1, i[:0], y, "mean")
T.scatter_reduce(x, 1, i[:0], y, "prod"); T.index_add(x, 0, k0, y); T.index_add(x, 0, k0[:0], y[:0])
T.index_copy(x, 0, k0, y); T.index_copy(x, 0, k0[:0], y[:0]); T.index_fill(x, 0, k0, 1.0)
T.index_fill(x, 0, k0[:0], 1.0); T.index_put(x, (k0,), y); T.index_put(x, (k0[:0],), y[:0])
T.index_reduce(x, 0, k0, y, "amax"); T.index_reduce(x, 0, k0[:0], y[:0], "amax")
T.index_reduce(x, 0, k0[:0], y[:0], "mean"); T.index_reduce(x, 0, k0[:0], y[:0], "prod")
T.masked_fill(x, n, 0.0); T.masked_fill(x, ~b, 0.0); T.masked_fill(s, ~bs, 0.0)
T.masked_scatter(x, n, y); T.masked_scatter(x, ~b, y); T.masked_select(x, b); T.masked_select(s, bs)
T.masked_select(v, b[0]); T.put(x, k4, v); T.put(x, k4[:0], v[:0]); T.take(x, k4); T.take(v, k4)
T.take(s, ks); T.take_along_dim(x, i, 1); T.take_along_dim(x, k4); T.nonzero_static(i, size=2)
T.nonzero(n); T.select_scatter(x, v, 0, 0); T.select_scatter(l, v, 0, 0); T.slice_scatter(x, y)
T.slice_scatter(x, y[:0], 0, 0, 0); T.diagonal_scatter(m, v[:3]); T.diagonal_scatter(ll, q)
T.matmul(x, m34); T.matmul(v, w); T.mm(x, m34); T.mm(ll, ll); T.mv(x, v); T.dot(v, w); T.dot(q, q)
T.vdot(v, w); T.outer(v, w); T.outer(q, q); T.ger(v, w); T.inner(v, w); T.inner(s, s); T.bmm(g3, g3)
T.kron(ll, ll); T.kron(x, ll); T.cross(x3, x3); T.addmm(m, m, m); T.addmm(m, m, m, alpha=0)
T.addmv(v3, m, v3); T.addmv(v3, m, v3, alpha=0); T.addr(m, v3, v3); T.addr(m, v3, v3, alpha=0)
T.addbmm(g3[0], g3, g3); T.baddbmm(g3, g3, g3); T.baddbmm(g3, g3, g3, alpha=0)
T.addbmm(g3[0], g3, g3, alpha=0); T.tensordot(x, m34, 1); T.tensordot(x, s, 0); T.tensordot(s, s, 0)
T.einsum("ij->i", o); T.einsum("i->", q); T.einsum("ij,ij->ij", x, y); T.einsum("ij->i", x)
T.einsum("ij,->ij", x, s); T.einsum("ii", m); T.cholesky(m); T.cholesky(ll); T.cholesky_inverse(m)
T.cholesky_solve(m, m); T.det(m); T.det(ll); T.inverse(m); T.inverse(ll); T.pinverse(m); T.logdet(m)
T.slogdet(m); T.qr(m); T.svd(m); T.geqrf(m); T.ormqr(m, v3, m); T.triangular_solve(m, m)
T.matrix_exp(m); T.matrix_exp(ll); T.matrix_power(m, 1); T.matrix_power(m, 0); T.matrix_power(m, 2)
T.matrix_power(m, -1); T.pca_lowrank(m); T.cov(v); T.cov(s); T.corrcoef(v); T.cov(x, correction=0)
T.gradient(v); T.gradient(x); T.gradient(x, dim=1); T.trapezoid(x); T.trapz(x); T.trapezoid(q)
T.cumulative_trapezoid(x); T.cumulative_trapezoid(q); T.constant_pad_nd(x, (0, 0))
T.constant_pad_nd(x, (1, 1)); T.unravel_index(k4, (2, 2)); T.unravel_index(k4, (4,)); T.tensor(3.0)
T.rsub(x, 0); T.matrix_power(ll, 1); T.sgn(s); T.ldexp(x, i * 0); T.isclose(x, x); T.copysign(x, x)
F.pad(x, (0, 0)); F.pad(x, ()); F.pad(x, (0, 0, 0, 0)); F.pad(x, (1, 0))
F.pad(x, (0, 0), value=3.0); F.pad(x, (-1, 0)); F.pad(x, (-1, -1)); F.pad(x, (-1, 0), value=2.0)
F.pad(h1, (0, 0), "reflect"); F.pad(h1, (0, 0), "replicate"); F.pad(h1, (0, 0), "circular")
F.pad(h1, (-1, 0), "reflect"); F.pad(h1, (-1, 0), "replicate"); F.pad(h1, (-1, 0), "circular")
F.pad(h1, (1, 1), "circular"); F.pad(g, (0, 0, 0, 0), "reflect")
F.pad(g, (0, 0, 0, 0), "replicate"); F.pad(g, (0, 0, 0, 0), "circular"); F.pad(s, ())
F.pad(i, (0, 0)); F.pad(x, (0, 0), "constant", 0); F.pad(c, (0, 0))
F.pad(g, (-1, 0, 0, 0), "circular"); F.pad(d, (0,) * 6, "replicate"); F.interpolate(h1, 5)
F.interpolate(h1, 5, mode="nearest-exact"); F.interpolate(h1, 5, mode="linear")
F.interpolate(h1, 5, mode="area"); F.interpolate(g, (4, 4))
F.interpolate(g, (4, 4), mode="bilinear"); F.interpolate(g, (4, 4), mode="bicubic")
F.interpolate(g, (4, 4), mode="area"); F.interpolate(g, (4, 4), mode="nearest-exact")
F.interpolate(d, (3, 3, 3)); F.interpolate(d, (3, 3, 3), mode="trilinear")
F.interpolate(g, scale_factor=1); F.interpolate(g, scale_factor=2)
F.interpolate(g, (4, 4), mode="bilinear", align_corners=True)
F.interpolate(g, scale_factor=1.0, mode="bilinear"); F.interpolate(u8g, (4, 4))
F.interpolate(u8g, (4, 4), mode="bilinear"); F.interpolate(g, (2, 4)); F.upsample(g, (4, 4))
F.upsample_nearest(g, (4, 4)); F.upsample_bilinear(g, (4, 4)); F.adaptive_avg_pool1d(h1, 5)
F.adaptive_avg_pool2d(g, (4, 4)); F.adaptive_avg_pool2d(g, (None, None))
F.adaptive_avg_pool3d(d, 3); F.adaptive_max_pool1d(h1, 5); F.adaptive_max_pool2d(g, (4, 4))
F.adaptive_max_pool3d(d, 3); F.adaptive_max_pool2d(g, 4, return_indices=True)
F.adaptive_avg_pool2d(g, 2); F.adaptive_max_pool2d(g, 2); F.adaptive_avg_pool2d(g[:, :, :1, :1], 1)
F.adaptive_avg_pool1d(h1, 1); F.avg_pool1d(h1, 1); F.avg_pool2d(g, 1); F.avg_pool3d(d, 1)
F.max_pool1d(h1, 1); F.max_pool2d(g, 1); F.max_pool3d(d, 1); F.max_pool2d(g, 1, return_indices=True)
F.lp_pool1d(h1, 1, 1); F.lp_pool2d(g, 1, 1); F.lp_pool3d(d, 1, 1); F.avg_pool2d(g, 2)
F.max_pool2d(g, 2); F.max_unpool1d(h1, places1, 1); F.max_unpool2d(g, places2, 1)
F.max_unpool3d(d, places3, 1); F.fractional_max_pool2d(g, 2, (3, 3))
F.fractional_max_pool3d(d, 1, (2, 2, 2)); F.avg_pool1d(h1, 2); F.max_pool1d(h1, 2)
F.pixel_shuffle(g, 1); F.pixel_shuffle(g, 2); F.pixel_unshuffle(g, 1); F.pixel_unshuffle(g, 2)
F.channel_shuffle(g, 1); F.channel_shuffle(g, 2); F.channel_shuffle(g, 4)
F.channel_shuffle(g[:, :1], 1); F.fold(cols, (4, 4), 1); F.fold(cols1, (3, 3), (3, 3))
F.unfold(g, 1); F.unfold(g, 4); F.unfold(g, 2); F.unfold(g[:, :, :1, :1], 1); F.dropout(x, 0.5)
F.alpha_dropout(x, 0.5, True); F.feature_alpha_dropout(g, 0.5, True); F.dropout(x, 1.0)
F.alpha_dropout(x, 1.0, True); F.dropout2d(g, 0.5); F.dropout1d(h1, 0.5); F.dropout3d(d, 0.5)
F.relu(x); F.relu6(x); F.elu(x); F.selu(x); F.celu(x); F.leaky_relu(x); F.leaky_relu(x, 1.0)
F.prelu(x, one); F.rrelu(x); F.rrelu(x, training=True); F.rrelu(x, 1.0, 1.0); F.gelu(x); F.glu(x)
F.silu(x); F.mish(x); F.hardtanh(x); F.hardshrink(x, 0.0); F.hardshrink(x); F.hardsigmoid(x)
F.hardswish(x); F.softshrink(x, 0.0); F.softplus(x); F.softsign(x); F.tanhshrink(x)
F.threshold(x, 0.0, 0.0); F.logsigmoid(x); F.sigmoid(x); F.tanh(x); F.softmax(x, 1); F.softmin(x, 1)
F.log_softmax(x, 1); F.gumbel_softmax(x); F.gumbel_softmax(x, hard=True); F.softmax(o, 1)
F.normalize(x); F.normalize(s, dim=0); F.local_response_norm(g, 1, alpha=0.0)
F.local_response_norm(g, 1); F.linear(x, y); F.linear(x, one1 * x[:1] * 0 + 1)
F.bilinear(x, y, w344); F.linear(s1, one1); F.bilinear(x, y, w344, v3); F.conv1d(h1, k1)
F.conv2d(g, k2); F.conv3d(d, kd); F.conv_transpose1d(h1, k1); F.conv_transpose2d(g, k2)
F.conv_transpose3d(d, kd); F.conv1d(h1[:, :1], one111); F.conv2d(g[:, :1], one1111)
F.batch_norm(g, None, None, training=True); F.batch_norm(g, zeros4, ones4); F.group_norm(g, 1)
F.group_norm(g, 4); F.instance_norm(g); F.layer_norm(x, (4,)); F.layer_norm(o, (1,))
F.rms_norm(x, (4,)); F.rms_norm(o, (1,)); F.embedding(i0, x); F.embedding(k0, x)
F.embedding(i0, x, padding_idx=0); F.embedding_bag(i0, x); F.one_hot(k4); F.one_hot(k4, 4)
F.embedding(ks, l); F.cosine_similarity(x, y); F.pairwise_distance(x, y); F.pdist(x)
F.l1_loss(x, y, reduction="none"); F.l1_loss(x, y); F.mse_loss(x, y, reduction="none")
F.mse_loss(x, y); F.smooth_l1_loss(x, y); F.smooth_l1_loss(x, y, reduction="none")
F.huber_loss(x, y); F.huber_loss(x, y, reduction="none"); F.nll_loss(x, k3)
F.nll_loss(x, k3, reduction="none"); F.nll_loss(l, ks1[:1], reduction="sum")
F.nll_loss(x, k3, reduction="sum"); F.nll_loss(v, ks); F.nll_loss(v, ks, reduction="none")
F.cross_entropy(x, k3); F.cross_entropy(x, k3, reduction="none"); F.kl_div(x, y, reduction="none")
F.kl_div(x, y, reduction="sum"); F.binary_cross_entropy(x, y)
F.binary_cross_entropy(x, y, reduction="none"); F.binary_cross_entropy_with_logits(x, y)
F.binary_cross_entropy_with_logits(x, y, reduction="none"); F.poisson_nll_loss(x, y)
F.poisson_nll_loss(x, y, reduction="none"); F.gaussian_nll_loss(x, y, y)
F.gaussian_nll_loss(x, y, y, reduction="none"); F.soft_margin_loss(x, y)
F.soft_margin_loss(x, y, reduction="none"); F.margin_ranking_loss(v, w, w)
F.margin_ranking_loss(v, w, w, reduction="none"); F.hinge_embedding_loss(x, sgns)
F.hinge_embedding_loss(x, sgns, reduction="none")
F.hinge_embedding_loss(x, ones34, reduction="none"); F.cosine_embedding_loss(x, y, one3)
F.multi_margin_loss(x, k3); F.multilabel_margin_loss(x, i); F.multilabel_soft_margin_loss(x, y)
F.triplet_margin_loss(x, y, x); F.triplet_margin_with_distance_loss(x, y, x)
F.ctc_loss(logp, targets, lens, tlens); F.multilabel_soft_margin_loss(x, y, reduction="none")
F.scaled_dot_product_attention(h1, h1, h1); F.affine_grid(theta, (2, 1, 3, 3))
F.grid_sample(g, flow)
F.multi_head_attention_forward(h1, h1, h1, 5, 1, w155, None, None, None, False, 0.0, w55, None)
L.cholesky(m); L.cholesky(ll); L.cholesky_ex(m); L.cond(m); L.cross(x3, x3); L.det(m); L.det(ll)
L.eig(m); L.eigh(m); L.eigvals(m); L.eigvalsh(m); L.eigh(ll); L.householder_product(m, v3); L.inv(m)
L.inv_ex(m); L.inv(ll); L.lstsq(m, m); L.lu(m); L.lu_factor(m); L.lu_factor_ex(m); L.matmul(m, m)
L.matrix_exp(m); L.matrix_norm(m); L.matrix_norm(ll, 1); L.matrix_power(m, 0); L.matrix_power(m, 1)
L.matrix_power(m, 2); L.matrix_rank(m); L.multi_dot([m, m]); L.norm(v); L.norm(q); L.norm(s)
L.norm(x, dim=1); L.norm(o, dim=1); L.norm(q, 1); L.pinv(m); L.qr(m); L.qr(m, "r"); L.slogdet(m)
L.solve(m, v3); L.solve(m, m); L.solve_ex(m, m); L.solve_triangular(m, m, upper=True); L.svd(m)
L.svdvals(m); L.tensorinv(m, 1); L.tensorsolve(m, v3); L.vander(v); L.vecdot(x, y); L.vecdot(o, o)
L.vector_norm(q, 1); L.vector_norm(x, dim=1); L.vector_norm(o, dim=1); L.vector_norm(s)
L.matrix_power(ll, 1); L.eig(ll); L.svd(ll); L.qr(ll); L.lu(ll)
FT.fft(c); FT.fft(x); FT.fft(cq); FT.ifft(c); FT.ifft(cq); FT.fft2(c); FT.ifft2(c); FT.fftn(c)
FT.ifftn(c); FT.rfft(x); FT.irfft(c); FT.rfft2(x); FT.irfft2(c); FT.rfftn(x); FT.irfftn(c)
FT.hfft(c); FT.ihfft(x); FT.hfft2(c); FT.ihfft2(x); FT.hfftn(c); FT.ihfftn(x); FT.fftshift(x)
FT.ifftshift(x); FT.fftshift(q); FT.ifftshift(q); FT.fftfreq(4); FT.rfftfreq(4); FT.fft(cq, 1)
SP.airy_ai(x); SP.bessel_j0(x); SP.bessel_j1(x); SP.bessel_y0(x); SP.bessel_y1(x); SP.digamma(x)
SP.entr(x); SP.erf(x); SP.erfc(x); SP.erfcx(x); SP.erfinv(x); SP.exp2(x); SP.expit(x); SP.expm1(x)
SP.gammaln(x); SP.i0(x); SP.i0e(x); SP.i1(x); SP.i1e(x); SP.log1p(x); SP.log_ndtr(x); SP.logit(x)
SP.modified_bessel_i0(x); SP.modified_bessel_i1(x); SP.modified_bessel_k0(x)
SP.modified_bessel_k1(x); SP.ndtr(x); SP.ndtri(x); SP.psi(x); SP.round(x)
SP.scaled_modified_bessel_k0(x); SP.scaled_modified_bessel_k1(x); SP.sinc(x)
SP.spherical_bessel_j0(x); SP.chebyshev_polynomial_t(x, 1); SP.chebyshev_polynomial_u(x, 1)
SP.chebyshev_polynomial_v(x, 1); SP.chebyshev_polynomial_w(x, 1); SP.hermite_polynomial_h(x, 1)
SP.hermite_polynomial_he(x, 1); SP.laguerre_polynomial_l(x, 1); SP.legendre_polynomial_p(x, 1)
SP.shifted_chebyshev_polynomial_t(x, 1); SP.shifted_chebyshev_polynomial_u(x, 1)
SP.shifted_chebyshev_polynomial_v(x, 1); SP.shifted_chebyshev_polynomial_w(x, 1); SP.gammainc(x, y)
SP.gammaincc(x, y); SP.log_softmax(x, 1); SP.softmax(x, 1); SP.softmax(o, 1); SP.logsumexp(x, 1)
SP.logsumexp(o, 1); SP.multigammaln(x + 1, 1); SP.polygamma(0, x); SP.polygamma(1, x)
SP.xlog1py(x, y); SP.xlogy(x, y); SP.zeta(x + 1, y)
T.stft(v12, 4, window=w, return_complex=True)
SG.stft(v12, 4, window=w, return_complex=True)
T.istft(c33, 4, window=ones4)
SG.istft(c33, 4, window=ones4)
MK.sum(x, 1, mask=b); MK.sum(o, 1, mask=bo); MK.prod(x, 1, mask=b); MK.prod(o, 1, mask=bo)
MK.mean(x, 1, mask=b); MK.mean(o, 1, mask=bo); MK.amax(x, 1, mask=b); MK.amax(o, 1, mask=bo)
MK.amin(x, 1, mask=b); MK.amin(o, 1, mask=bo); MK.argmax(x, 1, mask=b); MK.argmin(x, 1, mask=b)
MK.cumsum(x, 0, mask=b); MK.cumsum(l, 0, mask=b[:1]); MK.cumprod(x, 0, mask=b)
MK.cumprod(l, 0, mask=b[:1]); MK.softmax(x, 1, mask=b); MK.softmin(x, 1, mask=b)
MK.log_softmax(x, 1, mask=b); MK.logsumexp(x, 1, mask=b); MK.logsumexp(o, 1, mask=bo)
MK.logaddexp(x, y, input_mask=b, other_mask=b); MK.median(x, 1, mask=b); MK.median(o, 1, mask=bo)
MK.norm(x, 2, 1, mask=b); MK.norm(o, 1, 1, mask=bo); MK.normalize(x, 2, 1, mask=b)
MK.std(x, 1, mask=b); MK.var(x, 1, mask=b); MK.sum(x, 1); MK.sum(o, 1); MK.amax(o, 1)
MK.cumsum(l, 0); MK.softmax(x, 1); MK.sum(s, (), mask=bs); MK.sum(x, (), mask=b)
MK.amax(s, 0, mask=bs); MK.logaddexp(x, y); MK.normalize(x, 2, 1)
N.Upsample(size=5)(h1); N.Upsample(scale_factor=1)(g); N.UpsamplingNearest2d(size=(4, 4))(g)
N.UpsamplingBilinear2d(size=(4, 4))(g); N.ConstantPad1d(0, 0.0)(h1); N.ConstantPad2d(0, 0.0)(g)
N.ConstantPad3d(0, 0.0)(d); N.ZeroPad1d(0)(h1); N.ZeroPad2d(0)(g); N.ZeroPad3d(0)(d)
N.ReflectionPad1d(0)(h1); N.ReflectionPad2d(0)(g); N.ReflectionPad3d(0)(d)
N.ReplicationPad1d(0)(h1); N.ReplicationPad2d(0)(g); N.ReplicationPad3d(0)(d)
N.CircularPad1d(0)(h1); N.CircularPad2d(0)(g); N.CircularPad3d(0)(d); N.PixelShuffle(1)(g)
N.PixelUnshuffle(1)(g); N.ChannelShuffle(1)(g); N.AdaptiveAvgPool1d(5)(h1)
N.AdaptiveAvgPool2d(4)(g); N.AdaptiveAvgPool3d(3)(d); N.AdaptiveMaxPool1d(5)(h1)
N.AdaptiveMaxPool2d(4)(g); N.AdaptiveMaxPool3d(3)(d); N.AvgPool2d(1)(g); N.MaxPool2d(1)(g)
N.ReLU()(x); N.Fold((4, 4), 1)(cols); N.Unfold(1)(g); N.Softmax(1)(x); N.Hardtanh()(x)
N.Threshold(0.0, 0.0)(x); N.LeakyReLU(1.0)(x); N.Tanh()(x)
T.index_select(s, 0, ks1); T.lu_solve(m, m, pivots); T.lu_unpack(m, pivots); T.svd_lowrank(m, 2)
F.linear_cross_entropy(x, y, k0)
L.lu_solve(m, pivots, m)
m.trace(); ll.trace()
"""
"""Calls whose results lie in memory of their own, whatever the arguments."""

VIEWS = """
T.meshgrid(v, q, indexing="xy")[0]
T.meshgrid(v, q, indexing="ij")[0]
T.real(c); T.imag(c); T.view_as_real(c); T.view_as_complex(p); T.atleast_1d(s); T.atleast_2d(v)
T.atleast_2d(s); T.atleast_3d(x); T.atleast_3d(v); T.atleast_3d(s); T.diagonal(x); T.diagonal(m)
T.diagonal(x, 1); T.diagonal(g, 0, 2, 3); T.diagonal(ll); T.diagonal(x, 9); T.reshape(x, (3, 4))
T.reshape(x, (4, 3)); T.reshape(x, (12,)); T.reshape(t, (4, 3)); T.reshape(s, ())
T.reshape(s, (1,)); T.reshape(q, ()); T.reshape(e, (4, 0))
x.reshape(-1); x.reshape_as(y); x.view(12); x.view(3, 4); x.view(-1); s.view(1); s.view(())
q.view(()); x.view_as(y); t.view(4, 3); x.view(T.int64); x.view(T.float64); f.view(T.int32)
e.view(4, 0)
T.flatten(x); T.flatten(s); T.flatten(g, 1); T.flatten(g, 1, 2); T.ravel(x); T.ravel(v); T.ravel(s)
T.unflatten(x, 1, (2, 2)); T.unflatten(x, 1, (4,)); T.unflatten(v, 0, (-1,))
T.unflatten(x, 0, (1, 3)); T.squeeze(x); T.squeeze(o); T.squeeze(o, 1); T.squeeze(x, 0)
T.squeeze(s); T.squeeze(s, 0); T.squeeze(x, (0, 1)); T.squeeze(q); T.unsqueeze(x, 0)
T.unsqueeze(x, -1); T.unsqueeze(s, 0); T.unsqueeze(t, 1); T.permute(x, (0, 1)); T.permute(x, (1, 0))
T.permute(s, ())
x.permute(0, 1)
T.transpose(x, 0, 1); T.transpose(x, 0, 0); T.transpose(s, 0, 0); T.swapaxes(x, 0, 1)
T.swapdims(x, 0, 1); T.swapdims(x, 1, 1); T.t(x); T.t(v); T.t(s)
x.T; v.T; s.T; x.mT; g.mT; x.H; x.mH; m.adjoint()
T.movedim(x, 0, 1); T.movedim(x, 0, 0); T.movedim(s, (), ()); T.moveaxis(x, 0, 1)
c.T; c.mT
T.broadcast_to(x, (3, 4)); T.broadcast_to(s, ()); T.broadcast_to(v, (1, 4))
x.expand(3, 4); x.expand(-1, -1); x.expand(1, 3, 4); v.expand(4); o.expand(3, 1); s.expand(())
s.expand(1); s.expand(1, 1); x.expand_as(y); x.expand(0, 3, 4); t.expand(4, 3)
T.meshgrid(v, indexing="ij"); T.meshgrid(s, indexing="ij"); T.meshgrid(q, q, indexing="ij")
x.unfold(0, 2, 2); x.unfold(1, 4, 1); x.unfold(0, 1, 1); s.unfold(0, 1, 1); s.unfold(0, 0, 1)
t.unfold(0, 2, 2); t.unfold(1, 2, 3); x.unfold(0, 0, 1); i.unfold(0, 2, 2); e.unfold(1, 2, 1)
T.narrow(x, 0, 0, 3); T.narrow(x, 1, 1, 2); T.narrow(x, 0, 1, 0); T.select(x, 0, 1)
T.select(v, 0, 1); T.select(q, 0, 0); T.split(x, 3); T.split(x, 2); T.split(x, [1, 2])
T.split(x, [3]); T.chunk(x, 1); T.chunk(x, 2); T.chunk(x, 2, 1); T.tensor_split(x, 1)
T.tensor_split(x, 2); T.tensor_split(x, (1,)); T.hsplit(x, 2); T.hsplit(x, 1); T.vsplit(x, 3)
T.vsplit(x, 1); T.dsplit(g, 2); T.dsplit(g, 1); T.unbind(x); T.unbind(x, 1); T.unbind(q)
T.unbind(l); T.unsafe_chunk(x, 1); T.unsafe_split(x, 3)
x.split_with_sizes([1, 2]); x.split_with_sizes([3]); x[:]; x[...]; x[()]; s[()]; s[...]; x[0]
x[None]; x[:, 1]; x[1, 2]; x[1:2]; x[::2]; x[:, :]; x[0:3]; s[None]; v[0]; x[tuple()]; x.detach()
T.detach(x)
s.detach(); x.data; s.data; c.real; c.imag; c.detach()
T.einsum("ij->ij", x); T.einsum("ij->ji", x); T.einsum("ii->i", m); T.einsum("ij->ij", o)
T.einsum("...->...", x)
L.diagonal(m); L.diagonal(ll)
N.Flatten()(g); N.Unflatten(1, (2, 2))(x); N.Unflatten(1, (4,))(x)
x.numpy()
"""
"""Calls whose results look into the memory of their input and can be written to."""

EXPANDED_VIEWS = """
T.broadcast_tensors(x, o)[1]; T.broadcast_tensors(v, x)[0]
T.broadcast_to(o, (3, 4)); T.broadcast_to(s, (2, 2))
x.expand(2, 3, 4); o.expand_as(x)
T.meshgrid(v, q, indexing="ij")[1]; T.meshgrid(v, w, indexing="ij"); T.meshgrid(v, w, indexing="xy")
T.meshgrid(v, q, indexing="xy")[1]
"""
"""Views in which one memory location has several elements. Both libraries refuse to write to
them.
"""

THE_INPUT = """
T.broadcast_tensors(x, o)[0]; T.broadcast_tensors(v, x)[1]
T.conj_physical(x); T.positive(x); T.positive(s); T.real(x); T.conj(x); T.conj(i); T.resolve_conj(x)
T.resolve_neg(x); T.resolve_conj(c); T.cartesian_prod(v); T.atleast_1d(x); T.atleast_2d(x)
T.atleast_3d(g); T.atleast_1d([x, v]); T.flatten(v); T.flatten(x, 1); T.flatten(x, 0, 0)
T.broadcast_tensors(x, y); T.broadcast_tensors(x); T.broadcast_tensors(s, s)
x.contiguous(); s.contiguous(); e.contiguous(); x.to(T.float64); x.to(y); x.to("cpu"); x.to(x)
x.double(); f.float(); i.long(); b.bool(); s.double(); s.to(T.float64); c.cdouble(); x.cpu()
x.type(T.float64); x.type_as(y); x.type_as(x); s.cpu(); h.half(); i16.short(); i8.char(); u8.byte()
i32.int(); c64.cfloat(); x.detach_(); x.requires_grad_(); x.real; s.real; x.sum_to_size(3, 4)
o.sum_to_size(3, 1); x.fill_(0.0); x.zero_(); x.copy_(y); x.copy_(0.5); m.fill_diagonal_(1.0)
x.index_put_((k4[:3],), y[:3]); x.uniform_(); x.normal_(); x.random_(); x.bernoulli_(); x.cauchy_()
x.exponential_(); x.geometric_(0.5); x.log_normal_(); +x
T.as_tensor(x); T.as_tensor(s)
F.dropout(x, 0.0); F.dropout(x, 0.5, False); F.dropout1d(h1, 0.0); F.dropout1d(h1, 0.5, False)
F.dropout2d(g, 0.0); F.dropout2d(g, 0.5, False); F.dropout3d(d, 0.0); F.dropout3d(d, 0.5, False)
F.alpha_dropout(x, 0.0, True); F.alpha_dropout(x, 0.5, False); F.feature_alpha_dropout(g, 0.0, True)
F.feature_alpha_dropout(g, 0.5, False); F.dropout(x, 0.5, inplace=True)
F.dropout(x, 0.5, False, True); F.dropout(s, 0.0); F.relu(x, inplace=True); F.relu6(x, inplace=True)
F.elu(x, inplace=True); F.leaky_relu(x, inplace=True); F.hardtanh(x, inplace=True)
F.threshold(x, 0.0, 0.0, True); F.silu(x, inplace=True)
N.Identity()(x); N.Identity()(s); N.Flatten()(x); N.Flatten()(t); N.Dropout(0.0)(x)
N.Dropout(0.5).eval()(x); N.Dropout1d(0.5).eval()(h1); N.Dropout2d(0.5).eval()(g)
N.Dropout3d(0.5).eval()(d); N.AlphaDropout(0.5).eval()(x); N.FeatureAlphaDropout(0.5).eval()(g)
N.Sequential()(x); N.Sequential(N.Identity())(x); N.ReLU(True)(x)
T.abs_(x); T.acos_(x); T.acosh_(x); T.arccos_(x); T.arccosh_(x); T.arcsin_(x); T.arcsinh_(x)
T.arctan_(x); T.arctanh_(x); T.asin_(x); T.asinh_(x); T.atan_(x); T.atanh_(x); T.ceil_(x)
T.clamp_(x, 0, 1); T.clamp_max_(x, 9); T.clamp_min_(x, 0); T.clip_(x, 0, 1); T.conj_physical_(x)
T.cos_(x); T.cosh_(x); T.detach_(x); T.erf_(x); T.exp2_(x); T.exp_(x); T.expm1_(x); T.fill_(x, 2.0)
T.fix_(x); T.floor_(x); T.index_put_(x, (k4[:3],), y[:3]); T.log10_(x); T.log1p_(x); T.log2_(x)
T.log_(x); T.neg_(x); T.negative_(x); T.reciprocal_(x); T.relu_(x); T.round_(x); T.rsqrt_(x)
T.sigmoid_(x); T.sin_(x); T.sinh_(x); T.sqrt_(x); T.square_(x); T.tan_(x); T.tanh_(x); T.trunc_(x)
T.zero_(x); F.celu_(x); F.elu_(x); F.hardtanh_(x); F.leaky_relu_(x); F.relu_(x); F.rrelu_(x)
F.selu_(x); F.threshold_(x, 0.0, 0.0)
"""
"""Calls that return the input itself."""

MINIGRAD_ONLY = {
    "T.softplus(x)": COPY, "F.logsumexp(x, 1)": COPY, "F.logsumexp(o, 1)": COPY, "T.lu(m)": COPY,
    "T.multi_dot([m, m])": COPY, "T.getitem(x, 0)": VIEW, "T.getitem(x, k0)": COPY,
    "T.getitem(s, ())": VIEW,
    "T.sum_to(x, 3, 4)": ITSELF, "T.sum_to(x, 1, 4)": COPY, "T.sum_to(s)": COPY,
    "L.logdet(m)": COPY,
    "L.trace(m)": COPY, "FT.fftshift(s)": COPY, "FT.ifftshift(s)": COPY, "x.gaussian()": ITSELF,
    "x.uniform()": ITSELF, "x.set_value(0.0)": ITSELF, "x.transpose()": VIEW, "x.fill(2.0)": COPY,
    "x.tensordot(m34, 1)": COPY,
}  # fmt: skip
"""Calls that PyTorch does not have, or refuses."""

CONJUGATE = (
    "PyTorch conjugates when the elements are read; NumPy has no such view, so this is a copy."
)
OVERLAP = "PyTorch permits changes of overlapping windows whose outcome depends on their order."
DIFFERENT = {
    "T.conj(c)": (COPY, VIEW, CONJUGATE),
    "c.H": (COPY, VIEW, CONJUGATE),
    "c.mH": (COPY, VIEW, CONJUGATE),
    "c.adjoint()": (COPY, VIEW, CONJUGATE),
    "x.unfold(0, 2, 1)": (WINDOWS, VIEW, OVERLAP),
    "v.unfold(0, 3, 1)": (WINDOWS, VIEW, OVERLAP),
    "x.unfold(-1, 2, 1)": (WINDOWS, VIEW, OVERLAP),
    "x.unfold(1, 2, 1).unfold(0, 2, 1)": (WINDOWS, VIEW, OVERLAP),
    "c.unfold(0, 2, 1)": (WINDOWS, VIEW, OVERLAP),
}
"""What minigrad gives, what PyTorch gives, and why they differ."""

NO_TENSORS = """
    allclose arange broadcast_shapes can_cast empty equal eye from_dlpack from_numpy full
    get_default_dtype get_rng_state is_anomaly_enabled is_complex is_floating_point is_inference
    is_inference_mode_enabled is_grad_enabled is_nonzero is_tensor linspace logspace manual_seed
    normal numel ones promote_types rand randint randint_like randn random_state randperm
    result_type scalar_tensor set_default_dtype set_random_state set_rng_state tril_indices
    triu_indices vmap zeros fftfreq rfftfreq tensor empty_like
""".split()
"""Functions that take no tensor or give none: makers, questions, settings."""

NO_TENSORS_OF_METHODS = """
    allclose array backward creator cuda data_ptr device dim draw_graph dtype element_size equal
    get_device grad grad_fn is_complex is_contiguous is_cpu is_cuda is_floating_point is_inference
    is_leaf is_nonzero is_same_size is_signed item itemsize nbytes ndim ndimension nelement node
    numel output_nr register_hook register_post_accumulate_grad_hook requires_grad retain_grad
    retains_grad shape size stores_grad stride tangents tolist version view_of stored_grad resize_
    resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_
""".split()
"""Methods and attributes that give no tensor, concern the graph or the device, or are refused."""


def calls() -> dict[str, tuple[str, str | None]]:
    """Each call with what it gives in minigrad, and in PyTorch (None: PyTorch does not have it)."""
    listed = ((COPIES, COPY), (VIEWS, VIEW), (EXPANDED_VIEWS, EXPANDED), (THE_INPUT, ITSELF))
    found: dict[str, tuple[str, str | None]] = {}
    for text, kind in listed:
        for call in filter(None, map(str.strip, text.replace("\n", ";").split(";"))):
            assert call not in found, f"{call} is listed twice"
            found[call] = (kind, kind)
    found |= {call: (kind, None) for call, kind in MINIGRAD_ONLY.items()}
    return found | {call: (ours, theirs) for call, (ours, theirs, _) in DIFFERENT.items()}


CALLS = calls()


def as_methods(methods: Any) -> dict[str, tuple[str, str | None]]:
    """The calls `T.f(x, …)` as `x.f(…)`, where the class `methods` has such a method."""
    found = {}
    for call, kinds in CALLS.items():
        match = re.fullmatch(r"T\.(\w+)\(([a-z]\w*)(?:, (.*))?\)", call)
        if not match or match[1] == "where":  # whose first argument is not the tensor of the method
            continue
        if match[2] in (*ARRAYS, "t") and callable(getattr(methods, match[1], None)):
            found[f"{match[2]}.{match[1]}({match[3] or ''})"] = kinds
    return {call: kinds for call, kinds in found.items() if call not in CALLS}


def in_place(methods: Any) -> dict[str, list[str]]:
    """For each in-place method the calls that follow from those of the function: `x.f_(…)` from
    `T.f(x, …)`.
    """
    found: dict[str, list[str]] = {}
    for call in (*CALLS, *as_methods(methods)):
        match = re.fullmatch(r"([a-z]\w*)\.(\w+)\((.*)\)", call)
        if match and hasattr(methods, match[2] + "_"):
            found.setdefault(match[2] + "_", []).append(f"{match[1]}.{match[2]}_({match[3]})")
    return found
