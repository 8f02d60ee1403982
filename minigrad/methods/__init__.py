"""The methods and attributes of tensors that are no functions of `mg`; importing this package
attaches them to Tensor.

Methods ending in an underscore work in place. Most methods are functions: minigrad/names.py
attaches those.
"""

from . import autograd, conversion, elements, in_place, missing, numpy_calls, shapes

__all__ = ["autograd", "conversion", "elements", "in_place", "missing", "numpy_calls", "shapes"]
