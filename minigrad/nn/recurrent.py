"""Recurrent layers: the same small network applied along a sequence, its output fed back as state.
Formulas and parameter names are PyTorch's.

    RNN    h ← tanh(W x + b + U h + c)
    LSTM   i, f, g, o = the quarters of W x + b + U h + c;
           c ← σ(f) c + σ(i) tanh(g);   h ← σ(o) tanh(c)
    GRU    r, z, n = the thirds; r = σ(·), z = σ(·);
           n = tanh(W x + b + r (U h + c));   h ← (1 − z) n + z h

The part W x + b does not depend on the state, so it is computed for all steps at once. What depends
on it is one operation over the whole sequence (ops/recurrent.py); a cell is one step in elementary
operations, which is the same mathematics.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import groupby
from numbers import Integral
from typing import Any

from .. import functions
from ..backend import DType
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError, ShapeError, one_of
from ..functions import cat, flip, sigmoid, stack, tanh
from ..ops import recurrent
from . import functional as F
from . import init
from .extra_repr import unusual
from .module import Module
from .parameter import trained

State = tuple[Tensor, ...]


def _parts(x: Tensor, count: int) -> list[Tensor]:
    size = x.shape[-1] // count
    return [x[..., i * size : (i + 1) * size] for i in range(count)]


def _sum(b: Tensor | None, c: Tensor | None) -> Tensor | None:
    """Both biases as one: they are added to the same gates."""
    return b + c if b is not None and c is not None else None


def _lstm_step(from_input: Tensor, state: State, u: Tensor, c: Tensor | None) -> State:
    i, f, g, o = _parts(from_input + F.linear(state[0], u, c), 4)
    cell = sigmoid(f) * state[1] + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(cell), cell


def _gru_step(from_input: Tensor, state: State, u: Tensor, c: Tensor | None) -> State:
    (rx, zx, nx), (rh, zh, nh) = _parts(from_input, 3), _parts(F.linear(state[0], u, c), 3)
    z = sigmoid(zx + zh)
    n = tanh(nx + sigmoid(rx + rh) * nh)
    return (n + z * (state[0] - n),)


def _uniform(module: Module, hidden_size: int) -> None:
    """Draw all parameters, in the order in which they were made."""
    bound = 1 / math.sqrt(hidden_size) if hidden_size else 0.0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


def _check_dtypes(tensors: Iterable[Tensor], dtype: DType, layer: str) -> None:
    """Raise DTypeError unless all have the dtype of the weights."""
    for x in tensors:
        if x.dtype != dtype:
            raise DTypeError(
                f"{layer}: inputs and states must have the dtype of the weights, {dtype}, got"
                f" {x.dtype}. Convert: x.to(dtype)."
            )


class _Recurrent(Module):
    """What the three share: layers, directions, initial state. `gates`: how many times hidden_size
    rows the matrices have; `states`: tensors of a state.
    """

    gates = 1
    states = 1
    proj_size = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        name = type(self).__name__
        sizes: dict[str, Any] = {
            "input_size": input_size,
            "hidden_size": hidden_size,
            "num_layers": num_layers,
        }
        switches: dict[str, Any] = {"bias": bias, "batch_first": batch_first}
        chance: Any = dropout
        for what, size in sizes.items():
            if not isinstance(size, Integral):
                raise TypeError(f"{name}: {what} must be a whole number, got {size!r}.")
        if num_layers < 1 or hidden_size < 1 or input_size < 1:
            raise ValueError(
                f"{name}: sizes must be positive, got {input_size=}, {hidden_size=}, {num_layers=}."
            )
        for what, switch in switches.items():
            if not isinstance(switch, bool):
                raise TypeError(f"{name}: {what} must be True or False, got {switch!r}.")
        if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 <= chance <= 1:
            raise ValueError(
                f"{name}: dropout is a probability, a number from 0 to 1, got {chance!r}."
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.bias, self.dropout, self.bidirectional = bias, float(dropout), bidirectional
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else self.out_size * (1 + bidirectional)
            for end in self._ends(layer):
                rows = self.gates * hidden_size
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, inputs),
                    "weight_hh": (rows, self.out_size),
                }
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
                shapes |= {"weight_hr": (self.proj_size, hidden_size)} if self.proj_size else {}
                for name, shape in shapes.items():
                    setattr(self, name + end, trained(*shape, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values again: uniform within 1/√hidden_size."""
        _uniform(self, self.hidden_size)

    @property
    def out_size(self) -> int:
        """The width of the outputs."""
        return self.proj_size or self.hidden_size

    def _ends(self, layer: int) -> list[str]:
        """What the names of a layer's parameters end in, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"] if self.bidirectional else [f"_l{layer}"]

    def sequence(
        self, x: Tensor, state: State, w: Tensor, u: Tensor, b: Tensor | None, c: Tensor | None
    ) -> tuple[Tensor, State]:
        """The outputs of all steps (L, N, hidden_size), and the last state."""
        raise NotImplementedError

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, Any]:
        """input (L, N, input_size), (N, L, input_size) if batch_first, or (L, input_size): the
        outputs of all steps, and the last state of each layer and direction. A
        `nn.utils.rnn.PackedSequence` of sequences of several lengths gives outputs packed likewise.
        """
        if isinstance(input, tuple) and hasattr(input, "batch_sizes"):
            return self._packed(input, hx)
        x = as_tensor(input)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: input must be (L, N, {self.input_size}) or (L,"
                f" {self.input_size}), got shape {x.shape}."
            )
        weights: DType = getattr(self, "weight_ih_l0").dtype  # noqa: B009
        if x.dtype != weights:
            raise ValueError(
                f"{type(self).__name__}: the input's dtype {x.dtype} is not that of the weights,"
                f" {weights}. Convert one of them: input.to(dtype), or model.to(dtype)."
            )
        single = x.ndim == 2
        if single:
            x = x.unsqueeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        x, finals = self._layers(x, self._initial(x, x.shape[1], hx, single), self._run)
        if single:
            x, finals = x.squeeze(1), [f.squeeze(1) for f in finals]
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, finals[0] if self.states == 1 else tuple(finals)

    def _layers(
        self, x: Tensor, states: list[Tensor], run: Callable[..., tuple[Tensor, State]]
    ) -> tuple[Tensor, list[Tensor]]:
        """The outputs of the last layer, and the last states of all; `run` computes one layer in
        one direction.
        """
        last: list[State] = []
        for layer in range(self.num_layers):
            results = []
            for number, end in enumerate(self._ends(layer)):
                outputs, final = run(
                    x, tuple(s[len(last)] for s in states), end, backwards=number == 1
                )
                results.append(outputs)
                last.append(final)
            x = results[0] if len(results) == 1 else cat(results, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, [stack([state[k] for state in last]) for k in range(self.states)]

    def _packed(self, packed: Any, hx: Any) -> tuple[Any, Any]:
        """`forward` of a PackedSequence.

        Steps at which equally many sequences go on are one block, and each block is an ordinary
        batch. Forward, the sequences that end with a block leave with their states; backward, those
        that begin with it join with their initial ones.
        """
        x, sizes = packed.data, packed.batch_sizes.tolist()
        if x.ndim != 2 or x.shape[1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: packed data must be (elements, {self.input_size}), got"
                f" shape {x.shape}."
            )
        _check_dtypes([x], getattr(self, "weight_ih_l0").dtype, type(self).__name__)  # noqa: B009
        states = self._initial(x, sizes[0], hx, False)
        if hx is not None and packed.sorted_indices is not None:
            states = [s[:, packed.sorted_indices] for s in states]
        blocks: list[tuple[int, int, int]] = []  # first row, number of steps, number of sequences
        row = 0
        for number, group in groupby(sizes):
            steps = len(list(group))
            blocks.append((row, steps, number))
            row += steps * number

        def run(x: Tensor, state: State, end: str, backwards: bool) -> tuple[Tensor, State]:
            outputs: list[Tensor] = []
            finals: list[State] = []  # of the sequences that have ended, shortest first
            first = state
            for row, steps, number in reversed(blocks) if backwards else blocks:
                if backwards:
                    now = state if outputs else tuple(s[:0] for s in first)
                    state = tuple(
                        cat([a, b[a.shape[0] : number]]) for a, b in zip(now, first, strict=True)
                    )
                elif number < state[0].shape[0]:
                    finals.append(tuple(s[number:] for s in state))
                    state = tuple(s[:number] for s in state)
                block = x[row : row + steps * number].reshape(steps, number, x.shape[1])
                out, state = self._run(block, state, end, backwards)
                outputs.append(out.reshape(steps * number, out.shape[-1]))
            if backwards:
                outputs.reverse()
            ended = [state, *reversed(finals)]
            return cat(outputs), tuple(cat([part[k] for part in ended]) for k in range(self.states))

        outputs, finals = self._layers(x, states, run)
        if packed.unsorted_indices is not None:
            finals = [f[:, packed.unsorted_indices] for f in finals]
        return type(packed)(outputs, *packed[1:]), finals[0] if self.states == 1 else tuple(finals)

    def _initial(self, x: Tensor, count: int, hx: Any, single: bool) -> list[Tensor]:
        """The states of all layers before the first step, for `count` sequences."""
        lead = (self.num_layers * (1 + self.bidirectional), count)
        shapes = [(*lead, self.out_size), (*lead, self.hidden_size)][: self.states]
        if hx is None:
            return [functions.zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes]
        given = [as_tensor(s) for s in ((hx,) if self.states == 1 else hx)]
        _check_dtypes(given, x.dtype, type(self).__name__)
        given = [s.unsqueeze(1) if single else s for s in given]
        if [s.shape for s in given] != shapes:
            raise ShapeError(
                f"{type(self).__name__}: the state must be {self.states} tensor(s) of shape "
                f"{' and '.join(map(str, shapes))}, got {[s.shape for s in given]}."
            )
        return given

    def _run(self, x: Tensor, state: State, end: str, backwards: bool) -> tuple[Tensor, State]:
        """One layer in one direction."""
        w, u = getattr(self, "weight_ih" + end), getattr(self, "weight_hh" + end)
        b, c = (
            (getattr(self, "bias_ih" + end), getattr(self, "bias_hh" + end))
            if self.bias
            else (None, None)
        )
        if not x.shape[0]:
            raise ShapeError(f"{type(self).__name__}: the sequence is empty (shape {x.shape}).")
        x = flip(x, 0) if backwards else x
        if self.proj_size:
            outputs, last = self._projected(
                F.linear(x, w, b), state, u, c, getattr(self, "weight_hr" + end)
            )
        else:
            outputs, last = self.sequence(x, state, w, u, b, c)
        return flip(outputs, 0) if backwards else outputs, last

    def _projected(
        self, from_inputs: Tensor, state: State, u: Tensor, c: Tensor | None, further: Tensor
    ) -> tuple[Tensor, State]:
        """An LSTM whose h goes through a further matrix: step by step."""
        outputs: list[Tensor] = []
        for t in range(from_inputs.shape[0]):
            h, cell = _lstm_step(from_inputs[t], state, u, c)
            state = (F.linear(h, further), cell)
            outputs.append(state[0])
        return stack(outputs), state

    def extra_repr(self) -> str:
        usual: dict[str, Any] = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        return f"{self.input_size}, {self.hidden_size}" + unusual(self, repr, **usual)


class RNN(_Recurrent):
    """h ← tanh(W x + b + U h + c), or relu for nonlinearity="relu"."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        one_of("RNN", "nonlinearity", nonlinearity, "tanh", "relu")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)

    def sequence(
        self, x: Tensor, state: State, w: Tensor, u: Tensor, b: Tensor | None, c: Tensor | None
    ) -> tuple[Tensor, State]:
        states, last = recurrent.rnn(
            F.linear(x, w, _sum(b, c)), *state, u, rectified=self.nonlinearity == "relu"
        )
        return states, (last,)


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates). The state is a
    pair (h, c).

    proj_size: the width to which a further matrix takes each h (Sak et al. 2014); 0 for none.
    """

    gates, states = 4, 2

    def __init__(
        self, input_size: int, hidden_size: int, *args: Any, proj_size: int = 0, **kwargs: Any
    ) -> None:
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                f"LSTM: proj_size must be at least 0 and smaller than hidden_size={hidden_size},"
                f" got {proj_size}."
            )
        self.proj_size = proj_size
        super().__init__(input_size, hidden_size, *args, **kwargs)

    def sequence(
        self, x: Tensor, state: State, w: Tensor, u: Tensor, b: Tensor | None, c: Tensor | None
    ) -> tuple[Tensor, State]:
        h, cells = recurrent.lstm(F.linear(x, w, _sum(b, c)), *state, u)
        return h, (h[-1], cells[-1])


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014, in the form of cuDNN)."""

    gates = 3

    def sequence(
        self, x: Tensor, state: State, w: Tensor, u: Tensor, b: Tensor | None, c: Tensor | None
    ) -> tuple[Tensor, State]:
        inside = functions.zeros(u.shape[0], dtype=u.dtype, device=u.device) if c is None else c
        states, last = recurrent.gru(F.linear(x, w, b), *state, u, inside)
        return states, (last,)


