"""One case of fipepy, the authors' package, in a process and a Python of its own (3.12, with its solver's licence).

    python fipe_case.py MODEL.skops ROWS.npz NORM LIMIT OUT.json

OUT.json holds `outcome` (`ended`, `calls` (its limit of oracle calls was reached), `licence`, `failed`), `weights`,
`calls`, `seconds` of processor time. The caller ends the process at its time limit.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

START = 400


def main(model_path: str, rows_path: str, norm: str, limit: str, out: str) -> None:
    import gurobipy as gp
    import pandas as pd
    import skops.io
    from fipe import FIPE, FeatureEncoder

    base = skops.io.load(model_path, trusted=skops.io.get_untrusted_types(file=model_path))
    data = np.load(rows_path)
    everything, training = data["all"], data["training"]
    answer: dict = {"outcome": "failed", "error": ""}
    started = time.process_time()
    try:
        encoder = FeatureEncoder(pd.DataFrame(everything, columns=[f"f{index}" for index in range(everything.shape[1])]))
        encoded = encoder.X.to_numpy(dtype=float)
        if encoded.shape != everything.shape or not np.array_equal(encoded, everything):
            raise ValueError("its encoder changes the data, so it would prune another model")
        weights = np.array(getattr(base, "estimator_weights_", np.ones(len(base.estimators_))))[: len(base.estimators_)]
        environment = gp.Env(params={"OutputFlag": 0, "Threads": 1})
        calls = 1_000_000
        pruner = FIPE(
            base=base, encoder=encoder, weights=weights / weights.max() * 1e5, norm=int(norm), env=environment,
            eps=1e-6, tol=1e-4, max_oracle_calls=calls,
        )
        pruner.build()
        # Any start points will do (the paper's algorithm asks for none in particular); the free licence of its solver
        # allows 2000 rows in all, so it gets some of them and room for those that its oracle finds.
        different = np.unique(training, axis=0)
        np.random.default_rng(0).shuffle(different)
        pruner.add_samples(different[:START])
        pruner.prune()
        found = np.array([float(pruner.weights[index]) for index in range(len(weights))])
        answer = {
            "outcome": "ended" if pruner.n_oracle_calls < calls else "calls",
            "weights": found.tolist(),
            "active": sorted(int(index) for index in pruner.active_estimators),
            "calls": pruner.n_oracle_calls,
        }
    except gp.GurobiError as error:
        answer = {"outcome": "licence" if "license" in str(error).lower() else "failed", "error": str(error)}
    except Exception as error:
        answer = {"outcome": "failed", "error": f"{type(error).__name__}: {error}"}
    answer["seconds"] = time.process_time() - started
    with open(out, "w") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
