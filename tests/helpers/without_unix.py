"""Hides the modules and names that only Unix has from minigrad and its tests, as on Windows.

Other packages, and Python's own modules, find them all the same: they have ways of their own for
Windows, which cannot be tried here. `pytest --without-unix` runs the tests so; for one command:

python -m tests.helpers.without_unix COMMAND …
"""

import builtins
import importlib
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("minigrad", "tests", "untrusted")
"""Whose code finds nothing of it; `untrusted` is what runs beside a student's code."""
MODULES = frozenset("fcntl resource pwd grp termios tty pty syslog posix readline curses".split())
NAMES = {
    module: frozenset(names.split())
    for module, names in {
        "os": "fork forkpty setsid wait wait3 wait4 killpg getpgid getpgrp setpgid getuid geteuid"
        " getgid getegid getgroups setuid setgid mkfifo mknod chown fchmod fchown lchown chroot"
        " register_at_fork posix_spawn posix_spawnp nice sync uname sysconf getloadavg statvfs"
        " sched_getaffinity sched_setaffinity set_blocking pread pwrite sendfile memfd_create"
        " pidfd_open fchdir O_NONBLOCK O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_PATH O_SYNC WNOHANG"
        " WIFEXITED WEXITSTATUS WIFSIGNALED WTERMSIG",
        "signal": "SIGALRM SIGHUP SIGUSR1 SIGUSR2 SIGCHLD SIGKILL SIGQUIT SIGPIPE SIGSTOP SIGCONT"
        " SIGTSTP SIGWINCH SIGXCPU SIGXFSZ setitimer getitimer alarm pause ITIMER_REAL"
        " ITIMER_VIRTUAL ITIMER_PROF pthread_sigmask pthread_kill sigwait",
        "select": "poll epoll POLLIN POLLOUT",
        "socket": "AF_UNIX SO_PASSCRED SCM_CREDENTIALS SCM_RIGHTS CMSG_SPACE CMSG_LEN send_fds"
        " recv_fds SO_REUSEPORT",
        "time": "clock_gettime clock_getres pthread_getcpuclockid tzset CLOCK_MONOTONIC"
        " CLOCK_THREAD_CPUTIME_ID CLOCK_PROCESS_CPUTIME_ID",
    }.items()
}
IN_PROCESSES = (
    "import sys; sys.path.append({top!r})\n"
    "from tests.helpers.without_unix import hide; hide(); sys.path.remove({top!r})\n"
)
"""Code that does the same in another process."""
TOP = str(Path(__file__).resolve().parents[2])

hidden = False


def is_missing() -> bool:
    """Whether this system has no `os.fork`, or it is hidden."""
    return hidden or not hasattr(os, "fork")


class _Module(ModuleType):
    """A module of Python's without some of its names; what is set is set in the module itself."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        super().__setattr__("_of", importlib.import_module(name))

    def __getattribute__(self, name: str) -> Any:
        real = ModuleType.__getattribute__(self, "_of")
        if name in NAMES[real.__name__]:
            raise AttributeError(f"module {real.__name__!r} has no attribute {name!r}")
        return getattr(real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(ModuleType.__getattribute__(self, "_of"), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(ModuleType.__getattribute__(self, "_of"), name)


def hide() -> None:
    """Hides all of it from what is imported from now on. Raises RuntimeError where something of
    minigrad has been imported.
    """
    global hidden
    if hidden:
        return
    if early := sorted(name for name in sys.modules if name.partition(".")[0] == "minigrad"):
        raise RuntimeError(f"too late to hide what only Unix has: {early[0]} is imported")
    hidden = True
    import_, modules = builtins.__import__, {name: _Module(name) for name in NAMES}

    def import_without(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        importer = str((globals or {}).get("__name__", ""))
        if level == 0 and importer.partition(".")[0] in PACKAGES:
            first = name.partition(".")[0]
            if first in MODULES:
                raise ModuleNotFoundError(f"No module named {first!r}", name=first)
            if name in modules or (first in modules and not fromlist):
                return modules[first]
        return import_(name, globals, locals, fromlist, level)

    builtins.__import__ = import_without


def hide_in_children() -> None:
    """Hides it in every Python that this process starts, too (but for those that are started with
    -I or -S), as long as this one runs.
    """
    folder = Path(tempfile.mkdtemp(prefix="minigrad-without-unix-"))
    (folder / "sitecustomize.py").write_text(IN_PROCESSES.format(top=TOP))
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([path] if path else [])])


if __name__ == "__main__":
    hide()
    from minigrad.cli import main

    sys.exit(main(sys.argv[1:]))
