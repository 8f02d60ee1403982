"""Attention: each query's mean of the values, weighed by how well their keys fit it (Vaswani et al., Attention is all you need, 2017)."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from ... import backend, functions
from ...errors import ShapeError
from ...functions import arange, softmax, where
from ...tensor import Tensor, as_tensor
from .dropouts import dropout


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(Q Kᵀ / √width + mask) V: query (…, L, E), key (…, S, E), value (…, S, V): (…, L, V).

    attn_mask: boolean (True takes part) or floating (added), broadcastable to (…, L, S); is_causal: position i sees no later one. A row
    that sees nothing gives 0. enable_gqa: the third axis from the right counts heads, and key and value may have fewer of them, each for a
    group of the query's (grouped-query attention, Ainslie et al. 2023); raises ShapeError where they do not divide.
    """
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: query (…, L, E), key (…, S, E) and value (…, S, V) do not fit: {q.shape}, {k.shape}, {v.shape}."
        )
    if enable_gqa:
        k, v = (_for_each_head(q, x) for x in (k, v))
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention: give attn_mask or is_causal, not both.")
    return attention_weights(q, k, attn_mask, dropout_p, is_causal, scale) @ v


def _for_each_head(q: Tensor, x: Tensor) -> Tensor:
    """Key or value, each of its heads repeated for its group of the query's heads."""
    if q.ndim < 3 or x.ndim < 3 or x.shape[-3] == 0 or q.shape[-3] % x.shape[-3]:
        raise ShapeError(
            "scaled_dot_product_attention: with enable_gqa the query's heads, the third axis from the right, must be a multiple of the "
            f"key's and the value's; got query {q.shape} and {x.shape}."
        )
    group = q.shape[-3] // x.shape[-3]
    return x if group == 1 else x.repeat_interleave(group, -3)


def attention_weights(q: Tensor, k: Tensor, mask: Any, dropout_p: float, is_causal: bool, scale: float | None) -> Tensor:
    """softmax(Q Kᵀ / √width + mask), after dropout: (…, L, S)."""
    scores = (q * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)) @ functions.transpose(k, -2, -1)
    if is_causal:
        mask = arange(q.shape[-2], device=q.device).reshape(-1, 1) >= arange(k.shape[-2], device=q.device)
    weights = _masked_softmax(scores, mask)
    return dropout(weights, dropout_p) if dropout_p else weights


def _masked_softmax(scores: Tensor, mask: Any) -> Tensor:
    """softmax along the last axis of what the mask lets through; 0 in rows where it lets nothing through."""
    if mask is None:
        return softmax(scores, -1)
    mask = as_tensor(mask)
    scores = where(mask, scores, -math.inf) if mask.dtype == backend.bool_ else scores + mask
    seen = (scores.detach() != -math.inf).any(-1, keepdim=True)
    return where(seen, softmax(where(seen, scores, 0.0), -1), 0.0)
