"""What to write instead of names of PyTorch, NumPy, JAX, micrograd and SINGA that are not offered.
Loaded by the first error that asks.

A name that the library has in another place is found there (`mg.StepLR` is
`mg.optim.lr_scheduler.StepLR`). For all others there is one table, by where the name is looked for.
An entry is what to write; one that ends in a full stop is a sentence of its own.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

_NO_SPARSE = "Tensors are dense here: there are no sparse layouts."
_NO_LAZY = "There are no lazy modules: give the number of inputs to the layer itself."
_ONE_DEVICE = "There is one process here: training is not distributed."
_NO_AMP = "There is no automatic mixed precision: convert with model.half() or x.half()."
_NO_RANDOM_MODULE = (
    "Random numbers are functions of mg: rand, randn, randint, randperm, normal, manual_seed."
)
_DISTRIBUTIONS = (
    "There are no distributions: draw with rand, randn, bernoulli, multinomial, and write the"
    " log-probability out."
)
_NO_QUANTISED = "There are no quantised tensors: x.to(mg.int8) rounds towards zero."
_NO_FLOAT8 = "float16 and bfloat16 are the smallest floating dtypes."
_NO_STORAGE = "A tensor's memory is an array of NumPy: x.numpy()."
_FOLD = "conv.weight * (bn.weight / (bn.running_var + bn.eps).sqrt()), written out"
_PYTHONS_LOOPS = (
    "The operations of lax are functions of mg, and Python's loops and branches are differentiated"
    " as they are."
)
_MICROGRAD = "nn.Sequential of nn.Linear and nn.Tanh"


def _each(hints: dict[str, str]) -> dict[str, str]:
    """One hint for several names, which it is given beside them."""
    return {name: hint for hint, names in hints.items() for name in names.split()}


_TOP = {
    **_each(
        {
            "as_tensor": "asarray asanyarray",
            _NO_AMP: (
                "autocast amp GradScaler is_autocast_enabled get_autocast_dtype "
                "set_autocast_enabled"
            ),
            "manual_seed": "seed initial_seed PRNGKey",
            "x.device": "get_default_device get_device",
            "the environment variable OPENBLAS_NUM_THREADS": (
                "set_num_threads get_num_threads set_num_interop_threads"
            ),
            "linalg.eigh": "symeig lobpcg",
            "x.numpy()": "to_dlpack to_numpy",
            _NO_SPARSE: (
                "sparse layout strided sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor "
                "sparse_compressed_tensor"
            ),
            _ONE_DEVICE: "distributed multiprocessing",
            "graph.trace": "fx export make_jaxpr sonnx",
            "autograd.Function": "library custom_jvp custom_vjp custom_gradient primitive defvjp",
            "cuda": "mps xpu",
            "mg.tensor(…, requires_grad=True)": "Variable Value engine",
            _NO_STORAGE: "UntypedStorage TypedStorage FloatStorage",
            _NO_QUANTISED: (
                "quantize_per_tensor quantize_per_channel fake_quantize_per_tensor_affine "
                "quantization qint8 quint8"
            ),
            _NO_FLOAT8: "float8_e4m3fn float8_e5m2",
            "vmap": "pmap vectorize",
            "x.cpu()": "device_get to_host",
            "round": "around rint",
            "masked_select": "compress extract",
            "nn.functional.conv1d": "convolve correlate",
            "save": "savetxt savez",
            "y.draw_graph(), after `from minigrad import viz`": "draw_dot trace_graph",
            "nn": "layer loss",
            "nn.Module": "model Model",
        }
    ),
    # PyTorch
    "as_strided": "as_strided_copy, or x.unfold, slices or x.view(…) for a view",
    "chain_matmul": "linalg.multi_dot",
    "default_generator": "mg.manual_seed, mg.get_rng_state and mg.set_rng_state",
    "Generator": "mg.manual_seed, or seed= of DataLoader and random_split",
    "FloatTensor": "mg.tensor(…), of dtype float32",
    "DoubleTensor": "mg.tensor(…, dtype=mg.float64)",
    "HalfTensor": "mg.tensor(…, dtype=mg.float16)",
    "LongTensor": "mg.tensor(…, dtype=mg.int64)",
    "IntTensor": "mg.tensor(…, dtype=mg.int32)",
    "ShortTensor": "mg.tensor(…, dtype=mg.int16)",
    "CharTensor": "mg.tensor(…, dtype=mg.int8)",
    "BoolTensor": "mg.tensor(…, dtype=mg.bool_)",
    "ByteTensor": "mg.tensor(…, dtype=mg.uint8)",
    "set_default_tensor_type": "set_default_dtype",
    "set_default_device": "device= of the function that makes the tensor",
    "set_printoptions": "numpy.set_printoptions",
    "use_deterministic_algorithms": "Results are deterministic on the CPU already.",
    "orgqr": "linalg.householder_product",
    "frobenius_norm": "linalg.matrix_norm",
    "nuclear_norm": "linalg.matrix_norm(x, 'nuc')",
    "adjoint": "x.mH",
    "is_conj": "Conjugation is computed at once here.",
    "range": "arange",
    "from_file": "mg.tensor(numpy.fromfile(…))",
    "frombuffer": "mg.tensor(numpy.frombuffer(…))",
    "channels_last": "There are no memory formats: images are (N, C, H, W).",
    "contiguous_format": "There are no memory formats: x.contiguous() makes a tensor contiguous.",
    "preserve_format": "There are no memory formats: x.contiguous() makes a tensor contiguous.",
    "distributions": _DISTRIBUTIONS,
    "jit": "compile",
    "onnx": "There is no export to ONNX: mg.save keeps weights, mg.graph.trace shows the graph.",
    "vjp": "Write mg.func.vjp.",
    "hub": "nn.Sequential, and load_state_dict of weights that you have",
    "backends": "cuda.is_available",
    "cpu": "x.cpu(), or device='cpu'",
    "compiler": "There is one compiler, and one function for it: mg.compile.",
    "lstm": "nn.LSTM",
    "gru": "nn.GRU",
    "affine_grid_generator": "nn.functional.affine_grid",
    "grid_sampler": "nn.functional.grid_sample",
    "convolution": "nn.functional.conv2d",
    "native_dropout": "nn.functional.dropout",
    "native_layer_norm": "nn.functional.layer_norm",
    "native_batch_norm": "nn.functional.batch_norm",
    "native_group_norm": "nn.functional.group_norm",
    "max_pool1d_with_indices": "nn.functional.max_pool1d(…, return_indices=True)",
    "rnn_tanh": "nn.RNN",
    "rnn_relu": "nn.RNN(…, nonlinearity='relu')",
    "rnn_tanh_cell": "nn.RNNCell",
    "rnn_relu_cell": "nn.RNNCell(…, nonlinearity='relu')",
    "lstm_cell": "nn.LSTMCell",
    "gru_cell": "nn.GRUCell",
    "bartlett_window": "signal.windows.bartlett",
    "blackman_window": "signal.windows.blackman",
    "hamming_window": "signal.windows.hamming",
    "hann_window": "signal.windows.hann",
    "kaiser_window": "signal.windows.kaiser",
    "poisson": "mg.tensor(numpy.random.poisson(x.numpy()))",
    "binomial": "bernoulli of an expanded tensor, and its sum",
    "norm_except_dim": "nn.utils.parametrizations.weight_norm",
    "empty_strided": "empty",
    "empty_permuted": "empty(…).permute(…)",
    "resize_as_": "x.reshape_as(y)",
    "select_copy": "x.select(dim, index).clone()",
    "slice_copy": "x[a:b].clone()",
    "split_copy": "a .clone() of each part of x.split(size)",
    "is_signed": "x.dtype.kind in 'if'",
    "is_neg": "Negation is computed at once here.",
    "is_same_size": "x.shape == y.shape",
    "typename": "type(x).__name__",
    "memory_format": "There are no memory formats: images are (N, C, H, W).",
    "Stream": "Work on a device is in order of its calls: there are no streams.",
    "OutOfMemoryError": "MemoryError, Python's own",
    "set_float32_matmul_precision": "Products of float32 have the precision of float32.",
    "get_float32_matmul_precision": "Products of float32 have the precision of float32.",
    "set_flush_denormal": "Numbers below the smallest normal one are kept.",
    "are_deterministic_algorithms_enabled": "Results are deterministic on the CPU already.",
    "set_warn_always": "warnings.simplefilter of Python's warnings",
    # JAX
    "grad": "mg.func.grad, or mg.autograd.grad of results",
    "jacobian": "func.jacrev, or autograd.functional.jacobian",
    "lax": _PYTHONS_LOOPS,
    **dict.fromkeys("fori_loop while_loop scan switch".split(), _PYTHONS_LOOPS),
    "numpy": "The functions are those of mg: mg.sin, mg.matmul, …; x.numpy() gives a NumPy array.",
    "jnp": "mg",
    "np": "The functions are those of mg: mg.sin, mg.matmul, …; x.numpy() gives a NumPy array.",
    "einops": "mg.einsum, x.reshape, x.permute and x.flatten",
    "random": _NO_RANDOM_MODULE,
    "tree_util": "func.tree",
    "stop_gradient": "x.detach()",
    "device_put": "x.to(device)",
    "disable_jit": "the function itself, as it was before mg.compile",
    "enable_x64": "set_default_dtype(mg.float64)",
    "remat": "checkpoint",
    "ravel_pytree": "nn.utils.parameters_to_vector",
    "tree_map": "func.functional_call, which takes a dict of parameters",
    "block_until_ready": "Results are there when the function returns.",
    # NumPy
    "array": "tensor",
    "ascontiguousarray": "x.contiguous()",
    "ndarray": "Tensor",
    "append": "cat",
    "average": "mean",
    "broadcast_arrays": "broadcast_tensors",
    "cbrt": "x ** (1 / 3), for x ≥ 0",
    "choose": "gather",
    "conjugate": "conj",
    "copy": "clone",
    "degrees": "rad2deg",
    "delete": "indexing with the entries to keep",
    "digitize": "bucketize",
    "expand_dims": "unsqueeze",
    "fabs": "abs",
    "flatnonzero": "nonzero",
    "fromfunction": "func.vmap",
    "geomspace": "logspace",
    "identity": "eye",
    "interp": "lerp",
    "invert": "bitwise_not",
    "isscalar": "x.ndim == 0",
    "ln": "log",
    "matrix_transpose": "x.mT",
    "mod": "remainder",
    "nanmax": "amax after nan_to_num",
    "nanmin": "amin after nan_to_num",
    "permute_dims": "permute",
    "power": "pow",
    "put_along_axis": "scatter",
    "radians": "deg2rad",
    "repeat": "repeat_interleave, or x.repeat",
    "resize": "reshape",
    "shape": "x.shape",
    "size": "x.numel()",
    "take_along_axis": "take_along_dim",
    "tri": "tril of ones",
    "union1d": "unique of cat",
    "unstack": "unbind",
    # HIPS autograd
    "elementwise_grad": "vmap of func.grad",
    "make_vjp": "func.vjp",
    "make_jvp": "func.jvp",
    "hessian_vector_product": "autograd.functional.hvp",
    # micrograd
    "Neuron": "nn.Linear(n, 1)",
    "MLP": _MICROGRAD,
    "Layer": "nn.Linear",
    "topo": "Tensor.backward, which finds the order",
    # SINGA
    "initializer": "nn.init",
    "metric": "(y.argmax(1) == t).float().mean()",
    "snapshot": "save and load",
    "gaussian": "randn, or x.normal_(mean, std)",
    "uniform": "rand, or x.uniform_(low, high)",
    "softmaxcrossentropy": "nn.functional.cross_entropy",
}
_LAYERS = {
    **_each(
        {
            _ONE_DEVICE: "DataParallel parallel",
            _NO_LAZY: "LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyBatchNorm1d LazyBatchNorm2d",
            "Unflatten, or Flatten": "Reshape View",
        }
    ),
    "AdaptiveLogSoftmaxWithLoss": "Linear with CrossEntropyLoss",
    "SyncBatchNorm": "There is one process here: BatchNorm1d, BatchNorm2d or BatchNorm3d.",
    "quantized": _NO_QUANTISED,
    "CrossMapLRN2d": "LocalResponseNorm",
    "NLLLoss2d": "NLLLoss",
    "Dense": "Linear",
    "LayerNormalization": "LayerNorm",
    "BatchNormalization": "BatchNorm2d",
    "Conv": "Conv2d",
    "MaxPooling2D": "MaxPool2d",
    "MLP": "Sequential of Linear and Tanh",
    "Neuron": "Linear(n, 1)",
    "Swish": "SiLU",
    "Lambda": "A plain function may be a member of Sequential.",
    "BCEWithLogits": "BCEWithLogitsLoss",
    "MSE": "MSELoss",
    "SoftmaxCrossEntropyWithLogits": "CrossEntropyLoss",
    "WithLossCell": "a Module that calls the network and the loss",
    "TrainOneStepCell": "mg.compile of a function with the step",
}
_FUNCTIONAL = {
    "swish": "silu",
    "softmax_cross_entropy": "cross_entropy",
    "sparse_categorical_crossentropy": "cross_entropy",
    "conv": "conv2d",
}
_INIT = {
    name: f"{name}_, which fills the tensor in place"
    for name in (
        "uniform normal constant eye xavier_uniform xavier_normal kaiming_uniform kaiming_normal"
        " orthogonal dirac sparse"
    ).split()
}
_OPTIMISERS = {
    "ADAM": "Adam",
    "Adafactor": "Adam",
    "Muon": "SGD with momentum",
    "SparseAdam": "Adam, for gradients are dense here",
    "Momentum": "SGD(…, momentum=0.9)",
    "Nesterov": "SGD(…, momentum=0.9, nesterov=True)",
    "AdamWeightDecay": "AdamW",
    "GradientDescent": "SGD",
    "DistOpt": _ONE_DEVICE,
    "swa_utils": "the mean of several states: load_state_dict of averages",
}
_DATA = {
    "IterableDataset": "Dataset with __len__ and __getitem__",
    "ChainDataset": "ConcatDataset",
    "StackDataset": "TensorDataset",
    "DistributedSampler": _ONE_DEVICE,
    "get_worker_info": "Batches are made in the process itself, without workers.",
    "default_convert": "as_tensor of the parts",
    "MNIST": "data.mnist(folder)",
    "load_digits": "digits",
    "make_moons": "two_moons",
    "moons": "two_moons",
    "make_circles": "disc",
    "circles": "disc",
}
_AUTOGRAD = {
    "ReduceSum": "mg.sum",
    "ReduceMean": "mg.mean",
    "Value": "mg.tensor(…, requires_grad=True)",
    "no_grad_": "no_grad",
    "grad_enabled": "enable_grad",
}
_FUNC = {
    "functionalize": "A function that changes its arguments in place is differentiated as it is.",
    "jacobian": "jacrev or jacfwd",
    "gradient": "grad",
}
_LINALG = {
    "transpose": "x.mT",
    "pseudo_inverse": "pinv",
    "inverse": "inv",
    "ldl_factor": "lu_factor",
}
_UTILS = {
    **_each(
        {
            _FOLD: (
                "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights"
            ),
        }
    ),
    "prune": "parametrize, with a mask as the parametrization",
    "stateless": "func.functional_call",
    "orthogonal": "init.orthogonal_, or parametrizations.orthogonal",
    "clip_grad_norm": "clip_grad_norm_",
    "clip_grad_value": "clip_grad_value_",
    "skip_init": "the layer itself, whose first numbers take no time worth saving",
    "convert_conv2d_weight_memory_format": "Weights are (out, in, H, W), without other formats.",
}
_TENSOR = {
    **_each(
        {
            _NO_SPARSE: "coalesce to_sparse to_dense indices is_sparse layout to_sparse_csr",
            "x": "pin_memory share_memory_",
            "x.numpy()": "storage untyped_storage storage_type",
            "cuda": "xpu mps",
            _NO_QUANTISED: "is_quantized int_repr",
            "copy_": "module_load copy_from_numpy_",
            "grad": "gradient grads",
            "len(x)": "len length",
            "numpy()": "to_numpy toarray values",
            "x.grad_fn.next_functions": "_prev _children",
            "requires_grad": (
                "require_grad require_gradient requires_gradient required_grad requiregrad "
                "requiresgrad req_grad"
            ),
        }
    ),
    # PyTorch
    "apply_": "map_ values with mg's functions, which work on all elements at once",
    "as_strided": "mg.as_strided_copy(x, …), or x.unfold, slices or x.view(…) for a view",
    "storage_offset": "x.data_ptr(), which tells whether tensors share memory",
    "as_subclass": "an attribute of a class of your own",
    "lstsq": "mg.linalg.lstsq(a, b)",
    "solve": "mg.linalg.solve(a, b)",
    "symeig": "mg.linalg.eigh(x)",
    "prelu": "mg.nn.functional.prelu(x, weight)",
    "stft": "mg.stft(x, …)",
    "istft": "mg.istft(x, …)",
    "name": "Tensors have no names: keep them in a dict, or as attributes of a Module.",
    "label": "Tensors have no names: keep them in a dict, or as attributes of a Module.",
    "new": "x.new_zeros(…) or x.new_tensor(…)",
    "volatile": "mg.no_grad()",
    "sparse_mask": "masked_fill",
    "map_": "apply a function of mg to both tensors",
    "map2_": "apply a function of mg to the three tensors",
    "narrow_copy": "narrow(dim, start, length).clone()",
    "new_empty_strided": "new_empty",
    "is_conj": "Conjugation is computed at once here.",
    "is_neg": "Negation is computed at once here.",
    "is_shared": "Tensors are not shared among processes.",
    "is_meta": "Every tensor has values.",
    # NumPy
    "append": "mg.cat",
    "astype": "to(dtype)",
    "copy": "clone()",
    "conjugate": "conj()",
    "flat": "flatten()",
    "partition": "topk",
    "power": "pow",
    "resize": "reshape",
    "to_device": "to(device)",
    "tobytes": "x.numpy().tobytes()",
    "tofile": "mg.save(x, file)",
    # JAX
    "at": "mg.index_put, or x[i] = value",
    "block_until_ready": "Results are there when the function returns.",
    # micrograd
    "value": "item()",
    "zero_grad": "x.grad = None",
    "_op": "x.grad_fn",
    "_backward": "x.backward()",
    "draw_dot": "draw_graph",
    # SINGA
    "gaussian_": "gaussian",
    "set_data": "set_value",
    "to_host": "cpu()",
    # near misses of what can be set
    "store_grad": "stores_grad",
}

_CUDA = {
    **_each(
        {
            _ONE_DEVICE: "nccl comm",
            "mg.compile": "graphs CUDAGraph",
        }
    ),
    "amp": _NO_AMP,
    "nvtx": "profiler",
}

TABLE: dict[str, dict[str, str]] = {
    "Tensor": _TENSOR,
    "minigrad": _TOP,
    "minigrad.autograd": _AUTOGRAD,
    "minigrad.cuda": _CUDA,
    "minigrad.data": _DATA,
    "minigrad.core": {"Value": "mg.tensor(…, requires_grad=True)"},
    "minigrad.func": _FUNC,
    "minigrad.linalg": _LINALG,
    "minigrad.nn": _LAYERS,
    "minigrad.nn.functional": _FUNCTIONAL,
    "minigrad.nn.init": _INIT,
    "minigrad.nn.utils": _UTILS,
    "minigrad.optim": _OPTIMISERS,
    "minigrad.utils": {
        "tensorboard": "viz.Live, after `from minigrad import viz`",
        "cpp_extension": "autograd.Function",
        "dlpack": "x.numpy()",
    },
}


PLACES = """
    nn nn.functional optim optim.lr_scheduler nn.init nn.utils nn.utils.rnn
    nn.utils.parametrizations nn.utils.parametrize linalg special fft signal signal.windows
    func autograd autograd.functional autograd.forward_ad autograd.profiler autograd.graph
    data masked cuda training
