"""Task: hand an auditor the evidence. It writes model.json, pruned.json, evidence.cert and evidence.svg."""

import subprocess

import numpy as np
import secateur
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

X, y = load_breast_cancer(return_X_y=True)
X = np.column_stack([np.digitize(column, np.quantile(column, [0.25, 0.5, 0.75])) for column in X[:, [0, 1, 7, 21]].T])
model = XGBClassifier(n_estimators=40, max_depth=1, random_state=0).fit(X, y)

# Three files are the evidence: both models and the certificate.
model.save_model("model.json")
result = secateur.prune(model, X, certificate="evidence.cert")
result.model.save_model("pruned.json")
print(result)

# The auditor needs no trust in the pruner: the checker is a program of its own that reads the two files and
# checks every step in exact arithmetic.
subprocess.run(["secateur-check", "model.json", "pruned.json", "evidence.cert"], check=True)

# The same from Python; it raises CertificateError with the reason where something is wrong.
secateur.check("model.json", "pruned.json", "evidence.cert")

# A certificate speaks of these two models and of no others.
other = XGBClassifier(n_estimators=39, max_depth=1, random_state=0).fit(X, y)
try:
    secateur.check(other, "pruned.json", "evidence.cert")
except secateur.CertificateError as error:
    print("refused, as it must be:", error)
else:
    raise AssertionError("a certificate of another model was accepted")

with open("evidence.svg", "w") as file:
    file.write(result.picture())
