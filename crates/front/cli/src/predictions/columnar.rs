//! Predictions as Parquet and as Arrow IPC: a group of rows at a time, column by column.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, LargeStringArray, RecordBatch,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use secateur_model::{ClassId, ClassLabels, NumberType};

use super::{Columns, Part, Sink, To};

/// Rows of a group.
const GROUP: usize = 1 << 17;

/// The type of a column.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Whole,
    Truth,
    Single,
    Double,
}

/// The values of a column, for the rows of a group.
pub(super) enum Values<'a> {
    Text(Vec<&'a str>),
    Whole(Vec<i64>),
    Truth(Vec<bool>),
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// The names and types of the columns: ids, the class, numbers.
fn kinds<'a>(columns: &Columns<'a>) -> impl Iterator<Item = (&'a str, Kind)> {
    let ids = columns.ids.iter().map(|name| (name.as_str(), Kind::Text));
    let class = columns.classes.map(|classes| {
        let kind = match classes {
            ClassLabels::Unnamed(_) | ClassLabels::Integers(_) => Kind::Whole,
            ClassLabels::Floats(_) => Kind::Double,
            ClassLabels::Booleans(_) => Kind::Truth,
            ClassLabels::Strings(_) => Kind::Text,
        };
        ("class", kind)
    });
    let numbers = columns.numbers.iter().map(|(name, number)| {
        (name.as_str(), if *number == NumberType::F32 { Kind::Single } else { Kind::Double })
    });
    ids.chain(class).chain(numbers)
}

/// A file that is written group by group.
pub(super) trait Groups {
    fn write(&mut self, columns: Vec<Values<'_>>) -> Result<()>;
    fn close(self) -> Result<()>;
}

/// Collects rows to groups.
pub(super) struct Grouped<'a, W> {
    columns: Columns<'a>,
    writer: W,
    ids: Vec<String>,
    classes: Vec<ClassId>,
    numbers: Vec<f64>,
    rows: usize,
}

impl<'a, W: Groups> Grouped<'a, W> {
    pub(super) fn new(columns: Columns<'a>, writer: W) -> Self {
        Self { columns, writer, ids: Vec::new(), classes: Vec::new(), numbers: Vec::new(), rows: 0 }
    }

    /// Writes the rows that are waiting.
    fn write_group(&mut self) -> Result<()> {
        let (ids, width) = (self.columns.ids.len(), self.columns.numbers.len());
        let mut columns = Vec::new();
        for id in 0..ids {
            columns.push(Values::Text(self.ids.iter().skip(id).step_by(ids).map(String::as_str).collect()));
        }
        if let Some(labels) = self.columns.classes {
            let of = self.classes.iter().map(|class| class.index());
            columns.push(match labels {
                ClassLabels::Unnamed(_) => Values::Whole(of.map(|class| class as i64).collect()),
                ClassLabels::Integers(labels) => Values::Whole(of.map(|class| labels[class]).collect()),
                ClassLabels::Floats(labels) => Values::Double(of.map(|class| labels[class]).collect()),
                ClassLabels::Booleans(labels) => Values::Truth(of.map(|class| labels[class]).collect()),
                ClassLabels::Strings(labels) => {
                    Values::Text(of.map(|class| labels[class].as_str()).collect())
                }
            });
        }
        for (index, (_, number)) in self.columns.numbers.iter().enumerate() {
            let values = self.numbers.iter().skip(index).step_by(width).copied();
            columns.push(match number {
                NumberType::F32 => Values::Single(values.map(|value| value as f32).collect()),
                NumberType::F64 => Values::Double(values.collect()),
            });
        }
        self.writer.write(columns)?;
        (self.ids, self.classes, self.numbers, self.rows) = Default::default();
        Ok(())
    }
}

impl<W: Groups> Sink for Grouped<'_, W> {
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
        self.writer.close()
    }
}

pub(super) struct Parquet<'a>(SerializedFileWriter<To<'a>>);

impl<'a> Parquet<'a> {
    pub(super) fn new(columns: &Columns<'_>, to: To<'a>) -> Result<Self> {
        let field = |(name, kind)| {
            let physical = match kind {
                Kind::Text => Physical::BYTE_ARRAY,
                Kind::Whole => Physical::INT64,
                Kind::Truth => Physical::BOOLEAN,
                Kind::Single => Physical::FLOAT,
                Kind::Double => Physical::DOUBLE,
            };
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
            let field = match kind {
                Kind::Text => field
                    .with_logical_type(Some(LogicalType::String))
                    .with_converted_type(ConvertedType::UTF8),
                _ => field,
            };
            Ok(Arc::new(field.build()?))
        };
        let fields = kinds(columns).map(field).collect::<Result<_>>()?;
        let schema = Arc::new(Type::group_type_builder("predictions").with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(to, schema, Arc::new(properties));
        Ok(Self(writer.context("the predictions cannot be written as Parquet")?))
    }
}

impl Groups for Parquet<'_> {
    fn write(&mut self, columns: Vec<Values<'_>>) -> Result<()> {
        let mut group = self.0.next_row_group()?;
        for values in columns {
            let mut column = group.next_column()?.context("a column too many")?;
            macro_rules! write {
                ($type:ty, $values:expr) => {
                    column.typed::<$type>().write_batch($values, None, None)?
                };
            }
            match values {
                Values::Text(texts) => {
                    let texts: Vec<ByteArray> = texts.into_iter().map(ByteArray::from).collect();
                    write!(ByteArrayType, &texts)
                }
                Values::Whole(values) => write!(Int64Type, &values),
                Values::Truth(values) => write!(BoolType, &values),
                Values::Single(values) => write!(FloatType, &values),
                Values::Double(values) => write!(DoubleType, &values),
            };
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn close(self) -> Result<()> {
        self.0.close()?;
        Ok(())
    }
}

pub(super) struct Arrow<'a>(FileWriter<To<'a>>);

impl<'a> Arrow<'a> {
    pub(super) fn new(columns: &Columns<'_>, to: To<'a>) -> Result<Self> {
        let field = |(name, kind)| {
            let kind = match kind {
                // Not `Utf8`, whose texts of a group are at most 2 GiB.
                Kind::Text => DataType::LargeUtf8,
                Kind::Whole => DataType::Int64,
                Kind::Truth => DataType::Boolean,
                Kind::Single => DataType::Float32,
                Kind::Double => DataType::Float64,
            };
            Field::new(name, kind, false)
        };
        let schema = Schema::new(kinds(columns).map(field).collect::<Vec<_>>());
        let writer = FileWriter::try_new(to, &schema);
        Ok(Self(writer.context("the predictions cannot be written as Arrow")?))
    }
}

impl Groups for Arrow<'_> {
    fn write(&mut self, columns: Vec<Values<'_>>) -> Result<()> {
        let array = |values| -> ArrayRef {
            match values {
                Values::Text(texts) => Arc::new(LargeStringArray::from(texts)),
                Values::Whole(values) => Arc::new(Int64Array::from(values)),
                Values::Truth(values) => Arc::new(BooleanArray::from(values)),
                Values::Single(values) => Arc::new(Float32Array::from(values)),
                Values::Double(values) => Arc::new(Float64Array::from(values)),
            }
        };
        let schema = Arc::clone(self.0.schema());
        let batch = RecordBatch::try_new(schema, columns.into_iter().map(array).collect())?;
        Ok(self.0.write(&batch)?)
    }

    fn close(mut self) -> Result<()> {
        Ok(self.0.finish()?)
    }
}
