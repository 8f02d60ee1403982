"""The array vocabulary under PyTorch's names: sorting, scans, einsum, splitting, scattering and the
like.

Almost everything here is a combination of functions that have derivatives already, so it has them
too, in both modes and of every order. What is new (scans, diagonals, sorting) is declared in
`ops/`.
"""

from ..names import offered
from .broadcasting import *  # what each file publishes, listed in its __all__  # noqa: F403
from .combinations import *  # noqa: F403
from .gather_scatter import *  # noqa: F403
from .norms import *  # noqa: F403
from .order import *  # noqa: F403
from .products import *  # noqa: F403
from .splitting import *  # noqa: F403
from .stacking import *  # noqa: F403
from .sums import *  # noqa: F403
from .triangles import *  # noqa: F403
from .variances import *  # noqa: F403
from .written_over import *  # noqa: F403

__all__ = offered(__name__)
