//! Evaluates blocks of rows. [`Instructions`] has the few operations on whole blocks that every
//! instruction set does in its own way; everything around them is here and compiled once.
//!
//! The macro `kernel!` writes those operations for a module from its basic functions (`load`,
//! `compare`, `select`, ...), and `instructions!` implements the trait with them. All code here is
//! safe code on tables whose indices were checked when the model was loaded; an index out of range
//! would panic instead of reading elsewhere.

use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::ops::Range;

use crate::error::PredictError;
use crate::large::{self, Found, Half, Large};
use crate::meaning::Number;
use crate::model::Model;
use crate::plan::{ALL, Values, Word};
use crate::read::{self, Output, Tile};
use crate::rows::AnyRows;
use crate::sliced::{Bytes, Floats32, Floats64, Mask, PLANES, ROWS, Search, Sliced, Table, Tree, Wide};

/// The operations of an instruction set on blocks. All of them take the number of rows that a block
/// has, and may leave anything in the places of other rows.
pub(crate) trait Instructions {
    /// A tree with more splits than this is walked; three times as many are allowed if the masks of
    /// all tests are kept.
    fn most_splits(&self) -> u16;
    /// Replaces values within the window by zero. Returns whether any value is missing and whether
    /// any is zero.
    fn look32(&self, values: &mut Floats32, window: Option<f64>, rows: usize) -> (bool, bool);
    fn look64(&self, values: &mut Floats64, window: Option<f64>, rows: usize) -> (bool, bool);
    /// The number of thresholds that each value is above; 0 for NaN.
    fn rank32(&self, table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize);
    fn rank64(&self, table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize);
    /// The same for any number of thresholds; anything for NaN.
    fn search32(&self, search: &Search<f32>, values: &Floats32, ranks: &mut Wide, rows: usize);
    fn search64(&self, search: &Search<f64>, values: &Floats64, ranks: &mut Wide, rows: usize);
    /// Reads sixteen columns from this one on, as f32 or as f64; the columns from `next` on come
    /// after them. Returns false, and reads nothing, if this instruction set has no faster way than
    /// to copy one column after the other.
    fn turn32(&self, rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats32]) -> bool {
        let _ = (rows, column, next, to);
        false
    }
    fn turn64(&self, rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats64]) -> bool {
        let _ = (rows, column, next, to);
        false
    }
    /// Up to this number of tests, the masks of a feature are made from its values, which are f32 or
    /// f64.
    fn most_direct(&self, short: bool) -> usize {
        let _ = short;
        0
    }
    /// For each number, the rows whose value is not at most the number; a missing value counts as
    /// at most every number if `missing_left`, else as above it.
    fn compare32(
        &self,
        numbers: &[f32],
        missing_left: bool,
        values: &Floats32,
        masks: &mut [Mask],
        rows: usize,
    ) {
        let _ = (numbers, missing_left, values, masks, rows);
    }
    fn compare64(
        &self,
        numbers: &[f64],
        missing_left: bool,
        values: &Floats64,
        masks: &mut [Mask],
        rows: usize,
    ) {
        let _ = (numbers, missing_left, values, masks, rows);
    }
    /// The byte at each place of the table, of which only the row's bit is left. Places are below
    /// sixteen.
    fn look_up(&self, table: &[u8; 16], places: &Bytes, bits: &Bytes, to: &mut Bytes, rows: usize);
    /// For each test, the rows that it sends right.
    fn test(&self, words: &[Word], bytes: &[Bytes], masks: &mut [Mask], rows: usize);
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
        rows: usize,
    );
    /// Adds the value of each row's leaf. The number of values is a power of two, whose logarithm
    /// is the number of planes that are read.
    fn add32(&self, values: &[f32], planes: &[Mask; PLANES], sums: &mut Floats32, rows: usize);
    fn add64(&self, values: &[f64], planes: &[Mask; PLANES], sums: &mut Floats64, rows: usize);
}

/// Memory that a thread needs for its blocks. Its size depends only on the model and on the
/// instruction set's decisions, so that it can be used again for the next rows.
#[derive(Default)]
pub(crate) struct Scratch {
    tile: Tile,
    bytes: Vec<Bytes>,
    columns: Vec<Half>,
    masks: Vec<Mask>,
    slots: Vec<Mask>,
    sums32: Vec<Floats32>,
    sums64: Vec<Floats64>,
    most_splits: u16,
    /// Are the masks of all tests kept?
    kept: bool,
}

