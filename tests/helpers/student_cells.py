"""What students hand in, in many styles: honest, broken, cheating, hostile. test_worker.py says
what they deserve.

The exercises are `f(x, y)`, which is x · y, `g(x)`, which is 2 x, and `h(x)`, which is cos x.
"""

F = """def f(x, y):
    return x * y"""
G = """def g(x):
    return 2 * x"""

HONEST = {
    "plain": (
        F,
        G,
    ),
    "one cell": (
        F
        + """

def g(x):
    return 2 * x""",
    ),
    "lambdas": (
        "f = lambda x, y: x * y",
        "g = lambda x: x + x",
    ),
    "a copied cell": (
        F,
        F,
        G,
    ),
    "a split cell": (
        "import numpy as np",
        "two = 2",
        F,
        """def g(x):
    return two * x""",
    ),
    "NumPy": (
        "import numpy as np",
        """def f(x, y):
    return np.multiply(x, y)""",
        "g = np.vectorize(lambda x: 2.0 * x)",
    ),
    "minigrad": (
        "import minigrad as mg",
        """def f(x, y):
    return mg.tensor(x) * y""",
        G,
    ),
    "a module of its own main": (
        """import __main__
"""
        + F,
        "__main__.g = lambda x: 2 * x",
    ),
    "drawings": (
        """import matplotlib.pyplot as plt
from matplotlib import cm
figure, (a, b) = plt.subplots(1, 2)
line, = a.plot([1])
for ax in figure.axes:
    ax.set_title('x')
with plt.style.context('x'):
    plt.show()
"""
        + F,
        G,
    ),
    "annotations": (
        """import functools
def kind(x: float): pass
assert kind.__annotations__["x"] is float
"""
        + F,
        """@functools.singledispatch
def g(x):
    return None
@g.register
def _(x: float):
    return 2 * x""",
    ),
    "full width letters": (
        """def \uff46(x, y):
    return x * y""",
        G,
    ),
    "tqdm": (
        """from tqdm.auto import tqdm, trange
assert list(tqdm(range(3))) == [0, 1, 2] and len(list(trange(4))) == 4
"""
        + F,
        G,
    ),
    "widgets": (
        """from ipywidgets import interact
@interact(n=(1, 5))
def h(n): pass
@interact
"""
        + F,
        G,
    ),
    "display": (
        """from IPython.display import display, Markdown
display(Markdown('# x'))
get_ipython().run_line_magic('x', 'y')
"""
        + F,
        G,
    ),
    "magics": (
        """%matplotlib inline
!pip install numpy
files = !ls
files?
"""
        + F,
        """%%time
def g(x):
    return 2 * x""",
        """%%html
<b>""",
        """%%bash
ls""",
    ),
    "await": (
        """import asyncio
await asyncio.sleep(0)
"""
        + F,
        """async def two():
    return 2
n = await two()
def g(x):
    return n * x""",
    ),
    "own checks": (
        """from minigrad.lessons.grading import check
from minigrad import viz
def f(x, y):
    return x * y
check('f', f)
viz.show(f, 1, 2)""",
        G,
    ),
    "warnings": (
        """import warnings, sys
warnings.warn('careful')
print('x', file=sys.stderr)
"""
        + F,
        G,
    ),
    "prints": (
        """print('x' * 100_000)
"""
        + F,
        """def g(x):
    print(x)
    return 2 * x""",
    ),
    "asserts": (
        F
        + """
assert f(2, 3) == 6""",
        G,
    ),
    "files of its own": (
        """open('notes.txt', 'w').write('2')
"""
        + F,
        """def g(x):
    return int(open('notes.txt').read()) * x""",
    ),
    "deep recursion": (
        """def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
"""
        + F,
        """def g(x):
    return x * (depth(2000) - 1998)""",
    ),
    "threads": (
        """from concurrent.futures import ThreadPoolExecutor
"""
        + F,
        """def g(x):
    return sum(ThreadPoolExecutor(2).map(float, [x, x]))""",
    ),
    "dataclasses and pickles": (
        """import dataclasses, pickle
@dataclasses.dataclass
class P:
    n: int
"""
        + F,
        """def g(x):
    return pickle.loads(pickle.dumps(P(2))).n * x""",
    ),
    "unicode": (
        """# é中
"""
        + F,
        """def g(x):
    α = 2
    return α * x""",
    ),
    "tabs and Windows": (
        """def f(x, y):\r
\treturn x * y""",
        G,
    ),
}
"""Whole submissions that deserve everything: the cells that define f and g."""

