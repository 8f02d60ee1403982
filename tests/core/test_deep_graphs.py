"""No recursion: a chain of 400,000 operations is built, differentiated and freed within a
small stack, and memory returns by itself.
"""

import gc
import subprocess
import sys
import weakref

import pytest

import minigrad as mg

SMALL_STACK = """
import gc, resource, sys, threading
resource.setrlimit(resource.RLIMIT_STACK,
    (512 * 1024, resource.getrlimit(resource.RLIMIT_STACK)[1]))
# a thread has the stack that it is given; the first one had its own before we could ask
threading.stack_size(512 * 1024)
gc.disable()
import minigrad as mg

{functions}

def guarded():
    for work in ({names}):
        try:
            work()
            print("done")
        except BaseException as error:
            print("failed", work.__name__, repr(error)[:200])

thread = threading.Thread(target=guarded)
thread.start()
thread.join()
"""

CHAINS = {
    "forward and back": (100_000, """
    x = mg.tensor(1.0, dtype=mg.float64, requires_grad=True)
    y = x
    for _ in range({count}):
        y = y + 1.0
    y.backward()
    assert y.item() == {count} + 1.0 and x.grad.item() == 1.0
    del y
    """),
    "dropped without a backward pass": (100_000, """
    x = mg.tensor(0.5, dtype=mg.float64, requires_grad=True)
    y = x
    for _ in range({count}):
        y = y * 1.0
    del y
    """),
    "saved values, arrays": (10_000, """
    x = mg.tensor([0.5, 0.25], requires_grad=True)
    y = x
    for _ in range({count}):
        y = y.sin() * 1.2
    y.sum().backward()
    assert x.grad.tolist() != [0, 0]
    del y
    """),
    "views of views": (20_000, """
    x = mg.ones(2, 3, requires_grad=True)
    y = x
    for _ in range({count}):
        y = y.t()
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [1, 1, 1]]
    del y
    """),
    "in place, again and again": (5_000, """
    x = mg.ones(3, requires_grad=True)
    y = x * 1
    for _ in range({count}):
        y.add_(1)
        y[0].mul_(0.5)
    y.sum().backward()
    assert x.grad.tolist()[1:] == [1, 1]
    del y
    """),
    "differentiated twice": (5_000, """
    x = mg.tensor(0.5, dtype=mg.float64, requires_grad=True)
    y = x
    for _ in range({count}):
        y = y.sin()
    g, = mg.autograd.grad(y, x, create_graph=True)
    h, = mg.autograd.grad(g, x)
    assert h.item() != 0
    del y, g, h
    """),
    "forward mode": (10_000, """
    with mg.autograd.forward_ad.dual_level():
        y = mg.autograd.forward_ad.make_dual(mg.tensor(1.0), mg.tensor(1.0))
        for _ in range({count}):
            y = y + y * 0.0
        assert mg.autograd.forward_ad.unpack_dual(y).tangent.item() == 1.0
    """),
}  # fmt: skip
"""By name: operations, and the body."""


