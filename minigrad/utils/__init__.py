"""PyTorch's names (`torch.utils`) of what is elsewhere here: `utils.data` is minigrad.data,
`utils.checkpoint` recomputation.
"""

import sys

from .. import data
from ..errors import with_hints
from . import checkpoint

__all__ = ["checkpoint", "data"]
sys.modules[f"{__name__}.data"] = data  # for `from minigrad.utils.data import DataLoader`
with_hints(sys.modules[__name__])
