//! One row at a time with AVX2. Its instruction that picks bytes by their index reaches only
//! sixteen bytes, so that a row is looked up in several tables: more than a few are not worth it.

use core::arch::x86_64::*;

use super::avx2::{above32, above64};
use crate::single::{Place, RowBytes, TREES, single_kernel};
use crate::sliced::Table;
use crate::vectors::vectors;

/// Byte columns that a row may have on this path.
pub(super) const MOST_COLUMNS: usize = 64;

vectors! {
    halves: [u8; 64] => [__m256i; 2];
    to_bytes: [__m256i; 2] => [u8; 64];
    table: [u8; 16] => __m128i;
}

/// The number of thresholds that a value is above; it must not be NaN.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn rank32(table: &Table<f32>, value: f32) -> u8 {
    let value = _mm256_set1_ps(value);
    // The last pivot is infinity, so that this is below sixteen.
    let pivot = if table.few { 0 } else { above32(value, &table.pivots) as usize & 15 };
    (16 * pivot as u32 + above32(value, &table.all[pivot])) as u8
}

#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn rank64(table: &Table<f64>, value: f64) -> u8 {
    let value = _mm256_set1_pd(value);
    let pivot = if table.few { 0 } else { above64(value, &table.pivots) as usize & 15 };
    (16 * pivot as u32 + above64(value, &table.all[pivot])) as u8
}

/// The leaf of each tree of two blocks, for a row of `columns` bytes. The second block must not be
/// longer than the first.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn leaves(blocks: [&[Place]; 2], row: &RowBytes, columns: usize) -> [[u8; TREES]; 2] {
    blocks.map(|block| match columns.div_ceil(16) {
        0..=1 => leaves_in::<1>(block, row),
        2 => leaves_in::<2>(block, row),
        3 => leaves_in::<3>(block, row),
        _ => leaves_in::<4>(block, row),
    })
}

/// Does the same for one block and a row of at most `TABLES` times 16 bytes.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn leaves_in<const TABLES: usize>(places: &[Place], row: &RowBytes) -> [u8; TREES] {
    let (parts, _) = row.0[0].as_chunks::<16>();
    let mut tables = [_mm256_setzero_si256(); TABLES];
    tables.iter_mut().zip(parts).for_each(|(to, &part)| *to = _mm256_broadcastsi128_si256(table(part)));
    let beyond = _mm256_set1_epi8(0x70);
    let mut leaves = [_mm256_setzero_si256(); 2];
    let mut next = _mm256_setzero_si256();
    for place in places {
        next = _mm256_add_epi8(next, _mm256_set1_epi8(1));
        let [columns, ranks, firsts] = [place.columns, place.ranks, place.firsts].map(halves);
        for (half, leaves) in leaves.iter_mut().enumerate() {
            let mut found = _mm256_setzero_si256();
            for (part, &table) in tables.iter().enumerate() {
                // The instruction gives zero for an index whose top bit is set. Indices below this
                // table wrap around and have that bit; the saturating addition sets it for indices
                // above the table.
                let from = _mm256_sub_epi8(columns[half], _mm256_set1_epi8(16 * part as i8));
                let from = if TABLES == 1 { from } else { _mm256_adds_epu8(from, beyond) };
                found = _mm256_or_si256(found, _mm256_shuffle_epi8(table, from));
            }
            // There is no comparison of unsigned bytes: a byte is not above the rank iff it is the
            // smaller of itself and the rank, and a leaf is not before the first one iff it is the
            // larger of both.
            let left = _mm256_cmpeq_epi8(_mm256_min_epu8(found, ranks[half]), found);
            let within = _mm256_cmpeq_epi8(_mm256_max_epu8(*leaves, firsts[half]), *leaves);
            let taken = _mm256_andnot_si256(left, within);
            // The next leaf has a larger number than all before it.
            *leaves = _mm256_max_epu8(*leaves, _mm256_and_si256(taken, next));
        }
    }
    to_bytes(leaves)
}

single_kernel!(#[target_feature(enable = "avx2,popcnt")]);
