//! Blocks of rows with AVX2.

use core::arch::x86_64::*;

use super::prefetch;
use crate::kernel::{instructions, kernel};
use crate::read::TILE;
use crate::rows::{AnyRows, Float, Rows};
use crate::sliced::{Bytes, Floats32, Floats64, Mask, Table};
use crate::vectors::vectors;

type V = [__m256i; 2];

/// See `Instructions::most_splits`.
const MOST_SPLITS: u16 = 400;

/// See `Instructions::most_direct`. With more tests, ranks and bytes are less work.
const MOST_DIRECT: [usize; 2] = [100, 40];

vectors! {
    sixteenth: [u8; 16] => __m128i;
    words: [u64; 8] => [__m256i; 2];
    to_words: [__m256i; 2] => [u64; 8];
    halves: [u8; 64] => [__m256i; 2];
    to_bytes: [__m256i; 2] => [u8; 64];
    bytes: [u8; 32] => __m256i;
    floats: [f32; 8] => __m256;
    to_floats: __m256 => [f32; 8];
    doubles: [f64; 4] => __m256d;
    to_doubles: __m256d => [f64; 4];
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

/// Eight values of a row from a column on; what is beyond the end of the row is zero.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn eight(row: &[f32], column: usize) -> __m256 {
    let rest = row.get(column..).unwrap_or_default();
    match rest.first_chunk() {
        Some(&all) => floats(all),
        None => {
            let mut all = [0.0; 8];
            all.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
            floats(all)
        }
    }
}

/// Four values of a row from a column on; what is beyond the end of the row is zero.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn four(row: &[f64], column: usize) -> __m256d {
    let rest = row.get(column..).unwrap_or_default();
    match rest.first_chunk() {
        Some(&all) => doubles(all),
        None => {
            let mut all = [0.0; 4];
            all.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
            doubles(all)
        }
    }
}

/// Reads sixteen columns as f32, eight rows of eight columns at a time, which are turned in
/// registers.
#[target_feature(enable = "avx2,popcnt")]
fn turn32(rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats32]) -> bool {
    match rows {
        AnyRows::F32(rows) => turn_rows(rows, next, to, |row, more| eight(row, column + more)),
        AnyRows::F64(rows) => turn_rows(rows, next, to, |row, more| {
            let (low, high) = (four(row, column + more), four(row, column + more + 4));
            _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
        }),
    }
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn turn_rows<T: Float>(
    rows: &Rows<'_, T>,
    next: usize,
    to: &mut [Floats32],
    read: impl Fn(&[T], usize) -> __m256,
) -> bool {
    let Some(to) = to.first_chunk_mut::<TILE>() else { return false };
    let last = rows.count().saturating_sub(1);
    for first in (0..rows.count()).step_by(8) {
        for (half, to) in to.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let mut r = [_mm256_setzero_ps(); 8];
            for (lane, r) in r.iter_mut().enumerate() {
                // After the last row it is read again.
                let Some(row) = rows.row((first + lane).min(last)) else { return false };
                *r = read(row, 8 * half);
                prefetch(row.get(next + 8 * half));
            }
            let mut t = r;
            for at in 0..4 {
                t[2 * at] = _mm256_unpacklo_ps(r[2 * at], r[2 * at + 1]);
                t[2 * at + 1] = _mm256_unpackhi_ps(r[2 * at], r[2 * at + 1]);
            }
            for at in 0..2 {
                let [a, b, c, d] = [0, 1, 2, 3].map(|row| t[4 * at + row]);
                r[4 * at] = _mm256_shuffle_ps::<0x44>(a, c);
                r[4 * at + 1] = _mm256_shuffle_ps::<0xee>(a, c);
                r[4 * at + 2] = _mm256_shuffle_ps::<0x44>(b, d);
                r[4 * at + 3] = _mm256_shuffle_ps::<0xee>(b, d);
            }
            for at in 0..4 {
                let low = to_floats(_mm256_permute2f128_ps::<0x20>(r[at], r[4 + at]));
                let high = to_floats(_mm256_permute2f128_ps::<0x31>(r[at], r[4 + at]));
                to[at].0.as_flattened_mut().as_chunks_mut::<8>().0[first / 8] = low;
                to[4 + at].0.as_flattened_mut().as_chunks_mut::<8>().0[first / 8] = high;
            }
        }
    }
    true
}

