//! The oracle against brute force over all cells, on random systems with deliberate ties.

use fastrand::Rng;
use secateur_model::{Ensemble, Exact, Grid};
use secateur_oracle::{Answer, Layout, Options, Row, System, solve};
use secateur_testkit::{Shape, all_cells, ensemble, mutate};

const CASES: u64 = 1500;
const MOST_CELLS: f64 = 4.0;

/// Two models of the same shape: unrelated, or nearly the same.
fn pair(rng: &mut Rng) -> (Ensemble, Ensemble) {
    loop {
        let shape = Shape::random(rng);
        let first = ensemble(rng, &shape);
        let second = if rng.bool() { mutate(rng, &first) } else { ensemble(rng, &shape) };
        if Grid::new(&[&first, &second]).unwrap().log10_cells() < MOST_CELLS {
            return (first, second);
        }
    }
}

fn exact_sums(models: [&Ensemble; 2], row: &[f64]) -> Vec<Exact> {
    models
        .iter()
        .flat_map(|model| {
            let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
            model.exact_sums(model.leaves(&read))
        })
        .collect()
}

fn reaches(row: &Row, sums: &[Exact]) -> bool {
    let total: Exact = row.terms.iter().map(|&(sum, factor)| &sums[sum] * &Exact::from(factor)).sum();
    total > row.bound || !row.strict && total == row.bound
}

#[test]
fn every_answer_is_that_of_brute_force() {
    let (mut proofs, mut witnesses, mut searched) = (0, 0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = pair(&mut rng);
        let layout = Layout::new(&[&first, &second]).unwrap();
        let table: Vec<(Vec<f64>, Vec<Exact>)> = all_cells(layout.grid())
            .map(|cells| {
                let row = layout.grid().witness(&cells);
                let sums = exact_sums([&first, &second], &row);
                (row, sums)
            })
            .collect();
        let count = table[0].1.len();
        for _ in 0..4 {
            // Bounds are the values of the rows at some cell, so that ties decide. Rows whose
            // bounds come from the same cell nearly contradict each other if their terms are
            // opposite.
            let common = rng.bool().then(|| rng.choice(&table).unwrap());
            let rows: Vec<Row> = (0..rng.usize(1..=4))
                .map(|_| {
                    let terms: Vec<(usize, i64)> =
                        (0..count).map(|sum| (sum, rng.i64(-1..=1))).filter(|t| t.1 != 0).collect();
                    let at = &common.unwrap_or_else(|| rng.choice(&table).unwrap()).1;
                    let bound = terms.iter().map(|&(sum, factor)| &at[sum] * &Exact::from(factor)).sum();
                    Row { terms, bound, strict: rng.bool() }
                })
                .collect();
            let expected = table.iter().any(|(_, sums)| rows.iter().all(|row| reaches(row, sums)));
            let system = System::new(&layout, &rows);
            let options = Options {
                threads: 1 + (seed as usize & 1),
                wanted: if rng.bool() { 3 } else { 1 },
                shortcuts: rng.bool(),
                small_boxes: rng.bool(),
                ..Options::unlimited()
            };
            let solved = solve(&system, &options, &|_| true);
            match solved.answer {
                Answer::Proof => {
                    assert!(!expected, "seed {seed}: proved, but brute force finds a cell");
                    proofs += 1;
                }
                Answer::Witnesses(found) => {
                    for cells in found {
                        let sums = exact_sums([&first, &second], &layout.grid().witness(&cells));
                        assert!(
                            rows.iter().all(|row| reaches(row, &sums)),
                            "seed {seed}: {cells:?} is no witness"
                        );
                    }
                    witnesses += 1;
                }
                Answer::Undecided(reason) => panic!("seed {seed}: undecided ({reason:?}) without a budget"),
            }
            searched += u64::from(solved.nodes > 0);
        }
    }
    assert!(
        proofs > 500 && witnesses > 500 && searched > 500,
        "{proofs} {witnesses} {searched}: a one-sided test"
    );
}
