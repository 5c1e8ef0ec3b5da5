//! Columns and splits: which were removed, which stayed, and why.

use std::fmt::Write;

use crate::description::{Feature, Report, SplitFate};
use crate::number::{self, counted};
use crate::{escape, section};

/// The most columns that get a line of their own.
const FEATURES: usize = 60;
/// The most ticks on a line; with more splits a tick stands for several.
const TICKS: usize = 160;
/// The most splits in a list.
const LISTED: usize = 40;

pub(crate) fn html(report: &Report) -> String {
    if report.features.is_empty() {
        return String::new();
    }
    let count = |wanted: &[SplitFate]| {
        let splits = report.features.iter().flat_map(|feature| &feature.splits);
        splits.filter(|split| wanted.contains(&split.fate)).count() as u64
    };
    let gone = count(&[SplitFate::Irrelevant]);
    let stay = count(&[SplitFate::Kept, SplitFate::Relevant]);
    let relevant = count(&[SplitFate::Relevant]);
    let (left, unused): (Vec<&Feature>, Vec<&Feature>) = report
        .features
        .iter()
        .partition(|feature| feature.splits.iter().any(|split| split.fate != SplitFate::Irrelevant));
    let mut html = format!(
        "<p>{} of {} distinct splits stay{}. {}{}</p>\n",
        number::count("splits.kept", stay),
        number::grouped(stay + gone),
        if relevant > 0 {
            format!(
                "; for {} of them an input is known whose decision depends on it",
                number::count("splits.relevant", relevant)
            )
        } else {
            String::new()
        },
        match gone {
            0 => "None is gone.".to_owned(),
            _ => format!(
                "{} gone: crossing one of them changes no {} that the claim covers, which follows from the proof.",
                match gone {
                    1 => format!("{} is", number::count("splits.irrelevant", gone)),
                    _ => format!("{} are", number::count("splits.irrelevant", gone)),
                },
                if report.scores.is_some() { "score by more than the distance" } else { "decision" }
            ),
        },
        match unused.len() as u64 {
            0 => String::new(),
            unused => format!(
                " {} no longer looked at.",
                match unused {
                    1 => "One column is".to_owned(),
                    _ => format!("{} columns are", number::grouped(unused)),
                }
            ),
        }
    );
    html += "<ul class=\"features\">\n";
    for feature in left.iter().chain(&unused).take(FEATURES) {
        html += &line(feature);
    }
    html += "</ul>\n";
    if report.features.len() > FEATURES {
        let _ = writeln!(
            html,
            "<p class=\"rest\">and {}</p>",
            counted((report.features.len() - FEATURES) as u64, "more column", "more columns")
        );
    }
    html += "<p class=\"key\"><i class=\"tick stays\"></i> stays <i class=\"tick goes\"></i> gone; splits of a column \
             from low to high</p>\n";
    section::section("features", "Columns and splits", &html)
}

fn line(feature: &Feature) -> String {
    let stays = feature.splits.iter().filter(|split| split.fate != SplitFate::Irrelevant).count();
    let state = match (stays, feature.splits.len()) {
        (0, all) => format!("gone: {}", counted(all as u64, "irrelevant split", "irrelevant splits")),
        (stays, all) if stays == all => match all {
            1 => "1 split, stays".to_owned(),
            _ => format!("{} splits, all stay", number::grouped(all as u64)),
        },
        (stays, all) => {
            format!("{} of {} splits stay", number::grouped(stays as u64), number::grouped(all as u64))
        }
    };
    let listed: Vec<String> = feature
        .splits
        .iter()
        .take(LISTED)
        .map(|split| {
            let class = if split.fate == SplitFate::Irrelevant { "goes" } else { "stays" };
            format!("<li class=\"{class}\">{}</li>", escape::text(&split.place))
        })
        .collect();
    let rest = match feature.splits.len().saturating_sub(LISTED) {
        0 => String::new(),
        rest => format!("<li>and {} more</li>", number::grouped(rest as u64)),
    };
    format!(
        "<li{}><details><summary><b>{}</b> <span>{state}</span>{}</summary><ul class=\"places\">{}{rest}</ul>\
         </details></li>\n",
        if stays == 0 { " class=\"unused\"" } else { "" },
        escape::text(&feature.name),
        ticks(feature),
        listed.concat()
    )
}

/// One tick for each split (or group of neighbours): long if it stays, short if it was removed.
fn ticks(feature: &Feature) -> String {
    let group = feature.splits.len().div_ceil(TICKS).max(1);
    let ticks = feature.splits.len().div_ceil(group).max(1);
    let mut html =
        "<svg viewBox=\"0 0 1000 24\" preserveAspectRatio=\"none\" aria-hidden=\"true\">".to_owned();
    for (index, splits) in feature.splits.chunks(group).enumerate() {
        let stays = splits.iter().any(|split| split.fate != SplitFate::Irrelevant);
        let x = 1000.0 * (index as f64 + 0.5) / ticks as f64;
        let (class, top) = if stays { ("stays", 2) } else { ("goes", 14) };
        let _ = write!(html, "<path class=\"{class}\" d=\"M{x:.1} {top}V24\"/>");
    }
    html + "</svg>"
}
