"""Where did that NaN come from? Anomaly detection remembers which line of your program made each
node of the graph.

When a backward pass fails, or returns NaN, the error is raised at the call of `backward`, far from
the line that is to blame. Inside `detect_anomaly()` each node's birth place is noted (cheaply: code
and instruction, not text), and the error carries the traceback of the forward call as a note below
its message. Python, IPython and Jupyter print such notes. Like PyTorch's, this mode is for
debugging; unlike PyTorch's, it belongs to one thread.
"""

from __future__ import annotations

import threading
import traceback
from contextlib import ContextDecorator
from dataclasses import dataclass
from types import CodeType
from weakref import WeakKeyDictionary

from .. import observers
from ..core.graph import Node, OpNode, Pick
from ..core.observe import Event
from ..errors import AutogradError
from .frames import user_frames

HEADING = "Traceback of forward call that caused the error:"


class detect_anomaly(ContextDecorator):
    """Inside the block, errors of a backward pass show the forward call that made the failing node,
    and a backward that returns NaN raises.

    The forward pass must run inside the block too, or its lines are not known. check_nan: False
    leaves NaN alone.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before: list[_Anomaly | None] = []

    def __enter__(self) -> detect_anomaly:
        self._before.append(_state.observer)
        _use(_Anomaly(self._check_nan))
        return self

    def __exit__(self, *_: object) -> None:
        _use(self._before.pop())


class set_detect_anomaly:
    """Anomaly detection on or off by `mode`: takes effect when called; as a context manager it
    is undone at the end of the block.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _state.observer
        _use(_Anomaly(check_nan) if mode else None)

    def __enter__(self) -> set_detect_anomaly:
        return self

    def __exit__(self, *_: object) -> None:
        _use(self._before)


def is_anomaly_enabled() -> bool:
    """Whether this thread detects anomalies."""
    return _state.observer is not None


class _State(threading.local):
    observer: _Anomaly | None = None


_state = _State()


def _use(observer: _Anomaly | None) -> None:
    if _state.observer is not None:
        observers.remove_observer(_state.observer)
    _state.observer = observer
    if observer is not None:
        observers.add_observer(observer)


@dataclass(slots=True, eq=False)
class _Birth:
    """Where a node was made: the user's frames, outermost first, and, if a backward pass made
    it, the node that was being pulled.
    """

    name: str
    frames: list[tuple[CodeType, int]]
    inducer: _Birth | None

    def text(self) -> str:
        """The traceback, and that of the call which induced the backward pass, if one did."""
        text, inducer = f"{HEADING}\n{_traceback(self.frames)}", self.inducer
        while inducer is not None:
            text += (
                f"That call was made by the backward pass of {inducer.name}. Traceback of the"
                f" forward call behind it:\n{_traceback(inducer.frames)}"
            )
            inducer = inducer.inducer
        return text.rstrip("\n")


_births: WeakKeyDictionary[Node, _Birth] = WeakKeyDictionary()


class _Anomaly:
    """The observer: notes where nodes are made, and looks at the results of the reverse pass."""

    def __init__(self, check_nan: bool) -> None:
        self._check_nan = check_nan

    def begin(self, event: Event) -> None:
        """Nothing: where a node is made is known when it has been made."""

    def end(self, event: Event) -> None:
        if event.phase == "forward" and event.error is None:
            self._born(event.node, event)
        elif event.phase == "assign" and event.error is None:
            target = event.args[0]
            self._born(target.node, event)
            if target.view_of is not None:
                self._born(target.view_of.base.node, event)
        elif event.phase == "backward":
            if event.error is not None:
                if not any(
                    HEADING in note or note.startswith(_UNKNOWN)
                    for note in getattr(event.error, "__notes__", ())
                ):
                    event.error.add_note(_story(event.node))
            elif self._check_nan:
                _refuse_nan(event)

    def _born(self, node: Node | None, event: Event) -> None:
        if isinstance(node, Pick):
            node = node.parents[0]
        if node is None or node in _births or not node.parents:
            return
        container = event.parent
        while container is not None and container.phase != "backward":
            container = container.parent
        inducer = _births.get(container.node) if container is not None else None
        _births[node] = _Birth(
            node.name(), [(f.f_code, f.f_lasti) for f in user_frames()][::-1], inducer
        )


_UNKNOWN = "The forward call that made "


def _story(node: Node) -> str:
    birth = _births.get(node)
    if birth is None:
        return (
            f"{_UNKNOWN}{node.name()} is not known: run the forward pass inside detect_anomaly() as"
            " well."
        )
    return birth.text()


def _traceback(frames: list[tuple[CodeType, int]]) -> str:
    return "".join(traceback.StackSummary.from_list(map(_summary, frames)).format())


def _summary(frame: tuple[CodeType, int]) -> traceback.FrameSummary:
    code, instruction = frame
    line, end_line, column, end_column = list(code.co_positions())[instruction // 2]
    return traceback.FrameSummary(
        code.co_filename,
        line or code.co_firstlineno,
        code.co_name,
        lookup_line=False,
        end_lineno=end_line,
        colno=column,
        end_colno=end_column,
    )


def _refuse_nan(event: Event) -> None:
    """Raise if the backward pull sent NaN to one of its inputs."""
    node = event.node
    start = 0
    for parent, c in event.result:
        position = next(
            (i for i in range(start, len(node.parents)) if node.parents[i] is parent), start
        )
        start = position + 1
        array = getattr(c, "array", c)
        if array.dtype.kind not in "iub" and bool((array != array).any()):
            names = (
                node.primitive.inputs
                if isinstance(node, OpNode) and not node.primitive.variadic
                else ()
            )
            which = f'"{names[position]}"' if position < len(names) else str(position)
            error = AutogradError(
                f"Function '{node.name()}' returned nan values in its {position}th output: the"
                f" gradient of input {which} (shape {tuple(array.shape)}, dtype {array.dtype})."
            )
            error.add_note(_story(node))
            raise error
