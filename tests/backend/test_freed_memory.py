"""Memory of arrays that come and go in every step is not given back to the system in between."""

import platform
import subprocess
import sys

import pytest

STEPS = """
import resource
import sys
if sys.argv[1] == "minigrad":
    import minigrad
import numpy as np
def step():
    arrays = [np.ones(200_000, "uint8") for _ in range(40)]
for _ in range(10):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(library: str) -> int:
    run = subprocess.run(
        [sys.executable, "-c", STEPS, library], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library decides otherwise")
def test_the_memory_of_a_step_is_kept_for_the_next_one() -> None:
    assert faults("minigrad") < 5_000
    assert faults("numpy") > 50_000, (
        "the library keeps the memory by itself: minigrad need not see to it"
    )
