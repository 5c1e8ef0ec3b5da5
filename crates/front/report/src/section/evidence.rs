//! Why trees must stay: the proved lower bound, with inputs that show it.

use crate::description::{Outcome, Report};
use crate::number::{self, counted};
use crate::{escape, section};

/// The most arguments that are shown.
const ARGUMENTS: usize = 6;
/// The most inputs of one argument that are shown.
const INPUTS: usize = 2;
/// The most columns of one input that are shown.
const COLUMNS: usize = 12;

pub(crate) fn html(report: &Report) -> String {
    let evidence = &report.evidence;
    if evidence.indispensable_trees == 0 && evidence.relevant_splits == 0 && evidence.examples.is_empty() {
        return String::new();
    }
    let heading =
        if report.outcome == Outcome::AlreadyMinimal { "Why no tree can go" } else { "Why trees must stay" };
    let mut html = String::new();
    if evidence.indispensable_trees > 0 {
        html += &format!(
            "<p>{} proved <strong>indispensable</strong>: for each there are inputs that no reweighting of the other \
             trees decides as the original does. These inputs were evaluated in exact arithmetic.</p>\n",
            match evidence.indispensable_trees as u64 {
                1 => format!("{} tree is", number::count("indispensable_trees", 1)),
                count => format!("{} trees are", number::count("indispensable_trees", count)),
            }
        );
    }
    if let Some(bound) = report.lower_bound.filter(|&bound| bound > evidence.indispensable_trees) {
        html += &format!(
            "<p>The lower bound of {} trees rests on more than these examples.</p>\n",
            number::grouped(bound as u64)
        );
    }
    if evidence.relevant_splits > 0 {
        html += &format!(
            "<p>{} a decision somewhere, so each must survive in some tree.</p>\n",
            match evidence.relevant_splits as u64 {
                1 => format!("{} split changes", number::count("relevant_splits", 1)),
                count => format!("{} splits change", number::count("relevant_splits", count)),
            }
        );
    }
    html += "<div class=\"arguments\">\n";
    for (index, example) in evidence.examples.iter().take(ARGUMENTS).enumerate() {
        let name =
            example.tree.map_or_else(|| format!("Example {}", index + 1), |tree| format!("Tree {tree}"));
        html += &format!("<article><h3>{name}</h3><p>{}</p>\n", escape::sentence(&example.reason));
        for row in example.rows.iter().take(INPUTS) {
            html += &format!(
                "<div class=\"input\"><p>The original decides for <strong>{}</strong>, ahead by {}, at</p>{}</div>\n",
                escape::text(&row.class),
                number::short(row.lead),
                section::values(&row.values, COLUMNS)
            );
        }
        let rest = example.rows_needed.saturating_sub(example.rows.len().min(INPUTS));
        if rest > 0 {
            html += &format!(
                "<p class=\"rest\">The argument needs {} besides.</p>\n",
                counted(rest as u64, "input", "inputs")
            );
        }
        html += "</article>\n";
    }
    html += "</div>\n";
    section::section("evidence", heading, &html)
}
