//! A recorded proof, replayed by other code: its boxes cover the whole space, and the statement of
//! each step is true for every cell that it covers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use secateur_model::{CellId, Exact};
use secateur_oracle::{Answer, Layout, Options, ProofStep, Record, Row, System, solve};
use secateur_testkit::{Shape, ensemble, mutate};

#[derive(Debug, Default)]
struct Kept {
    lenses: Mutex<Vec<Vec<u64>>>,
    steps: Mutex<BTreeMap<Vec<bool>, Vec<ProofStep>>>,
    met: Mutex<bool>,
}

impl Record for Kept {
    fn lenses(&self, multipliers: &[Vec<u64>]) {
        *self.lenses.lock().unwrap() = multipliers.to_vec();
    }

    fn step(&self, path: &[bool], step: ProofStep) {
        self.steps.lock().unwrap().entry(path.to_vec()).or_default().push(step);
    }

    fn meet(&self, _first: &[usize]) {
        *self.met.lock().unwrap() = true;
    }
}

/// A cell, and how far each row falls short of its bound there (positive: not reached).
struct Cell {
    cells: Vec<u32>,
    short: Vec<Exact>,
}

/// Does the cell fail a row?
fn fails(cell: &&Cell) -> bool {
    cell.short.iter().any(|short| short.signum() > 0)
}

/// Replays the proof of one box; every cell of the box must be closed by a true statement.
fn replay(kept: &Kept, path: &mut Vec<bool>, cells: Vec<&Cell>, seed: u64) {
    let steps = kept.steps.lock().unwrap().get(path).cloned();
    let steps = steps.unwrap_or_else(|| panic!("seed {seed}: no step for box {path:?}"));
    let lenses = kept.lenses.lock().unwrap().clone();
    // True if the cell does not reach the combined bound of the lens.
    let closes = |lens: usize, cell: &Cell| {
        let terms = lenses[lens].iter().zip(&cell.short);
        let short: Exact = terms.map(|(&m, s)| &Exact::new(m.into(), 0) * s).sum();
        short.signum() > 0
    };
    let mut cells = cells;
    for (index, step) in steps.iter().enumerate() {
        let last = index + 1 == steps.len();
        match step.clone() {
            ProofStep::Narrow { axis, low, high, lens } => {
                assert!(!last, "seed {seed}: a box ends with a narrowing");
                let (inside, outside): (Vec<&Cell>, Vec<&Cell>) =
                    cells.into_iter().partition(|cell| (low..high).contains(&cell.cells[axis]));
                assert!(outside.iter().all(|cell| closes(lens, cell)), "seed {seed}: {step:?} at {path:?}");
                cells = inside;
            }
            ProofStep::Close { lens } => {
                assert!(
                    last && cells.iter().all(|cell| closes(lens, cell)),
                    "seed {seed}: {step:?} at {path:?}"
                );
                return;
            }
            ProofStep::Join { row, fixed } => {
                assert!(row + 1 < cells.first().map_or(2, |cell| cell.short.len()), "seed {seed}: {step:?}");
                assert!(fixed.is_sorted(), "seed {seed}: {step:?}");
                assert!(last && cells.iter().all(fails), "seed {seed}: {step:?} at {path:?}");
                return;
            }
            ProofStep::Cells => {
                assert!(last && cells.iter().all(fails), "seed {seed}: {step:?} at {path:?}");
                return;
            }
            ProofStep::Split { axis, cell, low_first } => {
                assert!(last, "seed {seed}: a box goes on after its split");
                let (low, high): (Vec<&Cell>, Vec<&Cell>) =
                    cells.into_iter().partition(|c| c.cells[axis] <= cell);
                for (side, cells) in [(!low_first, low), (low_first, high)] {
                    path.push(side);
                    replay(kept, path, cells, seed);
                    path.pop();
                }
                return;
            }
        }
    }
}

