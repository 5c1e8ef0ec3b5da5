//! Arrow IPC, as a file (`.arrow`, `.feather`) or as a stream, read one record batch after the other.
//!
//! Numbers, truth values and text are read (dictionaries included); nulls are missing values. Other columns are
//! refused if a feature needs them, and not decoded otherwise. The index columns that pandas adds are ignored.
//!
//! A file is read by its footer, which alone says where its parts are: what Polars writes in front of it is no
//! stream. A file that comes through a pipe is therefore copied to a temporary file first.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::vec;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, root_as_footer_with_opts, root_as_message_with_opts};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, SchemaRef};
use flatbuffers::VerifierOptions;

use super::cell::Cell;
use super::parquet::is_pandas_index;
use super::{ARROW, ARROW_STREAM, Counted, LONGEST_NAME, Put, Share, Source};
use crate::failure::guard;

/// The last bytes of a file.
const MAGIC: &[u8] = b"ARROW1";

/// The most bytes that a batch may have when it is unpacked, and those of the dictionaries: a gibibyte.
const MOST_UNPACKED: u64 = 1 << 30;
/// The most rows of a batch, by Arrow's own advice: a column of nothing but nulls needs no bytes.
const MOST_ROWS: i64 = i32::MAX as i64;
/// The most bytes that a message may refer to; parts of a message can be referred to many times.
const MOST_METADATA: usize = 1 << 28;

pub(super) struct ArrowTable {
    input: Input,
    read: Share,
    schema: SchemaRef,
    names: Vec<String>,
    columns: Vec<Column>,
    dictionaries: HashMap<i64, ArrayRef>,
    dictionary_bytes: HashMap<i64, u64>,
    /// Batches read so far; the last one, as far as it was wanted, and the rows of it that were returned.
    batches: usize,
    batch: Option<RecordBatch>,
    next: usize,
    /// Rows before the last chunk, and in it.
    before: u64,
    chunk: usize,
}

/// Where the messages are.
enum Input {
    /// One after the other.
    Stream(Box<dyn Read>),
    /// At these bytes of a file.
    File(BufReader<Counted>, vec::IntoIter<u64>),
}

struct Column {
    /// The position in the schema.
    index: usize,
    /// The name of the values, if they cannot be read.
    readable: Result<(), &'static str>,
}

/// A message and its body.
struct Part {
    metadata: Vec<u8>,
    body: Buffer,
}

impl Part {
    fn message(&self) -> Result<Message<'_>> {
        root_as_message_with_opts(&limits(), &self.metadata).map_err(|error| anyhow!("{error}"))
    }
}

fn limits() -> VerifierOptions {
    VerifierOptions { max_apparent_size: MOST_METADATA, ..VerifierOptions::default() }
}

