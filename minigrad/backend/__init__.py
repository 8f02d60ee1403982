"""The one seam between minigrad and the array libraries: no other package imports numpy or cupy.

The files, each of which needs only those before it:

- dtypes: their names, promotion, limits;
- float_errors: which numerical errors are ignored and which raise;
- payload: the array types, the library that computes on each (`array_module`), and what becomes a
payload;
- devices: where payloads are, and moving them;
- creation: arrays from numbers, from other libraries, at random;
- layout: strides, views, copies in a given order;
- kernels: computations that NumPy and CuPy do differently;
- printing; npz (files).
"""

from .creation import (
    arange,
    e,
    eye,
    from_dlpack,
    full,
    identity_columns,
    index_array,
    inf,
    linspace,
    nan,
    pi,
    random_generator,
)
from .devices import (
    Device,
    cuda_is_available,
    device_of,
    device_with_index,
    need_cuda,
    same_device,
    to_device,
    to_device_of,
)
from .dtypes import (
    FAST_DTYPES,
    PYTHON_SCALARS,
    Array,
    DType,
    Shape,
    as_dtype,
    bfloat16_dtype,
    bool_,
    complex64,
    complex128,
    default_dtype,
    dtype_of_kind,
    finfo,
    float16,
    float32,
    float64,
    highest,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    is_complex,
    is_differentiable,
    is_floating,
    is_narrow,
    largest,
    lowest,
    precision,
    promote_types,
    result_type,
    set_default_dtype,
    uint8,
)
from .float_errors import call_linalg, divide_integers, ignore_float_errors
from .kernels import (
    allclose,
    broadcast_rows,
    erf_function,
    erfc_function,
    lgamma_function,
    scatter_add,
    scatter_extreme_at,
)
from .layout import (
    array_in_storage,
    axis_order,
    broadcast_view,
    copy_in_order,
    copy_with_strides_of,
    diagonal_view,
    has_strides_of,
    is_dense,
    is_expanded,
    is_writable,
    overlaps_itself,
    owns_fresh_memory,
    shares_memory,
    sliding_windows,
    storage_of,
)
from .npz import load_arrays, save_arrays
from .payload import (
    IMMUTABLE,
    MODULES,
    NUMPY_PAYLOADS,
    SCALAR_DTYPES,
    NumpyArray,
    array_module,
    as_payload,
    canonical,
    device_context,
    is_immutable,
    load_cupy,
    materialise,
    numpy,
    on_device,
    ones,
    register_array_type,
    to_numpy,
    zeros,
)
from .printing import format_array
