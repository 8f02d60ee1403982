"""Fourier transforms where a comparison with PyTorch says little: definitions, inverses, dtypes,
frequencies, mistakes, both modes.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import fft
from minigrad.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(4)
X = RNG.standard_normal((3, 5))
C = X + 1j * RNG.standard_normal((3, 5))


def test_the_inverse_undoes_the_transform():
    for norm in (None, "backward", "ortho", "forward"):
        assert np.allclose(fft.ifft(fft.fft(mg.tensor(C), norm=norm), norm=norm).numpy(), C)
        assert np.allclose(fft.irfft(fft.rfft(mg.tensor(X), norm=norm), 5, norm=norm).numpy(), X)
        assert np.allclose(
            fft.irfftn(fft.rfftn(mg.tensor(X), norm=norm), (3, 5), norm=norm).numpy(), X
        )


def test_half_given_there_and_back():
    spectrum = fft.hfft(mg.tensor(C))
    assert spectrum.dtype == mg.float64 and spectrum.shape == (3, 8)
    assert np.allclose(fft.hfft(fft.ihfft(mg.tensor(X)), 5).numpy(), X)
    assert np.allclose(fft.hfftn(fft.ihfftn(mg.tensor(X)), (3, 5)).numpy(), X)


def test_a_wave_has_one_frequency():
    t = mg.arange(8) / 8
    spectrum = fft.rfft(mg.cos(2 * mg.pi * 3 * t)).abs()
    assert spectrum.dtype == mg.float32
    assert np.allclose(spectrum.numpy(), [0, 0, 0, 4, 0], atol=1e-05)
    assert fft.rfftfreq(8, 1 / 8).tolist() == [0, 1, 2, 3, 4]
    assert fft.fftfreq(5, 0.2).tolist() == [0, 1, 2, -2, -1]
    assert fft.fftshift(fft.fftfreq(6)).tolist() == pytest.approx(
        [-0.5, -1 / 3, -1 / 6, 0, 1 / 6, 1 / 3]
    )


def test_results_have_the_precision_of_the_operand():
    assert fft.fft(mg.ones(3)).dtype == mg.complex64 == fft.fft(mg.tensor([1, 2])).dtype
    assert fft.fft(mg.ones(3, dtype=mg.float64)).dtype == mg.complex128
    assert fft.irfft(mg.ones(3)).dtype == mg.float32


@pytest.mark.parametrize(
    "function",
    [fft.fft2, lambda x: fft.ifft(x, 7), lambda x: fft.irfft(x, 4), lambda x: fft.rfft(x.real, 6)],
)
def test_derivatives_of_both_modes_and_orders(function):
    x = mg.tensor(C, requires_grad=True)
    assert gradcheck(function, (x,), check_forward_ad=True) and gradgradcheck(function, (x,))
