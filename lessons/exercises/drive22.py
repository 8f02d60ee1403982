"""What lesson 22 hands to the student's side: everything that can be drawn, in order. It knows no
answers.

A drive gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain
values.
"""

from itertools import product

import numpy as np


def draws_of(kinds, n):
    """All ways to draw n times one of so many things, as tuples of their numbers."""
    return list(product(range(kinds), repeat=n))


def all_draws(answers, call, tables, scores, chances, n):
    """function(values, scores) for everything that can be drawn, for each table of values: an
    array with an axis for the tables, one for the draws, and one for the terms. What does not
    have n terms is given back as it is.
    """
    found = []
    for table in tables:
        rows = []
        for row in draws_of(len(scores), n):
            terms = answers[call](table[list(row)], scores[list(row)])
            if terms is None or np.shape(terms) != (n,):
                return terms
            rows.append(np.asarray(terms, dtype=float))
        found.append(rows)
    return np.array(found)
