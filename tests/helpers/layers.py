"""The layers of minigrad: which package may import which."""

from __future__ import annotations

import functools

from tests.helpers.source_tree import imports

LAYERS: list[set[str]] = [
    # From the ground up; a module imports only from rows above its own (minigrad/design/0001 tells
    # why).
    {"minigrad.cache_folder", "minigrad.hints", "minigrad.hook_handle"},
    {"minigrad.errors"},
    {"minigrad.backend"},
    {"minigrad.cuda", "minigrad.scalar", "minigrad.half_precision"},
    {"minigrad.explain", "minigrad.recursion"},
    {"minigrad.facets"},
    {"minigrad.core"},
    {"minigrad.observers"},
    {"minigrad.fast", "minigrad.entry_points"},
    {"minigrad.grad_mode", "minigrad.roles", "minigrad.storage"},
    {"minigrad.names"},
    {"minigrad.ops"},
    {"minigrad.batching"},
    {"minigrad.functions"},
    {"minigrad.func"},
    {"minigrad.autograd"},
    {"minigrad.nn"},
    {"minigrad.methods"},
    {"minigrad.arrays", "minigrad.testing"},
    {"minigrad.singa"},
    {"minigrad.extras"},
    {"minigrad.linalg", "minigrad.fft", "minigrad.special", "minigrad.masked"},
    {"minigrad.signal"},
    {"minigrad.on_demand"},
    {"minigrad.optim", "minigrad.data", "minigrad.serialization"},
    {"minigrad.nn.utils"},
    {"minigrad.training", "minigrad.utils"},
    {"minigrad.trace"},
    {"minigrad.watch"},
    {"minigrad.program"},
    {"minigrad.graph"},
    {"minigrad.networks"},
    {"minigrad"},
    {"minigrad.expression"},
    {"minigrad.cli"},
    {"minigrad.__main__"},
    {"minigrad.viz"},
    {"minigrad.lessons"},
]
RANK = {module: rank for rank, modules in enumerate(LAYERS) for module in modules}


@functools.cache
def unit(module: str) -> str:
    """The row entry that a module belongs to: `minigrad.ops.math` belongs to `minigrad.ops`, and
    all of viz to `minigrad.viz`.
    """
    found = [row for row in RANK if module == row or module.startswith(f"{row}.")]
    deepest = max(found, key=len, default="")
    return (
        ".".join(module.split(".")[:2])
        if deepest in ("", "minigrad") and "." in module
        else deepest or module
    )


def climbs(source: str, module: str, package: str) -> list[str]:
    """The imports of a module's source that reach for a layer beside or above its own."""
    own = unit(module)
    return [
        f"{module}:{found.line} imports {found.module}"
        for found in imports(source, package)
        if found.module.partition(".")[0] == "minigrad"
        and (other := unit(found.module)) != own
        # the outermost layer, minigrad.cli, imports others by name
        and not (own == "minigrad.cli" and not found.local)
        and RANK.get(other, -1) >= RANK.get(own, len(LAYERS))
    ]
