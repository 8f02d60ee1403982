"""Observers of the engine: what uses the one instrumentation point (core/observe.py)."""

from .trace import trace_function

__all__ = ["trace_function"]
