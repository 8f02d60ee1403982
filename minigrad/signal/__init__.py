"""Signals: windows under the names of `torch.signal.windows`, and the spectrum of a signal as it
changes with time.
"""

import sys

from ..errors import with_hints
from . import spectrum, windows
from .spectrum import istft, stft

__all__ = ["istft", "spectrum", "stft", "windows"]

with_hints(sys.modules[__name__])
