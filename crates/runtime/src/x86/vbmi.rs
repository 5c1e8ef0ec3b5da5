//! One row at a time with AVX-512 and its instruction that picks bytes by their number (VBMI).

use core::arch::x86_64::*;

use crate::single::{self, Block, PLACES, Place, RowBytes, TREES, single_kernel};
use crate::sliced::Ranks;
use crate::vectors::vectors;

vectors! {
    bytes: [u8; 64] => __m512i;
    to_bytes: __m512i => [u8; 64];
    floats: [f32; 16] => __m512;
    doubles: [f64; 8] => __m512d;
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

/// The path of each tree of a block in a row of so many bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
#[inline]
fn paths(block: &Block, places: &[Place], row: &RowBytes, columns: usize) -> [u8; TREES] {
    match columns {
        0..=64 => paths_in::<1>(block, places, row),
        65..=128 => paths_in::<2>(block, places, row),
        _ => paths_in::<4>(block, places, row),
    }
}

/// The path of each tree of a block, in a row of at most `TABLES` times 64 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
#[inline]
fn paths_in<const TABLES: usize>(block: &Block, places: &[Place], row: &RowBytes) -> [u8; TREES] {
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

single_kernel!(#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]);
