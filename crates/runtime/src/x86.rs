//! Wider instructions of x86: AVX2 and AVX-512. The one file with unsafe code.
//!
//! Unsafe are two things here, and no more:
//! - *Entering* an instruction set: the functions below are called only where `Path::is_available` has found it on
//!   this processor ([`enter`]).
//! - *Reading arrays as vectors* and back ([`vectors`]): both have the same size, every bit pattern is a value of either, and they are
//!   passed by value, so that no address is involved.
//!
//! Everything else is safe code, with indices checked.
#![allow(unsafe_code, reason = "argued above, and at each place")]

use crate::error::PredictError;
use crate::model::Model;
use crate::path::Path;
use crate::rows::{Float, Rows};
use crate::sliced::Sliced;

/// The sums of all rows on a path that this processor has; `None` for a path that it has not, or that is none of ours.
pub(crate) fn enter<T: Float>(
    path: Path,
    model: &Model,
    sliced: &Sliced,
    rows: Rows<'_, T>,
    scores: &mut [f64],
) -> Option<Result<(), PredictError>> {
    match path {
        // SAFETY: the condition says that this processor has every feature that `avx512::sums` is compiled for.
        Path::Avx512 if has_avx512() => Some(unsafe { avx512::sums(model, sliced, rows, scores) }),
        // SAFETY: the condition says that this processor has every feature that `avx2::sums` is compiled for.
        Path::Avx2 if has_avx2() => Some(unsafe { avx2::sums(model, sliced, rows, scores) }),
        _ => None,
    }
}

/// As [`enter`], for rows one at a time: `None` where the path or the model has no layout for it.
pub(crate) fn enter_single<T: Float>(
    path: Path,
    model: &Model,
    rows: &Rows<'_, T>,
    scores: &mut [f64],
) -> Option<Result<(), PredictError>> {
    match path {
        Path::Avx512 if has_avx512() && std::arch::is_x86_feature_detected!("avx512vbmi") => {
            let single = model.single()?;
            // SAFETY: the condition says that this processor has every feature that `vbmi::sums` is compiled for.
            Some(unsafe { vbmi::sums(model, single, rows, scores) })
        }
        _ => None,
    }
}

/// Has this processor what `avx2` is compiled for?
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
}

/// Has this processor what `avx512` is compiled for?
pub(crate) fn has_avx512() -> bool {
    has_avx2()
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl")
}

/// Arrays as vectors and back, by value.
macro_rules! vectors {
    ($($name:ident: $from:ty => $to:ty;)*) => {
        $(
            #[inline]
            fn $name(value: $from) -> $to {
                // SAFETY: both types have the same size (the compiler refuses others) and every bit pattern is a value.
                unsafe { core::mem::transmute::<$from, $to>(value) }
            }
        )*
    };
}

mod avx512 {
    use core::arch::x86_64::*;

    use crate::kernel::kernel;
    use crate::sliced::{Bytes, Floats32, Floats64, Mask};

    type V = __m512i;