impl ArrowTable {
    /// Opens a table whose first bytes have been read already.
    pub(super) fn open(head: Vec<u8>, mut file: File) -> Result<Self> {
        let footed = head == ARROW;
        if footed && file.stream_position().ok() != Some(ARROW.len() as u64) {
            file = copied(&head, file).context("it cannot be copied to a temporary file")?;
        }
        let (file, read) = Counted::of(file);
        let mut file = BufReader::with_capacity(1 << 16, file);
        let (schema, input) = if footed {
            let (schema, places) = guard(|| read_footer(&mut file))
                .and_then(|read| read)
                .context("the footer cannot be read")?;
            (schema, Input::File(file, places.into_iter()))
        } else {
            let mut file: Box<dyn Read> = Box::new(Cursor::new(head).chain(file));
            let schema = guard(|| read_schema(&mut *file))
                .and_then(|read| read)
                .context("the schema cannot be read")?;
            (schema, Input::Stream(file))
        };
        let mut names = Vec::new();
        let mut columns = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            if is_pandas_index(field.name()) {
                continue;
            }
            names.push(field.name().clone());
            columns.push(Column { index, readable: readable(field) });
        }
        Ok(Self {
            input,
            read,
            schema,
            names,
            columns,
            dictionaries: HashMap::new(),
            dictionary_bytes: HashMap::new(),
            batches: 0,
            batch: None,
            next: 0,
            before: 0,
            chunk: 0,
        })
    }

    /// Reads messages until a batch has rows; `false` at the end.
    fn next_batch(&mut self, wanted: &[usize]) -> Result<bool> {
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            (self.batch, self.next) = (None, 0);
            let place = || format!("record batch {} cannot be read", self.batches + 1);
            let Some(part) = self.input.next().with_context(place)? else { return Ok(false) };
            let place = place();
            guard(|| self.take(&part, wanted)).and_then(|taken| taken).context(place)?;
        }
        Ok(true)
    }

    /// Keeps what a message brings: a batch, or a dictionary for the batches after it.
    fn take(&mut self, part: &Part, wanted: &[usize]) -> Result<()> {
        let message = part.message()?;
        let version = message.version();
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().context("the batch is missing")?;
                if !(0..=MOST_ROWS).contains(&batch.length()) {
                    bail!("it declares {} rows; at most {MOST_ROWS} are read", batch.length());
                }
                unpacked(batch, &part.body)?;
                let projection: Vec<usize> =
                    wanted.iter().map(|&column| self.columns[column].index).collect();
                let schema = SchemaRef::clone(&self.schema);
                let batch = read_record_batch(
                    &part.body,
                    batch,
                    schema,
                    &self.dictionaries,
                    Some(&projection),
                    &version,
                )?;
                self.batches += 1;
                self.batch = Some(batch);
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().context("the dictionary is missing")?;
                let data = dictionary.data().context("the dictionary is empty")?;
                if !(0..=MOST_ROWS).contains(&data.length()) {
                    bail!("a dictionary declares {} values; at most {MOST_ROWS} are read", data.length());
                }
                let bytes = unpacked(data, &part.body)?;
                let all = self.dictionary_bytes.entry(dictionary.id()).or_default();
                *all = if dictionary.isDelta() { *all + bytes } else { bytes };
                let total: u64 = self.dictionary_bytes.values().sum();
                if total > MOST_UNPACKED {
                    bail!("the dictionaries have {total} bytes; at most {MOST_UNPACKED} are read");
                }
                read_dictionary(&part.body, dictionary, &self.schema, &mut self.dictionaries, &version)?;
            }
            other => bail!("a message holds neither rows nor a dictionary ({other:?})"),
        }
        Ok(())
    }
}

impl Source for ArrowTable {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn fill(&mut self, wanted: &[usize], most: usize, put: &mut Put<'_>) -> Result<usize> {
        self.before += self.chunk as u64;
        self.chunk = 0;
        for &column in wanted {
            if let Err(what) = self.columns[column].readable {
                bail!("column {:?} holds {what}; convert it to numbers or text", self.names[column]);
            }
        }
        if !self.next_batch(wanted)? {
            return Ok(0);
        }
        let batch = self.batch.as_ref().context("no batch")?;
        let count = (batch.num_rows() - self.next).min(most);
        for (feature, (&column, array)) in wanted.iter().zip(batch.columns()).enumerate() {
            for row in 0..count {
                put(row, feature, cell(array, self.next + row)).map_err(|problem| {
                    anyhow!("{}, column {:?}: {problem}", self.place(row), self.names[column])
                })?;
            }
        }
        self.next += count;
        self.chunk = count;
        Ok(count)
    }

    fn is_readable(&self, column: usize) -> bool {
        self.columns[column].readable.is_ok()
    }

    fn place(&self, row: usize) -> String {
        format!("row {}", self.before + row as u64 + 1)
    }

    fn done(&self) -> Option<f64> {
        self.read.done()
    }
}

impl Input {
    /// The next message and its body; `None` after the last one, and then always.
    fn next(&mut self) -> Result<Option<Part>> {
        match self {
            Self::Stream(input) => {
                let part = next_part(input)?;
                if part.is_none() {
                    *input = Box::new(io::empty());
                }
                Ok(part)
            }
            Self::File(file, places) => {
                let Some(place) = places.next() else { return Ok(None) };
                file.seek(SeekFrom::Start(place))?;
                Ok(Some(next_part(file)?.context("the footer names a place without a message")?))
            }
        }
    }
}

