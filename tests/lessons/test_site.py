"""The site: made from the students' edition, complete in itself, alive without a kernel."""

import os
import re
import shutil

import nbformat
import pytest
from minigrad.lessons import front_page, site, site_execution

from tests.helpers.site_links import dead_links

pytestmark = pytest.mark.skipif(
    bool(site.missing()), reason=f"pip install {' '.join(site.missing())}"
)

TEXT = "# Lesson 1 · A sum\n\n$$y = \\ln x_1 + x_1 x_2$$\n\nSee the [glossary](glossary.md)."
SHOW = (
    "import minigrad as mg\nfrom minigrad import viz\nviz.show(lambda x1, x2: mg.log(x1) + x1 * x2,"
    " 2.0, 5.0)"
)
KERNEL = "from minigrad.viz import hosts\nprint('static', hosts.kernel_runs())"
SOLUTION = (
    "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n\n\nprint('six"
    " times seven is', 6 * 7)"
)


ENDS_ONCE = """
import os, pathlib
place = pathlib.Path({!r}, "ended")
if not place.exists():
    place.touch()
    os._exit(1)
print("after the end of a kernel")
"""


def course(folder, *codes):
    folder.mkdir()
    cells = [
        nbformat.v4.new_markdown_cell(
            "# Lesson 1 · A sum\n\n$$y = \\ln x_1 + x_1 x_2$$\n\nSee the [glossary](glossary.md).",
            id="text",
        )
    ]
    cells += [
        nbformat.v4.new_code_cell(code, id=f"code-{number}") for number, code in enumerate(codes)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "01_sum.ipynb")
    (folder / "glossary.md").write_text("# Glossary\n\n**seed**: where a pass begins.\n")
    (folder / "instructors_guide.md").write_text("# The answers\n")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    lessons = course(place / "lessons", SHOW, SOLUTION, KERNEL, ENDS_ONCE.format(str(place)))
    shutil.copy(lessons / "01_sum.ipynb", lessons / "02_sum.ipynb")
    told = []
    tell = lambda *counts: told.append(counts)
    first = site.build(place / "out", lessons, told=tell, documented=False)
    assert told == sorted(told) and told[-1] == (2, 2)
    assert (1, 2) in told  # one of the two had been run
    assert first == place / "out" / "index.html"
    return place / "out"


def test_the_pages_hold_what_the_cells_gave_and_no_solution(made):
    page = (made / "01_sum.html").read_text()
    assert "six times seven is 42" in page
    assert "your code here" in page
    assert "2 * x" not in page
    assert "A sum" in (made / "index.html").read_text()
    assert not list(made.rglob("*instructors*")), "a guide of another author may hold answers"


def test_no_page_loads_anything_from_elsewhere_and_no_link_is_dead(made):
    for page in made.rglob("*.html"):
        assert not re.findall(
            r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//', page.read_text()
        ), page
    assert dead_links(made) == []


def test_the_first_page_has_a_card_for_each_page_and_says_where_to_begin():
    notebooks, others = site.pages_of(site.LESSONS)
    page = front_page.first_page("a course", notebooks, others)
    lists = re.findall(r':caption: "(.+)"\n:maxdepth: 1\n:hidden:\n\n((?:\w+\n)+)', page)
    found = {caption: pages.split() for caption, pages in lists}
    stems = [path.stem for path in notebooks]
    assert found["Lessons"] == stems[: stems.index("16_matrix_calculus")]
    assert found["Part II: what derivatives are for"] == stems[len(found["Lessons"]) :]
    every = [page for pages in found.values() for page in pages]
    assert sorted(every) == sorted(path.stem for path in [*notebooks, *others])
    cards = re.findall(r"^- \[(?:!\[\]\((.+)\))? (.+)\]\((.+)\)$", page, re.MULTILINE)
    also = re.findall(r"\]\(([^)]+)\)", "".join(re.findall("^Also: .+$", page, re.MULTILINE)))
    files = [path.name for path in [*notebooks, *in_groups(others)]]
    assert [file for *_, file in cards] == [file for file in files if file not in also]
    assert ("figures/11_training.svg", "11_training.ipynb") in [(p, f) for p, _, f in cards]
    assert all(picture for picture, *_ in cards) and {*also} <= {path.name for path in others}
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert (site.LESSONS / link).is_file()
    assert "Where to begin" not in front_page.first_page("mine", notebooks[:1], [])
    assert "(reference/operations.md)" in front_page.first_page("mine", notebooks[:1], [], True)


