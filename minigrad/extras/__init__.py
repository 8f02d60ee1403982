"""Functions that no lesson and no other file of the library needs, under their usual public names.

A file is loaded when one of its names is used for the first time (`minigrad/on_demand.py` has the
list): whoever reads the engine can leave this folder closed.
"""