    vectors! {
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

    /// `b` where `a` is not set.
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

    /// `a` where `s` is set, elsewhere `b`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    #[inline]
    fn select(s: V, a: V, b: V) -> V {
        _mm512_ternarylogic_epi64::<0xca>(s, a, b)
    }

    /// The rows whose byte is above the rank.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    #[inline]
    fn compare(column: &Bytes, rank: u8) -> Mask {
        let rank = _mm512_set1_epi8(rank as i8);
        let mut mask = [0; 8];
        for (mask, part) in mask.iter_mut().zip(&column.0) {
            *mask = _mm512_cmpgt_epu8_mask(bytes(*part), rank);
        }
        Mask(mask)
    }

    /// The numbers of 64 rows whose bits are these planes.
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
    fn expand(planes: &[Mask], count: usize) -> Bytes {
        let mut all = Bytes([[0; 64]; 8]);
        for (part, to) in all.0.iter_mut().enumerate() {
            *to = to_bytes(numbers(planes, count, part));
        }
        all
    }

    /// Adds the leaf of each row, of at most 64 leaves: they fit into four registers.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    fn few32(table: &[f32], planes: &[Mask], sums: &mut Floats32) {
        let mut full = [[0.0; 16]; 4];
        full.as_flattened_mut()[..table.len()].copy_from_slice(table);
        let [a, b, c, d] = full.map(floats);
        let count = table.len().trailing_zeros() as usize;
        for (part, sums) in sums.0.chunks_exact_mut(4).enumerate() {
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
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    fn few64(table: &[f64], planes: &[Mask], sums: &mut Floats64) {
        let mut full = [[0.0; 8]; 8];
        full.as_flattened_mut()[..table.len()].copy_from_slice(table);
        let [a, b, c, d, e, f, g, h] = full.map(doubles);
        let count = table.len().trailing_zeros() as usize;
        for (part, sums) in sums.0.chunks_exact_mut(8).enumerate() {
            let all =
                to_bytes(if count == 6 { numbers(planes, 6, part) } else { numbers(planes, count, part) });
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
    }

    /// The number of thresholds that each value is above; 0 for what is no number.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    fn rank32(pivots: &[f32; 16], table: &[f32; 256], count: usize, values: &Floats32, ranks: &mut Bytes) {
        let pivots = floats(*pivots);
        let (table, _) = table.as_chunks::<16>();
        let rows = ranks.0.as_flattened_mut().iter_mut().zip(values.0.as_flattened());
        if count < 16 {
            let first = floats(table[0]);
            for (rank, &value) in rows {
                *rank = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(_mm512_set1_ps(value), first).count_ones() as u8;
            }
            return;
        }
        for (rank, &value) in rows {
            let value = _mm512_set1_ps(value);
            // The last pivot is an infinity, so that this is below sixteen.
            let pivot = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, pivots).count_ones() as usize & 15;
            let below = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, floats(table[pivot])).count_ones();
            *rank = (16 * pivot as u32 + below) as u8;
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    #[inline]
    fn above(value: __m512d, table: &[f64; 16]) -> u32 {
        let (halves, _) = table.as_chunks::<8>();
        let low = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[0]));
        let high = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[1]));
        (u32::from(high) << 8 | u32::from(low)).count_ones()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]
    fn rank64(pivots: &[f64; 16], table: &[f64; 256], count: usize, values: &Floats64, ranks: &mut Bytes) {
        let (table, _) = table.as_chunks::<16>();
        let rows = ranks.0.as_flattened_mut().iter_mut().zip(values.0.as_flattened());
        for (rank, &value) in rows {
            let value = _mm512_set1_pd(value);
            let pivot = if count < 16 { 0 } else { above(value, pivots) as usize & 15 };
            *rank = (16 * pivot as u32 + above(value, &table[pivot])) as u8;
        }
    }

    kernel!(#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,popcnt")]);
}

/// One row at a time, with the instruction that picks bytes by number.
mod vbmi {
    use core::arch::x86_64::*;

    use crate::error::PredictError;
    use crate::model::Model;
    use crate::plan::Values;
    use crate::rows::{Float, Rows};
    use crate::scalar::{self, Sum};
    use crate::single::{self, Block, PLACES, Place, RowBytes, Single, TREES};
    use crate::sliced::Ranks;

    vectors! {
        bytes: [u8; 64] => __m512i;
        to_bytes: __m512i => [u8; 64];
        floats: [f32; 16] => __m512;
        doubles: [f64; 8] => __m512d;
    }

    /// The sums of rows, one after the other.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
    pub(super) fn sums<T: Float>(
        model: &Model,
        single: &Single,
        rows: &Rows<'_, T>,
        scores: &mut [f64],
    ) -> Result<(), PredictError> {
        let mut row_bytes = RowBytes([[0; 64]; 4]);
        for (row, scores) in scores.chunks_mut(model.outputs()).enumerate() {
            scalar::bytes_with(
                &model.file,
                &model.plan,
                rows,
                row,
                row_bytes.0.as_flattened_mut(),
                |index, value| rank(&model.ranks[index], value),
            )?;
            match &model.plan.values {
                Values::F32(values) => trees(model, single, values, &row_bytes, scores),
                Values::F64(values) => trees(model, single, values, &row_bytes, scores),
            }
        }
        Ok(())
    }

