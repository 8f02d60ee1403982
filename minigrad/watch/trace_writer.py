"""The Trace while it is written: nodes, edges and steps, and which node stands for a tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from .. import backend
from ..core.graph import Node
from ..core.primitive import registry
from ..core.tensor import Tensor, current_node
from ..errors import TraceTooLargeError
from ..observers import calls
from ..trace.schema import Trace
from ..trace.text import number
from .blocks import Blocks
from .derivatives import Rules
from .large_arrays import Box, lacking, part_of, parts_read
from .not_finite import explain
from .notation import occurrence
from .saved_values import SavedValues
from .sentences import Making
from .source_map import SourceMap
from .trace_document import TraceDocument
from .values import elements, is_array

WHOLE, ALL_WHOLE = 4096, 12_000
"""Arrays of up to so many elements, and up to so many in one Trace, are whole where a product, a
convolution or a pooling reads or writes them."""
ALL_PARTS = 16_000
"""Of larger ones so many elements are held in one Trace, in parts."""

MOST_ITEMS = 32
"""Items of the longest list whose values are named by it."""
LONGEST_NAME = 24
"""Characters of a parameter's name in formulas."""
LONGEST_TITLE = 60
"""Characters of a title that names the arguments twice."""
LONGEST_IN_TITLE = 18
"""Characters of a name in a longer title."""
_name_of_dtype = cache(str)  # NumPy puts the name together each time


def module_label(name: str, module: Any) -> str:
    """What a module is called in the one around it, by its name there: a number says its class."""
    return f"{name}: {type(module).__name__}" if name.isdigit() else name


