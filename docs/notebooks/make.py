"""Makes and executes the notebooks: `python3 tests/run.py notebooks`. Their source is here; a run computes
what they show."""

from __future__ import annotations

import pathlib
import re

import nbclient
import nbformat

HERE = pathlib.Path(__file__).parent

SHRINK = """
# Fewer trees, the same decisions, and a proof

A model of 100 stumps on a medical table. How many of them does it need? `secateur.prune` answers that for *every* input, not for
the rows at hand, and gives back a model of the same kind.

--- code
import secateur
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = XGBClassifier(n_estimators=100, max_depth=1, random_state=0, n_jobs=1).fit(X_train, y_train)
result = secateur.prune(model, X_train, y=y_train, certificate="pruned.cert")
result

---
The picture shows each tree's weight before and after. In words, with what is claimed and what is not:

--- code
print(result)

---
Every decision on the test rows is the same. That had to be so: it is proved for all inputs, and the test only looks at some.

--- code
smaller = result.model
assert (smaller.predict(X_test) == model.predict(X_test)).all()
type(smaller).__name__, smaller.get_booster().num_boosted_rounds()

---
## The proof, checked by somebody else

The certificate was checked before `prune` returned. Whoever gets the two models and the certificate can check it again, in exact
arithmetic and without the search. Change a leaf, and it is refused.

--- code
model.save_model("model.json")
smaller.save_model("pruned.json")
claim = secateur.check("model.json", "pruned.json", "pruned.cert")
claim["band"]

--- code
other = XGBClassifier(n_estimators=99, max_depth=1, random_state=0, n_jobs=1).fit(X_train, y_train)
try:
    secateur.check(other, "pruned.json", "pruned.cert")
except secateur.CertificateError as error:
    print(error)

---
## What is not kept

Decisions are kept, probabilities are not, unless you ask for it. Here is how far they move on the training rows, and what keeping every score leaves:

--- code
print(result.probability_shift)
kept = secateur.prune(model, X_train, keep="scores")
print(kept.trees_before, "->", kept.trees_after, "trees with the same scores, up to rounding")

---
## Where nothing can go

Deep trees on continuous columns are mostly all needed, and then that is what is proved. `offers` measures on this very model what would help:

--- code
deep = XGBClassifier(n_estimators=50, max_depth=5, random_state=0, n_jobs=1).fit(X_train, y_train)
stays = secateur.prune(deep, X_train)
print(stays.trees_before, "->", stays.trees_after, "trees, at least", stays.lower_bound, "are needed")
for offer in secateur.offers(deep, X_train, time_limit=5):
    print(offer["option"], "->", offer["trees"], "trees", f"in {offer['bytes']:,} bytes" if offer["bytes"] else "")
"""

SAME = """
# Is my converted model the same?

A LightGBM model goes to ONNX. Does ONNX Runtime decide as LightGBM does, on every input? And how far apart can the scores be?

--- code
import numpy as np
import onnxmltools
import secateur
from lightgbm import LGBMClassifier
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_breast_cancer

X, y = load_breast_cancer(return_X_y=True)
model = LGBMClassifier(n_estimators=40, num_leaves=7, verbose=-1, random_state=0, n_jobs=1).fit(X, y)
model.booster_.save_model("model.txt")
converted = onnxmltools.convert_lightgbm(model, initial_types=[("X", FloatTensorType([None, X.shape[1]]))], zipmap=False)
with open("model.onnx", "wb") as file:
    file.write(converted.SerializeToString())
answer = secateur.verify("model.txt", "model.onnx")
print(answer)

---
LightGBM reads doubles and compares them with double thresholds; the graph takes floats and has float thresholds. So there are inputs that land on different
sides. On numbers that both read alike, the scores are this far apart at most (proved), and at least (shown by an input that both libraries have run):

--- code
scores = secateur.verify("model.txt", "model.onnx", scores=True, time_limit=20)
print(scores.at_most, scores.at_least)

---
## The same bits instead

Packing keeps every bit of every score. The packed model is one small file, and predicts faster than the library:

--- code
packed = secateur.pack(model)
raw = model.predict(X, raw_score=True)
assert (packed.raw_scores(X)[:, 0] == raw).all()
print(f"{len(open('model.txt', 'rb').read()):,} bytes -> {packed.nbytes:,}")

--- code
import time

def seconds(work):
    started = time.perf_counter()
    for _ in range(20):
        work()
    return (time.perf_counter() - started) / 20

many = np.tile(X, (20, 1))
library = seconds(lambda: model.predict(many, raw_score=True, num_threads=1))
ours = seconds(lambda: packed.raw_scores(many, threads=1))
print(f"{library / ours:.0f} times as fast on {len(many):,} rows, one thread")

---
`secateur self-test model.spk` runs a packed file on the machine at hand, on rows that reach every leaf and every threshold:

--- code
import subprocess

packed.save("model.spk")
print(subprocess.run(["secateur", "self-test", "model.spk"], capture_output=True, text=True, check=True).stdout)
"""

NOTEBOOKS = {"fewer-trees.ipynb": SHRINK, "same-model.ipynb": SAME}


def cells(text: str) -> list[nbformat.NotebookNode]:
    """Text and code take turns; a line of dashes says what follows."""
    made = []
    for kind, content in re.findall(r"(?:\A|^---( code)?$)(.*?)(?=^---(?: code)?$|\Z)", text, re.MULTILINE | re.DOTALL):
        make = nbformat.v4.new_code_cell if kind else nbformat.v4.new_markdown_cell
        made.append(make(content.strip()))
    for place, cell in enumerate(made):
        cell["id"] = f"cell-{place}"
    return made


def main() -> None:
    for name, text in NOTEBOOKS.items():
        notebook = nbformat.v4.new_notebook(cells=cells(text))
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": "target"}}).execute()
        for cell in notebook.cells:
            cell.get("metadata", {}).pop("execution", None)
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, HERE / name)
        print(HERE / name)


if __name__ == "__main__":
    main()
