"""Registration of a module's hooks: on its calls, on the gradients that pass through it, on saving
and on loading its state. hooks.py and state.py call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..hook_handle import HookHandle
from . import hooks as hooks_around
from . import state as states
from .hooks import CallHooks, ForwardHook
from .state import StateHooks


class HookRegistration:
    """The methods of `Module` that register a hook. Each returns a handle, whose `remove()` removes
    the hook, and raises TypeError where the hook cannot be called.
    """

    _call_hooks: CallHooks | None = None
    _state_hooks: StateHooks | None = None

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Call `hook(module, args, result)` after each forward; a returned value (not None)
        replaces the result.

        prepend: before the hooks that are there already. with_kwargs: `hook(module, args, kwargs,
        result)`. always_call: even if the call fails (then the result is None, or what it was when
        a hook failed); should the hook fail too, it is passed over with a warning.
        """
        what, kept = "register_forward_hook", ForwardHook(hook, with_kwargs, always_call)
        return hooks_around.added(self._hooks().after, what, hook, kept, prepend)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook(module, args)` before each forward; a returned value replaces the arguments (a
        tuple: all; else the only one).

        prepend: before the hooks that are there already. with_kwargs: `hook(module, args, kwargs)`,
        which returns None or (args, kwargs).
        """
        what, kept = "register_forward_pre_hook", ForwardHook(hook, with_kwargs)
        return hooks_around.added(self._hooks().before, what, hook, kept, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)` when a reverse pass has come through the
        module.

        grad_input: a tuple with the gradient with respect to each positional argument, as far as
        this call is concerned; grad_output: with respect to each result (there is one, unless the
        module returns a tuple). None stands for what is no tensor, needs no gradient or got none;
        tensors inside lists and dicts are not seen. A returned tuple replaces grad_input. The
        arguments and results pass through views, which cannot be modified in place. Where no
        argument needs a gradient, the hook sees grad_output alone, with a warning. A pass that does
        not want the inputs' gradients does not call it. Nothing is called for calls without
        recording (`no_grad`).
        """
        return hooks_around.added(
            self._hooks().after_backward, "register_full_backward_hook", hook, hook, prepend
        )

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Call `hook(module, grad_output)` when a reverse pass comes to the module; a returned
        tuple replaces grad_output.
        """
        return hooks_around.added(
            self._hooks().before_backward, "register_full_backward_pre_hook", hook, hook, prepend
        )

    def _hooks(self) -> CallHooks:
        if self._call_hooks is None:
            self._call_hooks = CallHooks()
        return self._call_hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` reads this module."""
        return states.added(self, "before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when this module and all inside
        are in the state, which it may change.

        Other modules are in it too: those before this one. It must return None.
        """
        return states.added(self, "after_saving", hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """As `register_state_dict_post_hook`, but what the hook of the outermost module returns
        replaces the state.
        """
        return states.added(self, "after_saving", hook, True)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` before loading.

        state_dict: a dict of its own with all that is there for this module and those inside, which
        it may change.
        """
        return states.added(self, "before_loading", hook, True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> HookHandle:
        """As `register_load_state_dict_pre_hook`, but without the module as its first argument."""
        return states.added(self, "before_loading", hook, with_module)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change both lists of
        names in place, and must return None.
        """
        return states.added(self, "after_loading", hook)