/// A file from a pipe, as one in which can be sought.
fn copied(head: &[u8], mut file: File) -> io::Result<File> {
    let mut copy = tempfile::tempfile()?;
    copy.write_all(head)?;
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

/// Reads the next message and its body; `None` at the end of the stream.
fn next_part(input: &mut dyn Read) -> Result<Option<Part>> {
    let start = take(input, ARROW_STREAM.len() as u64)?;
    if start.is_empty() {
        return Ok(None);
    }
    if start != ARROW_STREAM {
        bail!("there is no message where one should begin; the file is damaged, or older than Arrow 0.15");
    }
    let length = exactly(input, 4)?.try_into().map_or(-1, i32::from_le_bytes);
    if length == 0 {
        return Ok(None);
    }
    let metadata = exactly(input, u64::try_from(length).context("a message has a negative length")?)?;
    let mut part = Part { metadata, body: Buffer::default() };
    let length = guard(|| Ok(part.message()?.bodyLength())).and_then(|length: Result<i64>| length)?;
    part.body = exactly(input, u64::try_from(length).context("a body has a negative length")?)?.into();
    Ok(Some(part))
}

/// As many bytes, or fewer at the end. Memory grows with what there is, not with what a file declares.
fn take(input: &mut dyn Read, count: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn exactly(input: &mut dyn Read, count: u64) -> Result<Vec<u8>> {
    let bytes = take(input, count)?;
    if bytes.len() as u64 != count {
        bail!("the file ends within it");
    }
    Ok(bytes)
}

/// The schema in front of a stream.
fn read_schema(input: &mut dyn Read) -> Result<SchemaRef> {
    let part = next_part(input)?.context("there is none")?;
    to_schema(part.message()?.header_as_schema().context("the first message is none")?)
}

/// The schema in the footer of a file, and the bytes at which its dictionaries and its batches begin.
fn read_footer(file: &mut BufReader<Counted>) -> Result<(SchemaRef, Vec<u64>)> {
    let end = i64::try_from(MAGIC.len() + 4)?;
    let size = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::End(-end)).context("the file ends early")?;
    let length = exactly(file, 4)?.try_into().map_or(0, u32::from_le_bytes);
    if exactly(file, MAGIC.len() as u64)? != MAGIC || u64::from(length) + end as u64 > size {
        bail!("the file ends early");
    }
    file.seek(SeekFrom::End(-end - i64::from(length)))?;
    let bytes = exactly(file, length.into())?;
    let footer = root_as_footer_with_opts(&limits(), &bytes).map_err(|error| anyhow!("{error}"))?;
    let schema = to_schema(footer.schema().context("it has no schema")?)?;
    let mut places = Vec::new();
    for blocks in [footer.dictionaries(), footer.recordBatches()] {
        // In the order of the file, as all writers have them: nothing is read twice.
        let mut next = ARROW.len() as i64;
        for block in blocks.into_iter().flatten() {
            let parts = [block.offset(), block.metaDataLength().into(), block.bodyLength()];
            let after =
                parts.iter().try_fold(0_i64, |sum, &part| sum.checked_add(part).filter(|_| part >= 0));
            if block.offset() < next {
                bail!("its parts overlap");
            }
            next = after.context("a part lies outside of the file")?;
            places.push(block.offset() as u64);
        }
    }
    Ok((schema, places))
}

fn to_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        bail!(
            "the numbers have another order of bytes than this machine's; write the file on such a machine"
        );
    }
    let mut fields = schema.fields().into_iter().flatten();
    if let Some(column) = fields.position(|field| field.name().is_some_and(|name| name.len() > LONGEST_NAME))
    {
        bail!("column {} has a name of more than {LONGEST_NAME} bytes", column + 1);
    }
    Ok(SchemaRef::new(arrow_ipc::convert::try_fb_to_schema(schema)?))
}

