"""Windows, and spectra that change with time: against PyTorch, there and back, and derivatives."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import func
from minigrad.autograd import gradcheck
from minigrad.signal import windows
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

R = np.random.default_rng(31)
SIGNAL, PAIR = R.standard_normal(40), R.standard_normal((2, 40))
WAVE = PAIR + 1j * R.standard_normal((2, 40))
WEIGHTS = R.random(8) + 0.2
SPECTRUM = R.standard_normal((2, 5, 7)) + 1j * R.standard_normal((2, 5, 7))
FULL = R.standard_normal((8, 7)) + 1j * R.standard_normal((8, 7))

WINDOWS = {
    **{
        name: {}
        for name in (
            "bartlett",
            "blackman",
            "cosine",
            "hamming",
            "hann",
            "nuttall",
            "exponential",
            "gaussian",
            "kaiser",
        )
    },
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.7},
}
OPTIONS = [
    ("exponential", {"tau": 3.0}),
    ("gaussian", {"std": 4.0}),
    ("kaiser", {"beta": 0.0}),
    ("kaiser", {"beta": 60.0}),
]


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(("name", "options"), [*WINDOWS.items(), *OPTIONS])
def test_windows_agree_with_pytorch(torch, name: str, options) -> None:
    def both(m):
        made = getattr(m.signal.windows, name)
        return [
            made(k, sym=sym, dtype=m.float64, **options)
            for k in (0, 1, 2, 7, 8)
            for sym in (True, False)
        ]

    # PyTorch rounds beta to float32
    agree(torch, both, tolerance=1e-7 if name == "kaiser" else 1e-12)
    assert getattr(windows, name)(5, **options).dtype == mg.float32
    assert getattr(windows, name)(3, requires_grad=True, **options).requires_grad
    if name == "exponential":
        agree(
            torch,
            lambda m: m.signal.windows.exponential(
                7, center=2.5, tau=1.5, sym=False, dtype=m.float64
            ),
            tolerance=1e-12,
        )


def test_windows_have_their_textbook_values() -> None:
    assert windows.hann(5).tolist() == pytest.approx([0, 0.5, 1, 0.5, 0], abs=1e-07)
    assert windows.bartlett(4, sym=False).tolist() == [0, 0.5, 1, 0.5]
    both = windows.hann(8, sym=False, dtype="float64") + mg.roll(
        windows.hann(8, sym=False, dtype="float64"), 4
    )
    assert np.allclose(both.numpy(), 1)  # overlapping by half, they add up to 1


CASES = {
    "stft": (lambda m, x: m.stft(x, 8, return_complex=True), SIGNAL),
    "stft options": (
        lambda m, x, w: m.stft(
            x, 12, 3, 8, w, pad_mode="constant", normalized=True, return_complex=True
        ),
        PAIR,
        WEIGHTS,
    ),
    "stft edges": (
        lambda m, x: [
            m.stft(x, 8, 5, center=c, pad_mode="replicate", return_complex=True)
            for c in (True, False)
        ],
        PAIR,
    ),
    "stft real result": (
        lambda m, x, w: m.stft(x, 8, window=w, onesided=False, return_complex=False),
        SIGNAL,
        WEIGHTS,
    ),
    "stft complex": (lambda m, x, w: m.stft(x, 8, window=w), WAVE, WEIGHTS),
    "stft aligned": (
        lambda m, x, w: m.stft(
            x, 12, 3, 8, w, center=False, align_to_window=True, return_complex=True
        ),
        PAIR,
        WEIGHTS,
    ),
    "istft": (lambda m, s: m.istft(s, 8), SPECTRUM),
    "istft options": (
        lambda m, s, w: m.istft(s, 8, 3, window=w, normalized=True, length=21),
        SPECTRUM,
        WEIGHTS,
    ),
    "istft edges": (
        lambda m, s, w: [
            m.istft(s, 8, window=w, center=False),
            m.istft(s, 8, 3, 7, w[1:], length=10),
        ],
        SPECTRUM,
        WEIGHTS,
    ),
    "istft full": (lambda m, s: [m.istft(s, 8), m.istft(s, 8, return_complex=True)], FULL),
    "istft longer": (lambda m, s: m.istft(s, 8, length=19), SPECTRUM),
}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:A window was not provided")
@pytest.mark.filterwarnings("ignore:stft with return_complex=False")
@pytest.mark.filterwarnings("ignore:The length of signal is shorter")
@pytest.mark.parametrize("name", CASES)
def test_spectra_agree_with_pytorch(torch, name: str) -> None:
    function, *arrays = CASES[name]
    agree(torch, function, *arrays)


def test_istft_undoes_stft() -> None:
    w = windows.hann(16, sym=False, dtype="float64")
    for x, options in ((PAIR, {"return_complex": True}), (WAVE, {})):
        spectra = mg.stft(mg.tensor(x), 16, 4, window=w, **options)
        back = mg.istft(spectra, 16, 4, window=w, length=40, return_complex=x.dtype.kind == "c")
        np.testing.assert_allclose(back.numpy(), x, atol=1e-12)


def test_a_tone_stays_at_its_frequency() -> None:
    t = mg.arange(64) / 64
    tone = mg.sin(2 * mg.pi * 16 * t)  # a quarter of the samples' rate: frequency 4 of 16
    spectra = mg.stft(tone, 16, window=windows.hann(16, sym=False), return_complex=True).abs()
    assert spectra.shape == (9, 17) and (mg.argmax(spectra[:, 2:-2], 0) == 4).all()


def test_derivatives_and_batches() -> None:
    x, w = mg.tensor(SIGNAL[:20], requires_grad=True), mg.tensor(WEIGHTS, requires_grad=True)
    there = lambda x, w: mg.stft(x, 8, 3, window=w, return_complex=True)
    assert gradcheck(there, [x, w], check_forward_ad=True)
    s = mg.tensor(SPECTRUM[0], requires_grad=True)
    assert gradcheck(lambda s, w: mg.istft(s, 8, 3, window=w), [s, w], check_forward_ad=True)
    rows = func.vmap(lambda v: mg.stft(v, 8, return_complex=True))(mg.tensor(PAIR))
    np.testing.assert_allclose(
        rows.numpy(), mg.stft(mg.tensor(PAIR), 8, return_complex=True).numpy(), atol=1e-13
    )
    back = func.vmap(lambda v: mg.istft(v, 8))(mg.tensor(SPECTRUM))
    np.testing.assert_allclose(back.numpy(), mg.istft(mg.tensor(SPECTRUM), 8).numpy(), atol=1e-13)


def test_kaiser_is_accurate() -> None:
    of = lambda v: mg.special.i0(mg.tensor(v, dtype="float64")).item()
    assert math.isclose(
        windows.kaiser(5, beta=3.0, dtype="float64")[1].item(),
        of(3 * math.sqrt(0.75)) / of(3.0),
        rel_tol=1e-14,
    )
