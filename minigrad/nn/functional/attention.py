"""Attention: each query's mean of the values, weighed by how well their keys fit it (Vaswani et
al., Attention is all you need, 2017).
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import arange, softmax, where
from ...ops.elementwise import in_float32
from .dropouts import dropout
from .linear_maps import linear
from .padding import pad

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


@in_float32
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

    attn_mask: boolean (True takes part) or floating (added), broadcastable to (…, L, S); is_causal:
    position i sees no later one. A row
    that sees nothing gives 0. enable_gqa: the third axis from the right counts heads, and key and
    value may have fewer of them, each for a group of the query's (grouped-query attention, Ainslie
    et al. 2023); raises ShapeError where they do not divide.
    """
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            "scaled_dot_product_attention: query (…, L, E), key (…, S, E) and value (…, S, V) do"
            f" not fit: {q.shape}, {k.shape}, {v.shape}."
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
            "scaled_dot_product_attention: with enable_gqa the query's heads, the third axis from"
            f" the right, must be a multiple of the key's and the value's; got query {q.shape} and"
            f" {x.shape}."
        )
    group = q.shape[-3] // x.shape[-3]
    return x if group == 1 else x.repeat_interleave(group, -3)


@in_float32
def attention_weights(
    q: Tensor, k: Tensor, mask: Any, dropout_p: float, is_causal: bool, scale: float | None
) -> Tensor:
    """softmax(Q Kᵀ / √width + mask), after dropout: (…, L, S)."""
    if scale is None:
        scale = 1 / math.sqrt(max(1, q.shape[-1]))
    scores = (q * scale) @ functions.transpose(k, -2, -1)
    if is_causal:
        mask = arange(q.shape[-2], device=q.device).reshape(-1, 1) >= arange(
            k.shape[-2], device=q.device
        )
    weights = _masked_softmax(scores, mask)
    return dropout(weights, dropout_p) if dropout_p else weights


def _masked_softmax(scores: Tensor, mask: Any) -> Tensor:
    """softmax along the last axis of what the mask lets through; 0 in rows where it lets nothing
    through.
    """
    if mask is None:
        return softmax(scores, -1)
    mask = as_tensor(mask)
    scores = where(mask, scores, -math.inf) if mask.dtype == backend.bool_ else scores + mask
    seen = (scores.detach() != -math.inf).any(-1, keepdim=True)
    return where(seen, softmax(where(seen, scores, 0.0), -1), 0.0)


# ---------------------------------------------------------------------------- several heads at once