def in_groups(others):
    """The pages beside the lessons as the first page has them: the documents before the rest."""
    return sorted(others, key=lambda path: not path.stem.startswith("documents"))


def test_a_card_of_a_page_without_picture_and_title_has_the_name_of_its_file(tmp_path):
    (tmp_path / "notes.md").write_text("Some text.\n")
    assert front_page.card_of(tmp_path / "notes.md") == ("notes.md", "notes", "")


def test_the_guide_that_the_site_shows_holds_no_solution():
    assert site.GUIDE in site.pages_of(site.LESSONS)[1]
    guide = re.sub(r"\s+", " ", site.GUIDE.read_text(encoding="utf-8"))
    solutions = [
        re.sub(r"\s+", " ", found).strip()
        for path in site.LESSONS.glob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for found in re.findall(r"### BEGIN SOLUTION\n(.*?)### END", cell.source, re.DOTALL)
    ]
    assert len(solutions) > 100
    assert [text for text in solutions if len(text) > 20 and text in guide] == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html">b</a><a href="#there">x</a><p id="here"><a href="#here">y</a><a'
        ' href="https://x.y">z</a>'
    )
    assert dead_links(tmp_path) == ["a.html: b.html", "a.html: #there"]


def test_a_notebook_is_executed_again_where_its_kernel_ended(made):
    assert (made.parent / "ended").exists()
    assert "after the end of a kernel" in (made / "01_sum.html").read_text()


@pytest.mark.whole
def test_a_cell_that_ends_its_kernel_stops_it_and_the_notebook_is_named(tmp_path):
    lessons = course(tmp_path / "lessons", "import os; os._exit(1)")
    with pytest.raises(site.SiteError, match=r"01_sum\.ipynb.*\n.*Kernel died.* 3 times"):
        site.build(tmp_path / "out", lessons, documented=False)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("failures", [0, 2, 3])
def test_a_kernel_that_does_not_start_is_started_three_times(failures):
    tried = []

    def execute(notebook, **options):
        tried.append(options)
        if len(tried) <= failures:
            raise RuntimeError("Kernel died before replying to kernel_info")
        return "executed"

    result = site_execution.executed_again(execute)("a notebook", cwd="here", timeout=9)
    assert tried == [{"cwd": "here", "timeout": 9, "startup_timeout": 300}] * min(failures + 1, 3)
    if failures < 3:
        assert result == "executed"
    else:
        assert "died before replying to kernel_info. The kernel" in result.exc_string


@pytest.mark.whole
def test_a_cell_that_raises_stops_it_and_is_named(tmp_path):
    with pytest.raises(site.SiteError, match="ZeroDivisionError"):
        site.build(tmp_path / "out", course(tmp_path / "lessons", "1 / 0"), documented=False)


def test_without_lessons_or_packages_it_says_so(tmp_path, monkeypatch):
    with pytest.raises(site.SiteError, match="no lessons"):
        site.build(tmp_path / "out", tmp_path)
    monkeypatch.setitem(site.NEEDED, "no_such_module", "no-such-package")
    with pytest.raises(
        site.SiteError, match=r'needs no-such-package\. .*pip install -e "\.\[site\]"'
    ):
        site.build(tmp_path / "out", tmp_path)


@pytest.mark.whole
def test_the_kernels_of_a_site_know_it_and_others_do_not(made):
    assert "static False" in (made / "01_sum.html").read_text()
    assert "MINIGRAD_STATIC" not in os.environ
