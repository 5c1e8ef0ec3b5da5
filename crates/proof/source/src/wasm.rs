//! A model as a WebAssembly module: fixed code (`template.wat`, as bytes `template.wasm`), and data
//! that has the tables.
//!
//! A module has, in this order: a section with a comment for people and for the reader (name, parts
//! and source, as at the head of emitted source), the sections of the template with as many pages
//! of memory as the model needs, and one piece of data from address 0 on. The reader takes the
//! comment and the data out of a file, reads the data, builds the module of this comment and data,
//! and demands that it equals the file byte by byte. So only the comment and the data can vary.
//!
//! The data starts with the header that `template.wat` describes. Every field either follows from
//! the others or is a number of the model. Every table starts after the one before, at the next
//! multiple of 8, and everything that the model's parts do not use is zero.

use std::collections::BTreeMap;

use secateur_model::NumberType;

use super::read::{SourceFile, Table, Unreadable, commented};
use super::text::{self, Entries, Head, Language, Line, Piece};

/// How every module starts.
pub(super) const MAGIC: &[u8] = b"\0asm\x01\0\0\0";
const TEMPLATE: &[u8] = include_bytes!("template.wasm");
/// The name of the section that has the comment.
const COMMENT: &str = "secateur";
/// Bytes of the header.
pub const WASM_HEADER: usize = 296;
const PAGE: u64 = 1 << 16;
/// Addresses stay below this.
const MOST: u64 = 1 << 31;

/// The parts that the code asks for: bits of the header's first number.
const FLAGS: [&str; 17] = [
    "f32_input",
    "f32_sums",
    "quantised",
    "chunks",
    "window",
    "each",
    "every",
    "listed",
    "last",
    "average_raw",
    "average_class",
    "class",
    "threshold",
    "strict",
    "softmax32",
    "softmax64",
    "sigmoid",
];

/// The whole numbers of the header from its second on, 4 bytes each. The numbers with a meaning of
/// their own come after them.
const COUNTS: [&str; 9] =
    ["features", "outputs", "used", "number_bins", "sets", "equals", "bins", "trees", "group"];
const NODE_BYTES: usize = 40;
const LEAF_BYTES: usize = 44;
const PLACES: usize = 48;
const DOUBLES: usize = 64;
const TABLES: usize = 104;
const TABLE_NAMES: [&str; 24] = [
    "used_feature",
    "first_threshold",
    "threshold",
    "first_bin",
    "bin_sides",
    "bin_start",
    "set_feature",
    "set_flags",
    "first_code",
    "code",
    "first_listed",
    "listed",
    "equal_feature",
    "equal_sides",
    "equal_value",
    "inner",
    "node_bin",
    "node_rank",
    "node_left",
    "tree_output",
    "factor",
    "leaf_index",
    "leaf",
    "intercept",
];

/// The numbers and tables of a model, by their names in the text.
#[derive(Clone, Debug, Default)]
pub struct WasmData {
    /// Whole numbers.
    pub counts: BTreeMap<&'static str, u32>,
    /// Doubles.
    pub doubles: BTreeMap<&'static str, f64>,
    /// Tables of whole numbers.
    pub integers: BTreeMap<&'static str, Vec<u32>>,
    /// Tables of whole numbers with a sign.
    pub signed: BTreeMap<&'static str, Vec<i32>>,
    /// Tables of floats.
    pub floats: BTreeMap<&'static str, Vec<f64>>,
}

/// The module of a model. `comment` is the comment at the head of source. `None` if the model needs
/// more memory than addresses reach.
pub fn wasm_module(comment: &str, head: &Head, data: &WasmData) -> Option<Vec<u8>> {
    let (bytes, end) = data.bytes(head)?;
    Some(module(comment, &bytes, end))
}

