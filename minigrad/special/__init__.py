"""Special functions under the names of `torch.special`. Each is a function of the library; most
have another name there too.

Integers become the default floating dtype. All are differentiable in both modes and of every order,
also where PyTorch's are not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from .. import functions as fn
from ..batching import all_examples
from ..core.primitive import Primitive
from ..core.tensor import Tensor, wrap
from ..errors import with_hints
from ..extras.operands import by_second_only, real_numbers, two_tensors
from ..functions import (
    erf,  # noqa: F401
    exp2,  # noqa: F401
    expm1,  # noqa: F401
    log1p,  # noqa: F401
    log_softmax,  # noqa: F401
    logsumexp,  # noqa: F401
    round,  # noqa: F401
    sigmoid,
    softmax,  # noqa: F401
)
from ..functions.elementwise import unary
from ..names import TensorLike, public, publish, respell
from . import bessel, operations
from .functions import (
    digamma,
    entr,  # noqa: F401
    erfc,  # noqa: F401
    erfinv,  # noqa: F401
    i0,
    igamma,
    igammac,
    lgamma,
    log_ndtr,  # noqa: F401
    logit,  # noqa: F401
    mvlgamma,
    ndtr,  # noqa: F401
    ndtri,  # noqa: F401
    polygamma,  # noqa: F401
    sinc,
    xlog1py,  # noqa: F401
    xlogy,  # noqa: F401
)

expit = sigmoid
gammaln = lgamma
gammainc = igamma
gammaincc = igammac
multigammaln = mvlgamma
psi = digamma
erfcx = unary(
    operations.erfcx,
    "exp(x²) erfc(x): erfc without its decay, 1 / (√π x) for large x.",
    in_place=False,
    theirs="input",
)


@public(theirs="input other")
def zeta(x: TensorLike, q: Any) -> Tensor:
    """Hurwitz's zeta function Σ 1 / (q + k)ˣ over k = 0, 1, 2, …; with q = 1 Riemann's. Infinite
    for x = 1 and where a term is, NaN for x < 1, and for q < -52. Differentiable by q. Raises
    NotDifferentiableError for an x that requires a gradient.
    """
    return operations.zeta(*by_second_only("special.zeta", x, q, "xq"))


# --------------------------------------------------------------------------------- Bessel functions


def _bessel(operation: Primitive, name: str, text: str, **params: Any) -> Callable[..., Tensor]:
    made = unary(operation, text, name=name, params=params, in_place=False, theirs="input")
    made.__module__ = __name__
    return made


def _orders(
    name: str, operation: Primitive, text: str, **params: Any
) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """The functions of orders 0 and 1; {} in the name is the order, in the text the symbol's and
    the order.
    """
    first, second = (
        _bessel(operation, name.format(n), text.format("₀₁"[n], n), n=n, **params) for n in (0, 1)
    )
    return first, second


bessel_j0, bessel_j1 = _orders(
    "bessel_j{}", bessel.bessel_j, "J{}, the Bessel function of the first kind of order {}."
)
bessel_y0, bessel_y1 = _orders(
    "bessel_y{}",
    bessel.bessel_y,
    "Y{}, the Bessel function of the second kind of order {}: -∞ at 0, NaN for negative numbers.",
)
i0e, i1e = _orders("i{}e", bessel.bessel_i, "e^-|x| I{}(x).", scaled=True)
i1 = _bessel(
    bessel.bessel_i,
    "i1",
    "I₁, the modified Bessel function of the first kind of order 1.",
    n=1,
    scaled=False,
)
modified_bessel_k0, modified_bessel_k1 = _orders(
    "modified_bessel_k{}",
    bessel.bessel_k,
    "K{}, the modified Bessel function of the second kind of order {}: infinite at 0, NaN for"
    " negative numbers.",
    scaled=False,
)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _orders(
    "scaled_modified_bessel_k{}", bessel.bessel_k, "eˣ K{}(x).", scaled=True
)
airy_ai = _bessel(
    bessel.airy_ai,
    "airy_ai",
    "Airy's function Ai, the solution of y'' = x y that decays to the right: waves to the left of"
    " 0, a tail to the right.",
    slope=False,
)
modified_bessel_i0, modified_bessel_i1 = i0, i1


def spherical_bessel_j0(x: TensorLike) -> Tensor:
    """sin(x) / x, and 1 at 0; 0 at infinity."""
    x = real_numbers(x)
    return fn.where(fn.isinf(x), 0.0, sinc(fn.where(fn.isinf(x), 0.0, x) / math.pi))


# --------------------------------------------------------------------------- orthogonal polynomials

Step = Callable[[Any, Any, Any, int], Any]


def _polynomials(
    name: str, symbol: str, first: Callable[[Any], Any], step: Step, shifted: bool = False
) -> Callable[[Any, Any], Tensor]:
    """The function of x and n that goes from p₀ = 1 and p₁ = first(x) up to pₙ by pₖ₊₁ = step(x,
    pₖ, pₖ₋₁, k).

    shifted: from the interval [-1, 1] to [0, 1].
    """

    def polynomial(x: Any, n: Any) -> Tensor:
        x, n = two_tensors(x, n)
        x = real_numbers(x if n.ndim == 0 else x.to(fn.result_type(x, n)))
        degrees = fn.trunc(n.detach())
        place = 2 * x - 1 if shifted else x
        before = fn.ones_like(x)
        now = fn.where(degrees == 0, before, fn.where(degrees < 0, 0.0, first(place)))
        for k in range(1, _highest(degrees)):
            more = degrees > k  # the others stay, so that unused terms do not overflow
            before, now = (
                fn.where(more, now, before),
                fn.where(more, step(place, now, before, k), now),
            )
        return now

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = (
        f"{symbol}{' at 2x - 1' if shifted else ''}, by the recurrence from degree to degree; x and"
        " the degrees n broadcast. Of n the whole part counts; 0 for negative n. No derivative"
        " by n."
    )
    return polynomial


def _highest(degrees: Tensor) -> int:
    degrees = wrap(all_examples(degrees.array))
    return int(degrees.max().item()) if degrees.numel() else 0


def _chebyshev(x: TensorLike, now: Any, before: Any, k: int) -> Any:
    return 2 * x * now - before


_KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "t": ("Tₙ(x) = cos(n arccos x), Chebyshev's polynomial of the first kind", lambda x: x),
    "u": ("Uₙ(x), Chebyshev's polynomial of the second kind", lambda x: 2 * x),
    "v": ("Vₙ(x), Chebyshev's polynomial of the third kind", lambda x: 2 * x - 1),
    "w": ("Wₙ(x), Chebyshev's polynomial of the fourth kind", lambda x: 2 * x + 1),
}
(
    chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w,
    shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u, shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
) = (
    _polynomials(f"{'shifted_' * shifted}chebyshev_polynomial_{kind}", symbol, first, _chebyshev,
        shifted)
    for shifted in (False, True)
    for kind, (symbol, first) in _KINDS.items()
)  # fmt: skip
hermite_polynomial_h = _polynomials(
    "hermite_polynomial_h",
    "Hₙ(x), Hermite's polynomial (physicists')",
    lambda x: 2 * x,
    lambda x, p, q, k: 2 * x * p - 2 * k * q,
)
hermite_polynomial_he = _polynomials(
    "hermite_polynomial_he",
    "Heₙ(x), Hermite's polynomial (probabilists')",
    lambda x: x,
    lambda x, p, q, k: x * p - k * q,
)
laguerre_polynomial_l = _polynomials(
    "laguerre_polynomial_l",
    "Lₙ(x), Laguerre's polynomial",
    lambda x: 1 - x,
    lambda x, p, q, k: ((2 * k + 1 - x) * p - k * q) / (k + 1),
)
legendre_polynomial_p = _polynomials(
    "legendre_polynomial_p",
    "Pₙ(x), Legendre's polynomial",
    lambda x: x,
    lambda x, p, q, k: ((2 * k + 1) * x * p - k * q) / (k + 1),
)

_OTHERS = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc",
    "gammaincc", "gammaln", "i0", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "modified_bessel_i0", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc",
    "softmax", "xlog1py", "xlogy",
]  # fmt: skip
"""Functions that other files define."""
respell(__name__, publish(__name__, *_OTHERS, method=False))
with_hints(sys.modules[__name__])
