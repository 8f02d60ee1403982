"""For a process under test that gets signals: it heeds them even where the test run ignores
them.
"""

import signal


def heed() -> None:
    """Heed SIGINT, SIGTERM and SIGHUP (as `preexec_fn` of subprocess.Popen). A shell starts what
    runs in the background with SIGINT ignored, nohup does so with SIGHUP, and a child inherits
    that.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
