"""How much memory a workload takes at its peak, measured from outside the engines: what the
operating system says of the process.

Each peer gets a process of its own, in which the workload is built and run, thrown away (so that
whatever is loaded late is there, and what was freed has gone back to the system), and then built
and run again. The figure is how far the process rose above the state before the second time: data,
parameters, graph and all. A compiled step is run until it is replayed, and its figure is that of a
replay: data, parameters, results of the program, and what a compiler has kept. Linux only:
elsewhere, or where the kernel does not let a process reset its own high-water mark, there is no
figure.
"""

import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable
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


def rise(build: Callable[[], Run], warm_up: int = 0) -> int | None:
    """How many bytes the process is above its present size, at the most, while a workload is built
    and run; with `warm_up` only during the run after so many runs. None where the system does not
    tell.
    """
    before = _settled()
    run = build()
    for _ in range(warm_up):
        run()
    if before is None or (warm_up and _settled() is None):
        return None
    run()
    return 1024 * max(0, _kilobytes("VmHWM") - before)


def _settled() -> int | None:
    """The kilobytes of this process after what is free has gone back to the system, from which its
    high-water mark rises again; None where that cannot be reset."""
    gc.collect()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        RESET.write_text("5")
    except OSError:
        return None
    return _kilobytes("VmRSS")


def _kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def main(name: str, peer: str) -> None:
    from benchmarks import harness, workloads

    build = workloads.load()[name].peers[peer]
    warm_up = harness.COMPILING if harness.compiles(peer) else 0
    thrown_away = build()
    for _ in range(warm_up + 1):
        thrown_away()
    del thrown_away
    found = rise(build, warm_up)
    print("" if found is None else found)


if __name__ == "__main__":
    main(*sys.argv[1:])
