"""What runs on the student's side in lessons 14 and 16: a function of a tensor is called, and its
value and its gradient are sent.

There is nothing to find in it: it uses the student's code, and does not know what is right. A drive
gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain values.
"""

import numpy as np

import minigrad as mg


def value_and_gradient(answers, call, x):
    """function(tensor) -> tensor: its value, and the gradient of the sum of its elements. Where
    nothing reaches x, the gradient is zero.
    """
    leaf = mg.tensor(np.array(x), dtype=mg.float64, requires_grad=True)
    out = answers[call](leaf)
    if out is None or not hasattr(out, "detach"):
        return out
    if out.requires_grad:
        out.sum().backward()
    gradient = np.zeros(np.shape(x)) if leaf.grad is None else np.array(leaf.grad.numpy())
    return {"value": np.array(out.detach().numpy()), "gradient": gradient}
