"""The commands, as the build of the tests has them (`tests/develop.py`), and searches that wait."""

import os
import pathlib
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).parents[2]
# No command of a test takes anywhere near as long, on a busy machine either.
PATIENCE = 240.0
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def binary(program: str = "secateur") -> pathlib.Path:
    """The path of a program with every check on, from the build that the Python module comes from."""
    path = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / program
    assert path.exists(), f"{path} is not there: .venv/bin/python tests/develop.py builds it"
    return path


def run(*words: object, cwd: pathlib.Path, program: str = "secateur") -> str:
    """What the command prints; it must end well."""
    ran = subprocess.run([binary(program), *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def pause(batches: int, file: pathlib.Path | None = None) -> dict[str, str]:
    """The environment in which a search visits so many batches of boxes, makes the file, and waits until it is told to end
    (`crates/search/oracle/src/pause.rs`): it is under way and not done, on a fast machine as on a slow one."""
    return {"SECATEUR_TEST_PAUSE": f"{batches}:{file}" if file else str(batches)}


def own_signals() -> None:
    """What runs in the background of a script has Ctrl-C ignored, and hands that on: for `preexec_fn`."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def started(words: list[object], **more) -> subprocess.Popen:
    """A command that a test will send a signal."""
    environment = {**os.environ, **more.pop("environment", {})}
    return subprocess.Popen(
        [*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        preexec_fn=more.pop("preexec_fn", own_signals), **more,
    )


def wait_for(file: pathlib.Path, process: subprocess.Popen) -> None:
    """Waits until a process has made this file."""
    until = time.monotonic() + PATIENCE
    while not file.exists():
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            raise AssertionError(f"it did not come to {file.name}: {process.communicate()}")
        time.sleep(0.005)