    /// The number of thresholds that a number is above, where there are tables for it.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
    #[inline]
    fn rank(ranks: &Ranks, value: f64) -> Option<usize> {
        match ranks {
            Ranks::Two32(tables) => {
                let value = _mm512_set1_ps(value as f32);
                let above = |table: [f32; 16]| {
                    _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, floats(table)).count_ones() as usize
                };
                let (table, _) = tables.1.as_chunks::<16>();
                let pivot = above(tables.0) & 15;
                Some(16 * pivot + above(table[pivot]))
            }
            Ranks::Two64(tables) => {
                let value = _mm512_set1_pd(value);
                let above = |table: &[f64; 16]| {
                    let (halves, _) = table.as_chunks::<8>();
                    let low = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[0]));
                    let high = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[1]));
                    (u32::from(high) << 8 | u32::from(low)).count_ones() as usize
                };
                let (table, _) = tables.1.as_chunks::<16>();
                let pivot = above(&tables.0) & 15;
                Some(16 * pivot + above(&table[pivot]))
            }
            Ranks::Search => None,
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
    #[inline]
    fn trees<S: Sum>(model: &Model, single: &Single, values: &[S], row: &RowBytes, scores: &mut [f64]) {
        scalar::summed(&model.file, scores, |sums| {
            for block in &single.blocks {
                let places = &single.places[block.places..][..(1 << block.levels) - 1];
                let paths = match model.plan.columns {
                    0..=64 => paths::<1>(block, places, row),
                    65..=128 => paths::<2>(block, places, row),
                    _ => paths::<4>(block, places, row),
                };
                single.add_up(&model.plan, block, values, &paths, row, sums);
            }
        });
    }

    /// The path of each tree of a block, in a row of at most `TABLES` times 64 bytes.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
    #[inline]
    fn paths<const TABLES: usize>(block: &Block, places: &[Place], row: &RowBytes) -> [u8; TREES] {
        let table = row.0.map(bytes);
        let mut masks = [0u64; PLACES];
        for (mask, place) in masks.iter_mut().zip(places) {
            let columns = bytes(place.columns);
            let found = match TABLES {
                1 => _mm512_permutexvar_epi8(columns, table[0]),
                2 => _mm512_permutex2var_epi8(table[0], columns, table[1]),
                _ => {
                    let low = _mm512_permutex2var_epi8(table[0], columns, table[1]);
                    let high = _mm512_permutex2var_epi8(table[2], columns, table[3]);
                    _mm512_mask_blend_epi8(_mm512_movepi8_mask(columns), low, high)
                }
            };
            *mask = _mm512_cmpgt_epu8_mask(found, bytes(place.ranks));
        }
        let bits = single::chosen(&masks, block.levels);
        let mut all = _mm512_setzero_si512();
        for &bit in &bits[..usize::from(block.levels)] {
            all = _mm512_add_epi8(all, all);
            all = _mm512_mask_add_epi8(all, bit, all, _mm512_set1_epi8(1));
        }
        to_bytes(all)
    }
}

mod avx2 {
    use core::arch::x86_64::*;

    use crate::kernel::kernel;
    use crate::sliced::{Bytes, Floats32, Floats64, Mask};

    type V = [__m256i; 2];

    vectors! {
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

    /// `b` where `a` is not set.
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

    /// `a` where `s` is set, elsewhere `b`.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn select(s: V, a: V, b: V) -> V {
        let half = |s, a, b| _mm256_xor_si256(b, _mm256_and_si256(s, _mm256_xor_si256(a, b)));
        [half(s[0], a[0], b[0]), half(s[1], a[1], b[1])]
    }

