//! One row at a time with AVX2. Its instruction that picks bytes by their number reaches sixteen, so that a row is looked up in several
//! tables: more than a few are not worth it.

use core::arch::x86_64::*;

use super::avx2::{above32, above64};
use crate::single::{self, Block, PLACES, Place, RowBytes, TREES, single_kernel};
use crate::sliced::Ranks;
use crate::vectors::vectors;

/// Byte columns that a row may have here.
pub(super) const MOST_COLUMNS: usize = 64;

vectors! {
    halves: [u8; 64] => [__m256i; 2];
    to_bytes: [__m256i; 2] => [u8; 64];
    bytes: [u8; 32] => __m256i;
    table: [u8; 16] => __m128i;
}

/// The number of thresholds that a number is above, where there are tables for it.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn rank(ranks: &Ranks, value: f64) -> Option<usize> {
    match ranks {
        Ranks::Two32(tables) => {
            let value = _mm256_set1_ps(value as f32);
            let (table, _) = tables.1.as_chunks::<16>();
            let pivot = above32(value, &tables.0) as usize & 15;
            Some(16 * pivot + above32(value, &table[pivot]) as usize)
        }
        Ranks::Two64(tables) => {
            let value = _mm256_set1_pd(value);
            let (table, _) = tables.1.as_chunks::<16>();
            let pivot = above64(value, &tables.0) as usize & 15;
            Some(16 * pivot + above64(value, &table[pivot]) as usize)
        }
        Ranks::Search => None,
    }
}

/// The path of each tree of a block in a row of so many bytes.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn paths(block: &Block, places: &[Place], row: &RowBytes, columns: usize) -> [u8; TREES] {
    match columns.div_ceil(16) {
        0..=1 => paths_in::<1>(block, places, row),
        2 => paths_in::<2>(block, places, row),
        3 => paths_in::<3>(block, places, row),
        _ => paths_in::<4>(block, places, row),
    }
}

/// The same for a row of at most `TABLES` times 16 bytes.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn paths_in<const TABLES: usize>(block: &Block, places: &[Place], row: &RowBytes) -> [u8; TREES] {
    let (parts, _) = row.0[0].as_chunks::<16>();
    let mut tables = [_mm256_setzero_si256(); TABLES];
    tables.iter_mut().zip(parts).for_each(|(to, &part)| *to = _mm256_broadcastsi128_si256(table(part)));
    let beyond = _mm256_set1_epi8(0x70);
    let mut masks = [0u64; PLACES];
    for (mask, place) in masks.iter_mut().zip(places) {
        for (half, (columns, ranks)) in halves(place.columns).into_iter().zip(halves(place.ranks)).enumerate()
        {
            let mut found = _mm256_setzero_si256();
            for (part, &table) in tables.iter().enumerate() {
                // A byte whose number has its top bit set is zero: numbers below this table wrap around to that, and numbers above
                // it get there by the addition, which saturates.
                let from = _mm256_sub_epi8(columns, _mm256_set1_epi8(16 * part as i8));
                let from = if TABLES == 1 { from } else { _mm256_adds_epu8(from, beyond) };
                found = _mm256_or_si256(found, _mm256_shuffle_epi8(table, from));
            }
            // There is no comparison of unsigned bytes: not above the rank is what is the smaller of itself and the rank.
            let not_above = _mm256_cmpeq_epi8(_mm256_min_epu8(found, ranks), found);
            *mask |= u64::from(!(_mm256_movemask_epi8(not_above) as u32)) << (32 * half);
        }
    }
    let bits = single::chosen(&masks, block.levels);
    // Byte j of a half gets byte j / 8 of its bits, and of these bit j % 8.
    let spread = bytes(core::array::from_fn(|tree| (tree / 8) as u8));
    let one_bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let mut all = [_mm256_setzero_si256(); 2];
    for &bits in &bits[..usize::from(block.levels)] {
        for (half, all) in all.iter_mut().enumerate() {
            let bits = _mm256_set1_epi32((bits >> (32 * half)) as u32 as i32);
            let set =
                _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(bits, spread), one_bit), one_bit);
            // What is set is -1.
            *all = _mm256_sub_epi8(_mm256_add_epi8(*all, *all), set);
        }
    }
    to_bytes(all)
}

single_kernel!(#[target_feature(enable = "avx2,popcnt")]);
