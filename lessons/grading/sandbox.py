"""What a process gives up before it runs a student's code, and never gets back.

A Linux process without any privilege enters the sandbox in about two milliseconds:

    limits      memory, CPU time, size of files, no core dumps (`setrlimit`)
    Landlock    files: the standard library and the course's library may be read, one folder may be
                written, all else does not open; no TCP; no signals to others and no sight of their
                memory (Linux 5.13 and later; see landlock(7))
    seccomp     system calls: no new process, no socket, no signal to others, no change of other
                files' permissions (see seccomp(2))

and what is left where the kernel lacks one of them. `apply` runs inside the student's process,
before the student's code; `probe` tries it out. The levels, from best to worst: "full" (bubblewrap
too: process_server.py), "confined" (Landlock and seccomp), "process" (limits and a process of its
own only).
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Iterable
from typing import Any

try:
    import resource
except ModuleNotFoundError:  # Windows, on which submissions are not run
    resource = None  # type: ignore[assignment]

LEVELS = ("process", "confined", "full")
"""From worst to best."""

MEMORY_BYTES = 2 << 30
FILE_BYTES = 16 << 20
OPEN_FILES = 64
CPU_BACKSTOP_S = 600
"""If the grader is killed and no process watches the clock any more."""

EPERM, ENOSYS = 1, 38


class SandboxError(RuntimeError):
    """The kernel did not grant what the grader was told to insist on."""


def apply(read: Iterable[str], write: str, memory: int = MEMORY_BYTES) -> list[str]:
    """Locks this process in for good; returns what was obtained, out of "limits", "landlock",
    "seccomp".

    read: files and folders that may still be read; write: the folder that may be written. Raises
    SandboxError where other threads
    run already: Landlock would not reach them.
    """
    return Locks(read, write, memory).apply()


class Locks:
    """What a process locks itself in with. A server makes it once, and each process that it forks
    applies it: a tenth of the time.

    read, write, memory: as of `apply`; ruleset: the descriptor of Landlock's rules, -1 where there
    are none.
    """

    def __init__(self, read: Iterable[str], write: str, memory: int = MEMORY_BYTES) -> None:
        self.memory, self.ruleset = memory, -1
        self.libc: Any = None
        self.program: list[bytes] | None = None
        if not sys.platform.startswith("linux"):
            return
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.ruleset = _landlock(self.libc, read, write)
        self.program = _packed_program()

    def apply(self) -> list[str]:
        """Locks this process in; see `apply`. It can be done once in a process."""
        obtained = ["limits"]
        _limits(self.memory)
        if self.libc is None:
            return obtained
        if os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > 1:
            raise SandboxError("the process has threads already, so it cannot lock itself in")
        self.libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)  # no process survives the server
        if self.libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return obtained
        _drop_capabilities(self.libc)
        if self.ruleset >= 0:
            if self.libc.syscall(RESTRICT_SELF, self.ruleset, 0) == 0:
                obtained.append("landlock")
            os.close(self.ruleset)
        if self.program is not None and _seccomp(self.libc, self.program):
            obtained.append("seccomp")
        return obtained


def level_of(obtained: Iterable[str], bubblewrap: bool) -> str:
    """The level that a list of mechanisms amounts to."""
    if {"landlock", "seccomp"} <= set(obtained):
        return "full" if bubblewrap else "confined"
    return "process"


def _limits(memory: int) -> None:
    wanted = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_CPU: CPU_BACKSTOP_S,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
    }
    for which, value in wanted.items():
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(which, (value, value))
        except (ValueError, OSError):  # macOS refuses a limit on the address space
            if sys.platform.startswith("linux"):
                raise


# ----------------------------------------------------------------------------------------- Landlock

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_NAME, PR_GET_NAME = 1, 38, 15, 16
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls: these have one number on every architecture."""
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FIRST_FS = (1 << 13) - 1
"""What version 1 can handle: execute, write, read, list, and make or remove each kind of entry.
Later versions add one bit each.
"""
REFER, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
TCP = 0b11
"""bind and connect."""
SCOPES = 0b11
"""Abstract UNIX sockets, and signals."""


