//! How the text of a CSV table is read: its header, the character between fields, and the texts
//! that stand for missing values.

use std::str::FromStr;

use clap::{Args, ValueEnum};

/// The options of every command that reads a table. Parquet files need the last one only.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct Reading {
    /// Does the first line of a CSV table hold the column names? `auto`: unless it holds nothing but numbers. Columns
    /// without names are called 0, 1, 2, ...
    #[arg(long, value_enum, default_value_t, value_name = "WHETHER")]
    pub(crate) header: Header,

    /// The character between the fields of a CSV table, or `tab`. Unless given, a comma; or a semicolon or tab where the
    /// first line has these and no comma
    #[arg(long, value_name = "CHAR")]
    pub(crate) separator: Option<Separator>,

    /// Texts that stand for a missing value, such as NA,null, besides an empty field and `nan`
    #[arg(long, value_name = "TEXT,...", value_delimiter = ',')]
    pub(crate) na_values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Header {
    #[default]
    Auto,
    Yes,
    No,
}

/// A character between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Separator(pub(super) u8);

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(Self(b'\t')),
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(Self(*byte)),
            _ => Err(format!("{text:?} is no separator: give one character, or tab")),
        }
    }
}

impl Separator {
    /// The separator of a table that begins with this text: a comma, unless the first line that is
    /// not blank has semicolons or tabs and no comma.
    pub(super) fn of(beginning: &[u8]) -> Self {
        let blank = |line: &&[u8]| line.iter().all(|byte| byte.is_ascii_whitespace() && *byte != b'\t');
        let line = beginning.split(|&byte| byte == b'\n').find(|line| !blank(line)).unwrap_or_default();
        // Splitting at quotation marks makes every second part a quoted one.
        let outside = line.split(|&byte| byte == b'"').step_by(2);
        let found = |separator: &u8| outside.clone().any(|part| part.contains(separator));
        let likely = [b',', b';', b'\t'].into_iter().find(found);
        Self(likely.unwrap_or(b','))
    }
}

impl Reading {
    /// Are these fields, the first of a table, its column names? `is_name` recognises expected
    /// names.
    pub(super) fn is_header<'a>(
        &self,
        fields: impl Iterator<Item = &'a str> + Clone,
        is_name: impl Fn(&str) -> bool,
    ) -> bool {
        let number = |field: &str| field.trim_ascii().parse::<f64>().is_ok();
        // The names that pandas writes for columns without names.
        let counted = || fields.clone().enumerate().all(|(index, field)| field == index.to_string());
        match self.header {
            Header::Yes => true,
            Header::No => false,
            Header::Auto => {
                let numbers = fields.clone().all(|field| field.trim_ascii().is_empty() || number(field));
                !numbers || !fields.clone().any(number) || counted() || fields.clone().any(is_name)
            }
        }
    }

    /// Does this text stand for a missing value?
    pub(super) fn is_missing(&self, text: &str) -> bool {
        self.na_values.iter().any(|missing| missing == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_seen_outside_of_quotes() {
        let of = |text: &str| char::from(Separator::of(text.as_bytes()).0);
        assert_eq!(
            [of("a,b;c\n"), of("a;b\n1,5;2"), of("a\tb"), of("alone"), of("")],
            [',', ';', '\t', ',', ',']
        );
        assert_eq!([of("\"a,b\";c"), of("\r\n\n a;b"), of("\"a;b\",c")], [';', ';', ',']);
        assert_eq!("tab".parse::<Separator>().unwrap(), Separator(b'\t'));
        for wrong in ["", "ab", "\"", "é", "\n"] {
            assert!(wrong.parse::<Separator>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn numbers_alone_are_no_header() {
        let reading = Reading::default();
        let is_header = |line: &str| reading.is_header(line.split(','), |name| name == "17");
        for header in ["a,b", "a,2", "0,1,2", "17,18", ",", "f0,"] {
            assert!(is_header(header), "{header}");
        }
        for row in ["1,2", "0.5,", "1e3,-7", "0,2,1", "nan,1"] {
            assert!(!is_header(row), "{row}");
        }
        let [yes, no] = [Header::Yes, Header::No].map(|header| Reading { header, ..Reading::default() });
        assert!(yes.is_header("1,2".split(','), |_| false) && !no.is_header("a,b".split(','), |_| false));
    }
}
