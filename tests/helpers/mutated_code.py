"""Change one place in the code of the library for the length of a test."""

import __future__

import inspect
import sys
import textwrap
from typing import Any

import pytest


def mutate(patch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Let `owner.name` (a function of a module, or a method) run with `old`, which its code holds
    once, replaced by `new`."""
    function = inspect.getattr_static(owner, name)
    code = textwrap.dedent(inspect.getsource(function))
    assert code.count(old) == 1, f"{name} holds {old!r} {code.count(old)} times"
    mutated = code.replace(old, new)
    space = vars(sys.modules[function.__module__])
    flags = __future__.annotations.compiler_flag
    made: dict[str, Any] = {}
    exec(compile(mutated, f"<mutated {name}>", "exec", flags, dont_inherit=True), space, made)
    patch.setattr(owner, name, made[name])
