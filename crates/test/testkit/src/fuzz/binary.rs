//! Hostile changes to flatbuffers, UBJSON, protobuf and NumPy arrays, at the places of lengths and
//! numbers.

use fastrand::Rng;

use super::mutate::{plain, range};
use super::text::{self, find};

const INTEGERS: [i64; 18] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    127,
    128,
    255,
    32768,
    65536,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    1 << 40,
    i64::MAX,
    i64::MIN,
    i64::MAX / 8 + 1,
];

fn integer(rng: &mut Rng) -> i64 {
    *rng.choice(&INTEGERS).expect("not empty")
}

fn float(rng: &mut Rng) -> f64 {
    *rng.choice(&[0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e39, 5e-324])
        .expect("not empty")
}

/// One change to an aligned word of two, four or eight bytes: offsets, lengths, indices and floats
/// of a flatbuffer. Most of a file's first half is text about its training, so half of the changes
/// are in the second half only.
pub(super) fn words(rng: &mut Rng, bytes: &mut [u8]) {
    let start = if rng.bool() { bytes.len() / 2 } else { 0 };
    if bytes.len() < start + 16 {
        return;
    }
    let at = rng.usize(start..bytes.len() - 8);
    match rng.u32(0..8) {
        0 => overwrite(bytes, at & !3, &(integer(rng) as u32).to_le_bytes()),
        1 => overwrite(bytes, at & !7, &float(rng).to_le_bytes()),
        2 => overwrite(bytes, at & !3, &(float(rng) as f32).to_le_bytes()),
        3 => overwrite(bytes, at & !1, &(integer(rng) as u16).to_le_bytes()),
        4 => {
            // Another word of the file: an offset to something else, or a test of another feature.
            let from = rng.usize(0..bytes.len() - 8) & !3;
            let word: [u8; 4] = bytes[from..from + 4].try_into().expect("four bytes");
            overwrite(bytes, at & !3, &word);
        }
        _ => {
            let word = &mut bytes[at & !3..][..4];
            let value = u32::from_le_bytes(word.try_into().expect("four bytes"));
            let moved = value.wrapping_add(rng.u32(0..9)).wrapping_sub(4);
            word.copy_from_slice(&moved.to_le_bytes());
        }
    }
}

/// One change to UBJSON: to a length, an element, a type, or the nesting.
pub(super) fn ubj(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match rng.u32(0..10) {
        // Lengths follow `L`; those of arrays follow `#L`.
        0..3 => {
            if let Some(at) = find(rng, bytes, |byte| byte == b'L') {
                let value = integer(rng).to_be_bytes();
                overwrite(bytes, at + 1, &value);
            }
        }
        3 => {
            if let Some(at) = find(rng, bytes, |byte| byte == b'#')
                && let Some(last) = bytes.get_mut(at + 9)
            {
                *last = last.wrapping_add(rng.u8(0..4)).wrapping_sub(1);
            }
        }
        4 | 5 => {
            // An element of a typed array, or the bytes where one would be.
            if let Some(at) = find(rng, bytes, |byte| byte == b'$') {
                let at = at + 12 + 4 * rng.usize(0..32);
                match rng.u32(0..3) {
                    0 => overwrite(bytes, at, &(float(rng) as f32).to_be_bytes()),
                    1 => overwrite(bytes, at, &(integer(rng) as i32).to_be_bytes()),
                    _ => overwrite(bytes, at, &rng.i32(-2..20).to_be_bytes()),
                }
            }
        }
        6 => {
            if let Some(at) = find(rng, bytes, |byte| byte == b'$') {
                let tag = *rng.choice(b"iUIlLdDSCTFZNH[{").expect("not empty");
                overwrite(bytes, at + 1, &[tag]);
            }
        }
        7 => {
            if let Some(at) = find(rng, bytes, |byte| b"{[SlLdIiU".contains(&byte)) {
                let deep: [&[u8]; 4] = [b"[", b"{L\0\0\0\0\0\0\0\x01a", b"[#i\x01", b"[$[#i\x01"];
                let deep = rng.choice(&deep).expect("not empty").repeat(1 << rng.u32(2..16));
                bytes.splice(at..at, deep);
            }
        }
        8 => {
            // Numbers written as text: `num_trees`, `base_score` and others.
            if let Some(at) = find(rng, bytes, |byte| byte == b'S')
                && let Some(digit) = bytes.get_mut(at + 10)
            {
                *digit = *rng.choice(b"0123456789-.eENn[").expect("not empty");
            }
        }
        _ => plain(rng, bytes, &[]),
    }
}

