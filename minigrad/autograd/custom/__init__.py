"""How a `Function` runs, one step a file.

context.py: what it keeps; run.py: its forward; node.py: its place in the graph and its backward;
push.py: forward mode; batch.py: vmap.
"""
