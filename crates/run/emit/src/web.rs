//! Files that accompany a WebAssembly module: a wrapper for JavaScript, a page that predicts, and a
//! test.
//!
//! No proof depends on these files. The wrapper writes a row's numbers to the place where the
//! module reads them, and reads the module's scores.

use secateur_formats::Link;
use secateur_model::{ClassId, ClassLabels, Ensemble, FeatureId, NumberType};

use crate::cover::{Changes, CoverRows, Expected};

/// The first line of every wrapper.
pub const WRAPPER_START: &str =
    "// A tree ensemble for JavaScript, which secateur packed as WebAssembly. Do not edit.";
/// The first line of every page.
pub const PAGE_START: &str = "<!doctype html><!-- A tree ensemble that secateur packed. Do not edit. -->";

/// What the wrapper and the page of a module need to know about it.
#[derive(Clone, Copy, Debug)]
pub struct Web<'a> {
    /// The model.
    pub model: &'a Ensemble,
    /// How its scores become probabilities.
    pub link: Link,
    /// The labels of its classes.
    pub labels: &'a ClassLabels,
    /// The name of the module's file.
    pub file: &'a str,
    /// Whether its leaves are quantised.
    pub quantised: bool,
}

/// The wrapper of a module: an ES module for browsers and Node.
pub fn wrapper(web: &Web<'_>) -> String {
    let file = web.file;
    let name = std::path::Path::new(file).with_extension("js");
    filled(
        include_str!("web/model.js"),
        &[
            ("START", WRAPPER_START),
            ("CLASS", &class(web, "export ")),
            ("WRAPPER", &in_text(&name.to_string_lossy())),
            ("FILE", &in_text(file)),
        ],
    )
}