/// The module with this comment and data, whose memory ends at `end`.
fn module(comment: &str, data: &[u8], end: u64) -> Vec<u8> {
    let mut module = MAGIC.to_vec();
    let mut section = |id: u8, parts: &[&[u8]]| {
        module.push(id);
        module.extend(leb(parts.iter().map(|part| part.len() as u64).sum()));
        parts.iter().for_each(|part| module.extend_from_slice(part));
    };
    section(0, &[&leb(COMMENT.len() as u64), COMMENT.as_bytes(), comment.as_bytes()]);
    let mut template = Sections(&TEMPLATE[MAGIC.len()..]);
    while let Some((id, content)) = template.next() {
        match id {
            // One memory, without an upper limit.
            5 => section(5, &[&[1, 0], &leb(end.div_ceil(PAGE).max(1))]),
            _ => section(id, &[content]),
        }
    }
    // One piece of data, to the place `i32.const 0`.
    section(11, &[&[1, 0, 0x41, 0, 0x0b], &leb(data.len() as u64), data]);
    module
}

/// Reads a module.
pub(super) fn parse(bytes: &[u8]) -> Result<SourceFile, Unreadable> {
    let wrong = |what: &str| Unreadable { line: 0, what: what.to_owned() };
    let (comment, data) =
        taken(bytes).ok_or_else(|| wrong("the module has not the sections that it should have"))?;
    let (head, source) = commented(comment, &[Language::Wasm])?;
    let (read, end) = Reader { data, head: &head }.all().map_err(|what| wrong(&what))?;
    if module(comment, data, end) != bytes {
        return Err(wrong("the module is not the template, which has the code of every such file"));
    }
    let mut file = SourceFile { head, source, numbers: BTreeMap::new(), tables: BTreeMap::new() };
    for (name, count) in read.counts {
        file.numbers.insert(name, count.to_string());
    }
    for (name, value) in read.doubles {
        file.numbers.insert(name, spelled(name, value, file.head.input()));
    }
    file.tables.extend(read.integers.into_iter().map(|(name, table)| (name, Table::Integers(table))));
    file.tables.extend(read.signed.into_iter().map(|(name, table)| (name, Table::Signed(table))));
    file.tables.extend(read.floats.into_iter().map(|(name, table)| (name, Table::Floats(table))));
    Ok(file)
}

/// A number of the header, spelled as in Rust. Whether it is right is decided by the comparison
/// with the model.
fn spelled(name: &str, value: f64, input: NumberType) -> String {
    match name {
        // A whole number, if it is one: the code compares sums with it.
        "limit" if value.to_bits() == f64::from(value as i32).to_bits() => (value as i32).to_string(),
        "window" if input == NumberType::F32 && f64::from(value as f32).to_bits() == value.to_bits() => {
            format!("{:?}", value as f32)
        }
        _ => format!("{value:?}"),
    }
}

/// The comment and the data of a module with the expected sections. Everything else in it is
/// compared later.
fn taken(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let mut sections = Sections(bytes.strip_prefix(MAGIC)?);
    let (0, comment) = sections.next()? else { return None };
    let comment = comment.strip_prefix(&[COMMENT.len() as u8])?.strip_prefix(COMMENT.as_bytes())?;
    let comment = std::str::from_utf8(comment).ok().filter(|comment| comment.is_ascii())?;
    let (mut id, mut last) = (0, comment.as_bytes());
    while let Some(section) = sections.next() {
        (id, last) = section;
    }
    let data = last.strip_prefix(&[1, 0, 0x41, 0, 0x0b]).filter(|_| id == 11 && sections.0.is_empty())?;
    let (length, data) = read_leb(data)?;
    (length == data.len() as u64).then_some((comment, data))
}

/// The sections of a module: the number of each, and its content.
struct Sections<'a>(&'a [u8]);

impl<'a> Sections<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&id, rest) = self.0.split_first()?;
        let (length, rest) = read_leb(rest)?;
        let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some((id, content))
    }
}

/// A number in groups of seven bits, the lowest first, in its shortest form.
fn leb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn read_leb(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(5).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    Some((number.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f)), rest))
}

/// The place of a number in the header.
fn slot_of_double(name: &str) -> Option<usize> {
    let at = match name {
        "window" => 0,
        "divisor" => 1,
        "threshold" | "limit" => 2,
        "scale" => 3,
        "unit" => 4,
        _ => return None,
    };
    Some(DOUBLES + 8 * at)
}

fn slot_of_count(name: &str) -> Option<usize> {
    COUNTS.iter().position(|&known| known == name).map(|at| 4 + 4 * at)
}

