"""Networks: modules with parameters, the functions that they are made of, and how parameters begin. Names are PyTorch's (`torch.nn`)."""

from . import attention, functional, init, layers, losses, recurrent
from .attention import MultiheadAttention, TransformerEncoderLayer
from .layers import *  # noqa: F403  # listed in layers.__all__
from .layers import Parameter
from .losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from .module import Layer, Module, ModuleList, Sequential, StateError
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

__all__ = [
    "GRU", "LSTM", "RNN", "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "GRUCell", "HuberLoss", "KLDivLoss", "L1Loss", "LSTMCell",
    "Layer",
    "MSELoss", "Module", "ModuleList", "MultiheadAttention", "NLLLoss", "Parameter", "RNNCell", "Sequential", "SmoothL1Loss", "StateError",
    "TransformerEncoderLayer", "attention", "functional", "init", "layers", "losses", "recurrent",
    *layers.__all__,
]  # fmt: skip
