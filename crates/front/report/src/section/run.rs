//! How the run went: the known sizes over time, and how the time was spent.

use std::fmt::Write;

use crate::chart::{Axis, Plot, SIDE, dot, steps};
use crate::description::{Moment, Report};
use crate::number::{self, duration};
use crate::{escape, section};

/// The most moments that are drawn.
const MOMENTS: usize = 400;
/// The most parts of the work that are listed.
const PHASES: usize = 20;

pub(crate) fn html(report: &Report) -> String {
    let run = &report.run;
    let mut html = "<dl class=\"facts\">\n".to_owned();
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if let Some(calls) = run.oracle_calls {
        fact("Questions to the oracle", number::count("oracle_calls", calls));
    }
    if let Some(points) = run.points {
        fact("Inputs the solver knew", number::count("points", points));
    }
    if let Some(boxes) = run.boxes {
        fact("Boxes searched", number::count("nodes", boxes));
    }
    html += "</dl>\n";
    if run.history.len() > 1 {
        html += &plots(&thinned(&run.history), run.seconds);
    }
    if !run.phases.is_empty() {
        html += &phases(report);
    }
    section::section("run", "The run", &html)
}

/// At most [`MOMENTS`] of the moments, always with the first and the last.
fn thinned(history: &[Moment]) -> Vec<Moment> {
    let step = history.len().div_ceil(MOMENTS);
    let mut thin: Vec<Moment> = history.iter().step_by(step).copied().collect();
    if !(history.len() - 1).is_multiple_of(step) {
        thin.extend(history.last());
    }
    thin
}

fn plots(history: &[Moment], seconds: f64) -> String {
    let last = history[history.len() - 1];
    let end = seconds.max(last.seconds);
    let x_axis = Axis::up_to(end);
    // The picture ends where the run ends, not at a round number.
    let x = |seconds: f64| SIDE * (seconds / end.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let below: Vec<(f64, String)> =
        x_axis.ticks().filter(|&tick| tick <= end).map(|tick| (x(tick) / SIDE, duration(tick))).collect();
    let trees =
        history.iter().map(|moment| moment.best.max(moment.candidate.unwrap_or(0))).max().unwrap_or(1);
    let y = Axis::of_counts(trees as u64);
    let line = |get: fn(&Moment) -> usize| {
        let mut points: Vec<(f64, f64)> =
            history.iter().map(|moment| (x(moment.seconds), y.y(get(moment) as f64))).collect();
        points.push((SIDE, y.y(get(&last) as f64)));
        points
    };
    let mut picture = steps("line best", &line(|moment| moment.best));
    picture += &steps("line bound", &line(|moment| moment.lower_bound));
    for moment in history {
        if let Some(candidate) = moment.candidate {
            picture += &dot("candidate", x(moment.seconds), y.y(candidate as f64));
        }
    }
    let mut html = "<h3>Trees over time</h3>\n<p class=\"key\"><i class=\"rule best\"></i> proved model \
                    <i class=\"rule bound\"></i> lower bound <i class=\"rule candidate\"></i> candidate</p>\n"
        .to_owned();
    let first = history[0];
    html += &Plot {
        id: "run-size",
        title: "Trees of the proved model and the lower bound over time",
        description: &format!(
            "From {} to {} trees in {}; the lower bound rises from {} to {}.",
            first.best,
            last.best,
            duration(end),
            first.lower_bound,
            last.lower_bound
        ),
        class: "tall",
        y: &y,
        below: &below,
        x_name: "time",
        picture: &picture,
    }
    .html();
    let most = history.iter().map(|moment| moment.points).max().unwrap_or(0);
    if most > 0 {
        let y = Axis::of_counts(most);
        let mut points: Vec<(f64, f64)> =
            history.iter().map(|moment| (x(moment.seconds), y.y(moment.points as f64))).collect();
        points.push((SIDE, y.y(last.points as f64)));
        html += "<h3>Inputs the solver knew</h3>\n";
        html += &Plot {
            id: "run-points",
            title: "Inputs that the solver knew over time",
            description: &format!("From {} to {} inputs.", first.points, last.points),
            class: "low",
            y: &y,
            below: &below,
            x_name: "time",
            picture: &steps("line points", &points),
        }
        .html();
    }
    html
}

fn phases(report: &Report) -> String {
    let phases = &report.run.phases;
    let total: f64 = phases.iter().map(|phase| phase.seconds).sum();
    let mut html = "<h3>Where the time went</h3>\n<dl class=\"phases\">\n".to_owned();
    for phase in phases.iter().take(PHASES) {
        let share = if total > 0.0 { 100.0 * phase.seconds / total } else { 0.0 };
        let _ = writeln!(
            html,
            "<div><dt>{}</dt><dd>{}<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:{share:.2}%\"></i>\
             </span></dd></div>",
            escape::text(&phase.name),
            number::time(&format!("seconds.{}", phase.name), phase.seconds)
        );
    }
    html += "</dl>\n";
    html
}
