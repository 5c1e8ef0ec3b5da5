//! Reads a block of rows: sixteen columns of the caller's table at a time, so that whole lines of
//! memory are read and the values stay in the nearest cache, and only columns that some test looks
//! at.
//!
//! The masks of a feature with few tests are made from its values: each test compares its own
//! number with all rows. The kind of the comparison sends missing values to their side. With more
//! tests it is less work to find the rank of every value first, and to compare bytes.

use alloc::vec::Vec;

use crate::kernel::Instructions;
use crate::large::{Half, Large, wide_columns};
use crate::meaning::Number;
use crate::model::Model;
use crate::plan::{CHUNK, Feature, Variant};
use crate::rows::AnyRows;
use crate::scalar;
use crate::sliced::{Bytes, Direct, Floats32, Floats64, Mask, ROWS, Ranks, Sliced, Wide};

/// Columns that are read at a time.
pub(crate) const TILE: usize = 16;

/// The values of some columns, in either type.
#[derive(Default)]
pub(crate) struct Tile {
    narrow: Vec<Floats32>,
    wide: Vec<Floats64>,
}

impl Tile {
    /// Makes room for the type of a model's inputs.
    pub(crate) fn make_room(&mut self, number: Number) {
        self.narrow.resize(TILE, Floats32([[0.0; 16]; 32]));
        self.wide.resize(if number == Number::F64 { TILE } else { 0 }, Floats64([[0.0; 8]; 64]));
    }
}

/// What is written for a block.
pub(crate) struct Output<'a> {
    /// Columns for trees that are walked.
    pub(crate) large: Option<(&'a Large, &'a mut [Half])>,
    /// Bytes, unless all masks are made without them.
    pub(crate) bytes: &'a mut [Bytes],
    /// The masks of all tests, if they are kept.
    pub(crate) masks: Option<(&'a Sliced, &'a mut [Mask])>,
}

/// Does the model need no bytes for rows of f32 or of f64, if masks are kept?
pub(crate) fn needs_no_bytes(
    instructions: &dyn Instructions,
    model: &Model,
    sliced: &Sliced,
    rows: &AnyRows<'_>,
) -> bool {
    let short = is_short(model, rows);
    (0..model.plan.features.len()).all(|index| direct(instructions, sliced, index, short).is_some())
}

/// Are values read as f32? An f32 is compared with an f64 by a number of its own type.
fn is_short(model: &Model, rows: &AnyRows<'_>) -> bool {
    model.file.domain.number == Number::F32 || matches!(rows, AnyRows::F32(_))
}

/// The variants of a feature whose masks are made from its values.
fn direct<'a>(
    instructions: &dyn Instructions,
    sliced: &'a Sliced,
    index: usize,
    short: bool,
) -> Option<&'a [Direct]> {
    let direct = &sliced.direct[index];
    let few = sliced.of_feature[index].len() <= instructions.most_direct(short);
    (few && !direct.is_empty()).then_some(direct)
}

/// Reads a block.
pub(crate) fn read(
    instructions: &dyn Instructions,
    model: &Model,
    rows: &AnyRows<'_>,
    tile: &mut Tile,
    out: &mut Output<'_>,
) {
    let short = is_short(model, rows);
    let mut tiles = model.plan.features.chunk_by(|a, b| a.index / TILE == b.index / TILE).peekable();
    let mut index = 0;
    while let Some(features) = tiles.next() {
        let first = features[0].index / TILE * TILE;
        let next = tiles.peek().map_or(first, |next| next[0].index / TILE * TILE);
        let turned = if short {
            instructions.turn32(rows, first, next, &mut tile.narrow)
        } else {
            instructions.turn64(rows, first, next, &mut tile.wide)
        };
        if !turned {
            copy(rows, features, short, tile);
        }
        for feature in features {
            write(instructions, model, feature, index, rows.count(), short, tile, out);
            index += 1;
        }
    }
}

