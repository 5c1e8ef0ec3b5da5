"""Makes labels.skops; the other models here were written by hand. Needs numpy, scikit-learn and skops."""

import zipfile
from pathlib import Path

import numpy as np
import skops.io
from sklearn.ensemble import GradientBoostingClassifier

inputs = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
classes = np.array(["no", "no", "yes, please", "yes, please"])
model = GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0).fit(inputs, classes)
path = Path(__file__).parent / "labels.skops"
skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=9)