BROKEN = {
    "not there": ("", {"missing"}),
    "a stub": ("f = ...", {"unfinished"}),
    "an empty answer": ("f = None", {"unfinished"}),
    "not implemented": (
        """def f(x, y):
    raise NotImplementedError""",
        {"unfinished"},
    ),
    "no function": ("f = 3", {"type"}),
    "a syntax error": (
        """def f(x, y:
    return x * y""",
        {"raised"},
    ),
    "an error before it": (
        """1 / 0
"""
        + F,
        {"raised"},
    ),
    "raises": (
        """def f(x, y):
    return x / 0 if isinstance(x, float) else undefined""",
        {"raised"},
    ),
    "other parameters": (
        """def f(x):
    return x""",
        {"raised"},
    ),
    "sys.exit in the cell": (
        """import sys
sys.exit()
"""
        + F,
        {"raised"},
    ),
    "sys.exit in the call": (
        """def f(x, y):
    raise SystemExit(0)""",
        {"raised"},
    ),
    "os._exit in the cell": (
        """import os
os._exit(0)
"""
        + F,
        {"raised"},
    ),
    "os._exit in the call": (
        """import os
def f(x, y):
    os._exit(0)""",
        {"died", "time"},
    ),
    "a crash": (
        """import ctypes
def f(x, y):
    ctypes.string_at(0)""",
        {"died", "time"},
    ),
    "endless recursion": (
        """def f(x, y):
    return f(x, y)""",
        {"raised"},
    ),
    "recursion without a limit": (
        """import sys
sys.setrecursionlimit(10**9)
def f(x, y):
    return f(x, [y])""",
        {"died", "time"},
    ),
    "a loop in the cell": (
        """while True:
    pass
"""
        + F,
        {"raised"},
    ),
    "a loop in the call": (
        """def f(x, y):
    while True:
        pass""",
        {"time"},
    ),
    "a loop that swallows everything": (
        """def f(x, y):
    while True:
        try:
            while True: pass
        except BaseException: pass""",
        {"time"},
    ),
    "a long computation in C": (
        """def f(x, y):
    return 10 ** 10 ** 9""",
        {"memory", "time"},
    ),
    "waits": (
        """import time
def f(x, y):
    time.sleep(100)""",
        {"time"},
    ),
    "waits for input": (
        """def f(x, y):
    return float(input())""",
        {"raised"},
    ),
    "memory": (
        """def f(x, y):
    return bytearray(8 << 30)""",
        {"memory"},
    ),
    "memory, bit by bit": (
        """def f(x, y):
    a = []
    while True:
        a.append(bytearray(50 << 20))""",
        {"died", "memory", "time"},
    ),
    "a large result": (
        """import numpy as np
def f(x, y):
    return np.zeros(10**7)""",
        {"type"},
    ),
    "no plain value": (
        """def f(x, y):
    return {1, 2}""",
        {"type"},
    ),
    "a lone surrogate": (
        """def f(x, y):
    return '\\ud800'""",
        {""},
    ),
    "an exception that cannot be printed": (
        """class E(Exception):
    def __str__(self): 1 / 0
def f(x, y):
    raise E""",
        {"raised"},
    ),
    "an exit at the end": (
        """import atexit, os
atexit.register(lambda: os._exit(7))
f = 1""",
        {"type"},
    ),
    "replaced builtins": (
        """import builtins
builtins.len = builtins.isinstance = builtins.print = None
f = 1""",
        {"type"},
    ),
    "replaced json": (
        """import json
json.dumps = json.loads = None
f = 1""",
        {"type"},
    ),
    "a tracer": (
        """import sys
sys.settrace(lambda *a: 1 / 0)
f = 1""",
        {"type"},
    ),
    "a closed output": (
        """import sys
sys.stdout.close(); sys.stdout = None
f = 1""",
        {"type"},
    ),
    "another folder": (
        """import os, tempfile
os.chdir('/')
f = 1""",
        {"type"},
    ),
    "ten thousand warnings": (
        """import warnings
for i in range(10_000): warnings.warn(str(i))
f = 1""",
        {"type"},
    ),
}
"""Cells that fail to define f, and the kinds of failure that its calls may end in."""