/// Copies the columns of features one by one.
fn copy(rows: &AnyRows<'_>, features: &[Feature], short: bool, tile: &mut Tile) {
    let count = rows.count();
    // 64 rows at a time, so that they stay in the cache while each column is read out of them.
    for start in (0..count).step_by(64) {
        let part = rows.part(start..count.min(start + 64));
        for feature in features {
            let at = feature.index % TILE;
            if short {
                part.read32(feature.index, &mut tile.narrow[at].0.as_flattened_mut()[start..]);
            } else {
                part.read64(feature.index, &mut tile.wide[at].0.as_flattened_mut()[start..]);
            }
        }
    }
}

/// Writes all that depends on a feature.
#[expect(clippy::too_many_arguments, reason = "what a block has, and what is wanted of it")]
fn write(
    instructions: &dyn Instructions,
    model: &Model,
    feature: &Feature,
    index: usize,
    count: usize,
    short: bool,
    tile: &mut Tile,
    out: &mut Output<'_>,
) {
    let window = model.file.domain.zero_window;
    let at = feature.index % TILE;
    let compared = match &mut out.masks {
        Some((sliced, masks)) => match direct(instructions, sliced, index, short) {
            Some(variants) => {
                if window.is_some() && short {
                    instructions.look32(&mut tile.narrow[at], window, count);
                } else if window.is_some() {
                    instructions.look64(&mut tile.wide[at], window, count);
                }
                for Direct { tests, missing_left } in variants {
                    let (tests, left) = (tests.clone(), *missing_left);
                    let masks = &mut masks[tests.clone()];
                    if short {
                        let numbers = &sliced.numbers32[tests];
                        instructions.compare32(numbers, left, &tile.narrow[at], masks, count);
                    } else {
                        let numbers = &sliced.numbers64[tests];
                        instructions.compare64(numbers, left, &tile.wide[at], masks, count);
                    }
                }
                true
            }
            None => false,
        },
        None => false,
    };
    if compared && out.large.is_none() {
        return;
    }
    let narrow = model.file.domain.number == Number::F32;
    if short && !narrow {
        let values = tile.wide[at].0.as_flattened_mut().iter_mut().zip(tile.narrow[at].0.as_flattened());
        values.take(count).for_each(|(to, &from)| *to = f64::from(from));
    }
    let seen = if narrow {
        instructions.look32(&mut tile.narrow[at], window, count)
    } else {
        instructions.look64(&mut tile.wide[at], window, count)
    };
    ranked(instructions, model, feature, index, count, seen, tile, compared, out);
    if let (Some((sliced, masks)), false) = (&mut out.masks, compared) {
        let tests = sliced.of_feature[index].clone();
        instructions.test(&sliced.words[tests.clone()], out.bytes, &mut masks[tests], count);
    }
}