# Long: half of them are PyTorch's 25 parameters and what they mean.
@functions.in_own_memory
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, as a function of its parameters: `num_heads`
    attentions side by side on E / num_heads features each, and a linear map of their joined
    results. Returns the result in the query's shape, and the weights (N, L, S), averaged over the
    heads or (N, heads, L, S), or None.

    query (L, N, E), key and value (S, N, E), or all without N; E is embed_dim_to_check.
    in_proj_weight (3 E, E): the maps to queries, keys and values, one below the other; with
    use_separate_proj_weight these are q_proj_weight (E, E), k_proj_weight (E, width of the keys)
    and v_proj_weight. in_proj_bias (3 E,) or None. bias_k, bias_v (1, 1, E): one more key and
    value; add_zero_attn: one more of zeros. static_k, static_v (N · heads, S, E / heads): used as
    they are in place of the mapped keys and values. dropout_p: of the weights, while training.
    key_padding_mask (N, S) and attn_mask (L, S) or (N · heads, L, S): boolean, True where attention
    is **forbidden**, or floating, added to the scores; is_causal is a hint about attn_mask. Raises
    ShapeError and ValueError where that does not fit together.
    """
    e, function = embed_dim_to_check, "multi_head_attention_forward"
    q, k, v = (as_tensor(x) for x in (query, key, value))
    if use_separate_proj_weight:
        weights = [as_tensor(w) for w in (q_proj_weight, k_proj_weight, v_proj_weight)]
    else:
        joint = as_tensor(in_proj_weight)
        weights = [joint[i * e : (i + 1) * e] for i in range(3)]
    _check_projections(q, k, v, weights, e, num_heads, function)
    if is_causal and attn_mask is None:
        raise ValueError(
            f"{function}: is_causal is a hint about attn_mask, which must be given too."
        )
    single = q.ndim == 2
    if single:
        q, k, v = (x.unsqueeze(0) for x in (q, k, v))
        key_padding_mask = (
            None if key_padding_mask is None else as_tensor(key_padding_mask).unsqueeze(0)
        )
    else:
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))
    biases: Any = [None] * 3
    if in_proj_bias is not None:
        biases = [as_tensor(in_proj_bias)[i * e : (i + 1) * e] for i in range(3)]
    zero = add_zero_attn
    heads = (
        _heads(q, weights[0], biases[0], None, None, False, num_heads),
        _heads(k, weights[1], biases[1], static_k, bias_k, zero, num_heads),
        _heads(v, weights[2], biases[2], static_v, bias_v, zero, num_heads),
    )
    _check_masks(attn_mask, key_padding_mask, num_heads, q, k, function)
    mask = _joined_masks(attn_mask, key_padding_mask, q.shape[0], num_heads, q.dtype)
    if mask is not None:  # what was added is open to all
        mask = pad(mask, (0, heads[1].shape[2] - mask.shape[-1]))
    shares = attention_weights(heads[0], heads[1], mask, 0.0, False, None)
    used = dropout(shares, dropout_p, training)
    joined = (used @ heads[2]).permute(0, 2, 1, 3).reshape(q.shape[0], q.shape[1], e)
    out = linear(joined, out_proj_weight, out_proj_bias)
    shown = (shares.mean(1) if average_attn_weights else shares) if need_weights else None
    if single:
        return out.squeeze(0), None if shown is None else shown.squeeze(0)
    return out.transpose(0, 1), shown


def _check_projections(
    q: Tensor, k: Tensor, v: Tensor, weights: list[Tensor], e: int, num_heads: int, function: str
) -> None:
    """Raise ShapeError unless queries, keys and values fit their maps, and these the heads."""
    widths = tuple(w.shape[-1] for w in weights)
    if (
        q.ndim not in (2, 3)
        or not q.ndim == k.ndim == v.ndim
        or tuple(x.shape[-1] for x in (q, k, v)) != widths
    ):
        raise ShapeError(
            f"{function}: needs query, key, value of widths {widths}, got shapes {q.shape},"
            f" {k.shape}, {v.shape}."
        )
    if (
        num_heads < 1
        or e % num_heads
        or any(w.shape != (e, width) for w, width in zip(weights, widths, strict=True))
    ):
        raise ShapeError(
            f"{function}: num_heads={num_heads} and maps of {[w.shape for w in weights]} do not fit"
            f" {e} features."
        )


def _check_masks(
    attn_mask: Any, key_padding_mask: Any, num_heads: int, q: Tensor, k: Tensor, function: str
) -> None:
    """Raise ShapeError unless the masks fit queries (N, L, E) and keys (N, S, E): broadcasting
    would hide a mistake."""
    batch, scores = q.shape[0], (q.shape[1], k.shape[1])
    for name, mask, shapes in (
        ("attn_mask", attn_mask, (scores, (batch * num_heads, *scores))),
        ("key_padding_mask", key_padding_mask, ((batch, scores[1]),)),
    ):
        if mask is not None and as_tensor(mask).shape not in shapes:
            raise ShapeError(
                f"{function}: {name} must have shape {' or '.join(map(str, shapes))}, got"
                f" {tuple(as_tensor(mask).shape)}."
            )


def _heads(
    x: Tensor, weight: Tensor, bias: Any, static: Any, more: Any, zero: bool, num_heads: int
) -> Tensor:
    """Queries, keys or values (N, L, width), mapped and cut into heads: (N, heads, L, E / heads).

    static: used as it is in place of the mapped ones; more: one more of them, unless they are
    static; zero: and one more of zeros.
    """
    e, batch = weight.shape[0], x.shape[0]
    if static is None:
        projected = linear(x, weight, bias)
    else:
        given = as_tensor(static)
        by_heads = given.reshape(batch, num_heads, *given.shape[1:])
        projected, more = by_heads.permute(0, 2, 1, 3).reshape(batch, -1, e), None
    if more is not None:
        projected = functions.cat([projected, as_tensor(more).expand(batch, 1, e)], 1)
    if zero:
        zeros = functions.zeros(batch, 1, e, dtype=x.dtype, device=x.device)
        projected = functions.cat([projected, zeros], 1)
    return projected.reshape(*projected.shape[:2], num_heads, e // num_heads).permute(0, 2, 1, 3)


def _joined_masks(
    attn_mask: Any, key_padding_mask: Any, batch: int, heads: int, dtype: Any
) -> Tensor | None:
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
    return where(mask, -backend.inf, 0.0).to(dtype) if mask.dtype == backend.bool_ else mask
