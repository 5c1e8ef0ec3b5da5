//! Flat Parquet files, read column by column, a chunk of rows at a time.
//!
//! Numbers, truth values and text are read (dictionaries included); nulls are missing values.
//! Dates, decimals, binary data and nested columns are refused if a feature needs them. The index
//! columns that pandas adds are ignored.

use std::fs::File;
use std::str;

use anyhow::{Context, Result, anyhow, bail};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::cell::Cell;
use super::{Put, Source};
use crate::failure::guard;

pub(super) struct ParquetTable {
    file: SerializedFileReader<File>,
    names: Vec<String>,
    columns: Vec<Column>,
    total: u64,
    /// The next row group, the readers of the current one, and the rows it has left.
    next_group: usize,
    readers: Vec<ColumnReader>,
    left: usize,
    /// Rows before the last chunk, and in it.
    before: u64,
    chunk: usize,
}

struct Column {
    /// The position among the file's leaf columns.
    leaf: usize,
    /// May nulls occur? If so, there are definition levels.
    optional: bool,
    /// How whole numbers are read, or the name of the values if they cannot be read.
    integers: Result<Integers, &'static str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Integers {
    Signed,
    Unsigned,
}

impl ParquetTable {
    pub(super) fn open(file: File) -> Result<Self> {
        let file = guard(|| SerializedFileReader::new(file))
            .and_then(|file| Ok(file?))
            .context("the file is no readable Parquet file")?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let mut names = Vec::new();
        let mut columns = Vec::new();
        for (leaf, column) in schema.columns().iter().enumerate() {
            let name = column.path().string();
            if is_pandas_index(&name) {
                continue;
            }
            columns.push(Column { leaf, optional: column.max_def_level() > 0, integers: integers(column) });
            names.push(name);
        }
        let total = u64::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Self {
            file,
            names,
            columns,
            total,
            next_group: 0,
            readers: Vec::new(),
            left: 0,
            before: 0,
            chunk: 0,
        })
    }

    /// Opens row groups until one has rows; `false` at the end of the file.
    fn next_group(&mut self, wanted: &[usize]) -> Result<bool> {
        while self.left == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(false);
            }
            let index = self.next_group;
            let (file, columns) = (&self.file, &self.columns);
            let open = || {
                let group = file.get_row_group(index)?;
                let reader = |&column: &usize| group.get_column_reader(columns[column].leaf);
                let readers = wanted.iter().map(reader).collect::<Result<Vec<_>, _>>()?;
                Ok::<_, parquet::errors::ParquetError>((readers, group.metadata().num_rows()))
            };
            let (readers, rows) = guard(open)
                .and_then(|opened| Ok(opened?))
                .with_context(|| format!("row group {index} cannot be read"))?;
            self.readers = readers;
            self.left = usize::try_from(rows)
                .map_err(|_| anyhow!("row group {index} declares {rows} rows; the file is damaged"))?;
            self.next_group += 1;
        }
        Ok(true)
    }
}

impl Source for ParquetTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn fill(&mut self, wanted: &[usize], most: usize, put: &mut Put<'_>) -> Result<usize> {
        self.before += self.chunk as u64;
        self.chunk = 0;
        for &column in wanted {
            if let Err(what) = self.columns[column].integers {
                bail!("column {:?} holds {what}; convert it to numbers or text", self.names[column]);
            }
        }
        if !self.next_group(wanted)? {
            return Ok(0);
        }
        let count = self.left.min(most);
        for (feature, (&column, reader)) in wanted.iter().zip(&mut self.readers).enumerate() {
            let Column { optional, integers, .. } = self.columns[column];
            let part = Part { name: &self.names[column], before: self.before, count, optional };
            let mut put = |row: usize, cell: Cell<'_>| {
                put(row, feature, cell).map_err(|problem| anyhow!("{}: {problem}", part.place(row)))
            };
            read_column(reader, integers == Ok(Integers::Unsigned), &part, &mut put)?;
        }
        self.left -= count;
        self.chunk = count;
        Ok(count)
    }

    fn is_readable(&self, column: usize) -> bool {
        self.columns[column].integers.is_ok()
    }

    fn place(&self, row: usize) -> String {
        format!("row {}", self.before + row as u64 + 1)
    }

    fn done(&self) -> Option<f64> {
        (self.total > 0).then(|| (self.before + self.chunk as u64) as f64 / self.total as f64)
    }
}

/// The part of a column that is in one chunk.
struct Part<'a> {
    name: &'a str,
    /// Rows before it.
    before: u64,
    count: usize,
    optional: bool,
}

impl Part<'_> {
    fn place(&self, row: usize) -> String {
        format!("row {}, column {:?}", self.before + row as u64 + 1, self.name)
    }

    fn damaged(&self) -> String {
        format!("column {:?} cannot be read after row {}; the file may be damaged", self.name, self.before)
    }
}

