//! Sums of one number from each of several lists: the smallest sum from a value on, or the largest
//! up to it.
//!
//! The lists are divided into two halves. Each half lists all its sums in order, and one pass over
//! both lists finds the answer. All numbers are exact; `None` where a half would be too long. For
//! models of one feature per tree this decides whether any context (the cells of all other axes)
//! brings the score between two values.

/// The most sums that a half may list.
const MOST: usize = 1 << 20;

/// All sums of one number from each list.
pub(crate) struct Sums {
    halves: [Half; 2],
}

struct Half {
    /// The lists that it combines: the index among all lists, and the length.
    lists: Vec<(usize, usize)>,
    /// Its sums, ascending, each with the choices that make it, encoded in mixed radix over the
    /// lists.
    sums: Vec<(i128, u64)>,
}

/// A sum and the choices that make it: for each list, the position of the number taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) sum: i128,
    pub(crate) positions: Vec<usize>,
}

impl Sums {
    /// Lists the sums of both halves; `None` if there are too many, or the numbers are too large to
    /// add.
    pub(crate) fn new(lists: &[Vec<i128>]) -> Option<Self> {
        let spread =
            lists.iter().flatten().try_fold(0i128, |total, value| total.checked_add(value.checked_abs()?))?;
        spread.checked_mul(4)?;
        let mut order: Vec<usize> = (0..lists.len()).collect();
        order.sort_by_key(|&list| std::cmp::Reverse(lists[list].len()));
        let mut halves = [Vec::new(), Vec::new()];
        let mut sizes = [1f64; 2];
        for list in order {
            let smaller = usize::from(sizes[1] < sizes[0]);
            sizes[smaller] *= lists[list].len() as f64;
            halves[smaller].push(list);
        }
        let [first, second] = halves.map(|half| Half::new(lists, &half));
        Some(Self { halves: [first?, second?] })
    }

    /// The smallest sum that is at least `low`.
    pub(crate) fn first_from(&self, low: i128) -> Option<Choice> {
        let [a, b] = &self.halves;
        let mut best: Option<(i128, u64, u64)> = None;
        let mut end = b.sums.len();
        for &(sum, code) in &a.sums {
            // Sums of the first half ascend, so the partners that reach `low` begin ever earlier.
            while end > 0 && sum + b.sums[end - 1].0 >= low {
                end -= 1;
            }
            if let Some(&(partner, other)) = b.sums.get(end)
                && best.is_none_or(|best| sum + partner < best.0)
            {
                best = Some((sum + partner, code, other));
            }
        }
        best.map(|best| self.choice(best))
    }

    /// The largest sum that is at most `high`.
    pub(crate) fn last_up_to(&self, high: i128) -> Option<Choice> {
        let [a, b] = &self.halves;
        let mut best: Option<(i128, u64, u64)> = None;
        let mut end = b.sums.len();
        for &(sum, code) in &a.sums {
            while end > 0 && sum + b.sums[end - 1].0 > high {
                end -= 1;
            }
            let Some(&(partner, other)) = b.sums[..end].last() else { break };
            if best.is_none_or(|best| sum + partner > best.0) {
                best = Some((sum + partner, code, other));
            }
        }
        best.map(|best| self.choice(best))
    }

    fn choice(&self, (sum, first, second): (i128, u64, u64)) -> Choice {
        let lists = self.halves.iter().map(|half| half.lists.len()).sum();
        let mut positions = vec![0; lists];
        for (half, mut code) in self.halves.iter().zip([first, second]) {
            for &(list, length) in &half.lists {
                positions[list] = (code % length as u64) as usize;
                code /= length as u64;
            }
        }
        Choice { sum, positions }
    }
}

impl Half {
    fn new(lists: &[Vec<i128>], own: &[usize]) -> Option<Self> {
        let mut sums = vec![(0, 0)];
        let mut radix = 1u64;
        for &list in own {
            let values = &lists[list];
            if sums.len().checked_mul(values.len())? > MOST {
                return None;
            }
            sums = sums
                .iter()
                .flat_map(|&(sum, code)| {
                    values.iter().enumerate().map(move |(at, value)| (sum + value, code + radix * at as u64))
                })
                .collect();
            sums.sort_unstable();
            sums.dedup_by_key(|(sum, _)| *sum);
            radix = radix.checked_mul(values.len() as u64)?;
        }
        Some(Self { lists: own.iter().map(|&list| (list, lists[list].len())).collect(), sums })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_questions_agree_with_a_list_of_all_sums() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let lists: Vec<Vec<i128>> = (0..rng.usize(0..5))
                .map(|_| (0..rng.usize(1..5)).map(|_| i128::from(rng.i32(-20..20))).collect())
                .collect();
            let mut all = vec![0];
            for list in &lists {
                all = all.iter().flat_map(|sum| list.iter().map(move |value| sum + value)).collect();
            }
            let sums = Sums::new(&lists).unwrap();
            for bound in -30..30 {
                let first = sums.first_from(bound);
                let last = sums.last_up_to(bound);
                assert_eq!(first.as_ref().map(|c| c.sum), all.iter().copied().filter(|&s| s >= bound).min());
                assert_eq!(last.as_ref().map(|c| c.sum), all.iter().copied().filter(|&s| s <= bound).max());
                for choice in first.into_iter().chain(last) {
                    let total: i128 = lists.iter().zip(&choice.positions).map(|(list, &at)| list[at]).sum();
                    assert_eq!(total, choice.sum);
                }
            }
        }
    }

    #[test]
    fn too_many_sums_are_refused() {
        let lists: Vec<Vec<i128>> =
            (0..14).map(|list| (0..10).map(|at| (at * 11 + 7) << (5 * list)).collect()).collect();
        assert!(Sums::new(&lists).is_none());
    }
}
