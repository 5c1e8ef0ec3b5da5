//! Searches that continue after the first boxes, on systems too large for brute force: the layers
//! must not lose or change anything, for any number of threads.

use std::sync::Arc;

use fastrand::Rng;
use secateur_model::{CellId, Exact};
use secateur_oracle::{Answer, Layout, Options, Progress, Row, SearchBudget, Solved, System, solve};
use secateur_testkit::{Shape, ensemble};

/// The number of boxes that are visited before local search.
const LONG: u64 = 1_024;
const MOST: u64 = 20_000;

/// Two rows that only a thin layer of the space satisfies: there are many boxes, and no single
/// bound closes a large one.
fn layer(layout: &Layout) -> [Row; 2] {
    let row = |sign: i64, bound: f64| {
        let bound = Exact::from_f64(bound).expect("finite");
        Row { terms: vec![(layout.sum_of(0, 0), sign)], bound, strict: false }
    };
    [row(1, 0.5), row(-1, -0.53125)]
}

#[test]
fn a_search_that_goes_on_answers_as_boxes_alone() {
    let (mut proofs, mut witnesses) = (0, 0);
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let random = Shape::random(&mut rng);
        let shape = Shape { features: 6, categorical: 0, trees: 12, depth: 3, thresholds: 4, ..random };
        let model = ensemble(&mut rng, &shape);
        let layout = Layout::new(&[&model]).expect("one model has a grid");
        let system = System::new(&layout, &layer(&layout));
        // Few solutions are accepted, often none, so the search must visit all of them.
        let accept = |cells: &[CellId]| {
            let mixed = cells
                .iter()
                .fold(seed, |mixed, cell| (mixed ^ u64::from(cell.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            mixed >> 32 & 0x1FFF == 0
        };
        let budget = SearchBudget { nodes: Some(MOST), ..SearchBudget::unlimited() };
        let alone = solve(&system, &Options { shortcuts: false, budget, ..Options::unlimited() }, &accept);
        if alone.nodes <= LONG || matches!(alone.answer, Answer::Undecided(_)) {
            continue;
        }
        let [one, two]: [(Solved, f64); 2] = [1, 2].map(|threads| {
            let progress: Arc<Progress> = Arc::default();
            let options = Options { threads, progress: progress.clone(), ..Options::unlimited() };
            (solve(&system, &options, &accept), progress.share())
        });
        assert_eq!(one.0.answer, two.0.answer, "seed {seed}");
        match &one.0.answer {
            Answer::Proof => {
                assert_eq!(alone.answer, Answer::Proof, "seed {seed}");
                assert_eq!(one.0.nodes, two.0.nodes, "seed {seed}");
                // Every part of the space was closed, and only once.
                assert_eq!([one.1, two.1], [1.0, 1.0], "seed {seed}");
                proofs += u64::from(one.0.nodes > LONG);
            }
            Answer::Witnesses(found) => {
                assert!(matches!(alone.answer, Answer::Witnesses(_)), "seed {seed}");
                assert!(found.iter().all(|cells| system.holds(cells) && accept(cells)), "seed {seed}");
                witnesses += 1;
            }
            Answer::Undecided(reason) => panic!("seed {seed}: {reason:?} without a budget"),
        }
    }
    assert!(proofs > 10 && witnesses > 5, "{proofs} {witnesses}: a one-sided test");
}
