"""What every check works with: the function and its inputs, outputs in double precision, unit
cotangents, and the comparison of two matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import backend
from ...core.tensor import Tensor, current_node, make_leaf, wrap
from ...errors import AutogradError
from ..backward import grad

host: Any = backend.array_module([])
"""The array library of the host, on which Jacobians are put together and compared."""


class GradcheckError(AutogradError):
    """A derivative did not pass the check; the message shows which one and by how much."""


@dataclass
class GradientCheck:
    """What is compared, and how closely."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    @property
    def checked(self) -> list[tuple[int, Tensor]]:
        """(position, tensor) of each input that requires grad."""
        return [
            (i, x)
            for i, x in enumerate(self.inputs)
            if isinstance(x, Tensor) and current_node(x) is not None
        ]

    @property
    def tensors(self) -> list[Tensor]:
        """Each input that requires grad."""
        return [x for _, x in self.checked]

    def outputs(self, *inputs: Any) -> tuple[Tensor, ...]:
        """What func returns, as a tuple of tensors."""
        out = self.func(*(inputs or self.inputs))
        outs = tuple(out) if isinstance(out, list | tuple) else (out,)
        for i, o in enumerate(outs):
            if not isinstance(o, Tensor):
                raise ValueError(
                    f"gradcheck: func must return a Tensor or a tuple of Tensors; output {i} is"
                    f" {type(o).__name__}."
                )
        return outs


def pull(outputs: Any, inputs: Sequence[Tensor], seeds: Any) -> Any:
    """The gradients of the inputs, None for one that the outputs do not use; again and again."""
    return grad(outputs, inputs, seeds, retain_graph=True, allow_unused=True)


def units(x: Tensor) -> tuple[complex, ...]:
    """The directions in which an element of x, or its cotangent, is looked at: 1, and for complex
    numbers i.
    """
    return (1, 1j) if backend.is_complex(x.dtype) else (1,)


def wide(x: Tensor | None, like: Tensor) -> Any:
    """The elements as a flat host array in double precision; zeros for None."""
    if x is None:
        return host.zeros(like.numel(), wide_dtype(like))
    return backend.to_numpy(backend.materialise(x.array)).astype(wide_dtype(like)).reshape(-1)


def wide_dtype(x: Tensor) -> Any:
    return backend.complex128 if backend.is_complex(x.dtype) else backend.float64


def unit(out: Tensor, row: int, v: complex) -> Tensor:
    """v at one element, zeros elsewhere."""
    array = backend.materialise(backend.zeros((out.numel(),), out.dtype, out.array))
    array[row] = v
    return wrap(array.reshape(out.shape))


def seeded(outputs: Sequence[Tensor], chosen: int, seed: Tensor) -> list[Tensor]:
    """The given cotangent for one output, zeros for the others; by position, for a function may
    return one tensor twice.
    """
    return [
        seed if i == chosen else wrap(backend.zeros(o.shape, o.dtype, o.array))
        for i, o in enumerate(outputs)
    ]


def random_leaf(random: Any, like: Tensor, non_contiguous: bool) -> Tensor:
    """Random numbers in the shape and dtype of a tensor, as a leaf that requires grad."""
    shape = (*like.shape[:-1], 2 * like.shape[-1]) if non_contiguous and like.ndim else like.shape
    drawn = random.standard_normal(shape)
    if backend.is_complex(like.dtype):
        drawn = drawn + 1j * random.standard_normal(shape)
    array = backend.to_device(
        backend.materialise(backend.as_payload(drawn, like.dtype)), backend.device_of(like.array)
    )
    out = wrap(array[..., ::2] if non_contiguous and like.ndim else array)
    make_leaf(out)
    return out


def random_like(tensors: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Random numbers in the shapes and dtypes of tensors, as constants."""
    random = backend.random_generator(seed)
    return [wrap(random_leaf(random, x, False).array) for x in tensors]


def real_product(a: Any, b: Any) -> float:
    """The real part of ā · b."""
    return float((host.conj(a) * b).real.sum())


def label(number: complex) -> str:
    return "1" if number == 1 else "1j"


def compare(
    check: GradientCheck, numerical: Any, analytical: Any, place: int, i: int, out: Tensor, how: str
) -> None:
    """Raise GradcheckError with both matrices, of output number `place` by input i, and the largest
    difference unless they agree.
    """
    difference = host.abs(analytical - numerical)
    wrong = ~(difference <= check.atol + check.rtol * host.abs(numerical))  # NaN is wrong too
    if not wrong.any():
        return
    excess = host.where(host.isnan(difference), math.inf, host.where(wrong, difference, -1.0))
    row, column = (int(k) for k in host.unravel_index(excess.argmax(), excess.shape))
    raise GradcheckError(
        f"Jacobian mismatch for output {place} with respect to input {i} ({how}; rows: elements of"
        " the output, columns: elements of the"
        f" input),\nnumerical:\n{numerical}\nanalytical:\n{analytical}\nThe largest difference is"
        f" {float(difference[row, column]):.6g}, between output {place}{_at(row, out)} and input"
        f" {i}{_at(column, check.inputs[i])}: numerical {numerical[row, column]:.8g}, analytical"
        f" {analytical[row, column]:.8g}. {int(wrong.sum())} of {wrong.size} entries differ by more"
        f" than atol + rtol·|numerical| with atol {check.atol:g}, rtol {check.rtol:g}."
    )


def _at(flat: int, x: Tensor) -> str:
    """The index of a flat position, as it is written behind a tensor's name."""
    return str(list(int(k) for k in host.unravel_index(flat, x.shape))) if x.ndim else ""
