//! Hostile inputs: a seed with a few changes, always the same for the same number.

use fastrand::Rng;

use super::{Target, binary, text, zip};

/// The size up to which repetition makes inputs longer.
const LONGEST: usize = 256 << 10;

/// The hostile input with this number.
pub(super) fn hostile(target: Target, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(number);
    let pick = |rng: &mut Rng| seeds[rng.usize(0..seeds.len())].clone();
    let mut bytes = pick(&mut rng);
    let donor = pick(&mut rng);
    // Usually one change: an input that is broken in many places is refused at the first of them.
    for _ in 0..1 << rng.u32(0..4).saturating_sub(1) {
        bytes = mutated(&mut rng, target, bytes, &donor);
    }
    // Without a matching checksum the rest of a packed file would not be read.
    if target == Target::Packed && rng.u32(0..20) > 0 {
        secateur_formats::packed::File::seal(&mut bytes);
    }
    bytes
}

fn mutated(rng: &mut Rng, target: Target, mut bytes: Vec<u8>, donor: &[u8]) -> Vec<u8> {
    // A third of the changes ignore the format: broken syntax is worth testing too.
    if rng.u32(0..3) == 0 {
        plain(rng, &mut bytes, donor);
        return bytes;
    }
    match target {
        Target::XgBoostJson | Target::LightGbm | Target::CatBoostJson | Target::Source => {
            text::mutate(rng, &mut bytes);
        }
        Target::CatBoostBinary => binary::words(rng, &mut bytes),
        Target::XgBoostUbj => binary::ubj(rng, &mut bytes),
        Target::Onnx => binary::protobuf(rng, &mut bytes, 0),
        Target::Packed | Target::Certificate => plain(rng, &mut bytes, donor),
        Target::Sklearn => {
            // The change is inside a member; checksums and sizes are corrected afterwards.
            let Some(mut members) = zip::unpack(&bytes) else { return bytes };
            if members.is_empty() {
                return bytes;
            }
            let at = rng.usize(0..members.len());
            match rng.u32(0..16) {
                0 => drop(members.swap_remove(at)),
                1 => members.push(members[at].clone()),
                2 => {
                    let other = members[rng.usize(0..members.len())].1.clone();
                    members[at].1 = other;
                }
                _ => {
                    let schema = members.iter().position(|(name, _)| name == b"schema.json");
                    let at = schema.filter(|_| rng.bool()).unwrap_or(at);
                    let (name, content) = &mut members[at];
                    match name.ends_with(b".json") {
                        true => text::mutate(rng, content),
                        false => binary::npy(rng, content),
                    }
                }
            }
            bytes = zip::pack(&members);
        }
    }
    bytes
}

/// A change of bytes that ignores the format.
pub(super) fn plain(rng: &mut Rng, bytes: &mut Vec<u8>, donor: &[u8]) {
    let range = range(rng, bytes.len());
    match rng.u32(0..12) {
        0..3 if !bytes.is_empty() => {
            let at = rng.usize(0..bytes.len());
            bytes[at] ^= 1 << rng.u32(0..8);
        }
        3 if !bytes.is_empty() => {
            let at = rng.usize(0..bytes.len());
            bytes[at] = *rng.choice(&[0, 1, 0x7f, 0x80, 0xff, b'0', b'[', b'{', b'"']).expect("not empty");
        }
        4 | 5 => drop(bytes.drain(range)),
        6 => bytes.truncate(range.start),
        7 => {
            let copy = bytes[range.clone()].to_vec();
            bytes.splice(range.start..range.start, copy);
        }
        8 => {
            let copy = bytes[range].to_vec();
            let to = rng.usize(0..=bytes.len());
            bytes.splice(to..to, copy);
        }
        9 => {
            let from = self::range(rng, donor.len());
            bytes.splice(range, donor[from].iter().copied());
        }
        10 if rng.u32(0..8) == 0 => repeat(rng, bytes, range),
        _ => {
            let number = rng.u64(..);
            bytes.splice(range.start..range.start, number.to_le_bytes().into_iter().take(rng.usize(1..8)));
        }
    }
}

/// Repeats the same few bytes: they cost little in the file and perhaps much in memory.
fn repeat(rng: &mut Rng, bytes: &mut Vec<u8>, range: std::ops::Range<usize>) {
    if range.is_empty() {
        return;
    }
    let copy = bytes[range.clone()].to_vec();
    let times = LONGEST.saturating_sub(bytes.len()) / copy.len();
    let times = times >> rng.u32(0..8);
    bytes.splice(range.start..range.start, copy.repeat(times));
}

/// A range of bytes, usually a short one.
pub(super) fn range(rng: &mut Rng, len: usize) -> std::ops::Range<usize> {
    let start = rng.usize(0..=len);
    let longest = (len - start).min(1 << rng.u32(0..14));
    start..start + rng.usize(0..=longest)
}
