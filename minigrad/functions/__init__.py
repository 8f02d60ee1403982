"""The functions that users call: PyTorch's names and conventions for the operations of
minigrad/ops.

Each takes tensors, arrays, nested lists or numbers and returns a Tensor. Axes may be given as
`dim=` or `axis=`, kept as `keepdim=` or `keepdims=`; negative axes count from the end; a wrong axis
raises IndexError naming the range. `minigrad.arrays` has more of them, made of these.
"""

from ..entry_points import tensor
from ..names import offered
from .arguments import axes_of, axis_of, not_below, plain_index, sizes_of  # noqa: F401
from .creation import *  # what each file publishes, listed in its __all__  # noqa: F403
from .creation import as_tensor_  # noqa: F401
from .elementwise import *  # noqa: F403
from .questions import *  # noqa: F403
from .random import *  # noqa: F403
from .reductions import *  # noqa: F403
from .results import in_own_memory, in_own_memory_or_view  # noqa: F401
from .selection import *  # noqa: F403
from .shapes import *  # noqa: F403

__all__ = ["tensor", *offered(__name__)]