""".split()
"""The modules in which names are looked for, the likelier ones first."""


@cache
def elsewhere() -> dict[str, str]:
    """The public names of the library, and how each is written: the functions of `mg`, then those
    of `PLACES` and these themselves, then the methods of tensors."""
    found: dict[str, str] = {}
    for path in ("", *PLACES):
        module, dot = import_module(f"minigrad.{path}".rstrip(".")), "." if path else ""
        for name in _public(module):
            found.setdefault(name, f"mg.{path}{dot}{name}")
    for path in PLACES:
        found.setdefault(path.rpartition(".")[2], f"mg.{path}")
    for name, value in sys.modules["minigrad.names"].attached.items():
        if not name.startswith("_"):
            found.setdefault(name, f"x.{name}()" if callable(value) else f"x.{name}")
    return found


def _public(module: ModuleType) -> list[str]:
    """What a module lists in its `__all__`; else the functions and classes that it defines."""
    space: dict[str, Any] = vars(module)
    own = [n for n, v in [*space.items()] if getattr(v, "__module__", None) == module.__name__]
    return [n for n in space.get("__all__", own) if not n.startswith("_")]


def spelt(name: str) -> str:
    """A name without what libraries write differently: the case of letters, underscores."""
    return name.replace("_", "").lower()


def instead_of(place: str, name: str) -> str | None:
    """What the table says, whatever the case of the letters, or where the library has the name;
    None for all others. A function that NumPy alone has is named as that."""
    entries = TABLE.get(place, {})
    if name in entries:
        return entries[name]
    known = (text for key, text in entries.items() if spelt(key) == spelt(name))
    found = next(known, None) or elsewhere().get(name)
    if place == "Tensor" and found == elsewhere().get(name) and name.islower() and found:
        return f"{found}(x)"
    if (
        found is None
        and place == "minigrad"
        and callable(getattr(sys.modules["numpy"], name, None))
    ):
        return f"numpy.{name}, on x.numpy(): no gradient goes through it"
    return found
