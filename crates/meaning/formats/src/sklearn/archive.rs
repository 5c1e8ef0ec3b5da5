//! The zip archive of a skops file: members are read by name, with bounded memory, and written
//! again.
//!
//! It is small on purpose. It must see what a general reader hides (two members with one name,
//! overlapping members), copy unchanged members as they are, and refuse what cannot come from
//! skops. Stored and deflated members are read; encryption, split archives and members of 4 GiB or
//! more are not.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

use crate::error::{FormatError, Place, Problem};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const END_LENGTH: usize = 22;
const LOCATOR_64_LENGTH: usize = 20;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// All members together may unpack to at most this many times the archive's size. Schemas, which
/// are full of repeated words, reach a ratio of about 30.
const LARGEST_RATIO: u64 = 128;

/// An archive in memory.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    members: Vec<Member>,
    by_name: HashMap<String, usize>,
}

/// A member as the central directory describes it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    name: String,
    flags: u16,
    method: u16,
    /// Time and date as in the header.
    time: u32,
    checksum: u32,
    packed: Range<usize>,
    size: u32,
    attributes: u32,
}

impl<'a> Archive<'a> {
    /// Reads the directory and checks that members lie within the file and do not overlap.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let end = end_of_directory(bytes)?;
        let mut archive = Self { bytes, members: Vec::new(), by_name: HashMap::new() };
        let mut at = end.start;
        let (mut packed, mut unpacked) = (0u64, 0u64);
        for _ in 0..end.count {
            let (member, next) = archive.member(at, end.stop)?;
            packed += member.packed.len() as u64;
            unpacked += u64::from(member.size);
            let place = || Place::Entry(member.name.clone());
            if packed > bytes.len() as u64 {
                let problem = Problem::DeclaredTooMany {
                    what: "packed bytes",
                    declared: packed,
                    bytes: bytes.len() as u64,
                };
                return Err(FormatError::new(place(), problem));
            }
            if unpacked > LARGEST_RATIO * bytes.len() as u64 {
                let problem = Problem::DeclaredTooMany {
                    what: "unpacked bytes",
                    declared: unpacked,
                    bytes: bytes.len() as u64,
                };
                return Err(FormatError::new(place(), problem));
            }
            let position = archive.members.len();
            if archive.by_name.insert(member.name.clone(), position).is_some() {
                let key = member.name.clone();
                return Err(FormatError::new(Place::Byte(at as u64), Problem::DuplicateKey { key }));
            }
            archive.members.push(member);
            at = next;
        }
        Ok(archive)
    }

    /// The members in the order of the directory.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Is there a member of this name?
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The content of a member.
    pub(crate) fn read(&self, name: &str) -> Result<Cow<'a, [u8]>, FormatError> {
        let fail = |problem| FormatError::new(Place::Entry(name.to_owned()), problem);
        let position = *self.by_name.get(name).ok_or_else(|| fail(Problem::Missing))?;
        let member = &self.members[position];
        let packed = &self.bytes[member.packed.clone()];
        let size = member.size as usize;
        let content = match member.method {
            STORED if packed.len() == size => Cow::Borrowed(packed),
            STORED => return Err(fail(Problem::Length { expected: size, found: packed.len() })),
            DEFLATED => {
                let content =
                    miniz_oxide::inflate::decompress_to_vec_with_limit(packed, size).map_err(|error| {
                        fail(Problem::Syntax { expected: "deflated data", found: error.to_string() })
                    })?;
                if content.len() != size {
                    return Err(fail(Problem::Length { expected: size, found: content.len() }));
                }
                Cow::Owned(content)
            }
            method => {
                let what = format!("compression method {method}");
                let advice = "save the model with skops.io.dump without compression";
                return Err(fail(Problem::Unsupported { what, advice }));
            }
        };
        let checksum = crc32fast::hash(&content);
        if checksum != member.checksum {
            let found = format!("checksum {checksum:08x}");
            return Err(fail(Problem::Value { found, expected: "the one in the archive's directory" }));
        }
        Ok(content)
    }

    /// Are these two members that have the same bytes, at most `most` of them?
    pub(crate) fn are_same(&self, names: [&str; 2], most: usize) -> bool {
        let small = |name: &str| {
            let member = &self.members[*self.by_name.get(name)?];
            if member.size as usize > most { None } else { self.read(name).ok() }
        };
        let [one, other] = names.map(small);
        one.is_some() && one == other
    }

    /// The member whose directory entry begins at `at`, and the position of the next entry.
    fn member(&self, at: usize, stop: usize) -> Result<(Member, usize), FormatError> {
        let broken = |inside| FormatError::new(Place::Byte(at as u64), Problem::Truncated { inside });
        let entry = self.bytes.get(at..stop).filter(|entry| entry.len() >= 46);
        let entry = entry.ok_or_else(|| broken("the archive's directory"))?;
        expect_signature(entry, CENTRAL, at)?;
        let (name_length, extra) = (usize::from(u16_at(entry, 28)), usize::from(u16_at(entry, 30)));
        let next = at + 46 + name_length + extra + usize::from(u16_at(entry, 32));
        let name = entry.get(46..46 + name_length).ok_or_else(|| broken("the archive's directory"))?;
        let name = std::str::from_utf8(name).map_err(|_| {
            let found = String::from_utf8_lossy(name).into_owned();
            FormatError::new(Place::Byte(at as u64), Problem::Value { found, expected: "a name in UTF-8" })
        })?;
        let fail = |problem| Err(FormatError::new(Place::Entry(name.to_owned()), problem));
        let flags = u16_at(entry, 8);
        let (packed_size, size, offset) = (u32_at(entry, 20), u32_at(entry, 24), u32_at(entry, 42));
        let advice = "save the model again with skops.io.dump";
        if flags & 1 != 0 {
            return fail(Problem::Unsupported { what: "an encrypted member".to_owned(), advice });
        }
        if [packed_size, size, offset].contains(&u32::MAX) {
            return fail(Problem::Unsupported { what: "a member of 4 GiB or more".to_owned(), advice });
        }
        let local = offset as usize;
        let Some(header) = self.bytes.get(local..).filter(|header| header.len() >= 30) else {
            return fail(Problem::Truncated { inside: "the member's header" });
        };
        expect_signature(header, LOCAL, local)?;
        let (local_name, local_extra) = (usize::from(u16_at(header, 26)), usize::from(u16_at(header, 28)));
        if header.get(30..30 + local_name) != Some(name.as_bytes()) {
            let found = "the member's own name".to_owned();
            return fail(Problem::Value { found, expected: "the one in the archive's directory" });
        }
        let start = local + 30 + local_name + local_extra;
        let packed = start..start + packed_size as usize;
        if packed.end > self.bytes.len() {
            return fail(Problem::Truncated { inside: "the member" });
        }
        let name = name.to_owned();
        let (method, checksum) = (u16_at(entry, 10), u32_at(entry, 16));
        let (time, attributes) = (u32_at(entry, 12), u32_at(entry, 38));
        Ok((Member { name, flags, method, time, checksum, packed, size, attributes }, next))
    }
}