/// Memory of calls that have ended, for the next ones: fresh memory costs more than a small batch.
/// There is at most one piece for each thread that has used the model at the same time.
#[derive(Default)]
pub(crate) struct Pool {
    #[cfg(feature = "std")]
    free: std::sync::Mutex<Vec<Scratch>>,
}

impl Pool {
    /// Calls `work` with memory that nobody else uses meanwhile.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Scratch) -> R) -> R {
        #[cfg(feature = "std")]
        {
            let free = || self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut scratch = free().pop().unwrap_or_default();
            let result = work(&mut scratch);
            free().push(scratch);
            result
        }
        #[cfg(not(feature = "std"))]
        work(&mut Scratch::default())
    }
}

impl Clone for Pool {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl core::fmt::Debug for Pool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Pool")
    }
}

/// If there are at most this many tests, the masks of all of them are kept for a block; otherwise
/// each tree makes its own masks.
const KEPT: usize = 1 << 14;

const ZERO32: Floats32 = Floats32([[0.0; 16]; 32]);
const ZERO64: Floats64 = Floats64([[0.0; 8]; 64]);

/// A tree with more splits than this is walked.
fn most_splits(instructions: &dyn Instructions, sliced: &Sliced) -> u16 {
    // Kept masks are made once for all trees, so that they are worth their cost for larger trees,
    // too.
    instructions.most_splits() * if sliced.words.len() <= KEPT { 3 } else { 1 }
}

/// Is every tree walked?
pub(crate) fn walks_all(instructions: &dyn Instructions, sliced: &Sliced) -> bool {
    let most_splits = most_splits(instructions, sliced);
    sliced.trees.iter().all(|tree| tree.is_walked(most_splits))
}

/// The sums of all rows, block by block.
pub(crate) fn sums(
    instructions: &dyn Instructions,
    model: &Model,
    sliced: &Sliced,
    rows: AnyRows<'_>,
    scratch: &mut Scratch,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    let groups = model.outputs();
    let few = sliced.words.len() <= KEPT;
    let most_splits = most_splits(instructions, sliced);
    let walks = sliced.trees.iter().any(|tree| tree.is_walked(most_splits));
    // If every tree is walked, neither bytes nor masks are needed.
    let mut slices = sliced.trees.iter().any(|tree| !tree.is_walked(most_splits));
    let large = if walks { model.large() } else { None };
    if walks && large.is_none() {
        return model.scalar_sums(&rows, scores);
    }
    slices &= !large.is_some_and(Large::walks_all);
    let kept = slices && few;
    scratch.tile.make_room(model.file.domain.number);
    if let (Some(large), false) = (large, slices) {
        return large::sums(instructions, model, large, &rows, &mut scratch.tile, scores);
    }
    let no_bytes = kept && read::needs_no_bytes(instructions, model, sliced, &rows);
    scratch.bytes.resize(if no_bytes { 0 } else { model.plan.columns }, Bytes([[0; 64]; 8]));
    scratch.columns.resize(large.map_or(0, |large| large.room(ROWS)), Half::default());
    scratch.make_room(model, sliced, kept, most_splits);
    for (block, scores) in scores.chunks_mut(ROWS * groups).enumerate() {
        let first = block * ROWS;
        let part = rows.part(first..first + scores.len() / groups);
        check(model, &part, first)?;
        let mut out = Output {
            large: large.map(|large| (large, &mut scratch.columns[..])),
            bytes: &mut scratch.bytes,
            masks: kept.then_some((sliced, &mut scratch.masks[..])),
        };
        read::read(instructions, model, &part, &mut scratch.tile, &mut out);
        add(instructions, model, sliced, large, scratch, scores);
    }
    Ok(())
}

/// The sums of sparse rows, for a model that [`takes_sparse`]. `read` makes the masks of a block.
#[cfg(feature = "std")]
pub(crate) fn sparse_sums(
    instructions: &dyn Instructions,
    model: &Model,
    sliced: &Sliced,
    read: &dyn Fn(Range<usize>, &mut [Mask]),
    scratch: &mut Scratch,
    scores: &mut [f64],
) {
    let groups = model.outputs();
    scratch.bytes.clear();
    scratch.make_room(model, sliced, true, most_splits(instructions, sliced));
    for (block, scores) in scores.chunks_mut(ROWS * groups).enumerate() {
        let first = block * ROWS;
        read(first..first + scores.len() / groups, &mut scratch.masks);
        add(instructions, model, sliced, None, scratch, scores);
    }
}

