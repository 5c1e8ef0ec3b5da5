//! The rules of boxes, cells, join and meet: what they accept has no solution by brute force, and
//! what reaches a bound exactly is refused.

use secateur_kernel::{Excuse, Forest, Int, Limits, Node, Progress, Refusal, Row, Step, Tree, check};

fn nobody() -> Excuse<'static> {
    Box::new(|_: &[u32]| false)
}

fn run(forest: &Forest, rows: &[Row], steps: Vec<Step>) -> Result<(), Refusal> {
    check(forest, rows, &[], steps, nobody(), Limits::default()).map_err(|(refusal, _)| refusal)
}

/// A tree with one leaf for each cell of an axis; a leaf adds its numbers to the first sums.
fn table(axis: u32, leaves: &[&[i128]]) -> Tree {
    let mut nodes = Vec::new();
    for (cell, leaf) in (0u32..).zip(leaves) {
        let sums = (0u32..).zip(leaf.iter().map(|&value| Int::from(value))).collect();
        let at = nodes.len() as u32;
        if cell as usize + 1 < leaves.len() {
            nodes.push(Node::Split { axis, cells: vec![(cell, cell + 1)], yes: at + 1, no: at + 2 });
        }
        nodes.push(Node::Leaf(sums));
    }
    Tree { nodes }
}

/// The sum with this number is at least the bound.
fn at_least(sum: u32, bound: i128) -> Row {
    Row { terms: vec![(sum, 1)], bound: Int::from(bound) }
}

/// One sum, which is 1, 3, 2 along the first axis, and 5, -4 more along the second: 8 at most.
fn up_to_eight() -> Forest {
    Forest::new(vec![3, 2], 1, vec![table(0, &[&[1], &[3], &[2]]), table(1, &[&[5], &[-4]])]).unwrap()
}

#[test]
fn a_lens_closes_what_stays_below_its_bound_and_not_what_reaches_it() {
    let forest = up_to_eight();
    let close =
        |bound, factor| run(&forest, &[at_least(0, bound)], vec![Step::Lens(vec![factor]), Step::Close(0)]);
    assert_eq!(close(9, 1), Ok(()));
    assert_eq!(close(8, 1), Err(Refusal::CloseBound { lens: 0, reached: 8, bound: 8, shift: 0 }));
    assert_eq!(close(9, 7), Ok(()));
    assert!(close(8, 7).is_err());
    // Nothing times nothing is not below nothing.
    assert!(close(9, 0).is_err());
}

#[test]
fn a_problem_has_rows() {
    let forest = up_to_eight();
    for step in [Step::Cells, Step::Lens(Vec::new())] {
        assert_eq!(run(&forest, &[], vec![step]), Err(Refusal::RowSum));
    }
}

#[test]
fn both_parts_that_are_cut_off_stay_below_the_bound() {
    let forest = up_to_eight();
    let narrow = |bound, low, high| {
        let steps = vec![Step::Lens(vec![1]), Step::Narrow { lens: 0, axis: 0, low, high }];
        run(&forest, &[at_least(0, bound)], steps)
    };
    let refused = |low, high, reached, bound| {
        Err(Refusal::NarrowBound { lens: 0, axis: 0, low, high, reached, bound, shift: 0 })
    };
    // The first cell reaches 6 and the last 7. What is left is still open.
    assert_eq!(narrow(8, 1, 2), Err(Refusal::Open));
    assert_eq!(narrow(7, 1, 2), refused(2, 3, 7, 7));
    assert_eq!(narrow(6, 1, 2), refused(0, 1, 6, 6));
    assert_eq!(narrow(7, 1, 3), Err(Refusal::Open));
    assert_eq!(narrow(8, 2, 3), refused(0, 2, 8, 8));
    assert_eq!(narrow(8, 0, 1), refused(1, 3, 8, 8));
    for (low, high) in [(0, 3), (1, 1), (2, 1), (2, 4), (3, 4)] {
        let refusal = narrow(100, low, high).unwrap_err();
        assert!(matches!(refusal, Refusal::BoxRange { .. }), "{low}..{high}: {refusal:?}");
    }
}

