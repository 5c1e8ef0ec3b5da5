"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import threading


def write(path: str, content: bytes) -> None:
    """Writes a file under another name first, so that nobody ever sees half of it."""
    # A name of its own, so that two runs do not write into each other's file.
    temporary = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
