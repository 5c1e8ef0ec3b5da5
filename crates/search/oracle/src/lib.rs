//! Systems of additive tree inequalities: a witness, or a proof that there is none.
//!
//! A [`Layout`] lays the trees of one or two models over their common grid of cells; a [`System`]
//! asks for a cell where several sums reach their bounds; [`solve`] answers. A [`Comparison`] asks
//! whether two models decide alike. No tolerance decides anything here: all numbers are integers at
//! a common scale.
//!
//! # Where to read
//! `solve` calls the layers in turn. `claimed` is the one road for a claim, whatever it is about.
//! `outline` and `layout` (with `joint`) lay two models over
//! their grid, `system` has the rows, `compare` the question whether two models decide alike, and
//! `scores` how far their scores can be apart (`scores/extreme`: one output and direction,
//! `scores/judge`: in the libraries' own arithmetic). `one` asks about one model: the range of its
//! scores, and its classes; `around` about the inputs around one row; `twins` what moving some columns
//! does. `occurs` asks whether a domain has any input.
//!
//! `lens`, `lens_tree` (large trees) and `masks` are bounds, `multipliers` makes them small. `meet`
//! solves trees of one feature each without a search, `climb` is local search, `difference` asks
//! first how far two models can be apart, `branch` is the search over boxes, `small_box` closes
//! small ones by joining two halves. `record` and `certify` write the proof down, `stop` has
//! budgets, `jobs` lets other threads and machines visit boxes and keeps checkpoints. `fault` breaks
//! the search on purpose, for tests.

mod around;
mod branch;
mod certify;
mod claimed;
mod climb;
mod compare;
mod difference;
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
mod one;
mod outline;
mod pause;
mod record;
mod scores;
mod series;
mod small_box;
mod solve;
mod stop;
mod system;
mod twins;

pub use around::{Around, Boxed, Part, Spot, Surroundings};
pub use certify::{Kept, Stretch};
pub use claimed::{Claim, Claimed, Judgement};
pub use compare::{Compared, Comparison, Counterexample, Lead, Undecided, Verdict, exact_class};
#[cfg(debug_assertions)]
pub use fault::{Fault, with_fault};
pub use jobs::{CheckpointError, Crew, JobError, Keep, Keeper, Reply, Workers, WorkersGone, work};
pub use layout::{Cells, Layout, LayoutError, Piece};
pub use occurs::has_inputs;
pub use one::{AskError, Held, OneModel, Ranged, Reached};
pub use outline::{Band, CompareError, Outline};
pub use record::{ProofStep, Record};
pub use scores::{Limit, Measured, ScoreComparison, ScorePoint};
pub use solve::{Answer, Options, Solved, solve};
pub use stop::{Cancel, Progress, SearchBudget, StopReason};
pub use system::{Row, System};
pub use twins::Twins;
