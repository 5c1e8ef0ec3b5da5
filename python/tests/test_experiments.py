"""The experiments: a reduced run from start to end, its resumption, and the baselines against their formulas."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from command import ROOT, binary

EXPERIMENTS = ROOT / "experiments"


def run(folder, *words: object) -> subprocess.CompletedProcess:
    program = [sys.executable, EXPERIMENTS / "run.py", "--out", folder, "--only", "iris,breast-cancer", "--seeds", "1"]
    program += ["--shrink", "10", "--limit", "2", "--no-certificates", "--secateur", binary(), *map(str, words)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments")
    run(folder, "main")
    return folder


def records(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_every_case_has_a_record_and_every_test_row_its_class(finished):
    found = records(finished)
    assert len({record["key"] for record in found}) == len(found)
    for record in found:
        assert record["status"] in ("done", "limit"), record
        assert record["fidelity"] == 1.0, record["key"]
        assert record["lower_bound"] <= record["trees_after"] <= record["trees_before"]
        assert record["minimal"] == (record["lower_bound"] == record["trees_after"])
        assert record["accuracy_after"] == record["accuracy"]
        parts = record["pruner_seconds"], record["oracle_seconds"]
        assert min(parts) >= 0 and sum(parts) <= record["seconds"], record["key"]
    learners = {record["learner"] for record in found}
    assert learners == {"AdaBoost", "GradientBoosting", "RandomForest", "LightGBM", "XGBoost"}
    assert {record["variant"] for record in found} == {"l0", "l1", "default"}


def test_pages_hold_every_table(finished):
    page = (finished / "README.md").read_text()
    for heading in ("Datasets", "l0 against l1", "M = 100, 200, 500, 1000", "Baselines", "Weights before", "all learners", "Appendix"):
        assert heading in page, heading
    # Iris and breast cancer: rows, columns, of which numeric, discrete and binary, classes.
    assert "| iris | 150 | 4 | 4 | 0 | 0 | 3 |\n| breast-cancer | 569 | 30 | 30 | 0 | 0 | 2 |" in page
    with (finished / "results.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(records(finished))
    for name in ("sizes.svg", "weights-before.svg", "weights-after.svg"):
        assert (finished / name).read_text().startswith("<svg")


def test_baselines_of_the_same_size_change_decisions(finished):
    """The paper's finding: at the size of the faithful model, the baselines are not faithful."""
    fidelities = [
        record["baselines"][method]["fidelity"]
        for record in records(finished)
        if "baselines" in record
        for method in ("ic", "imd", "drep")
    ]
    assert len(fidelities) == 3 * 2 * 5
    assert min(fidelities) < 1.0


def test_a_second_run_does_only_what_is_missing(finished):
    lines = (finished / "results.jsonl").read_text().splitlines()
    kept = lines[:-3]
    # The run was interrupted in the middle of a line.
    (finished / "results.jsonl").write_text("\n".join([*kept, lines[-3][:40]]) + "\n")
    run(finished, "main")
    again = (finished / "results.jsonl").read_text().splitlines()
    assert again[: len(kept)] == kept
    assert len(again) == len(lines) + 1
    assert {json.loads(line)["key"] for line in again if line.endswith("}")} == {json.loads(line)["key"] for line in lines}


def test_a_run_without_time_begins_nothing_and_a_later_one_goes_on(tmp_path):
    stopped = run(tmp_path, "appendix-l1", "--stop-after", "0")
    assert "32 runs were not begun" in stopped.stderr
    assert records(tmp_path) == []
    run(tmp_path, "appendix-l1")
    found = records(tmp_path)
    assert len(found) == 32 and {record["variant"] for record in found} == {"l1"}


# The formulas of the three publications, written down a second time and naively.


def contribution(votes, target):
    """Lu et al. 2010, equation 2: the individual contribution of each member."""
    members, rows = votes.shape
    total = np.zeros(members)
    for row in range(rows):
        classes, counts = np.unique(votes[:, row], return_counts=True)
        of = dict(zip(classes.tolist(), counts.tolist()))
        ordered = sorted(of.values(), reverse=True)
        most, second = ordered[0], ordered[1] if len(ordered) > 1 else 0
        right = of.get(int(target[row]), 0)
        for member in range(members):
            own = of[int(votes[member, row])]
            if votes[member, row] != target[row]:
                total[member] += right - own - most
            elif own == most and right == most:
                total[member] += second
            else:
                total[member] += 2 * most - right
    return total


def margin_and_diversity(votes, target, share=0.2):
    """Guo et al. 2018: correct votes on rows that are close, and that few others get right, count most."""
    members, rows = votes.shape
    total = np.zeros(members)
    for row in range(rows):
        right = (votes[:, row] == target[row]).sum()
        others = [(votes[:, row] == label).sum() for label in set(votes[:, row].tolist()) - {int(target[row])}]
        margin = max(abs(int(right) - int(max(others, default=0))), 1) / members
        for member in range(members):
            if votes[member, row] == target[row]:
                total[member] += -share * np.log(margin) - (1 - share) * np.log(right / members)
    return total


def diversity(votes, target, size):
    """Li et al. 2012 as in PyPruning: the best member, then those that agree least with the chosen ones."""
    members = len(votes)
    chosen = [int(np.argmin([(votes[member] != target).mean() for member in range(members)]))]
    while len(chosen) < size:
        joint = np.array([np.bincount(votes[chosen, row]).argmax() for row in range(votes.shape[1])])
        left = [member for member in range(members) if member not in chosen]
        chosen.append(min(left, key=lambda member: (votes[member] == joint).mean()))
    return chosen


@pytest.mark.parametrize("seed", range(6))
def test_baselines_follow_their_formulas(tmp_path, seed):
    import skops.io
    from sklearn.ensemble import AdaBoostClassifier

    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, size=(40, 3)).astype(float)
    target = (rows[:, 0] + rows[:, 1] + rng.integers(0, 3, size=40) > 6).astype(int)
    fitted = AdaBoostClassifier(n_estimators=9, random_state=seed).fit(rows, target)
    votes = np.array([member.predict(rows) for member in fitted.estimators_]).astype(int)
    model, table = tmp_path / "model.skops", tmp_path / "table.csv"
    skops.io.dump(fitted, model)
    lines = [",".join(map(repr, map(float, row))) + f",{label}" for row, label in zip(rows, target)]
    table.write_text("\n".join(["a,b,c,y", *lines]) + "\n")

    def chosen(method, size):
        command = [binary(), "prune", model, "-o", tmp_path / "out.skops", "--json", "--quiet", "--data", table, "--target", "y"]
        command += ["--method", method, "--size", str(size), "--accept-unproved"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["members"]["chosen"]

    for method, formula in (("ic", contribution), ("imd", margin_and_diversity)):
        scores = formula(votes, target)
        for size in (1, 3, 6):
            # Equal scores may stand in any order, but the scores chosen are the largest.
            own = sorted(scores[chosen(method, size)], reverse=True)
            assert own == pytest.approx(sorted(scores, reverse=True)[:size], rel=1e-12, abs=1e-12), method
    for size in (1, 3):
        own, expected = chosen("drep", size), diversity(votes, target, size)
        errors = [(votes[member] != target).mean() for member in (own[0], expected[0])]
        assert errors[0] == errors[1]
        if own[0] == expected[0]:
            assert own == expected
