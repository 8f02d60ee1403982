"""The exercises of lesson 15, as data: a function for every device, bytes that travel, when a move
pays, and a queue of work.

No exercise needs a GPU, and no figure of one stands here: rates and times are drawn again for each
check. What is right is computed step by step, where the students are asked for a formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..grading.comparison import same
from ..grading.exercise import Case, Exercise, Misconception
from ..grading.words import shown
from .made import Exact, by_name, equal_to, told_by

# ------------------------------------------------------------------------------------- every device


def _tables(rng: np.random.Generator) -> Iterator[Case]:
    for group in ("values", "on another device"):
        for shape in ((1, 2), (3, 2), (4, 1)):
            yield Case(group, x=rng.normal(size=shape))


def _weights(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(1 / np.arange(1, len(x) + 1)[:, None], x.shape)


def _runs(case: Case, got: Any) -> str:
    if type(got) is not dict or set(got) != {"cpu", "pretend", "where", "back"}:
        return "`weighted` should return a tensor."
    x = case.args["x"]
    for device in ("cpu",) if case.group == "values" else ("cpu", "pretend"):
        for part, right in (("value", x * _weights(x)), ("gradient", _weights(x))):
            if said := same(
                np.asarray(right), got[device].get(part), name=f"the {part} on {device}"
            ):
                return said
    if case.group == "values":
        return ""
    if got["where"] != "pretend:0":
        return (
            f"x was on pretend:0, but the result is on {got['where']}: it should stay where x is."
        )
    if got["back"]:
        return f"{got['back']} bytes were moved to the host; nothing has to leave the device."
    return ""


def _result(
    where: str = "pretend:0", back: int = 0, factor: float = 1.0, turned: bool = False
) -> Callable[..., Any]:
    def of(x: np.ndarray) -> Any:
        weights = _weights(x[::-1])[::-1] if turned else factor * _weights(x)
        part = {"value": x * weights, "gradient": np.array(weights)}
        return {"cpu": part, "pretend": part, "where": where, "back": back * x.nbytes}

    return of


def _one_ahead(x: np.ndarray) -> dict[str, np.ndarray]:
    weights = np.broadcast_to(1 / np.arange(2, len(x) + 2)[:, None], x.shape)
    return {"value": x * weights, "gradient": np.array(weights)}


def _by_rows(x: np.ndarray, weights: np.ndarray) -> Any:
    part = {"value": x * weights, "gradient": np.broadcast_to(weights, x.shape)}
    return {"cpu": part, "pretend": part, "where": "pretend:0", "back": 0}


def _cut_off(x: np.ndarray) -> Any:
    part = {"value": x * _weights(x), "gradient": np.zeros_like(x)}
    return {"cpu": part, "pretend": part, "where": "pretend:0", "back": 0}


weighted = told_by(
    _runs,
    "weighted",
    {"values": 1, "on another device": 2},
    _tables,
    drive="minigrad.lessons.exercises.drive15:on_both",
    checked=(
        "Your function is called with a tensor on the CPU and with one on the pretend device, and"
        " differentiated."
    ),
    present=lambda case: f"weighted(mg.tensor({shown(case.args['x'])}))",
    hints=(
        "On which device is the tensor that your function creates? Print its .device.",
        "Functions that create tensors take device=…, and x.device says where x is.",
        "mg.arange(1, n + 1, dtype=x.dtype, device=x.device)",
    ),
    misconceptions=(
        Misconception.of(
            "moves everything to the CPU",
            "you moved x to the CPU. Create the other tensor where x is instead.",
            _result("cpu", 1),
        ),
        Misconception(
            "moves x to the CPU more than once",
            "you moved x to the CPU. Create the other tensor where x is instead.",
            lambda case: _result("cpu", 2)(**case.args),
            explains=lambda case, got: got["where"] == "cpu" and got["back"] > 0,
        ),
        Misconception.of(
            "there and back",
            "you computed on the CPU and moved the result back: two transfers for nothing.",
            _result(back=1),
        ),
        Misconception(
            "there and back, more than once",
            "you computed on the CPU and moved the result back: two transfers for nothing.",
            lambda case: _result(back=2)(**case.args),
            explains=lambda case, got: got["where"] != "cpu" and got["back"] > 0,
        ),
        Misconception.of("a factor", "The first row is to be divided by 1.", _result(factor=0.5)),
        Misconception(
            "multiplied",
            "you multiply the rows by 1, 2, 3, …; they are divided.",
            lambda case: _by_rows(case.args["x"], 1 / _weights(case.args["x"])),
        ),
        Misconception(
            "nothing done",
            "the result is x as it was.",
            lambda case: _by_rows(case.args["x"], np.ones(case.args["x"].shape)),
        ),
        Misconception(
            "one ahead",
            "The first row is to be divided by 1: your count begins at 2.",
            lambda case: (
                _result()(case.args["x"])
                | {
                    "cpu": _one_ahead(case.args["x"]),
                    "pretend": _one_ahead(case.args["x"]),
                }
            ),
        ),
        Misconception(
            "no graph",
            "the values are right, but nothing comes back to x: it was cut off from its history, as"
            " by `detach`.",
            lambda case: _cut_off(case.args["x"]),
        ),
    ),
)


# -------------------------------------------------------------------------------------------- bytes


def _trainings(rng: np.random.Generator) -> Iterator[Case]:
    for group, stays in (("the model stays", True), ("the model travels", False)):
        yield Case(group, shape=(2, 3), itemsize=4, parameters=10, steps=1, stays=stays)
        for _ in range(4):
            shape = tuple(int(n) for n in rng.integers(1, 40, size=int(rng.integers(1, 5))))
            yield Case(
                group,
                shape=shape,
                itemsize=int(rng.choice([2, 4, 8])),
                parameters=int(rng.integers(1, 10_000)),
                steps=int(rng.integers(2, 50)),
                stays=stays,
            )


def _travelled(shape: Any, itemsize: int, parameters: int, steps: int, stays: bool) -> int:
    """The bytes of a training, message by message."""
    model = parameters * itemsize
    sent = [model, model] if stays else []
    for _ in range(steps):
        sent += [math.prod(shape) * itemsize, itemsize]
        sent += [] if stays else [model, model]
    return sum(sent)


bytes_moved = equal_to(
    _travelled,
    "bytes_moved",
    {"the model stays": 2, "the model travels": 1},
    _trainings,
    rtol=1e-12,
    atol=0.5,
    checked="The transfers of each training are counted one by one.",
    hints=(
        (
            "List the transfers of one step: what goes to the device, and what comes back? Which"
            " happen only once?"
        ),
        (
            "A transfer takes as many bytes as it has numbers, times itemsize. A batch has "
            "math.prod(shape) numbers."
        ),
        (
            "Each step: the batch and one number. The model: two transfers in all if it stays, two"
            " in each step if it travels."
        ),
    ),
    misconceptions=(
        Misconception.of("numbers for bytes",
            "you counted numbers; each of them has itemsize bytes.",
                         lambda itemsize, **a: _travelled(itemsize=1, **a)),
        Misconception.of("the loss forgotten", "One number comes back in each step: the loss.",
                         lambda **a: _travelled(**a) - a["steps"] * a["itemsize"]),
        Misconception.of("the results forgotten",
            "The parameters (or their gradients) also come back.",
                         lambda **a: _travelled(**a) - a["parameters"] * a["itemsize"]
                         * (1 if a["stays"] else a["steps"])),
        Misconception.of("always travelling", "A model that stays is moved once, not in each step.",
                         lambda stays, **a: _travelled(stays=False, **a)),
        Misconception.of("the gradients forgotten",
            "A model that travels does so in both directions: parameters there, gradients back.",
                         lambda **a: _travelled(**a) - (0 if a["stays"] else
                             a["steps"] * a["parameters"] * a["itemsize"])),
        Misconception.of("stays and travels exchanged",
            "a model that stays is moved twice in all, one that travels twice in each step; you "
            "have it the other way round.",
                         lambda stays, **a: _travelled(stays=not stays, **a)),
        Misconception.of("one step only", "All steps count, not one.",
                         lambda steps, **a: _travelled(steps=1, **a)),
        Misconception.of("a model that stays is not moved",
            "A model that stays goes to the device once, and comes back once.",
                         lambda **a: _travelled(**a)
                         - (2 * a["parameters"] * a["itemsize"] if a["stays"] else 0)),
        Misconception.of("the loss once", "The loss comes back in each step, not once in all.",
                         lambda **a: _travelled(**a) - (a["steps"] - 1) * a["itemsize"]),
        Misconception.of("one batch only", "Each step moves a batch of its own.",
                         lambda **a: _travelled(**a)
                         - (a["steps"] - 1) * math.prod(a["shape"]) * a["itemsize"]),
        Misconception.of("sum of the shape",
            "The number of elements is the product of the shape, not its sum.",
                         lambda shape, **a: _travelled(shape=(sum(shape),), **a)),
    ),
)  # fmt: skip


# --------------------------------------------------------------------------------- when a move pays


def _machines(rng: np.random.Generator) -> Iterator[Case]:
    for call, group in (
        ("smallest_size", "matrix product"),
        ("elementwise_pays", "element by element"),
    ):
        for k in range(6):
            cpu = float(10 ** rng.uniform(9, 11))
            gpu = cpu * float(10 ** rng.uniform(0.3, 2.5))
            # for additions near the point where the answer turns round, on either side of it
            turning = 12 / (1 / cpu - 1 / gpu)
            link = (
                turning * float(10 ** rng.uniform(0.2, 1)) ** (1 if k % 2 else -1)
                if k < 4
                else float(10 ** rng.uniform(9, 11))
            )
            if k == 4:  # it would pay if the device took no time, and only then
                gpu, link = 1.5 * cpu, 24 * cpu
            yield Case.of(group, {"cpu": cpu, "gpu": gpu, "link": link}, call=call)


def product_times(n: float, cpu: float, gpu: float, link: float) -> tuple[float, float]:
    """Seconds for an n × n matrix product in float32: here; and with two matrices going there
    and one coming back.
    """
    work, travel = 2 * n**3, 3 * n**2 * 4
    return work / cpu, work / gpu + travel / link


def addition_times(cpu: float, gpu: float, link: float, n: float = 1e6) -> tuple[float, float]:
    """Seconds for the sum of two vectors: here; and with two vectors going there and one coming
    back.
    """
    return n / cpu, n / gpu + 12 * n / link


def _pays(case: Case, got: Any) -> str:
    if case.call == "elementwise_pays":
        here, there = addition_times(**case.args)
        if type(got) is not bool:
            return "what `elementwise_pays` returned should be True or False."
        return "" if got == (there < here) else f"for {_shown(case)} it is the other way round."
    if type(got) not in (int, float) or not (math.isfinite(got) and got > 0):
        return "what `smallest_size` returned should be a positive number."
    here, there = product_times(float(got), **case.args)
    if abs(here - there) <= 1e-6 * here:
        return ""
    slower = "slow" if there > here else "fast"
    return (
        f"for {_shown(case)} the GPU, with its transfers, is"
        f" {max(there, here) / min(there, here):.3g} times as {slower} as the CPU at your size."
    )


def _shown(case: Case) -> str:
    return ", ".join(f"{name}={value:.3g}" for name, value in case.args.items())


def _by_call(product: Callable[..., Any], addition: Callable[..., Any]) -> Callable[[Case], Any]:
    return lambda case: (addition if case.call == "elementwise_pays" else product)(**case.args)


def _size(cpu: float, gpu: float, link: float, factor: float = 6.0) -> float:
    return factor / (link * (1 / cpu - 1 / gpu))


def _adds(cpu: float, gpu: float, link: float, each: float = 12.0) -> bool:
    return 1 / cpu > 1 / gpu + each / link


pays = told_by(
    _pays,
    "pays",
    {"matrix product": 2, "element by element": 1},
    _machines,
    answers=("smallest_size", "elementwise_pays"),
    present=lambda case: f"{case.call}({_shown(case)})",
    checked="At your size, CPU and GPU must take equally long.",
    hints=(
        (
            "Write down two times for each: the work on the CPU; the work on the GPU plus the"
            " transfer of three arrays."
        ),
        (
            "Product: 2n³/cpu = 2n³/gpu + 12n²/link. Addition, for each element: 1/cpu against "
            "1/gpu + 12/link."
        ),
        "Divide the first equation by 2n²: n · (1/cpu − 1/gpu) = 6/link.",
    ),
    misconceptions=(
        Misconception("two arrays", "The result has to come back as well: three arrays are moved.",
                      _by_call(lambda **a: _size(**a, factor=4.0), lambda **a: _adds(**a))),
        Misconception("numbers for bytes", "A float32 has four bytes.",
                      _by_call(lambda **a: _size(**a, factor=1.5), lambda **a: _adds(**a))),
        Misconception("n³ for 2n³",
            "A product of n × n matrices takes n³ multiplications and as many additions.",
                      _by_call(lambda **a: _size(**a, factor=12.0), lambda **a: _adds(**a))),
        Misconception("the device's own time",
            "The GPU needs time for the work, too: 1/gpu is missing.",
                      _by_call(lambda cpu, gpu, link: 6 * cpu / link, lambda **a: _adds(**a))),
        Misconception("the device's own time in an addition",
            "The device needs time for the addition, too: add 1/gpu to the transfer.",
                      _by_call(lambda **a: _size(**a), lambda cpu, gpu, link: 1 / cpu > 12 / link)),
        Misconception("a fast device always pays",
            "For additions the transfer may cost more than the work, however fast the device is.",
                      _by_call(lambda **a: _size(**a), lambda cpu, gpu, link: gpu > cpu)),
    ),
)  # fmt: skip


# ---------------------------------------------------------------------------------------- the queue


def _queues(rng: np.random.Generator) -> Iterator[Case]:
    for group, wait in (("wait at the end", False), ("wait in each step", True)):
        yield Case(group, count=1, launch=5.0, run=20.0, wait_each=wait)
        for slow in (True, False, True, False):
            launch = float(rng.integers(2, 10))
            run = (
                launch * float(rng.uniform(2, 6)) if slow else launch * float(rng.uniform(0.1, 0.8))
            )
            yield Case(
                group, count=int(rng.integers(2, 60)), launch=launch, run=run, wait_each=wait
            )


def _ends(count: int, launch: float, run: float, wait_each: bool) -> float:
    """When everything is done: the host launches one job after the other, the device works on
    them one by one.
    """
    host = device = 0.0
    for _ in range(count):
        host += launch
        device = max(device, host) + run
        host = device if wait_each else host
    return device


finished = equal_to(
    _ends,
    "finished",
    {"wait at the end": 2, "wait in each step": 1},
    _queues,
    rtol=1e-9,
    atol=1e-9,
    checked="The queue is simulated job by job.",
    hints=(
        (
            "Draw two time lines, the host's and the device's, and enter three jobs. Who waits for "
            "whom if run is longer? And if launch is?"
        ),
        (
            "With waiting, nothing overlaps. Without, the longer of the two sets the pace, and "
            "the other one counts once."
        ),
        (
            "Without waiting: run · count + launch if run is longer, launch · count + run if "
            "launch is."
        ),
    ),
    misconceptions=(
        Misconception.of("the launches only",
            "That is when the host has launched the last job; the device is not done yet.",
                         lambda count, launch, run, wait_each: count * launch),
        Misconception.of("nothing overlaps",
            "Without waiting, the host launches the next job while the device works.",
                         lambda count, launch, run, wait_each: count * (launch + run)),
        Misconception.of("the device only",
            "The first job has to be launched before the device can begin.",
                         lambda count, launch, run, wait_each: count * run),
        Misconception.of("the device is always slower",
            "Where a launch takes longer than the job, the device waits for the host.",
                         lambda count, launch, run,
                         wait_each: count * (launch + run) if wait_each else launch + count * run),
        Misconception.of("one job at the end",
            "Where the job takes longer than its launch, the device still has a queue when the "
            "last one is launched.",
                         lambda count, launch, run, wait_each: count * (launch + run) if wait_each
                         else count * launch + run),
        Misconception.of("waiting overlaps nothing",
            "With waiting, the next job is launched when the one before is done: each takes "
            "launch + run.",
                         lambda count, launch, run, wait_each: count * max(launch, run) if wait_each
                         else _ends(count, launch, run, False)),
        Misconception.of("the two exchanged",
            "you have the two cases the other way round: waiting takes longer.",
                         lambda count, launch, run, wait_each: _ends(count, launch, run,
                             not wait_each)),
        Misconception.of("the pace alone",
            (
                "The pace is right, but before the first job (or after the last) the other one "
                "counts once."
            ),
                         lambda count, launch, run,
                         wait_each: count * (launch + run) if wait_each else count * max(launch,
                             run)),
    ),
)  # fmt: skip


# -------------------------------------------------------------------------------------- predictions

PREDICTIONS = (
    Exact(
        "batch-bytes",
        "Prediction: the bytes of a batch of 64 grey images of 28 × 28 pixels in float32",
        variable="bytes_of_a_batch",
        answer=lambda: float(np.zeros((64, 1, 28, 28), dtype=np.float32).nbytes),
        because="50,176 numbers, four bytes each: 200 kB.",
        slips=(
            (
                "That is how many numbers there are. A float32 has 32 bits, which are four bytes.",
                lambda: 64.0 * 28 * 28,
            ),
            (
                "That is what float64 takes: eight bytes for each number.",
                lambda: 8.0 * 64 * 28 * 28,
            ),
            ("That is one image.", lambda: 4.0 * 28 * 28),
            ("Those are bits; a byte has eight.", lambda: 32.0 * 64 * 28 * 28),
        ),
        hints=("How many numbers are in the batch?", "A float32 has 32 bits, and a byte has 8."),
    ),
    Exact(
        "stopwatch",
        "Prediction: a stopwatch that does not wait",
        variable="shown_by_the_stopwatch",
        answer=lambda: 100 * 5.0,
        because="It measures how long the launches took, and nothing of the work itself.",
        slips=(
            (
                "That is when the work is done. But the stopwatch was stopped earlier.",
                lambda: _ends(100, 5.0, 20.0, False),
            ),
            ("That is what the work takes; the stopwatch did not wait for it.", lambda: 2000.0),
            ("That is one call.", lambda: 5.0),
            (
                "That is the time if the host waits after each job. It does not: it launches the"
                " next one at once.",
                lambda: _ends(100, 5.0, 20.0, True),
            ),
        ),
        hints=(
            "What does the host do while the device works?",
            "Each call returns after 5 microseconds.",
        ),
    ),
)

TITLES = {
    "weighted": "Exercise 1 · On any device",
    "bytes_moved": "Exercise 2 · Count the bytes",
    "pays": "Exercise 3 · The smallest size that pays",
    "finished": "Exercise 4 · When is it finished?",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
