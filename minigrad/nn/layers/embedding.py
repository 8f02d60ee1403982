"""Rows of a matrix, chosen by integers."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, TypeVar

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from .. import functional as F
from .. import init
from ..extra_repr import unusual
from ..module import Module
from ..parameter import Parameter, trained

__all__ = [
    "Embedding", "EmbeddingBag",
]  # fmt: skip


T = TypeVar("T", bound="_Table")


class _Table(Module):
    """What the layers that choose rows of a matrix share."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    from_pretrained: ClassVar[Any]

    def _take(self, rows: Any, freeze: bool, dtype: Any, device: Any) -> None:
        """Make the weight, of `rows` themselves if they are given, and put padding_idx in range."""
        name, shape = type(self).__name__, (self.num_embeddings, self.embedding_dim)
        if self.padding_idx is not None:
            if not -shape[0] <= self.padding_idx < shape[0]:
                raise IndexError(
                    f"{name}: padding_idx {self.padding_idx} is not one of {shape[0]} rows."
                )
            self.padding_idx %= shape[0]
        if rows is None:
            self.weight = trained(*shape, dtype=dtype, device=device)
            self.reset_parameters()
        else:
            self.weight = Parameter(as_tensor(rows), requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw initial values again: normal with variance 1, and zeros for padding_idx."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    @classmethod
    def _sizes(cls, embeddings: Any) -> tuple[int, int]:
        """The shape of rows that are given. Raises ShapeError unless they are a matrix."""
        shape = as_tensor(embeddings).shape
        if len(shape) != 2:
            raise ShapeError(
                f"{cls.__name__}.from_pretrained: embeddings must be a matrix (num_embeddings,"
                f" embedding_dim), got shape {shape}."
            )
        return shape[0], shape[1]


def _made_of_rows(layer: type[T]) -> type[T]:
    """Add `from_pretrained`, whose arguments are the given rows, and the settings of the layer."""
    others = ("num_embeddings", "embedding_dim", "_weight", "_freeze", "dtype", "device")
    settings = [p for p in inspect.signature(layer).parameters.values() if p.name not in others]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    freeze = inspect.Parameter("freeze", kind, default=True, annotation="bool")
    rows = [inspect.Parameter(name, kind) for name in ("cls", "embeddings")]
    signature = inspect.Signature([*rows, freeze, *settings])

    def from_pretrained(*args: Any, **options: Any) -> Any:
        """A layer whose weight is `embeddings` (num_embeddings, embedding_dim), in the same memory;
        frozen unless freeze=False. Row padding_idx keeps its numbers and gets no gradient. Raises
        ShapeError unless embeddings is a matrix.
        """
        try:
            given = signature.bind(*args, **options).arguments
        except TypeError as error:
            raise TypeError(f"{layer.__name__}.from_pretrained() {error}") from None
        cls, embeddings = given.pop("cls"), given.pop("embeddings")
        given |= {"_weight": embeddings, "_freeze": given.pop("freeze", True)}
        return cls(*cls._sizes(embeddings), **given)

    setattr(from_pretrained, "__signature__", signature)  # noqa: B010
    layer.from_pretrained = classmethod(from_pretrained)
    return layer


@_made_of_rows
class Embedding(_Table):
    """Rows of weight (num_embeddings, embedding_dim), normal with variance 1 at first, chosen by
    integers. Row padding_idx is zero and gets no gradient. max_norm, norm_type and
    scale_grad_by_freq are those of `functional.embedding`. Raises NotImplementedError for sparse
    gradients, which there are not.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if sparse:
            raise NotImplementedError(
                "Embedding: gradients are dense here. Leave sparse=True out: the numbers are the"
                " same."
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._take(_weight, _freeze, dtype, device)

    def forward(self, x: Any) -> Tensor:
        return F.embedding(
            x, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + unusual(
            self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False
        )


@_made_of_rows
class EmbeddingBag(_Table):
    """The sum, the mean or the maximum of rows of weight (num_embeddings, embedding_dim), normal
    with variance 1 at first, for each bag of integers. Row padding_idx is zero, counts as not being
    there and gets no gradient. The settings are those of `functional.embedding_bag`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        _freeze: bool = False,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._take(_weight, _freeze, dtype, device)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + unusual(
            self, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="", padding_idx=None
        )
