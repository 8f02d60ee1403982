"""The engine: how an operation is declared, run, recorded and differentiated. Read it in this
order; each file needs only those before it.

1. `primitive`: how an operation is declared.
2. `observe`: how the engine can be observed.
3. `graph`: a thread's switches, and what a computation leaves behind for the backward pass.
4. `tensor`: the Tensor, and the protocol for payloads that are not arrays.
5. `forward`: forward mode.
6. `views`: views and in-place writes.
7. `apply`: what happens when an operation is called.
8. `backward`: reverse mode.

It uses `minigrad.backend` (arrays, dtypes, devices; `backend/payload.py` has what every call
needs), `minigrad.errors`, and three files that can be left for later: `explain` (errors in words),
`facets` (what a declaration says besides its rules) and `recursion`. It is complete:
`minigrad.fast` only does the same in fewer steps where operands are plain, and
`minigrad.fast.disable()` or MINIGRAD_FAST=0 in the environment switches that off.

The concepts, in the order in which they appear:

- Primitive: an operation's declaration, which can be called.
- Rule: a derivative as a function; its parameters' names say what it needs.
- Pull, push: the rules of reverse and of forward mode, one for each input.
- Plan: what a node must keep, given which inputs need a gradient.
- Registry: all declarations by name.
- Observer: sees every event (operation, tangent, pull, store, write) of its thread.
- State: the switches of a thread: recording, levels, the pass under way.
- Node: a differentiable value's place in the graph; it refers to its inputs' nodes.
- Sequence number: nodes are numbered as they are made, which orders the backward pass.
- OpNode: the node of an operation's result, with the saved values that its rules name.
- Pick: the node of one result of an operation with several.
- Version: counts how often memory was overwritten; all tensors on the memory share it.
- Hook: a user's function that sees, and may replace, a cotangent.
- Tensor: a handle on a payload, a node, tangents and a version.
- Payload: an array, or a value that runs operations itself (vmap, recorded programs).
- Leaf: the node of a tensor whose gradient the user wants.
- Tangent: a directional derivative that a tensor carries, one for each level.
- Level: one derivative of forward mode; nested derivatives have different levels.
- View: of which tensor another one is a view, and by which operations.
- Assign: an in-place write: compute, then overwrite, then take over the node.
- Promotion: operands of one dtype, before anything is computed.
- Cotangent: the derivative of the output with respect to a value, as it arrives backward.
- Pass: one walk over the graph, youngest node first.
- Differentiable pass: rules run on tensors, so the derivative can be differentiated again.
"""
