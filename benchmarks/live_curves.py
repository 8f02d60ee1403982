"""`python -m benchmarks.live_curves`: what it costs to watch a training while it runs.

In a real notebook kernel, with a real widget whose messages a client reads as a browser would, the
same training runs watched and unwatched, turn by turn, the order changing from pair to pair, on the
clock and in the kernel's processor time (which other programs on the machine disturb less). Watched
means `viz.Live`: curves alone, or curves with snapshots of weights, gradients and decision surface.
What a browser draws is not part of it: that is another process.

The network is the course's small one, 2-25-25-25-2, on 400 points, whose epochs are so short that
watching shows as much as it ever will; and a wide one, 2-256-256-2 on 4,000 points, as an example
of trainings that take their time.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks import command, machine

CASES = {
    "small, curves": ("small", False),
    "small, curves and snapshots": ("small", True),
    "wide, curves and snapshots": ("wide", True),
}

# Runs in the kernel. Prints a JSON list of rows: seconds, processor seconds and epochs unwatched;
# seconds, processor seconds, snapshots and updates of the page watched.
PROGRAM = """
import gc, json
from time import perf_counter, process_time
import minigrad as mg
from minigrad import viz
from minigrad import nn

def training(which):
    mg.manual_seed(0)
    sizes, n, epochs = {
        "small": ([2, 25, 25, 25, 2], 400, SMALL),
        "wide": ([2, 256, 256, 2], 4000, WIDE),
    }[which]
    x, label = mg.data.disc(n, seed=0).tensors
    layers = [
        layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.Tanh())
    ][:-1]
    model = nn.Sequential(*layers)
    optimiser = mg.optim.SGD(model.parameters(), lr=0.1)
    def epoch():
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(x), label)
        loss.backward()
        optimiser.step()
        return loss.item()
    return model, x, label, epoch, epochs

def plain(which):
    model, x, label, epoch, epochs = training(which)
    losses = []
    gc.collect()
    start, work = perf_counter(), process_time()
    for _ in range(epochs):
        losses.append(epoch())
    return perf_counter() - start, process_time() - work, epochs

def watched(which, snapshots):
    model, x, label, epoch, epochs = training(which)
    more = {"model": model, "points": x, "labels": label} if snapshots else {}
    gc.collect()
    start, work = perf_counter(), process_time()
    with viz.Live(show=True, **more) as live:
        sent = [0]
        if live.widget is not None:
            send = live.widget.send_history
            def counted(*args, **options):
                sent[0] += 1
                return send(*args, **options)
            live.widget.send_history = counted
        for _ in range(epochs):
            live.log(loss=epoch())
    seconds, work = perf_counter() - start, process_time() - work
    assert live.widget is not None and sent[0], "no widget: nothing was measured"
    return seconds, work, len(live.history.snapshots), sent[0]

which, snapshots = CASE
plain(which); watched(which, snapshots)
rows = []
for k in range(PAIRS):
    if k % 2:
        alone, shown = plain(which), watched(which, snapshots)
    else:
        shown, alone = watched(which, snapshots), plain(which)
    rows.append([*alone, *shown])
print("ROWS" + json.dumps(rows))
"""


def measured(
    case: tuple[str, bool], pairs: int, epochs: tuple[int, int]
) -> tuple[list[list[float]], int]:
    """The rows of PROGRAM from a kernel of its own, and how many widget messages the client got."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(
        kernel_name="python3", env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    )
    messages, text = 0, ""
    try:
        head = f"SMALL, WIDE, PAIRS, CASE = {epochs[0]}, {epochs[1]}, {pairs}, {case!r}\n"
        asked = client.execute(head + PROGRAM)
        while True:
            message = client.get_iopub_msg(timeout=1200)
            kind, content = message["msg_type"], message["content"]
            messages += kind == "comm_msg"
            if kind == "stream":
                text += content["text"]
            if kind == "error":
                raise RuntimeError("\n".join(content["traceback"]))
            if (
                kind == "status"
                and content["execution_state"] == "idle"
                and message["parent_header"].get("msg_id") == asked
            ):
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    found = next(line for line in text.splitlines() if line.startswith("ROWS"))
    return json.loads(found[4:]), messages


def main(argv: list[str]) -> int:
    parser = command.parser("live_curves", __doc__)
    parser.count("--pairs", 40, "timed pairs of each case", least=2)
    parser.count("--epochs", 1000, "epochs of the small network", least=10)
    parser.copy("live_curves.md")
    options = parser.parse_args(argv)
    machine.limit_threads(1)
    try:
        import anywidget  # noqa: F401
        import jupyter_client  # noqa: F401
    except ImportError as missing:
        parser.error(f'{missing.name} is not installed: pip install "minigrad[viz,test]"')

    from benchmarks import harness, report

    facts = machine.describe(1, parser.prog, *argv)
    lines = [
        (
            "| training | epochs | an epoch alone | watched / unwatched, median | quartiles | in"
            " processor time | quartiles | snapshots | updates of the page |"
        ),
        "|---|---:|---:|---:|---|---:|---|---:|---:|",
    ]
    for name, case in CASES.items():
        rows, messages = measured(
            case, options.pairs, (options.epochs, max(10, options.epochs // 10))
        )
        if not messages:
            raise RuntimeError("no widget message reached the client: nothing was watched")
        ratios = [harness.quartiles([row[3 + k] / row[k] for row in rows]) for k in (0, 1)]
        told = " | ".join(f"{middle:.3f} | {low:.3f} to {high:.3f}" for low, middle, high in ratios)
        alone = 1000 * harness.quartiles([row[0] / row[2] for row in rows])[1]
        taken, sent = (harness.quartiles([row[k] for row in rows])[1] for k in (5, 6))
        lines.append(
            f"| {name} | {rows[0][2]:,} | {alone:.2f} ms | {told} | {taken:.0f} | {sent:.0f} |"
        )
        print(lines[-1], flush=True)
    how = (
        f"{options.pairs} pairs of each after a warm one, in a real kernel whose widget messages"
        " are read"
    )
    text = f"{report.heading(facts)}\n\n{how}\n\n" + "\n".join(lines) + "\n"
    print(text)
    report.keep_copy(options.out, "live_curves.md", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