/// The bytes of a batch after unpacking, by what its buffers declare; an error if they are too many.
fn unpacked(batch: arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<u64> {
    let packed = batch.compression().is_some();
    let mut total = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok())
            .and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?))
            .context("a buffer lies outside of its body")?;
        let declared = match bytes.first_chunk() {
            Some(&prefix) if packed => u64::try_from(i64::from_le_bytes(prefix)).unwrap_or(0),
            _ => 0,
        };
        total = total.saturating_add(declared.max(bytes.len() as u64));
    }
    // Without compression, and with buffers that do not overlap, there are no more bytes than the body has.
    if total > MOST_UNPACKED.max(body.len() as u64) {
        bail!(
            "it has {total} bytes when it is unpacked; write record batches of at most {MOST_UNPACKED} bytes"
        );
    }
    Ok(total)
}

/// Can the values of a field be read? Otherwise, their name.
fn readable(field: &Field) -> Result<(), &'static str> {
    if field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY) {
        return Err("values of an extension type");
    }
    let values = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        own => own,
    };
    match values {
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Ok(())
        }
        kind if kind.is_integer()
            || matches!(kind, DataType::Float16 | DataType::Float32 | DataType::Float64) =>
        {
            Ok(())
        }
        kind if kind.is_temporal() => Err("dates or times"),
        kind if kind.is_numeric() => Err("decimals"),
        kind if kind.is_nested() => Err("nested values"),
        _ => Err("values of a type that is neither number nor text"),
    }
}