type PutCell<'a> = dyn FnMut(usize, Cell<'_>) -> Result<()> + 'a;

fn read_column(
    reader: &mut ColumnReader,
    unsigned: bool,
    part: &Part<'_>,
    put: &mut PutCell<'_>,
) -> Result<()> {
    use ColumnReader as Reader;
    let number = |value: f64| Ok(Cell::Number(value));
    let whole = |value: i128| Ok(Cell::Whole(value));
    match reader {
        Reader::BoolColumnReader(reader) => {
            read(reader, part, put, |&value| number(f64::from(u8::from(value))))
        }
        Reader::Int32ColumnReader(reader) if unsigned => {
            read(reader, part, put, |&value| whole(i128::from(value as u32)))
        }
        Reader::Int32ColumnReader(reader) => read(reader, part, put, |&value| whole(i128::from(value))),
        Reader::Int64ColumnReader(reader) if unsigned => {
            read(reader, part, put, |&value| whole(i128::from(value as u64)))
        }
        Reader::Int64ColumnReader(reader) => read(reader, part, put, |&value| whole(i128::from(value))),
        Reader::FloatColumnReader(reader) => read(reader, part, put, |&value| number(f64::from(value))),
        Reader::DoubleColumnReader(reader) => read(reader, part, put, |&value| number(value)),
        Reader::ByteArrayColumnReader(reader) => {
            read(reader, part, put, |value| Ok(Cell::Text(str::from_utf8(value.data())?)))
        }
        Reader::FixedLenByteArrayColumnReader(reader) => read(reader, part, put, |value| {
            let bytes = value.data().try_into().context("a half-precision number has two bytes")?;
            number(half(u16::from_le_bytes(bytes)))
        }),
        Reader::Int96ColumnReader(_) => bail!("column {:?} holds dates or times", part.name),
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    part: &Part<'_>,
    put: &mut PutCell<'_>,
    cell: impl for<'a> Fn(&'a T::T) -> Result<Cell<'a>>,
) -> Result<()> {
    let mut values = Vec::new();
    let mut levels = Vec::new();
    let levels_wanted = part.optional.then_some(&mut levels);
    let (rows, _, _) = guard(|| reader.read_records(part.count, levels_wanted, None, &mut values))
        .and_then(|read| Ok(read?))
        .with_context(|| part.damaged())?;
    if rows != part.count || part.optional && levels.len() != rows {
        bail!("{}", part.damaged());
    }
    let mut values = values.iter();
    for row in 0..rows {
        if levels.get(row) == Some(&0) {
            put(row, Cell::Missing)?;
        } else {
            let value = values.next().with_context(|| part.damaged())?;
            put(row, cell(value).with_context(|| part.place(row))?)?;
        }
    }
    Ok(())
}

/// How a column's whole numbers are read, or the name of the values if they cannot be read.
fn integers(column: &ColumnDescriptor) -> Result<Integers, &'static str> {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return Err("nested values");
    }
    let integers = match column.converted_type() {
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
            Integers::Unsigned
        }
        ConvertedType::DECIMAL => return Err("decimals"),
        ConvertedType::DATE
        | ConvertedType::TIME_MILLIS
        | ConvertedType::TIME_MICROS
        | ConvertedType::TIMESTAMP_MILLIS
        | ConvertedType::TIMESTAMP_MICROS => return Err("dates or times"),
        _ => Integers::Signed,
    };
    match (column.physical_type(), column.logical_type_ref()) {
        (_, Some(LogicalType::Decimal { .. })) => Err("decimals"),
        (_, Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. }))
        | (Physical::INT96, _) => Err("dates or times"),
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16))
        | (Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE, _)
        | (
            Physical::INT32 | Physical::INT64,
            None | Some(LogicalType::Integer { .. } | LogicalType::Unknown),
        )
        | (
            Physical::BYTE_ARRAY,
            None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Unknown),
        ) => Ok(integers),
        _ => Err("values of a type that is neither number nor text"),
    }
}

/// `__index_level_0__` and the like.
pub(super) fn is_pandas_index(name: &str) -> bool {
    name.strip_prefix("__index_level_")
        .and_then(|rest| rest.strip_suffix("__"))
        .is_some_and(|level| !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A half-precision number: one sign bit, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match bits >> 10 & 0x1f {
        0 => fraction * 2f64.powi(-14),
        0x1f if bits & 0x3ff == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_numbers_are_read() {
        let cases = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert_eq!(half(0x8000).to_bits(), (-0.0f64).to_bits());
        assert_eq!(half(0xfc00), f64::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn index_columns_of_pandas_are_known() {
        assert!(is_pandas_index("__index_level_0__"));
        assert!(!is_pandas_index("__index_level___"));
        assert!(!is_pandas_index("index"));
    }
}
