"""There are few commands to know, and every one that the repository mentions exists."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def loaded(path: str):
    """A script of the repository as a module."""
    specification = importlib.util.spec_from_file_location(f"command_{pathlib.Path(path).stem}", ROOT / path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


run, bench, trust, environment = (
    loaded(path) for path in ("tests/run.py", "bench/__main__.py", "tests/trust.py", "dev/environment.py")
)
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"(?m)^([a-z][\w-]*):", MAKEFILE)
RESULTS = ROOT / "bench" / "results"


def tracked() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def text_of(path: pathlib.Path) -> str:
    """What a file says of the present: of the changelog what is not released yet."""
    text = path.read_text(encoding="utf-8")
    return re.split(r"(?m)^## \d", text)[0] if path.name == "CHANGELOG.md" else text


# Where commands are named: prose and comments between backticks, perhaps over the end of a line; and the
# lines of shell blocks, workflows and scripts.
QUOTED = re.compile(r"`((?:make|python3?)\s[^`]+)`")
LINE = re.compile(r"(?m)^\s*(?:- )?(?:run: )?\$? ?((?:make|python3?) [^#\n`]+)")
BLOCK = re.compile(r"(?ms)^```(?:sh|console|bash)\n(.*?)^```")


def commands(path: pathlib.Path, text: str) -> list[str]:
    found = [re.sub(r"\s*\n\s*(?://[/!]?|#)?\s*", " ", command) for command in QUOTED.findall(text)]
    shell = [text] if path.suffix in (".yml", "") else BLOCK.findall(text) if path.suffix == ".md" else []
    return found + [command for block in shell for command in LINE.findall(block)]


def problems(command: str) -> list[str]:
    """What a command names that does not exist. Of a part of a command, such as `make`, nothing is said."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    if words[0] == "make":
        if "-C" in words:
            return []
        return [f"no target {word}" for word in words[1:] if "=" not in word and word not in TARGETS]
    if words[1:3] == ["-m", "bench"]:
        return [f"no benchmark {word}" for word in words[3:4] if word not in {*bench.BENCHES, "NAME"}]
    script = words[1]
    if "/" not in script or not script.endswith(".py"):
        return []
    if not (ROOT / script).is_file():
        return [f"no script {script}"]
    if script == "tests/run.py":
        return [f"no part {word}" for word in words[2:] if not word.startswith("-") and word not in {*run.PARTS, "NAME"}]
    return []


def test_every_command_that_is_mentioned_exists():
    seen, wrong = 0, []
    for path in tracked():
        if path.suffix not in (".md", ".py", ".rs", ".toml", ".yml", ".txt", "") or path == pathlib.Path(__file__).resolve():
            continue
        try:
            text = text_of(path)
        except UnicodeDecodeError:
            continue
        for command in commands(path, text):
            seen += 1
            wrong += [f"{path.relative_to(ROOT)}: `{command}`: {problem}" for problem in problems(command)]
    assert not wrong, "\n".join(wrong)
    assert seen > 100


@pytest.mark.parametrize(
    "name, text, problem",
    [
        ("a.md", "Then `make nothing`.", "no target nothing"),
        ("a.md", "Then `make\n  nothing A=1`.", "no target nothing"),
        ("a.rs", "/// that `make\n/// nothing` built", "no target nothing"),
        ("a.md", "```sh\nmake test nothing    # why\n```", "no target nothing"),
        ("a.yml", "      - run: make nothing", "no target nothing"),
        ("a.md", "`python -m bench nothing --quick`", "no benchmark nothing"),
        ("a.md", "`python3 tests/run.py lint nothing`", "no part nothing"),
        ("a.md", "`python soak/nothing.py --models 3`", "no script soak/nothing.py"),
    ],
)
def test_a_command_that_does_not_exist_is_found(name, text, problem):
    path = pathlib.Path(name)
    assert [found for command in commands(path, text) for found in problems(command)] == [problem]
    good = text.replace("nothing.py", "run.py").replace("nothing", "arm" if "run.py" in text else "pack" if "bench" in text else "lint")
    assert good != text and not [found for command in commands(path, good) for found in problems(command)]


