//! Numbers in CatBoost's JSON, as CatBoost reads them.
//!
//! CatBoost's reader (RapidJSON without full precision) collects up to 17 digits in an integer,
//! rounds it to f64 and multiplies or divides it by a power of ten. These two roundings often give
//! a result one unit in the last place away from the number in the text. What counts is the number
//! that CatBoost reads, so numbers are read here in the same steps, and written with digits that
//! its reader turns into exactly the intended number.

use std::sync::LazyLock;

static POWERS: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=308).map(|n| format!("1e{n}").parse().expect("a power of ten")).collect());

/// Beyond this value digits are no longer collected in an integer.
const LARGEST_GATHERED: u64 = (1 << 53) - 1;

/// The number that CatBoost reads for a JSON number. `None` if CatBoost stops reading the file
/// because the number is too large for f64, or silently takes another number.
pub(super) fn read(text: &str) -> Option<f64> {
    let (minus, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let signed = |value: f64| if minus { -value } else { value };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let limit = if minus { 1 << 63 } else { u64::MAX };
    let mut gathered: u64 = 0;
    let mut float = None;
    // The number of digits that count toward the 17 that a fraction may have.
    let mut significant = -1;
    for digit in whole.bytes().map(|byte| u64::from(byte - b'0')) {
        match &mut float {
            Some(value) => *value = *value * 10.0 + digit as f64,
            None => match gathered.checked_mul(10).and_then(|ten| ten.checked_add(digit)) {
                Some(next) if next <= limit => {
                    gathered = next;
                    significant += 1;
                }
                _ => {
                    significant -= 1;
                    float = Some(gathered as f64 * 10.0 + digit as f64);
                }
            },
        }
    }
    let mut power: i64 = 0;
    let rest = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let (fraction, rest) = fraction.split_at(digits(fraction));
            let mut fraction = fraction.bytes().map(|byte| u64::from(byte - b'0')).peekable();
            if float.is_none() {
                while gathered <= LARGEST_GATHERED
                    && let Some(digit) = fraction.next()
                {
                    gathered = gathered * 10 + digit;
                    power -= 1;
                    significant += i32::from(gathered != 0);
                }
            }
            let mut value = float.unwrap_or(gathered as f64);
            for digit in fraction {
                if significant < 17 {
                    value = value * 10.0 + digit as f64;
                    power -= 1;
                    significant += i32::from(value > 0.0);
                }
            }
            float = Some(value);
            rest
        }
    };
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        float.get_or_insert(gathered as f64);
        let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
        // An exponent with too many digits for an integer is far beyond every power of ten.
        let extreme = if exponent.starts_with('-') { -1_000_000 } else { 1_000_000 };
        power += exponent.parse::<i64>().unwrap_or(extreme).clamp(-1_000_000, 1_000_000);
    }
    // If a whole number is beyond f64's exact range, CatBoost does not read it as a number and
    // takes the leaf as zero.
    let Some(value) = float else { return (gathered <= 1 << 53).then(|| signed(gathered as f64)) };
    let value = if power < -308 { times(times(value, -308), power + 308) } else { times(value, power) };
    (value.is_finite() && power <= 308).then(|| signed(value))
}

fn times(value: f64, power: i64) -> f64 {
    match power {
        ..-308 => 0.0,
        -308..0 => value / POWERS[power.unsigned_abs() as usize],
        0..=308 => value * POWERS[power as usize],
        _ => f64::INFINITY,
    }
}

/// How far from the nearest digits other digits are tried.
const FARTHEST: u128 = 40;

/// Digits that CatBoost reads as this finite number; if none are found, digits that it reads as a
/// number nearby.
pub(super) fn text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let magnitude = value.abs();
    let survives = |text: &String| read(text) == Some(magnitude);
    let shortest = format!("{magnitude:e}");
    let parts = |text: &str| {
        let (digits, power) = text.split_once('e').expect("written with an exponent");
        let power: i64 = power.parse().expect("an exponent");
        (digits.replace('.', ""), power)
    };
    let (digits, power) = parts(&shortest);
    let plain = decimal(&digits, power);
    if survives(&plain) {
        return format!("{sign}{plain}");
    }
    for (count, step) in [(17, 1), (18, 1), (16, 1), (19, 1)] {
        let (digits, power) = parts(&format!("{magnitude:.*e}", count - 1));
        let form = |digits: &str| decimal(digits, power + digits.len() as i64 - count as i64);
        if let Some(text) = nearby(&digits, step, FARTHEST, form).find(survives) {
            return format!("{sign}{text}");
        }
    }
    // Whole numbers with more digits than the reader collects are rounded digit by digit,
    // differently for each number of digits.
    for count in 20..=36 {
        let (digits, power) = parts(&format!("{magnitude:.*e}", count - 1));
        let step = 3 * 10u128.pow(count as u32 - 18);
        let form = |digits: &str| format!("{digits}e{}", power + 1 - count as i64);
        if let Some(text) = nearby(&digits, step, FARTHEST / 4, form).find(survives) {
            return format!("{sign}{text}");
        }
    }
    format!("{sign}{plain}")
}

