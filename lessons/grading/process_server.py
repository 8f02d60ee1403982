"""Servers that fork students' processes (fork_server.py is what runs in them), and the command that
confines one.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.cli.folders import remove

from . import fork_server, packages, sandbox
from .student_process import Child

KNOWN_SENDERS = hasattr(socket, "SO_PASSCRED")
CREDENTIALS = socket.CMSG_SPACE(12) if KNOWN_SENDERS else 0
"""Space for the numbers of process, user and group, which Linux adds to a message."""
BOOT = (
    "import sys; sys.path.append({library!r}); from untrusted.fork_server import main;"
    " main({modules!r})"
)


def python_paths(library: Path) -> list[str]:
    """What a student's process may read: the standard library without what is installed beside
    it, NumPy, and our library.
    """
    paths = sysconfig.get_paths()
    wanted: list[str] = [str(library)]
    for folder in {paths["stdlib"], paths["platstdlib"]}:
        wanted += [
            entry.path
            for entry in os.scandir(folder)
            if entry.name not in ("site-packages", "dist-packages", "test")
        ]
    numpy = Path(np.__file__).resolve().parent
    wanted += [str(numpy), str(numpy.parent / "numpy.libs")]
    wanted += [
        *glob.glob("/lib/*-linux-gnu"),
        *glob.glob("/usr/lib/*-linux-gnu"),
        "/lib64",
        "/usr/lib64",
        "/usr/share/zoneinfo",
        "/etc/localtime",
        "/etc/mime.types",
    ]
    return sorted(
        {os.path.realpath(path) for path in [*wanted, "/dev/urandom"] if os.path.exists(path)}
    )


def _outermost(paths: list[str]) -> list[str]:
    """Those of some paths that are there and lie in no other of them. Each is a mount, and hundreds
    of mounts take longer than to start Python.
    """
    there = dict.fromkeys(path for path in paths if os.path.exists(path))
    return [p for p in there if not any(str(q) in there for q in Path(p).parents)]


def bubblewrap(library: Path, folder: Path, more: Sequence[str] = ()) -> list[str]:
    """The command that runs another one with a file tree, process numbers and a network of its
    own. more: further paths that it may read.
    """
    program = shutil.which("bwrap")
    if program is None:
        return []
    # Where Linux keeps its programs and libraries: in a tree of its own the process would not even
    # find the loader of Python. No path of a user is among them, and /tmp is a new, empty one.
    paths = [
        "/usr",
        "/lib",
        "/lib64",
        "/etc/ld.so.cache",
        sys.base_prefix,
        os.path.realpath(sys.executable),
        *python_paths(library),
        *more,
    ]
    binds = [part for path in _outermost(paths) for part in ("--ro-bind", path, path)]
    own = ["--unshare-all", "--new-session", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    return [program, *own, *binds, "--bind", str(folder), str(folder), "--chdir", str(folder)]


class Server:
    """A forking server (fork_server.py), and the folder in which its children work one by one.

    there: packages beyond NumPy and minigrad that its children may import. program: for a server
    of one submission only, its code.
    """

    def __init__(
        self,
        library: Path,
        wrap: bool,
        work: Path | None = None,
        there: tuple[str, ...] = (),
        program: str | None = None,
    ) -> None:
        if not hasattr(os, "fork"):
            raise sandbox.SandboxError(
                "submissions can be run on Linux and macOS only; on Windows, use WSL or a virtual"
                " machine"
            )
        self.library, self.wrapped = library, wrap
        self.learnt: set[str] = set()
        self.base = Path(
            os.path.realpath(tempfile.mkdtemp(prefix="minigrad-submission-", dir=work))
        )
        self.there = there
        self.packages = packages.folder_of(there, work) if there else None
        self.readable = python_paths(library)
        if self.packages:
            linked = [os.path.realpath(entry) for entry in self.packages.iterdir()]
            self.readable += [str(self.packages.resolve()), *linked]
        self.control, theirs = socket.socketpair()
        command = bubblewrap(library, self.base, self.readable) if wrap else []
        modules = None if program is None else fork_server.needed_by(program)
        boot = BOOT.format(library=str(library), modules=modules)
        command += [os.path.realpath(sys.executable), "-I", "-S", "-c", boot]
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
        environment = {
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "USER": "student",
            "LOGNAME": "student",
            "MPLBACKEND": "agg",
            **threads,
            "VECLIB_MAXIMUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=self.base,
            start_new_session=True,
        )
        theirs.close()
        _servers.add(self)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self.control.settimeout(60)
        if KNOWN_SENDERS:
            self.control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.sender = 0  # of the last answer: the process's number on this side; 0 if unknown
        if not self._answer().get("ready"):
            complaint = self.process.communicate()[1].decode(errors="replace")[-2000:]
            raise sandbox.SandboxError(
                "the process for submissions does not start:"
                f" {complaint.strip() or 'it says nothing'}"
            )
        self.number = self.sender or self.process.pid
        self.command(
            do="prepare",
            folder=str(self.base),
            read=self.readable,
            memory=sandbox.MEMORY_BYTES,
            packages=str(self.packages),
            there=list(self.there),
        )

    def command(self, pipes: Sequence[int] = (), **message: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer. Raises SandboxError where the server is
        gone.
        """
        try:
            socket.send_fds(self.control, [json.dumps(message).encode() + b"\n"], list(pipes))
            answer = self._answer()
        except OSError as error:
            raise sandbox.SandboxError(
                f"the process for submissions does not answer: {error}"
            ) from error
        if not answer:
            raise sandbox.SandboxError("the process for submissions is gone")
        return answer

    def _answer(self) -> dict[str, Any]:
        data = b""
        self.sender = 0
        while not data.endswith(b"\n"):
            more, extra, _, _ = self.control.recvmsg(65536, CREDENTIALS)
            if not more:
                return {}
            data += more
            for level, kind, about in extra:
                if KNOWN_SENDERS and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                    self.sender = int.from_bytes(about[:4], sys.byteorder)
        return dict(json.loads(data))

    def child(self, folder: Path, pictures: bool = True) -> Child:
        """A fresh process for a submission, which may write the folder that `fresh_folder` gave;
        pictures: whether it may compute with what a stub of Matplotlib gives.
        """
        return Child(self, folder, pictures)

    def learn(self, key: str, source: str) -> None:
        """Tells of an instructor's drive, so that it is compiled once and not for each
        submission."""
        if key not in self.learnt:
            self.learnt.add(key)
            self.command(do="learn", key=key, source=source)

    def fresh_folder(self) -> Path:
        """The folder in which the next child works, empty."""
        self.clear()
        return self.base

    def clear(self) -> None:
        """Removes what a child has left. Raises SandboxError where something stays that the
        next one would find.
        """
        with contextlib.suppress(OSError):
            os.chmod(self.base, 0o700)
        for entry in os.scandir(self.base):
            if entry.is_dir(follow_symlinks=False):
                remove(entry.path)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
        if left := os.listdir(self.base):
            raise sandbox.SandboxError(
                f"{self.base / left[0]}, which a submission has left, cannot be removed"
            )

    def close(self) -> None:
        """Ends the server, and with it every process and file of its submissions."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)
        self.control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()
        remove(self.base)


_servers: weakref.WeakSet[Server] = weakref.WeakSet()


def abandon_all() -> None:
    """Ends the servers of this process with the submissions that they run: a call that waits for
    one raises SandboxError.
    """
    for server in list(_servers):
        with contextlib.suppress(OSError):
            server.control.shutdown(socket.SHUT_RDWR)


def disown_all() -> None:
    """In a forked process: closes its ends of the servers of the process that it was forked from,
    so that they end when that one ends."""
    for server in list(_servers):
        server.control.close()
    _servers.clear()
