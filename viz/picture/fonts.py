"""The fonts that matplotlib writes with: which are installed, how wide a line is, and what none of
them can write."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache

from minigrad.viz.layout import measure
from minigrad.viz.texts import Words

FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "SimHei",
)
"""matplotlib brings the first; the others have Chinese letters, and the first that is installed
writes them."""
INSTALL = (
    f"Install one (matplotlib looks for {', '.join(FONTS[1:])}; on Debian and Ubuntu: apt-get"
    " install fonts-noto-cjk) and delete matplotlib's list of fonts (fontlist-*.json in the folder"
    " that matplotlib.get_cachedir() names)"
)


class MissingFontWarning(UserWarning):
    """A picture shows boxes in place of characters that no installed font has."""


@lru_cache(maxsize=1)
def installed() -> frozenset[str]:
    """The names of all fonts that matplotlib finds."""
    from matplotlib.font_manager import fontManager

    return frozenset(font.name for font in fontManager.ttflist)


def fonts() -> list[str]:
    """Those of FONTS that are installed."""
    return [name for name in FONTS if name in installed()]


def chinese_fonts() -> list[str]:
    """The fonts with Chinese letters that are installed."""
    return fonts()[1:]


def need_letters(t: Words, form: str) -> None:
    """Raises ValueError where matplotlib would draw boxes for the letters of a language."""
    if t.foreign and not chinese_fonts():
        what = f"a .{form} cannot be drawn with lang={t.lang!r}"
        raise ValueError(no_letters(what, "an .svg or .html of the Trace: they take"))


def no_letters(what: str, instead: str) -> str:
    """The message where there is no such font. what: what cannot be done; instead: what can."""
    return (
        f"no font with Chinese letters is installed here, so {what}. {INSTALL}, or write {instead}"
        " the fonts of whoever opens them"
    )


def undrawable(text: str) -> str:
    """The characters of a text that none of the installed FONTS has, each once."""
    return "".join(dict.fromkeys(ch for ch in text if not ch.isspace() and not _drawable(ch)))


@lru_cache(maxsize=4096)
def _drawable(ch: str) -> bool:
    from matplotlib.font_manager import findfont, get_font

    return any(get_font(findfont(name)).get_char_index(ord(ch)) for name in fonts())


def warn_of_boxes(texts: Iterable[str]) -> None:
    """Warns of the characters in texts that matplotlib would draw as boxes."""
    lacking = undrawable("".join(texts))
    if not lacking:
        return
    shown = " ".join(f"{ch} (U+{ord(ch):04X})" for ch in lacking[:8])
    shown += " …" if len(lacking) > 8 else ""
    wide = any(map(measure.is_wide, lacking))
    what = "Chinese letters" if wide else "these characters"
    cure = INSTALL if wide else "Write them in other characters"
    warnings.warn(
        f"no font with {what} is installed here: the picture shows boxes in place of {shown}. "
        f"{cure}, or write an .svg or .html of the Trace: they take the fonts of whoever opens"
        " them",
        MissingFontWarning,
        stacklevel=2,
    )


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a line of plain text in DejaVu Sans. Letters of East Asia, which it lacks, are
    one em wide."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    known = "".join(ch for ch in text if not measure.is_wide(ch))
    wide = size * (len(text) - len(known))
    if not known:
        return wide
    return wide + float(TextToPath().get_text_width_height_descent(known, font, ismath=False)[0])


_WIDE, _CLOSING = r"\u2e80-\ufaff\uff00-\uff60", "、。，．：；？！）》」』】"
_WORD = re.compile(rf"\s+|(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*")
"""What stays together in a line: a word, or a letter of East Asia; with the closing signs that
follow."""


def wrap(text: str, size: float, space: float) -> list[str]:
    """Words in as many lines as fit; a word wider than the space is cut."""
    out = [""]
    for word in _WORD.findall(text):
        longer = out[-1] + (" " if word.isspace() else word)
        if word.isspace() or text_width(longer, size) <= space:
            out[-1] = longer if out[-1] else longer.lstrip()
            continue
        while text_width(word, size) > space and len(word) > 8:
            keep = max(4, int(len(word) * space / text_width(word, size)) - 1)
            out, word = [*out, word[:keep]], word[keep:]
        out.append(word)
    return [line.rstrip() for line in out if line.strip()]
