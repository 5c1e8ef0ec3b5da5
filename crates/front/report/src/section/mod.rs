//! The sections of the page: each is a function from the report to HTML, empty if it has nothing to
//! show.

pub(crate) mod counterexample;
pub(crate) mod evidence;
pub(crate) mod features;
pub(crate) mod files_and_settings;
pub(crate) mod headline;
pub(crate) mod run;
pub(crate) mod scores;
pub(crate) mod sizes;
pub(crate) mod trees;
pub(crate) mod weights;

use crate::description::Value;
use crate::escape;

/// The most sentences of one kind that are shown.
pub(crate) const SENTENCES: usize = 20;

/// A section with a heading.
fn section(id: &str, heading: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{body}</section>\n")
}

/// Columns and their values, as a list that wraps; at most `most` of them.
fn values(values: &[Value], most: usize) -> String {
    let mut html = "<dl class=\"values\">".to_owned();
    for value in values.iter().take(most) {
        html += &format!(
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape::text(&value.feature),
            escape::text(&value.value)
        );
    }
    html += "</dl>";
    if values.len() > most {
        html += &format!("<p class=\"rest\">and {} more columns</p>", values.len() - most);
    }
    html
}