fn slot_of_table(name: &str) -> Option<usize> {
    TABLE_NAMES.iter().position(|&known| known == name).map(|at| TABLES + 8 * at)
}

fn flags(head: &Head) -> u32 {
    FLAGS.iter().enumerate().map(|(bit, part)| u32::from(head.has(part)) << bit).sum()
}

/// The bytes that the largest of these numbers needs: 1, 2 or 4.
fn bytes_for<'a>(tables: impl IntoIterator<Item = Option<&'a Vec<u32>>>) -> u32 {
    match tables.into_iter().flatten().flatten().max() {
        None | Some(0..=0xff) => 1,
        Some(0x100..=0xffff) => 2,
        Some(_) => 4,
    }
}

/// How wide the numbers of a table are, in bytes.
fn width(head: &Head, name: &str, entries: Entries, node_bytes: u32, leaf_bytes: u32) -> usize {
    match (entries, name) {
        (Entries::Float(NumberType::F64), _) => 8,
        (Entries::Float(NumberType::F32) | Entries::Signed | Entries::Key(_), _) => 4,
        (Entries::Unsigned, "node_bin" | "node_left") => node_bytes as usize,
        (Entries::Unsigned, "node_rank") => 1,
        (Entries::Unsigned, "leaf_index") => leaf_bytes as usize,
        (Entries::Unsigned, "leaf") if head.has("quantised") => leaf_bytes as usize,
        (Entries::Unsigned | Entries::Half | Entries::Word, _) => 4,
    }
}

impl WasmData {
    /// The bytes of node numbers and of leaf numbers.
    fn widths(&self, head: &Head) -> (u32, u32) {
        let table = |name| self.integers.get(name);
        let leaves = if head.has("quantised") { "leaf" } else { "leaf_index" };
        (bytes_for([table("node_bin"), table("node_left")]), bytes_for([table(leaves)]))
    }

    /// The bytes of the data, and where the memory that the code needs ends.
    fn bytes(&self, head: &Head) -> Option<(Vec<u8>, u64)> {
        let mut bytes = vec![0; WASM_HEADER];
        let put = |bytes: &mut Vec<u8>, at: usize, number: u32| {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        };
        put(&mut bytes, 0, flags(head));
        let (node_bytes, leaf_bytes) = self.widths(head);
        put(&mut bytes, NODE_BYTES, node_bytes);
        put(&mut bytes, LEAF_BYTES, leaf_bytes);
        for line in text::lines(head) {
            match line {
                Line::Text(pieces) => {
                    for name in pieces.iter().filter_map(Piece::number) {
                        match slot_of_count(name) {
                            Some(at) => put(&mut bytes, at, *self.counts.get(name)?),
                            None => {
                                let at = slot_of_double(name)?;
                                bytes[at..at + 8].copy_from_slice(&self.doubles.get(name)?.to_le_bytes());
                            }
                        }
                    }
                }
                Line::Table { name, entries } => {
                    let (start, at) = (bytes.len(), slot_of_table(name)?);
                    let width = width(head, name, entries, node_bytes, leaf_bytes);
                    let count = match entries {
                        Entries::Unsigned => {
                            let table = self.integers.get(name)?;
                            table
                                .iter()
                                .for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()[..width]));
                            table.len()
                        }
                        Entries::Signed => {
                            let table = self.signed.get(name)?;
                            table.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
                            table.len()
                        }
                        // The template has no tables of these types.
                        Entries::Key(_) | Entries::Half | Entries::Word => return None,
                        Entries::Float(number) => {
                            let table = self.floats.get(name)?;
                            table.iter().for_each(|&value| bytes.extend(float_bytes(value, number)));
                            table.len()
                        }
                    };
                    if bytes.len() as u64 >= MOST {
                        return None;
                    }
                    put(&mut bytes, at, start as u32);
                    put(&mut bytes, at + 4, count as u32);
                    bytes.resize(bytes.len().next_multiple_of(8), 0);
                }
            }
        }
        let count = |name| self.counts.get(name).copied().map(u64::from);
        let places = places(bytes.len(), count("features")?, count("outputs")?, count("bins")?);
        if places[3] >= MOST {
            return None;
        }
        for (index, place) in places.into_iter().enumerate() {
            put(&mut bytes, PLACES + 4 * index, place as u32);
        }
        Some((bytes, places[3]))
    }
}

