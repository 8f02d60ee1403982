"""`python -m benchmarks [NAME ...]`: runs the workloads, prints a table, and keeps the figures.

The number of threads is a matter of environment variables that the linear-algebra libraries read
when they are loaded. They are set here, before anything is imported that might load one.
"""

import argparse
import sys

from benchmarks import command, machine


def main(argv: list[str]) -> int:
    parser = command.parser("", __doc__)
    parser.epilog = (
        "The engines are minigrad, PyTorch, HIPS autograd, MyGrad and JAX; one that is not"
        " installed is named and left out."
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="workloads to run (default: all)")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    parser.count("--repeat", 30, "timed rounds of each workload")
    parser.threads()
    parser.folder()
    options = parser.parse_args(argv)
    machine.limit_threads(options.threads)

    from minigrad.cli import processes

    return processes.command(lambda: _measure(parser, options, argv))


def _measure(parser: command.Parser, options: argparse.Namespace, argv: list[str]) -> int:
    from benchmarks import harness, peak_memory, report, workloads

    known = workloads.load()
    if options.list:
        for workload in known.values():
            print(f"{workload.name:24}{workload.title}")
        return 0
    there = [
        name
        for name, workload in known.items()
        if harness.is_installed("minigrad", workload.device)
    ]
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no workload {unknown[0]}; there are {', '.join(known)}")
    without = [name for name in options.names if name not in there]
    if without:
        parser.error(f"{without[0]} needs a CUDA device, and CuPy, which sees none here")
    report.make_folder(parser, options.out)
    harness.set_torch_threads(options.threads)
    facts = machine.describe(options.threads, parser.prog, *argv)
    print(f"{report.heading(facts)}  \n{report.how(options.threads)}")
    results = []
    for name in options.names or there:
        result = harness.measure(
            known[name], options.repeat, peak=peak_memory.measure, threads=options.threads
        )
        print(report.table([result]), flush=True)
        results.append(result)
    for path in report.write(options.out, facts, results):
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
