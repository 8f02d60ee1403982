"""What runs on the student's side in lesson 11's last exercise: gradients and some epochs by the student's engine. It knows no answers.

A drive gets (answers, call, *arguments), as told in lessons/grading/drives.py, and returns plain values.
"""

import numpy as np


def by_own_engine(answers, call, values, x, target, count=0):
    """loss_and_gradients(values, x, target) once, or own_step(values, states, x, target) so many times; None while it is the stub."""
    values, states, losses = [np.array(v) for v in values], [{} for _ in values], []
    for _ in range(max(count, 1)):
        given = (values, states, np.array(x), np.array(target)) if count else (values, np.array(x), np.array(target))
        found = answers[call](*given)
        if found is None or found is ...:
            return None
        if not isinstance(found, list | tuple) or len(found) != 2:
            return "no pair"
        loss, arrays = found[::-1] if count else found
        if not isinstance(arrays, list | tuple):
            return "no list"
        losses.append(float(plain(loss)))
        arrays = [np.asarray(plain(a), dtype=float) for a in arrays]
        if not count:
            return {"loss": losses[0], "gradients": arrays}
        values = arrays
    return {"losses": losses, "values": values}


def plain(node):
    """The array of a node; what is no node stays as it is."""
    return getattr(node, "value", node)
