//! Blocks of rows with NEON.

use core::arch::aarch64::*;

use crate::kernel::{instructions, kernel};
use crate::sliced::{Bytes, Floats32, Floats64, Mask, Table};
use crate::vectors::vectors;

type V = [uint64x2_t; 4];

/// See `Instructions::most_splits`.
const MOST_SPLITS: u16 = 250;

vectors! {
    words: [u64; 8] => [uint64x2_t; 4];
    to_words: [uint64x2_t; 4] => [u64; 8];
    quarters: [u8; 64] => [uint8x16_t; 4];
    to_bytes: [uint8x16_t; 4] => [u8; 64];
    bytes: [u8; 16] => uint8x16_t;
    floats: [f32; 4] => float32x4_t;
    doubles: [f64; 2] => float64x2_t;
}

/// The bits of a byte, once for each of two bytes.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

#[target_feature(enable = "neon")]
#[inline]
fn zero() -> V {
    [vdupq_n_u64(0); 4]
}

#[target_feature(enable = "neon")]
#[inline]
fn load(mask: &Mask) -> V {
    words(mask.0)
}

#[target_feature(enable = "neon")]
#[inline]
fn store(v: V) -> Mask {
    Mask(to_words(v))
}

#[target_feature(enable = "neon")]
#[inline]
fn and(a: V, b: V) -> V {
    core::array::from_fn(|part| vandq_u64(a[part], b[part]))
}

/// `b` if `a` is not set, for each bit.
#[target_feature(enable = "neon")]
#[inline]
fn and_not(a: V, b: V) -> V {
    core::array::from_fn(|part| vbicq_u64(b[part], a[part]))
}

#[target_feature(enable = "neon")]
#[inline]
fn or(a: V, b: V) -> V {
    core::array::from_fn(|part| vorrq_u64(a[part], b[part]))
}

/// `a` if `s` is set, otherwise `b`, for each bit.
#[target_feature(enable = "neon")]
#[inline]
fn select(s: V, a: V, b: V) -> V {
    core::array::from_fn(|part| vbslq_u64(s[part], a[part], b[part]))
}

/// The rows whose byte is above the rank, which must be below 255.
#[target_feature(enable = "neon")]
#[inline]
fn compare(column: &Bytes, rank: u8, rows: usize) -> Mask {
    let (rank, bits) = (vdupq_n_u8(rank), bytes(BITS));
    let mut mask = [0; 8];
    for (mask, part) in mask.iter_mut().zip(&column.0).take(rows.div_ceil(64)) {
        // Each byte keeps one bit; then neighbouring bytes are added until a byte has the bits of
        // eight.
        let [a, b, c, d] = quarters(*part).map(|part| vandq_u8(vcgtq_u8(part, rank), bits));
        let sixteen = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        *mask = vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sixteen, sixteen)));
    }
    Mask(mask)
}

/// The numbers of 64 rows; bit p of a number is the row's bit in plane p.
#[target_feature(enable = "neon")]
#[inline]
fn numbers(planes: &[Mask], count: usize, part: usize) -> [uint8x16_t; 4] {
    let bits = bytes(BITS);
    let mut all = [vdupq_n_u8(0); 4];
    for (plane, mask) in planes[..count].iter().enumerate() {
        let weight = vdupq_n_u8(1 << plane);
        let of_rows = vreinterpretq_u8_u64(vdupq_n_u64(mask.0[part]));
        for (quarter, all) in all.iter_mut().enumerate() {
            // Byte j of a quarter receives byte j / 8 of the quarter's bits, and keeps bit j % 8 of
            // it.
            let spread = bytes(core::array::from_fn(|row| (2 * quarter + row / 8) as u8));
            let set = vtstq_u8(vqtbl1q_u8(of_rows, spread), bits);
            *all = vorrq_u8(*all, vandq_u8(set, weight));
        }
    }
    all
}

#[target_feature(enable = "neon")]
#[inline(never)]
fn expand(planes: &[Mask], count: usize, rows: usize) -> Bytes {
    let mut all = Bytes([[0; 64]; 8]);
    for (part, to) in all.0[..rows.div_ceil(64)].iter_mut().enumerate() {
        // Most trees have at most 64 leaves, so that the loop for six planes is worth unrolling.
        *to = to_bytes(if count == 6 { numbers(planes, 6, part) } else { numbers(planes, count, part) });
    }
    all
}

/// A faster way to add the leaves of trees with few leaves; this instruction set has none.
#[target_feature(enable = "neon")]
#[inline]
fn few32(_: &[f32], _: &[Mask; PLANES], _: &mut Floats32, _: usize) -> bool {
    false
}

#[target_feature(enable = "neon")]
#[inline]
fn few64(_: &[f64], _: &[Mask; PLANES], _: &mut Floats64, _: usize) -> bool {
    false
}

/// The number of values in the table that this value is above; 0 for NaN.
#[target_feature(enable = "neon")]
#[inline]
fn above32(value: float32x4_t, table: &[f32; 16]) -> usize {
    let (quarters, _) = table.as_chunks::<4>();
    let one = vdupq_n_u32(1);
    let of = |quarter: usize| vandq_u32(vcgtq_f32(value, floats(quarters[quarter])), one);
    vaddvq_u32(vaddq_u32(vaddq_u32(of(0), of(1)), vaddq_u32(of(2), of(3)))) as usize
}

#[target_feature(enable = "neon")]
#[inline]
fn above64(value: float64x2_t, table: &[f64; 16]) -> usize {
    let (pairs, _) = table.as_chunks::<2>();
    let one = vdupq_n_u64(1);
    let sum = pairs
        .iter()
        .fold(vdupq_n_u64(0), |sum, &pair| vaddq_u64(sum, vandq_u64(vcgtq_f64(value, doubles(pair)), one)));
    vaddvq_u64(sum) as usize
}

#[target_feature(enable = "neon")]
#[inline]
fn splat32(value: f32) -> float32x4_t {
    vdupq_n_f32(value)
}

#[target_feature(enable = "neon")]
#[inline]
fn splat64(value: f64) -> float64x2_t {
    vdupq_n_f64(value)
}

/// The number of thresholds that each value is above; 0 for NaN.
#[target_feature(enable = "neon")]
fn rank32(table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = vdupq_n_f32(value);
        // The last pivot is infinity, so that this is below sixteen.
        let pivot = if table.few { 0 } else { above32(value, &table.pivots) & 15 };
        *rank = (16 * pivot + above32(value, &table.all[pivot])) as u8;
    }
}

#[target_feature(enable = "neon")]
fn rank64(table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = vdupq_n_f64(value);
        let pivot = if table.few { 0 } else { above64(value, &table.pivots) & 15 };
        *rank = (16 * pivot + above64(value, &table.all[pivot])) as u8;
    }
}

/// The byte of the table at each place, of which only the given bits are left.
#[target_feature(enable = "neon")]
#[inline]
fn picked(table: &[u8; 16], places: &[u8; 64], bits: &[u8; 64]) -> [u8; 64] {
    let (table, places, bits) = (bytes(*table), quarters(*places), quarters(*bits));
    to_bytes([0, 1, 2, 3].map(|part| vandq_u8(vqtbl1q_u8(table, places[part]), bits[part])))
}

kernel!(#[target_feature(enable = "neon")]);

/// This instruction set. A value of this type exists only if the processor has it.
pub(super) struct Entered(());

impl Entered {
    /// # Safety
    /// The processor has every feature that this module is compiled for.
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

instructions!(Entered, entered);