def landlock_abi(libc: Any = None) -> int:
    """The version of Landlock that the kernel speaks; 0 where it has none or does not enable it."""
    libc = libc or ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _landlock(libc: Any, read: Iterable[str], write: str) -> int:
    """The descriptor of a set of rules; -1 where the kernel makes none."""
    abi = landlock_abi(libc)
    if abi < 1:
        return -1
    handled = (
        FIRST_FS
        | (REFER if abi >= 2 else 0)
        | (TRUNCATE if abi >= 3 else 0)
        | (IOCTL if abi >= 5 else 0)
    )
    attributes = struct.pack("=QQQ", handled, TCP if abi >= 4 else 0, SCOPES if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = int(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    if ruleset < 0:
        return -1
    try:
        for path in read:
            _allow(libc, ruleset, path, READ_FILE | READ_DIR)
        _allow(libc, ruleset, "/dev/null", WRITE_FILE | READ_FILE)
        _allow(libc, ruleset, write, handled & ~(EXECUTE | IOCTL))
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(libc: Any, ruleset: int, path: str, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # what is not there need not be allowed
        return
    try:
        if not os.path.isdir(path):
            access &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
        rule = struct.pack("=Qi", access, opened)
        if libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0) != 0:
            raise SandboxError(
                f"Landlock refuses the rule for {path}: {os.strerror(ctypes.get_errno())}"
            )
    finally:
        os.close(opened)


def _drop_capabilities(libc: Any) -> None:
    """A grader that runs as root need not lend that to students. For others there is nothing to
    drop.
    """
    for capability in range(64):
        if (
            libc.prctl(24, capability, 0, 0, 0) != 0
        ):  # PR_CAPBSET_DROP: there is no such capability, or none may be dropped
            break
    header, none = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    capset = {"x86_64": 126, "aarch64": 91}.get(platform.machine())
    if capset is not None:
        libc.syscall(capset, header, none)


# ------------------------------------------------------------------------------------------ seccomp

# Each name's number on x86_64 and on aarch64 (None: that architecture has no such call), as in the
# kernel's unistd.h.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # new programs, and other processes
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "setsid": (112, 157), "setpgid": (109, 154),
    # sockets, and what outlives a process
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190),
    "mq_open": (240, 180),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219),
    # changes of files that Landlock does not guard
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None),
    "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88),
    "futimesat": (261, None),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "truncate": (76, 45), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    # the system's own affairs, and calls with a history of holes
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "setns": (308, 268), "unshare": (272, 97),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "move_mount": (429, 429),
    "open_tree": (428, 428), "mount_setattr": (442, 442), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "acct": (163, 89), "quotactl": (179, 60), "syslog": (103, 116),
    "vhangup": (153, 58), "iopl": (172, None),
    "ioperm": (173, None), "personality": (135, 92),
}  # fmt: skip
NEWEST = 450
"""The last system call that the authors of this table knew; newer ones are answered as an older
kernel would.
"""

ARCHITECTURES = {
    # audit number, column in REFUSED, and the numbers of: clone, clone3, kill, tgkill, socketpair,
    # prlimit64, prctl, seccomp
    "x86_64": (0xC000003E, 0, (56, 435, 62, 234, 53, 302, 157, 317)),
    "aarch64": (0xC00000B7, 1, (220, 435, 129, 131, 199, 261, 167, 277)),
}
CLONE_THREAD = 0x00010000
AF_UNIX, SOCK_STREAM, SOCK_TYPE_MASK = 1, 1, 0xF

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, AND, EQUAL, ABOVE, RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
"""BPF: load a word, mask it, jump if equal, jump if above, return."""
AT_NUMBER, AT_ARCHITECTURE, AT_ARGUMENTS = 0, 4, 16

Instruction = tuple[int, int, int, int]


def _argument(number: int) -> Instruction:
    """Load the lower half of an argument (both architectures are little-endian)."""
    return LOAD, 0, 0, AT_ARGUMENTS + 8 * number


def _refuse(code: int = EPERM) -> Instruction:
    return RETURN, 0, 0, ERRNO | code


def _if_call(number: int, then: list[Instruction]) -> list[Instruction]:
    """`then` must end in a return; it may overwrite the loaded number."""
    return [(EQUAL, 0, len(then), number), *then]


