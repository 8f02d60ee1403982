"""ONNX's names of operations: each operator that the reference names gives in ONNX's own reference
implementation what minigrad gives for the sample.
"""

import numpy as np
import pytest
from minigrad.lessons import operation_steps, reference
from minigrad.lessons.onnx_names import ONNX

import minigrad as mg
from minigrad.core.primitive import registry

onnx = pytest.importorskip("onnx", reason='pip install -e ".[oracle]"')

DRAWN = {"random_uniform", "random_normal"}
WHOLE = [np.array(7), np.array(2)]
COMPLEX = np.array([1 + 2j, 0.5 - 1j, 3j])
SAMPLES = {
    "remainder": (WHOLE, {}),  # ONNX has it of whole numbers
    "fft": ([COMPLEX], {"axes": (0,), "inverse": False, "scale": 1.0}),
}


def whole(*numbers):
    return np.array(numbers, np.int64)


def reduced(x, axes, keepdims):
    return [x, whole(*axes)], {"keepdims": int(keepdims)}


def shifted(direction):
    return lambda a, b: ([a.astype("uint64"), b.astype("uint64")], {"direction": direction})


def gates(order, a, weights, *states, bias=None):
    """Operands of a recurrent operator: its input is the gates' input itself, in ONNX's order."""
    size = weights.shape[-1]
    rows = np.concatenate([np.arange(k * size, (k + 1) * size) for k in order])
    nothing = np.array([], np.float32)
    given = [a, np.eye(len(rows))[rows][None], weights[rows][None]]
    given.append(nothing if bias is None else np.r_[0 * bias, bias[rows]][None])
    return [*given, nothing, *(s[None] for s in states)], {"hidden_size": size}


def as_gru(a, h, u, b):
    given, attributes = gates((1, 0, 2), a, u, h, bias=b)
    return given, attributes | {"linear_before_reset": 1}


CALLED = {
    "pow": lambda x, n: ([x, np.array(float(n))], {}),
    "fmod": lambda a, b: ([a, b], {"fmod": 1}),
    "round": lambda x, decimals: ([x], {}),
    "clamp": lambda x, low, high: ([x, np.array(low), np.array(high)], {}),
    "left_shift": shifted("LEFT"),
    "right_shift": shifted("RIGHT"),
    **dict.fromkeys("sum mean amax amin prod logsumexp".split(), reduced),
    **dict.fromkeys(
        ("argmax", "argmin"),
        lambda x, axis, keepdims: ([x], {"axis": axis, "keepdims": int(keepdims)}),
    ),
    **dict.fromkeys(("cumsum", "cumprod"), lambda x, axis: ([x, np.array(axis)], {})),
    **dict.fromkeys(("softmax", "log_softmax"), lambda x, axis: ([x], {"axis": axis})),
    **dict.fromkeys(("reshape", "broadcast_to"), lambda x, shape: ([x, whole(*shape)], {})),
    "permute": lambda x, axes: ([x], {"perm": list(axes)}),
    "cat": lambda *xs, axis, sizes: (list(xs), {"axis": axis}),
    "pad_axis": lambda x, axis, before, after: ([x, whole(before, after)], {}),
    "slice": lambda x, index: ([x, whole(index[0].start), whole(index[0].stop)], {}),
    "getitem": lambda x, index: ([x, index[0][:, None]], {}),
    "index_put": lambda x, values, index, accumulate: ([x, index[0][:, None], values], {}),
    "tril": lambda x, offset: ([x], {"upper": 0}),
    "triu": lambda x, offset: ([x], {"upper": 1}),
    "cast": lambda x, dtype: ([x], {"to": onnx.helper.np_dtype_to_tensor_dtype(dtype)}),
    "affine": lambda x, w, b: ([x, w, b], {"transB": 1}),
    "convolve": lambda x, w, **sizes: ([x, w], {}),
    "convolve_input": lambda g, w, **sizes: ([g, w], {}),
    "max_pool": lambda x, **sizes: ([x[None, None]], {"kernel_shape": [sizes["size"]]}),
    "nll": lambda x, t, axis, ignored: ([x[None], t[None]], {"reduction": "none"}),
    "fft": lambda x, **rest: (
        [np.stack([x.real, x.imag], -1)[None], np.array([], np.int64), np.array(1)],
        {},
    ),
    "rnn": lambda a, h, u, rectified: gates((0,), a, u, h),
    "lstm": lambda a, h, c, u: gates((0, 3, 1, 2), a, u, h, c),
    "gru": as_gru,
}
"""By operation its operands and parameters as ONNX takes them; the others are called as they
are."""
RESULTS = {
    "argwhere": np.transpose,
    "max_pool": lambda y: y[0, 0],
    "nll": lambda y: y[0],
    "fft": lambda y: y[0, :, 0] + 1j * y[0, :, 1],
    **dict.fromkeys(("rnn", "lstm", "gru"), lambda y: y[:, 0]),
}


def by_onnx(operator, inputs, attributes):
    from onnx import helper

    names = [f"x{k}" if one.size else "" for k, one in enumerate(inputs)]
    node = helper.make_node(operator, names, ["y"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype
    given = [
        helper.make_tensor_value_info(name, kind(one.dtype), one.shape)
        for name, one in zip(names, inputs, strict=True)
        if name
    ]
    result = helper.make_tensor_value_info("y", onnx.TensorProto.UNDEFINED, None)
    graph = helper.make_graph([node], "one", given, [result])
    newest = onnx.defs.onnx_opset_version()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", newest)])
    run = onnx.reference.ReferenceEvaluator(model).run
    return run(None, {name: one for name, one in zip(names, inputs, strict=True) if name})[0]


@pytest.mark.parametrize("name", ONNX)
def test_the_operator_computes_what_the_operation_computes(name):
    reference.load()
    import onnx.reference

    assert onnx.defs.has(ONNX[name])
    if name in DRAWN:
        return
    primitive = registry[name]
    operands, parameters = SAMPLES.get(name) or operation_steps.sample(primitive)
    arrays = [np.asarray(one) for one in operands]
    wanted = primitive(*map(mg.tensor, arrays), **parameters)
    wanted = (wanted[0] if isinstance(wanted, tuple) else wanted).numpy()
    called = CALLED.get(name, lambda *given: (list(given), {}))
    found = by_onnx(ONNX[name], *called(*arrays, **parameters))
    found = np.asarray(RESULTS.get(name, lambda y: y)(found))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)
