"""`make test`, `make test-all` and `make check`: the parts of the tests, side by side where they can be.

    python3 tests/run.py            what `make test` runs: crates, formats, Python, C, the documents
    python3 tests/run.py --all      that with all seeds and cases, and what takes longer or more tools
    python3 tests/run.py --changed  format, clippy and tests of the crates that differ from main
    python3 tests/run.py rust lint  these parts alone
    python3 tests/run.py --list     the parts, what each needs, and what it is for

The output of a part goes to `target/test/PART.log`; of a part that fails, all of it is printed. At the
end stands a table with the time of each part (by the clock, and of all its processes together), and what
was not run and why. Nothing is left out silently: a part of `make test` whose tool is missing fails, and
a part of `make test-all` whose tool is missing is listed as not run.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOGS = ROOT / "target" / "test"
# Far more than any part of `make test` takes; `make test-all` has parts with limits of their own.
LIMIT = 3600.0
FEATURES = "--features secateur-wheel/extension-module"
PYTHON = ".venv/bin/python"


def rust_runner() -> dict[str, str]:
    """The environment in which cargo runs test binaries with a limit."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=False).stdout
    host = (re.findall(r"^host: (\S+)", told, re.MULTILINE) or ["unknown"])[0]
    name = f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER"
    return {name: f"{sys.executable} {ROOT / 'tests' / 'limit.py'}"}


@dataclass
class Part:
    """Commands that are run one after the other, when other parts have passed."""

    name: str
    what: str
    commands: list[str]
    after: tuple[str, ...] = ()
    # Tools without which `make test-all` does not run this, each with how to get it.
    tools: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    limit: float = LIMIT
    in_test: bool = False
    # Nothing else runs meanwhile.
    alone: bool = False


def venv(name: str) -> Part:
    return Part(name, "a venv with what `requirements-test.txt` pins", ["make --no-print-directory .venv/.installed"], in_test=True)


TEST = [
    venv("venv"),
    Part(
        "build",
        "all crates, their tests and the Python module, once, with every check on",
        [f"cargo build --profile test --workspace --lib --bins --tests --locked {FEATURES}"],
        in_test=True,
    ),
    Part(
        "rust",
        "the tests of all crates",
        [f"cargo test --workspace --tests --locked --no-fail-fast {FEATURES}", f"cargo test --workspace --doc --locked {FEATURES}"],
        after=("build",),
        in_test=True,
    ),
    Part("lint", "formatting, clippy, ruff, and what the trusted crates depend on", ["make --no-print-directory lint"],
         after=("build", "venv"), in_test=True),
    Part(
        "python",
        "the Python tests, against the real libraries, in two processes",
        [f"{PYTHON} tests/develop.py", f"{PYTHON} -m pytest -n 2 --dist worksteal --durations=30 -m 'not alone and not full'"],
        after=("build", "venv"),
        in_test=True,
    ),
    Part("c", "the small C library, static and shared, with the C example", ["make --no-print-directory test-c"], after=("rust",), in_test=True),
    Part(
        "alone",
        "the Python tests that measure time or memory, with nothing beside them",
        [f"{PYTHON} -m pytest -m 'alone and not full'"],
        after=("python",),
        in_test=True,
        alone=True,
    ),
]

