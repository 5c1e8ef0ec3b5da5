"""`make test`, `make test-all` and `make check`: the parts of the tests, side by side where they can be.

    python3 tests/run.py            what `make test` runs: crates, formats, Python, C, the documents
    python3 tests/run.py --all      that with all seeds and cases, and what takes longer or more tools
    python3 tests/run.py --changed  format, clippy and tests of the crates that differ from main
    python3 tests/run.py rust lint  these parts alone; of a single one the output goes to the terminal
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


def venv(group: str) -> str:
    """The command that makes the virtual environment of a dependency group."""
    return f"{sys.executable} dev/environment.py {group}"


TEST = [
    Part("venv", "`.venv`, with the group `test` of pyproject.toml", [venv("test")], in_test=True),
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
    Part(
        "lint",
        "formatting, clippy, ruff, and what the trusted crates depend on",
        [
            ".venv/bin/ruff check --quiet",
            "cargo fmt --all --check",
            f"cargo clippy --workspace --all-targets --locked {FEATURES},secateur-check/program -- -D warnings",
            f"{PYTHON} tests/trust.py",
        ],
        after=("build", "venv"),
        in_test=True,
    ),
    Part(
        "python",
        "the Python tests, against the real libraries, in two processes",
        [f"{PYTHON} tests/develop.py", f"{PYTHON} -m pytest -n 2 --dist worksteal --durations=30 -m 'not alone and not full'"],
        after=("build", "venv"),
        in_test=True,
    ),
    Part(
        "c",
        "the small C library, static and shared, with the C example",
        ["make --no-print-directory c-library"]
        + [f"SECATEUR_C_LIBRARY={ROOT}/target/small/libsecateur_c.{kind} cargo test --locked -p secateur-c --test example" for kind in ("a", "so")],
        after=("rust",),
        in_test=True,
    ),
    Part(
        "alone",
        "the Python tests that measure time or memory, with nothing beside them",
        [f"{PYTHON} -m pytest -m 'alone and not full'"],
        after=("python",),
        in_test=True,
        alone=True,
    ),
]

CHROMIUM = {"chromium": "apt-get install chromium"}
ARM = "aarch64-unknown-linux-musl"
RELEASE = "maturin develop --release --locked --quiet"
# What is published: all members but the tests' crate and the two that make the Python module.
PUBLISHED = "--workspace --exclude secateur-testkit --exclude secateur-wheel --exclude secateur-python"
ALL = [
    Part("full", "the Python tests that `make test` leaves out: every library on a cluster, long cases", [f"{PYTHON} -m pytest -m full"],
         after=("alone",), alone=True),
    Part(
        "docs",
        "the crates' documentation and the site in target/site, warnings as errors",
        [
            venv("docs"),
            'RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet',
            "rm -rf target/site && target/docs-venv/bin/sphinx-build -q -W --keep-going -c docs . target/site",
            "cp -r target/doc target/site/rust",
            """echo '<meta http-equiv="refresh" content="0; url=docs/index.html">' > target/site/index.html""",
        ],
        after=("lint",),
    ),
    # A workspace of its own, which is why "lint" does not see it.
    Part("fuzz-check", "the fuzz targets, compiled but not linked, which takes a nightly compiler and C++",
         ["cargo check --manifest-path fuzz/Cargo.toml --no-default-features --locked --target-dir target"], after=("lint",)),
    Part("install", "a fresh venv, pip install, and the README's script: from the folder and from an sdist",
         [f"{PYTHON} python/tests/fresh_install.py"], alone=True, after=("python",)),
    Part(
        "package",
        "crates, wheel and sdist in target/packages as they are published",
        [
            venv("publish"),
            f"cargo package {PUBLISHED} --locked --allow-dirty",
            "rm -rf target/packages && .venv/bin/maturin build --profile dist --locked --sdist --out target/packages",
            "target/publish-venv/bin/twine check --strict target/packages/*",
        ],
        alone=True,
        after=("install",),
    ),
    Part("demo", "the demo, without a warning of the compiler", ["make --no-print-directory demo"],
         after=("build",), environment={"RUSTFLAGS": "-D warnings"}),
    Part(
        "hooks",
        "a release has none of the hooks that tests use",
        ["cargo build --release --locked --quiet -p secateur-cli --bins", "! grep -l SECATEUR_TEST_ target/release/secateur target/release/secateur-check"],
        after=("demo",),
    ),
    Part(
        "soak",
        "random models of every library, and forged certificates, for SOAK_SECONDS=3600",
        [f"VIRTUAL_ENV={ROOT}/.venv .venv/bin/{RELEASE}", f"{PYTHON} soak/run.py --seconds ${{SOAK_SECONDS:-3600}} $SOAK_OPTIONS"],
        alone=True,
        after=("full",),
        limit=4 * LIMIT,
    ),
    Part(
        "clang",
        "emitted C and the C library with clang",
        [
            "cargo test --locked -p secateur-emit -p secateur-c",
            "cargo test --locked -p secateur-cli --test black_box pack_source",
            f"{PYTHON} tests/develop.py",
            f"{PYTHON} -m pytest python/tests/test_source.py",
        ],
        alone=True,
        after=("full",),
        tools={"clang": "apt-get install clang"},
        environment={"CC": "clang"},
    ),
    # The tests are linked without a C compiler for ARM, and an emulator runs them.
    Part(
        "arm",
        "the runtime on ARM with NEON, emulated",
        [f"cargo test --locked -p secateur-runtime --lib --target {ARM}"],
        after=("c",),
        tools={"qemu-aarch64": "apt-get install qemu-user", f"target:{ARM}": f"rustup target add {ARM}"},
        environment={
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER": "rust-lld",
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER": "qemu-aarch64",
        },
    ),
    Part("wasm", "models as WebAssembly in Node and in Chromium", [f"{PYTHON} tests/develop.py", f"{PYTHON} -m pytest python/web"],
         alone=True, after=("full",), tools={"node": "apt-get install nodejs"} | CHROMIUM, environment={"PYTHONPATH": "python/tests"}),
    Part(
        "report",
        "the pages of --report in Chromium, with pictures in target/report-shots",
        [
            "cargo build --release --locked --quiet --bin secateur",
            "rm -rf target/report-pages target/report-shots",
            "cargo run --quiet --locked -p secateur-report --example pages -- target/report-pages",
            f"{PYTHON} crates/front/report/browser/outcomes.py target/release/secateur target/report-pages",
            f"{PYTHON} crates/front/report/browser/check.py target/report-pages --shots target/report-shots --need 14",
        ],
        alone=True,
        after=("full",),
        tools=CHROMIUM,
    ),
    # With the stable compiler, which has the sanitizer for those who set RUSTC_BOOTSTRAP. Rust's standard
    # library is not instrumented: what it does with wrong arguments is not seen, what the runtime reads and
    # writes of its memory is. Programs of C are compiled with the sanitizer of the C compiler.
    Part(
        "sanitizer",
        "the runtime and the C library under AddressSanitizer, on x86-64 Linux",
        ["cargo test --locked -p secateur-runtime -p secateur-c --lib --tests --target x86_64-unknown-linux-gnu --target-dir target/sanitizer"],
        after=("c",),
        environment={"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": "-Zsanitizer=address", "SECATEUR_C_FLAGS": "-fsanitize=address"},
    ),
    # Miri sees reads outside of a table and undefined behaviour: the paths without wider instructions, as
    # it has none.
    Part("miri", "the runtime under Miri", ["cargo +nightly miri test --package secateur-runtime --lib --target-dir target/miri"],
         after=("c",), limit=4 * LIMIT,
         tools={"component:miri": "rustup toolchain install nightly --profile minimal --component miri --component rust-src"}),
    Part("fuzz", "every reader in libFuzzer for FUZZ_SECONDS=60", [f"{sys.executable} fuzz/run.py --seconds ${{FUZZ_SECONDS:-60}} $FUZZ_TARGETS"],
         after=("c",), limit=4 * LIMIT,
         tools={"toolchain:nightly": "rustup toolchain install nightly --profile minimal",
                "cargo-fuzz": "cargo install cargo-fuzz --locked", "c++": "apt-get install g++"}),
    Part(
        "notebooks",
        "the notebooks of docs/notebooks, made and executed",
        [
            venv("notebooks"),
            f"VIRTUAL_ENV={ROOT}/target/notebooks-venv target/notebooks-venv/bin/{RELEASE}",
            f'PATH="{ROOT}/target/notebooks-venv/bin:$PATH" python docs/notebooks/make.py',
        ],
        alone=True,
        after=("full",),
    ),
]
# Parts that run only when they are asked for by name.
NAMED = [
    Part(
        "new-user",
        "a new user's first hour on a terminal, from the wheel alone, in target/new-user/transcript.md",
        [
            "rm -rf target/new-user && .venv/bin/maturin build --release --locked --quiet --out target/new-user",
            f"{sys.executable} docs/new-user/play.py target/new-user/*.whl",
        ],
    ),
    Part(
        "catboost-rows",
        "10,000 hostile rows for every CatBoost fixture, by CatBoost 1.2 and 1.2.10",
        [
            venv("catboost-rows"),
            "mkdir -p target/catboost-rows/1.2 target/catboost-rows/1.2.10",
            "target/catboost-rows-venv/bin/python testdata/models/catboost/make.py target/catboost-rows/1.2 10000",
            f"{PYTHON} testdata/models/catboost/make.py target/catboost-rows/1.2.10 10000",
        ]
        + [
            f"CATBOOST_FIXTURES={ROOT}/target/catboost-rows/{version} cargo test --release --locked --quiet -p secateur-formats"
            " --test it catboost_fixtures::scores_and_classes"
            for version in ("1.2", "1.2.10")
        ],
        tools={"python3.11": "which CatBoost 1.2 supports"},
    ),
]
PARTS = {part.name: part for part in [*TEST, *ALL, *NAMED]}


def asked_for(names: list[str]) -> list[Part]:
    """The parts with these names, and `venv` where one of them uses it."""
    parts = [part for part in PARTS.values() if part.name in names]
    uses_venv = any(".venv/" in command for part in parts for command in part.commands)
    return [PARTS["venv"], *parts] if uses_venv and "venv" not in names else parts


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

    def __init__(self, parts: list[Part], environment: dict[str, str], watched: str | None) -> None:
        self.parts = parts
        self.environment = environment
        # The part whose output goes to the terminal, not to its log.
        self.watched = watched
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
        watched = part.name == self.watched
        started, processor, passed = time.monotonic(), 0.0, True
        with log.open("wb") as out:
            for command in part.commands:
                out.write(f"$ {command}\n".encode())
                out.flush()
                if watched:
                    print(f"$ {command}", flush=True)
                process = subprocess.Popen(
                    command, shell=True, cwd=ROOT, stdin=subprocess.DEVNULL,
                    stdout=None if watched else out, stderr=None if watched else subprocess.STDOUT,
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
            if not passed and not watched:
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
    parts = [Part("format", "formatting, and words", ["cargo fmt --all --check", f"{sys.executable} dev/words.py"])]
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
        for part in PARTS.values():
            started_by = "test" if part.in_test else "name" if part in NAMED else "all"
            needs = f" (after {', '.join(part.after)})" if part.after else ""
            print(f"{part.name:14}{started_by:6}{part.what}{needs}")
        return 0
    environment = {**os.environ, **rust_runner()}
    # What make has set for its own jobs is not for the commands that parts run.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    parts = check_parts() if arguments.changed else [*TEST, *ALL] if arguments.all else TEST
    if arguments.parts:
        unknown = sorted(set(arguments.parts) - set(PARTS))
        if unknown:
            parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
        parts = asked_for(arguments.parts)
        for part in parts:
            if missing := lacks(part):
                parser.error(f"{part.name}: {'; '.join(missing)}")
    if arguments.all:
        environment["SECATEUR_TEST_SHARE"] = "100"
    LOGS.mkdir(parents=True, exist_ok=True)
    not_run = {}
    if arguments.all:
        for part in list(parts):
            if missing := lacks(part):
                not_run[part.name] = "; ".join(missing)
                parts.remove(part)
    # Of one part that was asked for, one sees what it does.
    runner = Runner(parts, environment, watched=arguments.parts[0] if len(arguments.parts) == 1 else None)
    try:
        good = runner.work()
    except KeyboardInterrupt:
        print("\ninterrupted")
        return 130
    print(f"\n{'part':14}{'':8}{'seconds':>8}{'processor':>11}")
    for part in parts:
        if ran := runner.done.get(part.name):
            print(f"{part.name:14}{'passed' if ran.passed else 'FAILED':8}{ran.seconds:8.0f}{ran.processor:11.0f}  {ran.said}")
    total = time.monotonic() - runner.started
    print(f"{'together':14}{'':8}{total:8.0f}{sum(ran.processor for ran in runner.done.values()):11.0f}")
    for name, why in {**not_run, **runner.left_out}.items():
        print(f"not run: {name}: {why}")
    print("all that was run has passed" if good else "something has FAILED: see above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
