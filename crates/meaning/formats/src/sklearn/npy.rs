//! NumPy's `.npy` files: plain and structured arrays of fixed size in little-endian order; nothing
//! that would have to be executed.

use secateur_model::ClassLabels;

use crate::error::Problem;

const MAGIC: &[u8] = b"\x93NUMPY";

/// An array whose header has been checked against its bytes.
#[derive(Debug)]
pub(crate) struct Array<'a> {
    kind: Kind<'a>,
    shape: Vec<usize>,
    data: &'a [u8],
}

/// The type of an element.
#[derive(Debug, PartialEq)]
enum Kind<'a> {
    /// `<f8`, `|b1`, `<U3`, ...
    Plain(&'a str),
    /// Name and type of each field.
    Record(Vec<(&'a str, &'a str)>),
}

impl<'a> Array<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        let truncated = Problem::Truncated { inside: "the header of an array" };
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            let found = format!("{:02x?}", &bytes[..bytes.len().min(MAGIC.len())]);
            return Err(Problem::Syntax { expected: "an array in .npy format", found });
        };
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
            [major, ..] if !(1..=3).contains(major) => {
                let found = format!("version {major}");
                return Err(Problem::Value { found, expected: "a version of the .npy format (1, 2 or 3)" });
            }
            _ => return Err(truncated),
        };
        let (header, data) = rest.split_at_checked(length).ok_or(truncated)?;
        let header = std::str::from_utf8(header).map_err(|_| Problem::Syntax {
            expected: "a header in UTF-8",
            found: "other bytes".to_owned(),
        })?;
        let (kind, fortran, shape) = Header { rest: header }.parse()?;
        let count = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let needed = count.zip(kind.size()?).and_then(|(count, size)| count.checked_mul(size));
        if needed != Some(data.len()) {
            return Err(Problem::Length { expected: needed.unwrap_or(usize::MAX), found: data.len() });
        }
        if fortran && shape.iter().filter(|&&n| n != 1).count() > 1 {
            let found = "an array in Fortran order".to_owned();
            return Err(Problem::Value { found, expected: "an array in C order" });
        }
        Ok(Self { kind, shape, data })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes of each record; the fields must be these.
    pub(crate) fn records(
        &self,
        fields: &[(&str, &str)],
        size: usize,
    ) -> Result<impl Iterator<Item = &'a [u8]>, Problem> {
        let fits = match &self.kind {
            Kind::Record(found) => found == fields,
            Kind::Plain(_) => false,
        };
        if !fits || self.shape.len() != 1 {
            return Err(self.other("a list of tree nodes as scikit-learn 1.3 and later write them"));
        }
        Ok(self.data.chunks_exact(size))
    }

    /// Numbers of type f64.
    pub(crate) fn doubles(&self) -> Result<Vec<f64>, Problem> {
        match self.plain() {
            "<f8" => Ok(self.elements(f64::from_le_bytes).collect()),
            _ => Err(self.other("an array of f64")),
        }
    }

    /// Numbers of type u32.
    pub(crate) fn words(&self) -> Result<Vec<u32>, Problem> {
        match self.plain() {
            "<u4" => Ok(self.elements(u32::from_le_bytes).collect()),
            _ => Err(self.other("an array of u32")),
        }
    }

    /// Whole numbers of any type.
    pub(crate) fn integers(&self) -> Result<Vec<i64>, Problem> {
        match self.labels()? {
            ClassLabels::Integers(values) => Ok(values),
            _ => Err(self.other("an array of whole numbers")),
        }
    }

    /// Numbers of any type, widened.
    pub(crate) fn numbers(&self) -> Result<Vec<f64>, Problem> {
        Ok(match self.labels()? {
            ClassLabels::Floats(values) => values,
            // Whole numbers beyond 2^53 lose bits here, as they do when NumPy compares them with
            // floats.
            ClassLabels::Integers(values) => values.into_iter().map(|value| value as f64).collect(),
            _ => return Err(self.other("an array of numbers")),
        })
    }

    /// Numbers, truth values or text.
    pub(crate) fn labels(&self) -> Result<ClassLabels, Problem> {
        let integers = |values: Vec<i64>| Ok(ClassLabels::Integers(values));
        match self.plain() {
            "|i1" => integers(self.elements(i8::from_le_bytes).map(i64::from).collect()),
            "|u1" => integers(self.elements(u8::from_le_bytes).map(i64::from).collect()),
            "<i2" => integers(self.elements(i16::from_le_bytes).map(i64::from).collect()),
            "<u2" => integers(self.elements(u16::from_le_bytes).map(i64::from).collect()),
            "<i4" => integers(self.elements(i32::from_le_bytes).map(i64::from).collect()),
            "<u4" => integers(self.elements(u32::from_le_bytes).map(i64::from).collect()),
            "<i8" => integers(self.elements(i64::from_le_bytes).collect()),
            "<u8" => {
                let values: Result<_, _> = self.elements(u64::from_le_bytes).map(i64::try_from).collect();
                integers(values.map_err(|_| self.other("an array of numbers below 2^63"))?)
            }
            "<f4" => Ok(ClassLabels::Floats(self.elements(f32::from_le_bytes).map(f64::from).collect())),
            "<f8" => Ok(ClassLabels::Floats(self.elements(f64::from_le_bytes).collect())),
            "|b1" => Ok(ClassLabels::Booleans(self.data.iter().map(|&byte| byte != 0).collect())),
            text if text.starts_with("<U") => self.text().map(ClassLabels::Strings),
            _ => Err(self.other("an array of numbers, truth values or text")),
        }
    }

    fn text(&self) -> Result<Vec<String>, Problem> {
        let count = self.shape.iter().product::<usize>();
        if count == 0 || self.data.is_empty() {
            return Ok(vec![String::new(); count.min(self.data.len())]);
        }
        let width = self.data.len() / count;
        let decode = |item: &[u8]| {
            let codes = item.chunks_exact(4).map(|code| u32::from_le_bytes(std::array::from_fn(|i| code[i])));
            let codes: Vec<u32> = codes.collect();
            let used = codes.iter().rposition(|&code| code != 0).map_or(0, |last| last + 1);
            codes[..used].iter().map(|&code| char::from_u32(code)).collect::<Option<String>>()
        };
        let texts: Option<Vec<String>> = self.data.chunks_exact(width).map(decode).collect();
        texts.ok_or_else(|| self.other("an array of Unicode text"))
    }

    fn plain(&self) -> &str {
        match &self.kind {
            Kind::Plain(kind) => kind,
            Kind::Record(_) => "",
        }
    }

    fn elements<T, const N: usize>(&self, read: impl Fn([u8; N]) -> T + 'a) -> impl Iterator<Item = T> + 'a {
        self.data.chunks_exact(N).map(move |item| read(std::array::from_fn(|i| item[i])))
    }

    fn other(&self, expected: &'static str) -> Problem {
        let kind = match &self.kind {
            Kind::Plain(kind) => (*kind).to_owned(),
            Kind::Record(fields) => format!("{fields:?}"),
        };
        Problem::Value { found: format!("an array of type {kind} and shape {:?}", self.shape), expected }
    }
}

