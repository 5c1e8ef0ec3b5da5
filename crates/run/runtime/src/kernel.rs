//! Evaluates blocks of rows. [`Instructions`] has the few operations on whole blocks that every
//! instruction set does in its own way; everything around them is here and compiled once.
//!
//! The macro `kernel!` writes those operations for a module from its basic functions (`load`,
//! `compare`, `select`, ...), and `instructions!` implements the trait with them. All code here is
//! safe code on tables whose indices were checked when the model was loaded; an index out of range
//! would panic instead of reading elsewhere.

use alloc::vec::Vec;

use crate::error::PredictError;
use crate::large::{ABREAST, Column};
use crate::meaning::Number;
use crate::model::Model;
use crate::plan::{ALL, CHUNK, Values, Word};
use crate::rows::AnyRows;
use crate::scalar;
use crate::sliced::{Bytes, Floats32, Floats64, Mask, PLANES, ROWS, Ranks, Sliced, Table, Tree};

/// The operations of an instruction set on blocks.
pub(crate) trait Instructions {
    /// A tree with more splits than this is walked; three times as many are allowed if the masks of
    /// all tests are kept.
    fn most_splits(&self) -> u16;
    /// Replaces values within the window by zero. Returns whether any value is missing and whether
    /// any is zero.
    fn look32(&self, values: &mut Floats32, window: Option<f64>) -> (bool, bool);
    fn look64(&self, values: &mut Floats64, window: Option<f64>) -> (bool, bool);
    /// The number of thresholds that each value is above; 0 for NaN.
    fn rank32(&self, table: &Table<f32>, values: &Floats32, ranks: &mut Bytes);
    fn rank64(&self, table: &Table<f64>, values: &Floats64, ranks: &mut Bytes);
    /// For each test, the rows that it sends right.
    fn test(&self, words: &[Word], bytes: &[Bytes], masks: &mut [Mask]);
    /// The number of each row's leaf, as one mask for each of its bits.
    #[expect(clippy::too_many_arguments, reason = "what a thread needs for its blocks, part by part")]
    fn find(
        &self,
        tree: &Tree,
        sliced: &Sliced,
        kept: bool,
        bytes: &[Bytes],
        masks: &mut [Mask],
        slots: &mut [Mask],
        planes: &mut [Mask; PLANES],
    );
    /// Adds the value of each row's leaf. The number of values is a power of two, whose logarithm
    /// is the number of planes that are read.
    fn add32(&self, values: &[f32], planes: &[Mask; PLANES], sums: &mut Floats32);
    fn add64(&self, values: &[f64], planes: &[Mask; PLANES], sums: &mut Floats64);
}

/// Memory that a thread needs for its blocks.
struct Scratch {
    values32: Vec<Floats32>,
    values64: Vec<Floats64>,
    bytes: Vec<Bytes>,
    columns: Vec<Column>,
    masks: Vec<Mask>,
    slots: Vec<Mask>,
    sums32: Vec<Floats32>,
    sums64: Vec<Floats64>,
    most_splits: u16,
}

/// If there are at most this many tests, the masks of all of them are kept for a block; otherwise
/// each tree makes its own masks.
const KEPT: usize = 1 << 14;

