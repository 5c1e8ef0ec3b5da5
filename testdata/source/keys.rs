/* A tree ensemble as Rust, packed by secateur, source format 1. Do not edit.
 * name: model
 * parts: class f32_input f32_sums keys numbers single splits strict threshold trees
 * source: 66e61f4936748c2d8934ff6ef08b0d16264d24f2f9c4244019e9ea8ae2096774
 * model: XGBoost 3.4.1, JSON, 4 trees, 29 leaves
 * inputs: f32, a missing value is NaN
 * a value that the model's own library refuses gives a score that means nothing
 */

/// The numbers of a row.
pub const FEATURES: usize = 3;
/// The raw scores of a row.
pub const OUTPUTS: usize = 1;

// The columns of the row that are compared with thresholds, and where the thresholds of each start.
const USED: usize = 3;
static USED_FEATURE: [u8; 3] = [
0, 1, 2,
];
static FIRST_THRESHOLD: [u8; 4] = [
0, 7, 15, 18,
];
static THRESHOLD: [u32; 18] = [
1081570148, 1086551997, 1091320909, 3170189571, 3203427130, 3214003785, 3215017217, 1081190732,
1082647512, 1083057344, 3196277269, 3198850761, 3203638501, 3206909523, 3207286175, 3212836863,
3231711231, 3240099849,
];
// The bins of each such column: a value's rank among the thresholds, and where missing values (1: left) go; 2: zero has a side, 4: the left.
static FIRST_BIN: [u8; 4] = [
0, 2, 4, 6,
];
static BIN_SIDES: [u8; 6] = [
0, 1, 0, 1, 0, 1,
];
// Bins of numbers: 6
const BINS: usize = 6;
// The inner nodes of each tree, in preorder: a bin, the rank up to which a row goes left, and the inner nodes on the left.
const TREES: usize = 4;
static INNER: [u8; 4] = [
7, 7, 6, 5,
];
static NODE_BIN: [u8; 25] = [
0, 2, 4, 0, 3, 5, 4, 1, 3, 4, 0, 4, 0, 2, 0, 3, 4, 4, 2, 2, 1, 3, 5, 0,
2,
];
static NODE_RANK: [u8; 25] = [
3, 3, 2, 1, 6, 1, 0, 4, 7, 1, 0, 0, 5, 1, 2, 4, 1, 0, 5, 0, 6, 7, 1, 0,
2,
];
static NODE_LEFT: [u8; 25] = [
3, 1, 0, 0, 1, 0, 0, 3, 1, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 3, 1, 0, 0,
0,
];
// What the leaves add.
static LEAF: [f32; 29] = [
-0.46081504, -0.12328767, -0.2852761, 0.16582915, -0.04455445, 0.5526316, 0.19672132, 0.56951874,
-0.32031828, 0.006104726, -0.20037438, 0.26509646, -0.20017694, 0.1357267, 0.07163397, 0.41903773,
-0.34571368, -0.16277942, 0.24529351, -0.32262486, 0.071943335, -0.25748292, 0.20993876, -0.1857954,
0.121902704, -0.15350837, 0.21239634, 0.12446745, 0.41257098,
];
static INTERCEPT: [f32; 1] = [
-0.4054651,
];

// A whole number for each value, in the order of the values: both zeros have the same, and what is missing has the largest.
fn key(value: f32) -> u32 {
    let (bits, sign) = (value.to_bits(), 1 << (u32::BITS - 1));
    if bits & !sign > f32::INFINITY.to_bits() {
        u32::MAX
    } else if bits & sign == 0 {
        bits | sign
    } else if bits == sign {
        sign
    } else {
        !bits
    }
}

/// The raw scores of a row, with the bits of the model's own library. A missing value is NaN.
pub fn raw(row: &[f32; FEATURES]) -> [f32; OUTPUTS] {
    let mut bins = [0u8; BINS];
    let _ = (row, &mut bins);
    for used in 0..USED {
        let value = key(row[USED_FEATURE[used] as usize]);
        let (start, end) = (FIRST_THRESHOLD[used] as usize, FIRST_THRESHOLD[used + 1] as usize);
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if value <= THRESHOLD[middle] {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        for bin in FIRST_BIN[used] as usize..FIRST_BIN[used + 1] as usize {
            let mut rank = low - start;
            if value == u32::MAX && BIN_SIDES[bin] & 1 != 0 {
                rank = 0;
            }
            bins[bin] = rank as u8;
        }
    }
    let mut scores = INTERCEPT;
    let mut next_node = 0;
    let mut next_leaf = 0;
    for tree in 0..TREES {
        let mut inner = INNER[tree] as usize;
        let mut node = next_node;
        let mut leaf = next_leaf;
        next_leaf += inner + 1;
        next_node += inner;
        while inner != 0 {
            let left = NODE_LEFT[node] as usize;
            if bins[NODE_BIN[node] as usize] > NODE_RANK[node] {
                node += left;
                leaf += left + 1;
                inner -= left + 1;
            } else {
                inner = left;
            }
            node += 1;
        }
        scores[0] += LEAF[leaf];
    }
    scores
}

/// The position of the class of a row among the model's classes.
pub fn class(row: &[f32; FEATURES]) -> usize {
    let scores = raw(row);
    usize::from(scores[0] as f64 > 8.940696716308594e-8)
}
