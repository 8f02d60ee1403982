"""Conversion of a module's parameters, buffers and their gradients to a dtype or a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .. import backend
from ..core.tensor import Leaf, Tensor, wrap

if TYPE_CHECKING:
    from .module import Module


C = TypeVar("C", bound="Converting")


class Converting:
    """What has a method `to` for dtypes and devices: the usual ones by name."""

    __slots__ = ()

    def to(self: C, *args: Any, **options: Any) -> C:
        """In another dtype, or on another device."""
        raise NotImplementedError

    def float(self: C) -> C:
        """In float32."""
        return self.to(backend.float32)

    def double(self: C) -> C:
        """In float64."""
        return self.to(backend.float64)

    def half(self: C) -> C:
        """In float16."""
        return self.to(backend.float16)

    def bfloat16(self: C) -> C:
        """In bfloat16. Raises DTypeError where the package ml_dtypes is not installed."""
        return self.to(backend.bfloat16_dtype())

    def cpu(self: C) -> C:
        """In host memory."""
        return self.to("cpu")

    def cuda(self: C, index: int = 0) -> C:
        """On a CUDA device."""
        return self.to(f"cuda:{index}")


def convert(module: Module, args: tuple[Any, ...], dtype: Any, device: Any) -> None:
    """Convert in place. args: the positional arguments of `Module.to`: dtypes, devices, a tensor
    that has both, or non_blocking. Raises TypeError for a dtype that has no derivatives, and for
    a boolean in another place than that of non_blocking.
    """
    for i, a in enumerate(args):
        if isinstance(a, bool):
            after_device = i == 2 and not isinstance(args[1], bool)
            if after_device or (i == 1 and dtype is not None):
                continue
            raise TypeError(
                f"{type(module).__name__}.to: {a} stands where a device or a dtype is expected;"
                f" write non_blocking={a}."
            )
        if isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, backend.Device) or (
            isinstance(a, str) and (a == "cpu" or a.startswith("cuda"))
        ):
            device = a
        else:
            dtype = a
    wanted = backend.as_dtype(dtype)
    if wanted is not None and not backend.is_differentiable(wanted):
        raise TypeError(
            f"{type(module).__name__}.to: parameters are floating or complex numbers, which"
            f" {wanted} is not."
        )
    for tensor in [*module.parameters(), *module.buffers()]:
        gradient = tensor.stored_grad
        tensor.array = _converted(tensor.array, wanted, device)
        if isinstance(tensor.node, Leaf):
            tensor.node.array, tensor.node.dtype = tensor.array, tensor.array.dtype
        if gradient is not None:
            tensor.stored_grad = wrap(_converted(gradient.array, wanted, device))


def _converted(array: backend.Array, dtype: Any, device: Any) -> backend.Array:
    """The array in a dtype, if it is of numbers that have derivatives, and on a device."""
    if dtype is not None and backend.is_differentiable(array.dtype):
        array = backend.materialise(array.astype(dtype))  # one number, too: it may be shared
    return array if device is None else backend.to_device(array, str(device))