def filter_program(machine: str, pid: int) -> list[Instruction] | None:
    """The filter as BPF instructions (code, jump if true, jump if false, operand); None for an
    architecture without a table.

    pid: the process that it is for, which may send signals to itself.
    """
    if machine not in ARCHITECTURES:
        return None
    audit, column, (clone, clone3, kill, tgkill, socketpair, prlimit, prctl, _) = ARCHITECTURES[
        machine
    ]
    allow: Instruction = (RETURN, 0, 0, ALLOW)

    def only_if(*tests: list[Instruction]) -> list[Instruction]:
        """Return EPERM unless each test, which ends in a comparison, is true."""
        body: list[Instruction] = []
        for test in tests:
            *before, (code, _, _, operand) = test
            body += [*before, (code, 1, 0, operand), _refuse()]
        return [*body, allow]

    program = [
        (LOAD, 0, 0, AT_ARCHITECTURE),
        (EQUAL, 1, 0, audit),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, AT_NUMBER),
    ]
    # x86_64 has a second set of calls (x32) from 2^30 on: they are newer than NEWEST too.
    program += [(ABOVE, 0, 1, NEWEST), _refuse(ENOSYS)]
    program += _if_call(
        clone3, [_refuse(ENOSYS)]
    )  # its flags lie in memory, where no filter can see them; glibc then uses clone
    program += _if_call(
        clone, only_if([_argument(0), (AND, 0, 0, CLONE_THREAD), (EQUAL, 0, 0, CLONE_THREAD)])
    )
    for own in (kill, tgkill):
        program += _if_call(own, only_if([_argument(0), (EQUAL, 0, 0, pid)]))
    stream = [_argument(1), (AND, 0, 0, SOCK_TYPE_MASK), (EQUAL, 0, 0, SOCK_STREAM)]
    program += _if_call(
        socketpair, only_if([_argument(0), (EQUAL, 0, 0, AF_UNIX)], stream)
    )  # asyncio needs it
    program += _if_call(
        prlimit, [_argument(0), (EQUAL, 0, 1, 0), allow, (EQUAL, 0, 1, pid), allow, _refuse()]
    )
    program += _if_call(
        prctl,
        [
            _argument(0),
            (EQUAL, 0, 1, PR_SET_NAME),
            allow,
            (EQUAL, 0, 1, PR_GET_NAME),
            allow,
            _refuse(),
        ],
    )
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            program += [(EQUAL, 0, 1, number), _refuse()]
    return [*program, allow]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


OWN_PID = 0x7FFFFFFE
"""Stands in a packed program for the number of the process that loads it; no process has it."""


def _packed_program() -> list[bytes] | None:
    """The filter as the kernel reads it, instruction by instruction; None where there is none
    for this machine.
    """
    program = filter_program(platform.machine(), OWN_PID)
    if program is None or sys.maxsize < 2**32:
        return None
    return [struct.pack("=HBBI", *instruction) for instruction in program]


def _seccomp(libc: Any, program: list[bytes]) -> bool:
    mine, own = struct.pack("=I", OWN_PID), struct.pack("=I", os.getpid())
    code = b"".join(part[:4] + own if part[4:] == mine else part for part in program)
    loaded = _Program(len(program), code)
    set_mode_filter, to_all_threads = 1, 1
    return bool(
        libc.syscall(
            ARCHITECTURES[platform.machine()][2][7],
            set_mode_filter,
            to_all_threads,
            ctypes.byref(loaded),
        )
        == 0
    )


# -------------------------------------------------------------------------------------------- probe


def probe() -> dict[str, Any]:
    """What works here, tried out in a process of its own: {"obtained": [...], "landlock":
    version, "machine": ..., "error": ...}.
    """
    found: dict[str, Any] = {
        "obtained": [],
        "landlock": 0,
        "machine": platform.machine(),
        "error": "",
    }
    if not hasattr(os, "fork"):
        return found | {"error": "this system cannot fork a process"}
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if sys.platform.startswith("linux"):
                found["landlock"] = landlock_abi()
            found["obtained"] = apply(["/usr"], "/nonexistent")
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return dict(json.loads(answer))
