"""Batching: run a function once for a whole batch of examples.

value.py has the idea, boundary.py how values enter and leave a batch, rules.py how operations run
on it, indexing.py indices that differ between the examples.
"""

from . import rules
from .boundary import check_leaves, check_per_example, drawn, enter, per_example, taken_out
from .indexing import getitem, is_batched_index
from .value import BatchAxis, Batched, all_examples, axes_of, batch_axis

__all__ = [
    "BatchAxis",
    "Batched",
    "all_examples",
    "axes_of",
    "batch_axis",
    "check_leaves",
    "check_per_example",
    "drawn",
    "enter",
    "getitem",
    "is_batched_index",
    "per_example",
    "rules",
    "taken_out",
]
