//! The operations on blocks without special instructions, for every processor; the compiler chooses
//! the instructions.

use crate::kernel::{instructions, kernel};
use crate::sliced::{Bytes, Floats32, Floats64, Mask, Table};

type V = Mask;

/// See `Instructions::most_splits`.
const MOST_SPLITS: u16 = 40;

#[inline]
fn zero() -> V {
    Mask::NONE
}

#[inline]
fn load(mask: &Mask) -> V {
    *mask
}

#[inline]
fn store(v: V) -> Mask {
    v
}

#[inline]
fn each(f: impl Fn(usize) -> u64) -> V {
    Mask(core::array::from_fn(f))
}

#[inline]
fn and(a: V, b: V) -> V {
    each(|i| a.0[i] & b.0[i])
}

/// `b` if `a` is not set, for each bit.
#[inline]
fn and_not(a: V, b: V) -> V {
    each(|i| !a.0[i] & b.0[i])
}

#[inline]
fn or(a: V, b: V) -> V {
    each(|i| a.0[i] | b.0[i])
}

/// `a` if `s` is set, otherwise `b`, for each bit.
#[inline]
fn select(s: V, a: V, b: V) -> V {
    each(|i| b.0[i] ^ (s.0[i] & (a.0[i] ^ b.0[i])))
}

/// The rows whose byte is above the rank.
fn compare(bytes: &Bytes, rank: u8, _: usize) -> Mask {
    each(|i| bytes.0[i].iter().rev().fold(0, |word, &byte| word << 1 | u64::from(byte > rank)))
}

/// The numbers of all rows; bit p of a number is the row's bit in plane p.
#[inline(never)]
fn expand(planes: &[Mask], count: usize, rows: usize) -> Bytes {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut bytes = Bytes([[0; 64]; 8]);
    for (part, bytes) in bytes.0[..rows.div_ceil(64)].iter_mut().enumerate() {
        for (eighth, to) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let mut all = 0;
            for (plane, mask) in planes[..count].iter().enumerate() {
                // Each of eight bytes receives all eight bits, keeps its own one, and becomes 1 if
                // that is set.
                let bits = ((mask.0[part] >> (8 * eighth) & 0xff) * ONES) & 0x8040_2010_0804_0201;
                all |= ((bits + 0x7f * ONES) >> 7 & ONES) << plane;
            }
            *to = all.to_le_bytes();
        }
    }
    bytes
}

fn few32(_: &[f32], _: &[Mask; PLANES], _: &mut Floats32, _: usize) -> bool {
    false
}

fn few64(_: &[f64], _: &[Mask; PLANES], _: &mut Floats64, _: usize) -> bool {
    false
}

fn splat32(value: f32) -> f32 {
    value
}

fn splat64(value: f64) -> f64 {
    value
}

fn above32(value: f32, table: &[f32; 16]) -> usize {
    table.iter().map(|&number| usize::from(value > number)).sum()
}

fn above64(value: f64, table: &[f64; 16]) -> usize {
    table.iter().map(|&number| usize::from(value > number)).sum()
}

/// The number of thresholds that each value is above; 0 for NaN.
fn rank32(table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize) {
    let all = if table.few { &table.all[0][..] } else { table.all.as_flattened() };
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    rows.for_each(|(rank, &value)| *rank = all.partition_point(|&t| value > t) as u8);
}

fn rank64(table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize) {
    let all = if table.few { &table.all[0][..] } else { table.all.as_flattened() };
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    rows.for_each(|(rank, &value)| *rank = all.partition_point(|&t| value > t) as u8);
}

/// The byte of the table at each place, of which only the given bits are left.
#[inline]
fn picked(table: &[u8; 16], places: &[u8; 64], bits: &[u8; 64]) -> [u8; 64] {
    core::array::from_fn(|row| table[usize::from(places[row] & 15)] & bits[row])
}

kernel!();

/// The instruction set that every processor has.
pub(crate) struct Portable;

macro_rules! called {
    ($call:expr) => {
        $call
    };
}

instructions!(Portable, called);
