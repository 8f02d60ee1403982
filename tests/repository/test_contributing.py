"""The worked examples of CONTRIBUTING.md, carried out on copies of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.source_tree import ROOT, tracked

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (Add .*)\n((?:(?!^## ).*\n?)*)", TEXT, re.MULTILINE))
BLOCK = re.compile(r"^```(python|js|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(
    r"(?:#|//) (?:at the end of (?P<end>\S+)|in (?P<file>\S+), (?P<side>before|after)"
    r" (?P<anchor>.+)|a new file (?P<new>\S+))\n"
)


IN_EVERY_RUN = ("Add a primitive", "Add a view of the viewer", "Add an exercise")


@pytest.fixture
def tree(tmp_path):
    for path in tracked():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


def write(tree: Path, block: str) -> None:
    place = PLACE.match(block)
    assert place, f"the first line must say where the block belongs: {block.splitlines()[0]}"
    code = block[place.end() :]
    if place["new"]:
        (tree / place["new"]).write_text(code, encoding="utf-8")
        return
    path = tree / (place["end"] or place["file"])
    text = path.read_text(encoding="utf-8")
    if place["anchor"]:
        assert text.count(place["anchor"]) == 1
        anchor = place["anchor"]
        before = place["side"] == "before"
        whole = f"{code}{anchor}" if before else f"{anchor}\n{code.rstrip()}"
        path.write_text(text.replace(anchor, whole), encoding="utf-8")
    else:
        path.write_text(f"{text}\n\n{code}", encoding="utf-8")


def test_all_six_are_there():
    assert list(SECTIONS) == [
        "Add a primitive",
        "Add a view operation",
        "Add a view of the viewer",
        "Add a lesson",
        "Add an exercise",
        "Add a target for generated code",
    ]


@pytest.mark.parametrize(
    "title",
    [pytest.param(t, marks=[] if t in IN_EVERY_RUN else pytest.mark.whole) for t in SECTIONS],
)
def test_a_worked_example_works_as_it_stands(tree, title):
    search = os.pathsep.join([str(tree), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": str(tree), "PATH": search, "PYTEST_ADDOPTS": ""}
    blocks = BLOCK.findall(SECTIONS[title])
    assert blocks and blocks[-1][0] == "sh"
    for language, block in blocks:
        if language != "sh":
            write(tree, block)
            continue
        run = subprocess.run(
            ["bash", "-e", "-c", block], cwd=tree, env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
