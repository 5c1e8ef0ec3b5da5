//! Writes the values of an edit, with the bytes that the library itself would write.

use super::source::Span;

/// How a file is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Ubj,
}

/// How an array of UBJSON states the type of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elements {
    /// All elements have this tag, which is written once.
    Typed(u8),
    /// Each element has its own tag.
    Tagged,
}

impl Elements {
    /// As in the existing array; JSON has no tags and ignores this.
    pub(super) fn like(bytes: &[u8], array: Span) -> Self {
        match array.of(bytes) {
            [b'[', b'$', tag, ..] => Self::Typed(*tag),
            _ => Self::Tagged,
        }
    }
}

impl Encoding {
    pub(super) fn integer(self, value: i64, out: &mut Vec<u8>) {
        match self {
            Self::Json => out.extend(value.to_string().as_bytes()),
            Self::Ubj => {
                let tag = match value {
                    -128..=127 => b'i',
                    -32_768..=32_767 => b'I',
                    -2_147_483_648..=2_147_483_647 => b'l',
                    _ => b'L',
                };
                out.push(tag);
                integer_bytes(tag, value, out);
            }
        }
    }

    /// Text without characters that JSON would have to escape.
    pub(super) fn plain_string(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Self::Json => out.extend([b"\"", text.as_bytes(), b"\""].concat()),
            Self::Ubj => {
                out.push(b'S');
                self.key(text, out);
            }
        }
    }

    /// A key without characters that JSON would have to escape, and the separator before its value.
    pub(super) fn key(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Self::Json => out.extend([b"\"", text.as_bytes(), b"\":"].concat()),
            Self::Ubj => {
                count(text.len(), out);
                out.extend(text.as_bytes());
            }
        }
    }

    /// The separator between two elements or entries.
    pub(super) fn separator(self, out: &mut Vec<u8>) {
        if self == Self::Json {
            out.push(b',');
        }
    }

    /// The head of an array of `length` values with tags.
    pub(super) fn array_start(self, length: usize, out: &mut Vec<u8>) {
        out.push(b'[');
        if self == Self::Ubj {
            out.push(b'#');
            count(length, out);
        }
    }

    /// The end of such an array.
    pub(super) fn array_end(self, out: &mut Vec<u8>) {
        if self == Self::Json {
            out.push(b']');
        }
    }

    pub(super) fn integers(self, values: &[i64], elements: Elements, out: &mut Vec<u8>) {
        self.array(values, elements, out, |value, out| self.integer(*value, out), integer_bytes_of);
    }

    pub(super) fn floats(self, values: &[f32], elements: Elements, out: &mut Vec<u8>) {
        let tagged = |value: &f32, out: &mut Vec<u8>| match self {
            Self::Json => out.extend(json_float(*value).as_bytes()),
            Self::Ubj => {
                out.push(b'd');
                out.extend(value.to_be_bytes());
            }
        };
        self.array(values, elements, out, tagged, |_, value, out| out.extend(value.to_be_bytes()));
    }

    fn array<T>(
        self,
        values: &[T],
        elements: Elements,
        out: &mut Vec<u8>,
        mut tagged: impl FnMut(&T, &mut Vec<u8>),
        mut bare: impl FnMut(u8, &T, &mut Vec<u8>),
    ) {
        if let (Self::Ubj, Elements::Typed(tag)) = (self, elements) {
            out.extend([b'[', b'$', tag, b'#']);
            count(values.len(), out);
            values.iter().for_each(|value| bare(tag, value, out));
            return;
        }
        self.array_start(values.len(), out);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.separator(out);
            }
            tagged(value, out);
        }
        self.array_end(out);
    }
}

/// The shortest digits that read back as this f32, always with an exponent.
pub(super) fn json_float(value: f32) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ => {
            let shortest = format!("{value:E}");
            even_of_two(&shortest, value).unwrap_or(shortest)
        }
    }
}

/// If the value lies exactly in the middle between two shortest texts, Rust takes the upper one and
/// the library the even one. Returns the even one if it differs.
fn even_of_two(shortest: &str, value: f32) -> Option<String> {
    let (digits, exponent) = shortest.split_once('E')?;
    let last = digits.bytes().last().filter(|digit| digit % 2 == 1)?;
    let lower = format!("{}{}", &digits[..digits.len() - 1], char::from(last - 1));
    let candidate = format!("{lower}E{exponent}");
    if candidate.parse() != Ok(value) {
        return None;
    }
    // More digits than any f32 has, so this is the exact value.
    let exact = format!("{value:.120E}");
    let rest = exact.strip_prefix(&lower)?.split_once('E')?.0;
    (rest.starts_with('5') && rest[1..].bytes().all(|digit| digit == b'0')).then_some(candidate)
}

fn count(length: usize, out: &mut Vec<u8>) {
    out.push(b'L');
    out.extend((length as u64).to_be_bytes());
}

fn integer_bytes_of(tag: u8, value: &i64, out: &mut Vec<u8>) {
    integer_bytes(tag, *value, out);
}

/// The last bytes of the number, as many as the tag requires.
fn integer_bytes(tag: u8, value: i64, out: &mut Vec<u8>) {
    let size = match tag {
        b'i' | b'U' => 1,
        b'I' => 2,
        b'l' => 4,
        _ => 8,
    };
    out.extend(&value.to_be_bytes()[8 - size..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_look_like_the_library_s() {
        let cases =
            [(0.0, "0E0"), (-0.0, "-0E0"), (0.125, "1.25E-1"), (1.0, "1E0"), (83.09568, "8.309568E1")];
        for (value, text) in cases {
            assert_eq!(json_float(value), text);
        }
        assert_eq!(json_float(f32::from_bits(1)), "1E-45");
        assert_eq!(json_float(f32::MAX), "3.4028235E38");
        // In the middle of two texts.
        assert_eq!(json_float(-(8_356_813.0 / 4.0)), "-2.0892032E6");
        assert_eq!(json_float(11_847_477.0 / 4.0), "2.9618692E6");
        assert_eq!(json_float(8_356_815.0 / 4.0), "2.0892038E6");
        assert_eq!(json_float(f32::NAN), "NaN");
        assert_eq!(json_float(f32::NEG_INFINITY), "-Infinity");
    }

    #[test]
    fn integers_take_the_smallest_type() {
        let written = |value| {
            let mut out = Vec::new();
            Encoding::Ubj.integer(value, &mut out);
            out
        };
        assert_eq!(written(-1), b"i\xff");
        assert_eq!(written(128), b"I\x00\x80");
        assert_eq!(written(40_000), b"l\x00\x00\x9c\x40");
        assert_eq!(written(1 << 40), b"L\x00\x00\x01\x00\x00\x00\x00\x00");
    }
}