class TraceWriter(TraceDocument):
    """The lists of a Trace, and which node stands for a tensor.

    into: for each node its edges, by the position of the operand.
    """

    def __init__(self, source: SourceMap, labels: list[str], most: int | None = None) -> None:
        super().__init__()
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.seeds: dict[str, dict[str, Any]] = {}
        self.map = source
        self.taken = set(labels)
        self.into: dict[str, dict[int, dict[str, Any]]] = {}
        # Nodes, and the tensors that have one, are referred to weakly, so that what the function
        # drops is freed, and seen to be freed.
        self.by_node: WeakKeyDictionary[Node, str] = WeakKeyDictionary()
        # of an operation with several results: position -> name
        self.results_of: WeakKeyDictionary[Node, dict[int, str]] = WeakKeyDictionary()
        # inside of a step (one axis of a pooling): the node -> the name of the result
        self.within: WeakKeyDictionary[Node, str] = WeakKeyDictionary()
        self.blocks = Blocks(self._owners_labels, self.map, self.bound)
        self.saved = SavedValues(self)
        self.rules = Rules()
        # ∂y/∂x by result and operand's position, where reverse mode has the same
        self.slopes: dict[tuple[str, int], Any] = {}
        # values without history: id -> name, and the memory's version then
        self._by_tensor: dict[int, tuple[str, int]] = {}
        self.alive: list[Any] = []  # whose id() is remembered, so that it is not used again
        self.result: Any = None  # what the function returned, whose history is held until the end
        self._most = most
        self.asked: set[str] = set()  # values whose truth the function asked for
        # of values that are not finite: what says why, where their operation made them so
        self.made: dict[str, dict[str, Any] | None] = {}
        self.error: dict[str, Any] | None = None  # what the function raised
        self._named_elsewhere: set[str] = set()  # by a function that is not shown
        self._counts = {"v": 0, "c": 0, "p": 0}
        self._parameters: dict[int, dict[int, str]] = {}  # of a module: by id, their names in it
        self._paths: dict[tuple[int, int], str] = {}  # of a module within the one that called it
        self._written: dict[tuple[str, str], list[Any]] = {}  # the latest write to each cell
        self._which: dict[tuple[str, int], str] = {}
        self._makings: dict[tuple[str, bool], Making] = {}
        self._whole = 0  # elements of arrays that are whole
        self._in_parts = 0  # elements of parts of arrays

    def add(
        self, name: str, tensor: Tensor, kind: str, expr: list[Any], stage: str = "primal"
    ) -> dict[str, Any]:
        if self._most is not None and len(self.nodes) >= self._most:
            raise TraceTooLargeError(
                f"trace: the function makes more than {self._most:,} nodes, the most that were"
                " allowed. Trace a smaller part of the computation (one layer, one example, fewer"
                " elements), or allow more: most=…"
            )
        group = self.group() if kind != "input" and calls.modules else ""
        dtype = _name_of_dtype(tensor.dtype)
        more = {"group": group} if group else {}
        node = self.add_node(name, kind, expr, tensor.shape, dtype, stage, **more)
        self.remember(tensor, name)
        return node

    def connect(
        self, node: dict[str, Any], operands: list[str | None], elementwise: bool
    ) -> list[str]:
        """An edge from each operand (None: it is no node) to a node; their names."""
        edges = self.into[node["id"]] = {}
        for slot, source in enumerate(operands):
            if source is None:
                continue
            edge = edges[slot] = self.add_edge(source, node["id"], slot, node["stage"])
            if elementwise and self.by_id[source]["shape"] != node["shape"]:
                edge["broadcast"] = True
        return [edge["id"] for edge in edges.values()]

    def group(self) -> str:
        """The modules whose call is under way, as a path: each by its name in the one that
        called it, the outermost by its class.
        """
        return "/".join(self.owners())

    def owners(self) -> list[str]:
        """The names on that path."""
        path: list[str] = []
        outer: Any = None
        for module in calls.modules:
            if outer is None:
                path.append(type(module).__name__)
            else:
                key = (id(outer), id(module))
                if key not in self._paths:
                    named = ((name, m) for name, m in outer.named_modules() if m is module)
                    self._paths[key] = next(
                        (name for name, _ in named if name), type(module).__name__
                    )
                    self.alive += (outer, module)
                path.append(self._paths[key])
            outer = module
        return path

    def _owners_labels(self) -> list[str]:
        """What the modules on that path are called in a picture: a number says its class."""
        named = zip(self.owners(), calls.modules, strict=True)
        return [module_label(name, module) for name, module in named]

    def bound(self, frame: FrameType, variables: Sequence[str]) -> None:
        """Variables of a running call have been given a value: operations without a name get
        theirs, and those of a list the list's, with their place. A name that is an input's is left
        to it."""
        held = self.map.held(frame)
        for variable in variables:
            value = held.get(variable)
            if isinstance(value, list | tuple) and len(value) <= MOST_ITEMS:
                for i, item in enumerate(value):
                    if isinstance(item, Tensor):
                        self.call_it(f"{variable}[{i}]", self.found(item), frame)
            elif isinstance(value, Tensor) and variable not in self.by_id:
                self.call_it(variable, self.found(value), frame)

    def call_it(self, variable: str, name: str | None, frame: FrameType) -> None:
        """Name the operation whose value a variable of a running call holds, if it has no name or
        one of a function that is not shown."""
        if name is None or self.by_id[name]["kind"] != "op":
            return
        node, shown = self.by_id[name], self.map.shows(frame)
        if "name" not in node or (shown and name in self._named_elsewhere):
            node["name"] = variable
            (self._named_elsewhere.discard if shown else self._named_elsewhere.add)(name)

    def parameter_path(self, value: Tensor) -> str | None:
        """The name that `named_parameters()` of the outermost module under way gives a parameter:
        0.weight.
        """
        for module in calls.modules[:1]:
            if id(module) not in self._parameters:
                named = [(id(p), path) for path, p in module.named_parameters()]
                self._parameters[id(module)] = dict(named)
                self.alive.append(module)
            return self._parameters[id(module)].get(id(value))
        return None

    def own_name(self, path: str | None, prefix: str) -> str:
        """The own name of a parameter or constant, where it is free and short enough for a formula;
        else a fresh one.
        """
        if path is None or len(path) > LONGEST_NAME or path in self.taken or path in self.by_id:
            return self.fresh_name(prefix)
        self.taken.add(path)
        return path

    def failure(
        self,
        error: BaseException,
        operands: list[str],
        expr: list[Any],
        operation: str,
        span: list[int] | None,
    ) -> None:
        """The node and the step of the operation that raised."""
        name = self.fresh_name("v")
        where: dict[str, Any] = {} if span is None else {"span": span}
        node = self.add_node(name, "op", expr, op=operation, failed=True, **where)
        told = {"type": type(error).__name__, "message": str(error), "node": name}
        say = f"This fails: {told['type']}: {told['message']}"
        reads = [[o, "v"] for o in dict.fromkeys(operands)]
        line: dict[str, Any] = {"fails": {k: told[k] for k in ("type", "message")}}
        line |= {} if span is None else {"line": span[0]}
        edges = self.connect(node, list(operands), False)
        self.step("primal", name, edges, reads, [], expr, say, **line)
        self.error = told | ({} if span is None else {"line": span[0]})

    def failure_back(self, error: BaseException, name: str, text: str | None) -> None:
        """The step at which the rule of an operation raised, in the reverse pass. text: of a rule
        that the user wrote, the code that raised; else the operation itself stands there."""
        told = {"type": type(error).__name__, "message": str(error)}
        node = self.by_id[name]
        node["failed"] = True
        formula = node["expr"] if text is None else [{"t": "text", "text": text}]
        say = f"The reverse pass fails at {name}: {told['type']}: {told['message']}"
        self.step("adjoint", name, [], [[name, "g"]], [], formula, say, fails=told)
        self.error = {**told, "node": name}

    def making_of(self, name: str, real: bool = False) -> Making:
        """How a node is made, for the sentences of its derivatives. real: what it sends is real,
        and so is its adjoint."""
        found = self._makings.get((name, real))
        if found is None:
            operation = registry.get(self.by_id[name].get("op", ""))
            pointwise = real and getattr(operation, "pointwise", False)
            found = self.making(name, self.value, len(self.into[name]), pointwise)
            self._makings[name, real] = found
        return found

    def which(self, name: str, slot: int) -> str:
        """Which one an operand of a node is, where its node occurs more than once."""
        found = self._which.get((name, slot))
        if found is None:
            found = self._which[name, slot] = occurrence(slot, self.into[name].values())
        return found

    def value(self, name: str) -> Any:
        """The value of a node, as it was written; None where none was."""
        return self._written.get((name, "v"), (None,))[-1]

    def remember(self, tensor: Tensor, name: str) -> None:
        """From now on `tensor` (as it is now) is called `name`."""
        place = tensor.node
        if place is not None:
            self.by_node[place] = name
        else:
            self.alive += (tensor, tensor.array)
            self._by_tensor[id(tensor)] = self._by_tensor[id(tensor.array)] = (
                name,
                tensor._version,
            )

    def fresh_name(self, prefix: str) -> str:
        while True:
            self._counts[prefix] += 1
            name = f"{prefix}{self._counts[prefix]}"
            if name not in self.taken:
                return name

    def knows(self, node: Node) -> bool:
        """Whether a graph node was made by the traced function."""
        return node in self.by_node or node in self.results_of

    def found(self, tensor: Tensor) -> str | None:
        place = current_node(tensor)
        if place is not None:
            return self.by_node.get(place)
        for key in (id(tensor), id(tensor.array)):
            name, version = self._by_tensor.get(key, (None, 0))
            if name is not None and version == tensor._version:
                return name
        return None

    def before_step(self, phase: str, writes: list[Any]) -> None:
        if self.saved.waiting:
            self.saved.before_step(phase)
        for write in writes:
            self._written[write[0], write[1]] = write

    def hold(
        self, node: str, column: str, arrays: dict[str, Any], targets: Sequence[int] = (-1,)
    ) -> None:
        """Where elements meet in a node: put the elements of arrays into the values that were
        written last into a column, as far as a Trace has the space.

        targets: of a large array those parts are held that meet in a block of the result (-1), or
        of the operand of a number.
        """
        for name, array in arrays.items():
            write, size = self._written.get((name, column)), getattr(array, "size", 1)
            if write is None or not is_array(value := write[2]) or "elements" in value:
                continue
            if len(value["sample"]) == size:
                continue
            value = write[2] = {**value}  # elsewhere it is shown without elements
            if size <= WHOLE and self._whole + size <= ALL_WHOLE:
                self._whole += size
                value.pop("parts", None)
                value["elements"] = elements(array)
                continue
            host = None
            for box in lacking(value, self._parts_of(node, name, column, targets)):
                host = backend.to_numpy(array) if host is None else host
                part, cut = part_of(host, box)
                if self._in_parts + cut.size <= ALL_PARTS:
                    self._in_parts += cut.size
                    value.setdefault("parts", []).append(part | {"elements": elements(cut, 8)})

    def _parts_of(self, node: str, name: str, column: str, targets: Sequence[int]) -> list[Box]:
        """The parts of an array that a picture of the operation of a node shows."""
        terms, numbers = self.by_id[node]["terms"], {-1: node}
        numbers |= {slot: edge["src"] for slot, edge in self.into[node].items()}
        if len(numbers) <= len(terms["operands"]):
            return []  # an operand is no node
        shapes = [tuple(self.by_id[numbers[i]]["shape"]) for i in sorted(numbers)]
        shapes = [*shapes[1:], shapes[0]]
        found = []
        for target in targets:
            boxes = parts_read(terms, shapes, target)
            for position, box in boxes.items():
                # a rule reads neither the value of the operand that it is for nor of the result; a
                # pooling's reads which element it chose
                read = column != "v" or target == -1 or position not in (-1, target)
                chooses = terms["combine"] == "largest" and position == target
                if numbers[position] == name and (read or chooses):
                    found.append(box)
        return found

    def document(self, title: str | None) -> Trace:
        """The finished Trace."""
        self.saved.before_step()
        self._mark_dangling()
        self._mark_subject()
        explain(self.steps, self.by_id, self.edges, self.made)
        found = {"source": self.map.source(), "error": self.error, "blocks": self.blocks.found}
        more = {key: part for key, part in found.items() if part}
        title = self._title() if title is None else title
        return self.finished(title, self.inputs, self.outputs, self.seeds, **more)

    def _mark_dangling(self) -> None:
        """Nodes that lead to no output are dangling: of a derivative's own graph, often a large
        part.
        """
        leading = set(self.outputs)
        leading |= self.asked
        leading |= set() if self.error is None else {node["id"] for node in self.nodes}
        for node in reversed(self.nodes):
            if node["id"] in leading:
                leading.update(edge["src"] for edge in self.into.get(node["id"], {}).values())
            elif node["kind"] == "op":
                node["dangling"] = True

    def _mark_subject(self) -> None:
        """A library's function that all operations are of, or that fails, is shown as the user's
        own are."""
        used = {node.get("block") for node in self.nodes if "op" in node}
        failed = {node.get("block") for node in self.nodes if node.get("failed")}
        for block in self.blocks.found:
            if block["kind"] == "library" and (used == {block["id"]} or block["id"] in failed):
                block["kind"] = "function"

    def _title(self) -> str:
        given = {
            s["node"]: s["writes"][0][2]
            for s in self.steps[: 2 * len(self.inputs)]
            if s["phase"] == "primal" and s["writes"]  # what fails writes nothing
        }
        return title_of(self.map.name, {i: given[i] for i in self.inputs})


def title_of(function: str, inputs: Mapping[str, Any]) -> str:
    """The function and the point, in signs alone: a title is shown in every language. Of arrays
    that are not small vectors it says the shape. A long title names each argument once, and cuts
    long names.

    inputs: the values, as the Trace writes them.
    """
    at = ", ".join(f"{name}{_point(value)}" for name, value in inputs.items())
    title = f"{function}({', '.join(inputs)}), {at}" if inputs else function
    if not inputs or len(title) <= LONGEST_TITLE:
        return title
    at = ", ".join(f"{_cut(name)}{_point(value)}" for name, value in inputs.items())
    return f"{_cut(function)}({at})"


def _cut(name: str) -> str:
    """A name in a long title."""
    return name if len(name) <= LONGEST_IN_TITLE else f"{name[: LONGEST_IN_TITLE - 1]}…"


def _point(value: Any) -> str:
    """What a title says of an argument: its value, or of an array its shape."""
    shape = value.get("shape", []) if isinstance(value, dict) else []
    small = len(shape) <= 1 and math.prod(shape) <= 4
    return f" = {number(value)}" if small else f": {tuple(shape)}"
