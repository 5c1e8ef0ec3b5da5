//! The largest packing of sets: a small dense simplex that needs no first phase.
//!
//! Problem: sets S_i of elements and a capacity c_e for each element. Maximise `sum_i y_i` over
//! `y >= 0` such that, for each element, the y of the sets that hold it add up to at most its
//! capacity. This is the dual of the linear relaxation of covering all sets, so the prices of the
//! elements are a fractional cover.
//!
//! Zero is a solution, so the method starts there. At first the steepest set enters. After a number
//! of steps the first set that improves enters instead, which cannot cycle. As everywhere in this
//! crate, the answer is a hint: a caller who needs a bound rounds the values down and adds them up
//! in integers.

use crate::status::Limits;

/// A reduced cost or a pivot below this counts as zero.
const ZERO: f64 = 1e-9;
/// The steps in which the steepest set enters, for each set and element.
const STEEPEST_STEPS: usize = 4;
/// The most steps, for each set and element.
const MOST_STEPS: usize = 20;
/// Steps between two checks of the limits.
const STEPS_BETWEEN_LOOKS: usize = 8;

/// A packing and the prices that belong to it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPacking {
    /// How much of each set is packed.
    pub values: Vec<f64>,
    /// The elements that are in some set, ascending, each with its price.
    pub prices: Vec<(usize, f64)>,
}

/// The largest packing of these sets, or a smaller one if a limit ends the search. Element `e` has
/// the capacity `capacities[e]`, which must not be negative.
pub fn largest_set_packing(sets: &[&[usize]], capacities: &[f64], limits: &Limits<'_>) -> SetPacking {
    let mut elements: Vec<usize> = sets.iter().flat_map(|set| set.iter().copied()).collect();
    elements.sort_unstable();
    elements.dedup();
    let (height, width) = (elements.len(), sets.len());
    // Columns of the table: the sets, then a slack for each element, then the right-hand side. The
    // last row holds the reduced costs.
    let total = width + height + 1;
    let mut table = vec![vec![0.0f64; total]; height + 1];
    for (at, set) in sets.iter().enumerate() {
        for element in *set {
            let row = elements.binary_search(element).expect("the elements are those of the sets");
            table[row][at] = 1.0;
        }
        table[height][at] = -1.0;
    }
    for (row, &element) in elements.iter().enumerate() {
        table[row][width + row] = 1.0;
        table[row][total - 1] = capacities[element];
    }
    let mut basis: Vec<usize> = (width..width + height).collect();
    for step in 0..MOST_STEPS * (height + width) {
        if step % STEPS_BETWEEN_LOOKS == STEPS_BETWEEN_LOOKS - 1 && limits.spent().is_some() {
            break;
        }
        let improving = (0..total - 1).filter(|&at| table[height][at] < -ZERO);
        let entering = if step < STEEPEST_STEPS * (height + width) {
            improving.min_by(|&a, &b| table[height][a].total_cmp(&table[height][b]))
        } else {
            improving.min()
        };
        let Some(entering) = entering else { break };
        let ratio = |row: usize| table[row][total - 1] / table[row][entering];
        let leaving = (0..height)
            .filter(|&row| table[row][entering] > ZERO)
            .min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(basis[a].cmp(&basis[b])));
        let Some(leaving) = leaving else { break };
        let scale = table[leaving][entering];
        table[leaving].iter_mut().for_each(|value| *value /= scale);
        let pivot_row = table[leaving].clone();
        for (row, values) in table.iter_mut().enumerate() {
            let factor = values[entering];
            if row != leaving && factor != 0.0 {
                values.iter_mut().zip(&pivot_row).for_each(|(value, other)| *value -= factor * other);
            }
        }
        basis[leaving] = entering;
    }
    let mut values = vec![0.0; width];
    for (row, &variable) in basis.iter().enumerate() {
        if variable < width {
            values[variable] = table[row][total - 1].max(0.0);
        }
    }
    let prices = elements.iter().enumerate().map(|(row, &element)| (element, table[height][width + row]));
    SetPacking { values, prices: prices.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_triangle_packs_a_half_of_each_edge() {
        let sets: [&[usize]; 3] = [&[0, 1], &[1, 2], &[0, 2]];
        let packing = largest_set_packing(&sets, &[1.0; 3], &Limits::none());
        assert!(packing.values.iter().all(|&value| is_close(value, 0.5)), "{packing:?}");
        assert!(packing.prices.iter().all(|&(_, price)| is_close(price, 0.5)), "{packing:?}");
    }

    /// Checks the properties of a largest packing: no element is over its capacity, the prices
    /// cover every set, and the totals are equal, so that neither can be better.
    #[test]
    fn random_packings_are_feasible_and_no_other_is_larger() {
        let mut rng = fastrand::Rng::with_seed(5);
        for case in 0..300 {
            let elements = rng.usize(1..12);
            let capacities: Vec<f64> = (0..elements).map(|_| f64::from(rng.u32(0..5))).collect();
            let sets: Vec<Vec<usize>> = (0..rng.usize(1..15))
                .map(|_| {
                    let mut set: Vec<usize> = (0..elements).filter(|_| rng.bool()).collect();
                    if set.is_empty() {
                        set.push(rng.usize(0..elements));
                    }
                    set
                })
                .collect();
            let views: Vec<&[usize]> = sets.iter().map(Vec::as_slice).collect();
            let SetPacking { values, prices } = largest_set_packing(&views, &capacities, &Limits::none());
            let price = |element: &usize| prices.iter().find(|(own, _)| own == element).unwrap().1;
            for (element, &capacity) in capacities.iter().enumerate() {
                let users = sets.iter().zip(&values).filter(|(set, _)| set.contains(&element));
                let load: f64 = users.map(|(_, value)| value).sum();
                assert!(load <= capacity + 1e-6, "case {case}: {load} of {capacity}");
            }
            for set in &sets {
                let paid: f64 = set.iter().map(price).sum();
                assert!(paid >= 1.0 - 1e-6, "case {case}: a set costs {paid}");
            }
            let packed: f64 = values.iter().sum();
            let cover: f64 = prices.iter().map(|&(element, price)| capacities[element] * price).sum();
            assert!(is_close(packed, cover), "case {case}: {packed} and {cover}");
        }
    }

    #[test]
    fn a_stopped_search_still_gives_a_packing() {
        let sets: Vec<Vec<usize>> =
            (0..200).map(|at| vec![at % 67, (at * 7 + 1) % 67, 67 + at % 31]).collect();
        let views: Vec<&[usize]> = sets.iter().map(Vec::as_slice).collect();
        let packing = largest_set_packing(&views, &[1.0; 98], &Limits::none().or_when(&|| true));
        let most = (0..98).map(|element| {
            let users = sets.iter().zip(&packing.values).filter(|(set, _)| set.contains(&element));
            users.map(|(_, value)| value).sum::<f64>()
        });
        assert!(most.fold(0.0, f64::max) <= 1.0 + 1e-6);
    }
}
