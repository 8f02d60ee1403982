"""A picture of a Trace as a display list, and the two writers that turn the list into a file.

Reading order: `marks` (what a picture is made of, and the table of styles), `card` (one node),
`graph` (the whole graph after a step), `legend` and `matrix` (what stands around it), `write_svg`
and `write_matplotlib` (the writers), `xdot` (Graphviz's pictures as the same marks).
"""
