//! Writes predictions: as CSV, as compressed CSV, as Parquet or as Arrow IPC. The name of the file says which.

#[cfg(feature = "parquet")]
mod columnar;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use csv::WriterBuilder;
use flate2::Compression;
use flate2::write::GzEncoder;
use secateur_model::{ClassId, ClassLabels, NumberType};

use crate::output::Output;
use secateur::internal::text::write_number;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    CompressedCsv,
    Parquet,
    Arrow,
}

impl Format {
    /// The format that a file's name asks for. Stdout and names without an ending mean CSV.
    pub(crate) fn of(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::Csv) };
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let ending = Path::new(&name).extension().map(|ending| ending.to_string_lossy().into_owned());
        Ok(match ending.as_deref() {
            None | Some("csv") => Self::Csv,
            Some("gz") if name.ends_with(".csv.gz") => Self::CompressedCsv,
            Some("parquet") if cfg!(feature = "parquet") => Self::Parquet,
            Some("arrow") if cfg!(feature = "parquet") => Self::Arrow,
            Some("parquet" | "arrow") => bail!(
                "{}: this secateur was built without Parquet and Arrow; give the file a name that ends with .csv",
                path.display()
            ),
            Some(_) => bail!(
                "{}: predictions are written as .csv, .csv.gz, .parquet or .arrow; give the file one of these endings",
                path.display()
            ),
        })
    }
}

/// The columns of the predictions: those of the table that the user wants in front, the class if
/// there is one, and numbers.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) ids: &'a [String],
    /// The labels, if the class of each row is written.
    pub(crate) classes: Option<&'a ClassLabels>,
    /// The names of the numbers, and their types.
    pub(crate) numbers: &'a [(String, NumberType)],
}

/// Predictions of some rows.
pub(crate) struct Part<'a> {
    /// The ids of each row, one row after the other.
    pub(crate) ids: &'a [String],
    /// The class of each row, or none.
    pub(crate) classes: &'a [ClassId],
    /// The numbers, one row after the other.
    pub(crate) numbers: &'a [f64],
    pub(crate) rows: usize,
}

/// A destination for predictions.
pub(crate) trait Sink {
    /// Writes some rows.
    fn rows(&mut self, part: &Part<'_>) -> Result<()>;
    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A sink of this format. Nothing is written before the first rows.
pub(crate) fn sink<'a>(
    format: Format,
    columns: Columns<'a>,
    output: &'a mut Output,
) -> Result<Box<dyn Sink + 'a>> {
    let to = To(output);
    Ok(match format {
        Format::Csv => Box::new(Csv::new(columns, to)?),
        Format::CompressedCsv => Box::new(Csv::new(columns, GzEncoder::new(to, Compression::default()))?),
        Format::Parquet | Format::Arrow => columnar(format, columns, to)?,
    })
}

/// An output as a writer.
struct To<'a>(&'a mut Output);

impl Write for To<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Csv<'a, W> {
    columns: Columns<'a>,
    /// The field of each class.
    labels: Vec<String>,
    /// Text that is to be written; at first the header.
    text: String,
    to: W,
}

impl<'a, W: Write> Csv<'a, W> {
    fn new(columns: Columns<'a>, to: W) -> Result<Self> {
        let class = columns.classes.map(|_| "class".to_owned());
        let names: Vec<String> =
            class.into_iter().chain(columns.numbers.iter().map(|(name, _)| name.clone())).collect();
        let text = csv_fields(columns.ids)? + &names.join(",") + "\n";
        let labels = match columns.classes {
            Some(classes) => (0..classes.len())
                .map(|class| {
                    Ok(csv_fields(&[classes.text(ClassId::new(class)).into_owned()])?
                        .trim_end_matches(',')
                        .to_owned())
                })
                .collect::<Result<_>>()?,
            None => Vec::new(),
        };
        Ok(Self { columns, labels, text, to })
    }

    fn write(&mut self) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        Ok(self.to.write_all(text.as_bytes())?)
    }
}

impl<W: Write> Sink for Csv<'_, W> {
    fn rows(&mut self, part: &Part<'_>) -> Result<()> {
        let (ids, width) = (self.columns.ids.len(), self.columns.numbers.len());
        for row in 0..part.rows {
            if ids > 0 {
                self.text += &csv_fields(&part.ids[row * ids..][..ids])?;
            }
            if let Some(class) = part.classes.get(row) {
                self.text += &self.labels[class.index()];
            }
            for (index, &value) in part.numbers[row * width..][..width].iter().enumerate() {
                if index > 0 || !part.classes.is_empty() {
                    self.text.push(',');
                }
                write_number(&mut self.text, value, self.columns.numbers[index].1);
            }
            self.text.push('\n');
        }
        self.write()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write()
    }
}

/// These texts as fields of a CSV line, each followed by a comma.
fn csv_fields(texts: &[String]) -> Result<String> {
    if texts.is_empty() {
        return Ok(String::new());
    }
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    // An empty last field, so that the line ends with a comma.
    writer.write_record(texts.iter().map(String::as_str).chain([""]))?;
    let line = String::from_utf8(writer.into_inner()?)?;
    Ok(line.trim_end_matches('\n').to_owned())
}

#[cfg(not(feature = "parquet"))]
fn columnar<'a>(_: Format, _: Columns<'a>, _: To<'a>) -> Result<Box<dyn Sink + 'a>> {
    bail!("this secateur was built without Parquet and Arrow")
}

#[cfg(feature = "parquet")]
fn columnar<'a>(format: Format, columns: Columns<'a>, to: To<'a>) -> Result<Box<dyn Sink + 'a>> {
    Ok(match format {
        Format::Arrow => Box::new(columnar::Grouped::new(columns, columnar::Arrow::new(&columns, to)?)),
        _ => Box::new(columnar::Grouped::new(columns, columnar::Parquet::new(&columns, to)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_format() {
        let of = |name: &str| Format::of(Some(Path::new(name)));
        for (name, format) in [("a.csv", Format::Csv), ("A.CSV", Format::Csv), ("/dev/stdout", Format::Csv)] {
            assert_eq!(of(name).unwrap(), format, "{name}");
        }
        assert_eq!(of("x/a.csv.gz").unwrap(), Format::CompressedCsv);
        assert_eq!(Format::of(None).unwrap(), Format::Csv);
        for name in ["a.json", "a.arrows", "a.gz", "a.xlsx", "a.b c"] {
            let error = of(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(".parquet or .arrow"), "{error}");
        }
    }
}
