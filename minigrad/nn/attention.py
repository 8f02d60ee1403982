"""Attention: each position asks all others, and takes their values in the proportion in which their keys answer. Parameter names and
shapes are PyTorch's.

Source: Vaswani et al. 2017.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import backend, functions
from ..errors import ShapeError
from ..tensor import Tensor, as_tensor
from . import functional as F
from . import init
from .functional.attention import attention_weights
from .layers import Dropout, LayerNorm, Linear, parameter
from .module import Module


class MultiheadAttention(Module):
    """`num_heads` attentions side by side, each on embed_dim / num_heads features, and a linear map of their joined results.

    kdim, vdim: the width of keys and values where it is another one. add_bias_kv: one more key and value that are learned; add_zero_attn:
    one more of zeros, so that a query may attend to nothing.
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
            raise ValueError(f"MultiheadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}.")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        self.add_zero_attn = add_zero_attn
        if self.widths == (embed_dim,) * 3:
            self.in_proj_weight = init.xavier_uniform_(parameter(3 * embed_dim, embed_dim, dtype=dtype, device=device))
        else:
            for name, width in zip("qkv", self.widths, strict=True):
                setattr(self, f"{name}_proj_weight", init.xavier_uniform_(parameter(embed_dim, width, dtype=dtype, device=device)))
        self.in_proj_bias = parameter(3 * embed_dim, dtype=dtype, device=device) if bias else None
        self.bias_k = init.xavier_normal_(parameter(1, 1, embed_dim, dtype=dtype, device=device)) if add_bias_kv else None
        self.bias_v = init.xavier_normal_(parameter(1, 1, embed_dim, dtype=dtype, device=device)) if add_bias_kv else None
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
        """query (L, N, E), key and value (S, N, E); (N, L, E), (N, S, E) if batch_first; or without N. Returns the result in the query's
        layout, and the weights (N, L, S).

        key_padding_mask (N, S) and attn_mask (L, S) or (N · heads, L, S): boolean, True where attention is **forbidden**, or floating,
        added to the scores.
        """
        q, k, v = (as_tensor(x) for x in (query, key, value))
        if q.ndim not in (2, 3) or not q.ndim == k.ndim == v.ndim or tuple(x.shape[-1] for x in (q, k, v)) != self.widths:
            raise ShapeError(
                f"MultiheadAttention: needs query, key, value of widths {self.widths}, got shapes {q.shape}, {k.shape}, {v.shape}."
            )
        if is_causal and attn_mask is None:
            raise ValueError("MultiheadAttention: is_causal is a hint about attn_mask, which must be given too.")
        single = q.ndim == 2
        if single:
            q, k, v = (x.unsqueeze(0) for x in (q, k, v))
            key_padding_mask = None if key_padding_mask is None else as_tensor(key_padding_mask).unsqueeze(0)
        elif not self.batch_first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        e = self.embed_dim
        heads = []
        for i, x in enumerate((q, k, v)):
            bias = None if self.in_proj_bias is None else self.in_proj_bias[i * e : (i + 1) * e]
            same = self.widths == (e, e, e)
            weight = self.in_proj_weight[i * e : (i + 1) * e] if same else getattr(self, f"{'qkv'[i]}_proj_weight")
            projected = F.linear(x, weight, bias)
            for more in (
                (None, self.bias_k, self.bias_v)[i],
                functions.zeros(1, 1, e, dtype=x.dtype, device=x.device) if self.add_zero_attn and i else None,
            ):
                if more is not None:
                    projected = functions.cat([projected, more.expand(x.shape[0], 1, e)], 1)
            heads.append(projected.reshape(*projected.shape[:2], self.num_heads, e // self.num_heads).permute(0, 2, 1, 3))
        mask = _mask(attn_mask, key_padding_mask, q.shape[0], self.num_heads, q.dtype)
        if mask is not None:  # what was added is open to everybody
            mask = F.pad(mask, (0, heads[1].shape[2] - k.shape[1]))
        weights = attention_weights(heads[0], heads[1], mask, 0.0, False, None)
        used = F.dropout(weights, self.dropout, self.training)
        joined = (used @ heads[2]).permute(0, 2, 1, 3).reshape(q.shape[0], q.shape[1], e)
        out = self.out_proj(joined)
        shown = (weights.mean(1) if average_attn_weights else weights) if need_weights else None
        if single:
            return out.squeeze(0), None if shown is None else shown.squeeze(0)
        return out if self.batch_first else out.transpose(0, 1), shown

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}"


def _mask(attn_mask: Any, key_padding_mask: Any, batch: int, heads: int, dtype: Any) -> Tensor | None:
    """Both masks as numbers to add to scores (N, heads, L, S)."""
    total: Tensor | None = None
    if attn_mask is not None:
        total = _added(attn_mask, dtype)
        if total.ndim == 3:
            total = functions.reshape(total, batch, heads, *total.shape[1:])
    if key_padding_mask is not None:
        padding = _added(key_padding_mask, dtype)[:, None, None, :]
        total = padding if total is None else total + padding
    return total


def _added(mask: Any, dtype: Any) -> Tensor:
    """−∞ where a boolean mask forbids, 0 elsewhere; floating masks as they are."""
    mask = as_tensor(mask)
    return functions.where(mask, -backend.inf, 0.0).to(dtype) if mask.dtype == backend.bool_ else mask


class TransformerEncoderLayer(Module):
    """Attention and a two-layer network, each with a shortcut around it and layer normalisation (after it, or before it if norm_first)."""

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
            raise ValueError(f'TransformerEncoderLayer: activation must be "relu", "gelu" or a function, got {activation!r}.')
        where: dict[str, Any] = {"bias": bias, "dtype": dtype, "device": device}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **where)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, **where), Linear(dim_feedforward, d_model, **where)
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps, **where), LayerNorm(d_model, layer_norm_eps, **where)
        self.dropout, self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation, self.norm_first = activation, norm_first

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Tensor:
        """src in the layout of `MultiheadAttention`'s query; masks as there. is_causal: a hint about src_mask, which must be given too."""
        if is_causal and src_mask is None:
            raise ValueError("TransformerEncoderLayer: is_causal is a hint about src_mask, which must be given too.")
        x = as_tensor(src)
        attend = lambda y: self.dropout1(self.self_attn(y, y, y, src_key_padding_mask, need_weights=False, attn_mask=src_mask)[0])
        act: Callable[..., Tensor] = getattr(F, self.activation) if isinstance(self.activation, str) else self.activation
        network = lambda y: self.dropout2(self.linear2(self.dropout(act(self.linear1(y)))))
        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + network(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + network(x))
