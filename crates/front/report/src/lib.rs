//! One self-contained HTML page about a run: what is claimed, what changed and why, and how the run
//! went.
//!
//! [`html`] is a pure function of a plain [`Report`]; it does not read models or files. The page
//! needs no script and no network, follows the reader's light or dark theme, fits a phone and can
//! be printed.
//!
//! # Invariants
//! - Every text of the report is escaped; the module `escape` is the only way into the page.
//!   Feature names, class labels and paths come from files that nobody has checked.
//! - Every number is in the page twice: as text for people, and unrounded in a `<data>` element
//!   with a key (`trees.after`), so that a test or a script can compare it with the JSON result.
//! - The size of the page is bounded for every model: long lists are cut and state the number of
//!   omitted entries; charts of many trees show groups of trees.
//!
//! # Where to read
//! `description` is what goes in; `page` puts the sections into their order; `section` has a file
//! for each. `chart`, `number` and `escape` are their tools.

mod chart;
mod description;
mod escape;
mod number;
mod page;
mod section;

pub use description::{
    Along, Certificate, Claim, Counterexample, Evidence, ExampleRow, Feature, Indispensable, Model, Moment,
    Near, Outcome, Phase, Report, Run, ScoreInput, Scores, Split, SplitFate, Spread, Timing, TreeFate, Value,
};

/// The page as HTML.
pub fn html(report: &Report) -> String {
    page::page(report)
}