impl Member {
    /// The member's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A new member for this content, stored as skops does, with the time and attributes of this
    /// one.
    fn stored(&self, name: String, content: &[u8]) -> io::Result<Self> {
        let size = u32::try_from(content.len()).map_err(|_| too_large())?;
        let checksum = crc32fast::hash(content);
        Ok(Self { name, flags: 0, method: STORED, checksum, size, packed: 0..content.len(), ..self.clone() })
    }
}

/// The source of a member of a written archive.
pub(crate) enum Source<'a> {
    /// A member of the archive that was read, unchanged.
    Same(&'a Member),
    /// New content, with the time and attributes of another member.
    New { like: &'a Member, name: String, content: Vec<u8> },
}

/// Writes an archive.
pub(crate) fn write(archive: &Archive<'_>, members: Vec<Source<'_>>) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    let count = members.len();
    for source in members {
        match source {
            Source::Same(member) => {
                append(&mut out, &mut directory, member, &archive.bytes[member.packed.clone()])?;
            }
            Source::New { like, name, content } => {
                append(&mut out, &mut directory, &like.stored(name, &content)?, &content)?;
            }
        }
    }
    let (start, length) = (out.len(), directory.len());
    let start_32 = u32::try_from(start).map_err(|_| too_large())?;
    let length_32 = u32::try_from(length).map_err(|_| too_large())?;
    out.append(&mut directory);
    let count_16 = u16::try_from(count).unwrap_or(u16::MAX);
    if count_16 == u16::MAX {
        let end = out.len() as u64;
        out.extend(END_64.to_le_bytes());
        out.extend(44u64.to_le_bytes());
        out.extend([45, 3, 45, 0]);
        out.extend([0; 8]);
        for number in [count, count, length, start] {
            out.extend((number as u64).to_le_bytes());
        }
        out.extend(LOCATOR_64.to_le_bytes());
        out.extend([0; 4]);
        out.extend(end.to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count_16.to_le_bytes());
    out.extend(count_16.to_le_bytes());
    out.extend(length_32.to_le_bytes());
    out.extend(start_32.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}

fn append(out: &mut Vec<u8>, directory: &mut Vec<u8>, member: &Member, packed: &[u8]) -> io::Result<()> {
    let offset = u32::try_from(out.len()).map_err(|_| too_large())?;
    // The header contains the sizes, so no descriptor follows the data.
    let flags = member.flags & !8;
    let name_length = u16::try_from(member.name.len()).map_err(|_| too_large())?;
    let mut common = Vec::with_capacity(26);
    common.extend(20u16.to_le_bytes());
    common.extend(flags.to_le_bytes());
    common.extend(member.method.to_le_bytes());
    common.extend(member.time.to_le_bytes());
    common.extend(member.checksum.to_le_bytes());
    common.extend((packed.len() as u32).to_le_bytes());
    common.extend(member.size.to_le_bytes());
    common.extend(name_length.to_le_bytes());
    common.extend([0; 2]);
    out.extend(LOCAL.to_le_bytes());
    out.extend(&common);
    out.extend(member.name.as_bytes());
    out.extend(packed);
    directory.extend(CENTRAL.to_le_bytes());
    directory.extend([20, 3]);
    directory.extend(&common);
    directory.extend([0; 6]);
    directory.extend(member.attributes.to_le_bytes());
    directory.extend(offset.to_le_bytes());
    directory.extend(member.name.as_bytes());
    Ok(())
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "a skops archive of 4 GiB or more cannot be written")
}

/// The position of the directory, and its number of entries.
struct Directory {
    start: usize,
    stop: usize,
    count: u64,
}

fn end_of_directory(bytes: &[u8]) -> Result<Directory, FormatError> {
    let truncated = || FormatError::new(Place::File, Problem::Truncated { inside: "the zip archive" });
    let last = bytes.len().checked_sub(END_LENGTH).ok_or_else(truncated)?;
    // A comment of up to 64 KiB may follow the end record.
    let first = last.saturating_sub(usize::from(u16::MAX));
    let is_end = |&at: &usize| {
        u32_at(bytes, at) == END && at + END_LENGTH + usize::from(u16_at(bytes, at + 20)) == bytes.len()
    };
    let at = (first..=last).rev().find(is_end).ok_or_else(truncated)?;
    let mut count = u64::from(u16_at(bytes, at + 10));
    let mut length = u64::from(u32_at(bytes, at + 12));
    let mut start = u64::from(u32_at(bytes, at + 16));
    let mut stop = at;
    if count == u64::from(u16::MAX) || length == u64::from(u32::MAX) || start == u64::from(u32::MAX) {
        let locator = at.checked_sub(LOCATOR_64_LENGTH).ok_or_else(truncated)?;
        expect_signature(&bytes[locator..], LOCATOR_64, locator)?;
        let record = usize::try_from(u64_at(bytes, locator + 8)).map_err(|_| truncated())?;
        let end = bytes.get(record..locator).filter(|end| end.len() >= 56).ok_or_else(truncated)?;
        expect_signature(end, END_64, record)?;
        (count, length, start) = (u64_at(end, 32), u64_at(end, 40), u64_at(end, 48));
        stop = record;
    }
    if start.checked_add(length).is_none_or(|end| end > stop as u64) {
        return Err(truncated());
    }
    Ok(Directory { start: start as usize, stop: (start + length) as usize, count })
}

fn expect_signature(bytes: &[u8], signature: u32, at: usize) -> Result<(), FormatError> {
    let found = u32_at(bytes, 0);
    if found == signature {
        return Ok(());
    }
    let problem = Problem::Syntax { expected: "a zip record", found: format!("{found:#010x}") };
    Err(FormatError::new(Place::Byte(at as u64), problem))
}

// The callers have checked that these bytes exist.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
