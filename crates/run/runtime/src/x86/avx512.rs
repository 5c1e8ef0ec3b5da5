//! Blocks of rows with AVX-512.

use core::arch::x86_64::*;

use super::{bytes8, prefetch, words16};
use crate::kernel::{instructions, kernel};
use crate::read::TILE;
use crate::rows::{AnyRows, Float, Rows};
use crate::sliced::{Bytes, Floats32, Floats64, Mask, Table};
use crate::vectors::vectors;

type V = __m512i;

/// See `Instructions::most_splits`.
const MOST_SPLITS: u16 = 500;

/// See `Instructions::most_direct`: comparing floats is less work than ranks and bytes for any
/// number of tests that is kept; comparing doubles only for few.
const MOST_DIRECT: [usize; 2] = [usize::MAX, 48];

vectors! {
    sixteenth: [u8; 16] => __m128i;
    words: [u64; 8] => __m512i;
    to_words: __m512i => [u64; 8];
    bytes: [u8; 64] => __m512i;
    to_bytes: __m512i => [u8; 64];
    floats: [f32; 16] => __m512;
    to_floats: __m512 => [f32; 16];
    doubles: [f64; 8] => __m512d;
    to_doubles: __m512d => [f64; 8];
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn zero() -> V {
    _mm512_setzero_si512()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn load(mask: &Mask) -> V {
    words(mask.0)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn store(v: V) -> Mask {
    Mask(to_words(v))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn and(a: V, b: V) -> V {
    _mm512_and_si512(a, b)
}

/// `b` if `a` is not set, for each bit.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn and_not(a: V, b: V) -> V {
    _mm512_andnot_si512(a, b)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn or(a: V, b: V) -> V {
    _mm512_or_si512(a, b)
}

/// `a` if `s` is set, otherwise `b`, for each bit.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn select(s: V, a: V, b: V) -> V {
    _mm512_ternarylogic_epi64::<0xca>(s, a, b)
}

/// The rows whose byte is above the rank.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn compare(column: &Bytes, rank: u8, rows: usize) -> Mask {
    let rank = _mm512_set1_epi8(rank as i8);
    let of = |part: usize| _mm512_cmpgt_epu8_mask(bytes(column.0[part]), rank);
    // Few words go straight into a register. Words that are written to memory one by one and then
    // read as one vector would make the processor wait until all of them have arrived there.
    if rows <= 128 {
        let two = _mm_set_epi64x(if rows > 64 { of(1) as i64 } else { 0 }, of(0) as i64);
        return Mask(to_words(_mm512_zextsi128_si512(two)));
    }
    let mut mask = [0; 8];
    for (mask, part) in mask.iter_mut().zip(&column.0) {
        *mask = _mm512_cmpgt_epu8_mask(bytes(*part), rank);
    }
    Mask(mask)
}

/// The numbers of 64 rows; bit p of a number is the row's bit in plane p.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn numbers(planes: &[Mask], count: usize, part: usize) -> __m512i {
    let mut all = _mm512_setzero_si512();
    for (plane, mask) in planes[..count].iter().enumerate() {
        all = _mm512_mask_add_epi8(all, mask.0[part], all, _mm512_set1_epi8((1u8 << plane) as i8));
    }
    all
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline(never)]
fn expand(planes: &[Mask], count: usize, rows: usize) -> Bytes {
    let mut all = Bytes([[0; 64]; 8]);
    for (part, to) in all.0[..rows.div_ceil(64)].iter_mut().enumerate() {
        *to = to_bytes(numbers(planes, count, part));
    }
    all
}

/// Adds the leaf of each row of a tree with at most 64 leaves, whose values fit into four
/// registers. Returns false, and adds nothing, for more leaves.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn few32(table: &[f32], planes: &[Mask; PLANES], sums: &mut Floats32, rows: usize) -> bool {
    if table.len() > 64 {
        return false;
    }
    let mut full = [[0.0; 16]; 4];
    full.as_flattened_mut()[..table.len()].copy_from_slice(table);
    let [a, b, c, d] = full.map(floats);
    let count = table.len().trailing_zeros() as usize;
    for (part, sums) in sums.0.chunks_exact_mut(4).enumerate().take(rows.div_ceil(64)) {
        let all = if count == 6 { numbers(planes, 6, part) } else { numbers(planes, count, part) };
        let quarters = [
            _mm512_castsi512_si128(all),
            _mm512_extracti32x4_epi32::<1>(all),
            _mm512_extracti32x4_epi32::<2>(all),
            _mm512_extracti32x4_epi32::<3>(all),
        ];
        let top = if count == 6 { planes[5].0[part] } else { 0 };
        for (quarter, (sum, leaves)) in sums.iter_mut().zip(quarters).enumerate() {
            let at = _mm512_cvtepu8_epi32(leaves);
            let mut value = _mm512_permutex2var_ps(a, at, b);
            if count == 6 {
                let upper = (top >> (16 * quarter)) as u16;
                value = _mm512_mask_blend_ps(upper, value, _mm512_permutex2var_ps(c, at, d));
            }
            *sum = to_floats(_mm512_add_ps(floats(*sum), value));
        }
    }
    true
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn few64(table: &[f64], planes: &[Mask; PLANES], sums: &mut Floats64, rows: usize) -> bool {
    if table.len() > 64 {
        return false;
    }
    let mut full = [[0.0; 8]; 8];
    full.as_flattened_mut()[..table.len()].copy_from_slice(table);
    let [a, b, c, d, e, f, g, h] = full.map(doubles);
    let count = table.len().trailing_zeros() as usize;
    for (part, sums) in sums.0.chunks_exact_mut(8).enumerate().take(rows.div_ceil(64)) {
        let all = to_bytes(if count == 6 { numbers(planes, 6, part) } else { numbers(planes, count, part) });
        let plane = |plane: usize| if count > plane { planes[plane].0[part] } else { 0 };
        let (fifth, sixth) = (plane(4), plane(5));
        for (eighth, (sum, leaves)) in sums.iter_mut().zip(all.as_chunks::<8>().0).enumerate() {
            let at = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(i64::from_le_bytes(*leaves)));
            let mut value = _mm512_permutex2var_pd(a, at, b);
            if count > 4 {
                let upper = (fifth >> (8 * eighth)) as u8;
                value = _mm512_mask_blend_pd(upper, value, _mm512_permutex2var_pd(c, at, d));
                if count > 5 {
                    let other = _mm512_permutex2var_pd(e, at, f);
                    let other = _mm512_mask_blend_pd(upper, other, _mm512_permutex2var_pd(g, at, h));
                    value = _mm512_mask_blend_pd((sixth >> (8 * eighth)) as u8, value, other);
                }
            }
            *sum = to_doubles(_mm512_add_pd(doubles(*sum), value));
        }
    }
    true
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn splat32(value: f32) -> __m512 {
    _mm512_set1_ps(value)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn splat64(value: f64) -> __m512d {
    _mm512_set1_pd(value)
}

/// The number of thresholds that each value is above; 0 for NaN.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn rank32(table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize) {
    let pivots = floats(table.pivots);
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    if table.few {
        let first = floats(table.all[0]);
        for (rank, &value) in rows {
            *rank = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(_mm512_set1_ps(value), first).count_ones() as u8;
        }
        return;
    }
    for (rank, &value) in rows {
        let value = _mm512_set1_ps(value);
        // The last pivot is infinity, so that this is below sixteen.
        let pivot = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, pivots).count_ones() as usize & 15;
        let below = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, floats(table.all[pivot])).count_ones();
        *rank = (16 * pivot as u32 + below) as u8;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn above32(value: __m512, table: &[f32; 16]) -> u32 {
    _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, floats(*table)).count_ones()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn above64(value: __m512d, table: &[f64; 16]) -> u32 {
    let (halves, _) = table.as_chunks::<8>();
    let low = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[0]));
    let high = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[1]));
    (u32::from(high) << 8 | u32::from(low)).count_ones()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn rank64(table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize) {
    let rows = ranks.0.as_flattened_mut()[..rows].iter_mut().zip(values.0.as_flattened());
    for (rank, &value) in rows {
        let value = _mm512_set1_pd(value);
        let pivot = if table.few { 0 } else { above64(value, &table.pivots) as usize & 15 };
        *rank = (16 * pivot as u32 + above64(value, &table.all[pivot])) as u8;
    }
}

