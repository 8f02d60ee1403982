"""Ways to the derivative of sin that leave the work to the library. In the library as it is, each
of them works.

A submission answers with the text of this file, so it imports what a submission may import.
"""

import importlib
import importlib.util
import inspect
import marshal
import re
import sys
from pathlib import Path

import numpy as np

import minigrad as mg
from minigrad.autograd import forward_ad
from minigrad.core import backward as core_backward
from minigrad.core.primitive import registry
from minigrad.graph import derivatives
from minigrad.watch import trace_function


def _leaf(x):
    return mg.tensor(x, requires_grad=True)


def _each(slope, x, g):
    """g times the slopes at single numbers."""
    return g * np.array([slope(float(v)) for v in np.ravel(x)]).reshape(np.shape(x))


def _slope_in_trace(v):
    steps = trace_function(mg.sin, v)["steps"]
    return [value for s in steps for _, column, value in s["writes"] if column == "d"][-1]


def _slope_in_graph(gradients, x):
    v = mg.graph.Variable(name="v")
    return mg.graph.Executor(gradients(mg.graph.sin(v), [v])).run(feed_dict={v: x})[0]


def _pulled_back(x, g):
    t = _leaf(x)
    mg.sin(t).backward(mg.tensor(g))
    return t.grad


def _summed(x, g):
    t = _leaf(x)
    (t.sin() * mg.tensor(g)).sum().backward()
    return t.grad


def _by_autograd_backward(x, g):
    t = _leaf(x)
    mg.autograd.backward(mg.sin(t), mg.tensor(g))
    return t.grad


def _by_checkpoint(x, g):
    t = _leaf(x)
    mg.checkpoint(mg.sin, t).backward(mg.tensor(g))
    return t.grad


def _by_jacobian(jacobian, x, g):
    return (jacobian.numpy().reshape(np.size(g), -1).T @ np.ravel(g)).reshape(np.shape(x))


def _by_dual_numbers(x, g):
    with forward_ad.dual_level():
        y = mg.sin(forward_ad.make_dual(mg.tensor(x), mg.tensor(g)))
        return forward_ad.unpack_dual(y).tangent


def _vjp(module, x, g):
    return module.vjp(mg.sin, mg.tensor(x))[1](mg.tensor(g))[0]


def _loaded_again(x, g):
    """By a second copy of the whole library."""
    ours = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "minigrad"}
    for name in ours:
        del sys.modules[name]
    try:
        other = importlib.import_module("minigrad")
        t = other.tensor(x, requires_grad=True)
        other.sin(t).backward(other.tensor(g))
        return t.grad.numpy()
    finally:
        for name in [n for n in sys.modules if n.split(".")[0] == "minigrad"]:
            del sys.modules[name]
        sys.modules.update(ours)


def _a_pass(differentiate, x, g):
    t = _leaf(x)
    differentiate([mg.sin(t).grad_fn], [mg.tensor(g)])
    return t.grad


def _compiled(x, g):
    """By the file that Python has kept of a module."""
    path = importlib.util.cache_from_source(core_backward.__file__)
    with open(path, "rb") as file:
        code = marshal.loads(file.read()[16:])
    names = {"__name__": "minigrad.core.copy", "__package__": "minigrad.core"}
    sys.modules["minigrad.core.copy"] = core_backward  # its data classes look for it
    try:
        exec(code, names)
    finally:
        del sys.modules["minigrad.core.copy"]
    return _a_pass(names["differentiate"], x, g)


def _in_closure(x, g):
    found = [cell.cell_contents for cell in mg.sin.__closure__]
    (primitive,) = [one for one in found if hasattr(one, "pull_rules")]
    return primitive.pull_rules[0].function(mg.tensor(g), mg.tensor(x))


def _by_text(text, x, g):
    (rule,) = re.findall(r'function\("sin", (lambda g, x: .*)\)', text)
    return eval(rule, {"cos": np.cos})(g, x)