#[test]
fn a_recorded_proof_holds_for_every_cell() {
    let (mut proofs, mut deep, mut joins, mut fixing) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.features = rng.u32(3..=6);
        shape.categorical = shape.categorical.min(1);
        shape.trees = rng.u32(4..=12);
        shape.depth = 2;
        shape.thresholds = if shape.features > 4 { 2 } else { 3 };
        let first = ensemble(&mut rng, &shape);
        let second = mutate(&mut rng, &first);
        let layout = Layout::new(&[&first, &second]).unwrap();
        let sizes = layout.axis_sizes();
        let count: u64 = sizes.iter().map(|&size| u64::from(size)).product();
        if count > 3000 {
            continue;
        }
        let sums_at = |cells: &[u32]| -> Vec<Exact> {
            let row = layout.grid().witness(&cells.iter().map(|&cell| CellId(cell)).collect::<Vec<_>>());
            [&first, &second]
                .iter()
                .flat_map(|model| {
                    let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
                    model.exact_sums(model.leaves(&read))
                })
                .collect()
        };
        let table: Vec<(Vec<u32>, Vec<Exact>)> = (0..count)
            .map(|mut code| {
                let cells: Vec<u32> = sizes
                    .iter()
                    .map(|&size| {
                        let cell = (code % u64::from(size)) as u32;
                        code /= u64::from(size);
                        cell
                    })
                    .collect();
                let sums = sums_at(&cells);
                (cells, sums)
            })
            .collect();
        let groups = first.group_count();
        let group = rng.usize(0..groups);
        let total = |row: &Row, sums: &[Exact]| -> Exact {
            row.terms.iter().map(|&(sum, factor)| &sums[sum] * &Exact::from(factor)).sum()
        };
        // Ask for one sum to be high in the first model and low in the second; sometimes add a
        // third row.
        let mut terms = vec![(group, 1), (groups + group, -1)];
        if rng.bool() {
            terms.insert(1, (rng.usize(0..groups), 1));
        }
        // Rows whose bounds come from the same cell nearly contradict each other, so bounds close
        // few boxes.
        let common = rng.bool().then(|| rng.choice(&table).unwrap());
        let rows: Vec<Row> = terms
            .into_iter()
            .map(|term| {
                let at = &common.unwrap_or_else(|| rng.choice(&table).unwrap()).1;
                let mut row = Row { terms: vec![term], bound: Exact::zero(), strict: false };
                row.bound = total(&row, at);
                // Raise one of the bounds a little, so that the cell itself is no solution.
                if common.is_some() && term.1 < 0 {
                    let higher = table.iter().map(|(_, sums)| total(&row, sums)).filter(|v| *v > row.bound);
                    row.bound = higher.min().unwrap_or(row.bound);
                }
                row
            })
            .collect();
        let kept = Arc::new(Kept::default());
        let options = Options {
            record: Some(kept.clone()),
            threads: 1 + (seed as usize & 1),
            shortcuts: rng.bool(),
            small_boxes: rng.u32(0..4) > 0,
            ..Options::unlimited()
        };
        let solved = solve(&System::new(&layout, &rows), &options, &|_| true);
        if solved.answer != Answer::Proof {
            continue;
        }
        proofs += 1;
        deep += u32::from(kept.steps.lock().unwrap().len() > 3);
        for step in kept.steps.lock().unwrap().values().flatten() {
            if let ProofStep::Join { fixed, .. } = step {
                assert!(options.small_boxes, "seed {seed}: a join where small boxes are to be split");
                joins += 1;
                fixing += u32::from(!fixed.is_empty());
            }
        }
        let cells: Vec<Cell> = table
            .into_iter()
            .map(|(cells, sums)| Cell {
                cells,
                short: rows.iter().map(|row| &row.bound - &total(row, &sums)).collect(),
            })
            .collect();
        if *kept.met.lock().unwrap() {
            assert!(
                cells.iter().all(|cell| fails(&cell)),
                "seed {seed}: the halves met nowhere, and there is a solution"
            );
            continue;
        }
        replay(&kept, &mut Vec::new(), cells.iter().collect(), seed);
    }
    println!("{proofs} proofs, {deep} of them with boxes; {joins} joins, {fixing} of them with fixed axes");
    assert!(proofs > 200 && deep > 30, "{proofs} proofs, {deep} of them with boxes: a weak test");
    assert!(joins > 30 && fixing > 10, "{joins} joins, {fixing} of them with fixed axes: a weak test");
}
