"""The guide's service answers over a real connection, and gives what the model gives."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import secateur

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "serve.md"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    training, app, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len([line for line in app.splitlines() if line.strip()]) <= 15
    subprocess.run([sys.executable, "-c", training], cwd=folder, check=True)
    (folder / "app.py").write_text(app)
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", "0", "--log-level", "info", "--no-use-colors"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = []
            for line in server.stderr:
                lines.append(line)
                if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
                    break
            else:
                pytest.fail("".join(lines))
            # What the server says later must not fill the pipe.
            drain = threading.Thread(target=server.stderr.read, daemon=True)
            drain.start()
            yield found[1], folder
        finally:
            server.terminate()
            server.wait(60)


def asked(address: str, row: object) -> tuple[int, dict]:
    request = urllib.request.Request(f"{address}/predict", json.dumps(row).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_rows_are_answered_as_the_model_does(service):
    address, folder = service
    X, _ = load_breast_cancer(return_X_y=True, as_frame=True)
    expected = secateur.load(folder / "model.spk").predict_proba(X)[:, 1]
    for index in range(0, len(X), 57):
        row = X.iloc[index].to_dict()
        # In another order, as another client may send it.
        status, answer = asked(address, dict(reversed(row.items())))
        assert status == 200 and np.float32(answer["probability"]) == expected[index]
    missing = X.iloc[0].to_dict() | {"mean area": None}
    assert asked(address, missing)[0] == 200


def test_a_wrong_column_is_an_error_that_names_it(service):
    address, _ = service
    X, _ = load_breast_cancer(return_X_y=True, as_frame=True)
    row = X.iloc[0].to_dict()
    row["mean_radius"] = row.pop("mean radius")
    status, answer = asked(address, row)
    assert status == 422 and "mean radius" in answer["detail"] and "mean_radius" in answer["detail"]
    assert asked(address, {"mean radius": "large"})[0] == 422


def test_many_threads_share_a_model(service):
    _, folder = service
    model = secateur.load(folder / "model.spk")
    X, _ = load_breast_cancer(return_X_y=True)
    expected, found = model.raw_scores(X), [None] * 8

    def work(place):
        found[place] = [model.raw_scores(X) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(scores, expected) for scores in sum(found, []))