class _Cell(Module):
    """One step as a layer."""

    gates = 1
    nonlinearity = "tanh"
    step: Callable[..., State]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        for name, *shape in (
            ("weight_ih", rows, input_size),
            ("weight_hh", rows, hidden_size),
            ("bias_ih", rows),
            ("bias_hh", rows),
        ):
            made = trained(*shape, when=bias or len(shape) > 1, dtype=dtype, device=device)
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values again: uniform within 1/√hidden_size."""
        _uniform(self, self.hidden_size)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """input (N, input_size) or (input_size,), and the state before: the state after."""
        x, name = as_tensor(input), type(self).__name__
        count = 2 if isinstance(self, LSTMCell) else 1
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: input must be (N, {self.input_size}) or ({self.input_size},), got shape"
                f" {x.shape}."
            )
        shape = (*x.shape[:-1], self.hidden_size)
        if hx is None:
            state = (functions.zeros(shape, dtype=x.dtype, device=x.device),) * count
        else:
            if count == 2 and not (isinstance(hx, tuple | list) and len(hx) == 2):
                raise TypeError(f"{name}: the state is a pair (h, c), got {type(hx).__name__}.")
            state = tuple(as_tensor(s) for s in ((hx,) if count == 1 else hx))
        if any(s.shape != shape for s in state):
            raise ShapeError(
                f"{name}: for input of shape {x.shape} each state must have shape {shape}, got"
                f" {[s.shape for s in state]}."
            )
        _check_dtypes((x, *state), self.weight_ih.dtype, name)
        after = self.step(
            F.linear(x, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh
        )
        return after[0] if count == 1 else after

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + unusual(
            self, str, bias=True, nonlinearity="tanh"
        )


class RNNCell(_Cell):
    """One step of `RNN`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        one_of("RNNCell", "nonlinearity", nonlinearity, "tanh", "relu")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias, dtype=dtype, device=device)

    def step(self, from_input: Tensor, state: State, u: Tensor, c: Tensor | None) -> State:
        activation: Any = tanh if self.nonlinearity == "tanh" else functions.relu
        return (activation(from_input + F.linear(state[0], u, c)),)


class LSTMCell(_Cell):
    """One step of `LSTM`."""

    gates, step = 4, staticmethod(_lstm_step)


class GRUCell(_Cell):
    """One step of `GRU`."""

    gates, step = 3, staticmethod(_gru_step)
