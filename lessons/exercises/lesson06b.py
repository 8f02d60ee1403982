"""The exercises of lesson 6b: backward(), hooks and an operation of one's own. They are made in
lesson06.py.
"""

from __future__ import annotations

from .lesson06 import EVERY, LATER

EXERCISES = {name: EVERY[name] for name in LATER}
