"""The first page of the site: the page that differentiates, and below it everything else as cards,
each with the picture and the title of the page that it leads to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

LIVE = "explore.html"
"""The name of the page that differentiates, beside the first page."""

INDEX = """\
---
hide-toc: true
---

# {title}

<iframe class="course-live" src="{live}" height="1500"
 title="Differentiate a function, step by step"></iframe>

Type a function, or choose an example, and step through its derivative. Nothing is installed, and
nothing that you type is sent anywhere. <a href="{live}">This page by itself</a> is one file that
works without a network. Its address holds the function, the point and the step, so a link to it is
an example. Below: {links}.

## The course

Learn automatic differentiation by watching it run, and by building it yourself. \
Each lesson takes between half an hour and an hour and a half. The pages are
notebooks that were run when this site was built, \
and you can step through their pictures right here. The exercises
are left to you, so their checks say “not started”. \
To work on a lesson and have your answers checked, open the
course in JupyterLab: `minigrad lab`.

{start}"""

START = """\
**Where to begin?** [Lesson 2](02_forward_and_reverse_mode.ipynb) is the heart of the course: one \
formula, by hand and in the viewer, in both directions. \
Lesson 1 says why other ways to get a derivative do not scale. \
Lessons 3, 5, 9 and 11 build an engine, and Part II puts it to use. \
What it does in the end is in the [gallery](gallery.md).

"""
"""What the course itself says on its first page; a site of other lessons does without it."""

GROUP = """\
## {caption}

```{{container}} course-cards
{cards}
```

{also}```{{toctree}}
:caption: "{caption}"
:maxdepth: 1
:hidden:

{pages}
```

"""
REFERENCE = """\
## Reference

[The reference](reference/index.md) has [each operation with its rule](reference/operations.md) and
the public names with their documentation.

```{toctree}
:caption: "Reference"
:maxdepth: 1
:hidden:

reference/index
```

"""
FIRST_OF_PART_TWO = "16"
LESSONS, PART_TWO = "Lessons", "Part II: what derivatives are for"
DOCUMENTS, BESIDE = "The documents, example by example", "Beside the lessons"


class Card(NamedTuple):
    """What the first page says of another one."""

    file: str
    title: str
    picture: str
    """The address of its first picture, relative to the page; empty: it has none."""

    def markdown(self) -> str:
        """As an item of a list: a link with the picture, of which the title is the name."""
        picture = f"![]({self.picture})" if self.picture else ""
        return f"- [{picture} {self.title}]({self.file})"


def card_of(path: Path) -> Card:
    """Title and first picture of a notebook or of a page of Markdown."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    picture = re.search(r"!\[[^\]]*\]\((figures/[^)\s]+)\)", text)
    return Card(path.name, title[1] if title else path.stem, picture[1] if picture else "")


def first_page(
    title: str, notebooks: Sequence[Path], others: Sequence[Path], documented: bool = False
) -> str:
    """The first page, as Markdown: under each caption the cards of its pages, and a list of them
    for the site's side bar. documented: with the reference of minigrad.
    """
    groups: dict[str, list[Path]] = {LESSONS: [], PART_TWO: [], DOCUMENTS: [], BESIDE: []}
    for path in notebooks:
        groups[PART_TWO if path.stem >= FIRST_OF_PART_TWO else LESSONS].append(path)
    for path in others:
        groups[DOCUMENTS if path.stem.startswith("documents") else BESIDE].append(path)
    shown = {caption: pages for caption, pages in groups.items() if pages}
    below = [*shown, *["Reference"] * documented]
    links = ", ".join(f"[{caption.partition(':')[0]}](#{anchor(caption)})" for caption in below)
    whole = any(path.stem == "02_forward_and_reverse_mode" for path in notebooks)
    index = INDEX.format(title=title, links=links, live=LIVE, start=START if whole else "")
    page = index + "".join(_group(caption, pages) for caption, pages in shown.items())
    return page + REFERENCE if documented else page


def anchor(heading: str) -> str:
    """The name by which a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _group(caption: str, pages: Iterable[Path]) -> str:
    """Cards for the pages that have a picture, or for all where none has, and links to the rest."""
    pages = list(pages)
    found = [card_of(path) for path in pages]
    cards = [card for card in found if card.picture] or found
    links = ", ".join(f"[{card.title}]({card.file})" for card in found if card not in cards)
    return GROUP.format(
        caption=caption,
        cards="\n".join(card.markdown() for card in cards),
        also=f"Also: {links}.\n\n" if links else "",
        pages="\n".join(path.stem for path in pages),
    )