/// The sums of all rows, block by block.
pub(crate) fn sums(
    instructions: &dyn Instructions,
    model: &Model,
    sliced: &Sliced,
    rows: AnyRows<'_>,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    let groups = model.outputs();
    let features = model.plan.features.len();
    let few = sliced.words.len() <= KEPT;
    // Kept masks are made once for all trees, so that they are worth their cost for larger trees,
    // too.
    let most_splits = instructions.most_splits() * if few { 3 } else { 1 };
    let walks = sliced.trees.iter().any(|tree| tree.is_walked(most_splits));
    // If every tree is walked, neither bytes nor masks are needed.
    let slices = sliced.trees.iter().any(|tree| !tree.is_walked(most_splits));
    let columns = match &sliced.large {
        Some(large) if walks => large.room(),
        None if walks => return model.scalar_sums(&rows, scores),
        _ => Vec::new(),
    };
    let kept = slices && few;
    let (zero32, zero64) = (Floats32([[0.0; 16]; 32]), Floats64([[0.0; 8]; 64]));
    let narrow = model.file.domain.number == Number::F32;
    let narrow_sums = model.file.sums.number == Number::F32;
    let mut scratch = Scratch {
        values32: alloc::vec![zero32; if narrow { features } else { 0 }],
        values64: alloc::vec![zero64; if narrow { 0 } else { features }],
        bytes: alloc::vec![Bytes([[0; 64]; 8]); if slices { model.plan.columns } else { 0 }],
        columns,
        masks: alloc::vec![Mask::NONE; if kept { sliced.words.len() } else { sliced.most_tests }],
        slots: alloc::vec![Mask::NONE; sliced.slots],
        sums32: alloc::vec![zero32; if narrow_sums { groups } else { 0 }],
        sums64: alloc::vec![zero64; if narrow_sums { 0 } else { groups }],
        most_splits,
    };
    for (block, scores) in scores.chunks_mut(ROWS * groups).enumerate() {
        let first = block * ROWS;
        let part = rows.part(first..first + scores.len() / groups);
        check(model, &part, first)?;
        read(instructions, model, sliced, &part, &mut scratch);
        if kept {
            // The first mask belongs to the test that sends every row left; it is never set.
            instructions.test(&sliced.words[1..], &scratch.bytes, &mut scratch.masks[1..]);
        }
        match &sliced.values {
            Values::F32(values) => add32(instructions, model, sliced, values, kept, &mut scratch, scores),
            Values::F64(values) => add64(instructions, model, sliced, values, kept, &mut scratch, scores),
        }
    }
    Ok(())
}

/// Reads the rows of a block and writes their bytes.
fn read(
    instructions: &dyn Instructions,
    model: &Model,
    sliced: &Sliced,
    rows: &AnyRows<'_>,
    s: &mut Scratch,
) {
    let (file, plan) = (&model.file, &model.plan);
    let count = rows.count();
    // 64 rows at a time, so that the rows stay in the cache while each column is read out of them.
    for start in (0..count).step_by(64) {
        let tile = rows.part(start..count.min(start + 64));
        for (index, feature) in plan.features.iter().enumerate() {
            match file.domain.number {
                Number::F32 => {
                    tile.read32(feature.index, &mut s.values32[index].0.as_flattened_mut()[start..])
                }
                Number::F64 => {
                    tile.read64(feature.index, &mut s.values64[index].0.as_flattened_mut()[start..])
                }
            }
        }
    }
    for (index, feature) in plan.features.iter().enumerate() {
        let window = file.domain.zero_window;
        let (missing, zeros) = match file.domain.number {
            Number::F32 => instructions.look32(&mut s.values32[index], window),
            Number::F64 => instructions.look64(&mut s.values64[index], window),
        };
        let value = |row: usize| match file.domain.number {
            Number::F32 => f64::from(s.values32[index].0[row / 16][row % 16]),
            Number::F64 => s.values64[index].0[row / 8][row % 8],
        };
        if let (Some(large), false) = (&sliced.large, s.columns.is_empty()) {
            for row in 0..count {
                large.write(file, plan, index, value(row), &mut s.columns, row);
            }
        }
        if s.bytes.is_empty() {
            continue;
        }
        if scalar::write_categories(file, feature, (0..count).map(value), &mut s.bytes) {
            continue;
        }
        let mut ranks = Bytes([[0; 64]; 8]);
        match &model.ranks[index] {
            Ranks::Two32(table) if feature.specials.is_empty() => {
                instructions.rank32(table, &s.values32[index], &mut ranks);
            }
            Ranks::Two64(table) if feature.specials.is_empty() => {
                instructions.rank64(table, &s.values64[index], &mut ranks);
            }
            _ => {
                for row in 0..count {
                    scalar::write_bytes(file, feature, value(row), &mut s.bytes, row);
                }
                continue;
            }
        }
        let most = feature.thresholds.len().min(CHUNK) as u8;
        for variant in &feature.variants {
            let bytes = &mut s.bytes[variant.column as usize];
            *bytes = ranks;
            if !(missing || zeros && variant.zero_left.is_some()) {
                continue;
            }
            for row in 0..count {
                let value = value(row);
                let left = match variant.zero_left {
                    _ if value.is_nan() => variant.missing_left,
                    Some(left) if value == 0.0 => left,
                    _ => continue,
                };
                bytes.0[row / 64][row % 64] = if left { 0 } else { most };
            }
        }
    }
}