RUSTUP = "rustup (https://rustup.rs)"
ALL = [
    Part("full", "the Python tests that `make test` leaves out: every library on a cluster, long cases", [f"{PYTHON} -m pytest -m full"],
         after=("alone",), alone=True),
    Part("docs", "the documentation of the crates and the site, warnings as errors", ["make --no-print-directory doc docs"], after=("lint",)),
    Part("fuzz-check", "the fuzz targets, compiled but not linked", ["make --no-print-directory fuzz-check"], after=("lint",)),
    Part("package", "pip install from the folder and from an sdist, crates and wheel as published",
         ["make --no-print-directory test-package package"], alone=True, after=("python",)),
    Part("demo", "the demo, without a warning of the compiler, and that a release has no hooks of tests",
         ["make --no-print-directory demo test-release"], after=("build",), environment={"RUSTFLAGS": "-D warnings"}),
    Part("soak", "random models of every library, and forged certificates", ["make --no-print-directory soak"], alone=True, after=("full",), limit=4 * LIMIT),
    Part("clang", "emitted C and the C library with clang", ["make --no-print-directory test-clang"], alone=True, after=("full",),
         tools={"clang": "apt-get install clang"}),
    Part("arm", "the runtime on ARM, emulated", ["make --no-print-directory test-arm"], after=("c",),
         tools={"qemu-aarch64": "apt-get install qemu-user", "target:aarch64-unknown-linux-musl": "rustup target add aarch64-unknown-linux-musl"}),
    Part("wasm", "models as WebAssembly in Node and in Chromium", ["make --no-print-directory test-wasm"], alone=True, after=("full",),
         tools={"node": "apt-get install nodejs", "chromium": "apt-get install chromium"}),
    Part("report", "the pages of --report in Chromium", ["make --no-print-directory test-report"], alone=True, after=("full",),
         tools={"chromium": "apt-get install chromium"}),
    Part("sanitizer", "the runtime and the C library under AddressSanitizer", ["make --no-print-directory test-sanitizer"], after=("c",)),
    Part("highs", "the suites of the solvers on HiGHS", ["make --no-print-directory test-highs"], after=("rust",),
         tools={"c++": "apt-get install g++"}),
    Part("miri", "the runtime under Miri", ["make --no-print-directory miri"], after=("c",), limit=4 * LIMIT,
         tools={"component:miri": "rustup toolchain install nightly --profile minimal --component miri --component rust-src"}),
    Part("fuzz", "every reader in libFuzzer for a minute", ["make --no-print-directory fuzz"], after=("c",), limit=4 * LIMIT,
         tools={"toolchain:nightly": "rustup toolchain install nightly --profile minimal",
                "cargo-fuzz": "cargo install cargo-fuzz --locked", "c++": "apt-get install g++"}),
    Part("notebooks", "the notebooks, executed", ["make --no-print-directory notebooks"], alone=True, after=("full",)),
]


def lacks(part: Part) -> list[str]:
    """What this part needs and is not here."""

    def works(*words: str) -> bool:
        try:
            return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def has(tool: str) -> bool:
        kind, _, name = tool.rpartition(":")
        if kind == "target":
            sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False).stdout.strip()
            return (pathlib.Path(sysroot) / "lib" / "rustlib" / name / "lib").is_dir()
        if kind == "toolchain":
            return works("cargo", f"+{name}", "--version")
        if kind == "component":
            return works("cargo", "+nightly", name, "--version")
        return shutil.which(name) is not None

    return [f"{tool.rpartition(':')[2]} is missing ({how})" for tool, how in part.tools.items() if not has(tool)]


@dataclass
class Ran:
    passed: bool
    seconds: float
    processor: float
    said: str


class Runner:
    """Starts parts as soon as those before them have passed."""

    def __init__(self, parts: list[Part], environment: dict[str, str]) -> None:
        self.parts = parts
        self.environment = environment
        self.done: dict[str, Ran] = {}
        self.left_out: dict[str, str] = {}
        self.running: dict[str, subprocess.Popen | None] = {}
        self.changed = threading.Condition()
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:5.0f} s] {text}", flush=True)

    def work(self) -> bool:
        names = {part.name for part in self.parts}
        waiting = list(self.parts)
        try:
            with self.changed:
                while waiting or self.running:
                    for part in list(waiting):
                        before = [name for name in part.after if name in names]
                        failed = [name for name in before if name in self.left_out or name in self.done and not self.done[name].passed]
                        if failed:
                            self.left_out[part.name] = f"it needs {', '.join(failed)}"
                            waiting.remove(part)
                        elif all(name in self.done for name in before) and not (part.alone and self.running) and not self.lone():
                            waiting.remove(part)
                            self.running[part.name] = None
                            threading.Thread(target=self.run, args=(part,), daemon=True).start()
                    self.changed.wait(timeout=1.0)
        except KeyboardInterrupt:
            self.end_all()
            raise
        return not self.left_out and all(ran.passed for ran in self.done.values())

    def lone(self) -> bool:
        return any(part.alone for part in self.parts if part.name in self.running)

    def run(self, part: Part) -> None:
        self.say(f"{part.name}: {part.what}")
        log = LOGS / f"{part.name}.log"
        started, processor, passed = time.monotonic(), 0.0, True
        with log.open("wb") as out:
            for command in part.commands:
                out.write(f"$ {command}\n".encode())
                out.flush()
                process = subprocess.Popen(
                    command, shell=True, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                    env={**self.environment, **part.environment}, start_new_session=True,
                )
                with self.changed:
                    self.running[part.name] = process
                timer = threading.Timer(part.limit, self.kill, (process,))
                timer.start()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                late = not timer.is_alive()
                timer.cancel()
                # A test that was ended leaves what it had started.
                self.kill(process)
                processor += usage.ru_utime + usage.ru_stime
                if process.returncode != 0:
                    passed = False
                    if late:
                        out.write(f"\nkilled after {part.limit:.0f} s: {command}\n".encode())
                    break
        seconds = time.monotonic() - started
        text = log.read_text(errors="replace")
        ran = Ran(passed, seconds, processor, summary(text))
        with self.changed:
            if not passed:
                print(f"\n--- {part.name} failed, this is what it said ---\n{text}\n--- {part.name} failed ---\n", flush=True)
            self.say(f"{part.name}: {'passed' if passed else 'FAILED'} after {seconds:.0f} s {ran.said}")
            self.done[part.name] = ran
            del self.running[part.name]
            self.changed.notify()

    @staticmethod
    def kill(process: subprocess.Popen) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def end_all(self) -> None:
        for process in self.running.values():
            if process is not None:
                self.kill(process)


