//! Writes predictions: as CSV, as compressed CSV, or as Parquet. The name of the file says which.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
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
            Some("parquet") => bail!(
                "{}: this secateur was built without Parquet; give the file a name that ends with .csv",
                path.display()
            ),
            Some(_) => bail!(
                "{}: predictions are written as .csv, .csv.gz or .parquet; give the file one of these endings",
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
        Format::Parquet => parquet(columns, to)?,
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
fn parquet<'a>(_: Columns<'a>, _: To<'a>) -> Result<Box<dyn Sink + 'a>> {
    bail!("this secateur was built without Parquet")
}

#[cfg(feature = "parquet")]
fn parquet<'a>(columns: Columns<'a>, to: To<'a>) -> Result<Box<dyn Sink + 'a>> {
    Ok(Box::new(with_parquet::Parquet::new(columns, to)?))
}

#[cfg(feature = "parquet")]
mod with_parquet {
    use std::sync::Arc;

    use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
    use parquet::data_type::{
        BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type,
    };
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
    use parquet::schema::types::Type;

    use super::{ClassId, ClassLabels, Columns, Context, NumberType, Part, Result, Sink, To};

    /// Rows of a row group.
    const GROUP: usize = 1 << 17;

    pub(super) struct Parquet<'a> {
        columns: Columns<'a>,
        writer: SerializedFileWriter<To<'a>>,
        ids: Vec<String>,
        classes: Vec<ClassId>,
        numbers: Vec<f64>,
        rows: usize,
    }

    impl<'a> Parquet<'a> {
        pub(super) fn new(columns: Columns<'a>, to: To<'a>) -> Result<Self> {
            let field = |name: &str, kind: Physical| {
                let field = Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED);
                let field = match kind {
                    Physical::BYTE_ARRAY => field
                        .with_logical_type(Some(LogicalType::String))
                        .with_converted_type(ConvertedType::UTF8),
                    _ => field,
                };
                Ok::<_, anyhow::Error>(Arc::new(field.build()?))
            };
            let mut fields = Vec::new();
            for id in columns.ids {
                fields.push(field(id, Physical::BYTE_ARRAY)?);
            }
            if let Some(classes) = columns.classes {
                let kind = match classes {
                    ClassLabels::Unnamed(_) | ClassLabels::Integers(_) => Physical::INT64,
                    ClassLabels::Floats(_) => Physical::DOUBLE,
                    ClassLabels::Booleans(_) => Physical::BOOLEAN,
                    ClassLabels::Strings(_) => Physical::BYTE_ARRAY,
                };
                fields.push(field("class", kind)?);
            }
            for (name, number) in columns.numbers {
                let kind = if *number == NumberType::F32 { Physical::FLOAT } else { Physical::DOUBLE };
                fields.push(field(name, kind)?);
            }
            let schema = Arc::new(Type::group_type_builder("predictions").with_fields(fields).build()?);
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = SerializedFileWriter::new(to, schema, Arc::new(properties))
                .context("the predictions cannot be written as Parquet")?;
            Ok(Self { columns, writer, ids: Vec::new(), classes: Vec::new(), numbers: Vec::new(), rows: 0 })
        }

        /// Writes the rows that are waiting as a row group.
        fn write_group(&mut self) -> Result<()> {
            let (ids, width) = (self.columns.ids.len(), self.columns.numbers.len());
            let mut group = self.writer.next_row_group()?;
            for id in 0..ids {
                let texts: Vec<ByteArray> = self
                    .ids
                    .iter()
                    .skip(id)
                    .step_by(ids)
                    .map(|text| ByteArray::from(text.as_str()))
                    .collect();
                column::<ByteArrayType>(&mut group, &texts)?;
            }
            if let Some(labels) = self.columns.classes {
                let of = self.classes.iter().map(|class| class.index());
                match labels {
                    ClassLabels::Unnamed(_) => {
                        column::<Int64Type>(&mut group, &of.map(|class| class as i64).collect::<Vec<_>>())?;
                    }
                    ClassLabels::Integers(labels) => {
                        column::<Int64Type>(&mut group, &of.map(|class| labels[class]).collect::<Vec<_>>())?;
                    }
                    ClassLabels::Floats(labels) => {
                        column::<DoubleType>(&mut group, &of.map(|class| labels[class]).collect::<Vec<_>>())?;
                    }
                    ClassLabels::Booleans(labels) => {
                        column::<BoolType>(&mut group, &of.map(|class| labels[class]).collect::<Vec<_>>())?;
                    }
                    ClassLabels::Strings(labels) => {
                        let texts = of.map(|class| ByteArray::from(labels[class].as_str()));
                        column::<ByteArrayType>(&mut group, &texts.collect::<Vec<_>>())?;
                    }
                }
            }
            for (index, (_, number)) in self.columns.numbers.iter().enumerate() {
                let values = self.numbers.iter().skip(index).step_by(width).copied();
                match number {
                    NumberType::F32 => {
                        column::<FloatType>(
                            &mut group,
                            &values.map(|value| value as f32).collect::<Vec<_>>(),
                        )?;
                    }
                    NumberType::F64 => column::<DoubleType>(&mut group, &values.collect::<Vec<_>>())?,
                }
            }
            group.close()?;
            (self.ids, self.classes, self.numbers, self.rows) = Default::default();
            Ok(())
        }
    }

    /// Writes the next column of a row group.
    fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, To<'_>>, values: &[T::T]) -> Result<()> {
        let mut writer = group.next_column()?.context("a column too many")?;
        writer.typed::<T>().write_batch(values, None, None)?;
        writer.close()?;
        Ok(())
    }

    impl Sink for Parquet<'_> {
        fn rows(&mut self, part: &Part<'_>) -> Result<()> {
            self.ids.extend_from_slice(part.ids);
            self.classes.extend_from_slice(part.classes);
            self.numbers.extend_from_slice(part.numbers);
            self.rows += part.rows;
            if self.rows >= GROUP { self.write_group() } else { Ok(()) }
        }

        fn finish(mut self: Box<Self>) -> Result<()> {
            if self.rows > 0 {
                self.write_group()?;
            }
            self.writer.close()?;
            Ok(())
        }
    }
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
        for name in ["a.json", "a.arrow", "a.gz", "a.xlsx", "a.b c"] {
            let error = of(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(".parquet"), "{error}");
        }
    }
}