/// Writes the bytes of a feature, unless its masks are there already, and its columns for trees
/// that are walked. `seen` says whether there are any missing values and any zeros.
#[expect(clippy::too_many_arguments, reason = "what a block has, and what is wanted of it")]
fn ranked(
    instructions: &dyn Instructions,
    model: &Model,
    feature: &Feature,
    index: usize,
    count: usize,
    seen: (bool, bool),
    tile: &Tile,
    compared: bool,
    out: &mut Output<'_>,
) {
    let at = feature.index % TILE;
    let narrow = model.file.domain.number == Number::F32;
    let value = |row: usize| match narrow {
        true => f64::from(tile.narrow[at].0[row / 16][row % 16]),
        false => tile.wide[at].0[row / 8][row % 8],
    };
    let bytes: &mut [Bytes] = if compared { &mut [] } else { out.bytes };
    if !feature.specials.is_empty() {
        let file = &model.file;
        if let Some((large, columns)) = &mut out.large {
            (0..count).for_each(|row| large.write_row(file, feature, index, value(row), columns, row));
        }
        if !bytes.is_empty() && !feature.of_codes.is_empty() {
            let entries = (0..count).map(|row| feature.entry(file, value(row)));
            categories(instructions, feature, entries, count, bytes);
        } else if !bytes.is_empty() {
            (0..count).for_each(|row| scalar::write_bytes(file, feature, value(row), bytes, row));
        }
        return;
    }
    let mut ranks = Bytes([[0; 64]; 8]);
    let few = match &model.ranks[index] {
        Ranks::Two32(table) => {
            instructions.rank32(table, &tile.narrow[at], &mut ranks, count);
            true
        }
        Ranks::Two64(table) => {
            instructions.rank64(table, &tile.wide[at], &mut ranks, count);
            true
        }
        _ => false,
    };
    let most = feature.thresholds.len();
    if few && !bytes.is_empty() {
        for variant in &feature.variants {
            let bytes = &mut bytes[variant.column as usize];
            *bytes = ranks;
            let put = |row: usize, side: u32| bytes.0[row / 64][row % 64] = side as u8;
            sides(variant, most, seen, count, value, put);
        }
    }
    if few && out.large.is_none() {
        return;
    }
    let mut wide = Wide([0; ROWS]);
    match &model.ranks[index] {
        Ranks::Many32(search) => instructions.search32(search, &tile.narrow[at], &mut wide, count),
        Ranks::Many64(search) => instructions.search64(search, &tile.wide[at], &mut wide, count),
        _ => wide.0.iter_mut().zip(ranks.0.as_flattened()).for_each(|(to, &rank)| *to = u32::from(rank)),
    }
    for (at, variant) in feature.variants.iter().enumerate() {
        let mut ranks = wide;
        sides(variant, most, seen, count, value, |row, side| ranks.0[row] = side);
        if let Some((large, columns)) = &mut out.large {
            large.write(index, wide_columns(feature), at, &ranks, columns);
        }
        if few || bytes.is_empty() {
            continue;
        }
        let chunks = &mut bytes[variant.column as usize..][..feature.chunks()];
        for (bytes, before) in chunks.iter_mut().zip((0..).step_by(CHUNK)) {
            let rows = bytes.0.as_flattened_mut().iter_mut().zip(&ranks.0);
            rows.for_each(|(to, rank)| *to = rank.saturating_sub(before).min(CHUNK as u32) as u8);
        }
    }
}

/// Writes the bytes of a feature all of whose tests are sets of few codes. A row finds its byte of
/// a set by the upper bits of its entry, and its bit in there by the lower three: both are the same
/// for all sets.
fn categories(
    instructions: &dyn Instructions,
    feature: &Feature,
    entries: impl Iterator<Item = u8>,
    count: usize,
    bytes: &mut [Bytes],
) {
    let (mut places, mut bits) = (Bytes([[0; 64]; 8]), Bytes([[0; 64]; 8]));
    let to = places.0.as_flattened_mut().iter_mut().zip(bits.0.as_flattened_mut());
    to.zip(entries).for_each(|((place, bit), entry)| (*place, *bit) = (entry / 8, 1 << (entry % 8)));
    for (set, special) in feature.sets.iter().zip(&feature.specials) {
        instructions.look_up(set, &places, &bits, &mut bytes[special.column as usize], count);
    }
}

/// Calls `put` with each row whose value is missing, or a zero that has a side, and with the rank
/// of that side. `seen` says whether there are any missing values and any zeros.
fn sides(
    variant: &Variant,
    most: usize,
    (missing, zeros): (bool, bool),
    count: usize,
    value: impl Fn(usize) -> f64,
    mut put: impl FnMut(usize, u32),
) {
    if !(missing || zeros && variant.zero_left.is_some()) {
        return;
    }
    for row in 0..count {
        let value = value(row);
        let left = match variant.zero_left {
            _ if value.is_nan() => variant.missing_left,
            Some(left) if value == 0.0 => left,
            _ => continue,
        };
        put(row, if left { 0 } else { most as u32 });
    }
}
