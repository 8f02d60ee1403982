"""The engine: how an operation is declared, run, recorded and differentiated. Read in this order:

1. `primitive`: how an operation is declared.
2. `observe`: how the engine can be observed.
3. `graph`: a thread's switches, and what a computation leaves behind for the backward pass.
4. `tensor`: the Tensor, and the protocol for payloads that are not arrays.
5. `forward`: forward mode.
6. `views`: views and in-place writes.
7. `apply`: what happens when an operation is called.
8. `backward`: reverse mode.

Within core, a file imports only files listed before it. Files before apply.py call operations, too:
so apply.py sets `primitive.apply`, and they fetch the operations from the registry. Outside of
core, `minigrad.backend` has arrays, dtypes and devices, `explain` the errors' texts (`errors`:
their classes), `facets` what a declaration may say to others (vmap, which runs a function of one
example on a batch; compiled programs; pictures), `half_precision` the sums in float32, `recursion`
a deeper stack for passes within passes. The core suffices: `minigrad.fast` does the most frequent
calls in fewer steps, with equal results; `minigrad.fast.disable()` (or MINIGRAD_FAST=0) ends that.

Where users' calls arrive (`entry_points`, methods/, func/ and grad_mode define the public names):

    mg.sin(x); a + b                 Primitive.call_unary; Primitive.__call__: both apply.apply
    y.backward(), autograd.grad      backward.backward; with targets: backward.differentiate
    y.add_(1), y[0] = 1              views.assign(target, value, name)
    x.detach(); mg.no_grad()         tensor.alias; state.recording = False
    x.register_hook, .retain_grad    node.hooks, node.retained
    mg.func.jvp; mg.vmap             forward.forward_level; tensor.Payload.__minigrad_apply__
    mg.compile                       an observer (observers.add_observer) and a Payload of its own

An example, for x = mg.ones(3, requires_grad=True):

    h = x * 2           apply: compute multiplies, wrap makes h, record its OpNode: parents are
                        (Leaf, None), saved is (2,), since the rule for x, g * b, names b alone
    v = h[1:3]          the same; mark_view gives v the Version of h and a View with base h
    v.mul_(5)           v * 5 as any operation; assign writes it and increments Version.count;
                        h.node is now that of scatter_view(h, v * 5), v.node is derived from it
    h.sum().backward()  a Pass visits sum, scatter_view, v * 5, h[1:3], x * 2 and the Leaf, in this
                        order: x.grad is (2, 10, 10)
    y = h.exp(); y += 1; y.sum().backward()   raises InPlaceError: exp has saved its result

The concepts, in the order in which they appear:

- Primitive: an operation's declaration, which can be called.
- Rule: a derivative as a function; its parameters' names say what it needs.
- Cotangent: of a value, Σ seed · ∂root/∂value over the roots of a pass; it is carried backward.
- Tangent: the derivative of a value along a direction of the inputs, carried forward.
- Pull rule, push rule: the rules of reverse mode (VJP) and forward mode (JVP), one for each input.
- Registry: all declarations by name.
- Plan: which rules a backward pass calls, and what a node saves for them, given which inputs need
  a gradient.
- Observer: sees the events (forward, tangent, backward, leaf, assign, region) of its thread.
- State: of one thread: whether it records, its open levels, the pass that is running.
- Level: one derivative of forward mode; nested derivatives have different levels.
- Version: counts how often memory was overwritten; all tensors on the memory share it. Nodes save
  arrays without a copy, so a pass must notice that one was overwritten: it compares two counts.
- Node: a differentiable value's place in the graph, linked to its inputs' nodes. As it is no
  tensor, a value that no rule needs is freed, and a tensor that is overwritten gets another node.
- Sequence number: nodes are numbered as they are made, which orders the backward pass.
- Hook: a user's function that sees, and may replace, a cotangent.
- OpNode: the node of an operation's result, with the saved values that its rules need.
- Pick: the node of one result of an operation with several.
- Tensor: a handle on a payload, a node, tangents and a version.
- Payload: what `Tensor.array` holds: an array, or an instance of the class `Payload`, which runs
  operations itself (vmap, recorded programs).
- Scalar payload: a NumPy scalar as the payload of a 0-d tensor. It is immutable. `materialise`
  makes it an array, `canonical` turns a 0-d array into a scalar, unless it is a view.
- Leaf: the node of a tensor whose gradient the user wants.
- View: whose memory a tensor shares (the base's), and the view operations that lead there.
- Assign: a write in place: it overwrites the target's memory; whose node changes, views.py says.
- Promotion: casts the operands to one dtype before anything is computed.
- Pass: one backward pass, youngest node first, from its roots, whose cotangents are the seeds.
- Pass on tensors: rules run on tensors, so the derivative can be differentiated again.
"""
