"""A layered drawing of a directed acyclic graph, in plain Python: inputs at the left, results at
the right.

It has the four classical stages of layered drawing:

1. *Layers.* A node's layer is the length of the longest path that leads to it, so every edge goes
   forward. What is computed from sources alone (a weight cast, an input scaled again at each of
   many steps) stands just before its first use, where that saves long wires.
2. *Lanes.* An edge that skips layers gets a way-point in each, so that it passes between the nodes.
   Edges that leave the same node share their way-points, as wires share a trunk.
3. *Order.* Sweeps back and forth sort each layer by the mean position of the neighbours (the
   barycentre); the order with the fewest crossings is kept.
4. *Positions.* Each layer in turn is put as near as possible, in the least-squares sense, to where
   its neighbours are, without changing the order and without coming closer than a margin. Under an
   order constraint that is isotonic regression, solved exactly by pooling adjacent violators.

Sources: K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
structures", IEEE Trans. SMC 11 (1981); R. E. Barlow et al., "Statistical inference under order
restrictions" (1972) for stage 4.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from minigrad.viz.constants import LAYOUT

Sizes = Mapping[str, tuple[float, float]]
# (edge id, source, destination), in the order of the operands
Edges = Sequence[tuple[str, str, str]]

MARGIN = LAYOUT["margin"]  # around the whole picture
NODE_GAP = LAYOUT["node_gap"]  # between two cards in a layer
LANE_GAP = LAYOUT["lane_gap"]  # between a card and a passing edge, or two passing edges
LAYER_GAP = LAYOUT["layer_gap"]  # between two layers; space for an edge's label
PORT_GAP = LAYOUT["port_gap"]  # between two edges that end at the same card
# beyond this many way-points, long edges are drawn straight: time and size matter more than beauty
# then
MOST_LANES = 30_000
SWEEPS = 12
# what is computed from sources stands late where the wires are then shorter than this share of
# their length
SAVES = LAYOUT["saves"]


def solve(
    sizes: Sizes, edges: Edges, floating: Iterable[str] = (), gap: float = LAYER_GAP
) -> dict[str, Any]:
    """Lay out the graph.

    Args:
        sizes: ``{node: (width, height)}`` in pixels, in topological order.
        edges: ``(id, source, destination)``; several edges may join the same two nodes.
        floating: sources (constants, parameters) that may leave the first layer to stand just
        before their first use.
        gap: between two layers, at least.

    Returns:
        ``{"width", "height", "nodes": {id: {"x", "y", "w", "h"}}, "edges": {id: {"points": [[x, y],
        ...]}}}``, the x and y of a node being its centre. An edge's points run strictly to the
        right; a smooth curve that is level at its ends and monotone between its points touches no
        card except its own two. The same graph always gives the same drawing.

    Raises:
        ValueError: an edge that does not go from an earlier to a later node, so that the graph may
        have a cycle.
    """
    if not sizes:
        return {"width": 2 * MARGIN, "height": 2 * MARGIN, "nodes": {}, "edges": {}}
    layer_of = _layers(sizes, edges, set(floating))
    rows, links, trunk = _lanes(sizes, edges, layer_of)
    rows = _reduce_crossings(rows, links)
    heights = {v: sizes[v][1] if isinstance(v, str) else 0.0 for row in rows for v in row}
    y = _positions(rows, links, heights)

    widths = [max((sizes[v][0] for v in row if isinstance(v, str)), default=0.0) for row in rows]
    centres = _columns(widths, rows, links, y, gap)
    top = min(y[v] - heights[v] / 2 for v in y) - MARGIN
    y = {v: at - top for v, at in y.items()}
    nodes = {
        v: {
            "x": centres[layer_of[v]],
            "y": round(y[v], 1),
            "w": widths[layer_of[v]],
            "h": sizes[v][1],
        }
        for v in sizes
    }  # cards of a layer share their width, so that they line up
    paths = _routes(edges, trunk, nodes, y, centres, widths)
    return {
        "width": round(centres[-1] + widths[-1] / 2 + MARGIN, 1),
        "height": round(max(y[v] + heights[v] / 2 for v in y) + MARGIN, 1),
        "nodes": nodes,
        "edges": paths,
    }


# A way-point is the pair (source node, layer); a node is its id. Both serve as keys.
Vertex = str | tuple[str, int]
Rows = list[list[Vertex]]
Links = dict[Vertex, list[Vertex]]


def _layers(sizes: Sizes, edges: Edges, floating: set[str]) -> dict[str, int]:
    place = {v: i for i, v in enumerate(sizes)}
    into: dict[str, list[str]] = {v: [] for v in sizes}
    out_of: dict[str, list[str]] = {v: [] for v in sizes}
    for name, src, dst in edges:
        if place[src] >= place[dst]:
            raise ValueError(
                f"edge {name!r} goes from {src!r} to {dst!r}, which stands earlier in the list of"
                " nodes: not a Trace's order"
            )
        into[dst].append(src)
        out_of[src].append(dst)
    early: dict[str, int] = {}
    for v in sizes:
        early[v] = 1 + max((early[u] for u in into[v]), default=-1)
    late, light = dict(early), _from_sources(sizes, into, floating)
    for v in reversed(list(sizes)):
        if v in light and out_of[v]:
            late[v] = max(late[v], min(late[u] for u in out_of[v]) - 1)
    for layer in (early, late):
        for v in sizes:
            if v in floating and not into[v] and out_of[v]:
                layer[v] = max(0, min(layer[u] for u in out_of[v]) - 1)
    layer = late if _length(late, out_of) < SAVES * _length(early, out_of) else early
    first = min(layer.values())
    return {v: at - first for v, at in layer.items()}


def _from_sources(sizes: Sizes, into: Mapping[str, list[str]], floating: set[str]) -> set[str]:
    """What is computed from sources in one step, or from constants and parameters in any number
    of steps.
    """
    fixed, light = set(floating), set()
    for v in sizes:
        if into[v] and all(u in fixed for u in into[v]):
            fixed.add(v)
        if into[v] and (v in fixed or not any(into[u] for u in into[v])):
            light.add(v)
    return light


def _length(layer: Mapping[str, int], out_of: Mapping[str, list[str]]) -> int:
    """Way-points that the edges need in all, those of one node sharing theirs."""
    return sum(max(layer[u] for u in users) - layer[v] - 1 for v, users in out_of.items() if users)


def _lanes(
    sizes: Sizes, edges: Edges, layer: Mapping[str, int]
) -> tuple[Rows, tuple[Links, Links], dict[str, bool]]:
    """Way-points for edges longer than one layer. Returns the rows, the links (to the left, to
    the right), and which edges have lanes.
    """
    rows: Rows = [[] for _ in range(1 + max(layer.values()))]
    for v in sizes:
        rows[layer[v]].append(v)
    reach: dict[str, int] = {}
    for _, src, dst in edges:
        reach[src] = max(reach.get(src, 0), layer[dst])
    affordable = sum(far - layer[src] - 1 for src, far in reach.items()) <= MOST_LANES
    left: Links = {v: [] for v in sizes}
    right: Links = {v: [] for v in sizes}
    trunk: dict[str, bool] = {}

    def join(a: Vertex, b: Vertex) -> None:
        right.setdefault(a, []).append(b)
        left.setdefault(b, []).append(a)

    for name, src, dst in edges:
        trunk[name] = affordable
        here: Vertex = src
        if affordable:
            for at in range(layer[src] + 1, layer[dst]):
                lane = (src, at)
                if lane not in left:
                    rows[at].append(lane)
                    left[lane] = []
                    join(here, lane)
                here = lane
        join(here, dst)
    return rows, (left, right), trunk


def _crossings(rows: Rows, right: Links) -> int:
    """How many pairs of edges cross between neighbouring layers: inversions of the order,
    counted by insertion into a sorted list.
    """
    total = 0
    for row, after in pairwise(rows):
        place = {v: i for i, v in enumerate(after)}
        seen: list[int] = []
        for v in row:
            ends = sorted(place[u] for u in right.get(v, ()) if u in place)
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _reduce_crossings(rows: Rows, links: tuple[Links, Links]) -> Rows:
    left, right = links
    best, fewest = [list(row) for row in rows], _crossings(rows, right)
    rows = [list(row) for row in rows]
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        towards, order = (
            (left, range(1, len(rows))) if sweep % 2 == 0 else (right, range(len(rows) - 2, -1, -1))
        )
        for at in order:
            beside = rows[at - 1] if sweep % 2 == 0 else rows[at + 1]
            place = {v: i for i, v in enumerate(beside)}
            key: dict[Vertex, float] = {}
            for i, v in enumerate(rows[at]):
                near = [place[u] for u in towards.get(v, ()) if u in place]
                key[v] = sum(near) / len(near) if near else i
            rows[at].sort(key=key.__getitem__)  # a stable sort: ties keep their order
        now = _crossings(rows, right)
        if now < fewest:
            best, fewest = [list(row) for row in rows], now
    return best


def _positions(
    rows: Rows, links: tuple[Links, Links], heights: Mapping[Vertex, float]
) -> dict[Vertex, float]:
    y: dict[Vertex, float] = {}
    stacks = [_stack(row, heights) for row in rows]
    for row, stack in zip(rows, stacks, strict=True):  # start: each layer's middle is at 0
        middle = stack[-1] / 2
        y.update({v: at - middle for v, at in zip(row, stack, strict=True)})

    def pulled(v: Vertex, side: Links) -> list[tuple[Vertex, float]]:
        """The neighbours on one side, with their weights: passing edges are kept straight."""
        node = isinstance(v, str)
        return [(u, 1.0 if node or isinstance(u, str) else 8.0) for u in side.get(v, ())]

    to_left, to_right = ({v: pulled(v, side) for v in y} for side in links)
    to_both = {v: to_left[v] + to_right[v] for v in y}

    def settle(at: int, near: Mapping[Vertex, list[tuple[Vertex, float]]]) -> None:
        row = rows[at]
        wanted, weights = [], []
        for v in row:
            total = weight = 0.0
            for u, w in near[v]:
                total += w * y[u]
                weight += w
            wanted.append(total / weight if weight else y[v])
            weights.append(weight or 0.01)
        y.update(zip(row, _fit(wanted, weights, stacks[at]), strict=True))

    inner = range(len(rows))
    there_and_back = [(at, to_left) for at in inner[1:]]
    there_and_back += [(at, to_right) for at in reversed(inner[:-1])]
    for most, sweep in (SWEEPS // 2, there_and_back), (2, [(at, to_both) for at in inner]):
        for _ in range(most):
            before = y.copy()
            for at, near in sweep:
                settle(at, near)
            if y == before:  # so it stays
                break
    return y


def _stack(row: Sequence[Vertex], heights: Mapping[Vertex, float]) -> list[float]:
    """Centres of a row packed as tightly as the margins allow, the first at 0."""
    out = [0.0]
    for a, b in pairwise(row):
        gap = NODE_GAP if isinstance(a, str) and isinstance(b, str) else LANE_GAP
        out.append(out[-1] + (heights[a] + heights[b]) / 2 + gap)
    return out


def _fit(wanted: Sequence[float], weights: Sequence[float], stack: Sequence[float]) -> list[float]:
    """Positions nearest to ``wanted`` (weighted least squares) that keep the order and the
    distances of ``stack``.

    With z = y - stack the constraint is z[0] <= z[1] <= ...: isotonic regression. Blocks that would
    overlap are pooled to their mean.
    """
    blocks: list[list[float]] = []  # [sum of weight * z, sum of weight, count]
    for target, weight, offset in zip(wanted, weights, stack, strict=True):
        blocks.append([weight * (target - offset), weight, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, weight, count = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + weight, blocks[-1][2] + count]
    level = [total / weight for total, weight, count in blocks for _ in range(int(count))]
    return [z + offset for z, offset in zip(level, stack, strict=True)]


def _columns(
    widths: Sequence[float],
    rows: Rows,
    links: tuple[Links, Links],
    y: Mapping[Vertex, float],
    least: float,
) -> list[float]:
    """The x of each layer's centre. Layers joined by steep edges stand further apart."""
    _, right = links
    centres = [MARGIN + widths[0] / 2]
    for at in range(1, len(rows)):
        steepest = max(
            (abs(y[u] - y[v]) for v in rows[at - 1] for u in right.get(v, ())), default=0.0
        )
        gap = least + min(70.0, 0.12 * steepest)
        centres.append(round(centres[-1] + widths[at - 1] / 2 + gap + widths[at] / 2, 1))
    return centres


