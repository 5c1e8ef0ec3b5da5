//! Just enough of the zip format to change a member of an archive and correct sizes and checksums.
//! It reads archives whose members follow each other, each with its size before it. Members are
//! written stored, not deflated.

/// The largest size of a member; no fixture has a larger one.
const LARGEST: usize = 1 << 20;

/// All members together may unpack to at most this many times the size of the archive.
const LARGEST_RATIO: usize = 128;

/// The name and the content of a member.
type Member = (Vec<u8>, Vec<u8>);
pub(super) type Members = Vec<Member>;

/// The members of a plain archive; `None` for any other input.
pub(super) fn unpack(bytes: &[u8]) -> Option<Members> {
    let mut members = Members::new();
    let mut rest = bytes;
    while rest.starts_with(b"PK\x03\x04") {
        let (member, end) = first_member(rest)?;
        members.push(member);
        rest = &rest[end..];
    }
    Some(members)
}

/// The size of an input plus that of its members after unpacking, as its directory declares them,
/// but no more than the reader promises to accept.
pub(super) fn unpacked_size(bytes: &[u8]) -> usize {
    let entries = bytes.windows(28).filter(|entry| entry.starts_with(b"PK\x01\x02"));
    let sizes =
        entries.map(|entry| u32::from_le_bytes(entry[24..28].try_into().expect("four bytes")) as usize);
    bytes.len() + sizes.sum::<usize>().min(LARGEST_RATIO * bytes.len())
}

/// The first member, and the offset where it ends.
fn first_member(rest: &[u8]) -> Option<(Member, usize)> {
    let number = |at: usize| Some(u16::from_le_bytes(rest.get(at..at + 2)?.try_into().ok()?) as usize);
    let size = u32::from_le_bytes(rest.get(18..22)?.try_into().ok()?) as usize;
    let (flags, method) = (number(6)?, number(8)?);
    if flags & 8 != 0 {
        return None; // the size comes after the content
    }
    let name = 30..30 + number(26)?;
    let start = name.end + number(28)?;
    let end = start.checked_add(size)?;
    let packed = rest.get(start..end)?;
    let content = match method {
        0 => packed.to_vec(),
        8 => miniz_oxide::inflate::decompress_to_vec_with_limit(packed, LARGEST).ok()?,
        _ => return None,
    };
    Some(((rest.get(name)?.to_vec(), content), end))
}

/// An archive of these members.
pub(super) fn pack(members: &Members) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in members {
        let mut shared = Vec::new();
        for number in [20u16, 0, 0, 0, 0x21] {
            shared.extend(number.to_le_bytes());
        }
        for number in [crc32fast::hash(content), content.len() as u32, content.len() as u32] {
            shared.extend(number.to_le_bytes());
        }
        shared.extend((name.len() as u16).to_le_bytes());
        shared.extend([0; 2]);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(shared);
        bytes.extend(name);
        bytes.extend(content);
    }
    let (count, start) = (members.len() as u16, bytes.len() as u32);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_unpacks_to_what_was_packed() {
        let members = vec![(b"a".to_vec(), b"one".to_vec()), (b"b.npy".to_vec(), Vec::new())];
        assert_eq!(unpack(&pack(&members)), Some(members));
    }
}
