//! How much each tree moves the score, before and after: the paper's figure of weights.

use std::fmt::Write;

use crate::chart::{Axis, Plot, SIDE, dot};
use crate::description::{Report, Spread};
use crate::number::{counted, short};
use crate::section;

/// Up to this number each tree has its own line; with more, a line stands for a group of
/// neighbours.
const LINES: usize = 300;

pub(crate) fn html(report: &Report) -> String {
    if report.spreads.is_empty() {
        return String::new();
    }
    let group = report.spreads.len().div_ceil(LINES);
    let shown: Vec<Spread> = report.spreads.chunks(group).map(largest).collect();
    let kept = report.spreads.iter().filter(|spread| spread.after != 0.0).count();
    let mut html = format!(
        "<p>How far each tree moves the score: its largest leaf less its smallest, weight included.{}{}</p>\n",
        match report.scores {
            Some(_) => "",
            None => " A common factor on all trees changes no decision, so compare shapes, not heights.",
        },
        if group > 1 {
            format!(" Each line stands for {group} neighbouring trees and shows the largest of them.")
        } else {
            String::new()
        }
    );
    for (id, name, class, get) in [
        ("weights-before", "Before", "was", (|spread: &Spread| spread.before) as fn(&Spread) -> f64),
        ("weights-after", "After", "is", |spread| spread.after),
    ] {
        let top = shown.iter().map(get).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let axis = Axis::up_to(top);
        let mut picture = String::new();
        for (index, spread) in shown.iter().enumerate() {
            let value = get(spread);
            if value == 0.0 {
                continue;
            }
            let x = SIDE * (index as f64 + 0.5) / shown.len() as f64;
            let y = axis.y(value);
            let _ = write!(
                picture,
                "<line class=\"stem {class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{SIDE}\" y2=\"{y:.1}\"/>"
            );
            if shown.len() <= LINES / 2 {
                picture += &dot(class, x, y);
            }
        }
        let trees = if class == "was" { report.spreads.len() } else { kept };
        html += &format!("<h3>{name}: {}</h3>\n", counted(trees as u64, "tree", "trees"));
        html += &Plot {
            id,
            title: &format!("Spread of each tree, {}", name.to_lowercase()),
            description: &format!(
                "{trees} of {} trees; the largest spread is {}.",
                report.spreads.len(),
                short(top)
            ),
            class: "low",
            y: &axis,
            below: &ticks(report.spreads.len()),
            x_name: "tree, in the original’s order",
            picture: &picture,
        }
        .html();
        html.push('\n');
    }
    section::section("weights", "Weights", &html)
}

fn largest(group: &[Spread]) -> Spread {
    let most = |get: fn(&Spread) -> f64| group.iter().map(get).fold(0.0, f64::max);
    Spread { before: most(|spread| spread.before), after: most(|spread| spread.after) }
}

/// Round tree numbers.
fn ticks(trees: usize) -> Vec<(f64, String)> {
    let axis = Axis::of_counts(trees as u64 - 1);
    let place = |tree: f64| (tree + 0.5) / trees as f64;
    axis.ticks().filter(|&tick| tick < trees as f64).map(|tick| (place(tick), format!("{tick}"))).collect()
}
