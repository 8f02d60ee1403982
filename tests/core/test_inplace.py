"""In-place operations and views: new values in old memory, with the right history or a clear error,
whichever window they come through.
"""

import itertools
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.graph import youngest_first
from minigrad.core.views import assign
from minigrad.errors import InPlaceError, ShapeError
from tests.helpers.known_answers import Scenarios

s = Scenarios()

# ----------------------------------------------------------------------------------------- versions


@s.gives([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 10])
def every_in_place_path_counts_once(m):
    x = m.ones(3)
    seen = [x._version]
    v = x.view(3)
    for change in (
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 2.0),
        lambda: x.__iadd__(1),
        lambda: v.mul_(2),
        lambda: x.detach().zero_(),
        lambda: x.copy_(m.ones(3)),
        lambda: x.fill_(3),
        lambda: x.__setitem__(m.tensor([0, 1]), 5.0),
        lambda: x[1:].relu_(),
        lambda: x.__setitem__(x > 4, 0.0),
    ):
        change()
        seen.append(x._version)
    return seen, v._version


@s.gives([1, 1, 0, 0])
def versions_are_shared_by_views_and_detached_tensors_and_no_others(m):
    x = m.ones(4)
    view, detached, clone, copy = x[1:], x.detach(), x.clone(), m.tensor([1.0])
    x.add_(1)
    return view._version, detached._version, clone._version, copy._version


@s.gives([0, [5.0, 1.0], 0])
def data_is_the_escape_hatch(m):
    """Writing through .data is not counted: the user's own risk."""
    x = m.ones(2, requires_grad=True)
    y = x * 1
    x.data[0] = 5
    return x._version, x.detach(), y._version


@s.gives([[2.0, 2.0, 2.0, 2.0], [(4,), (4,)], [2.0, 2.0], True, 3.0])
def data_of_another_shape_or_dtype_may_take_the_place_of_the_old(m):
    """Gradients then have the new ones, and a number shares its memory as an array does."""
    x, shapes = m.ones(3, requires_grad=True), []
    x.register_hook(lambda g: shapes.append(tuple(g.shape)))
    x.data = m.ones(4)
    (x * 2).sum().backward()
    (x * 2).sum().backward(inputs=[x])
    y = m.ones(2, requires_grad=True)
    y.data = m.ones(2, dtype=m.float64)
    (y * 2).sum().backward()
    value = m.tensor(2.0)
    z = m.tensor(1.0, requires_grad=True)
    z.data = value
    value.add_(1)
    return x.grad / 2, shapes, y.grad, y.grad.dtype == m.float64, z.detach()


@s.gives([5.0, 5.0])
def the_leaf_of_a_dropped_tensor_has_its_last_values(m):
    def last_values(change):
        x = m.tensor(1.0, requires_grad=True)
        y = x * 2
        change(x)
        del x
        return y.grad_fn.next_functions[0][0].variable.detach()

    def replace(x):
        x.data = m.tensor(5.0)

    def overwrite(x):
        with m.no_grad():
            x.fill_(5.0)

    return last_values(replace), last_values(overwrite)


@s.refuses(InPlaceError, "mul", "version 0", "version 1")
def a_dropped_tensor_is_modified_through_its_leaf(m):
    x = m.ones(2, requires_grad=True)
    y = x * x
    leaf = y.grad_fn.next_functions[0][0]
    del x
    with m.no_grad():
        leaf.variable.mul_(5)
    y.sum().backward()