/// Reads sixteen columns as f64, four rows of four columns at a time.
#[target_feature(enable = "avx2,popcnt")]
fn turn64(rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats64]) -> bool {
    let (AnyRows::F64(rows), Some(to)) = (rows, to.first_chunk_mut::<TILE>()) else { return false };
    let last = rows.count().saturating_sub(1);
    for first in (0..rows.count()).step_by(4) {
        for (part, to) in to.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mut r = [_mm256_setzero_pd(); 4];
            for (lane, r) in r.iter_mut().enumerate() {
                let Some(row) = rows.row((first + lane).min(last)) else { return false };
                *r = four(row, column + 4 * part);
                prefetch(row.get(next + 4 * part));
            }
            let (a, b) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
            let (c, d) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
            let turned = [
                _mm256_permute2f128_pd::<0x20>(a, c),
                _mm256_permute2f128_pd::<0x20>(b, d),
                _mm256_permute2f128_pd::<0x31>(a, c),
                _mm256_permute2f128_pd::<0x31>(b, d),
            ];
            for (to, turned) in to.iter_mut().zip(turned) {
                to.0.as_flattened_mut().as_chunks_mut::<4>().0[first / 4] = to_doubles(turned);
            }
        }
    }
    true
}

/// One bit for each of 32 rows, whose comparisons with f32 are in these vectors.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn bits([a, b, c, d]: [__m256; 4]) -> u32 {
    let [a, b, c, d] = [a, b, c, d].map(|part| _mm256_castps_si256(part));
    let all = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    // These instructions work on each half of a register, so that fours of rows are not in order.
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(all, order)) as u32
}

/// The comparisons of eight rows with f64 as if they were comparisons with f32.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn narrow(a: __m256d, b: __m256d) -> __m256 {
    let halves = _mm256_shuffle_ps::<0x88>(_mm256_castpd_ps(a), _mm256_castpd_ps(b));
    _mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(_mm256_castps_pd(halves)))
}

/// See `Instructions::compare32`. The kind of the comparison says what is true for NaN.
#[target_feature(enable = "avx2,popcnt")]
fn compare32(numbers: &[f32], missing_left: bool, values: &Floats32, masks: &mut [Mask], rows: usize) {
    let values = values.0.as_flattened().as_chunks::<64>().0;
    if missing_left {
        compared(numbers, masks, rows, |number, part| {
            let number = _mm256_set1_ps(number);
            word_of(|at| _mm256_cmp_ps::<_CMP_GT_OQ>(eight(&values[part], at), number))
        });
    } else {
        compared(numbers, masks, rows, |number, part| {
            let number = _mm256_set1_ps(number);
            word_of(|at| _mm256_cmp_ps::<_CMP_NLE_UQ>(eight(&values[part], at), number))
        });
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn compare64(numbers: &[f64], missing_left: bool, values: &Floats64, masks: &mut [Mask], rows: usize) {
    let values = values.0.as_flattened().as_chunks::<64>().0;
    if missing_left {
        compared(numbers, masks, rows, |number, part| {
            let number = _mm256_set1_pd(number);
            let of = |at| _mm256_cmp_pd::<_CMP_GT_OQ>(four(&values[part], at), number);
            word_of(|at| narrow(of(at), of(at + 4)))
        });
    } else {
        compared(numbers, masks, rows, |number, part| {
            let number = _mm256_set1_pd(number);
            let of = |at| _mm256_cmp_pd::<_CMP_NLE_UQ>(four(&values[part], at), number);
            word_of(|at| narrow(of(at), of(at + 4)))
        });
    }
}

/// The word of 64 rows; `of` compares the eight rows from an index on.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn word_of(of: impl Fn(usize) -> __m256) -> u64 {
    let low = bits([of(0), of(8), of(16), of(24)]);
    let high = bits([of(32), of(40), of(48), of(56)]);
    u64::from(low) | u64::from(high) << 32
}

/// Writes the masks of all numbers; `word` makes a part of one.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn compared<T: Copy>(numbers: &[T], masks: &mut [Mask], rows: usize, word: impl Fn(T, usize) -> u64) {
    for (&number, mask) in numbers.iter().zip(masks) {
        for (part, to) in mask.0[..rows.div_ceil(64)].iter_mut().enumerate() {
            *to = word(number, part);
        }
    }
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

instructions!(Entered, entered, direct);