/// Sixteen values of a row from a column on; what is beyond the end of the row is zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn sixteen(row: &[f32], column: usize) -> __m512 {
    match row[column..].first_chunk() {
        Some(&all) => floats(all),
        None => {
            let mut all = [0.0; TILE];
            all.iter_mut().zip(&row[column..]).for_each(|(to, &from)| *to = from);
            floats(all)
        }
    }
}

/// Eight values of a row from a column on; what is beyond the end of the row is zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn eight(row: &[f64], column: usize) -> __m512d {
    let rest = row.get(column..).unwrap_or_default();
    match rest.first_chunk() {
        Some(&all) => doubles(all),
        None => {
            let mut all = [0.0; 8];
            all.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
            doubles(all)
        }
    }
}

/// Reads sixteen columns as f32, sixteen rows at a time, which are turned in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn turn32(rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats32]) -> bool {
    match rows {
        AnyRows::F32(rows) => turn_rows(rows, next, to, |row| sixteen(row, column)),
        AnyRows::F64(rows) => turn_rows(rows, next, to, |row| {
            let (low, high) = (eight(row, column), eight(row, column + 8));
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high))
        }),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn turn_rows<T: Float>(
    rows: &Rows<'_, T>,
    next: usize,
    to: &mut [Floats32],
    read: impl Fn(&[T]) -> __m512,
) -> bool {
    let Some(to) = to.first_chunk_mut::<TILE>() else { return false };
    let last = rows.count().saturating_sub(1);
    for first in (0..rows.count()).step_by(16) {
        let mut r = [_mm512_setzero_ps(); 16];
        for (lane, r) in r.iter_mut().enumerate() {
            // After the last row it is read again.
            let Some(row) = rows.row((first + lane).min(last)) else { return false };
            *r = read(row);
            prefetch(row.get(next));
        }
        let mut t = r;
        for at in 0..8 {
            t[2 * at] = _mm512_unpacklo_ps(r[2 * at], r[2 * at + 1]);
            t[2 * at + 1] = _mm512_unpackhi_ps(r[2 * at], r[2 * at + 1]);
        }
        for four in 0..4 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|at| _mm512_castps_pd(t[4 * four + at]));
            r[4 * four] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
            r[4 * four + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
            r[4 * four + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
            r[4 * four + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
        }
        for at in 0..4 {
            let a = _mm512_shuffle_f32x4::<0x88>(r[at], r[4 + at]);
            let b = _mm512_shuffle_f32x4::<0xdd>(r[at], r[4 + at]);
            let c = _mm512_shuffle_f32x4::<0x88>(r[8 + at], r[12 + at]);
            let d = _mm512_shuffle_f32x4::<0xdd>(r[8 + at], r[12 + at]);
            to[at].0[first / 16] = to_floats(_mm512_shuffle_f32x4::<0x88>(a, c));
            to[4 + at].0[first / 16] = to_floats(_mm512_shuffle_f32x4::<0x88>(b, d));
            to[8 + at].0[first / 16] = to_floats(_mm512_shuffle_f32x4::<0xdd>(a, c));
            to[12 + at].0[first / 16] = to_floats(_mm512_shuffle_f32x4::<0xdd>(b, d));
        }
    }
    true
}

/// Reads sixteen columns as f64, eight rows of eight columns at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn turn64(rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats64]) -> bool {
    let (AnyRows::F64(rows), Some(to)) = (rows, to.first_chunk_mut::<TILE>()) else { return false };
    let last = rows.count().saturating_sub(1);
    for first in (0..rows.count()).step_by(8) {
        for (half, to) in to.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let mut r = [_mm512_setzero_pd(); 8];
            for (lane, r) in r.iter_mut().enumerate() {
                let Some(row) = rows.row((first + lane).min(last)) else { return false };
                *r = eight(row, column + 8 * half);
                prefetch(row.get(next + 8 * half));
            }
            let mut t = r;
            for at in 0..4 {
                t[2 * at] = _mm512_unpacklo_pd(r[2 * at], r[2 * at + 1]);
                t[2 * at + 1] = _mm512_unpackhi_pd(r[2 * at], r[2 * at + 1]);
            }
            for at in 0..2 {
                let a = _mm512_shuffle_f64x2::<0x88>(t[at], t[2 + at]);
                let b = _mm512_shuffle_f64x2::<0xdd>(t[at], t[2 + at]);
                let c = _mm512_shuffle_f64x2::<0x88>(t[4 + at], t[6 + at]);
                let d = _mm512_shuffle_f64x2::<0xdd>(t[4 + at], t[6 + at]);
                to[at].0[first / 8] = to_doubles(_mm512_shuffle_f64x2::<0x88>(a, c));
                to[2 + at].0[first / 8] = to_doubles(_mm512_shuffle_f64x2::<0x88>(b, d));
                to[4 + at].0[first / 8] = to_doubles(_mm512_shuffle_f64x2::<0xdd>(a, c));
                to[6 + at].0[first / 8] = to_doubles(_mm512_shuffle_f64x2::<0xdd>(b, d));
            }
        }
    }
    true
}

