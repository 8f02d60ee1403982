"""Operations whose result depends, element by element, on the inputs' elements: y[i] = f(a[i],
b[i]).

Begin with arithmetic.py, which says how a row is to be read. Each other file has one subject and
needs only those before it: copies, logic, selection, rounding, complex_numbers, powers,
inverse_functions, activations.
"""

from .activations import *  # noqa: F403
from .arithmetic import *  # noqa: F403
from .complex_numbers import *  # noqa: F403
from .copies import *  # noqa: F403
from .inverse_functions import *  # noqa: F403
from .logic import *  # noqa: F403
from .powers import *  # noqa: F403
from .rounding import *  # noqa: F403
from .selection import *  # noqa: F403