impl Kind<'_> {
    /// Bytes of one element; `None` if the sum overflows.
    fn size(&self) -> Result<Option<usize>, Problem> {
        match self {
            Self::Plain(kind) => plain_size(kind),
            Self::Record(fields) => fields.iter().try_fold(Some(0usize), |total, (_, kind)| {
                let size = plain_size(kind)?;
                Ok(total.zip(size).and_then(|(total, size)| total.checked_add(size)))
            }),
        }
    }
}

fn plain_size(kind: &str) -> Result<Option<usize>, Problem> {
    let unsupported = || Problem::Unsupported {
        what: format!("an array of type {kind:?}"),
        advice: "little-endian numbers, truth values and text are read",
    };
    let mut letters = kind.chars();
    let order = letters.next();
    let letter = letters.next().ok_or_else(unsupported)?;
    let digits: usize = letters.as_str().parse().map_err(|_| unsupported())?;
    let unit = match letter {
        'b' | 'i' | 'u' | 'f' | 'V' => 1,
        'U' => 4,
        _ => return Err(unsupported()),
    };
    match order {
        Some('<' | '|') => Ok(digits.checked_mul(unit)),
        _ => Err(unsupported()),
    }
}

/// An `.npy` file with this element type (spelled as in the header), shape and data.
pub(crate) fn write(kind: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let mut sizes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    if shape.len() > 1 {
        sizes.truncate(sizes.len() - 2);
    }
    let mut header =
        format!("{{'descr': {kind}, 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    // Magic, version, length, header and line end together fill a multiple of 64 bytes.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let length = u16::try_from(header.len()).expect("our headers have a few hundred bytes");
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend(length.to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

/// An `.npy` file of f64.
pub(crate) fn write_doubles(shape: &[usize], values: &[f64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    write("'<f8'", shape, &data)
}

/// A reader of the header's dictionary, as NumPy writes it.
struct Header<'a> {
    rest: &'a str,
}

type HeaderFields<'a> = (Kind<'a>, bool, Vec<usize>);

impl<'a> Header<'a> {
    fn parse(mut self) -> Result<HeaderFields<'a>, Problem> {
        let (mut kind, mut fortran, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.quoted()?;
            self.expect(':')?;
            let repeated = match key {
                "descr" => kind.replace(self.kind()?).is_some(),
                "fortran_order" => fortran.replace(self.truth()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => {
                    return Err(Problem::Syntax {
                        expected: "'descr', 'fortran_order' or 'shape'",
                        found: key.to_owned(),
                    });
                }
            };
            if repeated {
                return Err(Problem::DuplicateKey { key: key.to_owned() });
            }
            self.take(',');
        }
        kind.zip(fortran).zip(shape).map(|((kind, fortran), shape)| (kind, fortran, shape)).ok_or(
            Problem::Syntax {
                expected: "a header with 'descr', 'fortran_order' and 'shape'",
                found: "one without".to_owned(),
            },
        )
    }

    fn kind(&mut self) -> Result<Kind<'a>, Problem> {
        if !self.take('[') {
            return Ok(Kind::Plain(self.quoted()?));
        }
        let mut fields = Vec::new();
        while !self.take(']') {
            self.expect('(')?;
            let name = self.quoted()?;
            self.expect(',')?;
            fields.push((name, self.quoted()?));
            self.expect(')')?;
            self.take(',');
        }
        Ok(Kind::Record(fields))
    }

    fn truth(&mut self) -> Result<bool, Problem> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, Problem> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            self.skip_space();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().map_err(|_| self.unexpected("a size"))?);
            self.rest = rest;
            self.take(',');
        }
        Ok(shape)
    }

    fn quoted(&mut self) -> Result<&'a str, Problem> {
        self.skip_space();
        let quote = if self.rest.starts_with('"') { '"' } else { '\'' };
        let body = self.rest.strip_prefix(quote).ok_or_else(|| self.unexpected("text in quotes"))?;
        let (text, rest) = body.split_once(quote).ok_or_else(|| self.unexpected("text in quotes"))?;
        self.rest = rest;
        Ok(text)
    }

    fn expect(&mut self, c: char) -> Result<(), Problem> {
        if self.take(c) { Ok(()) } else { Err(self.unexpected("the header of an array")) }
    }

    fn take(&mut self, c: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self, expected: &'static str) -> Problem {
        Problem::Syntax { expected, found: format!("{:?}", self.rest.chars().take(20).collect::<String>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let bytes = write_doubles(&[2, 1, 3], &[1.0, -0.0, 2.5, f64::MAX, 5e-324, 0.1]);
        assert_eq!(bytes.len() % 16, 0);
        let array = Array::parse(&bytes).unwrap();
        assert_eq!(array.shape(), [2, 1, 3]);
        assert_eq!(array.doubles().unwrap()[3], f64::MAX);
        assert!(write_doubles(&[1], &[1.0]).windows(14).any(|w| w == b"'shape': (1,),"));
    }

    #[test]
    fn malformed_headers_are_refused() {
        let with = |header: &str| {
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.extend(header.as_bytes());
            bytes.extend([0; 16]);
            bytes
        };
        let cases = [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", ""),
            ("{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }", "not supported"),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "not supported"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", "16 values where 24"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999999,), }", "a size"),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296,), }",
                "values where",
            ),
            ("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 0), }", "values where"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", "Fortran"),
            ("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", "twice"),
            ("{'descr': [('a', '<f8', (3,))], 'fortran_order': False, 'shape': (2,)}", "header of an array"),
            ("{'descr': '<f8', 'shape': (2,)}", "one without"),
            ("{'descr': '<f8', 'fortran_order': __import__('os'), 'shape': (2,)}", "True or False"),
            ("{'descr", "text in quotes"),
        ];
        for (header, words) in cases {
            match Array::parse(&with(header)) {
                Ok(_) => assert_eq!(words, "", "{header} was read"),
                Err(problem) => {
                    let message = problem.to_string();
                    assert!(!words.is_empty() && message.contains(words), "{header}: {message}");
                }
            }
        }
        for length in 0..24 {
            let bytes = with("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }");
            assert!(Array::parse(&bytes[..length]).is_err(), "cut at {length}");
        }
    }
}