/// Refuses the values that the library refuses. Most libraries accept nearly everything, so that
/// there is little to do.
fn check(model: &Model, rows: &AnyRows<'_>, first: usize) -> Result<(), PredictError> {
    let domain = model.file.domain;
    let narrow = domain.number == Number::F32;
    if domain.missing && domain.infinities && model.file.categories.is_empty() {
        return Ok(());
    }
    for start in (0..rows.count()).step_by(64) {
        let tile = rows.part(start..rows.count().min(start + 64));
        for feature in 0..rows.width() {
            if !tile.any_odd(feature, narrow) {
                continue;
            }
            for row in 0..tile.count() {
                let value = tile.value(row, feature);
                if model.file.read_value(feature, value).is_none() {
                    return Err(PredictError::Refused { row: first + start + row, feature, value });
                }
            }
        }
    }
    Ok(())
}

macro_rules! add {
    ($name:ident, $number:ty, $variant:ident, $sums:ident, $block:ident, $lanes:literal) => {
        /// Adds up the trees for a block whose bytes are known.
        fn $name(
            instructions: &dyn Instructions,
            model: &Model,
            sliced: &Sliced,
            values: &[$number],
            kept: bool,
            s: &mut Scratch,
            scores: &mut [f64],
        ) {
            let groups = model.outputs();
            let last = model.file.sums.intercept_last;
            for (sums, &intercept) in s.$sums.iter_mut().zip(&model.file.intercepts) {
                *sums = $block([[if last { 0.0 } else { intercept as $number }; $lanes]; ROWS / $lanes]);
            }
            let mut planes = [Mask::NONE; PLANES];
            for (tree, root) in sliced.trees.iter().zip(&model.plan.roots) {
                let of_tree =
                    if tree.group == ALL { 0..groups } else { tree.group as usize..tree.group as usize + 1 };
                if tree.is_walked(s.most_splits) {
                    let (Values::$variant(of_leaves), Some(large)) = (&model.plan.values, &sliced.large)
                    else {
                        return;
                    };
                    for first in (0..scores.len() / groups).step_by(ABREAST) {
                        let leaves = large.leaves(&model.plan, root, &s.columns, first);
                        for (row, leaf) in (first..).zip(leaves) {
                            for (group, at) in of_tree.clone().zip(leaf..) {
                                s.$sums[group].0[row / $lanes][row % $lanes] += of_leaves[at];
                            }
                        }
                    }
                    continue;
                }
                instructions.find(tree, sliced, kept, &s.bytes, &mut s.masks, &mut s.slots, &mut planes);
                let size = 1usize << tree.planes;
                for (group, at) in of_tree.zip(0..) {
                    let table = &values[tree.values + at * size..][..size];
                    instructions.$name(table, &planes, &mut s.$sums[group]);
                }
            }
            if let Some(scale) = model.file.sums.scale {
                // The product of two f32 is exact in f64, so that this rounds once.
                let sums = s.$sums.iter_mut().flat_map(|sums| sums.0.as_flattened_mut());
                sums.for_each(|sum| *sum = (f64::from(*sum) * scale) as $number);
            }
            let add_last = model.file.adds_intercepts_last();
            for (group, (sums, &intercept)) in s.$sums.iter().zip(&model.file.intercepts).enumerate() {
                for (row, &sum) in scores.chunks_mut(groups).zip(sums.0.as_flattened()) {
                    row[group] = f64::from(if add_last { sum + intercept as $number } else { sum });
                }
            }
        }
    };
}