#[test]
fn a_split_leaves_two_sides_to_prove() {
    let (forest, rows) = (up_to_eight(), [at_least(0, 9)]);
    let split = |cell, low_first| Step::Split { axis: 0, cell, low_first };
    let lens = Step::Lens(vec![1]);
    for low_first in [false, true] {
        let mut steps = vec![lens.clone(), split(1, low_first), Step::Close(0)];
        assert_eq!(run(&forest, &rows, steps.clone()), Err(Refusal::Open));
        steps.push(Step::Cells);
        assert_eq!(run(&forest, &rows, steps.clone()), Ok(()));
        steps.push(Step::Cells);
        assert_eq!(run(&forest, &rows, steps), Err(Refusal::Order));
        // With the bound at 8 the side of cell 1 alone is refused.
        let side = if low_first { [Step::Close(0), Step::Cells] } else { [Step::Cells, Step::Close(0)] };
        let refusal = run(
            &forest,
            &[at_least(0, 8)],
            [vec![lens.clone(), split(1, low_first)], side.to_vec()].concat(),
        );
        assert_eq!(refusal, Err(Refusal::CloseBound { lens: 0, reached: 8, bound: 8, shift: 0 }));
    }
    // There is nothing after the last cell.
    assert!(matches!(run(&forest, &rows, vec![split(2, true)]), Err(Refusal::BoxRange { .. })));
    assert!(matches!(run(&forest, &rows, vec![split(u32::MAX, true)]), Err(Refusal::BoxRange { .. })));
}

#[test]
fn every_cell_is_examined_and_only_those_that_solve_the_rows_are_excused() {
    let forest = up_to_eight();
    let asked = |bound, excused: bool| {
        let mut asked = Vec::new();
        let excuse: Excuse<'_> = Box::new(|cell: &[u32]| {
            asked.push(cell.to_vec());
            excused
        });
        let result = check(&forest, &[at_least(0, bound)], &[], [Step::Cells], excuse, Limits::default());
        (result.map_err(|(refusal, _)| refusal), asked)
    };
    assert_eq!(asked(9, false), (Ok(()), vec![]));
    assert_eq!(asked(8, false), (Err(Refusal::CellsSolution { cell: vec![1, 0] }), vec![vec![1, 0]]));
    assert_eq!(asked(8, true), (Ok(()), vec![vec![1, 0]]));
    let (result, mut cells) = asked(7, true);
    cells.sort();
    assert_eq!((result, cells), (Ok(()), vec![vec![1, 0], vec![2, 0]]));
}

#[test]
fn a_lens_that_rounds_refuses_what_it_cannot_tell_and_cells_decide_it() {
    // The sum is 0, 2^200 or 2^200 + 1; a lens of 128 bits does not see the difference of the last
    // two.
    let large = Int::from_words(vec![0, 0, 0, 1 << 8]);
    let more = large.plus(&Int::from(1));
    let leaf = |value: &Int| Node::Leaf(vec![(0, value.clone())]);
    let split =
        |cell: u32, at: u32| Node::Split { axis: 0, cells: vec![(cell, cell + 1)], yes: at + 1, no: at + 2 };
    let nodes = vec![split(0, 0), leaf(&large), split(1, 2), leaf(&more), leaf(&Int::ZERO)];
    let forest = Forest::new(vec![3], 1, vec![Tree { nodes }]).unwrap();
    let with = |bound: &Int, steps| run(&forest, &[Row { terms: vec![(0, 1)], bound: bound.clone() }], steps);
    let above = more.plus(&Int::from(1));
    assert!(with(&above, vec![Step::Lens(vec![1]), Step::Close(0)]).is_err());
    assert_eq!(with(&above, vec![Step::Cells]), Ok(()));
    assert_eq!(with(&more, vec![Step::Cells]), Err(Refusal::CellsSolution { cell: vec![1] }));
    let far = large.plus(&Int::from_words(vec![0, 0, 1 << 62, 0]));
    assert_eq!(with(&far, vec![Step::Lens(vec![1]), Step::Close(0)]), Ok(()));
}

