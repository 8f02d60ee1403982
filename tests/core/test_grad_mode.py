"""Whether operations are recorded: by block, decorator or call, per thread, per step of a
generator; restored whatever happens.
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import minigrad as mg
from minigrad.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from tests.helpers.known_answers import Scenarios

s = Scenarios()


def in_a_loop(coroutine):
    """Run a coroutine in an event loop and thread of its own: the browser tests may have left a
    loop running in this thread.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@pytest.fixture(autouse=True)
def recording_is_on_before_and_after():
    assert mg.is_grad_enabled()
    yield
    left = mg.is_grad_enabled()
    mg.set_grad_enabled(True)
    assert left, "the test left recording switched off"


@s.gives([False, True, False, True])
def blocks_nest(m):
    x = m.ones(1, requires_grad=True)
    seen = []
    with m.no_grad():
        seen.append((x * 1).requires_grad)
        with m.enable_grad():
            seen.append((x * 1).requires_grad)
        seen.append((x * 1).requires_grad)
    seen.append((x * 1).requires_grad)
    return seen


@s.gives([False, False, True, True])
def decorators_with_and_without_parentheses(m):
    x = m.ones(1, requires_grad=True)

    @m.no_grad()
    def one(x):
        return x * 2

    @m.no_grad
    def two(x):
        return x * 2

    @m.enable_grad()
    def three(x):
        return x * 2

    with m.no_grad():
        third = three(x).requires_grad
    return one(x).requires_grad, two(x).requires_grad, third, (x * 2).requires_grad


@s.gives([False, True, False, False, True])
def set_grad_enabled_as_a_function(m):
    x = m.ones(1, requires_grad=True)
    m.set_grad_enabled(False)
    a = (x * 2).requires_grad
    m.set_grad_enabled(True)
    b = (x * 2).requires_grad
    with m.no_grad():
        m.set_grad_enabled(True)
        m.set_grad_enabled(False)
        c = m.is_grad_enabled()
    with m.set_grad_enabled(False):
        d = m.is_grad_enabled()
    return a, b, c, d, m.is_grad_enabled()


@s.gives([False, True, False, True])
def set_grad_enabled_as_a_decorator(m):
    @m.set_grad_enabled(False)
    def f():
        return m.is_grad_enabled()

    outside = m.is_grad_enabled()
    return f(), outside, f(), m.is_grad_enabled()


@s.gives([True, True, True])
def a_call_inside_a_block_is_undone_at_its_end(m):
    with m.enable_grad():
        m.set_grad_enabled(False)
    first = m.is_grad_enabled()
    with m.no_grad():
        m.set_grad_enabled(True)
        second = m.is_grad_enabled()
    return first, second, m.is_grad_enabled()


@s.gives([True, True, True])
def modes_return_after_exceptions(m):
    @m.no_grad()
    def fails():
        raise KeyError

    results = []
    try:
        fails()
    except KeyError:
        results.append(m.is_grad_enabled())
    try:
        with m.no_grad(), m.enable_grad(), m.no_grad():
            raise KeyError
    except KeyError:
        results.append(m.is_grad_enabled())
    with m.no_grad():
        try:
            with m.enable_grad():
                raise KeyError
        except KeyError:
            results.append(not m.is_grad_enabled())
    return results


@s.gives([[False, True, False, True, False], True])
def a_generator_keeps_its_mode_to_its_own_steps(m):
    """Inside each step recording is off, between the steps it is as the caller has it."""
    seen = []

    @m.no_grad()
    def steps():
        for _ in range(2):
            seen.append(m.is_grad_enabled())
            yield
        seen.append(m.is_grad_enabled())

    for _ in steps():
        seen.append(m.is_grad_enabled())
    return seen, m.is_grad_enabled()


@s.gives([[1, "sent", False], ["caught", False], ["closed", False], "returned"])
def generators_can_be_sent_to_thrown_into_and_closed(m):
    log = []

    @m.no_grad()
    def steps():
        try:
            got = yield 1
            log.append([1, got, m.is_grad_enabled()])
            try:
                yield 2
            except KeyError:
                log.append(["caught", m.is_grad_enabled()])
            yield 3
        finally:
            log.append(["closed", m.is_grad_enabled()])

    g = steps()
    next(g)
    g.send("sent")
    g.throw(KeyError())
    g.close()

    @m.no_grad()
    def returning():
        yield
        return "returned"

    def outer():
        log.append((yield from returning()))

    list(outer())
    return log


@s.gives([True, True, False])
def factories_honour_requires_grad_under_no_grad(m):
    with m.no_grad():
        x = m.ones(2, requires_grad=True)
        return (
            x.requires_grad,
            m.tensor([1.0], requires_grad=True).requires_grad,
            (x * 2).requires_grad,
        )


@s.gives([False, True])
def inference_mode_records_nothing(m):
    x = m.ones(2, requires_grad=True)
    with m.inference_mode():
        y = x * 2
    with m.inference_mode(False):
        z = x * 2
    return y.requires_grad, z.requires_grad


@s.gives([False, [2.0, 2.0]])
def a_constant_result_of_no_grad_takes_part_as_a_constant(m):
    x = m.ones(2, requires_grad=True)
    with m.no_grad():
        scale = x * 2
    (x * scale).sum().backward()
    return scale.requires_grad, x.grad