def check_chains(counts):
    """Chains of these lengths, one after the other in one process."""
    pytest.importorskip("resource", reason="stack limits need a POSIX system")
    names = [name.replace(" ", "_").replace(",", "") for name in counts]
    functions = [
        f"def {function}():{CHAINS[name][1].replace('{count}', str(count))}"
        for function, (name, count) in zip(names, counts.items(), strict=True)
    ]
    program = SMALL_STACK.replace("{functions}", "\n".join(functions))
    ended = subprocess.run(
        [sys.executable, "-c", program.replace("{names}", ", ".join(names) + ",")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    expected = ["done"] * len(counts)
    assert (ended.stdout.split(), ended.returncode) == (expected, 0), ended.stdout + ended.stderr


def test_a_small_stack_is_enough():
    check_chains({name: count for name, (count, _) in CHAINS.items()})


@pytest.mark.whole
def test_a_small_stack_is_enough_for_four_hundred_thousand_operations():
    check_chains({"forward and back": 400_000})


# ------------------------------------------------------------------------------------------- memory


def programs():
    """Little programs that leave a graph in all its variety behind; each returns a tensor of it.
    Long: a table of them."""

    def plain(x):
        y = (x.sin() * x).exp()
        return (y + y).sum()

    def walked(x):
        y = plain(x)
        y.backward()
        return y

    def retained(x):
        y = plain(x)
        y.backward(retain_graph=True)
        return y

    def twice(x):
        (g,) = mg.autograd.grad(plain(x), x, create_graph=True)
        (h,) = mg.autograd.grad((g * g).sum(), x, create_graph=True)
        return h.sum()

    def views(x):
        y = x * 1
        v = y[1:].reshape(-1)[::2]
        v.mul_(3)
        y.add_(1)
        return (v.sum() + y.sum()).sin()

    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        z = y.sum()
        z.backward()
        return z

    def forward(x):
        return mg.func.jvp(lambda v: (v.sin() * v).sum(), (x,), (mg.ones_like(x),))[1]

    def nested(x):
        return mg.func.grad(lambda v: mg.func.grad(lambda w: (w * w * w).sum())(v).sum())(
            x.detach()
        ).sum()

    def saved(v):  # each of these rules reads its result
        return (mg.softmax(v.exp().tanh().sqrt(), 0) * v).sigmoid().sum()

    def inputs_of(x):
        return x.detach(), mg.ones_like(x)

    def hessian_vector(x):
        x, v = inputs_of(x)
        return mg.func.jvp(mg.func.value_and_grad(saved), (x,), (v,))[1][1]

    def hessian_vector_by_vjp(x):
        x, v = inputs_of(x)
        return mg.func.jvp(lambda x: mg.func.vjp(saved, x)[1](mg.tensor(1.0)), (x,), (v,))[1][0]

    def hessian_vector_by_linearize(x):
        x, v = inputs_of(x)
        return mg.func.jvp(lambda x: mg.func.linearize(saved, x)[1](v), (x,), (v,))[1]

    def hessian_by_columns(x):
        return mg.func.hessian(saved)(x.detach())

    def third_derivative(x):
        x, v = inputs_of(x)
        product = lambda x: mg.func.jvp(mg.func.grad(saved), (x,), (v,))[1]
        return mg.func.jvp(product, (x,), (v,))[1] + mg.func.grad(lambda x: product(x).sum())(x)

    def by_the_direction(x):
        x, v = inputs_of(x)
        product = lambda v: mg.func.jvp(mg.func.grad(saved), (x,), (v,))[1]
        return mg.func.grad(lambda v: product(v).sum())(v)

    def extras(x):
        x, v = inputs_of(x)
        gradient = mg.func.grad(lambda x: (saved(x), saved(x)), has_aux=True)
        return mg.func.jvp(gradient, (x,), (v,))[1][1]

    def failed(x):
        y = x * 1
        z = (y * y).sum()
        y.zero_()
        with pytest.raises(mg.errors.InPlaceError):
            z.backward()
        return z

    products = [hessian_vector, hessian_vector_by_vjp, hessian_vector_by_linearize]
    derivatives = [*products, hessian_by_columns, third_derivative, by_the_direction, extras]
    return [plain, walked, retained, twice, views, hooked, forward, nested, *derivatives, failed]


@pytest.mark.parametrize("program", programs(), ids=lambda p: p.__name__)
def test_memory_returns_without_the_cycle_collector(program):
    x = mg.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], dtype=mg.float64, requires_grad=True)
    program(x)  # fills caches of plans and the like
    x.grad = None
    gc.collect()
    gc.freeze()  # the collection below looks at new objects only
    gc.disable()
    try:
        result = program(x)
        watched = [weakref.ref(result)] + (
            [weakref.ref(result.grad_fn)] if result.grad_fn is not None else []
        )
        del result
        x.grad = None
        assert all(w() is None for w in watched), "the result is kept alive"
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [o for o in gc.garbage if type(o).__module__.startswith("minigrad")]
        assert ours == [], "a reference cycle"
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_saved_values_are_freed_node_by_node():
    """After a pass, the arrays that the rules had kept are gone, although the graph is still
    there.
    """
    x = mg.ones(4, requires_grad=True)
    y = x.exp()
    z = y * y
    saved = weakref.ref(z.grad_fn.saved[0])
    total = z.sum()
    del y, z
    assert saved() is not None
    total.backward()
    assert saved() is None and total.grad_fn is not None


def test_an_unsaved_intermediate_is_freed_at_once():
    x = mg.ones(4, requires_grad=True)
    y = x + 1
    array = weakref.ref(y.array)
    z = y + 1  # keeps nothing of y
    del y
    assert array() is None
    z.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
