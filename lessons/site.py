"""The course as a static site: every lesson run once, its pictures playable without a kernel, and
not one request to another server. The page that differentiates is its front (front_page.py).

Sphinx with myst-nb runs the students' edition (so the site gives no solution away), `viz` is told
that there will be no kernel and puts pages instead of widgets into the outputs, and MathJax is
copied beside them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from html import escape, unescape
from pathlib import Path
from typing import Any

from minigrad.cli import processes
from minigrad.cli.progress import followed

from .edition import student_file
from .front_page import LIVE, first_page
from .math_text import math_text

LESSONS = Path(__file__).parent
GUIDE = LESSONS / "instructors_guide.md"
STATIC = LESSONS / "static"
JOBS = "auto"
"""Sphinx's processes: one for each core."""
SCORER = "scorer.js"
"""The file that orders what a search finds."""
TEMPLATES = "_templates"
SEARCH_PAGE = """{% extends "!search.html" %}
{% block content %}<h1>{{ _("Search") }}</h1>{{ super() }}{% endblock %}
"""
"""The theme's page of a search has no heading of the first level."""
EXTRA = "extra"
"""The folder whose files are put beside the pages as they are."""
NEEDED = {
    "sphinx": "sphinx",
    "myst_nb": "myst-nb",
    "furo": "furo",
    "sphinx-mathjax-offline": "sphinx-mathjax-offline",
}
"""What builds the site: modules, and the names by which pip knows them."""


class SiteError(RuntimeError):
    """The site could not be made; the message says what is missing or which lesson failed."""


def missing() -> list[str]:
    """The packages that the site needs and that are not installed here."""
    return [
        package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None
    ]


def pages_of(lessons: Path) -> tuple[list[Path], list[Path]]:
    """What the site shows: the lessons in their order, and the pages beside them. Of what is for
    instructors it shows the course's own guide, which holds no solution.
    """
    notebooks = sorted(lessons.glob("[0-9]*.ipynb"))
    others = [
        p for p in sorted(lessons.glob("*")) if p.suffix in (".md", ".ipynb") and p not in notebooks
    ]
    return notebooks, [
        p
        for p in others
        if p == GUIDE or not p.name.startswith(("instructors_", "README", "_", "."))
    ]


def build(
    folder: Path,
    lessons: Path = LESSONS,
    title: str = "minigrad: the course",
    verbose: bool = False,
    told: Callable[[int, int], None] | None = None,
    documented: bool = True,
) -> Path:
    """Write the site into `folder` and return its first page.

    Every lesson is run, in the students' edition. told: called again and again with the number of
    notebooks that have been run and of all. documented: with the reference of minigrad.
    Raises SiteError with what is missing, or with the cell that raised; then nothing is written.
    """
    if absent := missing():
        raise SiteError(
            f"the site needs {', '.join(absent)}. In the folder of minigrad run: pip install -e"
            ' ".[site]"'
        )
    notebooks, others = pages_of(lessons)
    if not notebooks:
        raise SiteError(f"there are no lessons in {lessons}; is the checkout complete?")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="minigrad-site-") as place:
        source = Path(place, "source")
        source.mkdir()
        for path in [*notebooks, *others]:
            (source / path.name).write_bytes(student_file(path))
        index = first_page(title, notebooks, others, documented)
        (source / "index.md").write_text(index, encoding="utf-8")
        (source / EXTRA).mkdir()
        if documented:
            from . import reference

            reference.write(source, source / EXTRA)
        if (lessons / "figures").is_dir():
            shutil.copytree(lessons / "figures", source / "figures")
        shutil.copytree(STATIC, source / "_static", ignore=shutil.ignore_patterns(SCORER))
        (source / TEMPLATES).mkdir()
        (source / TEMPLATES / "search.html").write_text(SEARCH_PAGE, encoding="utf-8")
        (source / SCORER).write_text(scorer(lessons, notebooks), encoding="utf-8")
        shutil.copy(_mathjax(), source / "_static" / "mathjax.js")
        (source / EXTRA / LIVE).write_text(live_page(), encoding="utf-8")
        conf = settings(title, documented) | {"html_search_scorer": str(source / SCORER)}
        count = sum(path.suffix == ".ipynb" for path in [*notebooks, *others])
        executed = Path(place, "out", "jupyter_execute")  # each as soon as it has run
        with (
            contextlib.nullcontext()
            if told is None
            else followed(lambda: len(list(executed.glob("*.ipynb"))), count, told)
        ):
            _run_sphinx(source, Path(place), conf, verbose)
        write_texts(Path(place, "out", "site"))
        _publish(Path(place, "out", "site"), folder)
    return folder / "index.html"


