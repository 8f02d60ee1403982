"""How operations are run, remembered, and differentiated.

Read in this order: `record` (an operation is called), `reverse` (cotangents go back), `forward` (tangents go along), `inplace` (old memory,
new values), `modes` (the switches).
"""