add!(add32, f32, F32, sums32, Floats32, 16);
add!(add64, f64, F64, sums64, Floats64, 8);

/// The answer of the node of a level to which the bits from `$bit` on lead; the 2^n nodes of the
/// level start at `$at`. This is a macro, so that no compiler leaves calls in it.
macro_rules! chosen {
    (0; $masks:ident, $tests:ident, $kept:ident, $at:expr, $bits:ident, $bit:expr) => {
        load(&$masks[if $kept { $tests[$at] as usize } else { $at }])
    };
    (1; $masks:ident, $tests:ident, $kept:ident, $at:expr, $bits:ident, $bit:expr) => {
        select(
            $bits[$bit],
            crate::kernel::chosen!(0; $masks, $tests, $kept, $at + 1, $bits, $bit + 1),
            crate::kernel::chosen!(0; $masks, $tests, $kept, $at, $bits, $bit + 1),
        )
    };
    (2; $masks:ident, $tests:ident, $kept:ident, $at:expr, $bits:ident, $bit:expr) => {
        select(
            $bits[$bit],
            crate::kernel::chosen!(1; $masks, $tests, $kept, $at + 2, $bits, $bit + 1),
            crate::kernel::chosen!(1; $masks, $tests, $kept, $at, $bits, $bit + 1),
        )
    };
    (3; $masks:ident, $tests:ident, $kept:ident, $at:expr, $bits:ident, $bit:expr) => {
        select(
            $bits[$bit],
            crate::kernel::chosen!(2; $masks, $tests, $kept, $at + 4, $bits, $bit + 1),
            crate::kernel::chosen!(2; $masks, $tests, $kept, $at, $bits, $bit + 1),
        )
    };
    (4; $masks:ident, $tests:ident, $kept:ident, $at:expr, $bits:ident, $bit:expr) => {
        select(
            $bits[$bit],
            crate::kernel::chosen!(3; $masks, $tests, $kept, $at + 8, $bits, $bit + 1),
            crate::kernel::chosen!(3; $masks, $tests, $kept, $at, $bits, $bit + 1),
        )
    };
}

