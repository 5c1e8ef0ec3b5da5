//! CSV, plain or compressed with gzip, read record by record. Blank lines are skipped, as pandas
//! does.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::str;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, anyhow, bail};
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use flate2::read::MultiGzDecoder;

use super::cell::Cell;
use super::reading::{Reading, Separator};
use super::{Counted, Put, Share, Source};

/// The first bytes of gzip data.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The most bytes that are read to find the first line, which tells the separator of the fields.
const LONGEST_FIRST_LINE: u64 = 1 << 20;

/// The most bytes and separators of one line: a small gzip file may hold lines that are too long
/// for any memory.
const LONGEST_LINE: usize = 1 << 26;
const MOST_SEPARATORS: usize = 1 << 20;

pub(super) struct CsvTable {
    reader: Reader<Box<dyn Read>>,
    names: Vec<String>,
    record: ByteRecord,
    /// Bytes and separators read since the last record began.
    line: Arc<Line>,
    /// The first record, if it is a row, until it has been returned.
    first: Option<ByteRecord>,
    has_header: bool,
    /// Rows before the last chunk, and the byte at which each row of the chunk starts.
    before: u64,
    starts: Vec<u64>,
    /// The file's path, if the file can be read again.
    path: Option<PathBuf>,
    read: Share,
}

impl CsvTable {
    /// Opens a table whose first bytes have been read already. `is_name` recognises expected column
    /// names.
    pub(super) fn open(
        head: Vec<u8>,
        file: File,
        path: &Path,
        reading: &Reading,
        is_name: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let regular = file.metadata().is_ok_and(|file| file.is_file());
        let (file, read) = Counted::of(file);
        let compressed = head.starts_with(&GZIP);
        let bytes = Cursor::new(head).chain(file);
        let bytes: Box<dyn Read> =
            if compressed { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
        let mut input = BufReader::new(bytes);
        let mut beginning = Vec::new();
        let read_error = |error| anyhow!("cannot be read: {error}");
        while beginning.iter().all(u8::is_ascii_whitespace) {
            if beginning.len() as u64 > LONGEST_FIRST_LINE {
                bail!("the first {} bytes are blank; is this a CSV, Parquet or Arrow file?", beginning.len());
            }
            let mut line = input.by_ref().take(LONGEST_FIRST_LINE);
            if line.read_until(b'\n', &mut beginning).map_err(read_error)? == 0 {
                break;
            }
        }
        let Separator(separator) = reading.separator.unwrap_or_else(|| Separator::of(&beginning));
        let line = Arc::new(Line::default());
        let input = Cursor::new(beginning).chain(input);
        let input = Box::new(Limited { input, separator, line: Arc::clone(&line) }) as Box<dyn Read>;
        let builder = &mut ReaderBuilder::new();
        let builder = builder.has_headers(false).delimiter(separator).buffer_capacity(1 << 16);
        let mut reader = builder.from_reader(input);
        let mut first = ByteRecord::new();
        reader.read_byte_record(&mut first).map_err(|error| explain(&error, "line 1"))?;
        let field = |field| str::from_utf8(field);
        let fields: Vec<&str> = first.iter().map(field).collect::<Result<_, _>>().map_err(|_| {
            anyhow!("line 1: the header is not UTF-8 text; is this a CSV, Parquet or Arrow file?")
        })?;
        if fields.is_empty() {
            bail!("the file is empty; it needs a header with the column names");
        }
        let has_header = reading.is_header(fields.iter().copied(), is_name);
        let names = match has_header {
            true => fields.iter().map(|&name| name.to_owned()).collect(),
            false => (0..fields.len()).map(|column| column.to_string()).collect(),
        };
        Ok(Self {
            reader,
            names,
            record: ByteRecord::new(),
            line,
            first: (!has_header).then_some(first),
            has_header,
            before: 0,
            starts: Vec::new(),
            path: (regular && !compressed).then(|| path.to_owned()),
            read,
        })
    }

    /// The next record, or `false` at the end.
    fn next(&mut self) -> csv::Result<bool> {
        match self.first.take() {
            Some(first) => {
                self.record = first;
                Ok(true)
            }
            None => {
                self.line.begin();
                self.reader.read_byte_record(&mut self.record)
            }
        }
    }

    /// `row 17 (line 18)` for a row, counted from 1, that starts at a byte.
    fn row(&self, row: u64, start: Option<u64>) -> String {
        // The reader's own line numbers are wrong after blank lines and if lines end with CR LF.
        let line = self.path.as_ref().zip(start).and_then(|(path, start)| line_of(path, start).ok());
        match line {
            Some(line) => format!("row {row} (line {line})"),
            None => format!("row {row}"),
        }
    }
}

impl Source for CsvTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn has_header(&self) -> bool {
        self.has_header
    }