/// Can masks be made from the values that sparse rows have? They are if all are kept, if all tests
/// compare with numbers, and if no tree is walked.
#[cfg(feature = "std")]
pub(crate) fn takes_sparse(instructions: &dyn Instructions, model: &Model, sliced: &Sliced) -> bool {
    let most_splits = most_splits(instructions, sliced);
    let domain = model.file.domain;
    sliced.words.len() <= KEPT
        && model.file.categories.is_empty()
        && domain.missing
        && domain.infinities
        && sliced.direct.iter().all(|direct| !direct.is_empty())
        && !sliced.trees.iter().any(|tree| tree.is_walked(most_splits))
}

impl Scratch {
    /// Makes room for masks and sums.
    fn make_room(&mut self, model: &Model, sliced: &Sliced, kept: bool, most_splits: u16) {
        let groups = model.outputs();
        let narrow_sums = model.file.sums.number == Number::F32;
        self.masks.resize(if kept { sliced.words.len() } else { sliced.most_tests.max(1) }, Mask::NONE);
        // With all masks kept, the first one belongs to the test that sends every row left.
        self.masks[0] = Mask::NONE;
        self.slots.resize(sliced.slots, Mask::NONE);
        self.sums32.resize(if narrow_sums { groups } else { 0 }, ZERO32);
        self.sums64.resize(if narrow_sums { 0 } else { groups }, ZERO64);
        self.most_splits = most_splits;
        self.kept = kept;
    }
}

/// Adds up the trees for a block that has been read.
fn add(
    instructions: &dyn Instructions,
    model: &Model,
    sliced: &Sliced,
    large: Option<&Large>,
    scratch: &mut Scratch,
    scores: &mut [f64],
) {
    match &sliced.values {
        Values::F32(values) => add32(instructions, model, sliced, large, values, scratch, scores),
        Values::F64(values) => add64(instructions, model, sliced, large, values, scratch, scores),
    }
}

