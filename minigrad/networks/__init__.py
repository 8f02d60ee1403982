"""Derivatives of whole networks, as MindSpore builds them: the operator K, GradOperation, Jvp of
two reverse passes, and the networks that they leave behind, as graphs to look at.

    from minigrad import nn
    from minigrad.networks import GradOperation, Jvp, Vjp, bprop_getters, ops

    fprop.py      K(f): the result together with its pullback            start reading here
    gradient.py   GradOperation: which gradients are wanted
    jvp.py        Jvp and Vjp
    ops.py        operations as objects, and rules for your own
    graphs.py     the backward network and the Jvp network, node by node
"""

from . import ops
from .fprop import FreeGradients, fprop
from .gradient import GradOperation, ParameterTuple
from .graphs import Network, NetworkNode, backward_network, backward_trace, jvp_network, jvp_trace
from .jvp import Jvp, Vjp
from .ops import Primitive, bprop_getters

P = ops
"""MindSpore's habitual short name for its operations."""

__all__ = [
    "FreeGradients", "GradOperation", "Jvp", "Network", "NetworkNode", "P", "ParameterTuple",
    "Primitive", "Vjp", "backward_network",
    "backward_trace", "bprop_getters", "fprop", "jvp_network", "jvp_trace", "ops",
]  # fmt: skip