def _ports(ends: list[tuple[float, int, str]], height: float) -> dict[str, float]:
    """Where the edges of one side of a card touch it, as offsets from its middle: sorted by
    where they come from, evenly spaced.
    """
    ends.sort()
    gap = min(PORT_GAP, (height - 16.0) / max(1, len(ends)))
    return {name: (i - (len(ends) - 1) / 2) * gap for i, (_, _, name) in enumerate(ends)}


def _routes(
    edges: Edges,
    trunk: Mapping[str, bool],
    nodes: Mapping[str, Mapping[str, float]],
    y: Mapping[Vertex, float],
    centres: Sequence[float],
    widths: Sequence[float],
) -> dict[str, dict[str, list[list[float]]]]:
    layer = _index(nodes, centres)
    lanes: dict[str, list[tuple[str, int]]] = {}
    leave: dict[str, list[tuple[float, int, str]]] = {}
    enter: dict[str, list[tuple[float, int, str]]] = {}
    shared: dict[
        tuple[str, Vertex], str
    ] = {}  # edges that start on the same trunk leave by the same port
    for order, (name, src, dst) in enumerate(edges):
        lanes[name] = [(src, at) for at in range(layer[src] + 1, layer[dst])] if trunk[name] else []
        if lanes[name]:
            first = shared.setdefault((src, lanes[name][0]), name)
            if first == name:
                leave.setdefault(src, []).append((y[lanes[name][0]], order, name))
        else:
            leave.setdefault(src, []).append((y[dst], order, name))
        enter.setdefault(dst, []).append(
            (y[lanes[name][-1]] if lanes[name] else y[src], order, name)
        )
    start = {v: _ports(ends, nodes[v]["h"]) for v, ends in leave.items()}
    stop = {v: _ports(ends, nodes[v]["h"]) for v, ends in enter.items()}

    out: dict[str, dict[str, list[list[float]]]] = {}
    for name, src, dst in edges:
        a, b = nodes[src], nodes[dst]
        port = shared[src, lanes[name][0]] if lanes[name] else name
        points = [[a["x"] + a["w"] / 2, a["y"] + start[src][port]]]
        # level across the whole layer, so that it passes its cards at a distance
        for lane in lanes[name]:
            half = max(widths[lane[1]] / 2, 1.0)
            points += [[centres[lane[1]] - half, y[lane]], [centres[lane[1]] + half, y[lane]]]
        points.append([b["x"] - b["w"] / 2, b["y"] + stop[dst][name]])
        out[name] = {"points": [[round(px, 1), round(py, 1)] for px, py in points]}
    return out


def _index(nodes: Mapping[str, Mapping[str, float]], centres: Sequence[float]) -> dict[str, int]:
    at = {x: i for i, x in enumerate(centres)}
    return {v: at[box["x"]] for v, box in nodes.items()}
