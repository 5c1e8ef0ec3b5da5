//! The proof kernel of secateur: does this proof show that no cell solves this problem?
//!
//! A [`Forest`] is a list of trees over a grid of cells, with whole numbers at their leaves. A
//! problem asks for a cell in which the trees' sums satisfy several [`Row`]s. A [`Proof`] receives
//! one [`Step`] after the other and accepts only steps from which it follows that no cell does,
//! except for those that the caller [excuses](Excuse). [`check`] runs a whole proof.
//!
//! Everything here is exact: whole numbers, of any size if needed ([`Int`]). There are no
//! dependencies, no floats, no input or output, no threads and no unsafe code. Nothing here knows
//! of models: `secateur-lower` knows where problems come from and what they mean.
//!
//! Read `problem` first (the question), then `proof` (what a step does), `rules` (why that is
//! sound), and last the modules that make it fast: `pieces` and `joint` (trees laid over each
//! other), `boxes` (which leaves a box meets), `lens` (upper bounds). [`Cuts`] and [`Cover`] have
//! another subject: lower bounds on what any smaller model needs. The rules are specified in
//! `docs/spec/kernel.md`.

mod bounds;
mod boxes;
mod joint;
mod lens;
mod pieces;
mod problem;
mod proof;
mod refusal;
mod rows;
mod rules;
mod wide;

pub use bounds::{Constraints, Cover, Crossings, Cuts, Term};
pub use pieces::Pieces;
pub use problem::{Forest, Malformed, Node, Range, Row, Tree, common, others};
pub use proof::{Excuse, Progress, Proof, Step};
pub use refusal::{JoinLimit, Refusal};
pub use wide::Int;

/// What the kernel may spend. A proof that needs more is refused as undecided, not as wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Joint leaves of one stack of several trees.
    pub overlay_leaves: usize,
    /// A stack with at most this many joint leaves gets masks of leaves; a larger one keeps its
    /// joint tree. The verdicts are the same either way.
    pub masked_leaves: usize,
    /// Bytes of leaf masks and tables over all stacks.
    pub overlay_bytes: usize,
    /// Bytes of all lenses of one problem.
    pub lens_bytes: usize,
    /// Cells of one `Cells` step.
    pub cells: u64,
    /// The work of one `Join` step: choices on the fixed axes times sums in both lists.
    pub join_sums: u64,
    /// Pairs of sums that one `Join` step examines.
    pub join_pairs: usize,
    /// Entries of a half in a meeting in the middle.
    pub meet_entries: usize,
    /// Bytes of all cuts.
    pub cut_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            overlay_leaves: 1 << 20,
            masked_leaves: 1 << 10,
            overlay_bytes: 1 << 30,
            lens_bytes: 1 << 29,
            cells: 1 << 24,
            join_sums: 1 << 20,
            join_pairs: 1 << 12,
            meet_entries: 1 << 23,
            cut_bytes: 1 << 28,
        }
    }
}

/// Checks a whole proof: the stacks of trees, then the steps. An error is the refusal and the
/// number of the step, if a step was refused. The steps must end where the proof does.
pub fn check(
    forest: &Forest,
    rows: &[Row],
    stacks: &[Vec<u32>],
    steps: impl IntoIterator<Item = Step>,
    excuse: Excuse<'_>,
    limits: Limits,
) -> Result<(), (Refusal, Option<usize>)> {
    let (never, early) = (|| false, |refusal| (refusal, None));
    let mut pieces = Pieces::new(forest, limits);
    stacks.iter().try_for_each(|stack| pieces.stack(stack)).map_err(early)?;
    pieces.place_the_rest(&never).map_err(early)?;
    let mut proof = Proof::new(&pieces, rows, excuse, &never).map_err(early)?;
    let mut progress = Progress::Open;
    for (at, step) in steps.into_iter().enumerate() {
        if progress == Progress::Proved {
            return Err((Refusal::Order, Some(at)));
        }
        progress = proof.step(&step).map_err(|refusal| (refusal, Some(at)))?;
    }
    if progress == Progress::Proved { Ok(()) } else { Err((Refusal::Open, None)) }
}
