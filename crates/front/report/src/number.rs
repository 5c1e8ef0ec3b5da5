//! Numbers for people, each with its exact value beside it.

use crate::escape;

/// A count with its exact value under a key: `<data>` with `data-key`.
pub(crate) fn count(key: &str, count: u64) -> String {
    keyed(key, &count.to_string(), &grouped(count))
}

/// A number with its exact value under a key.
pub(crate) fn value(key: &str, value: f64, shown: &str) -> String {
    keyed(key, &format!("{value:?}"), shown)
}

/// Seconds under a key.
pub(crate) fn time(key: &str, seconds: f64) -> String {
    value(key, seconds, &duration(seconds))
}

fn keyed(key: &str, exact: &str, shown: &str) -> String {
    format!("<data data-key=\"{}\" value=\"{}\">{}</data>", escape::text(key), escape::text(exact), shown)
}

/// 1234567 as `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 tree`, `2 trees`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Four significant digits, without trailing zeros.
pub(crate) fn short(value: f64) -> String {
    rounded(value, 4)
}

/// At most five significant digits, rounded up so that a bound stays true. The value must not be
/// negative.
pub(crate) fn short_up(value: f64) -> String {
    let text = format!("{value:.4e}");
    match text.parse::<f64>() {
        // The factor 1.0001 adds at least one unit of the fifth digit.
        Ok(shown) if shown < value => rounded(value * 1.000_1, 5),
        _ => rounded(value, 5),
    }
}

/// `digits` significant digits, without trailing zeros.
fn rounded(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { format!("{value}") };
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("`e` format holds an e");
    let exponent: i32 = exponent.parse().expect("`e` format ends with an integer");
    if !(-4..7).contains(&exponent) {
        let mantissa = if mantissa.contains('.') {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        } else {
            mantissa
        };
        return format!("{mantissa}e{exponent}").replace('-', "−");
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}

/// The shortest digits that parse back to the same number of the type; `1` rather than `1.0`.
pub(crate) fn full(value: f64, single: bool) -> String {
    let text = if single { format!("{:?}", value as f32) } else { format!("{value:?}") };
    text.strip_suffix(".0").unwrap_or(&text).replace('-', "−")
}

/// `0.8 µs`, `12 ms`, `3.4 s`, `5 min 12 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "?".to_owned();
    }
    let whole = seconds.round() as u64;
    match seconds {
        0.0 => "0 s".to_owned(),
        _ if seconds < 1e-6 => format!("{} ns", rounded(seconds * 1e9, 2)),
        _ if seconds < 1e-3 => format!("{} µs", rounded(seconds * 1e6, 2)),
        _ if seconds < 1.0 => format!("{} ms", rounded(seconds * 1e3, 3)),
        _ if seconds < 100.0 => format!("{} s", rounded(seconds, 3)),
        _ if seconds < 3600.0 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `980 bytes`, `12.3 kB`, `4.5 MB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        0..1000 => format!("{count} bytes"),
        1000..1_000_000 => format!("{} kB", rounded(count as f64 / 1e3, 3)),
        1_000_000..1_000_000_000 => format!("{} MB", rounded(count as f64 / 1e6, 3)),
        _ => format!("{} GB", rounded(count as f64 / 1e9, 3)),
    }
}

/// The change from `before` to `after`: `−92 %`, `±0 %`, `+3 %`. A small change is never rounded to
/// none, and a large one never to −100 %.
pub(crate) fn change(before: f64, after: f64) -> String {
    if before <= 0.0 || !before.is_finite() || !after.is_finite() {
        return String::new();
    }
    let percent = (after / before - 1.0) * 100.0;
    if after == before {
        "unchanged".to_owned()
    } else if percent.abs() < 0.1 {
        format!("{}&lt;0.1 %", if percent > 0.0 { "+" } else { "−" })
    } else if percent < -99.9 && after > 0.0 {
        "over −99.9 %".to_owned()
    } else if percent.abs() < 1.0 || (percent < -99.0 && after > 0.0) {
        format!("{}{:.1} %", if percent > 0.0 { "+" } else { "−" }, percent.abs())
    } else {
        format!("{}{:.0} %", if percent > 0.0 { "+" } else { "−" }, percent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(1234.56), "1235");
        assert_eq!(short(-0.012_345_6), "−0.01235");
        assert_eq!(short(1e-9), "1e−9");
        assert_eq!(short(123_456_789.0), "1.235e8");
        assert_eq!(full(0.1f32.into(), true), "0.1");
        assert_eq!(full(-2.0, false), "−2");
        assert_eq!(duration(0.000_000_83), "830 ns");
        assert_eq!(duration(0.012_34), "12.3 ms");
        assert_eq!(duration(312.0), "5 min 12 s");
        assert_eq!(duration(7500.0), "2 h 5 min");
        assert_eq!(bytes(980), "980 bytes");
        assert_eq!(bytes(12_345), "12.3 kB");
        assert_eq!(bytes(1), "1 byte");
    }

    #[test]
    fn changes_are_not_rounded_to_all_or_nothing() {
        assert_eq!(change(200.0, 17.0), "−92 %");
        assert_eq!(change(200.0, 200.0), "unchanged");
        assert_eq!(change(10_000.0, 9_999.0), "−&lt;0.1 %");
        assert_eq!(change(10_000.0, 9_980.0), "−0.2 %");
        assert_eq!(change(10_000.0, 1.0), "over −99.9 %");
        assert_eq!(change(100.0, 103.0), "+3 %");
        assert_eq!(change(0.0, 103.0), "");
    }

    #[test]
    fn exact_values_stand_beside_the_text() {
        assert_eq!(count("trees.after", 1700), "<data data-key=\"trees.after\" value=\"1700\">1,700</data>");
        assert_eq!(value("band", 1.25e-7, "about"), "<data data-key=\"band\" value=\"1.25e-7\">about</data>");
    }
}
