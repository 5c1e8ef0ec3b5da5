//! Scores of two models: the input on which they are farthest apart, among those that were found,
//! and how the distance changes when one of its columns moves.

use std::fmt::Write;

use crate::chart::{Axis, Plot, SIDE, dot, steps};
use crate::description::{Along, Report, ScoreInput};
use crate::number::{self, counted};
use crate::{escape, section};

/// The most columns of the input that are shown.
const COLUMNS: usize = 200;
/// The most columns whose changes are drawn.
const DRAWN: usize = 8;
/// The most places of a column that are drawn.
const PLACES: usize = 400;

pub(crate) fn html(report: &Report) -> String {
    let Some(shown) = report.scores.as_ref().and_then(|scores| scores.shown.as_ref()) else {
        return String::new();
    };
    let mut html = "<div class=\"versus\">\n".to_owned();
    for (model, name) in ["First model", "Second model"].into_iter().enumerate() {
        let score = shown.scores[model];
        let text = number::full(score, report.models[model].single_precision);
        let _ = writeln!(
            html,
            "<div class=\"says {}\"><h3>{name}</h3><p class=\"says\">{}</p></div>",
            ["one", "two"][model],
            number::value(&format!("scores.of_input.{model}"), score, &text)
        );
    }
    html += "</div>\n";
    let output = shown.output.as_ref().map(|output| format!(" ({})", escape::sentence(output)));
    let _ = writeln!(
        html,
        "<p>Computed as the two libraries do, the scores of this input{} are {} apart.</p>",
        output.unwrap_or_default(),
        number::value("scores.at_least", shown.distance, &number::full(shown.distance, false))
    );
    html += &pictures(shown);
    html += "<h3>The input</h3>\n";
    html += &section::values(&shown.values, COLUMNS);
    if shown.unused > 0 {
        let _ = writeln!(
            html,
            "<p class=\"rest\">{} that no split looks at: any value will do.</p>",
            counted(shown.unused as u64, "column", "columns")
        );
    }
    section::section("scores", "Where the two scores part", &html)
}

fn pictures(shown: &ScoreInput) -> String {
    let along: Vec<&Along> =
        shown.along.iter().filter(|along| along.distances.len() > 1).take(DRAWN).collect();
    if along.is_empty() {
        return String::new();
    }
    let mut html = "<h3>When one column moves</h3>\n<p class=\"key\"><i class=\"rule best\"></i> distance of the scores as the column \
                    goes through its values, all others as in the input <i class=\"rule candidate\"></i> the input</p>\n"
        .to_owned();
    let largest = along.iter().flat_map(|along| &along.distances).copied().fold(shown.distance, f64::max);
    let y = Axis::up_to(largest);
    for (index, along) in along.into_iter().enumerate() {
        html += &picture(along, index, &y);
    }
    html
}

fn picture(along: &Along, index: usize, y: &Axis) -> String {
    let count = along.distances.len();
    let step = count.div_ceil(PLACES);
    let x = |place: usize| SIDE * (place as f64 + 0.5) / count as f64;
    let mut points: Vec<(f64, f64)> = (0..count)
        .step_by(step)
        .map(|place| (SIDE * place as f64 / count as f64, y.y(along.distances[place])))
        .collect();
    points.push((SIDE, y.y(along.distances[count - 1])));
    let here = along.here.min(count - 1);
    let mut picture = steps("line best", &points);
    picture += &dot("candidate", x(here), y.y(along.distances[here]));
    let least = along.distances.iter().copied().fold(f64::INFINITY, f64::min);
    let most = along.distances.iter().copied().fold(0.0, f64::max);
    let below = [(0.0, along.ends[0].clone()), (1.0, along.ends[1].clone())];
    Plot {
        id: &format!("along-{index}"),
        title: &format!("Distance of the scores along {}", along.feature),
        description: &format!("Between {} and {}.", number::short(least), number::short(most)),
        class: "low",
        y,
        below: &below,
        x_name: &along.feature,
        picture: &picture,
    }
    .html()
}
