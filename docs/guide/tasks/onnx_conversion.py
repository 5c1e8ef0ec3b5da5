"""Task: is my ONNX conversion the same? It writes single.onnx, double.onnx and onnx_conversion.svg."""

import warnings

import numpy as np
import secateur
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the converters use names that onnx has renamed
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
model = GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=0).fit(X, y)

answers = {}
for name, kind in [("single", FloatTensorType), ("double", DoubleTensorType)]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        types = [("X", kind([None, X.shape[1]]))]
        converted = skl2onnx.to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}})
    with open(f"{name}.onnx", "wb") as file:
        file.write(converted.SerializeToString())
    answers[name] = secateur.verify(model, f"{name}.onnx", time_limit=20)
    print(f"{name}: {answers[name].outcome}")

# A conversion to single precision rounds every leaf. Whether that changes a decision somewhere, nobody sees from
# a few rows: a proof or an input on which the two differ is what verify gives.
single = answers["single"]
if single.different:
    print("they differ on", single.counterexample, "where they say", single.classes)
    rows = single.counterexample.reshape(1, -1)
    ours, theirs = secateur.load(model), secateur.load("single.onnx")
    assert ours.predict(rows) != theirs.predict(rows)

# The picture: both models' scores along the first column, around the middle of the data.
steps = np.linspace(X[:, 0].min(), X[:, 0].max(), 240).astype(np.float32).astype(np.float64)
rows = np.tile(np.median(X, axis=0), (len(steps), 1)).astype(np.float32).astype(np.float64)
rows[:, 0] = steps
first = secateur.load(model).raw_scores(rows)[:, 0]
low, high = first.min(), first.max()
points = " ".join(f"{2 * i},{110 - 100 * (s - low) / (high - low):.1f}" for i, s in enumerate(first))
words = "; ".join(f"{name} precision: {answer.outcome}" for name, answer in answers.items())
with open("onnx_conversion.svg", "w") as file:
    file.write(
        '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="140" font-family="sans-serif" font-size="11">'
        f'<polyline points="{points}" fill="none" stroke="#2a7f62" stroke-width="2"/>'
        f'<text x="0" y="132" fill="#555">score along the first column; {words}</text></svg>'
    )
