"""Networks: modules with parameters, the functions that they are made of, and how parameters
begin. Names are PyTorch's (`torch.nn`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import no_such_name
from . import attention, containers, functional, init, layers, losses, recurrent, transformer
from .attention import MultiheadAttention, TransformerEncoderLayer
from .cell import Cell
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # listed in layers.__all__  # noqa: F403
from .losses import *  # listed in losses.__all__  # noqa: F403
from .module import Layer, Module, StateError
from .parameter import Buffer, Parameter
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .transformer import *  # listed in transformer.__all__  # noqa: F403

__all__ = [
    "GRU", "LSTM", "RNN", "Buffer", "Cell", "GRUCell", "LSTMCell", "Layer", "Module", "ModuleDict",
    "ModuleList", "MultiheadAttention",
    "Parameter", "ParameterDict", "ParameterList", "RNNCell", "Sequential", "StateError",
    "TransformerEncoderLayer",
    "attention", "containers", "functional", "init", "layers", "losses", "recurrent",
    "transformer",
    *layers.__all__, *losses.__all__, *transformer.__all__,
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """`utils`, which is loaded on first use."""
        if name == "utils":
            return import_module(".utils", __name__)
        raise no_such_name(__name__, name, globals())