/// Where row, scores and bins are, and where they end.
fn places(row: usize, features: u64, outputs: u64, bins: u64) -> [u64; 4] {
    let row = row as u64;
    let scores = row + 8 * features;
    let bins_at = scores + 8 * outputs;
    [row, scores, bins_at, bins_at + bins]
}

/// The bytes of a float of a table. All NaNs have the same bytes.
fn float_bytes(value: f64, number: NumberType) -> Vec<u8> {
    match number {
        NumberType::F32 if value.is_nan() => 0x7fc0_0000u32.to_le_bytes().to_vec(),
        NumberType::F32 => (value as f32).to_le_bytes().to_vec(),
        NumberType::F64 if value.is_nan() => 0x7ff8_0000_0000_0000u64.to_le_bytes().to_vec(),
        NumberType::F64 => value.to_le_bytes().to_vec(),
    }
}

/// Reads data.
struct Reader<'a> {
    data: &'a [u8],
    head: &'a Head,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn double(&self, at: usize) -> Option<f64> {
        let bytes = self.data.get(at..at.checked_add(8)?)?;
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The numbers and tables, and where the memory ends. The data can be made again from the
    /// result, byte by byte, so it contains no number that was not read.
    fn all(&self) -> Result<(WasmData, u64), String> {
        let mut read = WasmData::default();
        for line in text::lines(self.head) {
            match line {
                Line::Text(pieces) => {
                    for name in pieces.iter().filter_map(Piece::number) {
                        self.number(name, &mut read).ok_or("the data is shorter than its header")?;
                    }
                }
                Line::Table { name, entries } => self
                    .table(name, entries, &mut read)
                    .ok_or_else(|| format!("the table {name} is not within the data"))?,
            }
        }
        match read.bytes(self.head) {
            Some((bytes, end)) if bytes == self.data => Ok((read, end)),
            _ => Err("the data is not laid out as its numbers and tables are".to_owned()),
        }
    }

    fn number(&self, name: &'static str, read: &mut WasmData) -> Option<()> {
        match slot_of_count(name) {
            Some(at) => drop(read.counts.insert(name, self.word(at)?)),
            None => drop(read.doubles.insert(name, self.double(slot_of_double(name)?)?)),
        }
        Some(())
    }

    fn table(&self, name: &'static str, entries: Entries, read: &mut WasmData) -> Option<()> {
        let at = slot_of_table(name)?;
        let (start, count) = (self.word(at)? as usize, self.word(at + 4)? as usize);
        let width = width(self.head, name, entries, self.word(NODE_BYTES)?, self.word(LEAF_BYTES)?);
        if count == 0 || !matches!(width, 1 | 2 | 4 | 8) {
            return None;
        }
        let bytes = self.data.get(start..start.checked_add(count.checked_mul(width)?)?)?;
        let numbers = bytes.chunks_exact(width);
        match entries {
            // The template has no tables of these types.
            Entries::Key(_) | Entries::Half | Entries::Word => return None,
            Entries::Unsigned => {
                let number =
                    |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
                read.integers.insert(name, numbers.map(number).collect());
            }
            Entries::Signed => {
                let table: Option<Vec<i32>> =
                    numbers.map(|bytes| bytes.try_into().ok().map(i32::from_le_bytes)).collect();
                read.signed.insert(name, table?);
            }
            Entries::Float(NumberType::F32) => {
                let table: Option<Vec<f64>> = numbers
                    .map(|bytes| bytes.try_into().ok().map(|bytes| f64::from(f32::from_le_bytes(bytes))))
                    .collect();
                read.floats.insert(name, table?);
            }
            Entries::Float(NumberType::F64) => {
                let table: Option<Vec<f64>> =
                    numbers.map(|bytes| bytes.try_into().ok().map(f64::from_le_bytes)).collect();
                read.floats.insert(name, table?);
            }
        }
        Some(())
    }
}
