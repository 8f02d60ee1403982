"""What of the grader's isolation works on this machine, and why the rest does not: `minigrad grade
doctor`.

Everything is tried out, nothing is guessed from version numbers: a process is started as for a
submission, asked to do what a hostile notebook would do, and must be refused.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import stripped_library
from .process_server import Server
from .sandbox import LEVELS, SandboxError, probe
from .student_process import Child, StepFailed

ATTEMPTS = {
    "read a file outside": "open({outside!r}).read()",
    "write a file outside": "open({outside!r} + '.new', 'w')",
    "change a file's permissions": "import os; os.chmod({outside!r}, 0o777)",
    "start a program": "import os; os.posix_spawn('/bin/true', ['true'], {{}})",
    "fork a process": "import os; os._exit(0) if os.fork() == 0 else None",
    "open a socket": "import socket; socket.socket()",
    "signal the grader": "import os; os.kill({pid}, 0)",
    "take 4 GB of memory": "bytearray(4 << 30)",
}


@dataclass
class Finding:
    """What was found. level: the best that was obtained, "" where not even a process could be
    started; lines: the report.
    """

    level: str
    lines: list[str]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def examine() -> Finding:
    """Tries out the levels, from the best to the worst, and what each refuses."""
    found = probe()
    lines = _kernel(found)
    level = ""
    with tempfile.TemporaryDirectory(prefix="minigrad-doctor-") as work:
        library = stripped_library.make((), Path(work))
        for wrap in (True, False):
            try:
                server = (
                    Server(library, wrap, Path(work)) if not wrap or shutil.which("bwrap") else None
                )
            except SandboxError as error:
                lines.append(_line("bubblewrap" if wrap else "process", False, "", str(error)))
                continue
            if wrap:
                why = (
                    "the program bwrap is not installed (Debian, Ubuntu, Fedora: the package"
                    " bubblewrap)"
                )
                lines.append(
                    _line(
                        "bubblewrap",
                        server is not None,
                        "a file tree, process numbers and a network of its own",
                        why,
                    )
                )
            if server is not None and not level:
                level = _attempts(server, Path(work), lines)
            if server is not None:
                server.close()
    lines += _advice(level)
    return Finding(level, lines)


def _kernel(found: Mapping[str, Any]) -> list[str]:
    """What the kernel can refuse; found: what `probe` says."""
    lines = [
        f"{platform.system()} {platform.release()}, {platform.machine()}, Python"
        f" {platform.python_version()}, user {_user()}"
    ]
    lines.append(
        _line(
            "limits",
            "limits" in found["obtained"],
            "memory, CPU time, size of files",
            found["error"],
        )
    )
    why = (
        "the kernel has none (5.13 or later is needed), or it is not enabled"
        if not found["landlock"]
        else "the kernel refuses it"
    )
    lines.append(
        _line(
            "Landlock",
            "landlock" in found["obtained"],
            f"version {found['landlock']}: files, TCP, signals",
            why,
        )
    )
    known = found["machine"] in ("x86_64", "aarch64")
    why = (
        "the kernel refuses it"
        if known
        else f"there is no table of system calls for {found['machine']}"
    )
    lines.append(
        _line(
            "seccomp",
            "seccomp" in found["obtained"],
            "no processes, no sockets, no signals to others",
            why,
        )
    )
    return lines


def _user() -> str:
    return str(os.geteuid()) if hasattr(os, "geteuid") else os.environ.get("USERNAME", "")


def _attempts(server: Server, work: Path, lines: list[str]) -> str:
    outside = work / "gradebook"
    outside.write_text("secret")
    folder = server.fresh_folder()
    child: Child = server.child(folder)
    try:
        for name, code in ATTEMPTS.items():
            source = code.format(outside=str(outside), pid=os.getpid())
            try:
                refused = "error" in child.ask(10.0, do="cell", name="cell 1", source=source)[0]
            except StepFailed:
                refused = True
            lines.append(
                _line(f"refuses to {name}", refused, "", "a student's program can do that here")
            )
        return child.level
    finally:
        child.close()


def _line(name: str, works: bool, what: str, why_not: str) -> str:
    return f"  {'yes' if works else 'NO ':3} {name}" + (
        f": {what}" if works and what else "" if works else f": {why_not}"
    )


def _advice(level: str) -> list[str]:
    if not level:
        return ["level: none. Submissions cannot be run here."]
    lines = [f"level: {level} ({' < '.join(LEVELS)})"]
    if level == "process":
        where = (
            "a Linux kernel of 5.13 or later with Landlock"
            if sys.platform.startswith("linux")
            else "Linux, for example in a virtual machine"
        )
        lines.append(
            "Grades are right at this level too, but a student's program can reach whatever your"
            " account can reach."
        )
        lines.append(f"Use {where}, or say --trust-students.")
    return lines
