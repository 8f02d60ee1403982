"""`Writer`: a Trace written by hand, in the words of the engine's own.

    w = Writer("f(a) = a · a")
    a = w.input("a", 3.0)
    y = w.op("mul", [a, a], 9.0)
    w.seed(y, 1.0)
    w.send(y, 0, 3.0, local=3.0)        y sends its adjoint times the local derivative back along
                                        its first edge
    w.send(y, 1, 3.0, local=3.0)        the second contribution is added: 6
    trace = w.document()

A Trace asks two things of an engine: what was made from what with which value, and, in the order in
which it happened, what was sent back along which edge. Names, formulas and sentences are made here,
the same as for minigrad's own Traces (``minigrad.watch.sentences``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.core.primitive import registry
from minigrad.trace.schema import validate
from minigrad.trace.text import number
from minigrad.watch import notation, sentences
from minigrad.watch.derivatives import Array, Made, Rules, values_in
from minigrad.watch.not_finite import explain, kind, made_here
from minigrad.watch.trace_document import TraceDocument
from minigrad.watch.values import changed_places, pictured, with_places
from minigrad.watch.values import value as document_value

SIGNS = {"add": "+", "sub": "−", "mul": "·", "div": "/", "matmul": "@"}
"""Operations that are written between their operands."""
OTHER_NAMES = {"+": "add", "-": "sub", "−": "sub", "*": "mul", "·": "mul", "×": "mul", "/": "div",
    "÷": "div", "truediv": "div", "@": "matmul", "mm": "matmul", "mv": "matmul",
    "bmm": "matmul", "dot": "matmul", "plus": "add",
    "minus": "sub", "times": "mul", "multiply": "mul", "subtract": "sub", "divide": "div",
    "negative": "neg", "ln": "log", "logistic": "sigmoid", "σ": "sigmoid", "**": "pow",
    "^": "pow", "power": "pow", "radd": "add", "rmul": "mul"}  # fmt: skip
"""What other engines call operations of minigrad: in a Trace they have one name, so that two can be
compared.
"""
BY_OPERANDS = {("pow", 2): "pow_tensor", ("sub", 1): "neg", ("max", 2): "maximum",
    ("min", 2): "minimum"}  # fmt: skip
"""Operations of one name that minigrad tells apart by the number of their operands."""
_POWER = re.compile(r"(?:\*\*|\^|pow(?:er)?)[ _]*\(?([-−+]?\d*\.?\d+(?:e[-+]?\d+)?)\)?")
"""A power whose exponent stands in its name, as micrograd's **2 has it."""


def known_operation(name: str, operands: int) -> tuple[str, dict[str, Any] | None]:
    """minigrad's name of another engine's operation, and its parameters if the name holds them."""
    plain = name.strip().strip("_").lower()
    power = _POWER.fullmatch(plain)
    if power is not None and operands == 1:
        n = float(power[1].replace("−", "-"))
        return "pow", {"n": int(n) if n.is_integer() else n}
    found = OTHER_NAMES.get(plain, plain if plain in registry else name)
    return BY_OPERANDS.get((found, operands), found), None


