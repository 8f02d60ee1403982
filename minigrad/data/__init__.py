"""Data for training: datasets, batches in a repeatable random order, and a few small sets that need no network.

TensorDataset(x, t)                 examples kept as tensors                        datasets.py
DataLoader(dataset, batch_size)     batches, shuffled by seed, resumable            loader.py
read_idx(path), mnist(folder)       the files in which MNIST is published           idx.py
disc(n), two_moons(n), digits()     points to classify; scikit-learn's digits       small.py
"""

from .datasets import Dataset, Subset, TensorDataset, random_split
from .idx import IdxError, mnist, read_idx
from .loader import DataLoader
from .small import digits, disc, two_moons

__all__ = [
    "DataLoader", "Dataset", "IdxError", "Subset", "TensorDataset", "digits", "disc", "mnist", "random_split", "read_idx", "two_moons",
]  # fmt: skip
