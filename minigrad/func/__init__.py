"""Derivatives and batches as functions of functions, freely nestable: PyTorch's torch.func.

gradients.py    grad(f), value_and_grad(f)    the gradient of a scalar-valued f
                vjp(f, x), jvp(f, (x,), (v,)) one row or column combination of the Jacobian
                linearize(f, x)               the push at x, to be called for many tangents
jacobians.py    jacrev(f), jacfwd(f)          the whole Jacobian, all seeds in one pass
                hessian(f)                    the second derivatives
vmap.py         vmap(f)                       f for a whole batch
modules.py      functional_call(m, parameters)    a module as a function of its parameters
                stack_module_state(modules)       the parameters of an ensemble, to map over
"""

from .gradients import grad, grad_and_value, jvp, linearize, value_and_grad, vjp
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, stack_module_state
from .vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]
