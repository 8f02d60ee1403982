"""What training scripts do to parameters and sequences: clip gradients, join parameters to a
vector, compute a weight from others, pack sequences of several lengths. Names are PyTorch's
(`torch.nn.utils`).

    optim/clip.py       clip_grad_norm_, clip_grad_value_, get_total_norm: gradients within bounds
    vectors.py          parameters_to_vector, vector_to_parameters: all parameters as one vector
    parametrize.py      parametrize, parametrizations: a weight as a function of other parameters
    normalisation.py    weight_norm, spectral_norm, remove_…: the older form of these, by a hook
    rnn.py              rnn: sequences of several lengths
"""

from ...errors import no_such_name
from ...optim.clip import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from . import parametrizations, parametrize, rnn
from .normalisation import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from .vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "parametrizations",
    "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm",
    "vector_to_parameters", "weight_norm",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Names that are nowhere else."""
    raise no_such_name(__name__, name, globals())
