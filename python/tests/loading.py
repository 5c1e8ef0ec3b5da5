"""Does a library load a file? Asked in a process of its own for each file, because some files crash or hang it.

A helper process imports the library once and forks for each question; it never computes anything itself, so that no
thread of the library exists where it forks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# A library that has not answered by then hangs.
PATIENCE = 60

_XGBOOST = """
def use(path):
    booster = library.Booster({"nthread": 1})
    booster.load_model(bytearray(open(path, "rb").read()))
    rows = numpy.zeros((2, booster.num_features()), numpy.float32)
    names, types = booster.feature_names, booster.feature_types
    matrix = library.DMatrix(rows, feature_names=names, feature_types=types, enable_categorical=True, nthread=1)
    booster.predict(matrix)
"""
_LIGHTGBM = """
def use(path):
    booster = library.Booster({"num_threads": 1}, model_str=open(path, "rb").read().decode())
    booster.predict(numpy.zeros((1, booster.num_feature())), num_threads=1)
"""
_SERVER = """
import os, signal, sys
import numpy, {name} as library
{use}
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            signal.alarm({patience})
            use(line.rstrip("\\n"))
            os._exit(0)
        finally:
            os._exit(1)
    print(int(os.waitpid(child, 0)[1] == 0), flush=True)
"""


class Loader:
    """Asks one library."""

    def __init__(self, name: str, folder: Path):
        use = {"xgboost": _XGBOOST, "lightgbm": _LIGHTGBM}[name]
        program = _SERVER.format(name=name, use=use, patience=PATIENCE)
        self.file = folder / f"{name}.model"
        self.server = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def loads(self, data: bytes) -> bool:
        """Whether the library loads these bytes and predicts with them."""
        self.file.write_bytes(data)
        self.server.stdin.write(f"{self.file}\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        assert answer in ("0\n", "1\n"), "the helper process ended"
        return answer == "1\n"

    def close(self) -> None:
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()
