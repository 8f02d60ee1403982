"""CI runs README's two commands, word for word, on each system and each version of Python."""

import re
import shutil
import subprocess
import tomllib

import pytest

from tests.helpers.source_tree import ROOT

yaml = pytest.importorskip("yaml", reason='PyYAML is not installed: pip install -e ".[test]"')

README = (ROOT / "README.md").read_text(encoding="utf-8")
LAB, TESTS = re.findall(r'^pip install -e "\.\[\w+\]" && .*$', README, re.MULTILINE)
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))
JOBS = WORKFLOW["jobs"]


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_the_workflow_runs_on_pushes_and_pull_requests():
    assert set(WORKFLOW) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` as true
    assert WORKFLOW[True] == ["push", "pull_request"]
    for job in JOBS.values():
        assert set(job) <= {"strategy", "runs-on", "timeout-minutes", "defaults", "steps"}
        assert all(len({"run", "uses"} & set(step)) == 1 for step in job["steps"])


def test_the_workflow_runs_the_commands_of_readme():
    """`minigrad lab` serves until it is stopped; with --check it runs two lessons and ends."""
    assert commands("readme") == [f"{LAB} --check", TESTS]
    assert JOBS["readme"]["defaults"]["run"]["shell"] == "bash"  # `&&` on Windows too
    assert commands("everything") == [".ci/run"]


def test_the_workflow_covers_each_system_and_version():
    matrix = JOBS["readme"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={matrix['python'][0]}"
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]  # texts: 3.10 would be 3.1
    assert all(
        step["with"]["python-version"] in ("${{ matrix.python }}", *matrix["python"])
        for job in JOBS.values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/setup-python@")
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_ci_takes_the_commands_from_readme():
    """`.ci/run` reads them: it has no copy that could differ."""
    run = ROOT / ".ci" / "run"
    subprocess.run(["bash", "-n", run], check=True)
    text = run.read_text(encoding="utf-8")
    pattern = re.search(r"grep -E '([^']+)' README\.md", text)
    assert pattern, "the commands are not read from README.md"
    found = [line for line in README.splitlines() if re.search(pattern[1], line)]
    assert found[:2] == [LAB, TESTS]
    assert LAB not in text and TESTS not in text
