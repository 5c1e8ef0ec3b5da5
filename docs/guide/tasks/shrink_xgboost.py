"""Task: shrink my XGBoost model. Run it anywhere: it writes pruned.json and shrink_xgboost.svg beside it."""

import numpy as np
import secateur
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

# A table of whole numbers and steps, as credit scores, counts and survey answers are.
X, y = load_breast_cancer(return_X_y=True)
X = np.column_stack([np.digitize(column, np.quantile(column, [0.25, 0.5, 0.75])) for column in X[:, [0, 1, 7, 21]].T])
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = XGBClassifier(n_estimators=60, max_depth=2, random_state=0).fit(X_train, y_train)

result = secateur.prune(model, X_train)
print(result)
print(result.claim)

# The result is an XGBClassifier like any other.
smaller = result.model
smaller.save_model("pruned.json")
assert (smaller.predict(X_test) == model.predict(X_test)).all()
assert smaller.score(X_test, y_test) == model.score(X_test, y_test)

# And not only on the test rows: on every input.
assert secateur.verify(model, smaller).identical

with open("shrink_xgboost.svg", "w") as file:
    file.write(result.picture())
