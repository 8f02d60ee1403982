"""The functions of neural networks, with PyTorch's names, arguments and conventions
(`torch.nn.functional`): a file for each family.

Most are one line of mathematics in the library's own operations, so their derivatives of every
order follow. What needs more care for accuracy or speed (softmax, normalisation, convolution,
pooling) is declared in ops/network.py, ops/convolution.py and ops/pooling.py. At kinks each takes
the derivative that PyTorch takes. Indices out of range are refused on the CPU; on a GPU, where a
look at them would have to wait for the device, they are not looked at.

What the families share is in arguments.py, and in reduction.py for the losses.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ...errors import no_such_name
from ...functions import logsumexp, sigmoid, tanh
from ...names import offered
from .activations import *  # noqa: F403
from .attention import *  # noqa: F403
from .classification_losses import *  # noqa: F403
from .convolutions import *  # noqa: F403
from .distances import *  # noqa: F403
from .dropouts import *  # noqa: F403
from .embeddings import *  # noqa: F403
from .linear_maps import *  # noqa: F403
from .margin_losses import *  # noqa: F403
from .normalisation import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403
from .regression_losses import *  # noqa: F403
from .resizing import *  # noqa: F403
from .shuffles import *  # noqa: F403

_ON_DEMAND = {
    "affine_grid": "grid_sampling",
    "ctc_loss": "ctc",
    "fractional_max_pool2d": "fractional_pooling",
    "fractional_max_pool3d": "fractional_pooling",
    "grid_sample": "grid_sampling",
}
"""Functions whose files, in minigrad/extras, are loaded on first use."""
__all__ = ["logsumexp", "sigmoid", "tanh", *offered(__name__), *_ON_DEMAND]

if TYPE_CHECKING:
    from ...extras.ctc import *  # noqa: F403
    from ...extras.fractional_pooling import *  # noqa: F403
    from ...extras.grid_sampling import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        """Functions whose files are loaded on first use."""
        if name in _ON_DEMAND:
            return getattr(import_module(f"...extras.{_ON_DEMAND[name]}", __name__), name)
        raise no_such_name(__name__, name, __all__)
