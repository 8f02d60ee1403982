"""Values that wait for the reverse pass: looking at them, keeping them in another form or place,
and overwriting them.
"""

from . import attributes
from .mutation import allow_mutation_on_saved_tensors
from .packing import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "allow_mutation_on_saved_tensors",
    "attributes",
    "disable_saved_tensors_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
]
