//! What became of each tree, and why.

use std::fmt::Write;

use crate::description::{Report, TreeFate};
use crate::number::{self, grouped};
use crate::section;

/// Up to this number each tree has its own square; with more trees only the bar is shown.
const SQUARES: usize = 1200;
/// The most rows of the table.
const ROWS: usize = 300;

/// The fates in the order of the legend: style class, name, explanation.
const FATES: [(&str, &str, &str); 7] = [
    ("kept", "Kept", "in the pruned model, leaf for leaf"),
    ("reweighted", "Reweighted", "in the pruned model with other leaf values"),
    (
        "merged",
        "Merged",
        "had the same splits as another tree; the two became one, and every score is as before",
    ),
    (
        "absorbed",
        "Absorbed",
        "could tell apart no inputs that another tree does not tell apart; that one took over its values, and every \
         score is as before",
    ),
    ("constant", "Constant", "added the same number for every input; it is in the intercept now"),
    ("irrelevant", "Irrelevant", "none of its splits changes a decision anywhere: proved"),
    ("eliminated", "Eliminated", "the others, reweighted, decide the same without it: proved"),
];

fn place(fate: TreeFate) -> usize {
    match fate {
        TreeFate::Kept => 0,
        TreeFate::Reweighted => 1,
        TreeFate::Merged(_) => 2,
        TreeFate::Absorbed(_) => 3,
        TreeFate::Constant => 4,
        TreeFate::Irrelevant => 5,
        TreeFate::Eliminated => 6,
    }
}

pub(crate) fn html(report: &Report) -> String {
    let trees = &report.trees;
    if trees.is_empty() {
        return String::new();
    }
    let mut counts = [0u64; FATES.len()];
    for &fate in trees {
        counts[place(fate)] += 1;
    }
    let total = trees.len() as f64;
    let mut html = "<div class=\"share\" aria-hidden=\"true\">".to_owned();
    for ((style, ..), &count) in FATES.iter().zip(&counts).filter(|(_, count)| **count > 0) {
        let _ =
            write!(html, "<i class=\"{style}\" style=\"width:{:.3}%\"></i>", 100.0 * count as f64 / total);
    }
    html += "</div>\n<dl class=\"fates\">\n";
    for ((style, name, why), &count) in FATES.iter().zip(&counts).filter(|(_, count)| **count > 0) {
        let shown = number::count(&format!("fates.{style}"), count);
        let _ = writeln!(
            html,
            "<div><dt><i class=\"{style}\" aria-hidden=\"true\"></i>{name} {shown}</dt><dd>{why}</dd></div>"
        );
    }
    html += "</dl>\n";
    if trees.len() <= SQUARES {
        html += &squares(trees);
    }
    html += &table(report);
    section::section("trees", "What became of each tree", &html)
}

fn squares(trees: &[TreeFate]) -> String {
    let mut html = format!(
        "<div class=\"squares\" role=\"img\" aria-label=\"{} trees in the original’s order, filled where they \
         stay\">",
        trees.len()
    );
    for (index, &fate) in trees.iter().enumerate() {
        let _ = write!(html, "<i class=\"{}\" title=\"{}\"></i>", FATES[place(fate)].0, words(index, fate));
    }
    html += "</div>\n<p class=\"note\">One square for each tree, in the original’s order: filled ones stay, outlined \
             ones are gone.</p>\n";
    html
}

fn words(index: usize, fate: TreeFate) -> String {
    let name = FATES[place(fate)].1.to_lowercase();
    match fate {
        TreeFate::Merged(into) | TreeFate::Absorbed(into) => format!("Tree {index}: {name} into tree {into}"),
        _ => format!("Tree {index}: {name}"),
    }
}

fn table(report: &Report) -> String {
    let trees = &report.trees;
    let mut html = format!(
        "<details><summary>All trees{}</summary>\n",
        if trees.len() > ROWS {
            format!(" (the first {ROWS} of {})", grouped(trees.len() as u64))
        } else {
            String::new()
        }
    );
    html += "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Tree</th><th scope=\"col\">Fate</th>\
             <th scope=\"col\" class=\"n\">Spread before</th><th scope=\"col\" class=\"n\">Spread after</th></tr>\
             </thead><tbody>\n";
    for (index, &fate) in trees.iter().enumerate().take(ROWS) {
        let spread = report.spreads.get(index);
        let cell = |value: Option<f64>| match value {
            Some(0.0) | None => "–".to_owned(),
            Some(value) => number::short(value),
        };
        let name = FATES[place(fate)].1;
        let into = match fate {
            TreeFate::Merged(into) | TreeFate::Absorbed(into) => format!(" into {into}"),
            _ => String::new(),
        };
        let _ = writeln!(
            html,
            "<tr><td>{index}</td><td>{name}{into}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            cell(spread.map(|spread| spread.before)),
            cell(spread.map(|spread| spread.after))
        );
    }
    html += "</tbody></table></div></details>\n";
    html
}
