"""Anomaly detection points at the line of the forward pass that is to blame."""

import linecache
import threading
import traceback

import pytest

import minigrad as mg
from minigrad import autograd
from minigrad.autograd.anomaly import HEADING, is_anomaly_enabled
from minigrad.core import observe


def shown(error):
    """The error as Python prints it, notes included."""
    return "".join(traceback.format_exception(error))


class Broken(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("Some error in backward")


class MakesNan(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


def run_fn(a):
    out = Broken.apply(a)  # the line to blame
    return out.sum()


def test_the_example_of_the_document():
    x = mg.rand(10, 10, requires_grad=True)
    with pytest.raises(RuntimeError, match="Some error in backward") as plain:
        run_fn(x).backward()
    assert not getattr(plain.value, "__notes__", [])
    with (
        pytest.raises(RuntimeError, match="Some error in backward") as caught,
        autograd.detect_anomaly(),
    ):
        run_fn(x).backward()
    text = shown(caught.value)
    assert text.index("RuntimeError: Some error in backward") < text.index(HEADING)
    note = text[text.index(HEADING) :]
    assert note.index("run_fn(x).backward()") < note.index(
        "out = Broken.apply(a)  # the line to blame"
    )
    assert "minigrad/" not in note, "only the user's lines"
    assert type(caught.value) is RuntimeError, "the error stays what it was"


def test_nan_raises_and_names_operation_output_and_line():
    x = mg.tensor([1.0, 0.0], requires_grad=True)
    with autograd.detect_anomaly():
        y = x.sqrt()
        loss = (y * 0.0).sum()  # 0 · ∞ in the reverse pass
        with pytest.raises(
            RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output"
        ) as caught:
            loss.backward()
    note = shown(caught.value)
    assert "y = x.sqrt()" in note[note.index(HEADING) :]
    assert '"x" (shape (2,), dtype float32)' in str(caught.value)
    assert x.grad is None and observe.observers == []


def test_the_second_input_is_named_as_such():
    a, b = mg.tensor(float("inf"), requires_grad=True), mg.tensor(1.0, requires_grad=True)
    with (
        autograd.detect_anomaly(),
        pytest.raises(
            RuntimeError, match=r"MulBackward0' returned nan values in its 1th output.*\"b\""
        ),
    ):
        (a * b).backward(mg.tensor(0.0))


def test_nan_is_left_alone_if_asked_and_outside():
    def nan_gradient():
        x = mg.tensor([1.0, 0.0], requires_grad=True)
        (x.sqrt() * 0.0).sum().backward()
        return x.grad

    assert mg.isnan(nan_gradient()).tolist() == [False, True]
    with autograd.detect_anomaly(check_nan=False):
        assert mg.isnan(nan_gradient()).tolist() == [False, True]
    with autograd.set_detect_anomaly(True, check_nan=False):
        nan_gradient()
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        nan_gradient()


def test_infinity_is_no_anomaly_and_integers_are_not_looked_at():
    x = mg.tensor([0.0, 1.0], requires_grad=True)
    with autograd.detect_anomaly():
        (x.log() * mg.tensor([1, 2])).sum().backward()
    assert x.grad.tolist() == [float("inf"), 2.0]


def test_a_users_function_that_returns_nan():
    x = mg.tensor(2.0, requires_grad=True)
    with autograd.detect_anomaly():
        y = MakesNan.apply(x)
        with pytest.raises(
            RuntimeError, match="Function 'MakesNanBackward' returned nan values in its 0th output"
        ) as caught:
            y.backward()
    assert "y = MakesNan.apply(x)" in shown(caught.value)


def test_a_complex_nan_is_found():
    x = mg.tensor([1 + 0j], dtype=mg.complex128, requires_grad=True)
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        (x * complex(float("nan"), 0)).real.sum().backward()


def test_a_forward_pass_outside_is_said_to_be_unknown():
    x = mg.tensor([0.0], requires_grad=True)
    loss = (x.sqrt() * 0.0).sum()
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan") as caught:
        loss.backward()
    assert (
        "The forward call that made SqrtBackward0 is not known: run the forward pass inside"
        " detect_anomaly()" in shown(caught.value)
    )


def test_a_node_made_by_a_backward_pass_tells_of_both_calls():
    x = mg.tensor(0.0, requires_grad=True)
    with autograd.detect_anomaly():
        y = x**1.5  # the first forward call
        (slope,) = autograd.grad(y, x, create_graph=True)  # makes the node of x^0.5
        with pytest.raises(RuntimeError, match="nan") as caught:
            (slope * 0).backward()
    text = shown(caught.value)
    first, second = text[text.index(HEADING) :].split(
        "That call was made by the backward pass of PowBackward0"
    )
    assert "# makes the node of x^0.5" in first and "# the first forward call" in second


def test_errors_of_in_place_changes_point_at_the_operation_that_needed_the_value():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with autograd.detect_anomaly():
        y = x * 1
        z = y.sin()  # needs y as it is now
        y += 1
        with pytest.raises(mg.AutogradError, match="sin") as caught:
            z.sum().backward()
    text = shown(caught.value)
    assert "z = y.sin()  # needs y as it is now" in text[text.index(HEADING) :]


def test_writes_into_views_are_remembered():
    x = mg.tensor([4.0, 0.0], requires_grad=True)
    with autograd.detect_anomaly():
        y = x * 1
        y[0] = 1.0  # replaces part of y
        z = y.sqrt() * 0
        with pytest.raises(RuntimeError, match="SqrtBackward0"):
            z.sum().backward()
        y.register_hook(lambda g: g * float("nan"))
        with pytest.raises(RuntimeError, match="ScatterViewBackward0") as caught:
            y.sum().backward()
    assert "y[0] = 1.0  # replaces part of y" in shown(caught.value)


def test_code_of_a_notebook_cell_is_shown():
    text = "def f(x):\n    y = x.sqrt()\n    return (y * 0).sum()\nf(x).backward()\n"
    linecache.cache["<ipython-input-7-abc>"] = (
        len(text),
        None,
        text.splitlines(True),
        "<ipython-input-7-abc>",
    )
    with autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        exec(
            compile(text, "<ipython-input-7-abc>", "exec"),
            {"x": mg.tensor(0.0, requires_grad=True)},
        )
    note = caught.value.__notes__[0]
    assert 'File "<ipython-input-7-abc>", line 2, in f' in note and "y = x.sqrt()" in note
    assert "^^^^^^^^" in note, "the expression is marked"


def test_what_a_notebook_runs_its_cells_with_is_left_out():
    space = {"__name__": "IPython.core.interactiveshell"}
    exec("def run_code(f):\n    return f()\ndef elsewhere(f):\n    return run_code(f)\n", space)

    def cell():
        x = mg.tensor(0.0, requires_grad=True)
        (x.sqrt() * 0).backward()

    with autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        space["elsewhere"](cell)
    note = caught.value.__notes__[0]
    assert "in cell" in note and "elsewhere" not in note and "pytest" not in note


def test_set_detect_anomaly_as_a_function_and_as_a_context():
    assert not is_anomaly_enabled()
    autograd.set_detect_anomaly(True)
    assert is_anomaly_enabled()
    with autograd.set_detect_anomaly(False):
        assert not is_anomaly_enabled() and observe.observers == []
    assert is_anomaly_enabled()
    with pytest.raises(ZeroDivisionError), autograd.set_detect_anomaly(False):
        raise ZeroDivisionError
    assert is_anomaly_enabled()
    autograd.set_detect_anomaly(False)
    assert not is_anomaly_enabled() and observe.observers == []


def test_blocks_nest_and_decorate():
    with autograd.detect_anomaly():
        with autograd.detect_anomaly(check_nan=False):
            assert len(observe.observers) == 1
        assert is_anomaly_enabled()

    @autograd.detect_anomaly()
    def inside():
        return is_anomaly_enabled()

    assert inside() and not is_anomaly_enabled()


def test_it_belongs_to_a_thread():
    seen = []
    with autograd.detect_anomaly():
        thread = threading.Thread(target=lambda: seen.append(is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_one_error_gets_one_traceback():
    class Outer(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            with mg.enable_grad():
                z = mg.tensor(1.0, requires_grad=True)
                Broken.apply(z).backward()
            return g

    x = mg.tensor(1.0, requires_grad=True)
    with autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        Outer.apply(x).backward()
    assert len(caught.value.__notes__) == 1 and "Broken.apply(z)" in caught.value.__notes__[0]


def test_gradients_are_the_same_bits():
    def gradient():
        x = mg.tensor([0.1, 0.7, 2.0], requires_grad=True)
        (mg.tanh(x) * x.exp() / (x + 3)).sum().backward()
        return x.grad.tolist()

    plain = gradient()
    with autograd.detect_anomaly():
        assert gradient() == plain


def test_anomaly_mode_keeps_no_graph():
    import weakref

    with autograd.detect_anomaly():
        x = mg.tensor(1.0, requires_grad=True)
        y = x.exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
