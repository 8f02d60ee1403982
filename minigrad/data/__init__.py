"""Data for training: datasets, batches in a repeatable random order, and a few small sets that need
no network.

TensorDataset(x, t)                 examples kept as tensors                        datasets.py
SubsetRandomSampler(indices)        PyTorch's samplers, orders of examples          samplers.py
DataLoader(dataset, batch_size)     batches, shuffled by seed, resumable            loader.py
read_idx(path), mnist(folder)       the files in which MNIST is published           idx.py
disc(n), two_moons(n), digits()     data sets: points to classify; digits           small.py
villages(n)                         invented names, for language models             village_names.py
"""

import sys

from ..errors import with_hints
from .datasets import ConcatDataset, Dataset, Subset, TensorDataset, default_collate, random_split
from .idx import IdxError, mnist, read_idx
from .loader import DataLoader
from .samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .small import digits, disc, two_moons
from .village_names import villages

__all__ = [
    "BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IdxError", "RandomSampler",
    "Sampler", "SequentialSampler", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "digits",
    "disc", "mnist", "random_split", "read_idx", "two_moons", "villages",
]  # fmt: skip
with_hints(sys.modules[__name__])