class Writer(TraceDocument):
    """Collects what an engine did. Every method that makes a node returns its id, which the others
    take.

    Values are numbers, or anything that NumPy makes an array of numbers of. Raises ValueError where
    something is told that cannot have
    happened: an operand that was not made, a value that is no number, a second value for an
    adjoint's seed, something sent back along an edge that does not exist or from a node without an
    adjoint.
    """

    def __init__(self, title: str = "", source: str | None = None):
        super().__init__()
        self.title, self.source = title, source
        self.values: dict[str, Any] = {}
        self.tangents: dict[str, Any] = {}
        self.adjoints: dict[str, Any] = {}
        self.seeds: dict[str, dict[str, Any]] = {}
        self._slots: dict[str, dict[int, dict[str, Any]]] = {}
        self._rules = Rules()
        self._foreign: dict[str, Any] = {}  # operations of another engine
        self._made: dict[str, Any] = {}  # of values outside of a domain: what says why

    def before_step(self, phase: str, writes: list[Any]) -> None:
        arrays = {"v": self.values, "d": self.tangents, "g": self.adjoints}
        for write in writes:
            write[2] = pictured(write[2], arrays[write[1]][write[0]])

    # -------------------------------------------------------------------------------------- forward

    def input(
        self, name: str, value: Any = None, *, kind: str = "input", tangent: Any = None
    ) -> str:
        """An input, a parameter or a constant (``kind``: "input", "param", "const"), with a seed
        for its tangent in forward mode.
        """
        label = (
            self._fresh(name)
            if name
            else self._fresh({"const": "c", "param": "p"}.get(kind, "x"), numbered=True)
        )
        node = self._node(label, kind, [], value)
        if label != name and name:
            node["name"] = name
        if value is not None:
            shown = document_value(self.values[label])
            role = {"param": "parameter", "const": "constant"}.get(kind, "input")
            words = sentences.given(label, role, shown)
            self.step("primal", label, [], [], [[label, "v", shown]], *words)
        else:
            self.step(
                "primal",
                label,
                [],
                [],
                [],
                [notation.symbol(label)],
                f"The value of {label} was not kept.",
            )
        if tangent is not None:
            self.tangents[label] = _held(tangent)
            shown = document_value(self.tangents[label])
            self.seeds.setdefault("tangents", {})[label] = shown
            words = sentences.seeded(label, "dot", shown)
            self.step("seed", label, [], [], [[label, "d", shown]], *words)
        return label

    def op(self, operation: str, operands: Sequence[str | float], value: Any = None, *,
        name: str | None = None, shape: Sequence[int] | None = None,
           dtype: str | None = None, params: Mapping[str, Any] | None = None,
           span: list[int] | None = None, absent: Sequence[int] = (),
           group: str = "", checked: bool = False) -> str:  # fmt: skip
        """An operation on nodes and numbers, which stand inside of its formula, with its value
        (None: the engine did not keep it, only its shape and dtype may be known).

        params: of an operation that minigrad itself has done, its parameters: then it is written
        as minigrad writes it, and the steps say its rule. Of another engine's they say the rule
        of minigrad's operation of that name where it gives what the engine has sent.
        span: where it stands in the source, as `[line, column, end line, end column]`.
        absent: places among all operands at which stand some of which nothing is known.
        group: the path of the module that did it, such as "Sequential/0: Linear".
        checked: with params, too, the rule is said only where it gives what the engine has sent.
        """
        if isinstance(operands, str):
            raise ValueError(
                f"Writer.op: the operands of {operation} must be a list of names, such as"
                f" [{operands!r}], not a text"
            )
        nodes = {slot: o for slot, o in enumerate(operands) if not isinstance(o, int | float)}
        for operand in nodes.values():
            self._known(operand)
        foreign = params is None
        if foreign:
            operation, params = known_operation(operation, len(operands) + len(absent))
        label = self._fresh("v", numbered=True)
        written = [_token(o) for o in operands]
        for place in absent:
            written.insert(place, {"t": "text", "text": "…"})
        expr = self._expression(operation, written, params)
        node = self._node(label, "op", expr, value, shape, dtype)
        node["op"] = operation
        more = {"name": name or None, "span": span, "group": group or None}
        node |= {key: part for key, part in more.items() if part is not None}
        self._note(label, operation, operands, params, foreign or checked)
        self._slots[label] = {slot: self.add_edge(o, label, slot) for slot, o in nodes.items()}
        lit = [edge["id"] for edge in self._slots[label].values()]
        reads = [[o, "v"] for o in dict.fromkeys(nodes.values()) if o in self.values]
        if value is None:
            self.step(
                "primal",
                label,
                lit,
                reads,
                [],
                [notation.symbol(label), notation.op("="), *expr],
                f"{label} was computed; its value was not kept.",
            )
            return label
        given = [self.values.get(o) if i in nodes else o for i, o in enumerate(operands)]
        arithmetic = None
        if nodes and all(isinstance(s, int | float) for s in given) and not absent:
            numbers = [
                notation.num(document_value(s), "v") if i in nodes else _token(s)
                for i, s in enumerate(given)
            ]
            arithmetic = self._expression(operation, numbers, params)
        shown = document_value(self.values[label])
        words = sentences.computed(label, expr, arithmetic, shown)
        self.step("primal", label, lit, reads, [[label, "v", shown]], *words)
        if kind(shown) is not None and all(one is not None for one in given) and not absent:
            result, known = np.asarray(self.values[label]), registry.get(operation)
            arrays = [*map(np.asarray, given)]
            why = made_here(known, arrays, dict(params or {}), result, written)
            # without a domain that says so, the engine itself may be wrong
            self._made |= {label: why} if why and "where" in why else {}
        return label

    def tangent(self, node: str, value: Any, local: Sequence[Any] | None = None) -> None:
        """The tangent of an operation's result; ``local``: the local derivative with respect to
        each operand, where they are known.
        """
        self._known(node)
        slots = [e for e in self._slots.get(node, {}).values() if e["src"] in self.tangents]
        if not slots:
            raise ValueError(
                f"Writer.tangent: no operand of {node} has a tangent; give the inputs theirs first,"
                " by input(…, tangent=…)"
            )
        self.tangents[node] = _held(value)
        terms: list[Any] = []
        for edge in slots:
            partial = None if local is None else local[edge["slot"]]
            shown = partial if partial is None else document_value(partial)
            which = notation.occurrence(edge["slot"], slots)
            given = document_value(self.tangents[edge["src"]])
            terms.append((edge["src"], shown, None, given, which))
        reads = [[name, "d"] for name in dict.fromkeys(edge["src"] for edge in slots)]
        shown = document_value(self.tangents[node])
        words = sentences.pushed(node, terms, shown, self._made_of(node))
        lit = [edge["id"] for edge in slots]
        self.step("tangent", node, lit, reads, [[node, "d", shown]], *words)

    # -------------------------------------------------------------------------------------- reverse

    def seed(self, node: str, value: Any = 1.0) -> None:
        """The adjoint that the reverse pass starts from."""
        self._known(node)
        if node in self.adjoints:
            raise ValueError(f"Writer.seed: {node} has an adjoint already")
        self.adjoints[node] = _held(value)
        shown = document_value(self.adjoints[node])
        self.seeds.setdefault("adjoints", {})[node] = shown
        words = sentences.seeded(node, "bar", shown)
        self.step("seed", node, [], [], [[node, "g", shown]], *words)

    def send(
        self, node: str, slot: int, product: Any, *, local: Any = None, after: Any = None
    ) -> None:
        """What ``node`` sends back to its operand number ``slot``.

        after: what the engine has as the operand's adjoint from then on, by default the sum;
            another value shows what the engine made of it.
        """
        edge = self._edge_back(node, slot)
        target = edge["src"]
        upstream, product = self.adjoints[node], _held(product)
        before = self.adjoints.get(target)
        total = product if before is None else before + product
        after = total if after is None else _held(after)
        self.adjoints[target] = after
        contrib = {"edge": edge["id"], "upstream": upstream, "product": product, "after": after}
        contrib |= {"before": before} if before is not None else {}
        contrib |= {"local": _held(local)} if local is not None else {}
        contrib |= {key: document_value(v) for key, v in contrib.items() if key != "edge"}
        shapes = np.shape(upstream), np.shape(product)
        summed = shapes if self._elementwise(node) and shapes[0] != shapes[1] else None
        rule = self._rule(node, slot, upstream, product)
        places = changed_places(product, before)
        sent, earlier, shown = (
            with_places(contrib.get(key), array, places)
            for key, array in (("product", product), ("before", before), ("after", after))
        )
        senders, slope = [(node, contrib["upstream"])], contrib.get("local")
        told = {"summed": summed, "which": notation.occurrence(slot, self._slots[node].values())}
        real = not (np.iscomplexobj(upstream) or np.iscomplexobj(product))
        known = registry.get(self.by_id[node].get("op"))
        told["making"] = self._made_of(node, real and getattr(known, "pointwise", False))
        formula, say = sentences.pulled(
            senders, target, slope, sent, earlier, shown, rule=rule, **told
        )
        if rule and slope is None and told["making"].pointwise:
            contrib["pointwise"] = True
        # told as it is, not as it should be
        if not (np.shape(after) == np.shape(total) and np.allclose(after, total, equal_nan=True)):
            made, say = sentences.pulled(senders, target, slope, sent, None, shown, **told)
            formula = [
                *made[2:],
                notation.op("→"),
                notation.symbol(target, "bar", "g"),
                notation.op("="),
                notation.num(shown, "g"),
            ]
            was = "" if before is None else f"was {number(earlier)} and "
            say = f"{say.partition(';')[0]}; the adjoint of {target} {was}is now {number(shown)}."
        reads = [[node, "g"], *([[target, "g"]] if before is not None else [])]
        reads += [[one, "v"] for one in values_in(rule or []) if one in self.values]
        phase = "adjoint" if before is None else "accumulate"
        self.step(
            phase,
            target,
            [edge["id"]],
            reads,
            [[target, "g", contrib["after"]]],
            formula,
            say,
            contribs=[contrib],
        )

    def _made_of(self, node: str, pointwise: bool = False) -> sentences.Making:
        """How a node is made, for the sentences of its derivatives."""
        value = lambda name: document_value(self.values[name]) if name in self.values else None
        return self.making(node, value, len(self._slots[node]), pointwise)

    def _edge_back(self, node: str, slot: int) -> dict[str, Any]:
        """The edge from a node's operand number ``slot``, by which the node can send now."""
        edges = self._slots.get(node, {})
        if slot not in edges:
            raise ValueError(
                f"Writer.send: {node} has {len(edges)} operands, so there is no number {slot}"
            )
        if node not in self.adjoints:
            raise ValueError(
                f"Writer.send: {node} has no adjoint that it could send back; seed() the result"
                " first, and go from users to operands"
            )
        return edges[slot]

    def correct(self, node: str, value: Any) -> None:
        """The engine has another adjoint there than the sum of what was sent: a hook, or a bug."""
        self._known(node)
        self.adjoints[node] = _held(value)
        shown = document_value(self.adjoints[node])
        formula, _ = sentences.replaced(node, shown)
        say = (
            f"The engine's own adjoint of {node} is {number(shown)}, which is not the sum of the"
            " contributions."
        )
        self.step("update", node, [], [], [[node, "g", shown]], formula, say)

    # --------------------------------------------------------------------------------- the document

    def document(self, outputs: Sequence[str] | None = None) -> dict[str, Any]:
        """The Trace. ``outputs``: the results; by default the seeded nodes, or else the last one.
        Raises ValueError if there are no nodes.
        """
        if not self.nodes:
            raise ValueError("Writer.document: nothing was written; there is no node")
        results = list(outputs or self.seeds.get("adjoints") or [self.nodes[-1]["id"]])
        nodes = [
            {**n, "kind": "output" if n["id"] in results and n["kind"] == "op" else n["kind"]}
            for n in self.nodes
        ]
        inputs = [n["id"] for n in nodes if n["kind"] == "input"]
        explain(self.steps, self.by_id, self.edges, self._made)
        more = {"source": {"code": self.source}} if self.source else {}
        found = self.finished(self.title, inputs, results, self.seeds, **more)
        return validate({**found, "nodes": nodes})

    def _note(
        self,
        label: str,
        operation: str,
        operands: Sequence[str | float],
        params: Any,
        foreign: bool,
    ) -> None:
        """Remembers how a value was made, where minigrad has an operation of that name."""
        primitive = registry.get(operation)
        if primitive is None or not _takes(primitive, operands, params):
            return
        try:
            likes = tuple(o if isinstance(o, int | float) else self._like(o) for o in operands)
        except TypeError:  # of an operand no dtype is known, or one that NumPy does not have
            return
        names = tuple(map(_token, operands))
        self._rules.note(label, Made(primitive, likes, names, dict(params or {})))
        if foreign:
            self._foreign[label] = primitive, params or {}, operands

    def _like(self, name: str) -> Array:
        node = self.by_id[name]
        return Array(tuple(node["shape"]), np.dtype(node["dtype"]))

    def _rule(self, node: str, slot: int, upstream: Any, product: Any) -> Any:
        """The rule of a step as a formula. None where there is none, or where it does not give
        what another engine has sent.
        """
        known = self._foreign.get(node)
        if known is not None and not self._gives(*known, slot, upstream, product):
            return None
        return self._rules.pulled(node, slot)

    def _gives(
        self,
        primitive: Any,
        params: Any,
        operands: Sequence[str | float],
        slot: int,
        upstream: Any,
        product: Any,
    ) -> bool:
        inputs: list[Any] = []
        for operand in operands:
            value = operand if isinstance(operand, int | float) else self.values.get(operand)
            if value is None:  # not kept: what is sent may not depend on it
                value = np.zeros(self.by_id[operand]["shape"])
            if value is not operand:
                kind_of = np.asarray(value).dtype.kind
                if kind_of not in ("f", "b"):
                    return False
                real = {"dtype": mg.float64, "requires_grad": True} if kind_of == "f" else {}
                value = mg.tensor(np.asarray(value), **real)
            inputs.append(value)
        try:
            sent = mg.autograd.grad(
                primitive(*inputs, **params), inputs[slot], mg.tensor(upstream)
            )[0]
            found = sent.detach().numpy()
        except Exception:  # the operation of that name takes other operands: no rule is said
            return False
        return found.shape == np.shape(product) and bool(
            np.allclose(found, product, rtol=1e-4, atol=1e-7, equal_nan=True)
        )

    def _node(
        self,
        label: str,
        kind: str,
        expr: list[Any],
        value: Any,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
    ) -> dict[str, Any]:
        if value is not None:
            self.values[label] = _held(value)
            array = np.asarray(value)
            shape, dtype = array.shape, str(array.dtype)
        return self.add_node(label, kind, expr, shape or (), dtype or "")

    def _fresh(self, wanted: str, numbered: bool = False) -> str:
        """A name that no node has: that which is wanted, or with a number: v1, v2 …"""
        if wanted not in self.by_id and not numbered:
            return wanted
        return next(name for n in count(1) if (name := f"{wanted}{n}") not in self.by_id)

    def _known(self, node: str) -> None:
        if isinstance(node, int | float):
            raise ValueError(
                f'Writer: {node} is a number, not the name of a node; make it one: input("",'
                f' {node}, kind="const")'
            )
        if not isinstance(node, str) or node not in self.by_id:
            raise ValueError(
                f"Writer: there is no node {node!r}; input() and op() return the names that they"
                " gave"
            )

    def _expression(
        self, operation: str, operands: list[Any], params: Mapping[str, Any] | None
    ) -> list[Any]:
        own = registry.get(operation)
        if params is not None and own is not None and _takes(own, operands, params):
            return notation.expression(own, operands, dict(params))
        sign = SIGNS.get(operation)
        if sign and len(operands) == 2:
            return [
                *_bracketed(operands[0], first=True),
                notation.op(sign),
                *_bracketed(operands[1]),
            ]
        if operation == "neg" and len(operands) == 1:
            return [notation.op("−"), *_bracketed(operands[0])]
        if own is not None and not own.keywords and _takes(own, operands, None):
            return notation.expression(own, operands, {})
        out: list[Any] = [{"t": "fn", "text": operation}]
        if len(operands) == 1 and operands[0]["t"] == "sym":
            return [*out, operands[0]]
        inner = [
            token
            for i, operand in enumerate(operands)
            for token in ([notation.op(","), operand] if i else [operand])
        ]
        return [*out, notation.op("("), *inner, notation.op(")")]

    def _elementwise(self, node: str) -> bool:
        return SIGNS.get(self.by_id[node]["op"], "@") != "@"


def _token(operand: str | float) -> notation.Token:
    """An operand in a formula."""
    number = isinstance(operand, int | float)
    return notation.plain(operand) if number else notation.symbol(str(operand))


def _held(value: Any) -> Any:
    """A number as a Python number, anything else as an array of its own (an engine may change
    its own later).
    """
    if isinstance(value, bool | int | float):
        return float(value)
    array = np.array(value)
    if array.dtype.kind not in "biufc":
        raise ValueError(
            f"Writer: a value must be a number or an array of numbers, got {type(value).__name__}"
            f" {str(value)[:40]}"
        )
    return array.item() if array.ndim == 0 else array


def _takes(primitive: Any, operands: Sequence[Any], params: Mapping[str, Any] | None) -> bool:
    """Whether minigrad's operation of that name takes so many operands."""
    many = primitive.variadic and params is not None
    return many or len(primitive.inputs) == len(operands)


def _bracketed(token: Any, first: bool = False) -> list[Any]:
    negative = (
        token["t"] == "num" and isinstance(token["value"], int | float) and token["value"] < 0
    )
    return [notation.op("("), token, notation.op(")")] if negative and not first else [token]