/// Texts of numbers near these digits, the nearest first.
fn nearby<'a>(
    digits: &str,
    step: u128,
    farthest: u128,
    form: impl Fn(&str) -> String + 'a,
) -> impl Iterator<Item = String> + 'a {
    let nearest: u128 = digits.parse().expect("at most 36 digits");
    let steps = (0..=farthest)
        .flat_map(move |distance| [nearest + distance * step, nearest.saturating_sub(distance * step)]);
    steps.map(move |digits| form(&digits.to_string()))
}

/// Digits with the point after the first of them, times a power of ten, as text.
fn decimal(digits: &str, power: i64) -> String {
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        shorter if power >= 0 && (shorter.len() as i64) <= power => {
            &digits[..(power as usize + 1).min(digits.len())]
        }
        shorter => shorter,
    };
    let count = digits.len() as i64;
    match power {
        0..=14 if count > power + 1 => {
            let (whole, fraction) = digits.split_at(power as usize + 1);
            format!("{whole}.{fraction}")
        }
        0..=14 => format!("{digits}{}", "0".repeat((power + 1 - count) as usize)),
        -5..0 => format!("0.{}{digits}", "0".repeat((-power - 1) as usize)),
        _ if count == 1 => format!("{digits}e{power}"),
        _ => format!("{}.{}e{power}", &digits[..1], &digits[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_number() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 33
        };
        let mut moved = 0;
        for round in 0..20_000 {
            let value = match round % 4 {
                // As leaves are: small numbers with every bit in use.
                0 | 1 => (random() >> 11) as f64 / (1u64 << 53) as f64 - 0.5,
                2 => {
                    ((random() >> 11) as f64 / (1u64 << 53) as f64) * 10f64.powi((random() % 40) as i32 - 20)
                }
                _ => f64::from_bits(random()),
            };
            if !value.is_finite() {
                continue;
            }
            let text = text(value);
            let back = read(&text).unwrap_or_else(|| panic!("{value:e} as {text} ends the file"));
            let usual = (1e-290..1e290).contains(&value.abs());
            if back != value {
                moved += usize::from(usual);
                assert!((back - value).abs() <= 4.0 * (value.next_up() - value).abs(), "{value:e} {text}");
            }
            assert!(!usual || text.len() < 45, "{text}");
        }
        assert!(moved < 100, "{moved} of 20,000 usual numbers have no digits that survive");
    }

    #[test]
    fn the_reader_errs_as_the_library_does() {
        for (text, bits) in LIBRARY {
            assert_eq!(read(text).map(f64::to_bits), Some(bits), "{text}");
        }
        for text in ["1e400", "1e309", "12345678901e300", "9007199254740993", "-9223372036854775808"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("-0"), Some(-0.0));
        assert_eq!(read("1e-400"), Some(0.0));
    }

    /// Read by CatBoost 1.2.10 as leaf values.
    const LIBRARY: [(&str, u64); 39] = [
        ("0.1", 0x3fb999999999999a),
        ("0.9281437125748503", 0x3fedb35a716fe77a),
        ("-0.2", 0xbfc999999999999a),
        ("123456789012345678901234567890e-40", 0x3dab25ffd636ec10),
        ("0.00000000000000000012345678901234567", 0x3c023810cc7adffc),
        ("3", 0x4008000000000000),
        ("18446744073709551616", 0x43f0000000000000),
        ("-9223372036854775809", 0xc3e0000000000000),
        ("1e-320", 0x00000000000007e8),
        ("4.9e-324", 0x0000000000000001),
        ("2.2250738585072011e-308", 0x0010000000000000),
        ("0.12345678901234567", 0x3fbf9add3746f65f),
        ("0.123456789012345678", 0x3fbf9add3746f65f),
        ("0.1234567890123456789", 0x3fbf9add3746f65f),
        ("12345.678901234567", 0x40c81cd6e63c53d7),
        ("1e22", 0x4480f0cf064dd592),
        ("1e23", 0x44b52d02c7e14af6),
        ("8.5e-23", 0x3b59b08e7413dd76),
        ("9007199254740993.0", 0x4340000000000000),
        ("1.7976931348623157e308", 0x7fefffffffffffff),
        ("5e-310", 0x00005c0ab9347ed7),
        ("0.30000000000000004", 0x3fd3333333333334),
        ("1E5", 0x40f86a0000000000),
        ("1e+5", 0x40f86a0000000000),
        ("1234567890.12345678901234567890e-3", 0x4132d687e3df2181),
        ("0.00012138918893732415", 0x3f1fd24a62e43c26),
        ("0.0017016479478227456", 0x3f5be13a9240c925),
        ("6.995874267002583e-12", 0x3d9ec4a778b373f6),
        ("0.33038844726428956", 0x3fd5251595fe7c6d),
        ("1.4560904423762438e-09", 0x3e1903f417eac1a1),
        ("3.3290518988793e-05", 0x3f01742d85c87305),
        ("3.500235541092818e-05", 0x3f0259efc630df77),
        ("1.642139136458226e-10", 0x3de691c370cbbc40),
        ("49.13639941726498", 0x40489175893e2c5c),
        ("0.379037202006263", 0x3fd8422540a56446),
        ("7.103817100940587e-12", 0x3d9f3e2fe007ac12),
        ("0.0021746753492954307", 0x3f61d09ff0260569),
        ("9.443664224025542e-13", 0x3d709d0c5b4b38b0),
        ("3.1715105304669326e-05", 0x3f00a0bab8780ffa),
    ];
}
