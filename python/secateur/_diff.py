"""What changed between two versions of a model?"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secateur import _domain, _files, _labels, _options
from secateur._model import one_threshold, recognise, same_inputs
from secateur._secateur import diff as _run


@dataclass(frozen=True)
class Difference:
    """What changed between two versions of a model.

    `proved` says that both bounds are proved and that the independent checker accepted their certificates; None where the time
    ended before that. `at_most` is how far a raw score can move on any input of `domain` (every input that both libraries accept,
    where that is None), and `at_least` how far it moves on `input`. `keeps_above` is a lead in the first version, a distance of
    the raw score from the threshold or to the next score, above which no decision changes; `changes_at` is the largest
    lead that was found to be decided otherwise, and `changed_input` that row. Regressors and rankers have neither.

    Of the table, `rows` counts the rows that both libraries accept, `changed` those that the second version decides otherwise, `moved`
    those whose scores differ, and `largest_move` says by how much. `changed_rows` has the first changed rows (of regressors the
    rows that move farthest) and `changed_at` their positions in the table. `trees_changed` are the positions of the trees
    that differ. `certificates` are the two proofs, of the largest move and of the safe lead, or the paths where they were written.
    `str` gives what `secateur diff` prints, and `sentence` the answer alone.
    """

    proved: bool | None
    sentence: str
    at_most: float | None
    at_least: float | None
    input: np.ndarray | None
    keeps_above: float | None
    changes_at: float | None
    changed_input: np.ndarray | None
    rows: int | None
    changed: int | None
    moved: int | None
    largest_move: float | None
    changed_rows: tuple[np.ndarray, ...]
    changed_at: tuple[int, ...]
    trees_changed: tuple[int, ...]
    scope: str
    nodes: int
    seconds: float
    domain: _domain.Domain | None = None
    certificates: tuple[bytes | str | None, bytes | str | None] = field(default=(None, None), repr=False)
    _words: str = field(default="", repr=False)
    _facts: dict[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything as `secateur diff --json` prints it."""
        return json.loads(json.dumps(self._facts))

    def __str__(self) -> str:
        return self._words.rstrip("\n")

    def __bool__(self) -> bool:
        raise TypeError("ask for .changed, .at_most or .keeps_above")


def diff(
    a: Any,
    b: Any,
    X: Any = None,
    *,
    domain: Any = None,
    missing: bool = True,
    threshold: float | None = None,
    time_limit: float | str | None = 60.0,
    threads: int | None = None,
    seed: int = 0,
    certificate: str | os.PathLike[str] | None = None,
) -> Difference:
    """What changed between two versions of a model: the rows of `X` that `b` decides otherwise than `a`, how far a raw score can move
    on any input, and the lead in `a` above which no decision changes. The last two are proved, and the independent checker
    accepted their proofs.

    `a` and `b` are whatever `secateur.load` reads, and are matched as `secateur.verify` matches them. The bounds are about every input
    that both libraries accept; `domain` says which inputs can occur, and `missing=False` leaves missing values out.
    `threshold` is the probability of the second class that decides, instead of the libraries' own rule. When the time ends, the bounds that are
    proved then are returned. `certificate` is a path: the proofs are written beside it, `proof-scores.cert` and
    `proof-decisions.cert` for `proof.cert`.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> old = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y)
    >>> new = GradientBoostingClassifier(n_estimators=21, max_depth=2, random_state=0).fit(X, y)
    >>> found = secateur.diff(old, new, X)
    >>> found.proved, found.trees_changed, bool(found.largest_move <= found.at_most)
    (True, (20,), True)
    >>> bool(0 < found.keeps_above <= found.at_most)
    True
    """
    first, second = recognise(a, thresholds=True), recognise(b, thresholds=True)
    same_inputs(first, second)
    _labels.certified_classes(first.model, second.model)
    given = _domain.as_given(domain, missing)
    places: tuple[str | None, str | None] = (None, None)
    if certificate is not None:
        stem, ending = os.path.splitext(os.fsdecode(certificate))
        places = (f"{stem}-scores{ending}", f"{stem}-decisions{ending}")
    answer = _run(
        first.model,
        second.model,
        first.rows(X),
        threshold=one_threshold(_options.threshold(threshold), first, second),
        time_limit=_options.time_limit(time_limit),
        threads=_options.threads(threads),
        seed=_options.count("seed", seed, 0),
        missing=_options.flag("missing", missing),
        domain=given,
        certificates=places,
    )
    facts = json.loads(answer["json"])
    proofs = answer["certificates"]
    for place, proof in zip(places, proofs):
        if place is not None and proof is not None:
            _files.write(place, proof)
    written = (facts["certificates"]["scores"], facts["certificates"]["decisions"])
    rows, scores, keeps = facts["rows"] or {}, facts["scores"], facts["keeps"] or {}
    shown = keeps.get("shown") or {}
    return Difference(
        proved=True if facts["outcome"] == "proved" else None,
        sentence=facts["sentence"],
        at_most=scores["at_most"],
        at_least=scores["at_least"],
        input=answer["moved"],
        keeps_above=keeps.get("above"),
        changes_at=shown.get("lead"),
        changed_input=answer["shown"],
        rows=rows.get("count"),
        changed=rows.get("changed"),
        moved=rows.get("moved"),
        largest_move=rows.get("largest_move"),
        changed_rows=tuple(answer["rows"]),
        changed_at=tuple(row["index"] for row in rows.get("first", [])),
        trees_changed=tuple(facts["trees"]["changed"]),
        scope=facts["scope"],
        nodes=facts["nodes"],
        seconds=facts["seconds"],
        domain=_domain.of_facts(facts["domain"], given),
        certificates=(proofs[0], proofs[1]) if certificate is None else written,
        _words=answer["words"],
        _facts=facts,
    )
