"""How much memory a workload takes at its peak, measured from outside the engines: what the
operating system says of the process.

Each peer gets a process of its own, in which the workload is built and run once, thrown away (so
that whatever is loaded late is there, and what was freed has gone back to the system), and then
built and run again. The figure is how far the process rose above the state before the second time:
data, parameters, graph and all, and what a compiler needs that compiles the function again (JAX's
does). Linux only: elsewhere, or where the kernel does not let a process reset its own high-water
mark, there is no figure.
"""

import ctypes
import gc
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Run, Workload
from minigrad.cli import processes

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measure(workload: Workload, peer: str) -> int | None:
    """Bytes at the peak of one run of a peer that is installed, or None where the system does
    not tell.
    """
    done = processes.run(
        "benchmarks.peak_memory",
        workload.name,
        peer,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{workload.name}: {peer} fails in a process of its own:\n{done.stderr}")
    return int(done.stdout) if done.stdout.strip() else None


def rise(run_once: Run) -> int | None:
    """How many bytes the process rises above its present size during a call; None where the
    system does not tell.
    """
    gc.collect()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        RESET.write_text("5")
    except OSError:
        return None
    before = _kilobytes("VmRSS")
    run_once()
    return 1024 * max(0, _kilobytes("VmHWM") - before)


def _kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def main(name: str, peer: str) -> None:
    from benchmarks import workloads

    build = workloads.load()[name].peers[peer]
    build()()
    found = rise(lambda: build()())
    print("" if found is None else found)


if __name__ == "__main__":
    main(*sys.argv[1:])