def scorer(lessons: Path, notebooks: Sequence[Path]) -> str:
    """The program that orders what a search finds: for a term of the glossary, the glossary and
    then the lesson that teaches it.
    """
    glossary = lessons / "glossary.md"
    text = glossary.read_text(encoding="utf-8") if glossary.is_file() else ""
    by_number = {path.stem.partition("_")[0].lstrip("0"): path.stem for path in notebooks}
    taught = {
        word.strip().lower(): by_number.get(lesson, "")
        for term, more, lesson in TERM.findall(text)
        for word in [term, *re.sub(r"\$[^$]*\$|`", "", more).split(",")]
        if word.strip()
    }
    table = json.dumps(sorted(taught.items()), ensure_ascii=False)
    return f"const TAUGHT = new Map({table});\n" + (STATIC / SCORER).read_text(encoding="utf-8")


TERM = re.compile(r"^\*\*(.+?)\*\*(?: \((.+?)\))?: .*\*Lesson (\w+)\.\*$", re.MULTILINE)
"""An entry of the glossary: the term, its symbol and other names, the lesson that teaches it."""


def write_texts(site: Path) -> None:
    """Puts the text of each page into a script, from which a search takes its excerpts
    (static/scorer.js): a page that was opened from a disk may run the files beside it, and not
    read them.
    """
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site).with_suffix("").as_posix()
        found = MAIN.search(path.read_text(encoding="utf-8"))
        if found:
            math = lambda one: escape(math_text(unescape(one[1])))
            text = TAG.sub(_bare, MATH.sub(math, UNREAD.sub("", found[0])))
            target = site / TEXTS / f"{page}.js"
            target.parent.mkdir(parents=True, exist_ok=True)
            held = json.dumps([page, text], ensure_ascii=False)
            target.write_text(f"minigradText(...{held});\n", encoding="utf-8")


TEXTS = "texts"
"""The folder of the pages' texts."""
MAIN = re.compile(r'<article role="main".*</article>', re.DOTALL)
UNREAD = re.compile(r'<(iframe|script|style|svg)\b.*?</\1>|<a class="headerlink".*?</a>', re.DOTALL)
"""What a search shows nothing of."""
MATH = re.compile(r"\\[(\[](.*?)\\[)\]]", re.DOTALL)
"""A formula as Sphinx leaves it to the browser."""
TAG = re.compile(r"""<(\w+)((?:[^>"']|"[^"]*"|'[^']*')*)>""")


def _bare(tag: re.Match[str]) -> str:
    """A tag with the attributes by which a search finds a section."""
    kept = re.findall(r' (?:id|role)="[^"]*"', tag[2])
    return f"<{tag[1]}{''.join(kept)}>"


def live_page() -> str:
    """The page that differentiates. As a frame of another page of the site it tells its height,
    and takes the theme of that page.
    """
    from minigrad.viz.explorer import bundle, page
    from minigrad.viz.html_document import html_document
    from minigrad.viz.renaming import short_program

    program = bundle.script() + "\n" + (STATIC / "framed.js").read_text(encoding="utf-8")
    return html_document(
        page.TITLE,
        bundle.stylesheet(),
        short_program(program),
        "This page differentiates a function that you type, and needs JavaScript for it.",
    )