def summary(text: str) -> str:
    """How many tests a part has run, where it says so."""
    rust = [(int(passed), int(ignored)) for passed, ignored in re.findall(r"^test result: ok\. (\d+) passed; 0 failed; (\d+) ignored", text, re.MULTILINE)]
    pytest = re.findall(r"^(?:=+ )?((?:\d+ \w+, )*\d+ passed.*?)(?: =+)?$", text, re.MULTILINE)
    if rust:
        ignored = sum(count for _, count in rust)
        return f"({sum(count for count, _ in rust)} tests{f', {ignored} ignored' if ignored else ''})"
    return f"({pytest[-1]})" if pytest else ""


def changed_crates() -> list[str]:
    """The crates that differ from the main branch, saved or not."""
    base = subprocess.run(["git", "merge-base", "HEAD", "main"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    told = subprocess.run(["git", "diff", "--name-only", base or "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    told += subprocess.run(["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = set()
    for path in map(pathlib.PurePosixPath, told.splitlines()):
        for folder in path.parents:
            manifest = ROOT / folder / "Cargo.toml"
            if manifest.exists() and str(folder).startswith("crates"):
                found.add(re.search(r'^name = "(.*)"', manifest.read_text(), re.MULTILINE).group(1))
                break
    return sorted(found)


def check_parts() -> list[Part]:
    crates = changed_crates()
    packages = " ".join(f"-p {crate}" for crate in crates)
    parts = [Part("format", "formatting", ["cargo fmt --all --check"])]
    tested = [crate for crate in crates if crate not in ("secateur-python", "secateur-wheel")]
    if crates:
        parts.append(Part("clippy", f"clippy of {', '.join(crates)}", [f"cargo clippy --all-targets --locked {packages} -- -D warnings"]))
    if tested:
        parts.append(Part("tests", f"the tests of {', '.join(tested)}",
                          [f"cargo test --locked {' '.join(f'-p {crate}' for crate in tested)}"], after=("clippy",)))
    return parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for part in [*TEST, *ALL]:
            needs = f" (after {', '.join(part.after)})" if part.after else ""
            print(f"{part.name:12}{'test' if part.in_test else 'all':6}{part.what}{needs}")
        return 0
    environment = {**os.environ, **rust_runner()}
    # What make has set for its own jobs is not for the commands that parts run.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    parts = check_parts() if arguments.changed else [*TEST, *ALL] if arguments.all else TEST
    if arguments.parts:
        known = {part.name: part for part in [*TEST, *ALL]}
        unknown = sorted(set(arguments.parts) - set(known))
        if unknown:
            parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(known)}")
        parts = [part for part in known.values() if part.name in arguments.parts]
    if arguments.all:
        environment["SECATEUR_TEST_SHARE"] = "100"
    LOGS.mkdir(parents=True, exist_ok=True)
    not_run = {}
    if arguments.all:
        for part in list(parts):
            if missing := lacks(part):
                not_run[part.name] = "; ".join(missing)
                parts.remove(part)
    runner = Runner(parts, environment)
    try:
        good = runner.work()
    except KeyboardInterrupt:
        print("\ninterrupted")
        return 130
    print(f"\n{'part':12}{'':8}{'seconds':>8}{'processor':>11}")
    for part in parts:
        if ran := runner.done.get(part.name):
            print(f"{part.name:12}{'passed' if ran.passed else 'FAILED':8}{ran.seconds:8.0f}{ran.processor:11.0f}  {ran.said}")
    total = time.monotonic() - runner.started
    print(f"{'together':12}{'':8}{total:8.0f}{sum(ran.processor for ran in runner.done.values()):11.0f}")
    for name, why in {**not_run, **runner.left_out}.items():
        print(f"not run: {name}: {why}")
    print("all that was run has passed" if good else "something has FAILED: see above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
