"""Wrong calls say what is wrong: the function, the argument, the sizes. Arguments without meaning
are refused, where a result would hide the mistake.
"""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test


def attend(**masks):
    """Attention of 3 queries and 6 keys in a batch of 5, with 2 heads."""
    keys = mg.ones(6, 5, 4)
    return mg.nn.MultiheadAttention(4, 2)(mg.ones(3, 5, 4), keys, keys, **masks)


REFUSED = r"""
mg.max(X, 2)  # IndexError: dimension 2 is out of range
mg.max(mg.zeros(0, 3), 0)  # IndexError: dimension 0 is empty
mg.max(X.to(mg.complex128), 0)  # DTypeError: real numbers only
mg.median(I[:, :0])  # ValueError: median: there is no element, and int64
mg.topk(X, 5)  # RuntimeError: k = 5 is out of range.*\(3, 4\) has 4
mg.kthvalue(X, 0)  # RuntimeError: k = 0
mg.sort(X, 5)  # IndexError: argsort: dimension 5
mg.searchsorted(X, mg.zeros(2, 2))  # ShapeError: \(3, 4\) and \(2, 2\)
mg.searchsorted(X[0], X, side="up")  # ValueError: "left" or "right"
mg.cumsum(X, 2)  # IndexError: cumsum: dimension 2
mg.cumsum(X)  # TypeError: cumsum: a dimension must be an int
mg.logcumsumexp(I, 0)  # DTypeError: logcumsumexp: needs a floating
mg.var(I)  # DTypeError: var: needs a floating
mg.norm(I)  # DTypeError: norm: needs a floating
mg.einsum("ij,jk", X)  # ValueError: describes 2 operands, got 1
mg.einsum(X, [0, 52])  # ValueError: numbered 0 to 51.* got 52
mg.einsum(X, X)  # TypeError: an equation and operands, or each operand followed by a list
mg.einsum("ij,jk", X, X)  # ShapeError: axis 'j' has sizes 4 and 3
mg.einsum("ijk", X)  # ValueError: names 3 axes, operand 0 has shape \(3, 4\)
mg.einsum("i1", X)  # ValueError: letters
mg.einsum("ij->ik", X)  # ValueError: must name axes of the operands
mg.einsum("ij->ii", X)  # ValueError: each once
mg.dot(X, X[0])  # ShapeError: a must have 1 dimension, got .* write a @ b \(mg\.matmul\)
mg.dot(X[0], X[:, 0])  # ShapeError: inner sizes 4 and 3
mg.mm(X, X)  # ShapeError: inner sizes 4 and 3
mg.bmm(X.reshape(1, 3, 4), mg.zeros(2, 4, 3))  # ShapeError: 1 and 2 matrices
mg.tensordot(X, X, 1)  # ShapeError: different sizes
mg.cross(X, X, 1)  # RuntimeError: must have size 3
mg.narrow(X, 1, 3, 2)  # IndexError: start 3 and length 2 do not fit dimension 1 of size 4
X.select(0, 3)  # IndexError: index 3 is out of range
mg.split(X, [1, 1], 1)  # RuntimeError: add up to 4
mg.split(X, 0)  # RuntimeError: must be positive
mg.chunk(X, 0)  # RuntimeError: at least 1
mg.unbind(mg.tensor(1.0))  # IndexError: 0-d
X.repeat(2)  # ShapeError: a count, not negative, for each dimension
mg.repeat_interleave(X, [1, 2], 0)  # ShapeError: each of the 3 elements
mg.rot90(X, 1, (0, 0))  # RuntimeError: must differ
mg.roll(X, (1, 2), 0)  # RuntimeError: 2 shifts for 1
X.unflatten(1, (3, -1))  # ShapeError: do not fit dimension 1 of size 4
mg.broadcast_tensors(X, mg.zeros(3))  # ShapeError: sizes
mg.meshgrid(X)  # ShapeError: vectors or numbers
mg.index_select(X, 0, [0, 3])  # IndexError: index 3 is out of range for a dimension of size 3
mg.index_select(X, 0, [-1])  # IndexError: index -1
mg.index_select(X, 0, [0.5])  # DTypeError: must hold integers, got float32
mg.index_select(X, 0, I)  # ShapeError: must be a vector
mg.gather(X, 0, I[0])  # ShapeError: same number of dimensions
mg.gather(X, 1, mg.zeros(4, 1, dtype="int64"))
    # ShapeError: index of shape \(4, 1\) is larger than x
mg.gather(X, 0, I.reshape(1, 4).repeat(1, 2) + 7)  # ShapeError: larger than x .* in dimension 1
X.flip((0, -2))  # RuntimeError: flip: dimension named more than once
mg.tensor(1.0).flip(1)  # IndexError: flip: dimension 1 is out of range
mg.randn(2, -1)  # ShapeError: sizes must be at least 0, got \(2, -1\)
mg.randint(0, 3, (-1,))  # ShapeError: sizes must be at least 0
mg.linspace(0, 1, -3)  # ShapeError: sizes must be at least 0, got
mg.eye(2, -3)  # ShapeError: sizes must be at least 0, got \(2, -3\)
mg.zeros(2.5)  # TypeError: sizes must be whole numbers, got 2.5
mg.gather(X, 0, I + 2)  # IndexError: index 4
mg.take(X, [12])  # IndexError: size 12
X.masked_fill(X, 0)  # DTypeError: mask must be boolean
X.masked_fill(X > 0, X)  # ShapeError: 0-d tensor
X.masked_scatter(X >= 0, X[0])  # ShapeError: true 12 times
mg.index_add(X, 0, [0], X)  # ShapeError: source must have shape \(1, 4\), got \(3, 4\)
mg.index_add(X, 0, [0], mg.ones(1, 4))  # DTypeError: dtype of x, float64, got float32
mg.scatter(X, 0, I)  # TypeError: src
mg.scatter(X, 0, I, X[:, :2])  # ShapeError: larger than src
mg.scatter(X, 0, I, X, reduce="max")  # ValueError: "add"
X.put([1, 2], X[0])  # ShapeError: 2 indices for 4
mg.tril(X[0])  # ShapeError: at least 2
mg.diagonal(X, 0, 1, -1)  # RuntimeError: must differ
X[0].trace()  # ShapeError: needs a matrix
mg.ones(()).trace()  # ShapeError: For the steps behind a number: viz\.show\(x\)
mg.linalg.inv(mg.ones(2, 2))  # LinAlgError: linalg.inv of shape \(2, 2\): Singular matrix.*pinv
mg.linalg.inv(X)  # ShapeError: must be square, got 3 by 4
mg.linalg.inv(I)  # DTypeError: float32, float64 or complex
mg.linalg.inv(mg.ones(2, 2, dtype="float16"))  # DTypeError: got float16
mg.linalg.inv(X[0])  # ShapeError: at least 2 dimensions
mg.linalg.solve(mg.eye(3), mg.ones(4))  # ShapeError: does not fit
mg.linalg.solve(mg.ones(2, 2), mg.ones(2))  # LinAlgError: singular
mg.linalg.cholesky(-mg.eye(2))  # LinAlgError: not positive definite
mg.linalg.qr(X, "full")  # ValueError: mode
mg.linalg.matrix_norm(X, 3)  # ValueError: ord must be
mg.movedim(X, (0, 1), (1,))  # RuntimeError: equally many
mg.bincount(mg.tensor([1, 2]), X[0])  # ShapeError: do not fit 2 numbers
mg.quantile(X, 1.5)  # ValueError: \[0, 1\]
X << 1  # DTypeError: ldexp
mg.arange(3) >> 0.5  # DTypeError: moves the bits of integers
mg.quantile(X, 0.5, interpolation="cubic")  # ValueError: midpoint
mg.quantile(X[:0], 0.5, 0)  # ShapeError: no element
mg.cov(X.unsqueeze(0))  # ShapeError: one variable a row
mg.select_scatter(X, X, 0, 0)  # ShapeError: must have the shape
mg.diagonal_scatter(X, X)  # ShapeError: not a diagonal
X.unfold(1, 5, 1)  # ShapeError: do not fit the 4
mg.linalg.tensorinv(X, 1)  # ShapeError: as many elements
mg.combinations(X)  # ShapeError: needs a vector
mg.block_diag(X, X.unsqueeze(0))  # ShapeError: tensor 1
mg.linalg.qr(X, "full")  # ValueError: complete
mg.index_reduce(X, 0, mg.tensor([0]), X, "amax")
    # ShapeError: source must have shape \(1, 4\), got \(3, 4\)
mg.index_select(X[0, 0], 0, mg.tensor([0, 0]))  # ShapeError: takes one index, got 2
mg.index_add(X[0, 0], 0, [0, 0], X[0, 0])  # ShapeError: takes one index, got 2
mg.index_add(X[0, 0], 0, [0], X[0, :1])  # ShapeError: source must have shape \(\), got \(1,\)
mg.index_add(X[0], 0, [0], X[0, 0])  # ShapeError: source must have shape \(1,\), got \(\)
mg.index_copy(X[0, 0], 0, [0, 0], X[0, 0])  # ShapeError: source must have shape \(2,\), got \(\)
mg.index_reduce(X[0, 0], 0, mg.tensor([0]), X[0], "prod")
    # ShapeError: source must have shape \(\), got \(4,\)
mg.index_reduce(X, 0, mg.tensor([0]), X, "sum")  # ValueError: index_add
mg.index_reduce(X, 0, mg.tensor([3]), X[:1], "mean")
    # IndexError: index_reduce: index 3 is out of range
mg.dsplit(X, 2)  # ShapeError: at least 3 dimensions
mg.as_strided_copy(X, (4, 4), (4, 1))  # ShapeError: reach element 15 of the 12
mg.as_strided_copy(X, (2,), (1, 1))  # ShapeError: for each dimension
mg.as_strided_scatter(X, X, (2, 2), (1, 1))  # ShapeError: must have the shape \(2, 2\)
mg.nonzero_static(X, size=-1)  # ValueError: not be negative, got -1
mg.histogram(X, 0)  # ValueError: at least one interval
mg.histogram(X * NAN, 3)  # ValueError: not finite
mg.histogram(X, mg.ones(1))  # ShapeError: at least 2, got shape
mg.histogram(X, 3, weight=X[0])  # ShapeError: weights must have the shape
mg.histogramdd(X, [2, 2])  # ValueError: each of 4 dimensions
mg.svd_lowrank(X, 4)  # ValueError: q must be from 0 to 3
mg.zeros(2).geometric_(1.0)  # ValueError: between 0 and 1
mg.ones(2).imag  # DTypeError: imag: needs a complex tensor
mg.imag(mg.tensor([1]))  # DTypeError: imag: needs a complex tensor
mg.unravel_index(mg.tensor([1.5]), (3, 2))  # DTypeError: integers
mg.unravel_index(mg.tensor([1]), (3, -2))  # ShapeError: negative
mg.ones(2).flip()  # TypeError: name the dimensions
mg.flipud(mg.tensor(1.0))  # ShapeError: at least 1
mg.fliplr(mg.ones(3))  # ShapeError: at least 2
mg.broadcast_shapes((2, -1), (1,))  # ShapeError: negative
mg.ones(2, 3, 4).H  # ShapeError: H: needs a matrix
mg.ones(2).H  # ShapeError: H: needs a matrix
nn.init.calculate_gain("leaky_relu", True)  # ValueError: slope
F.embedding(mg.tensor([0]), mg.ones(3))  # ShapeError: weight
mg.ones(4).narrow(0, 0.5, 1)  # TypeError: start and length must be whole
mg.ones(4).narrow(0, mg.tensor(1.0), 1)  # TypeError: start and length must be whole
mg.ones(4)["a":]  # TypeError: slice is made of whole numbers or None
mg.ones(4).__setitem__(slice(0.5), 1)  # TypeError: slice is made of whole numbers or None
mg.ones(4).split([1.5, 2.5])  # TypeError: split: sizes must be whole
mg.ones(4).split("a")  # TypeError: split: sizes must be whole
mg.ones(4).chunk(1.5)  # TypeError: chunk: chunks must be whole
mg.ones(4).tensor_split([1, "a"])  # TypeError: must be whole numbers
mg.ones(4).tensor_split(mg.tensor([[1]]))  # TypeError: must be whole numbers
mg.ones(4).tensor_split(1.5)  # TypeError: must be whole numbers
attend(attn_mask=mg.ones(6))  # ShapeError: attn_mask .* \(3, 6\) or
attend(attn_mask=mg.ones(5, 3, 6))
    # ShapeError: attn_mask must have shape \(3, 6\) or \(10, 3, 6\), got \(5, 3, 6\)
attend(key_padding_mask=mg.ones(1, 6))
    # ShapeError: key_padding_mask must have shape \(5, 6\), got \(1, 6\)
F.one_hot(mg.tensor([0]), -2)  # ValueError: num_classes must be -1 or at least 0
mg.ones(2).normal_(0, -1)  # ValueError: std must be at least 0
mg.normal(0.0, -1.0, (2,))  # ValueError: std must be at least 0
mg.normal(0.0, mg.tensor([1.0, -1.0]))  # ValueError: no element of std may be negative
mg.ones(2).uniform_(3, 1)  # ValueError: high must be at least 3, got 1
mg.ones(2).exponential_(-1)  # ValueError: lambd must be larger than 0
mg.ones(2).cauchy_(0, 0)  # ValueError: sigma must be larger than 0
mg.ones(2).log_normal_(0, -1)  # ValueError: std must be larger than 0
mg.isclose(mg.ones(1), mg.ones(1), rtol=-1)  # ValueError: rtol must be at least 0
mg.allclose(mg.ones(1), mg.ones(1), atol=-1)  # ValueError: atol must be at least 0
mg.cov(mg.ones(2), fweights=mg.tensor([1, -1]))
    # ValueError: no element of fweights may be negative
mg.cov(mg.ones(2), aweights=mg.tensor([1.0, -1.0]))
    # ValueError: no element of aweights may be negative
mg.gradient(mg.ones(3, 3), dim=[1, -1])  # ValueError: each dimension may be named once
mg.histc(mg.tensor([1.0, NAN]))  # ValueError: the range must be finite
mg.histc(mg.tensor([1.0, math.inf]))  # ValueError: must be finite
mg.renorm(mg.ones(3), 2, 0, 1.0)  # ShapeError: at least 2 dimensions
mg.diff(mg.ones(3), n=-1)  # ValueError: n must be at least 0
mg.meshgrid()  # ValueError: at least one tensor
mg.repeat_interleave(mg.ones(2), mg.tensor([1, -1]))
    # ValueError: no number of repeats may be negative
mg.repeat_interleave(mg.ones(2), -1)  # ValueError: repeats must be
mg.ones(1).masked_fill(mg.tensor([True]), 1j)
    # DTypeError: a complex value cannot be written into float32
mg.linspace(mg.ones(2), 3, 4)  # ShapeError: without axes
mg.logspace(0, mg.ones(2), 4)  # ShapeError: without axes
F.rrelu(mg.ones(1), 0.3, 0.1)  # ValueError: upper must be at least 0.3
F.hardtanh(mg.ones(1), 2.0, 1.0)  # ValueError: max_val must be at least 2.0
F.triplet_margin_loss(*[mg.ones(1, 2)] * 3, margin=-1.0)  # ValueError: margin must be larger than 0
mg.scatter_reduce(X[:, 0], 0, I[0], X[0], "median")  # ValueError: reduce must be .* got 'median'
mg.scatter_reduce(X[:, 0], 0, I[0], X[0].float(), "sum")
    # DTypeError: src must have the dtype of x, float64, got float32
mg.scatter_reduce(X[:, 0], 0, I[0] + 1, X[0], "sum")
    # IndexError: index 3 is out of range for a dimension of size 3
mg.scatter_reduce(X[:, 0], 0, I[0], X[0, :2], "sum")  # ShapeError: larger than src
mg.scatter_reduce(X[:, 0], 0, I, X[:1], "sum")  # ShapeError: same number of dimensions
mg.scatter_reduce(X[:, 0], 0, X[0], X[0], "sum")  # DTypeError: the index must hold integers
mg.polygamma(-1, X)  # ValueError: n must be a whole number from 0 on
mg.polygamma(1.5, X)  # ValueError: n must be a whole number from 0 on
mg.polygamma(True, X)  # ValueError: n must be a whole number from 0 on
mg.cummax(X, 2)  # IndexError: cummax: dimension 2
mg.frexp(mg.tensor([1]))  # DTypeError: frexp
mg.frexp(mg.tensor([1j]))  # DTypeError: frexp
mg.qr(X, "complete", some=True)  # TypeError: give mode or some, not both
mg.qr(X, "complete", some=False)  # TypeError: give mode or some, not both
X[X[:, 0] == 0, 0] = mg.zeros(7)  # ShapeError: value of shape \(7,\) .* region of shape \(1,\)
X[[[0, 1], 0], 0]  # IndexError: differ in shape
X[[0, "a"]]  # IndexError: integers or booleans
X[[0, 1]] = mg.tensor(1j)  # InPlaceError: complex
mg.tensor([True]) - mg.tensor([True])  # DTypeError: a \^ b
-mg.tensor([True])  # DTypeError: ~x
mg.tensor([1.0]) & mg.tensor([True])  # DTypeError: Compare first
mg.tensor([2**63])  # OverflowError: int64
mg.randint(3, 3, (2,))  # ValueError: low must be smaller
F.gaussian_nll_loss(mg.zeros(2, 3), mg.ones(2, 3), mg.ones(3))  # ShapeError: var of shape \(3,\)
F.gaussian_nll_loss(mg.zeros(2, 3), mg.ones(2, 3), mg.ones(1, 1))
    # ShapeError: var of shape \(1, 1\)
F.gaussian_nll_loss(mg.zeros(2), mg.ones(2), -mg.ones(2))  # ValueError: negative
F.group_norm(mg.ones(1, 4), 4)  # ValueError: more than one value a group
mg.linalg.eig(mg.ones(3, 5))  # ShapeError: linalg.eig: the matrices must be square, got 3 by 5
mg.linalg.eig(mg.ones(2, 2, dtype="int64"))  # DTypeError: linalg.eig: needs float32
mg.linalg.eig(mg.full((2, 2), NAN))  # LinAlgError: linalg.eig .*look for NaN or infinity
mg.linalg.lu(mg.ones(3))  # ShapeError: linalg.lu_factor: needs a matrix
mg.lu_unpack(mg.ones(3, 3), mg.ones(2, dtype="int32"))
    # ShapeError: needs 3 integers as pivots, got int32 of shape
mg.linalg.lu_solve(*mg.linalg.lu_factor(mg.ones(5, 3)), mg.ones(5, 3))
    # ShapeError: lu_solve: the matrices must be square
mg.ormqr(mg.ones(3, 2), mg.ones(2), mg.ones(2, 2))
    # ShapeError: length 3 do not fit a matrix of shape
fft.rfft(WAVE)  # DTypeError: needs a real tensor
fft.fft(mg.tensor(1.0))  # ShapeError: at least one dimension
fft.fft(mg.ones(3), 0)  # ShapeError: length 0 along dimension 0
fft.fft(mg.ones(3), norm="orthogonal")  # ValueError: norm must be .* got 'orthogonal'
fft.hfft(mg.ones(3), norm="both")  # ValueError: hfftn: norm must be .* got 'both'
fft.ihfft(WAVE)  # DTypeError: needs a real tensor
fft.fft2(mg.ones(3, 3), (2,))  # ValueError: 1 lengths
fft.fftn(mg.ones(3, 3), dim=(0, -2))  # RuntimeError: more than once
fft.fft(mg.ones(3), dim=1)  # IndexError: dimension 1 is out of range
fft.irfft(mg.ones(1))  # ShapeError: Give n
windows.hann(-1)  # ValueError: windows.hann: M must be a whole number
windows.hann(2.5)  # ValueError: got 2.5
windows.hann(4, dtype="int64")  # DTypeError: must be floating, got int64
windows.gaussian(4, std=0.0)  # ValueError: std must be positive
windows.exponential(4, tau=-1.0)  # ValueError: tau must be positive
windows.exponential(4, center=1.0)  # ValueError: give sym=False
windows.kaiser(4, beta=-1.0)  # ValueError: beta must not be negative
windows.general_cosine(4, a=[])  # ValueError: at least one coefficient
mg.stft(mg.ones(20), 8)  # ValueError: say return_complex=True
mg.stft(mg.ones(5), 8, center=False, return_complex=True)
    # ShapeError: n_fft = 8 samples do not fit a signal of 5
mg.stft(mg.ones(3), 8, return_complex=True)  # ShapeError: less than its own length, here 4 of 3
mg.stft(mg.ones(20), 8, 0, return_complex=True)  # ValueError: hop_length > 0
mg.stft(mg.ones(20), 8, window=mg.ones(7), return_complex=True)
    # ShapeError: must have shape \(8,\), got \(7,\)
mg.stft(mg.ones(20), 8, pad_mode="mirror", return_complex=True)
    # ValueError: "replicate", got .mirror.
mg.stft(mg.ones(2, 2, 20), 8, return_complex=True)  # ShapeError: \(signals, samples\)
mg.stft(WAVE, 8, onesided=True)  # ValueError: onesided=True is for real signals
mg.istft(mg.ones(5, 7), 8)  # ShapeError: needs complex spectra
mg.istft(SPECTRUM, 12)  # ShapeError: do not fit the 5 frequencies
mg.istft(SPECTRUM, 8, return_complex=True)  # ValueError: needs all frequencies
mg.istft(SPECTRUM, 8, 8, 4, center=False)  # ValueError: leave a gap
masked.sum(X, mask=mg.ones(3, dtype="bool"))
    # ShapeError: masked.sum: a mask of shape \(3,\) does not broadcast to the input's shape \(3,
    4\)
masked.amax(X, mask=mg.ones(1, 3, 4, dtype="bool"))  # ShapeError: does not broadcast
masked.mean(X.long())
    # DTypeError: masked.mean: needs a floating or complex dtype, got int64. Give dtype=
masked.median(X.long(), mask=mg.zeros(4, dtype="bool"))
    # ValueError: no element counts in some place
masked.var(X, unbiased=True, correction=1)  # TypeError: not both
masked.logsumexp(X, 2)  # IndexError: masked.logsumexp: dimension 2
F.pad(X, (1, 1), value=W)  # TypeError: pad: value carries a graph
mg.full((2,), W)  # TypeError: full: fill_value carries a graph
mg.full_like(X, W)  # TypeError: full: fill_value carries a graph
mg.arange(0, W)  # TypeError: arange: end carries a graph
mg.linspace(W, 1, 3)  # TypeError: linspace: an end carries a graph
X.std(correction=W)  # TypeError: var: correction carries a graph
mg.func.jvp(lambda w: mg.full((2,), w), (mg.ones(()),), (mg.ones(()),))
    # TypeError: full: fill_value carries tangents
"""
test_wrong_calls_say_what_is_wrong = refusals(
    REFUSED,
    attend=attend,
    fft=mg.fft,
    masked=mg.masked,
    windows=mg.signal.windows,
    I=mg.tensor([[0, 1, 2, 0]]),
    NAN=np.nan,
    W=mg.tensor(2.0, requires_grad=True),
    SPECTRUM=mg.ones(2, 5, 7, dtype=mg.complex128),
    WAVE=mg.ones(2, 40) + 0j,
    X=mg.tensor(np.arange(12.0).reshape(3, 4)),
)

