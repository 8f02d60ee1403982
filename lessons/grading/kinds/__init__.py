"""The kinds of exercise: constructors that make an Exercise from a function, a graph or data. None
of them holds an answer.

What is right comes from the engine on the trusted side, and in the notebook from finite differences
or an identity:

    Vjp, Jvp          the rule of an operation, on arrays                         rule.py
    Rules             both rules of an operation, on plain numbers                rules.py
    Sweep             the reverse sweep over a tape, shown write by write         sweep.py
    Backward          all gradients of a graph, by a function or by a class       backward.py
    Order             a topological order, any that is right                      graph_work.py
    Executor          the values of a graph                                       graph_work.py
    Gradients         a graph that computes the gradients of another              graph_work.py
    Unbroadcast       the transpose of broadcasting                               arrays.py
    Optimiser         a step of an optimiser, against the engine's                arrays.py
    Cost              the same work on 20,000 operations, in linear time          cost.py
    Trains            a loss below a bar, within a time                           arrays.py
    Number, Table     a number, or a table of them, predicted before one looks    answers.py
    Predict           what the viewer's predict mode logged                       predict.py
"""

from .answers import Number, Table
from .arrays import Optimiser, Trains, Unbroadcast
from .backward import Backward
from .cost import Cost
from .graph_work import Executor, Gradients, Order
from .predict import Predict
from .rule import Jvp, Vjp
from .rules import Rules
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