def test_the_makefile_is_short_and_says_what_each_target_does():
    assert len(TARGETS) <= 14 and len(MAKEFILE.splitlines()) <= 120
    assert re.search(r"(?m)^\.PHONY: (.*)", MAKEFILE).group(1).split() == TARGETS
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in TARGETS:
        assert re.search(rf"(?m)^{target} +\S", told), target


def test_parts_name_what_exists():
    for part in run.PARTS.values():
        assert set(part.after) <= set(run.PARTS), part.name
        for command in part.commands:
            for word in command.split():
                if re.fullmatch(r"[\w/-]+\.py", word) or word.startswith("python/"):
                    assert (ROOT / word).exists(), f"{part.name}: {word}"
            for group in re.findall(r"dev/environment\.py (\S+)", command):
                assert group in environment.groups(), f"{part.name}: {group}"
            for target in re.findall(r"make --no-print-directory ([\w-]+)", command):
                assert target in TARGETS, f"{part.name}: {target}"
    for name in re.findall(r"\$\(PART\) ([a-z][\w-]*)", MAKEFILE):
        assert name in run.PARTS, name


def test_a_part_that_is_asked_for_brings_its_environment():
    assert [part.name for part in run.asked_for(["lint"])] == ["venv", "lint"]
    assert [part.name for part in run.asked_for(["arm"])] == ["arm"]
    refused = subprocess.run([sys.executable, "tests/run.py", "nothing"], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2 and "there is no part nothing; there are venv, build" in refused.stderr


def test_no_unit_test_is_in_a_library_that_is_not_tested():
    libraries = [
        manifest.parent / "src"
        for manifest in (ROOT / "crates").glob("*/*/Cargo.toml")
        if tomllib.loads(manifest.read_text()).get("lib", {}).get("test", True) is False
    ]
    found = [path for folder in libraries for path in folder.rglob("*.rs") if re.search(r"#\[(cfg\()?test\b", path.read_text())]
    assert len(libraries) >= 5 and not found, found


def test_benchmarks_have_scripts_and_environments():
    for name, entry in bench.BENCHES.items():
        assert (ROOT / "bench" / entry.script).is_file(), name
        assert any(re.match("maturin==", wanted) for wanted in environment.requirements(entry.group)) or not entry.package, name
    told = subprocess.run([sys.executable, "-m", "bench"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name, entry in bench.BENCHES.items():
        assert re.search(rf"(?m)^{name} +{re.escape(entry.what)}$", told), name
    refused = subprocess.run([sys.executable, "-m", "bench", "nothing"], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2 and "there is no nothing; there are formats, prune" in refused.stderr
    # Every script with options of its own can be started by a name.
    scripts = {path.relative_to(ROOT / "bench").as_posix() for path in (ROOT / "bench").rglob("*.py") if "ArgumentParser" in path.read_text()}
    assert scripts == {entry.script for entry in bench.BENCHES.values()}


def test_groups_are_of_requirements_and_other_groups():
    for group in environment.groups():
        wanted = environment.requirements(group)
        assert wanted and all(re.match(r"[\w-]+(\[\w+\])?[=<>]", line) for line in wanted), group
    assert set(environment.requirements("libraries")) < set(environment.requirements("test"))


def test_the_trusted_crates_depend_on_what_they_may():
    for crate, made_of in trust.MADE_OF.items():
        assert trust.problem(crate, [*made_of, "num-bigint"]) is None
        assert "secateur-oracle" in trust.problem(crate, [*made_of, "secateur-oracle"])
        assert trust.problem(crate, sorted(made_of)[1:])
    for crate in trust.ALONE:
        assert trust.problem(crate, [crate]) is None
        assert trust.problem(crate, [crate, "libm"]) == f"{crate} must depend on nothing, and depends on libm"


def test_results_are_the_newest_page_of_each_kind_and_are_listed():
    pages = [path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.md") if path.name != "README.md" or path.parent != RESULTS]
    listed = re.findall(r"(?m)^\| \[([\w-]+)\]\(([^)]+)\) \|.*\| (\d{4}-\d\d-\d\d) \|", (RESULTS / "README.md").read_text())
    assert sorted(page for _, page, _ in listed) == sorted(pages)
    for kind, page, date in listed:
        assert page.removesuffix("/README.md").removesuffix(".md") == f"{date}-{kind}"
    assert len({kind for kind, _, _ in listed}) == len(listed)