    /// The rows whose byte is above the rank, which is below 255.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn compare(column: &Bytes, rank: u8) -> Mask {
        // There is no comparison of unsigned bytes: above the rank is what is the larger of itself and the next rank.
        let next = _mm256_set1_epi8(rank.saturating_add(1) as i8);
        let above =
            |part: __m256i| _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(part, next), part)) as u32;
        let mut mask = [0; 8];
        for (mask, part) in mask.iter_mut().zip(&column.0) {
            let [low, high] = halves(*part);
            *mask = u64::from(above(low)) | u64::from(above(high)) << 32;
        }
        Mask(mask)
    }

    /// The numbers of 64 rows whose bits are these planes.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn numbers(planes: &[Mask], count: usize, part: usize) -> [__m256i; 2] {
        // Byte j of a half gets byte j / 8 of its bits, and of these bit j % 8.
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
    fn expand(planes: &[Mask], count: usize) -> Bytes {
        let mut all = Bytes([[0; 64]; 8]);
        for (part, to) in all.0.iter_mut().enumerate() {
            *to = to_bytes(numbers(planes, count, part));
        }
        all
    }

    /// Adds the leaf of each row, of at most 64 leaves.
    #[target_feature(enable = "avx2,popcnt")]
    fn few32(table: &[f32], planes: &[Mask], sums: &mut Floats32) {
        let mut full = [0.0; 64];
        full[..table.len()].copy_from_slice(table);
        let count = table.len().trailing_zeros() as usize;
        for (part, sums) in sums.0.chunks_exact_mut(4).enumerate() {
            let leaves =
                to_bytes(if count == 6 { numbers(planes, 6, part) } else { numbers(planes, count, part) });
            let rows = sums.as_flattened_mut().iter_mut().zip(leaves);
            rows.for_each(|(sum, leaf)| *sum += full[leaf as usize & 63]);
        }
    }

    #[target_feature(enable = "avx2,popcnt")]
    fn few64(table: &[f64], planes: &[Mask], sums: &mut Floats64) {
        let mut full = [0.0; 64];
        full[..table.len()].copy_from_slice(table);
        let count = table.len().trailing_zeros() as usize;
        for (part, sums) in sums.0.chunks_exact_mut(8).enumerate() {
            let leaves =
                to_bytes(if count == 6 { numbers(planes, 6, part) } else { numbers(planes, count, part) });
            let rows = sums.as_flattened_mut().iter_mut().zip(leaves);
            rows.for_each(|(sum, leaf)| *sum += full[leaf as usize & 63]);
        }
    }

    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn above32(value: __m256, table: &[f32; 16]) -> u32 {
        let (halves, _) = table.as_chunks::<8>();
        let of = |half: [f32; 8]| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(value, floats(half))) as u32;
        (of(halves[1]) << 8 | of(halves[0])).count_ones()
    }

    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn above64(value: __m256d, table: &[f64; 16]) -> u32 {
        let (quarters, _) = table.as_chunks::<4>();
        let of = |quarter: [f64; 4]| {
            _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(value, doubles(quarter))) as u32
        };
        let bits = of(quarters[0]) | of(quarters[1]) << 4 | of(quarters[2]) << 8 | of(quarters[3]) << 12;
        bits.count_ones()
    }

    /// The number of thresholds that each value is above; 0 for what is no number.
    #[target_feature(enable = "avx2,popcnt")]
    fn rank32(pivots: &[f32; 16], table: &[f32; 256], count: usize, values: &Floats32, ranks: &mut Bytes) {
        let (table, _) = table.as_chunks::<16>();
        let rows = ranks.0.as_flattened_mut().iter_mut().zip(values.0.as_flattened());
        for (rank, &value) in rows {
            let value = _mm256_set1_ps(value);
            // The last pivot is an infinity, so that this is below sixteen.
            let pivot = if count < 16 { 0 } else { above32(value, pivots) as usize & 15 };
            *rank = (16 * pivot as u32 + above32(value, &table[pivot])) as u8;
        }
    }

    #[target_feature(enable = "avx2,popcnt")]
    fn rank64(pivots: &[f64; 16], table: &[f64; 256], count: usize, values: &Floats64, ranks: &mut Bytes) {
        let (table, _) = table.as_chunks::<16>();
        let rows = ranks.0.as_flattened_mut().iter_mut().zip(values.0.as_flattened());
        for (rank, &value) in rows {
            let value = _mm256_set1_pd(value);
            let pivot = if count < 16 { 0 } else { above64(value, pivots) as usize & 15 };
            *rank = (16 * pivot as u32 + above64(value, &table[pivot])) as u8;
        }
    }

    kernel!(#[target_feature(enable = "avx2,popcnt")]);
}
