//! Text for people: escaped, grouped, wrapped.

use std::borrow::Cow;
use std::fmt::Write;

use secateur_model::NumberType;

/// The text without control characters, which a file could use to fool a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// A count with commas between groups of three digits: 1,234,567.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 tree`, `2 trees`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// The shortest text that parses back to the same bits of this type, `1` rather than `1.0`.
pub fn number(value: f64, number: NumberType) -> String {
    let mut text = String::new();
    write_number(&mut text, value, number);
    if text.ends_with(".0") && !text.starts_with("-0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// Appends the shortest text that parses back to the same bits of this type.
pub fn write_number(text: &mut String, value: f64, number: NumberType) {
    // `Debug` prints the sign of zero, and exponents where `Display` prints hundreds of digits.
    match number {
        NumberType::F32 => write!(text, "{:?}", value as f32),
        NumberType::F64 => write!(text, "{value:?}"),
    }
    .expect("writing to memory does not fail");
}

/// A distance that a user gave, written as they would write it: with an exponent only where that is
/// shorter.
pub fn plain(value: f64) -> String {
    let readable = value == 0.0 || (1e-4..1e7).contains(&value.abs());
    if readable { value.to_string() } else { format!("{value:e}") }
}

/// A positive number rounded up to three digits, so that a claim that states it instead of the
/// number stays true.
pub fn rounded_up(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.parse::<f64>() {
        // The factor 1.01 adds at least one unit of the third digit.
        Ok(shown) if shown < value => format!("{:.2e}", value * 1.01),
        _ => text,
    }
}

/// At most `most` of the names, in quotes, with a count of the rest.
pub fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>, most: usize) -> String {
    let rest = names.len().saturating_sub(most);
    let mut text = names.take(most).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if rest > 0 {
        let _ = write!(text, " and {rest} more");
    }
    text
}

/// `key` and then `value`, wrapped to the width with a hanging indent.
pub fn entry(key: &str, value: &str) -> String {
    const KEY: usize = 16;
    const WIDTH: usize = 100;
    // A longer key, for example the name of a column, is still separated from its value.
    wrapped(&format!("  {key:<width$} ", width = KEY - 1), value, KEY + 2, WIDTH)
}

/// Words after a beginning, wrapped at their spaces to `width` columns; the lines after the first
/// start at column `hanging`.
pub fn wrapped(beginning: &str, words: &str, hanging: usize, width: usize) -> String {
    let mut text = beginning.to_owned();
    let mut column = text.chars().count();
    for (index, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            let _ = write!(text, "\n{:hanging$}", "");
            column = hanging;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// Why rows are not accepted for a model that is the last step of a pipeline.
pub fn rows_of_a_pipeline(steps: &secateur_model::Steps) -> String {
    format!(
        "rows cannot be given for this file: its model is the last step of a pipeline, and the steps before it ({}), which only \
         scikit-learn executes, make its columns; give the fitted pipeline itself to the Python package, or save the last step \
         alone and give rows that went through the others",
        steps.names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_bits() {
        let cases = [0.0, -0.0, 1.0, -1.0, 1.5, 1e300, 5e-324, f64::MAX, 0.1, f64::INFINITY, 1e16, 123456.0];
        for value in cases {
            let text = number(value, NumberType::F64);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
        }
        for value in [0.1f32, -0.0, 1e-45, f32::MAX, 8.940697e-8, 3.0] {
            let text = number(f64::from(value), NumberType::F32);
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), value.to_bits(), "{text}");
        }
    }

    #[test]
    fn a_claim_is_never_rounded_down() {
        for value in [8.940_178e-15, 1.001e-7, 9.999e-3, 9.991, 1.0, 2.5e-300, f64::MIN_POSITIVE] {
            let shown: f64 = rounded_up(value).parse().unwrap();
            assert!(shown >= value && shown <= value * 1.011, "{value} is shown as {shown}");
        }
        assert_eq!(rounded_up(1.5), "1.50e0");
    }

    #[test]
    fn a_long_key_is_apart_from_its_value() {
        assert_eq!(entry("key", "value"), "  key             value");
        assert_eq!(entry("fifteen letters", "value"), "  fifteen letters value");
        assert_eq!(entry("mean_fractal_dimension", "0.1"), "  mean_fractal_dimension 0.1");
    }

    #[test]
    fn distances_are_written_as_people_do() {
        let shown = [0.0, 1.0, 0.05, 1e-5, 123456.0, 2.5e9].map(plain);
        assert_eq!(shown, ["0", "1", "0.05", "1e-5", "123456", "2.5e9"]);
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "tree", "trees"), "1 tree");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("plain é"), "plain é");
        assert_eq!(printable("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
    }
}