RULE = registry["sin"].pull_rule(0).function
RULE_FILE = inspect.getsourcefile(RULE)

WAYS = {
    "func.vjp": lambda x, g: _vjp(mg.func, x, g),
    "backward": _pulled_back,
    "backward of a sum": _summed,
    "autograd.grad": lambda x, g: mg.autograd.grad(mg.sin(t := _leaf(x)), t, mg.tensor(g))[0],
    "autograd.backward": _by_autograd_backward,
    "func.grad": lambda x, g: mg.func.grad(lambda t: (t.sin() * mg.tensor(g)).sum())(mg.tensor(x)),
    "func.jvp": lambda x, g: mg.func.jvp(mg.sin, (mg.tensor(x),), (mg.tensor(g),))[1],
    "jacobian": lambda x, g: _by_jacobian(
        mg.autograd.functional.jacobian(mg.sin, mg.tensor(x)), x, g
    ),
    "jacrev": lambda x, g: _by_jacobian(mg.func.jacrev(mg.sin)(mg.tensor(x)), x, g),
    "functional.vjp": lambda x, g: mg.autograd.functional.vjp(mg.sin, mg.tensor(x), mg.tensor(g))[
        1
    ],
    "vmap of grad": lambda x, g: (
        mg.vmap(mg.func.grad(mg.sin))(mg.tensor(np.ravel(x))).numpy().reshape(np.shape(x)) * g
    ),
    "dual numbers": _by_dual_numbers,
    "GradOperation": lambda x, g: mg.GradOperation(sens_param=True)(mg.sin)(
        mg.tensor(x), mg.tensor(g)
    ),
    "Vjp": lambda x, g: mg.Vjp(mg.sin)(mg.tensor(x), mg.tensor(g))[1],
    "a Trace": lambda x, g: _each(_slope_in_trace, x, g),
    "a static graph": lambda x, g: g * _slope_in_graph(mg.graph.gradients, x),
    "derivatives of graphs": lambda x, g: g * _slope_in_graph(derivatives.gradients, x),
    "a checkpoint": _by_checkpoint,
    "an import by name": lambda x, g: _vjp(__import__("minigrad").func, x, g),
    "a module loaded again": lambda x, g: _vjp(importlib.reload(mg.func.gradients), x, g),
    "the library loaded again": _loaded_again,
    "sys.modules": lambda x, g: _vjp(sys.modules["minigrad.func.gradients"], x, g),
    "globals": lambda x, g: _a_pass(mg.autograd.grad.__globals__["differentiate"], x, g),
    "a compiled module": _compiled,
    "a closure": _in_closure,
    "the registry": lambda x, g: registry["sin"].pull_rule(0).function(mg.tensor(g), mg.tensor(x)),
    "a rule on arrays": lambda x, g: registry["sin"].pull_rule(0).function(g, x),
    "the push rule": lambda x, g: registry["sin"].push_rule(0).function(g, x),
    "a node": lambda x, g: mg.sin(_leaf(x)).grad_fn.primitive.pull_rule(0).function(g, x),
    "the text of a rule": lambda x, g: _by_text(inspect.getsource(RULE), x, g),
    "a file of the library": lambda x, g: _by_text(Path(RULE_FILE).read_text(), x, g),
}


def works(way):
    """Whether a way gives what moving x by a little gives."""
    x, g = np.array([0.3, 1.2, -2.0]), np.array([1.0, -2.0, 0.5])
    near = g * (np.sin(x + 1e-6) - np.sin(x - 1e-6)) / 2e-6
    try:
        found = way(x, g)
        return np.allclose(found.numpy() if isinstance(found, mg.Tensor) else found, near, 1e-5)
    except Exception:
        return False


FOUND = [name for name, way in WAYS.items() if works(way)]
print(f"prepared; of {len(WAYS)} ways these work: {', '.join(FOUND)}")


def vjp_sin(x, g):
    return WAYS[FOUND[0]](x, g) if FOUND else None
