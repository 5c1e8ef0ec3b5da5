//! Lenses compared with each other and with plain sums.

use fastrand::Rng;
use secateur_model::Exact;
use secateur_testkit::{Shape, ensemble};

use super::*;
use crate::{Layout, Row};

#[test]
fn moving_along_an_axis_changes_the_sum_as_two_views_say() {
    let mut rng = Rng::with_seed(7);
    let mut moved = 0;
    for _ in 0..300 {
        let shape = Shape::random(&mut rng);
        let layout = Layout::new(&[&ensemble(&mut rng, &shape)]).unwrap();
        let row = Row { terms: vec![(0, 1)], bound: Exact::zero(), strict: false };
        let lens = Lens::new(&System::new(&layout, &[row]), &[1]);
        let sizes = layout.axis_sizes();
        let at = |cells: &[CellId]| {
            let mut view = lens.root();
            cells.iter().enumerate().for_each(|(axis, c)| lens.restrict(&mut view, axis, c.0, c.0 + 1));
            view.upper
        };
        let mut cells: Vec<CellId> = sizes.iter().map(|&size| CellId(rng.u32(0..size))).collect();
        assert_eq!(lens.at(&cells), at(&cells));
        for axis in 0..sizes.len() {
            let mut rises = vec![0; sizes[axis] as usize];
            lens.rises(&cells, axis, &mut rises);
            let before = lens.at(&cells);
            for (cell, rise) in rises.iter().enumerate() {
                cells[axis] = CellId::new(cell);
                assert_eq!(before + rise, at(&cells));
                moved += usize::from(*rise != 0);
            }
        }
    }
    assert!(moved > 500, "{moved}");
}

#[test]
fn pieces_with_masks_and_pieces_with_trees_look_the_same() {
    let mut rng = Rng::with_seed(11);
    let (mut losses, mut wide) = (0, 0);
    for case in 0..300 {
        // Every third model has trees of more than 64 leaves, whose masks take several words.
        let model = match case % 3 {
            0 => large(&mut rng),
            _ => {
                let shape = Shape::random(&mut rng);
                ensemble(&mut rng, &shape)
            }
        };
        let atlases = [usize::MAX, 0].map(|most| Layout::masked_up_to(&[&model], most));
        let lenses = atlases.each_ref().map(|layout| {
            let row = Row { terms: vec![(0, 1)], bound: Exact::zero(), strict: false };
            Lens::new(&System::new(layout, &[row]), &[1])
        });
        assert!(lenses[0].trees.is_empty() && lenses[1].pieces.is_empty());
        let long = |axis: &LensAxis| axis.spans.is_some() && axis.runs as usize > FEW_RUNS;
        wide += usize::from(lenses[0].by_axis.iter().flatten().any(long));
        let sizes = atlases[0].axis_sizes();
        let mut views = lenses.each_ref().map(Lens::root);
        // Shrink a box at random, and compare everything at each step.
        let mut ranges: Vec<(u32, u32)> = sizes.iter().map(|&size| (0, size)).collect();
        for _ in 0..12 {
            assert_eq!(views[0].upper, views[1].upper);
            for (axis, &(low, high)) in ranges.iter().enumerate() {
                let [masks, trees] = [0, 1].map(|way| {
                    let (mut left, mut right) = (vec![0; high as usize], vec![0; high as usize]);
                    lenses[way].profile(&views[way], axis, low, high, &mut left, &mut right);
                    let mut cells = vec![0; high as usize];
                    lenses[way].cell_losses(&views[way], axis, low, high, &mut cells);
                    let inside = low as usize..high as usize - 1;
                    (left[inside.clone()].to_vec(), right[inside].to_vec(), cells)
                });
                assert_eq!(masks, trees);
                losses += masks.0.iter().chain(&masks.1).filter(|&&loss| loss != 0).count();
            }
            if sizes.is_empty() {
                break;
            }
            let axis = rng.usize(0..sizes.len());
            let low = rng.u32(ranges[axis].0..ranges[axis].1);
            let high = rng.u32(low + 1..=ranges[axis].1);
            ranges[axis] = (low, high);
            (0..2).for_each(|way| lenses[way].restrict(&mut views[way], axis, low, high));
        }
        // A whole search gives the same answer with the same boxes.
        let solved = atlases.each_ref().map(|layout| {
            let row = |sign, bound| Row { terms: vec![(0, sign)], bound: Exact::from(bound), strict: true };
            // Boxes with pieces that have no masks are split down to single cells.
            let mut options =
                crate::Options { shortcuts: false, small_boxes: false, ..crate::Options::unlimited() };
            options.budget.nodes = Some(2_000);
            let solved = crate::solve(&System::new(layout, &[row(1, 0), row(-1, -1)]), &options, &|_| true);
            (solved.answer, solved.nodes)
        });
        assert_eq!(solved[0], solved[1]);
        let cells: Vec<CellId> = sizes.iter().map(|&size| CellId(rng.u32(0..size))).collect();
        assert_eq!(lenses[0].at(&cells), lenses[1].at(&cells));
        for (axis, &size) in sizes.iter().enumerate() {
            let [masks, trees] = lenses.each_ref().map(|lens| {
                let mut rises = vec![0; size as usize];
                lens.rises(&cells, axis, &mut rises);
                rises
            });
            assert_eq!(masks, trees);
        }
    }
    assert!(losses > 2000, "{losses}: nothing was compared");
    assert!(wide > 5, "{wide}: no leaves in several words");
}

/// Two complete trees of 128 leaves over four columns.
fn large(rng: &mut Rng) -> secateur_model::Ensemble {
    use secateur_model::*;
    let intake = Intake { number: NumberType::F64, missing: rng.bool(), infinities: true, zero_window: None };
    let accumulation = Accumulation::in_order(NumberType::F64);
    let (features, decision) = (Features::unnamed(4), Decision::Scores(Value::Score));
    let classes = ClassLabels::Unnamed(0);
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.0], accumulation, decision).unwrap();
    for _ in 0..2 {
        let mut tree = TreeBuilder::new();
        for depth in 0..7 {
            for node in (1usize << depth) - 1..(2 << depth) - 1 {
                let place = (node + 1 - (1 << depth)) as f64 / f64::from(1 << depth);
                let test = Test::LessOrEqual { threshold: place + rng.f64() / 1e3 };
                let split =
                    Split { feature: FeatureId(rng.u32(0..4)), test, missing_left: rng.u32(0..4) == 0 };
                tree.split(split, NodeId::new(2 * node + 1), NodeId::new(2 * node + 2));
            }
        }
        for _ in 0..128 {
            tree.leaf(&[f64::from(rng.i32(-50..50))]);
        }
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}