def _publish(site: Path, folder: Path) -> None:
    """Copies the site beside its place first, so that what was there stays whole if this is
    interrupted or the disk is full; then each file takes its place in one step.
    """
    beside = folder / f".minigrad-site-{secrets.token_hex(4)}"
    try:
        shutil.copytree(site, beside, ignore=shutil.ignore_patterns(".buildinfo", "_sources"))
        files = [path.relative_to(beside) for path in sorted(beside.rglob("*")) if path.is_file()]
        with processes.uninterrupted():
            for path in files:
                (folder / path.parent).mkdir(parents=True, exist_ok=True)
                os.replace(beside / path, folder / path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _mathjax() -> Path:
    """The one file of MathJax that needs no fonts."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0], "static", "mathjax", "tex-svg-full.js")


def settings(title: str, documented: bool = True) -> dict[str, Any]:
    """Sphinx's settings: nothing is loaded from elsewhere, so no inventory of other projects
    (intersphinx) either.
    """
    found = {
        "project": title,
        "html_title": title,
        "extensions": ["myst_nb", "minigrad.lessons.site_execution"],
        "exclude_patterns": [],
        "html_theme": "furo",
        "html_static_path": ["_static"],
        "templates_path": [TEMPLATES],
        "html_extra_path": [EXTRA],
        "html_css_files": ["course.css"],
        "html_js_files": [("course.js", {"defer": "defer"})],
        "html_favicon": "_static/icon.svg",
        "html_show_sourcelink": False,
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "mathjax_path": "mathjax.js",
        "myst_enable_extensions": ["dollarmath", "amsmath"],
        "myst_heading_anchors": 3,
        "nb_execution_mode": "force",
        # each lesson by itself: what one keeps must not depend on which was run before
        "nb_execution_in_temp": True,
        "nb_execution_timeout": 600,
        "nb_execution_raise_on_error": False,
        "nb_execution_show_tb": True,
        "nb_ipywidgets_js": {},
        "nb_merge_streams": True,
    }
    if documented:
        from . import reference

        found |= reference.SETTINGS
        found["extensions"] += reference.EXTENSIONS
    return found


def _run_sphinx(source: Path, place: Path, conf: dict[str, Any], verbose: bool) -> None:
    """Makes out/site below `place`, by Sphinx in a process of its own: it can run only once in one.
    Its kernels know that readers will have none. (What was run is put beside the site, in the
    folder out; it is not needed.)
    """
    (source / "conf.py").write_text(
        "".join(f"{name} = {value!r}\n" for name, value in conf.items()),
        encoding="utf-8",
    )
    own = {
        "MINIGRAD_STATIC": "1",
        "MINIGRAD_EXPLORER": LIVE,
        "IPYTHONDIR": str(place / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
    }
    warned = place / "warnings"
    arguments = [
        "-b",
        "html",
        "-j",
        JOBS,
        "-d",
        str(place / "doctrees"),
        "-w",
        str(warned),
        "--no-color",
    ]
    talk = None if verbose else subprocess.PIPE
    done = processes.run(
        "sphinx",
        *arguments,
        str(source),
        str(place / "out" / "site"),
        env=os.environ | own | {"PYTHONWARNINGS": "ignore"},
        stdout=talk,
        stderr=talk,
    )
    said = warned.read_text(encoding="utf-8") if warned.exists() else ""
    problems = _readable(said, source)
    if done.returncode:
        raise SiteError(f"the site was not made: {problems or _plain(done.stderr or '')}")
    if "WARNING" in problems or "ERROR" in problems:
        raise SiteError(f"the site was not written, for it is not as it should be:\n{problems}")


def _readable(warnings: str, source: Path) -> str:
    """Sphinx's warnings without places in a folder that is gone by then, and without the way of
    a cell's error through nbclient.
    """
    text = re.sub(
        r"Traceback \(most recent call last\):\n(?: .*\n)*nbclient\.exceptions\.\w+: ",
        "",
        _plain(warnings),
    )
    lines = (line.replace(f"{source}{os.sep}", "") for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip() and "traceback saved in" not in line)


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()