@s.refuses(InPlaceError, "exp", "its output", "version 0", "version 1", "(3,)", "float32")
def a_saved_output_is_modified(m):
    y = m.ones(3, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()


@s.refuses(InPlaceError, "sin", 'its input "x"', "version 0", "version 1", "clone")
def a_saved_input_is_modified(m):
    x = m.ones(3, requires_grad=True) * 1
    y = x.sin()
    x.add_(1)
    y.sum().backward()


@s.refuses(InPlaceError, "mul", 'its second input "b"', "version 0", "version 1")
def of_several_inputs_one_is_modified(m):
    x = m.ones(3, requires_grad=True) * 1
    y = m.ones(3, requires_grad=True) * x
    x.add_(1)
    y.sum().backward()


@s.refuses(InPlaceError, "sin", "modified in place")
def through_another_view_of_the_same_memory(m):
    x = m.ones(3, requires_grad=True) * 1
    y = x[0].sin()
    x[1] = 9.0
    y.backward()


@s.refuses(InPlaceError, "mul", "modified in place")
def under_no_grad(m):
    x = m.ones(3, requires_grad=True)
    y = (x * x).sum()
    with m.no_grad():
        x.add_(1)
    y.backward()


@s.refuses(InPlaceError, "mul", "modified in place")
def through_detach(m):
    x = m.ones(3, requires_grad=True) * 1
    y = (x * x).sum()
    x.detach().zero_()
    y.backward()


@s.refuses(InPlaceError, "mul", '"b"', "modified in place")
def a_constant_operand(m):
    x, c = m.ones(3, requires_grad=True), m.ones(3)
    y = (x * c).sum()
    c.add_(1)
    y.backward()


@s.refuses(InPlaceError, "where", '"condition"', "modified in place")
def a_condition(m):
    x, c = m.ones(3, requires_grad=True), m.tensor([True, False, True])
    y = m.where(c, x, 0.0).sum()
    c[0] = False
    y.backward()


@s.gives([1.0, 0.0, 1.0])
def an_index_is_copied(m):
    x, i = m.ones(3, requires_grad=True), m.tensor([0, 2])
    y = x[i].sum() if m is mg else x[i.clone()].sum()  # PyTorch keeps the index and complains
    i[0] = 1
    y.backward()
    return x.grad


@s.gives([15.0, 15.0])
def what_is_not_saved_may_be_modified(m):
    x = m.ones(2, requires_grad=True)
    y = x * 1
    z = y + 1
    y.mul_(5)
    (z * y).sum().backward()  # (x + 1) · 5x
    return x.grad


@s.gives([4.0, 4.0])
def a_numpy_operand_is_copied(m):
    x = m.ones(2, dtype=m.float64, requires_grad=True)
    c = np.full(2, 4.0)
    y = (x * (c if m is mg else m.tensor(c))).sum()
    c[:] = 0
    y.backward()
    return x.grad


# ---------------------------------------------------------------------------------------- histories


@s.gives([[2.0, 6.0, 6.0], [2.0, 6.0, 6.0]])
def a_view_modified_shows_in_the_base(m):
    x = m.ones(3, requires_grad=True)
    y = x * 2
    y[1:].mul_(3)
    return m.autograd.grad(y.sum(), x, retain_graph=True)[0], y.detach()


@s.gives([6.0, 6.0, 0.0])
def a_base_modified_shows_in_the_view(m):
    x = m.ones(3, requires_grad=True)
    y = x * 2
    v = y[:2]
    y.mul_(3)
    return m.autograd.grad(v.sum(), x)[0]


@s.gives([[0.0, 6.0], [0.0, 0.0]])
def views_of_views(m):
    x = m.ones(2, 2, requires_grad=True)
    y = x * 2
    a = y.t()
    b = a[1]
    c = b.view(2)[:1]
    a.mul_(3)
    return m.autograd.grad(c.sum(), x)[0]


@s.gives([[[2.0, 2.0, 2.0], [18.0, 6.0, 6.0]], True])
def a_chain_of_views_modified_at_its_end(m):
    x = m.ones(2, 3, requires_grad=True)
    y = x * 2
    a = y[1:]
    b = a.t()
    c = b[0]
    c.mul_(3)
    (y.sum() + a.sum() * 2).backward()
    return x.grad, c.grad_fn is not None


@s.gives([[6.0, 6.0], 2.0, [2.0, 2.0]])
def a_constant_base_takes_the_history_of_what_is_written(m):
    w = m.ones(2, requires_grad=True)
    b = m.zeros(3)
    v = b[:2]
    before = b.requires_grad
    v.copy_(w * 2)
    assert b.requires_grad and not before
    (b * 3).sum().backward()
    return w.grad, b[0].detach(), v.detach()


@s.gives([[0.0, 0.0], True])
def zero_cuts_the_history(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.zero_()
    (y * 3).sum().backward()
    return x.grad, y.requires_grad


@s.gives([[0.0, 0.0], 6.0])
def fill_cuts_the_history_and_brings_another(m):
    x, w = m.ones(2, requires_grad=True), m.tensor(2.0, requires_grad=True)
    y = x * 2
    y.fill_(w)
    (y * 3).sum().backward()
    return x.grad, w.grad


@s.gives([[2.0, 0.0, 0.0], [2.0, 3.0]])
def setitem_with_a_slice(m):
    x, v = m.ones(3, requires_grad=True), m.tensor([5.0, 6.0], requires_grad=True)
    y = x * 2
    y[1:] = v
    (y * m.tensor([1.0, 2.0, 3.0])).sum().backward()
    return x.grad, v.grad


@s.gives([[0.0, 4.0, 0.0], 4.0])
def setitem_with_a_mask(m):
    x, v = m.ones(3, requires_grad=True), m.tensor(5.0, requires_grad=True)
    y = x * 2
    y[m.tensor([True, False, True])] = v
    (y * m.tensor([1.0, 2.0, 3.0])).sum().backward()
    return x.grad, v.grad


@s.gives([[0.0, 2.0, 0.0], [1.0, 3.0], [5.0, 2.0, 6.0]])
def setitem_with_integers(m):
    x, v = m.ones(3, requires_grad=True), m.tensor([5.0, 6.0], requires_grad=True)
    y = x * 2
    y[[0, 2]] = v
    (y * m.tensor([1.0, 1.0, 3.0])).sum().backward()
    return x.grad, v.grad, y.detach()


@s.gives([6.0, 6.0])
def setitem_broadcasts(m):
    v = m.tensor([1.0, 1.0], requires_grad=True)
    y = m.zeros(3, 2)
    y[:] = v
    y[:, :] = v[None] * 1
    (y * 2).sum().backward()
    return v.grad


@s.gives([3.0, 3.0])
def a_repeated_index_accumulates_with_index_put(m):
    v = m.ones(2, requires_grad=True)
    y = m.zeros(2)
    y.index_put_((m.tensor([1, 1]),), v, accumulate=True)
    (y * 3).sum().backward()
    return v.grad


@s.gives([8.0, 8.0])
def augmented_assignment_makes_no_new_tensor(m):
    x = m.ones(2, requires_grad=True)
    y = z = x * 2
    y += 1
    y *= 4
    z.sum().backward()
    return x.grad


@s.gives([8.0, 16.0])
def relu_in_place_needs_only_its_output(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.relu_()
    (y * y).sum().backward()
    return x.grad


@s.gives([12.0, 24.0])
def powers_in_place_keep_the_old_values(m):
    """y = 1.5 (2x)²: the rule of the power needs the values that it overwrote, and has its own
    copy of them.
    """
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.pow_(2)
    (y * 1.5).sum().backward()
    return x.grad


@s.gives([[2.0, 2.0], [False, True]])
def detach_in_place(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    z = y * 1
    y.detach_()
    z.sum().backward()
    return x.grad, [y.requires_grad, y.is_leaf]


@s.gives([[6.0, 3.0, 3.0], True, 3])
def leaves_may_be_modified_under_no_grad(m):
    x = m.ones(3, requires_grad=True)
    with m.no_grad():
        x[0] = 5
        x.view(3)[1:].mul_(2)
        x += 1
    return x.detach(), x.is_leaf and x.requires_grad, x._version


@s.gives([[1.0, 0.0, 1.0], [7.0, 0.0, 7.0]])
def detached_memory_modified_is_seen_but_has_no_history(m):
    x = m.ones(3, requires_grad=True)
    y = x * 1
    d = y.detach()
    d.mul_(7)
    y[1] = 0.0
    (g,) = m.autograd.grad(y.sum(), x)
    return g, d


@s.gives([5.0, 5.0, 1.0])
def from_numpy_shares_memory(m):
    a = np.ones(3)
    x = m.from_numpy(a)
    x[:2] = 5.0
    return a.tolist()


@s.gives([4.0, 4.0, [1]])
def a_window_of_one_number_is_a_window(m):
    """reshape, [...] and expand of a 0-d tensor look into its memory as they do for larger ones."""
    x = m.tensor(3.0)
    y = x.reshape(1)
    y += 1
    return x, y[0], y.shape


@s.gives([[1.2126781, 9.7014246], [3.0, 8.0]])
def the_imaginary_part_is_a_window(m):
    x = m.tensor([1 + 2j], requires_grad=True)
    z = x * 1
    z.imag.mul_(2)
    (z * m.tensor([3 + 4j])).abs().sum().backward()
    g = x.grad[0]
    w = m.tensor([3 + 4j]) * 1
    w.imag.mul_(2)
    return [g.real, g.imag], [w.real[0], w.imag[0]]


@s.gives([8.0, 8.0], mine_only=True)
def squared_in_place(m):
    """PyTorch refuses x *= x (the second operand was overwritten); here the rule has copies of
    both.
    """
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y *= y
    y.sum().backward()
    return x.grad


@s.gives([3.0, 1.0], mine_only=True)
def a_view_of_a_leaf_that_is_a_view(m):
    """A leaf may be a window into a constant buffer (all parameters of a model in one array).
    PyTorch silently forgets u's history.
    """
    v = m.zeros(4)[:2].requires_grad_()
    u = v[0]
    with m.no_grad():
        v.add_(1)
    (u * 2 + v.sum()).backward()
    return v.grad


# ----------------------------------------------------------------------------------------- refusals


@s.refuses(InPlaceError, "x += …", "leaf", "requires grad", "no_grad")
def a_leaf(m):
    x = m.ones(3, requires_grad=True)
    x += 1


@s.refuses(InPlaceError, "x[index] = value", "view of a leaf", "clone", "no_grad")
def an_element_of_a_leaf(m):
    m.ones(3, requires_grad=True)[0] = 1.0


@s.refuses(InPlaceError, "zero_", "view of a leaf")
def a_view_of_a_view_of_a_leaf(m):
    m.ones(3, requires_grad=True).view(3)[1:].zero_()


@s.refuses(InPlaceError, "x[index] = value", "leaf")
def a_leaf_by_mask(m):
    x = m.ones(3, requires_grad=True)
    x[x > 0] = 1.0


@s.refuses(InPlaceError, "mul_", "expanded", "clone")
def expanded_memory(m):
    m.ones(1).expand(3).mul_(2)


@s.refuses(InPlaceError, "x[index] = value", "expanded", "clone", mine_only=True)
def one_element_of_expanded_memory(m):
    """PyTorch writes, and all three elements change."""
    x = m.ones(1).expand(3)
    x[0] = 2.0


@s.refuses(InPlaceError, "add_", "read-only", "clone", mine_only=True)
def a_read_only_array(m):
    a = np.ones(3)
    a.setflags(write=False)
    m.from_numpy(a).add_(1)


@s.refuses(ShapeError, "x += …", "(2, 3)", "(3,)", "grow")
def the_target_would_grow(m):
    x = m.ones(3)
    x += m.ones(2, 3)


@s.refuses(ShapeError, "x *= …", "(1, 3)", "(3,)")
def the_target_would_gain_an_axis(m):
    x = m.ones(3)
    x *= m.ones(1, 3)


@s.refuses(ShapeError, "copy_", "(1,)", "()")
def copy_does_not_drop_axes(m):
    m.tensor(1.0).copy_(m.ones(1))


@s.refuses((ShapeError, ValueError), "(2,)", "(3,)")
def setitem_of_a_wrong_shape(m):
    x = m.ones(3)
    x[:] = m.ones(2)


@s.refuses((ShapeError, ValueError), "(2,)", "(3,)")
def setitem_by_mask_of_a_wrong_shape(m):
    x = m.ones(3)
    x[m.tensor([True, True, True])] = m.ones(2)


@s.refuses(IndexError, "5", "(3,)")
def setitem_out_of_range(m):
    m.ones(3)[5] = 1.0


@s.refuses(InPlaceError, "x += …", "float32", "int64", "out-of-place")
def a_float_into_integers(m):
    x = m.tensor([1, 2])
    x += 1.5


@s.refuses(InPlaceError, "x /= …", "float32", "int64")
def a_quotient_into_integers(m):
    x = m.tensor([1, 2])
    x /= 2


@s.refuses(InPlaceError, "complex", "float32", mine_only=True)
def complex_numbers_into_reals(m):
    """PyTorch drops the imaginary part with a warning."""
    m.ones(2).copy_(m.tensor([1j, 2j]))


@s.refuses(InPlaceError, "mul_", "no_grad", "clone")
def a_view_made_under_no_grad(m):
    y = m.ones(3, requires_grad=True) * 1
    with m.no_grad():
        v = y[0]
    v.mul_(2)


@s.refuses(InPlaceError, "mul_", "no_grad")
def a_view_of_a_view_made_under_no_grad(m):
    y = m.ones(3, requires_grad=True) * 1
    with m.no_grad():
        v = y[:2]
    v[0].mul_(2)


@s.refuses(InPlaceError, "mul_", "no_grad")
def a_view_made_under_no_grad_of_a_constant(m):
    b, w = m.ones(3), m.ones((), requires_grad=True)
    with m.no_grad():
        v = b[0]
    v.mul_(w)


@s.refuses(InPlaceError, "under no_grad", "ambiguous", "clone")
def a_view_made_under_no_grad_whose_base_changed(m):
    x = m.ones(3, requires_grad=True)
    with m.no_grad():
        v = x[0]
        x.add_(1)
    x.sum() * v


@s.refuses(InPlaceError, "requires_grad_", "leaf", "both", mine_only=True)
def a_view_made_a_leaf_whose_base_gets_a_history(m):
    """PyTorch turns the leaf into a result, and its .grad stays None without a word."""
    b, w = m.zeros(4), m.ones(4, requires_grad=True)
    v = b[:2].requires_grad_()
    b.copy_(w * 2)
    (v * 3).sum().backward()


@s.refuses(InPlaceError, "mul_", "several outputs", "split", "clone")
def an_output_of_unbind(m):
    (m.ones(4, requires_grad=True) * 2).unbind()[0].mul_(3)


@s.refuses(InPlaceError, "x += …", "several outputs")
def an_output_of_split(m):
    part = (m.ones(4, requires_grad=True) * 2).split(2)[0]
    part += 1


@s.refuses(InPlaceError, "zero_", "several outputs")
def a_view_of_an_output_of_chunk(m):
    (m.ones(4, requires_grad=True) * 2).chunk(2)[1][:1].zero_()


@s.refuses(InPlaceError, "under no_grad", "ambiguous")
def an_output_of_split_under_no_grad_whose_base_changed(m):
    y = m.ones(4, requires_grad=True)
    with m.no_grad():
        part = y.split(2)[0]
        y.add_(1)
    y.sum() * part


@s.gives([1.0, 1.0, 0.0, 0.0])
def outputs_of_split_may_be_used(m):
    x = m.ones(4, requires_grad=True)
    first, second = (x * 1).split(2)
    (first.sum() + second.detach().sum()).backward()
    return x.grad


@s.refuses(InPlaceError, "detach_", "detach()")
def a_view_is_detached_in_place(m):
    (m.ones(3, requires_grad=True) * 1)[0].detach_()


@s.refuses(InPlaceError, "result of an operation", mine_only=True)
def random_numbers_into_a_result(m):
    (m.ones(3, requires_grad=True) * 1).uniform_()


# -------------------------------------------------------------------------------- dtypes of targets


@s.gives(["float32", "int64", "float16", "int64"])
def the_target_keeps_its_dtype(m):
    x = m.ones(2)
    x += m.ones(2, dtype=m.float64)
    n = m.tensor([1, 2])
    n *= m.tensor([True, False])
    h = m.ones(2, dtype=m.float16)
    h[0] = m.tensor(2.0, dtype=m.float64)
    k = m.tensor([1, 2])
    k[0] = m.tensor(3.7)
    return x.dtype, n.dtype, h.dtype, k.dtype


@s.gives([[2.0, 2.0], "float64"])
def a_gradient_through_a_converting_write(m):
    w = m.ones(2, dtype=m.float64, requires_grad=True)
    y = m.zeros(2)
    y.copy_(w * 2)
    y.sum().backward()
    return w.grad, w.grad.dtype


test_minigrad, test_pytorch = s.tests()


# ------------------------------------------------------------------ general laws, without an oracle


def a_failed_write_changes_nothing(write, *tensors):
    before = [(t.tolist(), t._version, t.grad_fn) for t in tensors]
    with pytest.raises((InPlaceError, ShapeError, IndexError, ValueError)):
        write()
    assert [(t.tolist(), t._version, t.grad_fn) for t in tensors] == before


def test_refused_operations_leave_everything_as_it_was():
    x = mg.ones(3, requires_grad=True)
    y = x * 2
    v = y[1:]
    with mg.no_grad():
        hidden = y[:2]
    a_failed_write_changes_nothing(lambda: y.add_(mg.ones(2, 3)), x, y, v)
    a_failed_write_changes_nothing(lambda: v.__setitem__(slice(None), mg.ones(3)), x, y, v)
    a_failed_write_changes_nothing(lambda: hidden.mul_(2), y, v)
    a_failed_write_changes_nothing(lambda: y.__setitem__(7, 1.0), y, v)
    a_failed_write_changes_nothing(lambda: x.zero_(), x, y, v)
    a_failed_write_changes_nothing(lambda: mg.Tensor.expand(y, 2, 3).add_(1), y, v)


VIEWS = {
    "reshape": lambda x: x.reshape(3, 2),
    "view": lambda x: x.view(-1),
    "flatten": lambda x: x.flatten(),
    "transpose": lambda x: x.T,
    "permute": lambda x: x.permute(1, 0),
    "getitem": lambda x: x[1:, ::2],
    "integer": lambda x: x[1],
    "one element": lambda x: x[1, 2],
    "None": lambda x: x[None],
    "Ellipsis": lambda x: x[..., 1],
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[None].squeeze(),
    "movedim": lambda x: x.movedim(0, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_gradients_through_a_view_modified_in_place(name):
    """L = Σ w·base after v *= 3: the derivative is 3w inside the window and w outside it, seen
    from base and from view.
    """
    x = mg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    w = mg.tensor(np.arange(1.0, 7.0).reshape(2, 3))
    y = x * 1
    v = VIEWS[name](y)
    v.mul_(3)
    inside = mg.zeros(2, 3, dtype=mg.float64)
    VIEWS[name](inside).fill_(1.0)
    (g,) = mg.autograd.grad((y * w).sum(), x, retain_graph=True)
    assert g.tolist() == (w * (1 + 2 * inside)).tolist()
    (g,) = mg.autograd.grad(v.sum(), x)
    assert g.tolist() == (3 * inside).tolist()


def test_a_view_keeps_its_base_alive_and_not_the_other_way():
    import weakref

    base = mg.zeros(4)
    view = base[:2]
    watched, kept = weakref.ref(view), weakref.ref(base)
    del base
    assert kept() is not None
    del view
    assert watched() is None and kept() is None


def test_a_view_from_before_requires_grad_is_a_constant_until_memory_is_written():
    base = mg.ones(3)
    v = base[:2]
    base.requires_grad_()
    assert not v.requires_grad and not (v * 2).requires_grad
    assert base[:2].requires_grad
    with mg.no_grad():
        base.mul_(2)
    assert v.requires_grad
    (v * 3).sum().backward()
    assert base.grad.tolist() == [3, 3, 0]


WINDOWS = {
    "whole": lambda x: x, "transposed": lambda x: x.t(), "upper": lambda x: x[:3],
    "lower": lambda x: x[1:], "steps": lambda x: x[::2], "row": lambda x: x[1],
    "column": lambda x: x[:, 1], "diagonal": lambda x: x.diagonal(),
    "one": lambda x: x[2, 1], "stretched": lambda x: x[:, 2:3].expand(4, 4),
    "a row for all": lambda x: x[3].expand(4, 4), "more axes": lambda x: x.expand(1, 4, 4),
}  # fmt: skip


def test_what_is_written_into_its_own_memory_is_read_whole_before():
    """Every window of a matrix written into every other one: as if the source were copied
    first, or refused (several elements in one place). PyTorch refuses most of the first kind."""
    changes = {
        "copy_": lambda v, y: v.copy_(y), "add_": lambda v, y: v.add_(y),
        "x[...] =": lambda v, y: v.__setitem__(Ellipsis, y),
    }  # fmt: skip
    outcomes = []
    for target, source, change in itertools.product(WINDOWS, WINDOWS, changes):
        found = []
        for prepare in (lambda y: y, lambda y: y.clone()):
            x = mg.arange(16.0).reshape(4, 4).clone()
            try:
                changes[change](WINDOWS[target](x), prepare(WINDOWS[source](x)))
            except (InPlaceError, ShapeError) as error:
                found.append(type(error).__name__)
            else:
                found.append(x.tolist())
        assert found[0] == found[1], (target, source, change)
        outcomes.append(type(found[0]) is list)
        assert not ("for all" in target or target == "stretched") or not outcomes[-1]
    assert sum(outcomes) > 150


def test_in_place_rules_never_see_new_values():
    """For every in-place method: the gradient equals that of the out-of-place form, where it
    does not refuse.
    """
    names = (
        "exp sin cos tanh sqrt rsqrt square reciprocal neg abs relu sigmoid log log1p expm1 atan"
        " floor".split()
    )
    for name in names:
        x = mg.tensor([0.3, 0.6], dtype=mg.float64, requires_grad=True)
        y = x * 2
        result = getattr(y, name + "_")()
        assert result is y
        (mine,) = mg.autograd.grad((y * y).sum(), x)
        z = getattr(x * 2, name)()
        (plain,) = mg.autograd.grad((z * z).sum(), x)
        assert mine.tolist() == plain.tolist(), name


@pytest.mark.parametrize("size", [4, 1])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_is_not_added_to_one_of_another_shape(size, create_graph):
    x = mg.ones(3, requires_grad=True)
    x.sum().backward()
    x.data = mg.ones(size)
    with pytest.raises(ShapeError, match=r"shape \(3,\).*x\.grad = None"):
        x.sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0] * size


def test_a_gradient_is_added_to_one_that_may_only_be_read():
    """It is not written into, then: an expanded tensor's elements share one place in memory, and
    read-only memory belongs to other code.
    """
    expanded, frozen = mg.ones(1).expand(3), np.ones(3, "f4")
    frozen.flags.writeable = False
    for grad in (expanded, mg.from_numpy(frozen)):
        x = mg.ones(3, requires_grad=True)
        x.grad = grad
        for _ in range(2):
            (x * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert x.grad.tolist() == [3.0, 5.0, 7.0] and grad.tolist() == [1.0, 1.0, 1.0]


def test_a_graph_from_before_data_had_another_shape_is_refused():
    x = mg.ones(3, requires_grad=True)
    y = (x * 2).sum()
    x.data = mg.ones(4)
    with pytest.raises(ShapeError, match=r"\.data"):
        y.backward()


# ------------------------------------------------------------------- writes that do not take place


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("through_a_view", [True, False])
def test_a_write_that_raises_leaves_values_and_graph_as_they_were(through_a_view, fast):
    x = mg.ones(3, requires_grad=True)
    with nullcontext() if fast else mg.fast.disabled():
        h = x * 2
        target = h[1:] if through_a_view else h
        h.retain_grad()
        node, count = h.node, h._version
        h.array.flags.writeable = target.array.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            assign(target, target * 5, "mul_", checked=True)
        assert h.node is node and h._version == count and h.tolist() == [2, 2, 2]
        (h * h).sum().backward()
    assert x.grad.tolist() == [8, 8, 8] and h.grad.tolist() == [4, 4, 4]


@pytest.mark.parametrize("fast", [True, False])
def test_the_example_of_the_core_visits_the_nodes_that_its_text_names(fast):
    visited = []
    with nullcontext() if fast else mg.fast.disabled():
        x = mg.ones(3, requires_grad=True)
        h = x * 2
        assert h.node.parents == (x.node, None)
        v = h[1:3]
        assert v.view_of.base is h and v.version is h.version
        count = h.version.count
        v.mul_(5)
        assert h.version.count == count + 1 and h.node.name() == "ScatterViewBackward0"
        handles = [n.register_hook(lambda *_, n=n: visited.append(n.name())) for n in nodes_of(h)]
        h.sum().backward()
    assert visited == [
        "ScatterViewBackward0",
        "MulBackward0",
        "SliceBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]
    assert x.grad.tolist() == [2, 10, 10] and len(handles) == 5


def nodes_of(tensor):
    return youngest_first([tensor.node])[0]


def test_a_number_of_bfloat16_written_through_a_view_has_a_gradient():
    """The sum of two cotangents without axes is a scalar of ml_dtypes, which is no NumPy type."""
    x = mg.tensor(1.5, dtype=mg.bfloat16, requires_grad=True)
    y = x.clone()
    y.reshape(-1)[:2].mul_(3)
    outputs = [y.expand(2), y]
    (g,) = mg.autograd.grad(outputs, x, [mg.ones_like(o) for o in outputs])
    assert g.dtype == mg.bfloat16 and g.item() == 9


@pytest.mark.parametrize("through_a_view", [False, True])
def test_an_interrupt_leaves_new_values_with_their_node_or_the_old_ones_with_theirs(through_a_view):
    """Python delivers a signal where a function is entered or one in C returns: at each such place
    of a write, KeyboardInterrupt is raised once."""
    x, source = mg.ones(3, requires_grad=True), mg.full((3,), 5.0)

    def outcome(place):
        h = x * 1
        target = h[:] if through_a_view else h
        places = iter(range(10_000))

        def interrupt(frame, event, argument):
            if event in ("call", "c_return") and next(places) == place:
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            target.copy_(source)
            finished = True
        except KeyboardInterrupt:
            finished = False
        finally:
            sys.setprofile(None)
        written = h.tolist() == [5, 5, 5]
        assert written or h.tolist() == [1, 1, 1]
        total = h.sum() + x.sum()
        return finished, written, mg.autograd.grad(total, x)[0].tolist()

    seen = set()
    for place in itertools.count():
        finished, *state = outcome(place)
        seen.add(str(state))
        if finished:
            break
    assert place > 20 and seen == {"[False, [2.0, 2.0, 2.0]]", "[True, [1.0, 1.0, 1.0]]"}


def test_a_write_to_a_view_of_a_view_that_was_a_leaf_is_refused():
    flat = mg.ones(3)
    part = flat[:2].requires_grad_()
    one = part[:1]
    part.requires_grad_(False)
    with pytest.raises(InPlaceError, match="a view of a leaf"):
        one.copy_(mg.ones(1, requires_grad=True) * 3)
    with mg.no_grad():
        one.copy_(mg.full((1,), 7.0))
    assert flat.tolist() == [7, 1, 1]


def test_tangents_reach_and_leave_a_view_that_is_a_leaf():
    """Its base is a constant, so the leaf is right; both have tangents, whichever is written."""
    direction = mg.tensor([1.0, 2.0, 4.0])

    def written_through(which):
        def f(d):
            x = mg.zeros(3)
            v = x[0:2].requires_grad_()
            u = v[1:]
            with mg.no_grad():
                target, new = {"x": (x, d), "v": (v, d[:2]), "u": (u, d[1:2])}[which]
                target.add_(new)
            return [t.sum() for t in (x, v, u)]

        return [t.item() for t in mg.func.jvp(f, (mg.ones(3),), (direction,))[1]]

    assert written_through("x") == [7, 3, 2]
    assert written_through("v") == [3, 3, 2]
    assert written_through("u") == [2, 2, 2]
