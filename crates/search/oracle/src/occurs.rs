//! Does a domain that limits the scores of other models have any input?
//!
//! A claim about no input is true and worthless, so a caller who asks for one gets an error.
//! Columns and groups are checked when a domain is made. Scores depend on each other and on the
//! columns, so they need a search. It is a short one; a domain that it cannot decide passes.

use secateur_model::{CellId, Domain, DomainError};

use crate::layout::Layout;
use crate::solve::{Answer, Options, solve};
use crate::stop::SearchBudget;
use crate::system::System;

/// The most boxes that this search visits.
const NODES: u64 = 20_000;
/// The most seconds that this search takes.
const SECONDS: f64 = 5.0;

/// Refuses a domain if a short search proves that it has no input.
pub fn has_inputs(domain: &Domain) -> Result<(), DomainError> {
    let Some(model) = domain.scorers().next() else { return Ok(()) };
    // All models whose scores are limited make up the grid, so any of them can be laid out.
    let Ok(narrow) = model.within(domain) else { return Ok(()) };
    let budget = SearchBudget { nodes: Some(NODES), ..SearchBudget::seconds(SECONDS) };
    let Ok(layout) = Layout::within(&[&*narrow], &budget) else { return Ok(()) };
    let system = System::new(&layout, &layout.domain_rows());
    let accept = |cells: &[CellId]| layout.grid().scores_hold(cells);
    match solve(&system, &Options { budget, ..Options::unlimited() }, &accept).answer {
        Answer::Proof => Err(DomainError::NoInput),
        Answer::Witnesses(_) | Answer::Undecided(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use secateur_model::{Grid, Side, Where};
    use secateur_testkit::{Shape, all_cells, ensemble};

    use super::*;

    #[test]
    fn a_domain_without_an_input_is_refused_and_no_other() {
        let (mut empty, mut some) = (0, 0);
        for seed in 0..1500 {
            let mut rng = Rng::with_seed(seed);
            let shape = Shape { categorical: 0, ..Shape::random(&mut rng) };
            let scorers = [ensemble(&mut rng, &shape), ensemble(&mut rng, &shape)];
            let wheres: Vec<Where> = scorers
                .iter()
                .zip(0..)
                .filter_map(|(scorer, number)| {
                    let side = if rng.bool() { Side::AtLeast } else { Side::AtMost };
                    let bound = f64::from(rng.i32(-6..=6)) / 2.0;
                    let own = Where::of_digest([number; 32], 0, side, bound).unwrap();
                    own.with_model(scorer.clone(), "a random model").ok()
                })
                .collect();
            let domain = Domain::everything().with_wheres(wheres);
            let Some(Ok(narrow)) = domain.scorers().next().map(|model| model.within(&domain)) else {
                continue;
            };
            let grid = Grid::new(&[&narrow]).unwrap();
            if grid.log10_cells() > 2.5 {
                continue;
            }
            let occurs = all_cells(&grid).any(|cells| grid.scores_hold(&cells));
            assert_eq!(has_inputs(&domain).is_ok(), occurs, "seed {seed}");
            *if occurs { &mut some } else { &mut empty } += 1;
        }
        assert!(empty > 20 && some > 200, "{empty} {some}");
    }
}