macro_rules! kernel {
    ($(#[$enable:meta])*) => {
        use crate::plan::Word;
        use crate::sliced::{PLANES, Shape, Sliced, Tree};

        kernel!(@number look32, add32, f32, few32, Floats32, $(#[$enable])*);
        kernel!(@number look64, add64, f64, few64, Floats64, $(#[$enable])*);

        $(#[$enable])*
        fn test(words: &[Word], bytes: &[Bytes], masks: &mut [Mask]) {
            for (mask, word) in masks.iter_mut().zip(words) {
                *mask = compare(&bytes[word.column()], word.rank());
            }
        }

        /// The number of each row's leaf, as one mask for each of its bits.
        $(#[$enable])*
        fn find(tree: &Tree, sliced: &Sliced, kept: bool, bytes: &[Bytes], masks: &mut [Mask], slots: &mut [Mask], planes: &mut [Mask; PLANES]) {
            let count = match tree.shape {
                Shape::Perfect(depth) => (1usize << depth) - 1,
                Shape::Reach(splits) => splits as usize,
                Shape::Walk => return,
            };
            let tests = &sliced.tests[tree.tests..tree.tests + count];
            if !kept {
                for (mask, &test) in masks.iter_mut().zip(tests) {
                    let word = sliced.words[test as usize];
                    *mask = if test == 0 { Mask::NONE } else { compare(&bytes[word.column()], word.rank()) };
                }
            }
            let masks = &*masks;
            match tree.shape {
                Shape::Perfect(depth) => perfect(depth, tests, kept, masks, planes),
                _ => {
                    let children = &sliced.children[tree.children..tree.children + count];
                    reach(tests, children, kept, masks, slots, planes, tree.planes as usize);
                }
            }
        }

        $(#[$enable])*
        #[inline(never)]
        fn level4(masks: &[Mask], tests: &[u32], kept: bool, at: usize, bits: &[V; 8], bit: usize) -> V {
            crate::kernel::chosen!(4; masks, tests, kept, at, bits, bit)
        }

        kernel!(@level level5, level4, 16, $(#[$enable])*);
        kernel!(@level level6, level5, 32, $(#[$enable])*);
        kernel!(@level level7, level6, 64, $(#[$enable])*);

        $(#[$enable])*
        fn perfect(depth: u8, tests: &[u32], kept: bool, masks: &[Mask], planes: &mut [Mask; PLANES]) {
            let mut bits = [zero(); 8];
            let depth = depth as usize;
            if depth > 0 {
                bits[0] = crate::kernel::chosen!(0; masks, tests, kept, 0, bits, 0);
            }
            if depth > 1 {
                bits[1] = crate::kernel::chosen!(1; masks, tests, kept, 1, bits, 0);
            }
            if depth > 2 {
                bits[2] = crate::kernel::chosen!(2; masks, tests, kept, 3, bits, 0);
            }
            if depth > 3 {
                bits[3] = crate::kernel::chosen!(3; masks, tests, kept, 7, bits, 0);
            }
            if depth > 4 {
                bits[4] = level4(masks, tests, kept, 15, &bits, 0);
            }
            if depth > 5 {
                bits[5] = level5(masks, tests, kept, 31, &bits, 0);
            }
            if depth > 6 {
                bits[6] = level6(masks, tests, kept, 63, &bits, 0);
            }
            if depth > 7 {
                bits[7] = level7(masks, tests, kept, 127, &bits, 0);
            }
            for (level, bits) in bits[..depth].iter().enumerate() {
                planes[depth - 1 - level] = store(*bits);
            }
        }

        $(#[$enable])*
        fn reach(tests: &[u32], children: &[[u16; 2]], kept: bool, masks: &[Mask], slots: &mut [Mask], planes: &mut [Mask; PLANES], count: usize) {
            let splits = tests.len();
            slots[0] = Mask::ALL;
            for (split, (&test, &[left, right])) in tests.iter().zip(children).enumerate() {
                let rows = load(&slots[split]);
                let mask = load(&masks[if kept { test as usize } else { split }]);
                slots[left as usize] = store(and_not(mask, rows));
                slots[right as usize] = store(and(mask, rows));
            }
            // Bit 0 of a leaf's number is set in every other leaf. Then pairs of leaves are merged,
            // which makes the next bit the lowest, until all bits are done.
            let mut leaves = splits + 1;
            let slots = &mut slots[splits..splits + leaves];
            for plane in &mut planes[..count] {
                let mut set = zero();
                for pair in 0..leaves / 2 {
                    let odd = load(&slots[2 * pair + 1]);
                    set = or(set, odd);
                    slots[pair] = store(or(load(&slots[2 * pair]), odd));
                }
                if leaves % 2 == 1 {
                    slots[leaves / 2] = slots[leaves - 1];
                }
                leaves = leaves.div_ceil(2);
                *plane = store(set);
            }
        }
    };

    (@number $look:ident, $add:ident, $number:ty, $few:ident, $block:ident, $(#[$enable:meta])*) => {
        $(#[$enable])*
        fn $look(values: &mut $block, window: Option<f64>) -> (bool, bool) {
            let (mut missing, mut zero) = (false, false);
            // No magnitude is at most -1, so that without a window nothing becomes zero.
            let window = window.unwrap_or(-1.0);
            for value in values.0.as_flattened_mut() {
                if f64::from(value.abs()) <= window {
                    *value = 0.0;
                }
                missing |= value.is_nan();
                zero |= *value == 0.0;
            }
            (missing, zero)
        }

        $(#[$enable])*
        fn $add(values: &[$number], planes: &[Mask; PLANES], sums: &mut $block) {
            let count = values.len().trailing_zeros() as usize;
            if $few(values, planes, sums) {
                return;
            }
            if count <= 6 {
                let mut full = [0.0; 64];
                full[..values.len()].copy_from_slice(values);
                let low = expand(&planes[..8], count);
                let rows = sums.0.as_flattened_mut().iter_mut().zip(low.0.as_flattened());
                rows.for_each(|(sum, &leaf)| *sum += full[leaf as usize & 63]);
            } else if count <= 8 {
                let mut full = [0.0; 256];
                full[..values.len()].copy_from_slice(values);
                let low = expand(&planes[..8], count);
                let rows = sums.0.as_flattened_mut().iter_mut().zip(low.0.as_flattened());
                rows.for_each(|(sum, &leaf)| *sum += full[leaf as usize]);
            } else {
                let low = expand(&planes[..8], 8);
                let high = expand(&planes[8..], count - 8);
                let leaves = low.0.as_flattened().iter().zip(high.0.as_flattened());
                let rows = sums.0.as_flattened_mut().iter_mut().zip(leaves);
                rows.for_each(|(sum, (&low, &high))| *sum += values[usize::from(low) | usize::from(high) << 8]);
            }
        }
    };

    (@level $name:ident, $below:ident, $half:literal, $(#[$enable:meta])*) => {
        /// The answer of the node of a level to which the bits before it lead.
        $(#[$enable])*
        #[inline]
        fn $name(masks: &[Mask], tests: &[u32], kept: bool, at: usize, bits: &[V; 8], bit: usize) -> V {
            let right = $below(masks, tests, kept, at + $half, bits, bit + 1);
            select(bits[bit], right, $below(masks, tests, kept, at, bits, bit + 1))
        }
    };
}

/// Implements [`Instructions`] for a type of the module. `$call` is the macro that calls the
/// functions that `kernel!` has written there.
macro_rules! instructions {
    ($type:ident, $call:ident) => {
        impl crate::kernel::Instructions for $type {
            fn most_splits(&self) -> u16 {
                MOST_SPLITS
            }
            fn look32(&self, values: &mut Floats32, window: Option<f64>) -> (bool, bool) {
                $call!(look32(values, window))
            }
            fn look64(&self, values: &mut Floats64, window: Option<f64>) -> (bool, bool) {
                $call!(look64(values, window))
            }
            fn rank32(&self, table: &Table<f32>, values: &Floats32, ranks: &mut Bytes) {
                $call!(rank32(table, values, ranks))
            }
            fn rank64(&self, table: &Table<f64>, values: &Floats64, ranks: &mut Bytes) {
                $call!(rank64(table, values, ranks))
            }
            fn test(&self, words: &[Word], bytes: &[Bytes], masks: &mut [Mask]) {
                $call!(test(words, bytes, masks))
            }
            fn find(
                &self,
                tree: &Tree,
                sliced: &Sliced,
                kept: bool,
                bytes: &[Bytes],
                masks: &mut [Mask],
                slots: &mut [Mask],
                planes: &mut [Mask; PLANES],
            ) {
                $call!(find(tree, sliced, kept, bytes, masks, slots, planes))
            }
            fn add32(&self, values: &[f32], planes: &[Mask; PLANES], sums: &mut Floats32) {
                $call!(add32(values, planes, sums))
            }
            fn add64(&self, values: &[f64], planes: &[Mask; PLANES], sums: &mut Floats64) {
                $call!(add64(values, planes, sums))
            }
        }
    };
}

pub(crate) use {chosen, instructions, kernel};
