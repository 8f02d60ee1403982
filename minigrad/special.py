"""Special functions under the names of `torch.special`. Each is a function of the library; most have another name there too."""

from __future__ import annotations

from .arrays import digamma, erfc, erfinv, lgamma, logit, logsumexp, mvlgamma, polygamma, sinc, xlogy
from .arrays.pointwise import entr, log_ndtr, ndtr, ndtri, xlog1py
from .functions import erf, exp2, expm1, log1p, log_softmax, round, sigmoid, softmax

expit, gammaln, multigammaln, psi = sigmoid, lgamma, mvlgamma, digamma

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]