/// A page that contains the module, and predicts for the values that a user types.
pub fn page(web: &Web<'_>, module: &[u8]) -> String {
    let title = std::path::Path::new(web.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let empty = if web.model.accepts_missing() { "A field that is empty is a missing value." } else { "" };
    filled(
        include_str!("web/page.html"),
        &[
            ("START", PAGE_START),
            ("CLASS", &class(web, "")),
            ("TITLE", &title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
            ("EMPTY", empty),
            ("MODULE", &base64(module)),
        ],
    )
}

/// A program for Node that tests the module in the file `file`. It prints the result and ends with
/// 0 if every bit is right, 1 otherwise. If leaves are quantised, `model` must be the model that
/// the file computes.
pub fn wasm_cover_test(model: &Ensemble, file: &str, cover: &CoverRows<'_>) -> String {
    let input = model.intake().number;
    let width = model.features().len().max(1);
    let Changes { counts, features, values } = cover.changes(width, input);
    let texts = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>();
    let values: Vec<String> = values.into_iter().map(number).collect();
    let scores: Vec<f64> = match cover.expected {
        Expected::Scores(scores) => scores.to_vec(),
        Expected::Sums(sums) => sums.iter().map(|&sum| f64::from(sum)).collect(),
    };
    let class = |&class: &u32| match cover.expected.compares_classes(model) {
        true => class.to_string(),
        false => "-1".to_owned(),
    };
    let none = vec!["-1".to_owned(); counts.len()];
    let classes: Vec<String> =
        if cover.classes.is_empty() { none } else { cover.classes.iter().map(class).collect() };
    let expected: Vec<String> = scores.iter().map(|score| format!("0x{:x}n", score.to_bits())).collect();
    filled(
        include_str!("web/test.mjs"),
        &[
            ("GIVEN", "the bits expected"),
            ("FILE", &in_text(file)),
            ("CHANGES", &lines(&texts(&counts))),
            ("FEATURES", &lines(&texts(&features))),
            ("VALUES", &lines(&values)),
            ("EXPECTED", &lines(&expected)),
            ("CLASSES", &lines(&classes)),
        ],
    )
}

/// The JavaScript class that the wrapper and the page share.
fn class(web: &Web<'_>, export: &str) -> String {
    let &Web { model, labels, quantised, .. } = web;
    let features = model.features();
    let columns: Vec<String> =
        (0..features.len()).map(|at| text(&features.name(FeatureId::new(at)))).collect();
    let classes = match model.decision().is_classifier() {
        true => {
            format!("[{}]", labels.ids().map(|class| label(labels, class)).collect::<Vec<_>>().join(", "))
        }
        false => "null".to_owned(),
    };
    let raw = match quantised {
        true => "The scores of a row, near to those of the model's own library: its leaves are quantised.",
        false => "The raw scores of a row, with the bits of the model's own library.",
    };
    let round = match model.intake().number {
        NumberType::F32 => "Math.fround",
        NumberType::F64 => "Number",
    };
    filled(
        include_str!("web/class.js"),
        &[
            ("EXPORT", export),
            ("COLUMNS", &format!("[{}]", columns.join(", "))),
            ("CLASSES", &classes),
            ("MISSING", if model.accepts_missing() { "true" } else { "false" }),
            ("INFINITIES", if model.intake().infinities { "true" } else { "false" }),
            ("RAW", raw),
            ("ROUND", round),
            ("PROBABILITIES", &probabilities(web)),
        ],
    )
}

/// The method for probabilities, from its comment to its last line; it uses the expressions of the
/// model's own library.
fn probabilities(web: &Web<'_>) -> String {
    let model = web.model;
    if web.link == Link::None || !model.decision().is_classifier() {
        return "The probabilities, which this model does not have. */\n  probabilities() {\n    throw new TypeError(\"this model has no probabilities\");"
            .to_owned();
    }
    // Divisors that are not part of the raw scores; quantised leaves are divided already.
    let average = model.accumulation().average.filter(|average| !average.in_raw_scores && !web.quantised);
    let average = match (average, model.accumulation().number) {
        (None, _) => String::new(),
        (Some(average), NumberType::F64) => format!(".map((score) => score / {})", number(average.divisor)),
        (Some(average), NumberType::F32) => {
            format!(".map((score) => Math.fround(score / {}))", number(average.divisor))
        }
    };
    let softmax = |scores: &str| {
        format!(
            "const scores = {scores};\n    const largest = Math.max(...scores);\n    const exponentials = scores.map((score) => Math.exp(score - \
             largest));\n    const sum = exponentials.reduce((sum, one) => sum + one, 0);\n    return exponentials.map((one) => one / sum);"
        )
    };
    let sigmoid = |scale: f64, score: &str| format!("1 / (1 + Math.exp(-{} * {score}))", number(scale));
    let body = match web.link {
        Link::Logistic32 => "const f32 = Math.fround;\n    const power = f32(Math.exp(Math.min(f32(-given[0]), f32(88.7))));\n    const one = f32(1 / \
             f32(f32(power + 1) + f32(1e-16)));\n    return [f32(1 - one), one];"
            .to_owned(),
        Link::Logistic64 { scale } => {
            format!("const one = {};\n    return [1 - one, one];", sigmoid(scale, "given[0]"))
        }
        Link::Softmax32 => "const f32 = Math.fround;\n    const scores = given.map(f32);\n    const largest = Math.max(...scores);\n    const exponentials = \
             scores.map((score) => f32(Math.exp(f32(score - largest))));\n    const sum = f32(exponentials.reduce((sum, one) => sum + one, 0));\n    return \
             exponentials.map((one) => f32(one / sum));"
            .to_owned(),
        Link::Softmax64 => softmax("given"),
        Link::DividedSoftmax64 { divisor } => {
            let both = if model.group_count() == 1 { "[-given[0], given[0]]" } else { "given" };
            softmax(&format!("{both}.map((score) => score / {})", number(divisor)))
        }
        Link::Each { scale } => format!("return given.map((score) => {});", sigmoid(scale, "score")),
        _ => "return given;".to_owned(),
    };
    format!(
        "The probability of each class, in the order of `classes`. The last bits are those of this engine's exponential function. */\n  probabilities(row) \
         {{\n    const given = Array.from(this.raw(row)){average};\n    {body}"
    )
}

/// Fills `$WORD` in a text, in one pass from start to end: inserted text is not filled again.
fn filled(template: &str, words: &[(&str, &str)]) -> String {
    let mut pieces = template.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match words.iter().find(|(word, _)| piece.starts_with(word)) {
            Some((word, with)) => {
                text += with;
                text += &piece[word.len()..];
            }
            // A dollar sign that belongs to JavaScript.
            None => {
                text.push('$');
                text += piece;
            }
        }
    }
    text
}

/// A label in JavaScript. Integers that JavaScript's numbers cannot hold become texts.
fn label(labels: &ClassLabels, class: ClassId) -> String {
    let at = class.index();
    match labels {
        ClassLabels::Unnamed(_) => at.to_string(),
        ClassLabels::Integers(labels) if labels[at].unsigned_abs() < 1 << 53 => labels[at].to_string(),
        ClassLabels::Integers(labels) => text(&labels[at].to_string()),
        ClassLabels::Floats(labels) => number(labels[at]),
        ClassLabels::Booleans(labels) => labels[at].to_string(),
        ClassLabels::Strings(labels) => text(&labels[at]),
    }
}

/// A number as JavaScript writes it.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// A text in JavaScript, written so that a page cannot mistake any part of it for the end of a
/// script.
fn text(text: &str) -> String {
    format!("\"{}\"", in_text(text))
}

fn in_text(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' | '\x7f' => {
                out += &format!("\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out
}

/// Numbers in lines of twelve, each followed by a comma.
fn lines(tokens: &[String]) -> String {
    tokens.chunks(12).map(|line| line.join(", ") + ",\n").collect()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0u32, |sum, at| sum << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * at) & 63) as usize] as char;
            text.push(if at <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        let all = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in all.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), expected);
        }
    }

    #[test]
    fn texts_end_neither_a_script_nor_a_text() {
        assert_eq!(text("</script>\"\\\n\u{2028}é"), "\"\\u003c/script\\u003e\\\"\\\\\\u000a\\u2028é\"");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        assert_eq!(filled("$A-${x}-$B$", &[("A", "$B"), ("B", "b")]), "$B-${x}-b$");
    }
}
