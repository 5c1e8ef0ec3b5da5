//! Blocks of rows with AVX2.

use core::arch::x86_64::*;

use crate::kernel::{instructions, kernel};
use crate::sliced::{Bytes, Floats32, Floats64, Mask, Table};
use crate::vectors::vectors;

type V = [__m256i; 2];

/// See `Instructions::most_splits`.
const MOST_SPLITS: u16 = 400;

vectors! {
    sixteenth: [u8; 16] => __m128i;
    words: [u64; 8] => [__m256i; 2];
    to_words: [__m256i; 2] => [u64; 8];
    halves: [u8; 64] => [__m256i; 2];
    to_bytes: [__m256i; 2] => [u8; 64];
    bytes: [u8; 32] => __m256i;
    floats: [f32; 8] => __m256;
    doubles: [f64; 4] => __m256d;
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn zero() -> V {
    [_mm256_setzero_si256(); 2]
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn load(mask: &Mask) -> V {
    words(mask.0)
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn store(v: V) -> Mask {
    Mask(to_words(v))
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn and(a: V, b: V) -> V {
    [_mm256_and_si256(a[0], b[0]), _mm256_and_si256(a[1], b[1])]
}

/// `b` if `a` is not set, for each bit.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn and_not(a: V, b: V) -> V {
    [_mm256_andnot_si256(a[0], b[0]), _mm256_andnot_si256(a[1], b[1])]
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn or(a: V, b: V) -> V {
    [_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])]
}

/// `a` if `s` is set, otherwise `b`, for each bit.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn select(s: V, a: V, b: V) -> V {
    let half = |s, a, b| _mm256_xor_si256(b, _mm256_and_si256(s, _mm256_xor_si256(a, b)));
    [half(s[0], a[0], b[0]), half(s[1], a[1], b[1])]
}

/// The rows whose byte is above the rank, which must be below 255.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn compare(column: &Bytes, rank: u8, rows: usize) -> Mask {
    // There is no comparison of unsigned bytes: a byte is above the rank iff it is the larger of
    // itself and the next rank.
    let next = _mm256_set1_epi8(rank.saturating_add(1) as i8);
    let above =
        |part: __m256i| _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(part, next), part)) as u32;
    let mut mask = [0; 8];
    for (mask, part) in mask.iter_mut().zip(&column.0).take(rows.div_ceil(64)) {
        let [low, high] = halves(*part);
        *mask = u64::from(above(low)) | u64::from(above(high)) << 32;
    }
    Mask(mask)
}

/// The numbers of 64 rows; bit p of a number is the row's bit in plane p.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn numbers(planes: &[Mask], count: usize, part: usize) -> [__m256i; 2] {
    // Byte j of a half receives byte j / 8 of the half's bits, and keeps bit j % 8 of it.
    let spread = bytes(core::array::from_fn(|row| (row / 8) as u8));
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let mut all = zero();
    for (plane, mask) in planes[..count].iter().enumerate() {
        let weight = _mm256_set1_epi8((1u8 << plane) as i8);
        let bits = mask.0[part];
        for (half, all) in all.iter_mut().enumerate() {
            let bits = _mm256_set1_epi32((bits >> (32 * half)) as u32 as i32);
            let bits = _mm256_and_si256(_mm256_shuffle_epi8(bits, spread), bit);
            let set = _mm256_cmpeq_epi8(bits, bit);
            *all = _mm256_or_si256(*all, _mm256_and_si256(set, weight));
        }
    }
    all
}

#[target_feature(enable = "avx2,popcnt")]
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
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn few32(_: &[f32], _: &[Mask; PLANES], _: &mut Floats32, _: usize) -> bool {
    false
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn few64(_: &[f64], _: &[Mask; PLANES], _: &mut Floats64, _: usize) -> bool {
    false
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
pub(super) fn above32(value: __m256, table: &[f32; 16]) -> u32 {
    let (halves, _) = table.as_chunks::<8>();
    let of = |half: [f32; 8]| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(value, floats(half))) as u32;
    (of(halves[1]) << 8 | of(halves[0])).count_ones()
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
pub(super) fn above64(value: __m256d, table: &[f64; 16]) -> u32 {
    let (quarters, _) = table.as_chunks::<4>();
    let of =
        |quarter: [f64; 4]| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(value, doubles(quarter))) as u32;
    let bits = of(quarters[0]) | of(quarters[1]) << 4 | of(quarters[2]) << 8 | of(quarters[3]) << 12;
    bits.count_ones()
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn splat32(value: f32) -> __m256 {
    _mm256_set1_ps(value)
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn splat64(value: f64) -> __m256d {
    _mm256_set1_pd(value)
}

/// The number of thresholds that each value is above; 0 for NaN.
#[target_feature(enable = "avx2,popcnt")]
fn rank32(table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = _mm256_set1_ps(value);
        // The last pivot is infinity, so that this is below sixteen.
        let pivot = if table.few { 0 } else { above32(value, &table.pivots) as usize & 15 };
        *rank = (16 * pivot as u32 + above32(value, &table.all[pivot])) as u8;
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn rank64(table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = _mm256_set1_pd(value);
        let pivot = if table.few { 0 } else { above64(value, &table.pivots) as usize & 15 };
        *rank = (16 * pivot as u32 + above64(value, &table.all[pivot])) as u8;
    }
}

/// The byte of the table at each place, of which only the given bits are left.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn picked(table: &[u8; 16], places: &[u8; 64], bits: &[u8; 64]) -> [u8; 64] {
    let table = _mm256_broadcastsi128_si256(sixteenth(*table));
    let (places, bits) = (halves(*places), halves(*bits));
    to_bytes([0, 1].map(|half| _mm256_and_si256(_mm256_shuffle_epi8(table, places[half]), bits[half])))
}

kernel!(#[target_feature(enable = "avx2,popcnt")]);

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
