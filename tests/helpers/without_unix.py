"""Runs `minigrad` where the modules and names that only Unix has are missing, as on Windows:

python -m tests.helpers.without_unix COMMAND …
"""

import os
import select
import signal
import socket
import sys
import time

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
NAMES = {
    os: (
        "fork forkpty setsid wait3 wait4 killpg getpgid getuid geteuid getgid getegid mkfifo"
        " register_at_fork O_NONBLOCK O_NOFOLLOW O_DIRECTORY O_CLOEXEC"
        " WNOHANG posix_spawn fchmod fchown chown getloadavg statvfs"
    ),
    signal: "SIGALRM SIGHUP SIGUSR1 SIGUSR2 SIGCHLD setitimer getitimer alarm pause"
    " ITIMER_REAL ITIMER_VIRTUAL ITIMER_PROF pthread_sigmask sigwait",
    select: "poll epoll",
    socket: "AF_UNIX SO_PASSCRED SCM_CREDENTIALS SCM_RIGHTS CMSG_SPACE CMSG_LEN send_fds recv_fds",
    time: "clock_gettime CLOCK_THREAD_CPUTIME_ID CLOCK_PROCESS_CPUTIME_ID",
}


def hide() -> None:
    """Takes all of them away from this process. What Python's own modules hold is theirs."""
    import multiprocessing.context  # noqa: F401
    import subprocess  # noqa: F401  # what it needs of them it has taken
    import tempfile  # noqa: F401

    import numpy  # noqa: F401  # others' code runs there all the same

    kept = {"WNOHANG"}
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in NAMES.items():
        for name in names.split():
            if hasattr(module, name) and name not in kept:
                delattr(module, name)


if __name__ == "__main__":
    hide()
    from minigrad.cli import main

    sys.exit(main(sys.argv[1:]))