/// One value of a readable column.
fn cell(array: &dyn Array, row: usize) -> Cell<'_> {
    if array.is_null(row) {
        return Cell::Missing;
    }
    macro_rules! whole {
        ($type:ty) => {
            Cell::Whole(i128::from(array.as_primitive::<$type>().value(row)))
        };
    }
    match array.data_type() {
        DataType::Boolean => Cell::Number(f64::from(u8::from(array.as_boolean().value(row)))),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Float16 => Cell::Number(array.as_primitive::<Float16Type>().value(row).to_f64()),
        DataType::Float32 => Cell::Number(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => Cell::Number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Cell::Text(array.as_string_view().value(row)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            match cell(dictionary.keys(), row) {
                Cell::Whole(key) => cell(dictionary.values(), key as usize),
                _ => Cell::Missing,
            }
        }
        // `Null`; `readable` has refused all others.
        _ => Cell::Missing,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, Float64Array, NullArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

    use super::*;

    /// A number with a null, text by codes, and a column of nulls: two batches.
    fn example(footed: bool, compression: Option<CompressionType>) -> Vec<u8> {
        let texts: DictionaryArray<Int8Type> =
            [Some("red"), None, Some("blue"), Some("red")].into_iter().collect();
        let numbers = Float64Array::from(vec![Some(0.1), None, Some(f64::INFINITY), Some(f64::NAN)]);
        let columns: [(&str, ArrayRef); 3] = [
            ("number", Arc::new(numbers)),
            ("text", Arc::new(texts)),
            ("nothing", Arc::new(NullArray::new(4))),
        ];
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
                .unwrap();
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut bytes = Vec::new();
        if footed {
            let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
            writer.write(&batch).and_then(|()| writer.write(&batch)).and_then(|()| writer.finish()).unwrap();
        } else {
            let mut writer =
                StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
            writer.write(&batch).and_then(|()| writer.write(&batch)).and_then(|()| writer.finish()).unwrap();
        }
        bytes
    }

    /// All cells of a file, row after row, as they are shown.
    fn cells(bytes: &[u8]) -> Result<Vec<String>> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.rewind()?;
        let mut head = Vec::new();
        Read::by_ref(&mut file).take(ARROW.len() as u64).read_to_end(&mut head)?;
        let mut table = ArrowTable::open(head, file)?;
        let wanted: Vec<usize> =
            (0..table.names().len()).filter(|&column| table.is_readable(column)).collect();
        let mut found = Vec::new();
        loop {
            let (start, width) = (found.len(), wanted.len());
            // Three rows at a time: batches and chunks need not meet.
            let count = table.fill(&wanted, 3, &mut |row, column, cell| {
                found.resize(found.len().max(start + (row + 1) * width), String::new());
                found[start + row * width + column] = cell.to_string();
                Ok(())
            })?;
            if count == 0 {
                return Ok(found);
            }
        }
    }

    const FORMS: [(bool, Option<CompressionType>); 4] = [
        (true, None),
        (false, None),
        (true, Some(CompressionType::LZ4_FRAME)),
        (false, Some(CompressionType::ZSTD)),
    ];

    #[test]
    fn files_and_streams_have_the_same_cells() {
        let once = ["0.1", "red", "", "", "", "", "inf", "blue", "", "NaN", "red", ""];
        for (footed, compression) in FORMS {
            assert_eq!(
                cells(&example(footed, compression)).unwrap(),
                [once, once].concat(),
                "{compression:?}"
            );
        }
    }

    /// A file needs its last byte. A stream may end after any message: what is left are whole batches.
    #[test]
    fn what_ends_early_is_refused() {
        for (footed, compression) in FORMS {
            let whole = example(footed, compression);
            let all = cells(&whole).unwrap();
            let mut shorter = 0;
            for length in 8..whole.len() {
                match cells(&whole[..length]) {
                    Ok(_) if footed => panic!("{length} of {} bytes are enough", whole.len()),
                    Ok(some) => {
                        assert!(
                            some.len() % (all.len() / 2) == 0 && all.starts_with(&some),
                            "{length}: {some:?}"
                        );
                        shorter += 1;
                    }
                    Err(error) => assert!(!format!("{error:#}").is_empty()),
                }
            }
            // Without its batches, and after each of them.
            assert!(footed || (3..=20).contains(&shorter), "{shorter}");
        }
    }

    #[test]
    fn changed_bytes_give_an_error_or_an_answer() {
        for (footed, compression) in FORMS {
            let whole = example(footed, compression);
            let mut refused = 0;
            for position in 0..whole.len() {
                let mut changed = whole.clone();
                changed[position] ^= [0x01, 0x80, 0xff][position % 3];
                refused += usize::from(cells(&changed).is_err());
            }
            assert!(refused > whole.len() / 16, "{refused} of {}", whole.len());
        }
    }

    /// Lengths that a file only declares reserve no memory: with 2^60 bytes the process would end.
    #[test]
    fn declared_lengths_are_limited() {
        let packed = example(false, Some(CompressionType::ZSTD));
        // The numbers of a batch: 32 bytes, packed or not (-1).
        let prefix = |length: i64| length.to_le_bytes();
        let mut tried = 0;
        for start in (0..packed.len() - 8).step_by(8) {
            if packed[start..][..8] == prefix(32) || packed[start..][..8] == prefix(-1) {
                for length in [1 << 60, 1 << 40, i64::MAX] {
                    let mut changed = packed.clone();
                    changed[start..][..8].copy_from_slice(&prefix(length));
                    assert!(cells(&changed).is_err());
                    tried += 1;
                }
            }
        }
        assert!(tried > 0);
        // Every number of a message: rows, offsets, lengths, the length of the body.
        let whole = example(false, None);
        for start in (0..whole.len() - 8).step_by(4) {
            for length in [1 << 60, i64::MAX, i64::from(i32::MAX) + 1, i64::from(i32::MAX)] {
                let mut changed = whole.clone();
                changed[start..][..8].copy_from_slice(&prefix(length));
                if let Ok(cells) = cells(&changed) {
                    assert!(cells.len() < 100, "{start}: {length}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let refused = |bytes: &[u8], words: &str| {
            let error = format!("{:#}", cells(bytes).unwrap_err());
            assert!(error.contains(words), "{error}");
        };
        refused(ARROW, "the footer cannot be read: the file ends early");
        refused(ARROW_STREAM, "the schema cannot be read");
        refused(&example(false, None)[4..], "older than Arrow 0.15");
        // Both batches at the place of the first: a small file could have any number of rows.
        let whole = example(true, None);
        let text = |place: usize| (place as i64).to_le_bytes();
        let starts: Vec<usize> = (0..whole.len())
            .filter(|&at| {
                whole[at..].starts_with(ARROW_STREAM) && whole.windows(8).any(|bytes| bytes == text(at))
            })
            .collect();
        let [.., first, second] = starts[..] else { panic!("{starts:?}") };
        let place = whole.windows(8).rposition(|bytes| bytes == text(second)).unwrap();
        let mut twice = whole;
        twice[place..][..8].copy_from_slice(&text(first));
        refused(&twice, "its parts overlap");
    }
}
