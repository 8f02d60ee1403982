"""Names of villages that do not exist: a data set for small language models, made by rules.

The rules below are minigrad's own, and so are the names. Both are in the public domain (CC0 1.0,
https://creativecommons.org/publicdomain/zero/1.0/): use them for whatever you like. A name that
also exists on a map is a coincidence.

A name begins with one or two consonants and a vowel. One or two syllables and an ending follow. All
vowels of a name are dark (a, o, u) or all are bright (e, i, y), the ending's as well, so whoever
writes the last letters must remember the first ones. Every choice is made with equal chances.
Hence the probability of each name is known, and with it the least loss that any model can reach.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

BEGINNINGS = ("b", "br", "d", "f", "gr", "h", "k", "kl", "l", "m", "s", "st")
MIDDLES = ("d", "g", "ld", "l", "m", "nd", "r", "rk", "s", "v")
SOUNDS = (
    (("a", "o", "u"), ("ton", "holm", "dal", "gard")),
    (("e", "i", "y"), ("wick", "ness", "by", "fell")),
)
"""Vowels, and endings that fit them: dark and bright."""
LETTERS = "." + "".join(
    sorted(
        {
            letter
            for words in (BEGINNINGS, MIDDLES, *(part for pair in SOUNDS for part in pair))
            for word in words
            for letter in word
        }
    )
)
"""All letters that occur, after the full stop, which marks where a name ends."""


def villages(n: int = 2000, seed: int = 0) -> list[str]:
    """n names of villages, the same ones for the same seed. A name may occur more than once.

    Raises ValueError for a number of names below 1.
    """
    if n < 1:
        raise ValueError(f"villages: n must be at least 1, got {n}.")
    draws = random.Random(seed)

    def one_of(choices: Sequence[T]) -> T:
        return choices[int(draws.random() * len(choices))]

    names = []
    for _ in range(n):
        vowels, endings = one_of(SOUNDS)
        name = one_of(BEGINNINGS) + one_of(vowels)
        for _ in range(one_of((1, 2))):
            name += one_of(MIDDLES) + one_of(vowels)
        names.append(name + one_of(endings))
    return names


def surprise_of(name: str) -> float:
    """Minus the logarithm of a name's probability under the rules; infinity for a name that they
    cannot make. Its average over all names is the least loss per name that a model can have.
    """
    total = 0.0
    for vowels, endings in SOUNDS:
        syllable = len(MIDDLES) * len(vowels)
        paths = 1 / (2 * len(BEGINNINGS) * len(vowels))
        starts = {b + v for b in BEGINNINGS for v in vowels}
        ways = {end: paths for end in (2, 3) if name[:end] in starts}
        for _ in range(2):
            after: dict[int, float] = {}
            for at, chance in ways.items():
                for m in MIDDLES:
                    end = at + len(m) + 1
                    if name[at:end] in {m + v for v in vowels}:
                        after[end] = after.get(end, 0.0) + chance / syllable
            ways = after
            total += sum(
                chance / (2 * len(endings)) for at, chance in ways.items() if name[at:] in endings
            )
    return -math.log(total) if total else math.inf
