"""The one seam between minigrad and the array libraries: no other package imports numpy or cupy.

The files, each of which needs only those before it:

- dtypes: their names, the default one, promotion, the numbers that each can hold;
- payload: what every call needs: numerical errors that are ignored, the array types, the library
that computes on each (`array_module`), and what becomes a payload;
- devices: where payloads are, and moving them;
- creation: arrays from numbers, from other libraries, at random;
- layout: strides, views, copies in a given order;
- limits: the smallest and largest values of dtypes;
- kernels: computations that NumPy and CuPy do differently, or that raise with advice;
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
    device_for_numbers,
    device_of,
    device_with_index,
    is_host_number,
    need_cuda,
    same_device,
    to_device,
    to_device_of,
)
from .dtypes import (
    NOT_UPCAST,
    PYTHON_SCALARS,
    SINGLE_OR_DOUBLE,
    DType,
    as_dtype,
    bfloat16_dtype,
    bool_,
    can_write,
    complex64,
    complex128,
    default_dtype,
    dtype_of_kind,
    float16,
    float32,
    float64,
    in_range,
    int8,
    int16,
    int32,
    int64,
    integer_of,
    is_complex,
    is_floating,
    is_narrow,
    modulo,
    promote_types,
    result_type,
    set_default_dtype,
    uint8,
)
from .kernels import (
    allclose,
    broadcast_rows,
    call_linalg,
    divide_integers,
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
    broadcasts,
    copy_in_order,
    copy_with_strides_of,
    diagonal_view,
    fills_memory,
    has_strides_of,
    is_dense,
    is_expanded,
    is_writable,
    overlaps_itself,
    owner_of,
    owns_fresh_memory,
    shares_memory,
    sliding_windows,
    storage_of,
)
from .limits import (
    finfo,
    highest,
    iinfo,
    largest,
    lowest,
    precision,
)
from .npz import load_arrays, save_arrays
from .payload import (
    FLOAT_ERRORS,
    IGNORED,
    IMMUTABLE,
    MODULES,
    NUMPY_PAYLOADS,
    SCALAR_DTYPES,
    Array,
    NumpyArray,
    Shape,
    array_module,
    as_payload,
    canonical,
    ignore_float_errors,
    is_differentiable,
    is_immutable,
    library_of,
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
