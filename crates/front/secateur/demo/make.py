"""Makes the demo's model and table, loans.txt and loans.csv, from numbers drawn here, and for the tests
the raw scores that LightGBM itself gives, loans-raw.csv.

Run with numpy, pandas and lightgbm installed: python make.py. The files are committed; other versions of
LightGBM may train another model, which is no harm.
"""

from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd

HERE = Path(__file__).parent
ROWS = 2000
SHOWN = 200
TREES = 60


def draw(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Loans as a form asks for them: in bands, with yes and no, and with fields left empty."""
    housing = rng.choice(["family", "own", "rent"], rows, p=[0.2, 0.45, 0.35])
    income = np.clip(np.round(np.exp(rng.normal(3.6, 0.5, rows)) / 20) * 20, 20, 100)
    debt = np.round(rng.beta(2, 4, rows) * 4) / 4
    late = np.minimum(rng.poisson(0.8, rows), 3)
    guarantor = rng.random(rows) < 0.3
    score = (
        0.04 * (income - 38) - 3.5 * (debt - 0.33) - 0.8 * (late - 0.8) + 0.9 * guarantor
        + np.select([housing == "own", housing == "rent"], [0.5, -0.6], 0.0)
    )
    income[rng.random(rows) < 0.1] = np.nan  # not everyone says
    repaid = (score + rng.logistic(0, 0.6, rows) > 0).astype(int)
    return pd.DataFrame(
        {
            "income": income,
            "debt_ratio": debt,
            "late_payments": late,
            "guarantor": guarantor.astype(int),
            "housing": pd.Categorical(housing),
            "repaid": repaid,
        }
    )


def main() -> None:
    table = draw(ROWS, np.random.default_rng(7))
    inputs, repaid = table.drop(columns="repaid"), table["repaid"]
    params = dict(
        objective="binary", num_leaves=4, max_depth=2, learning_rate=0.1, min_data_per_group=20, cat_smooth=1.0,
        deterministic=True, force_row_wise=True, num_threads=1, seed=0, verbose=-1,
    )
    model = lgb.train(params, lgb.Dataset(inputs, repaid), num_boost_round=TREES)
    model.save_model(HERE / "loans.txt")
    table.head(SHOWN).to_csv(HERE / "loans.csv", index=False, lineterminator="\n")
    reloaded = lgb.Booster(model_file=HERE / "loans.txt")
    scores = reloaded.predict(inputs.head(SHOWN), raw_score=True)
    (HERE / "loans-raw.csv").write_text("score_0\n" + "".join(f"{score!r}\n" for score in scores.tolist()))


if __name__ == "__main__":
    main()