INTEGERS, SQUARE = mg.tensor([1, 2]), mg.tensor([[1, 2], [3, 4]])
FACTORS = {
    "add": lambda **k: mg.add(INTEGERS, INTEGERS, alpha=k["factor"]),
    "add_": lambda **k: INTEGERS.clone().add_(INTEGERS, alpha=k["factor"]),
    "sub": lambda **k: mg.sub(INTEGERS, 3, alpha=k["factor"]),
    "rsub": lambda **k: mg.rsub(INTEGERS, INTEGERS, alpha=k["factor"]),
    "addmm alpha": lambda **k: mg.addmm(SQUARE, SQUARE, SQUARE, alpha=k["factor"]),
    "addmm beta": lambda **k: mg.addmm(SQUARE, SQUARE, SQUARE, beta=k["factor"]),
    "addmv": lambda **k: mg.addmv(INTEGERS, SQUARE, INTEGERS, alpha=k["factor"]),
    "addr": lambda **k: mg.addr(SQUARE, INTEGERS, INTEGERS, alpha=k["factor"]),
    "addbmm": lambda **k: mg.addbmm(SQUARE, SQUARE[None], SQUARE[None], alpha=k["factor"]),
    "baddbmm": lambda **k: mg.baddbmm(SQUARE[None], SQUARE[None], SQUARE[None], beta=k["factor"]),
    "addcmul": lambda **k: mg.addcmul(INTEGERS, INTEGERS, INTEGERS, value=k["factor"]),
    "index_add": lambda **k: mg.index_add(INTEGERS, 0, INTEGERS - 1, INTEGERS, alpha=k["factor"]),
}


