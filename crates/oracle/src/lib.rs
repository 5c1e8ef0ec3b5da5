//! Systems of additive tree inequalities: a witness, or a proof that there is none.
//!
//! A [`Layout`] lays the trees of one or two models over their common grid of cells; a [`System`]
//! asks for a cell where several sums reach their bounds; [`solve`] answers. A [`Comparison`] asks
//! whether two models decide alike. No tolerance decides anything here: all numbers are integers at
//! a common scale.

mod branch;
mod certify;
mod climb;
mod compare;
mod fault;
mod jobs;
mod joint;
mod layout;
mod lens;
mod lens_tree;
mod masks;
mod meet;
mod multipliers;
mod occurs;
mod outline;
mod pause;
mod record;
mod scores;
mod small_box;
mod solve;
mod stop;
mod system;

pub use certify::{Kept, Stretch};
pub use compare::{Compared, Comparison, Counterexample, Lead, Undecided, Verdict, exact_class};
#[cfg(debug_assertions)]
pub use fault::{Fault, with_fault};
pub use jobs::{
    CheckpointError, Crew, In, JobError, Keep, Keeper, Out, Pace, Reply, WireError, Workers, WorkersGone,
    work,
};
pub use layout::{Cells, Layout, LayoutError, Piece};
pub use occurs::has_inputs;
pub use outline::{Band, CompareError, Outline};
pub use record::{ProofStep, Record};
pub use scores::{Limit, Measured, ScoreComparison, ScorePoint};
pub use solve::{Answer, Options, Solved, solve};
pub use stop::{Cancel, Progress, SearchBudget, StopReason};
pub use system::{Row, System};
