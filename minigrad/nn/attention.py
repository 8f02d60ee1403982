"""Attention: each position asks all others, and takes their values in the proportion in which their
keys answer. Parameter names and shapes are PyTorch's.

Source: Vaswani et al. 2017.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from . import functional as F
from . import init
from .layers import Dropout, LayerNorm, Linear
from .module import Module
from .parameter import trained


class MultiheadAttention(Module):
    """`num_heads` attentions side by side, each on embed_dim / num_heads features, and a linear map
    of their joined results.

    kdim, vdim: the width of keys and values where it is another one. add_bias_kv: one more key and
    value that are learned; add_zero_attn: one more of zeros, so that a query may attend to nothing.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}."
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        self.add_zero_attn = add_zero_attn
        together, where = self.widths == (embed_dim,) * 3, {"dtype": dtype, "device": device}
        shapes = {"in": (3 * embed_dim, embed_dim)} | {
            name: (embed_dim, w) for name, w in zip("qkv", self.widths, strict=True)
        }
        for name, shape in shapes.items():
            made = (
                init.xavier_uniform_(trained(*shape, **where))
                if (name == "in") is together
                else None
            )
            self.register_parameter(f"{name}_proj_weight", made)
        self.register_parameter("in_proj_bias", trained(3 * embed_dim, when=bias, **where))
        for name in ("bias_k", "bias_v"):
            further = trained(1, 1, embed_dim, when=add_bias_kv, **where)
            setattr(self, name, init.xavier_normal_(further) if add_bias_kv else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype, device=device)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """query (L, N, E), key and value (S, N, E); (N, L, E), (N, S, E) if batch_first; or without
        N. Returns the result in the query's layout, and the weights (N, L, S).

        key_padding_mask (N, S) and attn_mask (L, S) or (N · heads, L, S): boolean, True where
        attention is **forbidden**, or floating, added to the scores.
        """
        q, k, v = (as_tensor(x) for x in (query, key, value))
        if (
            q.ndim not in (2, 3)
            or not q.ndim == k.ndim == v.ndim
            or tuple(x.shape[-1] for x in (q, k, v)) != self.widths
        ):
            raise ShapeError(
                f"MultiheadAttention: needs query, key, value of widths {self.widths}, got shapes"
                f" {q.shape}, {k.shape}, {v.shape}."
            )
        first = self.batch_first and q.ndim == 3
        if first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        separate = self.widths != (self.embed_dim,) * 3
        names = [f"{name}_proj_weight" for name in "qkv"] if separate else []
        out, weights = F.multi_head_attention_forward(
            q,
            k,
            v,
            self.embed_dim,
            self.num_heads,
            None if separate else self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            separate,
            **{name: getattr(self, name) for name in names},
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(0, 1) if first else out, weights


class TransformerBlock(Module):
    """What the layers of encoder and decoder share: attentions and a two-layer network, each with a
    shortcut around it and layer normalisation (after it, or before it if norm_first).
    """

    attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        if activation not in ("relu", "gelu") and not callable(activation):
            raise ValueError(
                f'{type(self).__name__}: activation must be "relu", "gelu" or a function, got'
                f" {activation!r}."
            )
        where: dict[str, Any] = {"bias": bias, "dtype": dtype, "device": device}
        for name in self.attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, batch_first=batch_first, **where
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **where)
        numbers = range(1, len(self.attentions) + 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, **where))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation, self.norm_first = activation, norm_first

    def run(self, x: Tensor, *attend: Callable[[Tensor], Tensor]) -> Tensor:
        """x after the attentions and the network, in this order."""
        for i, block in enumerate((*attend, self._network), 1):
            norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + dropout(block(norm(x))) if self.norm_first else norm(x + dropout(block(x)))
        return x

    def _network(self, y: Tensor) -> Tensor:
        given = self.activation
        act: Callable[..., Tensor] = getattr(F, given) if isinstance(given, str) else given
        made: Tensor = self.linear2(self.dropout(act(self.linear1(y))))
        return made


class TransformerEncoderLayer(TransformerBlock):
    """Attention and a two-layer network, each with a shortcut around it and layer normalisation
    (after it, or before it if norm_first).
    """

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Tensor:
        """src in the layout of `MultiheadAttention`'s query; masks as there. is_causal: a hint
        about src_mask, which must be given too.
        """
        if is_causal and src_mask is None:
            raise ValueError(
                "TransformerEncoderLayer: is_causal is a hint about src_mask, which must be given"
                " too."
            )
        settings = {"need_weights": False, "attn_mask": src_mask}
        return self.run(
            as_tensor(src), lambda y: self.self_attn(y, y, y, src_key_padding_mask, **settings)[0]
        )
