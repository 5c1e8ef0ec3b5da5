"""`bench/cluster`: pieces of a search add up to it, simulated workers do each of them once, and a search at the wall goes on where it was."""

from __future__ import annotations

import pathlib
import sys

import pytest

import secateur
import test_verify

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench" / "cluster"))
import run  # noqa: E402
import simulate  # noqa: E402
import wall  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_simulated_search_does_all_of_the_measured_one():
    recorded = simulate.record(*run.pair(14))
    first, second, within = run.pair(14)
    alone = secateur.verify(first, second, scores=True, within=within, threads=1)
    visited = sum(piece.nodes for piece in recorded.pieces)
    # What is settled before boxes are dealt out is not among the pieces.
    assert 0 < visited <= recorded.nodes == alone.nodes
    assert len(recorded.pieces) > 20 and recorded.work > 0
    chain, length = simulate.longest_chain(recorded)
    assert 0 < chain < recorded.work and 1 < length <= len(recorded.pieces)
    times = []
    for workers in (1, 3, 50, 1000):
        # Every piece once, or it would not return; and no faster than the chain, nor than all workers together.
        found = simulate.simulate(recorded, workers, 0.005, 1000.0)
        assert found.seconds >= max(1000 * chain, 1000 * recorded.work / workers) * 0.999
        assert 0 < found.efficiency <= 1.001
        times.append(found.seconds)
    # Twice the boxes keep twice the workers as busy.
    twice = simulate.simulate(recorded, 6, 0.005, 1000.0, copies=2)
    assert twice.pieces == 2 * len(recorded.pieces) and twice.seconds >= 1000 * chain
    assert times[1] < times[0] and times[2] <= times[1] * 1.01
    text, picture = simulate.page(recorded, 0.005, 1000, ((1, 1.0), (2, 100.0)))
    assert "| 1000 |" in text and picture.startswith("<svg")


def test_a_search_at_the_wall_goes_on_and_says_how_far_it_is(tmp_path):
    first, second = test_verify.hard_pair()
    kept = tmp_path / "hard.checkpoint"
    outcome, points = wall.search(first, second, kept, 6.0, look=1.0)
    assert outcome == "undecided" and points and kept.exists()
    outcome, more = wall.search(first, second, kept, 6.0, look=1.0)
    assert outcome == "undecided" and more[: len(points)] == points and len(more) > len(points)
    assert more[-1].nodes > points[-1].nodes and 0 <= points[-1].share <= more[-1].share < 1
    assert more[-1].seconds > points[-1].seconds
    assert wall.line("hard", outcome, more).startswith("| hard | ")