#[test]
fn halves_that_meet_at_both_bounds_are_refused() {
    // Sums (f, g): the first axis has (4, 0), (2, 2), (0, 4), the second (3, 0), (1, 1), (0, 3).
    let trees = vec![table(0, &[&[4, 0], &[2, 2], &[0, 4]]), table(1, &[&[3, 0], &[1, 1], &[0, 3]])];
    let forest = Forest::new(vec![3, 3], 2, trees).unwrap();
    let (mut open, mut closed) = (0, 0);
    for f in -1..10 {
        for g in -1..10 {
            let rows = [at_least(0, f), at_least(1, g)];
            let pairs =
                [(4, 0), (2, 2), (0, 4)].map(|a| [(3, 0), (1, 1), (0, 3)].map(|b| (a.0 + b.0, a.1 + b.1)));
            let solved = pairs.as_flattened().iter().any(|&(own_f, own_g)| own_f >= f && own_g >= g);
            for first in [vec![], vec![0], vec![1], vec![1, 0]] {
                let met = run(&forest, &rows, vec![Step::Meet(first)]);
                assert_eq!(met.is_err(), solved, "{f} {g}: {met:?}");
            }
            for fixed in [vec![], vec![0], vec![1], vec![0, 1]] {
                let joined = run(&forest, &rows, vec![Step::Join { row: 0, fixed }]);
                assert_eq!(joined.is_err(), solved, "{f} {g}: {joined:?}");
            }
            (open, closed) = if solved { (open + 1, closed) } else { (open, closed + 1) };
        }
    }
    assert!(open > 30 && closed > 30, "{open} {closed}");
}

/// Small numbers, always the same ones.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// A random tree below the node that comes next.
fn grow(random: &mut Random, axes: &[u32], depth: u32, nodes: &mut Vec<Node>) -> u32 {
    let at = nodes.len();
    nodes.push(Node::Leaf(vec![]));
    nodes[at] = if depth > 0 && !random.one_in(4) {
        let axis = random.below(axes.len() as u64) as u32;
        let size = axes[axis as usize];
        let mut cells = Vec::new();
        let mut from = 0;
        while from < size {
            if random.one_in(2) {
                let to = from + 1 + random.below(u64::from(size - from)) as u32;
                cells.push((from, to));
                from = to;
            }
            from += 1;
        }
        let yes = grow(random, axes, depth - 1, nodes);
        let no = grow(random, axes, depth - 1, nodes);
        Node::Split { axis, cells, yes, no }
    } else {
        let mut values = Vec::new();
        for sum in 0..2 {
            if !random.one_in(5) {
                values.push((sum, Int::from(i128::from(random.below(9)) - 4)));
            }
        }
        Node::Leaf(values)
    };
    at as u32
}

/// What a cell's leaves add to the two sums, by walking the trees.
fn sums(forest: &Forest, cell: &[u32]) -> [i128; 2] {
    let mut totals = [0; 2];
    for tree in forest.trees() {
        let mut at = 0;
        let leaf = loop {
            match &tree.nodes[at] {
                Node::Leaf(values) => break values,
                Node::Split { axis, cells, yes, no } => {
                    let own = cell[*axis as usize];
                    let there = cells.iter().any(|(from, to)| (*from..*to).contains(&own));
                    at = if there { *yes } else { *no } as usize;
                }
            }
        };
        for (sum, value) in leaf {
            totals[*sum as usize] += value.to_i128().unwrap();
        }
    }
    totals
}

fn all_cells(axes: &[u32]) -> Vec<Vec<u32>> {
    axes.iter().fold(vec![vec![]], |cells, &size| {
        let longer = |cell: Vec<u32>| (0..size).map(move |at| [cell.clone(), vec![at]].concat());
        cells.into_iter().flat_map(longer).collect()
    })
}