/// See `Instructions::compare32`. The kind of the comparison says what is true for NaN.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn compare32(numbers: &[f32], missing_left: bool, values: &Floats32, masks: &mut [Mask], rows: usize) {
    if missing_left {
        compare_floats(numbers, values, masks, rows, |value, number| {
            _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, number)
        });
    } else {
        compare_floats(numbers, values, masks, rows, |value, number| {
            _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(value, number)
        });
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn compare_floats(
    numbers: &[f32],
    values: &Floats32,
    masks: &mut [Mask],
    rows: usize,
    compare: impl Fn(__m512, __m512) -> __mmask16,
) {
    for (&number, mask) in numbers.iter().zip(masks) {
        let number = _mm512_set1_ps(number);
        let words = words16(mask);
        if rows > 480 {
            // The compiler unrolls this loop.
            for (word, &values) in words.iter_mut().zip(&values.0) {
                *word = compare(floats(values), number);
            }
        } else {
            for (word, &values) in words.iter_mut().zip(&values.0).take(rows.div_ceil(16)) {
                *word = compare(floats(values), number);
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
fn compare64(numbers: &[f64], missing_left: bool, values: &Floats64, masks: &mut [Mask], rows: usize) {
    if missing_left {
        compare_doubles(numbers, values, masks, rows, |value, number| {
            _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, number)
        });
    } else {
        compare_doubles(numbers, values, masks, rows, |value, number| {
            _mm512_cmp_pd_mask::<_CMP_NLE_UQ>(value, number)
        });
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn compare_doubles(
    numbers: &[f64],
    values: &Floats64,
    masks: &mut [Mask],
    rows: usize,
    compare: impl Fn(__m512d, __m512d) -> __mmask8,
) {
    for (&number, mask) in numbers.iter().zip(masks) {
        let number = _mm512_set1_pd(number);
        for (byte, &values) in bytes8(mask).iter_mut().zip(&values.0).take(rows.div_ceil(8)) {
            *byte = compare(doubles(values), number);
        }
    }
}

/// The byte of the table at each place, of which only the given bits are left.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
#[inline]
fn picked(table: &[u8; 16], places: &[u8; 64], bits: &[u8; 64]) -> [u8; 64] {
    let table = _mm512_broadcast_i32x4(sixteenth(*table));
    to_bytes(_mm512_and_si512(_mm512_shuffle_epi8(table, bytes(*places)), bytes(*bits)))
}

kernel!(#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]);

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
