"""Plays a new user: a fresh venv from the built wheel, models of every library, wrappers, mistakes, Ctrl-C.

`python3 tests/run.py new-user` runs it and writes what the user sees to `target/new-user/transcript.md`,
which the scheduled workflow keeps. Everything runs on a terminal of 80 columns, because people use such
terminals; a line that is longer, a traceback that should not be there, or another exit code is reported at
the end.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

COLUMNS = 80
HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ["scikit-learn", "xgboost-cpu", "lightgbm", "catboost", "onnx", "onnxruntime", "skl2onnx", "skops", "pandas"]

TRAIN = '''
import lightgbm, skops.io, xgboost
from catboost import CatBoostClassifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import *
from sklearn.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X.columns = [name.replace(" ", "_") for name in X.columns]
X.assign(benign=y).to_csv("patients.csv", index=False)
for name, model in {
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(),
    "extra": ExtraTreesClassifier(),
    "boosting": GradientBoostingClassifier(),
    "hist": HistGradientBoostingClassifier(),
    "ada": AdaBoostClassifier(),
}.items():
    skops.io.dump(model.fit(X, y), f"{name}.skops")
xgboost.XGBClassifier().fit(X, y).save_model("xgb.json")
xgboost.XGBRFClassifier().fit(X, y).save_model("xgbrf.ubj")
lightgbm.LGBMClassifier(verbose=-1).fit(X, y).booster_.save_model("lgbm.txt")
CatBoostClassifier(verbose=0, allow_writing_files=False).fit(X, y).save_model("cat.cbm")
skops.io.dump(GradientBoostingClassifier().fit(*load_wine(return_X_y=True)), "wine.skops")
xgboost.XGBRegressor().fit(*load_diabetes(return_X_y=True)).save_model("regressor.json")
'''

PYTHON = '''
import secateur, xgboost
from sklearn.datasets import load_breast_cancer
X, y = load_breast_cancer(return_X_y=True)
model = xgboost.XGBClassifier(max_depth=1).fit(X, y)
result = secateur.prune(model, X, y=y)
print(result)
print(secateur.verify(model, result.model))
'''

WRAPPERS = '''
import secateur
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X, y = load_breast_cancer(return_X_y=True)
stumps = AdaBoostClassifier(random_state=0)
for wrapper in (
    make_pipeline(StandardScaler(), stumps),
    GridSearchCV(stumps, {"n_estimators": [20, 40]}),
    FixedThresholdClassifier(stumps, threshold=0.4, response_method="predict_proba"),
    VotingClassifier([("one", stumps)], voting="soft"),
    StackingClassifier([("one", stumps)]),
    CalibratedClassifierCV(stumps),
    OneVsRestClassifier(stumps),
):
    print(type(wrapper).__name__)
    try:
        print("   ", repr(secateur.prune(wrapper.fit(X, y), X, effort="fast")))
    except secateur.SecateurError as error:
        print("   ", type(error).__name__ + ":", error)
'''

CONVERT = '''
import numpy as np, skops.io
from skl2onnx import to_onnx
tree = skops.io.load("tree.skops", trusted=skops.io.get_untrusted_types(file="tree.skops"))
onnx = to_onnx(tree, np.zeros((1, 30), np.float32), options={"zipmap": False})
open("tree.onnx", "wb").write(onnx.SerializeToString())
'''

BAD = '''
import pathlib
text = pathlib.Path("lgbm.txt").read_text()
pathlib.Path("half.txt").write_text(text[: len(text) // 2])
pathlib.Path("nonsense.json").write_text('{"hello": "world"}')
pathlib.Path("empty.onnx").write_bytes(b"")
rows = pathlib.Path("patients.csv").read_text().splitlines()
pathlib.Path("short.csv").write_text("\\n".join(row.rsplit(",", 3)[0] for row in rows[:5]))
pathlib.Path("words.csv").write_text("\\n".join([rows[0], rows[1].replace("17.99", "tall")]))
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=pathlib.Path, help="the built wheel")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parents[1] / "target/new-user/transcript.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        play = Play(pathlib.Path(folder))
        play.install(options.wheel.resolve())
        script(play)
        options.out.write_text(play.text())
    print(f"{options.out}: {play.commands} commands, {play.seconds:.0f} s")
    if play.problems:
        raise SystemExit("\n".join(play.problems))


def script(play: Play) -> None:
    play.say("First look", "What is this, and does it work here?")
    play.run("secateur", code=2)
    play.run("secateur demo")
    play.run("secateur --version")

    play.say("Default models", "Twelve models as their libraries make them unless told otherwise, in files.")
    play.file("train.py", TRAIN)
    play.run("python -W ignore train.py && ls")
    play.run("secateur inspect lgbm.txt")
    for name in ("tree.skops", "ada.skops", "boosting.skops", "hist.skops", "forest.skops", "extra.skops", "wine.skops"):
        play.run(f"secateur prune {name} -o smaller.skops", code=None)
    for name in ("xgb.json", "xgbrf.ubj", "lgbm.txt", "cat.cbm"):
        end = name.rsplit(".", 1)[1]
        play.run(f"secateur prune {name} -o smaller.{end} --data patients.csv --target benign --certificate proof.cert", code=None)
        play.run(f"secateur-check {name} smaller.{end} proof.cert")
    play.run("secateur prune regressor.json -o smaller.json", code=2)
    play.run("secateur prune regressor.json -o smaller.json --within 1 --time-limit 30s", code=None)

    play.say("Small and fast", "Where no tree can go.")
    play.run("secateur pack lgbm.txt -o lgbm.spk")
    play.run("secateur self-test lgbm.spk")
    play.run("secateur predict lgbm.spk --data patients.csv --target benign --proba | head -3")

    play.say("Conversions", "Is the ONNX file the same model?")
    play.file("convert.py", CONVERT)
    play.run("python -W ignore convert.py")
    play.run("secateur verify tree.skops tree.onnx", code=None)
    play.run("secateur verify xgb.json lgbm.txt --data patients.csv --target benign", code=1)
    play.run("secateur verify xgb.json xgb.json --scores")

    play.say("From Python", "Fitted objects, and wrappers around them.")
    play.file("live.py", PYTHON)
    play.run("python -W ignore live.py")
    play.file("wrappers.py", WRAPPERS)
    play.run("python -W ignore wrappers.py")

    play.say("Mistakes", "What everybody does once.")
    play.file("bad.py", BAD)
    play.run("python bad.py")
    for words in (
        "prune lgbm.txt -o lgbm.txt",
        "prune lgmb.txt -o out.txt",
        "prune half.txt -o out.txt",
        "prune nonsense.json -o out.json",
        "inspect empty.onnx",
        "inspect patients.csv",
        "prune lgbm.txt -o out.txt --data short.csv",
        "predict lgbm.txt --data words.csv",
        "prune lgbm.txt -o out.txt --effort maximal",
        "prune lgbm.txt",
        "prune lgbm.txt -o out.txt --time-limit 10",
        "verify lgbm.txt wine.skops",
        "predict lgbm.txt --data patients.csv --target malignant",
    ):
        play.run(f"secateur {words}", code=2)
    play.run("ls out.* 2>/dev/null | wc -l")

    play.say("Ctrl-C", "After three seconds: the best model that is proved by then is written.")
    play.run("secateur prune forest.skops -o best.skops --effort minimum --time-limit 10m", code=130, interrupt=3)
    play.run("secateur verify forest.skops best.skops --time-limit 2m")


class Play:
    """A terminal, and what was seen on it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.parts: list[str] = []
        self.problems: list[str] = []
        self.commands = 0
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def install(self, wheel: pathlib.Path) -> None:
        """A venv of its own: whatever the package needs, it must bring."""
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        pip = [self.folder / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, wheel, *LIBRARIES], check=True)
        (self.folder / "work").mkdir()

    def say(self, title: str, words: str) -> None:
        self.parts.append(f"## {title}\n\n{words}\n")

    def file(self, name: str, content: str) -> None:
        (self.folder / "work" / name).write_text(content.lstrip())
        self.parts.append(f"`{name}`:\n\n```python\n{content.strip()}\n```\n")

    def run(self, command: str, code: int | None = 0, interrupt: float | None = None) -> None:
        """Runs a command in a shell on the terminal; it must end with that code, if there is one."""
        self.commands += 1
        print(f"{self.seconds:5.0f} s  {command}", flush=True)
        seen, ended = terminal(command, self.folder, interrupt)
        note = "" if interrupt is None else f"    # Ctrl-C after {interrupt:.0f} s"
        self.parts.append(f"```console\n$ {command}{note}\n{seen}```\n" + (f"Exit code {ended}.\n" if ended else ""))
        problem = None
        if code is not None and ended != code:
            problem = f"it ended with {ended} and not with {code}"
        if "Traceback" in seen or "panicked" in seen:
            problem = "it fell over"
        # A command that is shown stays whole, so that it can be copied.
        shown = [line for line in seen.splitlines() if not line.startswith("$ ")]
        long = [line for line in shown if len(line) > COLUMNS and " " in line[:COLUMNS].strip()]
        if long and command.startswith("secateur"):
            problem = f"a line is longer than {COLUMNS} columns: {long[0]}"
        if problem:
            self.problems.append(f"{command}: {problem}")

    def text(self) -> str:
        head = (HERE / "opening.txt").read_text()
        return head + "\n" + "\n".join(self.parts)


def terminal(command: str, folder: pathlib.Path, interrupt: float | None) -> tuple[str, int]:
    """What a person sees at the end: live lines that were taken back are gone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["PATH"] = os.pathsep.join([str(folder / "venv/bin"), environment["PATH"]])
    environment |= {"TERM": "xterm", "COLUMNS": str(COLUMNS)}
    child, screen = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 25, COLUMNS, 0, 0))
        os.chdir(folder / "work")
        os.execvpe("bash", ["bash", "-c", command], environment)
    started, content, sent = time.monotonic(), b"", False
    while True:
        ready, _, _ = select.select([screen], [], [], 0.1)
        if ready:
            try:
                chunk = os.read(screen, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                break
            content += chunk
        if interrupt is not None and not sent and time.monotonic() - started > interrupt:
            sent = True
            os.write(screen, b"\x03")
        if time.monotonic() - started > 900:
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(screen)
    text = content.decode(errors="replace").replace("\r\n", "\n").replace(str(folder / "work"), "~")
    # A live line begins with a carriage return and is overwritten by the next.
    lines = [line.split("\r")[-1] for line in text.split("\n")]
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", "\n".join(lines))
    return text, os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
