"""What a process has given up once it has locked itself in, each tried out in a process of its
own.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from minigrad.lessons.grading import doctor, process_server, sandbox

FOUND = sandbox.probe()
locked = pytest.mark.skipif(
    not {"landlock", "seccomp"} <= set(FOUND["obtained"]),
    reason=f"this kernel gives {FOUND['obtained']}; Landlock and seccomp are needed",
)

FORKER = """
import importlib.util, json, os, shutil, sys, tempfile, traceback
import asyncio, ctypes, resource, signal, socket, subprocess, threading, time
told = json.load(sys.stdin)
spec = importlib.util.spec_from_file_location("sandbox", told["sandbox"])
sandbox = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sandbox)

def child(code, outside, own, parent):
    if told["locked"]:
        sandbox.apply(told["read"], own)
    try:
        exec(code, {**globals(), "outside": outside, "own": own, "parent": parent})
    except BaseException as error:
        print("refused", type(error).__name__, error)
    else:
        print("done")

found = {}
for number, (what, code) in enumerate(told["attempts"].items()):
    outside, own = (os.path.join(told["top"], str(number), name) for name in ("outside", "own"))
    os.makedirs(outside), os.makedirs(own)
    book = os.path.join(outside, "gradebook")
    with open(book, "w") as file:
        file.write("grades")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.dup2(writing, 1), os.dup2(writing, 2), os.close(reading), os.close(writing)
            child(code, outside, own, os.getppid())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    left = sorted(os.listdir(outside))
    kept = os.path.exists(book) and os.access(book, os.R_OK) and open(book).read()
    found[what] = {"status": status, "said": said,
        "untouched": left == ["gradebook"] and kept == "grades"}
