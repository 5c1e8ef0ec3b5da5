//! The input on which the models differ, and each model's scores there.

use std::fmt::Write;

use crate::description::Report;
use crate::number::{self, counted};
use crate::{escape, section};

/// The most columns of the input that are shown.
const COLUMNS: usize = 200;
/// The most classes whose scores are shown.
const CLASSES: usize = 40;

pub(crate) fn html(report: &Report) -> String {
    let Some(example) = &report.counterexample else { return String::new() };
    let mut html = "<div class=\"versus\">\n".to_owned();
    for (model, name) in ["First model", "Second model"].into_iter().enumerate() {
        let _ = writeln!(
            html,
            "<div class=\"says {}\"><h3>{name}</h3><p class=\"says\">{}</p>{}</div>",
            ["one", "two"][model],
            escape::text(&example.classes[model]),
            scores(report, &example.scores[model], &example.classes[model], model)
        );
    }
    html += "</div>\n";
    if !example.in_libraries {
        html += "<p class=\"note\">The libraries round to the same class here: the difference is one of exact \
                 arithmetic.</p>\n";
    }
    if let Some(near) = &example.near {
        let what = match near.changed {
            0 => "as it is".to_owned(),
            changed => format!("with {} changed", counted(changed as u64, "column", "columns")),
        };
        let _ = writeln!(html, "<p>It is row {} of the table, {what}.</p>", number::grouped(near.row as u64));
    }
    html += "<h3>The input</h3>\n";
    html += &section::values(&example.values, COLUMNS);
    if example.unused > 0 {
        let _ = writeln!(
            html,
            "<p class=\"rest\">{} that no split looks at: any value will do.</p>",
            counted(example.unused as u64, "column", "columns")
        );
    }
    section::section("counterexample", "An input on which they differ", &html)
}

fn scores(report: &Report, scores: &[f64], winner: &str, model: usize) -> String {
    let single = report.models[model].single_precision;
    let largest = scores.iter().map(|score| score.abs()).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let mut html = "<dl class=\"scores\">".to_owned();
    // If not all classes fit, those with the largest scores are shown.
    let mut order: Vec<usize> = (0..scores.len()).collect();
    if scores.len() > CLASSES {
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        order.truncate(CLASSES);
    }
    for index in order {
        let score = scores[index];
        let name = match report.claim.classes.get(index) {
            Some(class) if scores.len() > 1 => class.clone(),
            _ => "raw score".to_owned(),
        };
        let share = if largest > 0.0 && score.is_finite() { 50.0 * score.abs() / largest } else { 0.0 };
        let side = if score < 0.0 { "right:50%" } else { "left:50%" };
        let _ = write!(
            html,
            "<div{}><dt>{}</dt><dd>{}<span class=\"bar\" aria-hidden=\"true\"><i style=\"{side};width:{share:.2}%\">\
             </i></span></dd></div>",
            if scores.len() > 1 && name == winner { " class=\"winner\"" } else { "" },
            escape::text(&name),
            number::value(
                &format!("counterexample.scores.{model}.{index}"),
                score,
                &number::full(score, single)
            )
        );
    }
    html += "</dl>";
    if scores.len() > CLASSES {
        let _ = write!(html, "<p class=\"rest\">the {CLASSES} highest of {} scores</p>", scores.len());
    }
    html
}
