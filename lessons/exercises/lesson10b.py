"""The exercises of lesson 10b: batch normalisation and initial values. They are made in
lesson10.py.
"""

from __future__ import annotations

from .lesson10 import EVERY, LATER

EXERCISES = {name: EVERY[name] for name in LATER}
