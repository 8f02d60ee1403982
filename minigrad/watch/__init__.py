"""Observers of the engine: what uses the one instrumentation point (core/observe.py)."""

from .trace import trace_function
from .training_step import trace_training_step

__all__ = ["trace_function", "trace_training_step"]