/// One change to a protobuf message, usually deep inside it, with the lengths around it corrected.
pub(super) fn protobuf(rng: &mut Rng, bytes: &mut Vec<u8>, depth: u32) {
    let Some(fields) = fields(bytes).filter(|fields| !fields.is_empty()) else {
        return scalar_bytes(rng, bytes);
    };
    let &(start, head, end) = &fields[rng.usize(0..fields.len())];
    let wire = bytes[start] & 7;
    match rng.u32(0..12) {
        0 => drop(bytes.drain(start..end)),
        1 => {
            let copy = bytes[start..end].repeat(1 << rng.u32(0..6));
            bytes.splice(end..end, copy);
        }
        2 => {
            let to = fields[rng.usize(0..fields.len())].0;
            let copy = bytes[start..end].to_vec();
            bytes.splice(to..to, copy);
        }
        3 if depth > 1 => bytes[start] ^= 1 << rng.u32(0..7),
        4 if depth > 2 => plain(rng, bytes, &[]),
        _ => match wire {
            0 => drop(bytes.splice(head..end, varint(small_or_hostile(rng) as u64))),
            2 => {
                let mut content = bytes[head..end].to_vec();
                // Messages with many fields are deep inside, so the change descends as deep as
                // possible.
                protobuf(rng, &mut content, depth + 1);
                let length = if rng.u32(0..20) == 0 { integer(rng) as u64 } else { content.len() as u64 };
                let length_at = head - length_of_length(end - head);
                bytes.splice(length_at..end, [varint(length), content].concat());
            }
            5 => overwrite(bytes, head, &(float(rng) as f32).to_le_bytes()),
            _ => overwrite(bytes, head, &float(rng).to_le_bytes()),
        },
    }
}

fn small_or_hostile(rng: &mut Rng) -> i64 {
    if rng.bool() { rng.i64(0..20) } else { integer(rng) }
}

/// Changes bytes that are not a message: text, packed numbers, tensors.
fn scalar_bytes(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let length = bytes.len();
    match rng.u32(0..4) {
        0 => overwrite(bytes, place(rng, length, 4), &(float(rng) as f32).to_le_bytes()),
        1 => overwrite(bytes, place(rng, length, 8), &float(rng).to_le_bytes()),
        _ => plain(rng, bytes, &[]),
    }
}

/// The fields of a message: for each, where it starts, where its content starts and where it ends.
fn fields(bytes: &[u8]) -> Option<Vec<(usize, usize, usize)>> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let (tag, after) = take_varint(bytes, at)?;
        let (head, end) = match tag & 7 {
            0 => (after, take_varint(bytes, after)?.1),
            1 => (after, after + 8),
            5 => (after, after + 4),
            2 => {
                let (length, head) = take_varint(bytes, after)?;
                (head, head.checked_add(usize::try_from(length).ok()?)?)
            }
            _ => return None,
        };
        if tag >> 3 == 0 || end > bytes.len() {
            return None;
        }
        fields.push((start, head, end));
        at = end;
    }
    Some(fields)
}

fn take_varint(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value, at));
        }
    }
    None
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn length_of_length(length: usize) -> usize {
    varint(length as u64).len()
}

/// One change to a NumPy array: to the text of its header, or to a number of its data.
pub(super) fn npy(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let header = bytes.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    match rng.u32(0..8) {
        0 | 1 if header > 10 => {
            // Keep the header's length, so that the changed text is read and not merely refused for
            // its frame.
            let mut text = bytes[10..header].to_vec();
            text::mutate(rng, &mut text);
            text.pop_if(|byte| *byte == b'\n');
            while text.last() == Some(&b' ') && text.len() + 1 > header - 10 {
                text.pop();
            }
            text.resize(text.len().max(header - 11), b' ');
            text.push(b'\n');
            let length = (text.len() as u16).to_le_bytes();
            overwrite(bytes, 8, &length);
            bytes.splice(10..header, text);
        }
        2 => plain(rng, bytes, &[]),
        3 => {
            let at = range(rng, bytes.len()).start;
            bytes.truncate(at.max(header));
        }
        _ if bytes.len() > header => {
            let at = header + place(rng, bytes.len() - header, 8);
            match rng.u32(0..4) {
                0 => overwrite(bytes, at, &float(rng).to_le_bytes()),
                1 => overwrite(bytes, at, &integer(rng).to_le_bytes()),
                2 => overwrite(bytes, at, &rng.i64(-2..12).to_le_bytes()),
                _ => overwrite(bytes, at, &rng.i32(-2..12).to_le_bytes()),
            }
        }
        _ => {}
    }
}

/// An offset for a number of `size` bytes, usually aligned.
fn place(rng: &mut Rng, length: usize, size: usize) -> usize {
    let at = rng.usize(0..=length);
    if rng.u32(0..4) > 0 { at / size * size } else { at }
}

/// Overwrites bytes; whatever would go past the end is left out.
fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (slot, &byte) in bytes.iter_mut().skip(at).zip(with) {
        *slot = byte;
    }
}
