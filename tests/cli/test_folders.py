"""Folders of any depth and with any permissions are measured and removed."""

import os
import subprocess
import sys

import pytest

from minigrad.cli import folders


def deep(path, levels):
    path.mkdir()
    program = (
        f"import os\nfor i in range({levels}):\n    os.mkdir('a' * 20)\n    os.chdir('a' *"
        " 20)\nopen('file', 'w').write('x' * 10)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=path, check=True)


@pytest.mark.parametrize("levels", [3, 1_500])
def test_a_folder_of_any_depth_is_removed(tmp_path, levels):
    """1,500 levels recurse too deep for Python, and their path is longer than the system allows."""
    deep(tmp_path / "deep", levels)
    folders.remove(tmp_path / "deep")
    assert os.listdir(tmp_path) == []


def test_links_are_removed_and_not_followed(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "outside")
    folders.remove(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["outside"] and (tmp_path / "outside" / "kept").exists()
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    folders.remove(tmp_path / "link")
    assert (tmp_path / "outside" / "kept").exists()


def test_permissions_that_were_taken_away_do_not_matter(tmp_path):
    inner = tmp_path / "folder" / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (inner / "file").write_text("")
    for path in (inner, *list(inner.parents)[:3]):
        path.chmod(0)
    folders.remove(tmp_path / "folder")
    assert os.listdir(tmp_path) == []


def test_what_is_not_there_is_removed_already(tmp_path):
    folders.remove(tmp_path / "nothing")
    folders.remove("")


def test_the_size_of_a_folder_counts_up_to_its_limits(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(bytes(100))
    (tmp_path / "file").write_bytes(bytes(10))
    (tmp_path / "link").symlink_to(tmp_path)
    found = folders.size(tmp_path, 100, 100)
    assert (found.files, found.depth) == (5, 3) and found.bytes >= 110
    assert folders.size(tmp_path, 2, 100).files > 2
    deep(tmp_path / "deep", 300)
    assert folders.size(tmp_path, 1_000, 50).depth == 51
