"""The edge family of the two proof kernels: random problems and changed proofs, judged by `secateur-check --kernel` and in Python."""

from __future__ import annotations

import pathlib
import random
import sys
import tempfile

from seen import Seen

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python" / "tests"))


def agree(seed: int) -> Seen:
    """One problem with a proof, and changed copies of both. What differs is raised, with the files."""
    # Loaded here, so that the other families do without the command and its tests.
    from test_kernel import draw_problem, draw_proof, proof_text
    from test_kernels_agree import compare, compare_bounds, draw_bounds, some_changed

    rng = random.Random(seed)
    asked = draw_problem(rng)
    stacks, lines = draw_proof(rng, asked)
    problem, proof = asked.text(), proof_text(lines, stacks)
    cases = [(problem, proof)]
    cases += [(problem, other) for other in some_changed(rng, proof, 30)]
    cases += [(other, proof) for other in some_changed(rng, problem, 20)]
    bounds = draw_bounds(rng)
    with tempfile.TemporaryDirectory() as folder:
        counts = compare(pathlib.Path(folder) / "problems", cases)
        counts += compare_bounds(pathlib.Path(folder) / "bounds", [bounds, *some_changed(rng, bounds, 6)])
    refused = counts["refused"]
    return Seen(cases=1, rows=counts["proved"] + refused, refused=refused)