@s.gives([6.0, 6.0])
def a_graph_made_before_no_grad_is_kept(m):
    x = m.ones(2, requires_grad=True)
    y = x * 3
    with m.no_grad():
        y.mul_(2)  # changes the values, not the history
        z = y
    return z.detach() if z.requires_grad else None


@s.gives([False, True, True, False, False, True, False, [2.0]])
def a_reverse_pass_in_one_thread(m):
    """A switch for PyTorch programs: a pass runs in the calling thread anyway."""
    switch = m.autograd.set_multithreading_enabled
    is_on = m.autograd.is_multithreading_enabled if m is mg else m._C._is_multithreading_enabled
    seen = []
    with switch(False):
        seen.append(is_on())
        switch(True)
        seen.append(is_on())
    seen.append(is_on())
    switch(False)
    seen.append(is_on())
    x = m.ones(1, requires_grad=True)
    (x * 2).sum().backward()
    seen.append(is_on())
    switch(True)
    seen.append(is_on())

    @switch(False)
    def inside():
        return is_on()

    assert is_on() or m is not mg  # PyTorch's decorator leaves the switch as it was called
    switch(True)
    seen.append(inside())
    assert is_on()
    return *seen, x.grad


@s.gives([[1.0, 1.0], [2.0, 2.0]])
def an_array_of_a_tensor_that_requires_grad_where_nothing_is_recorded(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    with m.no_grad():
        return x.numpy().tolist(), y.numpy().tolist()


test_minigrad, test_pytorch = s.tests()


def test_the_mode_belongs_to_a_thread():
    inside = {}
    entered, go_on = threading.Event(), threading.Event()

    def work():
        with no_grad():
            entered.set()
            go_on.wait(10)
            inside["worker"] = mg.is_grad_enabled()
        inside["worker, after"] = mg.is_grad_enabled()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(10)
    inside["main"] = mg.is_grad_enabled()
    with no_grad():
        fresh = threading.Thread(target=lambda: inside.setdefault("fresh", mg.is_grad_enabled()))
        fresh.start()
        fresh.join()
    go_on.set()
    thread.join()
    assert inside == {"worker": False, "worker, after": True, "main": True, "fresh": True}


def test_a_coroutine_keeps_its_mode_to_its_own_steps():
    """Two coroutines take turns; each finds its own mode after every await."""
    seen = []

    async def observe_modes(name, expected):
        for _ in range(3):
            seen.append((name, mg.is_grad_enabled() is expected))
            await asyncio.sleep(0)
        return name

    quiet = no_grad()(observe_modes)

    async def both():
        return await asyncio.gather(quiet("quiet", False), observe_modes("recording", True))

    assert in_a_loop(both()) == ["quiet", "recording"]
    assert len(seen) == 6 and all(right for _, right in seen)


def test_an_exception_thrown_into_a_coroutine_arrives():
    @no_grad
    async def waits():
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return mg.is_grad_enabled()

    async def main():
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert in_a_loop(main()) is False


def test_one_object_can_be_entered_again_and_again():
    for mode in (no_grad(), enable_grad(), inference_mode()):
        with mode, mode:
            with mode:
                pass
            assert mg.is_grad_enabled() is mode.mode
        with mode:
            assert mg.is_grad_enabled() is mode.mode
    made = set_grad_enabled(False)
    assert not mg.is_grad_enabled()
    with made:
        with made:
            assert not mg.is_grad_enabled()
        assert not mg.is_grad_enabled()
    assert mg.is_grad_enabled()  # as it was when the object was made
    with made:
        assert not mg.is_grad_enabled()
    assert mg.is_grad_enabled()


def test_decorated_functions_keep_their_name_and_arguments():
    @no_grad()
    def documented(x, *, factor=2):
        """Twice x."""
        return x * factor

    assert documented.__name__ == "documented" and documented.__doc__ == "Twice x."
    assert documented(mg.ones(1, requires_grad=True), factor=3).tolist() == [3]

    @no_grad()
    def recursive(n):
        return mg.is_grad_enabled() if n == 0 else recursive(n - 1)

    assert recursive(5) is False


def test_methods_can_be_decorated():
    class Model:
        w = mg.ones(1, requires_grad=True)

        @no_grad()
        def predict(self):
            return self.w * 2

        @staticmethod
        @no_grad
        def other(x):
            return x * 2

    assert not Model().predict().requires_grad and not Model.other(Model.w).requires_grad


def test_a_class_is_not_decorated():
    with pytest.raises(TypeError, match="methods of Model"):

        @no_grad()
        class Model:
            pass


def test_an_async_generator_keeps_its_mode_to_its_own_steps():
    seen = []

    @no_grad()
    async def steps():
        try:
            for k in range(3):
                await asyncio.sleep(0)
                try:
                    seen.append((mg.is_grad_enabled(), (yield k)))
                except KeyError:
                    seen.append((mg.is_grad_enabled(), "caught"))
        finally:
            seen.append((mg.is_grad_enabled(), "closed"))

    async def drive():
        generator = steps()
        assert await generator.asend(None) == 0 and mg.is_grad_enabled()
        assert await generator.asend("sent") == 1
        assert await generator.athrow(KeyError()) == 2
        await generator.aclose()
        return [k async for k in steps()]

    assert in_a_loop(drive()) == [0, 1, 2]
    assert seen[:3] == [(False, "sent"), (False, "caught"), (False, "closed")]
    assert all(not recording for recording, _ in seen) and mg.is_grad_enabled()