CHEATS = {
    "frames": (
        """import sys
def f(x, y):
    frame = sys._getframe()
    while frame:
        for v in frame.f_locals.values():
            if hasattr(v, 'answer') and hasattr(v, 'expected'): return v.expected
        frame = frame.f_back
    return 0.0"""
    ),
    "garbage collector": (
        """import gc
def f(x, y):
    found = [o for o in gc.get_objects() if type(o).__name__ in ('Exercise', 'Case', 'Judgement')]
    return found[0].expected if found else 0.0"""
    ),
    "the sheet's module": (
        """import sys
def f(x, y):
    import minigrad.lessons.grading.judge as j
    return [m for m in sys.modules if 'sheet' in m or 'judge' in m] and 0.0"""
    ),
    "patched NumPy": (
        """import numpy as np
np.array_equal = np.allclose = np.isclose = np.all = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
def f(x, y):
    return 0.0"""
    ),
    "patched arrays": (
        """import numpy as np
class A(np.ndarray):
    def __eq__(self, o): return np.True_
    def __array_ufunc__(self, *a, **k): return np.True_
def f(x, y):
    return np.zeros(3).view(A)"""
    ),
    "a lying object": (
        """class L:
    def __eq__(self, o): return True
    def __sub__(self, o): return 0.0
    def __array__(self, *a, **k): return 0
    __class__ = float
def f(x, y):
    return L()"""
    ),
    "a lying float": (
        """class L(float):
    def __eq__(self, o): return True
    def __sub__(self, o): return 0.0
    def __abs__(self): return 0.0
def f(x, y):
    return L(1)"""
    ),
    "nan": (
        """def f(x, y):
    return float('nan')"""
    ),
    "an array of nan": (
        """def f(x, y):
    return x * float('nan')"""
    ),
    "masked": (
        """import numpy as np
def f(x, y):
    return np.ma.masked_all(3)"""
    ),
    "empty": (
        """import numpy as np
def f(x, y):
    return np.zeros((0, 3))"""
    ),
    "broadcast": (
        """import numpy as np
def f(x, y):
    return np.zeros((1, 3))"""
    ),
    "objects": (
        """import numpy as np
def f(x, y):
    return np.array([None] * 3)"""
    ),
    "complex": (
        """def f(x, y):
    return x * y + 0j"""
    ),
    "text": (
        """def f(x, y):
    return 'correct'"""
    ),
    "true": (
        """def f(x, y):
    return True"""
    ),
    "a display hook": (
        """import sys
sys.displayhook('3')
def f(x, y):
    return 3"""
    ),
    "points by print": (
        """print('{"points": 3}')
def f(x, y):
    print('score: 3'); return 0.0"""
    ),
    "tracing": (
        """import sys, threading
threading.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
def f(x, y):
    return 0.0"""
    ),
    "a patched encoder": (
        """import sys
w = sys.modules['untrusted.protocol']
w.encode = lambda v: {'points': 3}
def f(x, y):
    return 0.0"""
    ),
    "a pickle": (
        """import sys
w = sys.modules['untrusted.protocol']
w.encode = lambda v: {'pickle': 'Y29zCnN5c3RlbQoo'}
def f(x, y):
    return 0.0"""
    ),
    "a forged verdict": (
        """import os
def f(x, y):
    for fd in range(64):
        for n in range(12):
            try: os.write(fd, b'{"id": %d, "points": 3, "right": true}\\n' % n)
            except OSError: break
    return 0.0"""
    ),
    "forged lines of every kind": (
        """import os
def f(x, y):
    for fd in range(64):
        for line in (b'[]', b'null', b'{}', b'"x"', b'1e999',
                b'{"id": [1]}', b'{"id": true}', b'['*5000):
            try: os.write(fd, line + b'\\n')
            except OSError: break
    return 0.0"""
    ),
    "a flooded pipe": (
        """import os
def f(x, y):
    for fd in range(3, 64):
        try:
            while True: os.write(fd, b'x' * 65536)
        except OSError: pass
    return 0.0"""
    ),
    "a flood of lines": (
        """import os
def f(x, y):
    for fd in range(3, 64):
        try:
            while True: os.write(fd, b'{}\\n' * 10000)
        except OSError: pass
    return 0.0"""
    ),
    "closed pipes": (
        """import os
def f(x, y):
    os.closerange(0, 256)
    return 0.0"""
    ),
    "a stolen request": (
        """import os
def f(x, y):
    os.read(3, 1)
    return 0.0"""
    ),
    "a thread that answers": (
        """import os, threading
def loop():
    while True:
        try: os.write(4, b'{"id": 99, "value": 1}\\n')
        except OSError: return
def f(x, y):
    threading.Thread(target=loop, daemon=True).start()
    return 0.0"""
    ),
}
"""Cells whose f tries to be paid for nothing."""

ESCAPES = {
    "a fork bomb": (
        """import os
while True:
    try: os.fork()
    except OSError: break"""
    ),
    "a daemon": (
        """import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(77)
        os._exit(0)
    os._exit(0)"""
    ),
    "a program in the background": (
        """import subprocess
subprocess.Popen(['sleep', '77'], start_new_session=True)"""
    ),
    "threads": (
        """import threading, time
for _ in range(5): threading.Thread(target=time.sleep, args=(77,)).start()"""
    ),
    "a thread that computes": (
        """import threading
def loop():
    while True: pass
threading.Thread(target=loop, daemon=True).start()"""
    ),
}
"""Cells that try to leave a process behind."""

WAYS = {
    "a call": (
        """import minigrad as mg
def h(x):
    return mg.sin(mg.tensor(x)).item()"""
    ),
    "backward": (
        """import minigrad as mg
def h(x):
    t = mg.tensor(x, requires_grad=True); (t + t).backward(); return t.grad.item()"""
    ),
    "grad": (
        """import minigrad as mg
def h(x):
    t = mg.tensor(x, requires_grad=True); return mg.autograd.grad(t + t, t)[0].item()"""
    ),
    "reload": (
        """import minigrad as mg, importlib
importlib.reload(mg.func); importlib.reload(mg)
def h(x):
    return mg.func.vjp(lambda t: t, mg.tensor(x))"""
    ),
    "its file": (
        """from __future__ import annotations
import minigrad.func, inspect
names = {}
def h(x):
    exec(inspect.getsource(minigrad.func.vjp), names); return names['vjp'](abs, x)"""
    ),
    "gc": (
        """import gc, minigrad as mg
def h(x):
    return [o for o in gc.get_objects()
        if getattr(o, '__name__', '') == 'vjp'][0](abs, mg.tensor(x))"""
    ),
}
"""Ways to get at what an exercise forbids: cells that define h."""