@in_one_test
@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_a_higher_kind_are_refused_and_integers_are_not(name):
    """PyTorch refuses 1.5 beside integers too, or counts it as 1 (addmm)."""
    for factor in (1.5, 1j, True, mg.tensor(1.5)):
        with pytest.raises(mg.errors.DTypeError, match="the operands are int64"):
            FACTORS[name](factor=factor)
    assert FACTORS[name](factor=2).dtype == mg.int64


def test_factors_of_floating_and_boolean_operands():
    ones, yes = mg.ones(2), mg.tensor([True, False])
    for factor in (1j, True):
        with pytest.raises(mg.errors.DTypeError, match="the operands are float32"):
            mg.add(ones, ones, alpha=factor)
    assert mg.add(INTEGERS, ones, alpha=0.5).tolist() == [1.5, 2.5]
    assert mg.add(INTEGERS, 2.5, alpha=0.5).tolist() == [2.25, 3.25]
    assert mg.add(ones + 0j, ones, alpha=1j).tolist() == [1 + 1j, 1 + 1j]
    assert mg.add(yes, yes, alpha=True).tolist() == [True, False]


def test_booleans_times_an_integer_stay_booleans(torch):
    for factor, other in ((0, [True, True]), (2, [True, False]), (2, True)):
        results = []
        for m in (torch, mg):
            yes, more = m.tensor([True, False]), other if other is True else m.tensor(other)
            sums = m.add(yes, more, alpha=factor), yes.clone().add_(more, alpha=factor)
            results += [(str(y.dtype).removeprefix("torch."), y.tolist()) for y in sums]
        assert results[0] == results[1] == results[2] == results[3] and results[0][0] == "bool"


