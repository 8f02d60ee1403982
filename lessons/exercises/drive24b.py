"""What lesson 24b hands to the student's side: draws of letters. It knows no answers.

A drive gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain
values.
"""

import numpy as np


def even(draws):
    """So many numbers u at equal distances, 0 ≤ u < 1; the first is 0 itself."""
    u = (np.arange(draws) + 0.5) / draws
    u[0] = 0.0
    return u


def picks(answers, call, chances, draws):
    """How often pick(chances, u) gives each letter, for so many numbers u at equal distances."""
    counts = [0] * len(chances)
    for u in even(draws):
        found = answers[call](np.array(chances), float(u))
        if found is None or found is ...:
            return None
        if isinstance(found, bool | np.bool_) or not isinstance(found, int | np.integer):
            raise TypeError(
                f"`{call}` gave a {type(found).__name__}; it should give the number of a letter"
            )
        if not 0 <= found < len(chances):
            raise ValueError(f"`{call}` gave {found}; there are letters 0 to {len(chances) - 1}")
        counts[int(found)] += 1
    return counts
