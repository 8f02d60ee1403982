"""The kinds of exercise: constructors that make an Exercise from a function, a graph or data. None
of them holds an answer.

What is right comes from the engine on the trusted side, and in the notebook from finite differences
or an identity:

    Vjp, Jvp          the rule of an operation, on arrays                    rules_on_arrays.py
    Rules             both rules of an operation, on plain numbers           rules_on_numbers.py
    Backward          all gradients of a graph, by a function or a class     backward.py
    Sweep             the reverse sweep over a tape, shown write by write    sweep.py
    Order             a topological order, any that is right                 graph_work.py
    Executor          the values of a graph                                  graph_work.py
    Gradients         a graph that computes the gradients of another         graph_work.py
    Unbroadcast       the transpose of broadcasting                          arrays.py
    Optimiser         a step of an optimiser, against the engine's           arrays.py
    Cost              such work on 20,000 operations, in linear time         cost.py
    Trains            a loss below a bar, within a time                      arrays.py
    Number, Table     a number, or a table of them, predicted first          answers.py
    Predict           what the viewer's predict mode logged                  predict.py
"""

from .answers import Number, Table
from .arrays import Optimiser, Trains, Unbroadcast
from .backward import Backward
from .cost import Cost
from .graph_work import Executor, Gradients, Order
from .predict import Predict
from .rules_on_arrays import Jvp, Vjp
from .rules_on_numbers import Rules
from .sweep import Sweep

__all__ = [
    "Backward",
    "Cost",
    "Executor",
    "Gradients",
    "Jvp",
    "Number",
    "Optimiser",
    "Order",
    "Predict",
    "Rules",
    "Sweep",
    "Table",
    "Trains",
    "Unbroadcast",
    "Vjp",
]
