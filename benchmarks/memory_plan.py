"""What the memory plan of compiled steps saves: `python -m benchmarks.memory_plan` writes
results/memory_plan.md.

For each workload's recorded step: bytes of all its values together (what a graph that keeps
everything would hold), the most that is alive at once if each value is freed after its last reader,
and what the plan takes: its buffers, and what some kernels read in each run (rows of zeros and
ones). The plan reuses buffers, so it allocates next to nothing in a run; pieces of different sizes
leave gaps, which is why it may need a little more than the least.
"""

import sys

from benchmarks import machine, workloads
from benchmarks.command import RESULTS


def measured() -> list[str]:
    """A line of the table for each workload that has a compiled step."""
    from minigrad.program import Compiled

    made: list[Compiled] = []
    begin = Compiled.__init__

    def noting(self: Compiled, *args: object, **kwargs: object) -> None:
        begin(self, *args, **kwargs)
        made.append(self)

    Compiled.__init__ = noting
    try:
        lines = []
        for workload in workloads.load().values():
            if "minigrad compiled" not in workload.peers or workload.name.startswith(
                "scalar_chain"
            ):  # values without memory
                continue
            run = workload.peers["minigrad compiled"]()
            for _ in range(5):
                run()
            figures = made[-1].programs[0].memory()
            cells = [
                f"{figures[key] / 1024:,.0f} KiB" for key in ("all", "without plan", "with plan")
            ]
            share = figures["with plan"] / figures["without plan"]
            lines.append(
                f"| {workload.name} | {' | '.join(cells)} | {share:.2f} | {figures['buffers']} |"
                f" {figures['reused']} |"
            )
        return lines
    finally:
        Compiled.__init__ = begin


def main() -> int:
    facts = machine.describe(1)
    table = [
        (
            f"{facts['date']}, `python -m benchmarks.memory_plan`; bytes are counted, not timed:"
            " they are the same on every machine\n"
        ),
        (
            "| step | all values | peak without a plan | peak with the plan | with / without |"
            " buffers | reused |"
        ),
        "|---|---|---|---|---|---|---|",
        *measured(),
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "memory_plan.md").write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n".join(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
