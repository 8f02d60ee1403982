"""Layers: functions of `functional` together with their parameters and settings. Names, arguments,
parameter names and initialisation are PyTorch's.
"""

from ...names import offered
from .activation import *  # noqa: F403
from .convolution import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .linear import *  # noqa: F403
from .normalisation import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403
from .shape import *  # noqa: F403

__all__ = offered(__name__)
