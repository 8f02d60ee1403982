"""Which browser measurements and tests drive."""

from benchmarks import chromium


def test_the_headless_shell_comes_first_and_is_enough(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium.path() is None
    for name in ("google-chrome", "chromium-headless-shell"):
        (tmp_path / name).touch(mode=0o755)
        assert chromium.path() == str(tmp_path / name)
