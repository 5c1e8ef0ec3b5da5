//! Random boxes over more columns than brute force can handle in whole searches: several fixed
//! axes, several parts.

use fastrand::Rng;
use secateur_model::{Exact, GroupId};
use secateur_testkit::{Shape, ensemble};

use super::*;
use crate::{Layout, Row, System};

#[test]
fn a_box_is_judged_as_by_all_its_cells() {
    let (mut nothing, mut solutions, mut several_fixed, mut parts) = (0, 0, 0, 0);
    for seed in 0..1_500 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        (shape.features, shape.categorical, shape.classes) = (10, 0, 2);
        (shape.trees, shape.depth, shape.thresholds) = (rng.u32(8..=18), 2, rng.u32(1..=2));
        shape.decision =
            secateur_model::Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
        let model = ensemble(&mut rng, &shape);
        let layout = Layout::new(&[&model]).unwrap();
        let sizes = layout.axis_sizes();
        let ranges: Vec<(u32, u32)> = sizes
            .iter()
            .map(|&size| {
                let low = if rng.u32(0..4) == 0 { rng.u32(0..size) } else { 0 };
                (low, rng.u32(size.min(low + 2)..=size.min(low + 3)))
            })
            .collect();
        let count: u32 = ranges.iter().map(|(low, high)| high - low).product();
        if count > 20_000 {
            continue;
        }
        let cells = |mut code: u32| -> Vec<CellId> {
            let mut cell = |&(low, high): &(u32, u32)| {
                let cell = low + code % (high - low);
                code /= high - low;
                CellId(cell)
            };
            ranges.iter().map(&mut cell).collect()
        };
        // The two rows ask for a sum equal to that of a random cell; mostly one of them is made
        // strict, so that the sum would have to differ a little.
        let row = |sign| Row { terms: vec![(0, sign)], bound: Exact::zero(), strict: false };
        let plain = System::new(&layout, &[row(1)]);
        let lens = Lens::of_row(&plain, 0);
        let at = lens.at(&cells(rng.u32(0..count))) - lens.bound;
        let unit = Exact::new(1.into(), layout.exponent());
        if !lens.exact {
            continue;
        }
        let value = &unit * &Exact::from(at);
        let mut rows = [row(1), row(-1)];
        rows[0].bound = value.clone();
        rows[1].bound = -value;
        rows[usize::from(rng.bool())].strict = rng.u32(0..4) > 0;
        let system = System::new(&layout, &rows);
        let (lens, other) = (Lens::of_row(&system, 0), Lens::of_row(&system, 1));
        let holds = |cells: &[CellId]| lens.at(cells) >= lens.bound && other.at(cells) >= other.bound;
        let expected = (0..count).map(cells).any(|cells| holds(&cells));
        let mut view = lens.root();
        for (axis, &(low, high)) in ranges.iter().enumerate() {
            lens.restrict(&mut view, axis, low, high);
        }
        let mut small_box = SmallBox::new(&sizes);
        let mut judge = |ranges: &[(u32, u32)]| {
            let cells: Vec<CellId> = ranges.iter().map(|range| CellId(range.0)).collect();
            assert!(system.holds(&cells), "seed {seed}: {cells:?} does not reach both bounds");
            Judged::Solution(cells)
        };
        match small_box.look(&lens, &view, &ranges, &mut judge) {
            Looked::Nothing => {
                assert!(!expected, "seed {seed}: a solution was missed");
                nothing += 1;
            }
            Looked::Solution(_) => solutions += 1,
            Looked::TooLarge(_) => continue,
            Looked::Unclear => panic!("seed {seed}: every pair is a solution"),
        }
        several_fixed += u32::from(small_box.fixed_axes().len() > 1);
        parts += u32::from(small_box.parts.len() > 2);
    }
    println!(
        "{nothing} without, {solutions} with a solution; {several_fixed} with several fixed axes, {parts} with parts"
    );
    assert!(nothing > 300 && solutions > 100, "{nothing} {solutions}: a one-sided test");
    assert!(several_fixed > 50 && parts > 100, "{several_fixed} {parts}: a weak test");
}