ONES, WIDE, WHOLE = mg.ones(2, 2), mg.ones(2, 2, dtype=mg.float64), mg.ones(2, 2, dtype=mg.int64)
PRODUCTS = {
    "matmul": lambda a, b: a @ b,
    "mm": mg.mm,
    "mv": lambda a, b: mg.mv(a, b[0]),
    "dot": lambda a, b: mg.dot(a[0], b[0]),
    "bmm": lambda a, b: mg.bmm(a[None], b[None]),
    "addmm": lambda a, b: mg.addmm(a, a, b),
    "einsum": lambda a, b: mg.einsum("ij,jk->ik", a, b),
    "tensordot": lambda a, b: mg.tensordot(a, b, 1),
    "linear": mg.nn.functional.linear,
    "the bias of linear": lambda a, b: mg.nn.functional.linear(a, a, b[0]),
    "conv1d": lambda a, b: mg.nn.functional.conv1d(a[None], b[None]),
    "the bias of conv1d": lambda a, b: mg.nn.functional.conv1d(a[None], a[None], b[0, :1]),
    "conv_transpose1d": lambda a, b: mg.nn.functional.conv_transpose1d(a[None], b[:, None]),
    "prelu": lambda a, b: mg.nn.functional.prelu(a, b[0, :1]),
}


@in_one_test
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_mixed_dtypes_are_promoted(name):
    """Operands of different dtypes, which PyTorch refuses, are promoted as in a sum: nothing is
    lost, and a gradient has the dtype of its own tensor."""
    call = PRODUCTS[name]
    assert call(ONES, WIDE).dtype == call(WIDE, ONES).dtype == mg.float64
    assert call(ONES, WHOLE).dtype == mg.float32
    leaf = mg.ones(2, 2, requires_grad=True)
    call(leaf, WIDE * (1 / 3)).sum().backward()
    assert leaf.grad.dtype == mg.float32
    np.testing.assert_allclose(
        call(ONES, WIDE / 3).numpy(), call(WIDE, WIDE / 3).numpy(), rtol=1e-15, atol=0
    )


def test_the_accepted_neighbours():
    x = mg.ones(2, 3)
    assert x.flip(()).shape == (2, 3) and mg.fliplr(x).shape == (2, 3)
    assert mg.tensor(1 + 2j).H.item() == 1 - 2j and x.H.shape == (3, 2)
    assert mg.nn.init.calculate_gain("conv_transpose2d") == 1
