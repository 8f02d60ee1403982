"""No hidden trip to the host: every layer, and whole training steps on a device that refuses what
CuPy refuses.

The results are the host's up to the rounding of sums, gradients and buffers included.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend, nn, optim
from tests.helpers.fake_device import FakeArray, fake, synchronised, uploaded
from tests.helpers.tables import in_one_test
from tests.nn.test_layers import LAYERS, flat

DEVICE = "fake:0"
ROUNDING = {"rtol": 1e-5, "atol": 1e-5}
"""Of sums in float32, which the host takes in other orders."""


@pytest.fixture(autouse=True)
def device(monkeypatch):
    monkeypatch.setitem(backend.MODULES, FakeArray, fake)
    synchronised.clear()


def host(tensor):
    """The values of a tensor that must be on the device."""
    assert type(tensor.array) is FakeArray, f"it left the device: {type(tensor.array)}"
    return tensor.array.get()


@in_one_test
@pytest.mark.parametrize("name", LAYERS)
def test_layer_stays_on_the_device(name: str) -> None:
    make, arrays = LAYERS[name]
    synchronised.clear()  # of the row before
    mg.manual_seed(0)
    here = make(nn)
    there = make(nn)
    there.load_state_dict(here.state_dict())
    there.to(device=DEVICE)
    for value in there.state_dict().values():
        host(value)
    mine = [mg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    other = [mg.tensor(a, device=DEVICE, requires_grad=a.dtype.kind == "f") for a in arrays]
    with mg.no_grad():  # tables that depend on shapes only travel once, so let them
        there(*other)
        here(*mine)
    synchronised.clear()
    uploaded.clear()
    results = flat(here(*mine)), flat(there(*other))
    for y, z in zip(*results, strict=True):
        if y.dtype.kind == "f" and (y.requires_grad or z.requires_grad):
            y.sum().backward(retain_graph=True)
            z.sum().backward(retain_graph=True)
    assert synchronised == []
    assert uploaded == []
    for y, z in zip(*results, strict=True):
        np.testing.assert_allclose(host(z), y.detach().numpy(), **ROUNDING, err_msg="the result")
    for a, b in zip([*mine, *here.parameters()], [*other, *there.parameters()], strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            np.testing.assert_allclose(host(b.grad), a.grad.numpy(), **ROUNDING, err_msg="grad")
    for key, value in here.state_dict().items():
        np.testing.assert_allclose(
            host(there.state_dict()[key]), value.numpy(), **ROUNDING, err_msg=key
        )


def test_a_training_step_of_a_convolutional_network_stays_on_the_device() -> None:
    """With dropout, clipped gradients and a schedule; only the loss travels, when it is asked
    for.
    """
    random = np.random.default_rng(0)
    images, labels = random.random((6, 1, 8, 8), "float32"), random.integers(0, 3, 6)

    def train(where):
        mg.manual_seed(1)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3), nn.GELU(), nn.Flatten(),
            nn.LayerNorm(16), nn.Dropout(0.0 if where == "cpu" else 0.5), nn.Linear(16, 3),
        )  # fmt: skip
        model.to(device=where)
        optimiser = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        schedule = optim.lr_scheduler.StepLR(optimiser, 2)
        x, t = mg.tensor(images, device=where), mg.tensor(labels, device=where)
        losses = []
        for _ in range(4):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x), t)
            loss.backward()
            optim.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.detach())
        return losses

    losses = train(DEVICE)
    assert synchronised == []
    assert all(np.isfinite(host(loss)) for loss in losses)
    assert [float(loss) for loss in train("cpu")][-1] > 0
