//! CSV with a header, read record by record. Blank lines are skipped, as pandas does.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::str;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow, bail};
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use super::cell::Cell;
use super::{Put, Source};

pub(super) struct CsvTable {
    reader: Reader<Box<dyn Read>>,
    names: Vec<String>,
    record: ByteRecord,
    /// Rows before the last chunk, and the line of each row in it.
    before: u64,
    lines: Vec<u64>,
    read: Arc<AtomicU64>,
    /// The file's size; 0 for what has none.
    length: u64,
}

impl CsvTable {
    /// A table whose first bytes have been read already.
    pub(super) fn open(head: Vec<u8>, file: File) -> Result<Self> {
        let length = file.metadata().map_or(0, |file| file.len());
        let read = Arc::new(AtomicU64::new(0));
        let input = Cursor::new(head).chain(Counted { file, read: Arc::clone(&read) });
        let mut reader = ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(Box::new(input) as _);
        let header = reader.byte_headers().map_err(|error| explain(&error, 0))?;
        let name = |field| str::from_utf8(field).map(str::to_owned);
        let names: Vec<String> =
            header.iter().map(name).collect::<Result<_, _>>().map_err(|_| {
                anyhow!("line 1: the header is not UTF-8 text; is this a CSV or Parquet file?")
            })?;
        if names.is_empty() {
            bail!("the file is empty; it needs a header with the column names");
        }
        Ok(Self { reader, names, record: ByteRecord::new(), before: 0, lines: Vec::new(), read, length })
    }
}

impl Source for CsvTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn fill(&mut self, wanted: &[usize], most: usize, put: &mut Put<'_>) -> Result<usize> {
        self.before += self.lines.len() as u64;
        self.lines.clear();
        for row in 0..most {
            let number = self.before + row as u64 + 1;
            if !self.reader.read_byte_record(&mut self.record).map_err(|error| explain(&error, number))? {
                break;
            }
            self.lines.push(self.record.position().map_or(0, csv::Position::line));
            for (feature, &column) in wanted.iter().enumerate() {
                let place = || format!("{}, column {:?}", self.place(row), self.names[column]);
                // The reader has checked that every record is as long as the header.
                let field = str::from_utf8(&self.record[column])
                    .map_err(|_| anyhow!("{}: the field is not UTF-8 text", place()))?;
                let cell = if field.is_empty() { Cell::Missing } else { Cell::Text(field) };
                put(row, feature, cell).map_err(|problem| anyhow!("{}: {problem}", place()))?;
            }
        }
        Ok(self.lines.len())
    }

    fn place(&self, row: usize) -> String {
        format!("row {} (line {})", self.before + row as u64 + 1, self.lines[row])
    }

    fn done(&self) -> Option<f64> {
        (self.length > 0).then(|| self.read.load(Ordering::Relaxed) as f64 / self.length as f64)
    }
}

/// An error of the CSV reader in the words of this program; `row` is 0 in the header.
fn explain(error: &csv::Error, row: u64) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            anyhow!("row {row} (line {line}): {len} fields where the header has {expected_len}")
        }
        ErrorKind::Io(error) => anyhow!("cannot be read: {error}"),
        _ => anyhow!("row {row}: {error}"),
    }
}

/// Counts the bytes read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
