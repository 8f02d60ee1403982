"""The public functions on nodes: values and gradients of the table of tests/autograd are those of
the eager engine.

With declared shapes every function works as it is (`mg.f(node)`). With undeclared ones
`mg.graph.f(node)` waits for the run.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import graph
from tests.autograd.test_every_function import CALLS
from tests.helpers.tables import in_one_test

SEVERAL = {"where-indices", "nonzero"}


def values_of(result):
    return list(result) if isinstance(result, tuple | list) else [result]


@in_one_test
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("call", CALLS, ids=lambda c: c.id)
def test_each_function_gives_eager_values_and_gradients(call, declared: bool) -> None:
    for kind in call.kinds:
        arrays = call.arrays(kind)
        leaves = [mg.tensor(a, requires_grad=True) for a in arrays]
        want = values_of(call.run(mg, *leaves))
        xs = [
            graph.Variable(
                f"x{i}", a.shape if declared else None, a.dtype if declared or kind == "c" else None
            )
            for i, a in enumerate(arrays)
        ]
        if declared:
            got = values_of(call.run(mg, *xs))
        elif len(want) == 1:
            got = [graph.call(lambda *a, call=call: values_of(call.run(mg, *a))[0], *xs)]
        else:
            continue
        assert all(isinstance(y, graph.Node) for y in got) and len(got) == len(want)
        pairs = [(y, w) for y, w in zip(got, want, strict=True) if w.requires_grad]
        nodes = [*got, *(g for y, _ in pairs for g in graph.gradients(y, xs))]
        feeds = dict(zip(xs, arrays, strict=True))
        used = set(graph.find_topo_sort(nodes))
        results = graph.Executor(nodes).run({x: a for x, a in feeds.items() if x in used})
        expected = list(want)
        for _, w in pairs:
            expected += mg.autograd.grad(
                w,
                leaves,
                mg.ones_like(w),
                allow_unused=True,
                materialize_grads=True,
                retain_graph=True,
            )
        for result, w in zip(results, expected, strict=True):
            w = w.detach().numpy()
            assert result.dtype == w.dtype and result.shape == w.shape, call.id
            np.testing.assert_allclose(result, w, rtol=1e-12, atol=1e-12, err_msg=call.id)
