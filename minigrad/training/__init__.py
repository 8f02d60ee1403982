"""Long training: progress that can be seen, and a run that can be interrupted at any moment and
goes on as if nothing had happened.

loop.py             epochs(20, save="run.npz", model=model, …): the epochs still to do, with a bar,
                    saved as they are done
progress.py         progress(items): any loop with a bar
serialization.py    CheckpointError: why a saved run cannot be taken up; nothing was changed

What is saved of a model, an optimiser, a list (state.py) and how it gets into one file that is
whole at every moment (../serialization.py) can be read apart from each other.
"""

import sys

from ..errors import with_hints
from ..serialization import CheckpointError
from .loop import epochs
from .progress import progress

__all__ = ["CheckpointError", "epochs", "progress"]

with_hints(sys.modules[__name__])
