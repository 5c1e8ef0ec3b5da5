"""The package itself: what it exports, imports and installs, and its errors, each kind raised once."""

import csv
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from prunable import case

import secateur

PROGRAMS = pathlib.Path(sys.executable).parent


def test_everything_that_is_exported_exists():
    for name in secateur.__all__:
        assert getattr(secateur, name) is not None
        assert name in dir(secateur)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        secateur.nothing


def refused_model():
    secateur.load({})


def refused_input():
    secateur.load(case("XGBClassifier").model).raw_scores(np.zeros((1, 99)))


def refused_comparison():
    secateur.verify(case("XGBClassifier").model, case("XGBClassifier, three classes").model)


def refused_edit():
    secateur.load(case("AdaBoostClassifier").model).to_bytes()


def refused_option():
    secateur.prune(case("XGBClassifier").model, effort="enormous")


def refused_certificate():
    model = case("XGBClassifier").model
    secateur.check(model, model, b"secateur certificate 9\n")


RAISED = {
    "CertificateError": (refused_certificate, "malformed.version"),
    "ModelError": (refused_model, "builtins.dict is not a model"),
    "InputError": (refused_input, "99"),
    "ComparisonError": (refused_comparison, "class"),
    "EditingError": (refused_edit, "skops"),
    "OptionError": (refused_option, "effort must be"),
}


@pytest.mark.parametrize("kind", RAISED)
def test_each_kind_of_error_is_raised_with_a_reason(kind):
    act, words = RAISED[kind]
    with pytest.raises(secateur.SecateurError, match=words) as raised:
        act()
    assert type(raised.value) is getattr(secateur, kind)
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is type(raised.value) and str(again) == str(raised.value)


CORPUS = pathlib.Path(__file__).parents[2] / "testdata" / "certificates"


@pytest.mark.parametrize("file", ["reject/close_too_early", "reject/another_original", "malformed/half"])
def test_a_refused_certificate_says_why_in_a_sentence(file):
    with open(CORPUS / "expected.tsv", newline="") as table:
        (row,) = [row for row in csv.DictReader(table, delimiter="\t") if row["file"] == file]
    models = [CORPUS / "models" / row[role] for role in ("original", "pruned")]
    with pytest.raises(secateur.CertificateError) as raised:
        secateur.check(*models, CORPUS / file)
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert (error.verdict, error.reason) == (row["verdict"], row["reason"])
        assert error.step == (None if row["step"] == "-" else int(row["step"]))
        assert error.message in str(error) and f"({error.reason}" in str(error)
        if error.verdict == "invalid":
            assert error.message == row["message"]


def test_there_are_no_other_kinds_of_errors():
    kinds = {name for name in secateur.__all__ if name.endswith("Error")}
    assert kinds == {*RAISED, "SecateurError"}
    assert all(issubclass(getattr(secateur, kind), secateur.SecateurError) for kind in kinds)


def test_a_pickle_is_refused_with_advice():
    with pytest.raises(secateur.ModelError, match="skops"):
        secateur.Model.parse(pickle.dumps([1, 2, 3]))


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        secateur.load(tmp_path / "nothing.json")


def test_messages_are_those_of_the_command_line(tmp_path):
    (tmp_path / "bad.json").write_text('{"learner": 3}')
    ran = command("secateur", "inspect", "bad.json", cwd=tmp_path)
    assert ran.returncode == 2
    with pytest.raises(secateur.ModelError) as raised:
        secateur.load(tmp_path / "bad.json")
    assert str(raised.value).removeprefix(f"{tmp_path}/") in ran.stderr


def test_model_libraries_are_not_imported():
    script = (
        "import sys, secateur\n"
        "found = {'sklearn', 'xgboost', 'lightgbm', 'pandas', 'polars', 'scipy', 'tqdm', 'onnx'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_file_is_pruned_without_any_model_library(tmp_path):
    case("LGBMClassifier").model.booster_.save_model(tmp_path / "model.txt")
    script = (
        "import sys, secateur\n"
        "for name in ('sklearn', 'xgboost', 'lightgbm', 'pandas', 'scipy'): sys.modules[name] = None\n"
        "print(secateur.prune('model.txt').trees_after)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert 0 < int(ran.stdout) < 20


def command(name: str, *words: str, cwd: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAMS / name, *words], cwd=cwd, capture_output=True, text=True)


def test_the_command_comes_with_the_package(tmp_path):
    assert "Usage: secateur" in command("secateur", "--help", cwd=tmp_path).stdout
    ran = command("secateur", "demo", "--dir", "demo", cwd=tmp_path)
    assert ran.returncode == 0 and (tmp_path / "demo" / "loans.txt").exists()
    ran = command("secateur", "inspect", "demo/loans.txt", cwd=tmp_path)
    assert "LightGBM" in ran.stdout and ran.returncode == 0
    assert command("secateur", "nonsense", cwd=tmp_path).returncode == 2
    assert command("secateur", "inspect", "nothing", cwd=tmp_path).returncode == 2


@pytest.mark.alone
def test_ctrl_c_ends_the_command_as_it_ends_the_binary(tmp_path):
    from test_verify import hard_pair

    for name, model in zip(("a.txt", "b.txt"), hard_pair()):
        (tmp_path / name).write_bytes(model.to_bytes())
    words = [PROGRAMS / "secateur", "verify", "a.txt", "b.txt", "--band", "0", "--time-limit", "60s"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        time.sleep(2.0)
        assert process.poll() is None
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
    assert process.returncode == 130
    assert time.monotonic() - sent < 1.0


def test_inspect_says_of_an_object_what_the_command_says_of_its_file(tmp_path, monkeypatch):
    import json

    own = case("LGBMClassifier")
    own.model.booster_.save_model(tmp_path / "model.txt")
    ran = command("secateur", "inspect", "model.txt", "--json", cwd=tmp_path)
    facts = json.loads(ran.stdout)
    assert secateur.inspect(own.model).to_dict() == facts | {"file": None, "bytes": None}
    monkeypatch.chdir(tmp_path)
    found = secateur.inspect("model.txt")
    assert dict(found) == facts
    assert str(found) == command("secateur", "inspect", "-v", "model.txt", cwd=tmp_path).stdout
    assert "LightGBM" in repr(found) and "<pre>" in found._repr_html_()
