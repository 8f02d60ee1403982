"""Stacks of attention: an encoder that reads one sequence, a decoder that writes another while it
looks at what was read, and both together. Parameter names, shapes and masks are PyTorch's.

Source: Vaswani et al. 2017; normalisation before each block (norm_first): Xiong et al. 2020.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from . import init
from .attention import TransformerBlock, TransformerEncoderLayer
from .containers import ModuleList
from .layers import LayerNorm
from .module import Module

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder"]


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after the other, and a normalisation after the last if
    `norm` is given.

    enable_nested_tensor, mask_check: PyTorch's switches of a faster path, which change nothing
    here.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        self.layers = _copies(encoder_layer, num_layers, "TransformerEncoder")
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Any,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """src (S, N, E), or (N, S, E) if the layers are batch_first, or without N; masks as of
        `MultiheadAttention`. The result has src's
        shape. is_causal: a hint about mask, which must be given too.
        """
        x = as_tensor(src)
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask, bool(is_causal))
        return x if self.norm is None else self.norm(x)


class TransformerDecoderLayer(TransformerBlock):
    """Attention to the sequence itself, attention to the encoder's result, and a two-layer network,
    each with a shortcut around it and layer normalisation (after it, or before it if norm_first).
    Arguments as of `TransformerEncoderLayer`.
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """tgt (T, N, E) and memory (S, N, E), or (N, T, E) and (N, S, E) if batch_first, or without
        N. tgt_mask (T, T) and memory_mask (T, S) as of `MultiheadAttention`; the hints
        tgt_is_causal and memory_is_causal need their mask too.
        """
        for hint, mask, name in (
            (tgt_is_causal, tgt_mask, "tgt"),
            (memory_is_causal, memory_mask, "memory"),
        ):
            if hint and mask is None:
                raise ValueError(
                    f"TransformerDecoderLayer: {name}_is_causal is a hint about {name}_mask, which"
                    " must be given too."
                )
        x, read = as_tensor(tgt), as_tensor(memory)

        def attend(y: Tensor) -> Tensor:
            settings = {"need_weights": False, "attn_mask": tgt_mask}
            found: Tensor = self.self_attn(y, y, y, tgt_key_padding_mask, **settings)[0]
            return found

        def look(y: Tensor) -> Tensor:
            settings = {"need_weights": False, "attn_mask": memory_mask}
            found: Tensor = self.multihead_attn(y, read, read, memory_key_padding_mask, **settings)[
                0
            ]
            return found

        return self.run(x, attend, look)


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder's layer, one after the other, and a normalisation after
    the last if `norm` is given.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self.layers = _copies(decoder_layer, num_layers, "TransformerDecoder")
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Arguments as of `TransformerDecoderLayer`; the result has tgt's shape."""
        x = as_tensor(tgt)
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                bool(tgt_is_causal),
                memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder and a decoder, each with a last normalisation; custom_encoder and custom_decoder
    take their places. Embedding, positions and the last linear map are not part of it.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Tensor] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        where: dict[str, Any] = {"bias": bias, "dtype": dtype, "device": device}
        settings = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
        )
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings, **where),
            num_encoder_layers,
            LayerNorm(d_model, layer_norm_eps, **where),
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings, **where),
            num_decoder_layers,
            LayerNorm(d_model, layer_norm_eps, **where),
        )
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """src (S, N, E) and tgt (T, N, E), or (N, S, E) and (N, T, E) if batch_first, or without N;
        E is d_model. The result has tgt's shape.
        """
        src, tgt = as_tensor(src), as_tensor(tgt)
        sample = -2 if src.ndim < 3 else 0 if self.batch_first else 1
        fits = (
            src.ndim == tgt.ndim
            and src.ndim in (2, 3)
            and src.shape[-1] == tgt.shape[-1] == self.d_model
        )
        if not fits or (src.ndim == 3 and src.shape[sample] != tgt.shape[sample]):
            raise ShapeError(
                f"Transformer: src and tgt must have as many dimensions, samples and {self.d_model}"
                f" features (d_model), got shapes {src.shape} and {tgt.shape} with"
                f" batch_first={self.batch_first}."
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask (sz, sz) by which a position sees itself and what comes before it: 0 there
        and −∞ elsewhere.
        """
        position = functions.arange(sz, device=device)
        return functions.where(position.reshape(-1, 1) >= position, 0.0, -backend.inf).to(
            dtype or backend.default_dtype()
        )


def _copies(layer: Module, number: int, owner: str) -> ModuleList:
    if type(number) is not int or number < 0:
        raise ValueError(f"{owner}: num_layers must be a whole number from 0 on, got {number!r}.")
    return ModuleList([copy.deepcopy(layer) for _ in range(number)])
