"""Compiles a model with tl2cgen or lleaves: `compiling.py PEER KIND MODEL OUT`, in a process of its own that `run.py` ends at a limit."""

from __future__ import annotations

import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time


class NotCompiled(Exception):
    pass


def limited(command: list[str], seconds: float) -> float:
    """The processor time of a command and of what it starts, which are ended at a limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=errors)
        while process.poll() is None:
            time.sleep(0.1)
            if session_seconds(process.pid) > seconds:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise NotCompiled(f"not compiled within {seconds} s")
        if process.returncode != 0:
            errors.seek(0)
            raise RuntimeError((errors.read().decode(errors="replace").strip().splitlines() or ["no word"])[-1])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def session_seconds(session: int) -> float:
    """The processor time of a session's processes so far, and of those that they have waited for."""
    ticks = 0
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the name, which is in brackets: state, parent, group, session, ...
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    peer, kind, model, out = sys.argv[1:]
    if peer == "lleaves":
        import lleaves

        lleaves.Model(model_file=model).compile(cache=out, raw_score=True)
        return
    import tl2cgen
    import treelite

    if kind == "xgboost":
        import xgboost

        found = treelite.frontend.from_xgboost(xgboost.Booster(model_file=model))
    elif kind == "lightgbm":
        found = treelite.frontend.load_lightgbm_model(model)
    else:
        found = treelite.sklearn.import_model(pickle.loads(pathlib.Path(model).read_bytes()))
    tl2cgen.export_lib(found, toolchain="gcc", libpath=out, params={"parallel_comp": 4})


if __name__ == "__main__":
    main()
