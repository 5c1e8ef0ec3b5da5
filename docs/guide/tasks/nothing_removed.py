"""Task: why was nothing removed? It writes nothing_removed.svg."""

import secateur
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :6]

# Deep trees on continuous columns: each tree moves the boundary somewhere, so none can go without changing a
# decision there. That is an answer, not a failure.
deep = XGBClassifier(n_estimators=12, max_depth=3, random_state=0).fit(X, y)
result = secateur.prune(deep, X, time_limit=30)
print(result)
print("outcome:", result.outcome, "- trees:", result.trees_before, "->", result.trees_after)

# How large is the space in which every decision must stay? inspect says it.
facts = secateur.inspect(deep)
print(f"{facts['distinct_splits']} distinct splits cut the inputs into 10^{facts['log10_cells']:.1f} cells")

# What helps: fewer distinct splits (rounded columns, shallow trees), or a band that forgives changes
# where the model is unsure anyway. Decisions outside the band stay what they were, proved as before.
lenient = secateur.prune(deep, X, band=0.5, time_limit=30)
print(lenient)
assert lenient.trees_after <= result.trees_after
assert secateur.verify(deep, lenient.model, band=0.5, time_limit=60).outcome != "different"

with open("nothing_removed.svg", "w") as file:
    file.write(lenient.picture())
