//! Blocks of rows with SSE4.2, for processors without AVX2.

use core::arch::x86_64::*;

use crate::kernel::{instructions, kernel};
use crate::sliced::{Bytes, Floats32, Floats64, Mask, Table};
use crate::vectors::vectors;

type V = [__m128i; 4];

/// See `Instructions::most_splits`.
const MOST_SPLITS: u16 = 250;

vectors! {
    words: [u64; 8] => [__m128i; 4];
    to_words: [__m128i; 4] => [u64; 8];
    quarters: [u8; 64] => [__m128i; 4];
    to_bytes: [__m128i; 4] => [u8; 64];
    bytes: [u8; 16] => __m128i;
    floats: [f32; 4] => __m128;
    doubles: [f64; 2] => __m128d;
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn zero() -> V {
    [_mm_setzero_si128(); 4]
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn load(mask: &Mask) -> V {
    words(mask.0)
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn store(v: V) -> Mask {
    Mask(to_words(v))
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn and(a: V, b: V) -> V {
    core::array::from_fn(|part| _mm_and_si128(a[part], b[part]))
}

/// `b` if `a` is not set, for each bit.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn and_not(a: V, b: V) -> V {
    core::array::from_fn(|part| _mm_andnot_si128(a[part], b[part]))
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn or(a: V, b: V) -> V {
    core::array::from_fn(|part| _mm_or_si128(a[part], b[part]))
}

/// `a` if `s` is set, otherwise `b`, for each bit.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn select(s: V, a: V, b: V) -> V {
    core::array::from_fn(|part| {
        _mm_xor_si128(b[part], _mm_and_si128(s[part], _mm_xor_si128(a[part], b[part])))
    })
}

/// The rows whose byte is above the rank, which must be below 255.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn compare(column: &Bytes, rank: u8, rows: usize) -> Mask {
    // There is no comparison of unsigned bytes: a byte is above the rank iff it is the larger of
    // itself and the next rank.
    let next = _mm_set1_epi8(rank.saturating_add(1) as i8);
    let mut mask = [0; 8];
    for (mask, part) in mask.iter_mut().zip(&column.0).take(rows.div_ceil(64)) {
        for (quarter, part) in quarters(*part).into_iter().enumerate() {
            let above = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(part, next), part));
            *mask |= u64::from(above as u16) << (16 * quarter);
        }
    }
    Mask(mask)
}

/// The numbers of 64 rows; bit p of a number is the row's bit in plane p.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn numbers(planes: &[Mask], count: usize, part: usize) -> V {
    // Byte j of a quarter receives byte j / 8 of the quarter's bits, and keeps bit j % 8 of it.
    let spread = bytes(core::array::from_fn(|row| (row / 8) as u8));
    let bit = _mm_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let mut all = zero();
    for (plane, mask) in planes[..count].iter().enumerate() {
        let weight = _mm_set1_epi8((1u8 << plane) as i8);
        let bits = mask.0[part];
        for (quarter, all) in all.iter_mut().enumerate() {
            let bits = _mm_set1_epi16((bits >> (16 * quarter)) as u16 as i16);
            let bits = _mm_and_si128(_mm_shuffle_epi8(bits, spread), bit);
            *all = _mm_or_si128(*all, _mm_and_si128(_mm_cmpeq_epi8(bits, bit), weight));
        }
    }
    all
}

#[target_feature(enable = "sse4.2,popcnt")]
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
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn few32(_: &[f32], _: &[Mask; PLANES], _: &mut Floats32, _: usize) -> bool {
    false
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn few64(_: &[f64], _: &[Mask; PLANES], _: &mut Floats64, _: usize) -> bool {
    false
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn above32(value: __m128, table: &[f32; 16]) -> u32 {
    let (parts, _) = table.as_chunks::<4>();
    let of = |part: [f32; 4]| (_mm_movemask_ps(_mm_cmpgt_ps(value, floats(part))) as u32).count_ones();
    parts.iter().map(|&part| of(part)).sum()
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn above64(value: __m128d, table: &[f64; 16]) -> u32 {
    let (parts, _) = table.as_chunks::<2>();
    let of = |part: [f64; 2]| (_mm_movemask_pd(_mm_cmpgt_pd(value, doubles(part))) as u32).count_ones();
    parts.iter().map(|&part| of(part)).sum()
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn splat32(value: f32) -> __m128 {
    _mm_set1_ps(value)
}

#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn splat64(value: f64) -> __m128d {
    _mm_set1_pd(value)
}

/// The number of thresholds that each value is above; 0 for NaN.
#[target_feature(enable = "sse4.2,popcnt")]
fn rank32(table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = _mm_set1_ps(value);
        // The last pivot is infinity, so that this is below sixteen.
        let pivot = if table.few { 0 } else { above32(value, &table.pivots) as usize & 15 };
        *rank = (16 * pivot as u32 + above32(value, &table.all[pivot])) as u8;
    }
}

#[target_feature(enable = "sse4.2,popcnt")]
fn rank64(table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = _mm_set1_pd(value);
        let pivot = if table.few { 0 } else { above64(value, &table.pivots) as usize & 15 };
        *rank = (16 * pivot as u32 + above64(value, &table.all[pivot])) as u8;
    }
}

/// The byte of the table at each place, of which only the given bits are left.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn picked(table: &[u8; 16], places: &[u8; 64], bits: &[u8; 64]) -> [u8; 64] {
    let (table, places, bits) = (bytes(*table), quarters(*places), quarters(*bits));
    to_bytes([0, 1, 2, 3].map(|part| _mm_and_si128(_mm_shuffle_epi8(table, places[part]), bits[part])))
}

kernel!(#[target_feature(enable = "sse4.2,popcnt")]);

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