    fn fill(&mut self, wanted: &[usize], most: usize, put: &mut Put<'_>) -> Result<usize> {
        self.before += self.starts.len() as u64;
        self.starts.clear();
        for row in 0..most {
            let start = if self.first.is_some() { 0 } else { self.reader.position().byte() };
            match self.next() {
                Ok(true) => self.starts.push(start),
                Ok(false) => break,
                Err(error) => {
                    return Err(explain(&error, &self.row(self.before + row as u64 + 1, Some(start))));
                }
            }
            for (feature, &column) in wanted.iter().enumerate() {
                let place = || format!("{}, column {:?}", self.place(row), self.names[column]);
                // The reader has checked that every record has as many fields as the first.
                let field = str::from_utf8(&self.record[column])
                    .map_err(|_| anyhow!("{}: the field is not UTF-8 text", place()))?;
                let cell = if field.is_empty() { Cell::Missing } else { Cell::Text(field) };
                put(row, feature, cell).map_err(|problem| anyhow!("{}: {problem}", place()))?;
            }
        }
        Ok(self.starts.len())
    }

    fn place(&self, row: usize) -> String {
        self.row(self.before + row as u64 + 1, self.starts.get(row).copied())
    }

    fn done(&self) -> Option<f64> {
        self.read.done()
    }
}

/// Turns an error of the CSV reader into a message for users.
fn explain(error: &csv::Error, place: &str) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            anyhow!("{place}: {len} fields where the first line has {expected_len}")
        }
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => anyhow!("{place}: {error}"),
        ErrorKind::Io(error) => anyhow!("cannot be read: {error}"),
        _ => anyhow!("{place}: {error}"),
    }
}

/// The line of the record that starts at this byte, blank lines skipped.
fn line_of(path: &Path, start: u64) -> io::Result<u64> {
    let mut line = 1;
    for (position, byte) in (0..).zip(BufReader::new(File::open(path)?).bytes()) {
        let byte = byte?;
        if position >= start && byte != b'\n' && byte != b'\r' {
            break;
        }
        line += u64::from(byte == b'\n');
    }
    Ok(line)
}

/// How many bytes and separators were read since a record began. Bytes that the reader had already
/// read ahead are not counted.
#[derive(Default)]
struct Line {
    bytes: AtomicUsize,
    separators: AtomicUsize,
}

impl Line {
    fn begin(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.separators.store(0, Ordering::Relaxed);
    }
}

/// A reader that returns an error if a line is too long.
struct Limited<R> {
    input: R,
    separator: u8,
    line: Arc<Line>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        let separators = buffer[..count].iter().filter(|&&byte| byte == self.separator).count();
        let too = |what: &str, most: usize| {
            let words = format!(
                "a line with more than {most} {what}; a table has one row on each line: give it as Parquet where \
                 its rows are that long"
            );
            Err(io::Error::new(io::ErrorKind::FileTooLarge, words))
        };
        if self.line.bytes.fetch_add(count, Ordering::Relaxed) + count > LONGEST_LINE {
            return too("bytes", LONGEST_LINE);
        }
        if self.line.separators.fetch_add(separators, Ordering::Relaxed) + separators > MOST_SEPARATORS {
            return too("columns", MOST_SEPARATORS);
        }
        Ok(count)
    }
}
