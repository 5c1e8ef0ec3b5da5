//! Several threads that check one certificate give the verdict of a single thread, whatever is
//! wrong with the certificate and however it is cut into parts.

use crate::common::{Opened, certified_with, searched_pair};
use fastrand::Rng;
use secateur_certificate::Step;
use secateur_checker::Verdict;
use secateur_oracle::{Band, Options};

/// One step is replaced by another, doubled or left out.
fn changed(rng: &mut Rng, opened: &Opened) -> Opened {
    let mut copy = opened.clone();
    let at = rng.usize(..copy.steps.len());
    let other = rng.usize(..copy.steps.len());
    match rng.u32(..6) {
        0 => drop(copy.steps.remove(at)),
        1 => copy.steps.insert(at, opened.steps[other].clone()),
        2 => copy.steps.swap(at, other),
        3 => copy.steps[at] = Step::Close { lens: rng.u32(..4) },
        4 => copy.steps[at] = Step::Cells,
        _ => match &mut copy.steps[at] {
            Step::Narrow { low, high, .. } => (*low, *high) = (*low + rng.u32(..2), *high - 1),
            Step::Split { cell, .. } => *cell += 1,
            Step::Close { lens } => *lens += 1,
            _ => drop(copy.steps.remove(at)),
        },
    }
    copy
}

#[test]
fn threads_give_the_verdict_of_one() {
    let (mut valid, mut refused, mut inside) = (0, 0, 0);
    for seed in 0..24 {
        let (original, pruned) = searched_pair(seed);
        let options = Options { shortcuts: false, small_boxes: seed & 1 == 0, ..Options::unlimited() };
        let Some(bytes) = certified_with(&original, &pruned, Band::Exact, &options) else { continue };
        let opened = Opened::read(&bytes).unwrap();
        let mut rng = Rng::with_seed(seed);
        let all = std::iter::once(opened.clone()).chain((0..20).map(|_| changed(&mut rng, &opened)));
        for copy in all.collect::<Vec<_>>() {
            let expected = copy.verdict(&original, &pruned);
            match &expected {
                Verdict::Valid(_) => valid += 1,
                _ => refused += 1,
            }
            for (threads, part) in [(1, 4), (2, 1), (2, 5), (3, 3), (5, 17), (4, 1 << 13)] {
                let found = copy.verdict_of_threads(&original, &pruned, threads, part);
                assert_eq!(found, expected, "seed {seed}, {threads} threads, parts of {part} steps");
            }
            inside += usize::from(copy.steps.len() > 100);
        }
    }
    assert!(valid > 10 && refused > 60 && inside > 20, "{valid} {refused} {inside}: a one-sided test");
}
