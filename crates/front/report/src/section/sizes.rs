//! Sizes before and after, or of two compared models side by side.

use crate::description::{Model, Report};
use crate::number::{self, change};
use crate::{escape, section};

struct Size {
    name: &'static str,
    key: &'static str,
    values: [f64; 2],
    shown: [String; 2],
}

pub(crate) fn html(report: &Report) -> String {
    let sizes = sizes(&report.models);
    let heading = if report.outcome.is_pruning() { "Before and after" } else { "The two models" };
    let mut html = String::new();
    if report.outcome.is_pruning() {
        html += "<div class=\"cards\">\n";
        for size in &sizes {
            html += &card(size, super::headline::is_unchanged(report));
        }
        html += "</div>\n";
    } else {
        html += "<table class=\"pair\"><thead><tr><th scope=\"col\"><span class=\"hidden\">Size</span></th>\
                 <th scope=\"col\">First</th><th scope=\"col\">Second</th></tr></thead><tbody>\n";
        for (name, get) in [
            ("File", (|model: &Model| &model.file) as fn(&Model) -> &String),
            ("Made by", |model| &model.framework),
        ] {
            let [first, second] = [0, 1].map(|model| escape::sentence(get(&report.models[model])));
            html += &format!("<tr><th scope=\"row\">{name}</th><td>{first}</td><td>{second}</td></tr>\n");
        }
        for size in &sizes {
            let [first, second] = keyed(size, ["first", "second"]);
            html +=
                &format!("<tr><th scope=\"row\">{}</th><td>{first}</td><td>{second}</td></tr>\n", size.name);
        }
        html += "</tbody></table>\n";
    }
    if let [Some(first), Some(_)] = [report.models[0].timing, report.models[1].timing] {
        html += &format!(
            "<p class=\"note\">Prediction is measured with secateur’s own predictor, which gives the library’s bits: \
             {} on one thread, best of several passes. The library itself is faster or slower by a factor of its \
             own.</p>\n",
            number::counted(first.rows, "row", "rows")
        );
    }
    section::section("sizes", heading, &html)
}

fn sizes(models: &[Model; 2]) -> Vec<Size> {
    let counts = |name, key, get: fn(&Model) -> usize| {
        let values = [0, 1].map(|model| get(&models[model]) as u64);
        Size { name, key, values: values.map(|value| value as f64), shown: values.map(number::grouped) }
    };
    let mut sizes = vec![
        counts("Trees", "trees", |model| model.trees),
        counts("Leaves", "leaves", |model| model.leaves),
        counts("Distinct splits", "splits", |model| model.splits),
        counts("Columns used", "features", |model| model.features_used),
    ];
    let bytes = [models[0].bytes, models[1].bytes];
    sizes.push(Size {
        name: "File size",
        key: "bytes",
        values: bytes.map(|count| count as f64),
        shown: bytes.map(number::bytes),
    });
    if let [Some(first), Some(second)] = [models[0].timing, models[1].timing] {
        let seconds = [first.seconds_per_row, second.seconds_per_row];
        sizes.push(Size {
            name: "Prediction of a row",
            key: "prediction",
            values: seconds,
            shown: seconds.map(number::duration),
        });
    }
    sizes
}

fn keyed(size: &Size, sides: [&str; 2]) -> [String; 2] {
    [0, 1].map(|side| {
        let key = format!("{}.{}", size.key, sides[side]);
        if size.key == "prediction" {
            number::value(&key, size.values[side], &size.shown[side])
        } else {
            // Counts are exact as f64 up to 2^53.
            format!(
                "<data data-key=\"{key}\" value=\"{}\">{}</data>",
                size.values[side] as u64, size.shown[side]
            )
        }
    })
}

/// A size before and after. An unchanged model predicts as fast as before: a measured difference in
/// time is noise.
fn card(size: &Size, unchanged: bool) -> String {
    let measured = size.key == "prediction";
    let same = size.values[0] == size.values[1] || measured && unchanged;
    let change =
        if measured && unchanged { "unchanged".to_owned() } else { change(size.values[0], size.values[1]) };
    let [before, after] = keyed(size, ["before", "after"]);
    let largest = size.values[0].max(size.values[1]).max(f64::MIN_POSITIVE);
    let [wide_before, wide_after] = size.values.map(|value| (100.0 * value / largest).clamp(0.0, 100.0));
    format!(
        "<div class=\"card\"><h3>{}</h3><p class=\"after\">{after}</p><p class=\"before\">was {before}<span{}> \
         {}</span></p><div class=\"bars\" aria-hidden=\"true\"><i style=\"width:{wide_before:.1}%\"></i>\
         <b style=\"width:{wide_after:.1}%\"></b></div></div>\n",
        size.name,
        if same { " class=\"same\"" } else { "" },
        change
    )
}