/// Steps that may or may not prove something.
fn steps(random: &mut Random, axes: &[u32]) -> Vec<Step> {
    let mut steps = Vec::new();
    match random.below(6) {
        0 => return vec![Step::Meet((0..axes.len() as u32).filter(|_| random.one_in(2)).collect())],
        1 => return vec![Step::Cells],
        2 => {
            let fixed = (0..axes.len() as u32).filter(|_| random.one_in(3)).collect();
            return vec![Step::Join { row: 0, fixed }];
        }
        _ => {}
    }
    for _ in 0..3 {
        steps.push(Step::Lens(vec![random.below(4), random.below(4)]));
    }
    for _ in 0..random.below(6) {
        let axis = random.below(axes.len() as u64) as u32;
        let size = u64::from(axes[axis as usize]);
        let cell = random.below(size) as u32;
        steps.push(match random.below(4) {
            0 => Step::Split { axis, cell, low_first: random.one_in(2) },
            1 => Step::Close(random.below(3) as u32),
            _ => {
                let high = cell + 1 + random.below(size - u64::from(cell)) as u32;
                Step::Narrow { lens: random.below(3) as u32, axis, low: cell, high }
            }
        });
    }
    // Open sides are closed by whatever comes.
    for _ in 0..8 {
        steps.push(if random.one_in(2) { Step::Cells } else { Step::Close(random.below(3) as u32) });
    }
    steps
}

#[test]
fn no_rule_accepts_a_problem_that_a_cell_solves() {
    let (mut accepted, mut refused, mut solved_before) = (0, 0, 0);
    for seed in 0..4000 {
        let random = &mut Random(seed);
        let axes: Vec<u32> = (0..2 + random.below(2)).map(|_| 2 + random.below(3) as u32).collect();
        let deepest = 1 + random.below(3) as u32;
        let trees = (0..1 + random.below(4)).map(|_| {
            let mut nodes = Vec::new();
            grow(random, &axes, deepest, &mut nodes);
            Tree { nodes }
        });
        let trees = trees.collect();
        let forest = Forest::new(axes.clone(), 2, trees).unwrap();
        let stacks: Vec<Vec<u32>> = match random.below(3) {
            0 => vec![(0..forest.trees().len() as u32).collect()],
            _ => vec![],
        };
        // Bounds at what some cell reaches, and next to it.
        let cells: Vec<[i128; 2]> = all_cells(&axes).iter().map(|cell| sums(&forest, cell)).collect();
        let some = cells[random.below(cells.len() as u64) as usize];
        let bounds = some.map(|reached| reached + i128::from(random.below(4)) - 1);
        let rows = [at_least(0, bounds[0]), at_least(1, bounds[1])];
        let solved = cells.iter().any(|own| own[0] >= bounds[0] && own[1] >= bounds[1]);
        for _ in 0..8 {
            let steps = steps(random, &axes);
            let exact = matches!(steps[0], Step::Cells);
            let mut steps = steps.into_iter();
            // A proof ends with the step that finishes it; what is left over is not needed.
            let never = || false;
            let mut pieces = secateur_kernel::Pieces::new(&forest, Limits::default());
            stacks.iter().for_each(|stack| pieces.stack(stack).unwrap());
            pieces.place_the_rest(&never).unwrap();
            let mut proof = secateur_kernel::Proof::new(&pieces, &rows, nobody(), &never).unwrap();
            let proved = loop {
                match steps.next().map(|step| proof.step(&step)) {
                    Some(Ok(Progress::Proved)) => break true,
                    Some(Ok(Progress::Open)) => {}
                    Some(Err(_)) | None => break false,
                }
            };
            assert!(!(proved && solved), "seed {seed}: a problem with a solution is proved to have none");
            assert!(proved || solved || !exact, "seed {seed}: every cell fails a row, and they are refused");
            if proved {
                accepted += 1;
            } else {
                refused += 1;
            }
            solved_before += u32::from(solved);
        }
    }
    assert!(
        accepted > 3000 && refused > 10_000 && solved_before > 10_000,
        "{accepted} {refused} {solved_before}"
    );
}
