//! One self-contained HTML page about a run: what is claimed, what changed and why, how the run went.
//!
//! [`html`] is a pure function of a plain [`Report`]; it knows nothing of models and files. The page needs no
//! script and no network, follows the reader's light or dark theme, fits a phone and prints.
//!
//! # What holds
//! - Every text of the report is escaped (the module `escape` is the only way into the page): feature names, class
//!   labels and paths come from files that nobody has checked.
//! - Every number stands in the page twice: as text for people, and unrounded in a `<data>` element with a
//!   key (`trees.after`), so that a test or a script can compare it with the JSON result.
//! - The size of the page is bounded whatever the model: long lists are cut with a count of the rest, charts
//!   of many trees show groups of trees.

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

/// The page.
pub fn html(report: &Report) -> String {
    page::page(report)
}