/// Refuses the values that the library refuses. Most libraries accept nearly everything, so that
/// there is little to do.
pub(crate) fn check(model: &Model, rows: &AnyRows<'_>, first: usize) -> Result<(), PredictError> {
    let domain = model.file.domain;
    let narrow = domain.number == Number::F32;
    if domain.missing && domain.infinities && model.file.categories.is_empty() {
        return Ok(());
    }
    for start in (0..rows.count()).step_by(64) {
        let tile = rows.part(start..rows.count().min(start + 64));
        if tile.is_plain(narrow) {
            continue;
        }
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
            large: Option<&Large>,
            values: &[$number],
            s: &mut Scratch,
            scores: &mut [f64],
        ) {
            let groups = model.outputs();
            let rows = scores.len() / groups;
            let mut found = large.map(|_| Found::new());
            let last = model.file.sums.intercept_last;
            for (sums, &intercept) in s.$sums.iter_mut().zip(&model.file.intercepts) {
                *sums = $block([[if last { 0.0 } else { intercept as $number }; $lanes]; ROWS / $lanes]);
            }
            let mut planes = [Mask::NONE; PLANES];
            for (index, tree) in sliced.trees.iter().enumerate() {
                let of_tree =
                    if tree.group == ALL { 0..groups } else { tree.group as usize..tree.group as usize + 1 };
                if tree.is_walked(s.most_splits) {
                    let (Values::$variant(of_leaves), Some(large), Some(found)) =
                        (&model.plan.values, large, &mut found)
                    else {
                        continue;
                    };
                    for (row, leaf) in large.leaves(index, &s.columns, rows, found).enumerate() {
                        for (group, at) in of_tree.clone().zip(leaf..) {
                            s.$sums[group].0[row / $lanes][row % $lanes] += of_leaves[at];
                        }
                    }
                    continue;
                }
                instructions.find(
                    tree,
                    sliced,
                    s.kept,
                    &s.bytes,
                    &mut s.masks,
                    &mut s.slots,
                    &mut planes,
                    rows,
                );
                let size = 1usize << tree.planes;
                for (group, at) in of_tree.zip(0..) {
                    let table = &values[tree.values + at * size..][..size];
                    instructions.$name(table, &planes, &mut s.$sums[group], rows);
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
        use crate::sliced::{PLANES, Search, Shape, Sliced, Tree, Wide};

        kernel!(@number look32, add32, search32, above32, splat32, f32, few32, Floats32, $(#[$enable])*);
        kernel!(@number look64, add64, search64, above64, splat64, f64, few64, Floats64, $(#[$enable])*);

        $(#[$enable])*
        fn look_up(table: &[u8; 16], places: &Bytes, bits: &Bytes, to: &mut Bytes, rows: usize) {
            let parts = to.0.iter_mut().zip(&places.0).zip(&bits.0).take(rows.div_ceil(64));
            parts.for_each(|((to, places), bits)| *to = picked(table, places, bits));
        }

        $(#[$enable])*
        fn test(words: &[Word], bytes: &[Bytes], masks: &mut [Mask], rows: usize) {
            for (mask, word) in masks.iter_mut().zip(words) {
                *mask = compare(&bytes[word.column()], word.rank(), rows);
            }
        }

        /// The number of each row's leaf, as one mask for each of its bits.
        $(#[$enable])*
        #[expect(clippy::too_many_arguments, reason = "as in the trait")]
        fn find(tree: &Tree, sliced: &Sliced, kept: bool, bytes: &[Bytes], masks: &mut [Mask], slots: &mut [Mask], planes: &mut [Mask; PLANES], rows: usize) {
            let count = match tree.shape {
                Shape::Perfect(depth) => (1usize << depth) - 1,
                Shape::Level(depth) => depth as usize,
                Shape::Reach(splits) => splits as usize,
                Shape::Walk => return,
            };
            let tests = &sliced.tests[tree.tests..tree.tests + count];
            if !kept {
                for (mask, &test) in masks.iter_mut().zip(tests) {
                    let word = sliced.words[test as usize];
                    *mask = if test == 0 { Mask::NONE } else { compare(&bytes[word.column()], word.rank(), rows) };
                }
            }
            let masks = &*masks;
            match tree.shape {
                Shape::Perfect(depth) => perfect(depth, tests, kept, masks, planes),
                Shape::Level(_) => {
                    for (level, (plane, &test)) in planes[..count].iter_mut().rev().zip(tests).enumerate() {
                        *plane = masks[if kept { test as usize } else { level }];
                    }
                }
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

    (@number $look:ident, $add:ident, $search:ident, $above:ident, $splat:ident, $number:ty, $few:ident, $block:ident, $(#[$enable:meta])*) => {
        $(#[$enable])*
        fn $look(values: &mut $block, window: Option<f64>, rows: usize) -> (bool, bool) {
            let (mut missing, mut zero) = (false, false);
            // No magnitude is at most -1, so that without a window nothing becomes zero.
            let window = window.unwrap_or(-1.0);
            for value in &mut values.0.as_flattened_mut()[..rows] {
                if f64::from(value.abs()) <= window {
                    *value = 0.0;
                }
                missing |= value.is_nan();
                zero |= *value == 0.0;
            }
            (missing, zero)
        }

        $(#[$enable])*
        fn $search(search: &Search<$number>, values: &$block, ranks: &mut Wide, rows: usize) {
            // Four rows side by side, so that one waits for its node while others compare.
            let (values, ranks) = (values.0.as_flattened().as_chunks::<4>().0, ranks.0.as_chunks_mut::<4>().0);
            for (ranks, values) in ranks.iter_mut().zip(values).take(rows.div_ceil(4)) {
                let mut at = [0usize; 4];
                for level in &search.levels {
                    for (at, &value) in at.iter_mut().zip(values) {
                        *at = 16 * *at + $above($splat(value), &level[*at]) as usize;
                    }
                }
                ranks.iter_mut().zip(at).for_each(|(rank, at)| *rank = at as u32 + search.below);
            }
        }

        $(#[$enable])*
        fn $add(values: &[$number], planes: &[Mask; PLANES], sums: &mut $block, rows: usize) {
            let count = values.len().trailing_zeros() as usize;
            if $few(values, planes, sums, rows) {
                return;
            }
            let sums = &mut sums.0.as_flattened_mut()[..rows];
            if count <= 6 {
                let mut full = [0.0; 64];
                full[..values.len()].copy_from_slice(values);
                let low = expand(&planes[..8], count, rows);
                let rows = sums.iter_mut().zip(low.0.as_flattened());
                rows.for_each(|(sum, &leaf)| *sum += full[leaf as usize & 63]);
            } else if count <= 8 {
                let mut full = [0.0; 256];
                full[..values.len()].copy_from_slice(values);
                let low = expand(&planes[..8], count, rows);
                let rows = sums.iter_mut().zip(low.0.as_flattened());
                rows.for_each(|(sum, &leaf)| *sum += full[leaf as usize]);
            } else {
                let low = expand(&planes[..8], 8, rows);
                let high = expand(&planes[8..], count - 8, rows);
                let leaves = low.0.as_flattened().iter().zip(high.0.as_flattened());
                let rows = sums.iter_mut().zip(leaves);
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
/// functions that `kernel!` has written there. `direct` adds the operations that only some
/// instruction sets have, of the module's functions with these names.
macro_rules! instructions {
    (@more $call:ident) => {};
    (@more $call:ident direct) => {
        fn turn32(&self, rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats32]) -> bool {
            $call!(turn32(rows, column, next, to))
        }
        fn turn64(&self, rows: &AnyRows<'_>, column: usize, next: usize, to: &mut [Floats64]) -> bool {
            $call!(turn64(rows, column, next, to))
        }
        fn most_direct(&self, short: bool) -> usize {
            MOST_DIRECT[usize::from(!short)]
        }
        fn compare32(&self, numbers: &[f32], missing_left: bool, values: &Floats32, masks: &mut [Mask], rows: usize) {
            $call!(compare32(numbers, missing_left, values, masks, rows))
        }
        fn compare64(&self, numbers: &[f64], missing_left: bool, values: &Floats64, masks: &mut [Mask], rows: usize) {
            $call!(compare64(numbers, missing_left, values, masks, rows))
        }
    };
    ($type:ident, $call:ident $(, $more:ident)?) => {
        impl crate::kernel::Instructions for $type {
            crate::kernel::instructions!(@more $call $($more)?);
            fn most_splits(&self) -> u16 {
                MOST_SPLITS
            }
            fn look32(&self, values: &mut Floats32, window: Option<f64>, rows: usize) -> (bool, bool) {
                $call!(look32(values, window, rows))
            }
            fn look64(&self, values: &mut Floats64, window: Option<f64>, rows: usize) -> (bool, bool) {
                $call!(look64(values, window, rows))
            }
            fn rank32(&self, table: &Table<f32>, values: &Floats32, ranks: &mut Bytes, rows: usize) {
                $call!(rank32(table, values, ranks, rows))
            }
            fn rank64(&self, table: &Table<f64>, values: &Floats64, ranks: &mut Bytes, rows: usize) {
                $call!(rank64(table, values, ranks, rows))
            }
            fn search32(&self, search: &Search<f32>, values: &Floats32, ranks: &mut Wide, rows: usize) {
                $call!(search32(search, values, ranks, rows))
            }
            fn search64(&self, search: &Search<f64>, values: &Floats64, ranks: &mut Wide, rows: usize) {
                $call!(search64(search, values, ranks, rows))
            }
            fn look_up(&self, table: &[u8; 16], places: &Bytes, bits: &Bytes, to: &mut Bytes, rows: usize) {
                $call!(look_up(table, places, bits, to, rows))
            }
            fn test(&self, words: &[Word], bytes: &[Bytes], masks: &mut [Mask], rows: usize) {
                $call!(test(words, bytes, masks, rows))
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
                rows: usize,
            ) {
                $call!(find(tree, sliced, kept, bytes, masks, slots, planes, rows))
            }
            fn add32(&self, values: &[f32], planes: &[Mask; PLANES], sums: &mut Floats32, rows: usize) {
                $call!(add32(values, planes, sums, rows))
            }
            fn add64(&self, values: &[f64], planes: &[Mask; PLANES], sums: &mut Floats64, rows: usize) {
                $call!(add64(values, planes, sums, rows))
            }
        }
    };
}

pub(crate) use {chosen, instructions, kernel};
