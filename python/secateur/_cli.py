"""The commands `secateur` and `secateur-check`, as this package installs them: the same code as the binaries."""

from __future__ import annotations

import signal
import sys
from typing import Callable

from secateur import _secateur


def secateur() -> None:
    """The command `secateur`."""
    _run(_secateur.run_secateur)


def secateur_check() -> None:
    """The command `secateur-check`."""
    _run(_secateur.run_secateur_check)


def _run(command: Callable[[list[str]], int]) -> None:
    # Until the command listens for Ctrl-C itself, it ends the process at once, as it does any binary.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(sys.argv))