print(json.dumps(found))
"""


def tried_out(attempts: dict[str, str], top: Path, locked: bool) -> dict[str, dict]:
    """What comes of each attempt, in a process of its own that one process forks, as the
    grader's server does.
    """
    told = {"sandbox": sandbox.__file__, "attempts": attempts, "top": str(top), "locked": locked}
    (top / "library").mkdir()
    told["read"] = process_server.python_paths(top / "library")
    command = [sys.executable, "-I", "-S", "-c", FORKER]
    done = subprocess.run(
        command, input=json.dumps(told), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def attempts(tmp_path_factory):
    """What comes of all attempts below in processes that have locked themselves in."""
    return tried_out(REFUSED | ALLOWED, tmp_path_factory.mktemp("attempts"), locked=True)


REFUSED = {
    "read a file": "open(outside + '/gradebook').read()",
    "list a folder": "os.listdir(outside)",
    "write a file": "open(outside + '/new', 'w')",
    "change a file": "open(outside + '/gradebook', 'a').write('x')",
    "truncate a file": "os.truncate(outside + '/gradebook', 0)",
    "remove a file": "os.unlink(outside + '/gradebook')",
    "rename a file": "os.rename(outside + '/gradebook', own + '/mine')",
    "link to a file and read it": (
        "os.link(outside + '/gradebook', own + '/mine'); open(own + '/mine').read()"
    ),
    "follow a link": (
        "os.symlink(outside + '/gradebook', own + '/mine'); open(own + '/mine').read()"
    ),
    "change permissions": "os.chmod(outside + '/gradebook', 0)",
    "change permissions by descriptor": "os.fchmod(os.open(own, os.O_RDONLY), 0o777)",
    "change times": "os.utime(outside + '/gradebook', (0, 0))",
    "set attributes": "os.setxattr(outside + '/gradebook', 'user.x', b'1')",
    "read another process": "open(f'/proc/{parent}/mem', 'rb').read(1)",
    "list processes": "os.listdir('/proc')",
    "trace another process": "libc = ctypes.CDLL(None); assert libc.ptrace(16, parent, 0, 0) == 0",
    "read memory by system call": (
        "libc = ctypes.CDLL(None); assert libc.process_vm_readv(parent, None, 0, None, 0, 0) == 0"
    ),
    "signal its parent": "os.kill(parent, 0)",
    "signal its group": "os.killpg(0, 0)",
    "signal everybody": "os.kill(-1, 0)",
    "limit its parent": "resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1))",
    "renice its parent": "os.setpriority(os.PRIO_PROCESS, parent, 19)",
    "raise its own limits": "resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))",
    "fork": "os._exit(0) if os.fork() == 0 else os.wait()",
    "fork by number": (
        "libc = ctypes.CDLL(None); assert libc.syscall(57 if os.uname().machine == 'x86_64' else"
        " 220, 0, 0, 0, 0, 0) >= 0"
    ),
    "run a program": "os.execv('/bin/true', ['true'])",
    "spawn a program": "subprocess.run(['/bin/true'], check=True)",
    "run a shell": "assert os.system('true') == 0",
    "start a session": "os.setsid()",
    "make a TCP socket": "socket.socket()",
    "make a UDP socket": "socket.socket(type=socket.SOCK_DGRAM)",
    "make a Unix socket": "socket.socket(socket.AF_UNIX)",
    "make a datagram pair": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "share memory": "libc = ctypes.CDLL(None); assert libc.shmget(0, 4096, 0o1600) >= 0",
    "make a memory file": "os.memfd_create('x')",
    "mount": (
        "libc = ctypes.CDLL(None); assert libc.mount(b'none', own.encode(), b'tmpfs', 0, None) == 0"
    ),
    "enter a namespace": "libc = ctypes.CDLL(None); assert libc.unshare(0x10000000) == 0",
    "change its root": "os.chroot(own)",
    "outlive its parent": "libc = ctypes.CDLL(None); assert libc.prctl(1, 0, 0, 0, 0) == 0",
    "use io_uring": "libc = ctypes.CDLL(None); assert libc.syscall(425, 1, None) >= 0",
    "take 3 GB": "import mmap; mmap.mmap(-1, 3 << 30)",
    "write a large file": "open(own + '/large', 'wb').write(bytes(17 << 20))",
    "open many files": "[open('/dev/null') for _ in range(100)]",
}

ALLOWED = {
    "read and write its own folder": (
        "open(own + '/x', 'w').write('x'); os.mkdir(own + '/d'); os.rename(own + '/x', own +"
        " '/d/x')"
    ),
    "import the standard library": (
        "import decimal, fractions, statistics, html.parser, xml.dom.minidom"
    ),
    "start threads": "t = threading.Thread(target=int); t.start(); t.join()",
    "run asyncio": "asyncio.run(asyncio.sleep(0))",
    "signal itself": (
        "signal.signal(10, lambda *a: None); os.kill(os.getpid(), 10); signal.raise_signal(10)"
    ),
    "write to nowhere": "open('/dev/null', 'w').write('x')",
    "draw random numbers": "os.urandom(8); import random; random.SystemRandom().random()",
    "ask for the time": "time.time(); time.localtime(); time.sleep(0.001)",
    "make temporary files": "tempfile.tempdir = own; tempfile.TemporaryFile().write(b'x')",
    "look up its limits": (
        "resource.getrlimit(resource.RLIMIT_AS); resource.getrusage(resource.RUSAGE_SELF)"
    ),
}


@locked
@pytest.mark.parametrize("what", REFUSED)
def test_hostile_work_is_refused(attempts, what):
    assert attempts[what]["said"].split()[:1] == ["refused"], attempts[what]
    assert attempts[what]["status"] == 0 and attempts[what]["untouched"]


@locked
@pytest.mark.parametrize("what", ALLOWED)
def test_ordinary_work_is_allowed(attempts, what):
    assert attempts[what]["said"].split() == ["done"], attempts[what]


def test_the_same_attempts_succeed_where_nothing_is_locked(tmp_path):
    """So that a refusal above comes from the lock, and not from a slip in the attempt."""
    free = ["read a file", "list a folder", "write a file", "change a file", "follow a link",
        "change permissions", "change times", "fork",
            "spawn a program", "run a shell", "make a TCP socket", "make a Unix socket",
            "make a datagram pair", "make a memory file",
            "list processes", "signal its parent", "take 3 GB", "write a large file",
            "open many files"]  # fmt: skip
    found = tried_out({what: REFUSED[what] for what in free}, tmp_path, locked=False)
    assert {
        what: found[what] for what in free if found[what]["said"].split()[-1:] != ["done"]
    } == {}


@pytest.mark.parametrize("machine", sandbox.ARCHITECTURES)
def test_the_filter_decides_as_it_should(machine):
    """The program, run by a small interpreter of BPF, so that the architecture that this machine
    does not have is tested too.
    """
    audit, column, (clone, clone3, kill, tgkill, socketpair, prlimit, prctl, _) = (
        sandbox.ARCHITECTURES[machine]
    )
    program, pid = sandbox.filter_program(machine, 77), 77

    def decide(number, *arguments, architecture=audit):
        memory = {0: number, 4: architecture} | {
            16 + 8 * i: value for i, value in enumerate(arguments)
        }
        at = accumulator = 0
        while True:
            code, true, false, operand = program[at]
            at += 1
            if code == sandbox.LOAD:
                accumulator = memory.get(operand, 0)
            elif code == sandbox.AND:
                accumulator &= operand
            elif code == sandbox.EQUAL:
                at += true if accumulator == operand else false
            elif code == sandbox.ABOVE:
                at += true if accumulator > operand else false
            else:
                return operand

    allow, eperm, enosys = sandbox.ALLOW, sandbox.ERRNO | 1, sandbox.ERRNO | 38
    assert decide(0, architecture=0x40000003) == sandbox.KILL
    assert decide(0) == allow
    for name, numbers in sandbox.REFUSED.items():
        if numbers[column] is not None:
            assert decide(numbers[column]) == eperm, name
    assert decide(451) == enosys
    assert decide(0x40000000 + 59) == enosys
    assert decide(clone3) == enosys
    assert (decide(clone, 17), decide(clone, 0x3D0F00)) == (eperm, allow)
    assert (decide(kill, pid), decide(kill, pid + 1), decide(kill, 0), decide(kill, 2**32 - 1)) == (
        allow,
        eperm,
        eperm,
        eperm,
    )
    assert (decide(tgkill, pid), decide(tgkill, 1)) == (allow, eperm)
    assert (
        decide(socketpair, 1, 1 | 0o2000000),
        decide(socketpair, 1, 2),
        decide(socketpair, 2, 1),
    ) == (allow, eperm, eperm)
    assert (decide(prlimit, 0), decide(prlimit, pid), decide(prlimit, 1)) == (allow, allow, eperm)
    assert (decide(prctl, 15), decide(prctl, 1), decide(prctl, 22)) == (allow, eperm, eperm)


def test_an_unknown_architecture_has_no_filter():
    assert sandbox.filter_program("riscv64", 1) is None


def test_the_numbers_are_those_of_this_machine_s_headers():
    headers = (
        Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        Path("/usr/include/asm-generic/unistd.h"),
    )
    if not all(path.is_file() for path in headers):
        pytest.skip("the kernel's headers are not installed (Debian: the package linux-libc-dev)")
    for column, path in enumerate(headers):
        words = (line.split() for line in path.read_text().splitlines())
        numbers = {
            w[1].split("_", 3 if "3264" in w[1] else 2)[-1].removeprefix("NR_"): int(w[2])
            for w in words
            if len(w) == 3 and w[0] == "#define" and "__NR" in w[1] and w[2].isdigit()
        }
        for name, both in sandbox.REFUSED.items():
            if both[column] is not None:
                assert numbers[name] == both[column], (name, path)


def test_the_level_follows_from_what_was_obtained():
    assert sandbox.level_of(["limits"], False) == "process"
    assert sandbox.level_of(["limits", "landlock"], True) == "process"
    assert sandbox.level_of(["limits", "landlock", "seccomp"], False) == "confined"
    assert sandbox.level_of(["limits", "landlock", "seccomp"], True) == "full"


@locked
def test_a_process_with_threads_cannot_lock_itself_in(tmp_path):
    script = (
        "import importlib.util, threading, time\n"
        f"spec = importlib.util.spec_from_file_location('sandbox', {sandbox.__file__!r})\n"
        "sandbox = importlib.util.module_from_spec(spec); spec.loader.exec_module(sandbox)\n"
        "threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
        f"sandbox.apply([], {str(tmp_path)!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert "has threads already" in done.stderr


@pytest.mark.unix
@pytest.mark.whole
def test_the_doctor_says_what_it_found():
    finding = doctor.examine()
    text = str(finding)
    assert finding.level in sandbox.LEVELS
    assert platform.machine() in text
    for name in doctor.ATTEMPTS:
        assert f"refuses to {name}" in text
    if finding.level != "process":
        assert "NO  refuses" not in text, text
    else:
        assert "--trust-students" in text


def test_the_probe_leaves_no_process():
    def children():
        return {
            child
            for task in Path("/proc/self/task").iterdir()
            for child in (task / "children").read_text().split()
        }

    before = children()
    assert sandbox.probe()["machine"] == platform.machine()
    assert children() <= before
