"""A warning where a function makes a plain number of a value that is to be differentiated:
`math.sin(x)`, most often. The picture would be wrong without a word.
"""

import warnings

from ..core.observe import Event
from ..core.tensor import Tensor


def warn_of_plain_number(tensor: Tensor, kind: str) -> None:
    """What the `read` of an observer says of a tensor of the user's that has a history."""
    if kind != "item" and tensor.node is not None:
        warnings.warn(
            f"{kind}() makes a plain number of a tensor here, which is a constant to the"
            " derivative: what is computed from it does not depend on the tensor. Python's"
            " math functions do so too: write mg.sin(x), mg.exp(x) and so on for those of math."
            " Where a number is meant, write x.item().",
            stacklevel=5,
        )


class PlainNumbers:
    """An observer that gives the warning, and notes nothing."""

    def begin(self, event: Event) -> None: ...

    def end(self, event: Event) -> None: ...

    def read(self, tensor: Tensor, kind: str) -> None:
        """Warn of a tensor that was made a number."""
        warn_of_plain_number(tensor, kind)
