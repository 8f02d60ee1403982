"""The IDX format, in which MNIST and its relatives are published: a header of big-endian numbers,
then the elements.

    byte 0, 1    zero
    byte 2       the element type (0x08 is one unsigned byte; see TYPES)
    byte 3       the number of axes d
    d x 4 bytes  their sizes
    the rest     the elements, last axis fastest

Files are read from disk, packed by gzip or not; nothing is downloaded. Source: the format's
description on the MNIST page by LeCun, Cortes and Burges.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

from .. import backend
from ..core.tensor import Tensor, wrap
from .datasets import TensorDataset

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


class IdxError(ValueError):
    """A file is not a complete IDX file; the message says where it departs from the format."""


def read_idx(path: Any) -> Tensor:
    """The array in an IDX file, packed by gzip or not, as a constant tensor of the file's shape and
    element type.

    Raises FileNotFoundError; IdxError for a wrong magic number, an unknown element type, a file
    that is too short or too long, or a damaged gzip file.
    """
    content = _unpacked(Path(path))
    if len(content) < 4:
        raise IdxError(
            f"{path}: {len(content)} bytes are too few for an IDX header, which has at least 4. Is"
            " the download complete?"
        )
    if content[0] or content[1]:
        raise IdxError(
            f"{path}: not an IDX file: it begins with {content[:4].hex(' ')}, but the first two"
            " bytes must be 00 00."
        )
    if content[2] not in TYPES:
        known = ", ".join(f"{code:02x}" for code in TYPES)
        raise IdxError(
            f"{path}: unknown IDX element type {content[2]:02x} in byte 2; the format has {known}."
        )
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise IdxError(
            f"{path}: truncated: {content[3]} axes need a header of {start} bytes, but the file has"
            f" {len(content)}."
        )
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4))
    kind = backend.numpy.dtype(TYPES[content[2]])
    needed, found = math.prod(shape) * kind.itemsize, len(content) - start
    if found != needed:
        what = "truncated" if found < needed else "too long"
        raise IdxError(
            f"{path}: {what}: shape {shape} of {kind.name} needs {needed:,} bytes after the header,"
            f" but there are {found:,}."
        )
    stored = backend.numpy.frombuffer(content, kind, offset=start).reshape(shape)
    return wrap(stored.astype(kind.newbyteorder("=")))


def _unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    if content[:2] != b"\x1f\x8b":  # the mark of gzip, whatever the file is called
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise IdxError(
            f"{path}: the gzip file is damaged or incomplete ({problem}). Get it again."
        ) from problem


def mnist(folder: Any, train: bool = True) -> TensorDataset:
    """MNIST (or a set in the same files, such as Fashion-MNIST) from a folder that you have.

    Returns images (n, 1, 28, 28) float32 in [0, 1] and labels (n,) int64.

    The files may carry either of their usual names (train-images-idx3-ubyte,
    train-images.idx3-ubyte), with .gz or without. train: the 60,000 training examples, else the
    10,000 for testing. Raises FileNotFoundError naming what was looked for; IdxError for bad files.
    """
    part = "train" if train else "t10k"
    image_file = _find(Path(folder), f"{part}-images", "idx3-ubyte")
    label_file = _find(Path(folder), f"{part}-labels", "idx1-ubyte")
    images, labels = read_idx(image_file), read_idx(label_file)
    if images.ndim != 3 or labels.ndim != 1 or images.shape[0] != labels.shape[0]:
        raise IdxError(
            f"{image_file} and {label_file} do not belong together: images of shape {images.shape},"
            f" labels of shape {labels.shape}."
        )
    scaled = images.array[:, None].astype(backend.float32) / backend.float32.type(255)
    return TensorDataset(wrap(scaled), wrap(labels.array.astype(backend.int64)))


def _find(folder: Path, stem: str, ending: str) -> Path:
    names = [f"{stem}{mark}{ending}{packed}" for mark in "-." for packed in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"mnist: none of {', '.join(names)} is in {folder}. Put the files of MNIST there, or use"
        " mg.data.digits(), which needs no files."
    )
