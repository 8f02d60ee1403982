"""What lesson 12 hands to the student's side: a long chain of stages, and a look at the memory
that it takes. It knows no answers.
"""

import tracemalloc

import numpy as np

import minigrad as mg


def sample(values):
    """About a thousand of the numbers: the long ones are there for their memory."""
    return values[:: max(len(values) // 1000, 1)]


class Stage:
    """One stage of the chain. It counts how often it is run."""

    def __init__(self, counts, number):
        self.counts, self.number = counts, number

    def __call__(self, x):
        """A hyperbolic sine or an arctangent, as its number is even or odd; each keeps its
        input, and neither forgets where it began.
        """
        self.counts[self.number] += 1
        return mg.sinh(x) if self.number % 2 == 0 else mg.atan(x)


def plain(stages, x):
    """One stage after the other, everything kept."""
    for stage in stages:
        x = stage(x)
    return x


def looked_at(run, stages, x):
    """(result, gradient, peak in bytes beyond what was there before) of run(stages, x).sum()."""
    point = mg.tensor(x, requires_grad=True)
    tracemalloc.start()
    try:
        result = run(stages, point)
        if result is None:
            return None
        if not result.requires_grad:
            raise ValueError(
                "its result has no history, so no gradient gets back to x. Nothing may be computed"
                " under `no_grad`, or detached."
            )
        result.sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return result.detach(), point.grad, peak


def frugal(answers, call, n, length, seed):
    """frugal(stages, x) on n stages: result, gradient, its peak in bytes, the runs of the stage
    that ran most, and how many stages ran. In the batch the grader measures memory from outside,
    and this peak is not used.
    """
    x, counts = np.random.default_rng(seed).uniform(-1, 1, length), [0] * n
    first = [Stage([0] * n, i) for i in range(n)]
    answers[call](first, mg.tensor(x[:4], requires_grad=True))  # whether it keeps its arguments
    stages = [Stage(counts, i) for i in range(n)]
    unwatched = getattr(answers[call], "__wrapped__", answers[call])  # what is kept takes memory
    found = looked_at(unwatched, stages, x)
    if found is None:
        return None
    result, gradient, peak = found
    return {
        "result": sample(result),
        "gradient": sample(gradient),
        "peak": peak,
        "runs": max(counts),
        "ran": sum(count > 0 for count in counts),
    }
