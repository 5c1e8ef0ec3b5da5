//! One row at a time with AVX-512 and VBMI, whose instruction picks bytes by their index.

use core::arch::x86_64::*;

use crate::single::{Place, RowBytes, TREES, single_kernel};
use crate::sliced::Table;
use crate::vectors::vectors;

vectors! {
    bytes: [u8; 64] => __m512i;
    to_bytes: __m512i => [u8; 64];
    floats: [f32; 16] => __m512;
    doubles: [f64; 8] => __m512d;
}

/// The number of thresholds that a value is above; it must not be NaN.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
#[inline]
fn rank32(table: &Table<f32>, value: f32) -> u8 {
    let value = _mm512_set1_ps(value);
    let above =
        |table: [f32; 16]| _mm512_cmp_ps_mask::<_CMP_GT_OQ>(value, floats(table)).count_ones() as usize;
    // The last pivot is infinity, so that this is below sixteen.
    let pivot = if table.few { 0 } else { above(table.pivots) & 15 };
    (16 * pivot + above(table.all[pivot])) as u8
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
#[inline]
fn rank64(table: &Table<f64>, value: f64) -> u8 {
    let value = _mm512_set1_pd(value);
    let above = |table: &[f64; 16]| {
        let (halves, _) = table.as_chunks::<8>();
        let low = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[0]));
        let high = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, doubles(halves[1]));
        (u32::from(high) << 8 | u32::from(low)).count_ones() as usize
    };
    let pivot = if table.few { 0 } else { above(&table.pivots) & 15 };
    (16 * pivot + above(&table.all[pivot])) as u8
}

/// The leaf of each tree of two blocks, for a row of `columns` bytes. The second block must not be
/// longer than the first.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
#[inline]
fn leaves(blocks: [&[Place]; 2], row: &RowBytes, columns: usize) -> [[u8; TREES]; 2] {
    match columns {
        0..=64 => leaves_in::<1>(blocks, row),
        65..=128 => leaves_in::<2>(blocks, row),
        _ => leaves_in::<4>(blocks, row),
    }
}

/// Does the same for a row of at most `TABLES` times 64 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]
#[inline]
fn leaves_in<const TABLES: usize>([long, short]: [&[Place]; 2], row: &RowBytes) -> [[u8; TREES]; 2] {
    let table = row.0.map(bytes);
    let moved = |leaves: __m512i, place: &Place, next: __m512i| {
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
        let right = _mm512_cmpgt_epu8_mask(found, bytes(place.ranks));
        let taken = _mm512_mask_cmpge_epu8_mask(right, leaves, bytes(place.firsts));
        _mm512_mask_mov_epi8(leaves, taken, next)
    };
    let one = _mm512_set1_epi8(1);
    let [mut first, mut second, mut next] = [_mm512_setzero_si512(); 3];
    // A step depends on the one before it in the same block, but not on the other block: two blocks
    // keep the processor busy.
    for (long, short) in long.iter().zip(short) {
        next = _mm512_add_epi8(next, one);
        first = moved(first, long, next);
        second = moved(second, short, next);
    }
    for place in &long[short.len()..] {
        next = _mm512_add_epi8(next, one);
        first = moved(first, place, next);
    }
    [to_bytes(first), to_bytes(second)]
}

single_kernel!(#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,popcnt")]);
