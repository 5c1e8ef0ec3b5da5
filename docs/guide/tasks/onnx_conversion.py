"""Task: is my ONNX conversion the same? It writes two .onnx files and onnx_conversion.svg."""

import warnings

import numpy as np
import secateur
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from xgboost import XGBClassifier

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the converters use names that onnx has renamed
    import onnxmltools
    import skl2onnx
    from onnxmltools.convert.common.data_types import FloatTensorType as FloatsOfTools
    from skl2onnx.common.data_types import FloatTensorType

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
boosting = GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=0).fit(X, y)
xgboost = XGBClassifier(n_estimators=15, max_depth=3, random_state=0).fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    plain = {id(boosting): {"zipmap": False}}
    converted = skl2onnx.to_onnx(boosting, initial_types=[("X", FloatTensorType([None, 4]))], options=plain)
    other = onnxmltools.convert_xgboost(xgboost, initial_types=[("X", FloatsOfTools([None, 4]))])
for name, model in [("boosting.onnx", converted), ("xgboost.onnx", other)]:
    with open(name, "wb") as file:
        file.write(model.SerializeToString())

# A conversion rounds leaves and adds in another type or order. A few rows do not show whether that changes a
# decision somewhere; verify gives a proof, or an input on which the two differ.
answers = {
    "scikit-learn": secateur.verify(boosting, "boosting.onnx", time_limit=30),
    "XGBoost": secateur.verify(xgboost, "xgboost.onnx", time_limit=30),
}
for name, answer in answers.items():
    print(f"{name}: {answer.outcome}, band {answer.band:.2g}, {answer.seconds:.2f} s")
    if answer.different:
        print("  they differ on", answer.counterexample, "where they say", answer.classes)

# The picture: how far the scores of scikit-learn's model and of its conversion are apart, row by row.
rows = X.astype(np.float32).astype(np.float64)
apart = np.sort(np.abs(secateur.load(boosting).raw_scores(rows)[:, 0] - secateur.load("boosting.onnx").raw_scores(rows)[:, -1]))
top = max(float(apart[-1]), 1e-300)
points = " ".join(f"{480 * i / len(apart):.1f},{110 - 100 * gap / top:.1f}" for i, gap in enumerate(apart))
words = "; ".join(f"{name}: {answer.outcome}" for name, answer in answers.items())
with open("onnx_conversion.svg", "w") as file:
    file.write(
        '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="140" font-family="sans-serif" font-size="11">'
        f'<polyline points="{points}" fill="none" stroke="#2a7f62" stroke-width="2"/>'
        f'<text x="0" y="132" fill="#555">difference of scores by row, up to {top:.1e}; {words}</text></svg>'
    )
