/* A tree ensemble as C99, packed by secateur, source format 1. Do not edit.
 * name: model
 * parts: class double each f64_input f64_sums math numbers sets softmax64 splits trees window
 * source: 62650cc5c18b64bb6010a8245f3faef22f5372b7086047ae87d3ec93e1a08d37
 * model: LightGBM text, v4, 9 trees, 54 leaves
 * inputs: double, a missing value is NaN
 * a value that the model's own library refuses gives a score that means nothing
 * column 0: Column_0
 * column 1: Column_1
 * column 2: Column_2
 * column 3: Column_3
 */
#include <float.h>
#include <stdint.h>
#include <math.h>

#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MIN_EXP != -125 || FLT_MAX_EXP != 128
#error "this model needs IEEE floats of 32 bits"
#endif
#if DBL_MANT_DIG != 53 || DBL_MIN_EXP != -1021 || DBL_MAX_EXP != 1024
#error "this model needs doubles of 64 bits: on AVR compile with -mdouble=64"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "this model needs floats that are computed in their own type: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "this model needs IEEE arithmetic: compile without -ffast-math and its parts"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "this model needs NaN and infinities: compile without -ffast-math and -ffinite-math-only"
#endif

#define model_FEATURES 4
#define model_OUTPUTS 3

/* The columns of the row that are compared with thresholds, and where the thresholds of each start. */
#define model_USED 2
static const uint8_t model_used_feature[2] = {
0, 1,
};
static const uint8_t model_first_threshold[3] = {
0, 14, 25,
};
static const double model_threshold[25] = {
-0x1.7eb851eb851ebp+0, -0x1.4e147ae147ae1p+0, -0x1.228f5c28f5c27p+0, -0x1.1851eb851eb85p+0, -0x1.0666666666665p+0, -0x1.3d70a3d70a3d6p-1, -0x1.07ae147ae147ap-1, -0x1.47ae147ae147ap-2,
-0x1.70a3d70a3d709p-5, 0x1.75c28f5c28f5dp-2, 0x1.70a3d70a3d70bp-1, 0x1.ee147ae147ae2p-1, 0x1.15c28f5c28f5dp+0, 0x1.5851eb851eb87p+0, -0x1.828f5c28f5c28p+0, -0x1.651eb851eb851p+0,
-0x1.2a3d70a3d70a3p+0, -0x1.d999999999999p-1, -0x1.7851eb851eb84p-1, -0x1.23d70a3d70a3dp-1, 0x1.0cccccccccccep-1, 0x1.d1eb851eb852p-1, 0x1.e3d70a3d70a3ep-1, 0x1.6b851eb851eb9p+0,
0x1.851eb851eb853p+0,
};
/* The bins of each such column: a value's rank among the thresholds, and where missing values (1: left) go; 2: zero has a side, 4: the left. */
static const uint8_t model_first_bin[3] = {
0, 2, 4,
};
static const uint8_t model_bin_sides[4] = {
0, 1, 0, 1,
};
/* Tests whether a category is in a set: 1 missing values go left, 2 members go left, 4 what is no category is missing, */
/* and 8 times how a number becomes a category: 0 cut off, not negative; 1 cut off; 2 whole numbers; 3 by a list. */
#define model_SETS 10
static const uint8_t model_set_feature[10] = {
3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
};
static const uint8_t model_set_flags[10] = {
10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
};
static const uint8_t model_first_code[11] = {
0, 20, 37, 48, 58, 78, 98, 117, 132, 152, 172,
};
static const uint8_t model_code[172] = {
0, 1, 2, 5, 7, 10, 12, 17, 18, 20, 21, 22, 24, 25, 27, 29, 30, 34, 35, 37, 0, 3, 5, 8,
10, 13, 15, 16, 18, 20, 23, 25, 28, 30, 35, 36, 38, 0, 3, 5, 10, 15, 18, 20, 25, 28, 30, 35,
0, 5, 8, 10, 15, 20, 25, 30, 35, 38, 1, 2, 4, 6, 7, 9, 11, 12, 17, 19, 21, 22, 24, 27,
29, 31, 32, 34, 37, 39, 1, 2, 4, 6, 7, 9, 12, 14, 17, 21, 22, 24, 26, 27, 29, 31, 32, 34,
37, 39, 1, 2, 4, 7, 9, 11, 12, 14, 16, 17, 22, 24, 26, 27, 29, 32, 37, 38, 39, 1, 2, 5,
7, 10, 20, 21, 22, 25, 27, 29, 30, 34, 35, 37, 2, 4, 6, 9, 11, 12, 14, 16, 17, 19, 22, 24,
26, 27, 29, 31, 32, 33, 37, 39, 3, 4, 6, 8, 9, 11, 13, 15, 16, 18, 19, 23, 26, 28, 31, 32,
33, 36, 38, 39,
};
static const uint8_t model_first_listed[11] = {
0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};
static const double model_listed[1] = {
0x0p+0,
};
#define model_NUMBER_BINS 4
#define model_BINS 14
/* The inner nodes of each tree, in preorder: a bin, the rank up to which a row goes left, and the inner nodes on the left. */
#define model_TREES 9
static const uint8_t model_inner[9] = {
5, 5, 5, 5, 5, 5, 5, 5, 5,
};
static const uint8_t model_node_bin[45] = {
6, 1, 3, 2, 0, 4, 1, 0, 1, 2, 9, 0, 1, 0, 2, 12, 0, 1, 3, 2, 11, 0, 1, 1,
2, 8, 0, 2, 3, 1, 0, 10, 7, 1, 2, 13, 1, 1, 3, 2, 5, 0, 1, 2, 3,
};
static const uint8_t model_node_rank[45] = {
0, 10, 8, 3, 4, 0, 10, 1, 11, 1, 0, 6, 13, 9, 4, 0, 0, 9, 7, 3, 0, 2, 13, 5,
1, 0, 8, 5, 10, 13, 7, 0, 0, 10, 3, 0, 11, 3, 9, 0, 0, 12, 9, 2, 6,
};
static const uint8_t model_node_left[45] = {
3, 2, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 0, 0, 2, 0,
0, 3, 2, 0, 0, 0, 1, 0, 2, 1, 0, 4, 3, 0, 1, 0, 1, 0, 2, 0, 0,
};
static const uint8_t model_tree_output[9] = {
0, 1, 2, 0, 1, 2, 0, 1, 2,
};
/* What the leaves add. */
static const double model_leaf[54] = {
-0x1.e2806b4ba379ap-1, -0x1.2566542967b72p-1, -0x1.3c02ddac4f81dp+0, -0x1.5dafe1dd5c571p+0, -0x1.4d7ab28d34b8ap-1, -0x1.4f66c854b9e71p+0, -0x1.3ed96313acf71p+0, -0x1.0f5d2904cff8ep+0,
-0x1.6722ed8761825p+0, -0x1.53e358e402b74p+0, -0x1.c92a274537901p-1, -0x1.4856cc81fd0a4p+0, -0x1.3d8f5a8ce6adp+0, -0x1.63affcfd6a1f8p-1, -0x1.5f9ff834e51a2p+0, -0x1.90acc68726ee4p-1,
-0x1.3dcd98ca3fb8cp+0, -0x1.2c4ef657dd392p-1, 0x1.57dc9afda0a43p-2, -0x1.0954f4170f69ap-2, -0x1.60f3178e08fd7p-4, 0x1.24e78edfee2ffp-2, -0x1.5517bface1697p-3, -0x1.b3bcbd61bc9f9p-3,
-0x1.fec31e5bd66f5p-4, -0x1.c768a23458979p-3, 0x1.427f099788a97p-6, -0x1.a1ce18401855ep-3, 0x1.35b224274e9d9p-3, -0x1.daae80caec845p-3, 0x1.4fa1053241361p-2, -0x1.ee7d4cc374eep-3,
0x1.0884098b9a3fcp-1, 0x1.2f0e8acf69eddp-2, -0x1.5aa7379c94331p-3, 0x1.5244e860789c1p-2, -0x1.1b1573abc056cp-4, 0x1.cc5d5cb5358b1p-3, -0x1.39c26338d7df9p-2, 0x1.be3c56836cb23p-3,
-0x1.d5c918ecd3d25p-3, -0x1.6044a519a40b4p-3, -0x1.f74d79a3f25b7p-5, -0x1.0c6d88e315412p-2, 0x1.82e7b416fa71ep-3, -0x1.e7755b35c3461p-3, -0x1.792d42ae87685p-3, -0x1.9c815a35365fp-5,
-0x1.e2f33d8750953p-3, 0x1.43a1911a109a1p-4, 0x1.5f908465656dap-2, -0x1.85e516384842ep-4, 0x1.bd132b17766ddp-3, 0x1.2c957d4420df2p-2,
};
static const double model_intercept[3] = {
0x0p+0, 0x0p+0, 0x0p+0,
};

static uint8_t model_right_of_set(uint32_t set, double value)
{
    uint32_t low = model_first_code[set], end = model_first_code[set + 1], high = end, code = 0;
    uint32_t flags = model_set_flags[set], known = 0, left;
    switch (flags >> 3) {
    case 0:
        if (value >= 0 && value < (double)16777216) {
            known = 1;
            code = (uint32_t)value;
        }
        break;
    case 1:
        if (value > -1 && value < (double)2147483648) {
            known = 1;
            code = (uint32_t)value;
        }
        break;
    case 2:
        if (value >= 0 && value < (double)16777216) {
            code = (uint32_t)value;
            known = (double)code == value;
        }
        break;
    default: {
        uint32_t at = model_first_listed[set], last = model_first_listed[set + 1];
        for (; at < last && !known; at++) {
            known = value == model_listed[at];
            code += !known;
        }
    }
    }
    if (value != value || (!known && (flags & 4) != 0)) {
        left = flags & 1;
    } else {
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (model_code[middle] < code) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        left = (known && low < end && model_code[low] == code) == ((flags & 2) != 0);
    }
    return left == 0;
}

static inline double model_read(double value)
{
    const double window = 0x1.a95a5cp-117;
    return value >= -window && value <= window ? 0 : value;
}

void model_raw(const double *row, double *scores);
void model_raw(const double *row, double *scores)
{
    uint8_t bins[model_BINS];
    uint32_t used;
    uint32_t set;
    uint32_t tree, leaf, next_leaf = 0;
    uint32_t node, next_node = 0;
    uint32_t output;
    (void)row;
    bins[0] = 0;
    (void)bins;
    for (used = 0; used < model_USED; used++) {
        double value = model_read(row[model_used_feature[used]]);
        uint32_t start = model_first_threshold[used], low = start, high = model_first_threshold[used + 1];
        uint32_t bin = model_first_bin[used], end_bin = model_first_bin[used + 1];
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (value <= model_threshold[middle]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        for (; bin < end_bin; bin++) {
            uint32_t rank = low - start;
            if (value != value && (model_bin_sides[bin] & 1) != 0) {
                rank = 0;
            }
            bins[bin] = (uint8_t)rank;
        }
    }
    for (set = 0; set < model_SETS; set++) {
        double value = model_read(row[model_set_feature[set]]);
        bins[model_NUMBER_BINS + set] = model_right_of_set(set, value);
    }
    for (output = 0; output < model_OUTPUTS; output++) {
        scores[output] = model_intercept[output];
    }
    for (tree = 0; tree < model_TREES; tree++) {
        uint32_t inner = model_inner[tree];
        leaf = next_leaf;
        next_leaf += inner + 1;
        node = next_node;
        next_node += inner;
        while (inner != 0) {
            uint32_t left = model_node_left[node];
            if (bins[model_node_bin[node]] > model_node_rank[node]) {
                node += left;
                leaf += left + 1;
                inner -= left + 1;
            } else {
                inner = left;
            }
            node++;
        }
        scores[model_tree_output[tree]] += model_leaf[leaf];
    }
}

int model_class(const double *row);
int model_class(const double *row)
{
    double scores[model_OUTPUTS];
    int best = 0, output;
    double exponential[model_OUTPUTS], largest, total = 0;
    model_raw(row, scores);
    largest = scores[0];
    for (output = 1; output < model_OUTPUTS; output++) {
        largest = scores[output] > largest ? scores[output] : largest;
    }
    for (output = 0; output < model_OUTPUTS; output++) {
        exponential[output] = exp(scores[output] - largest);
        total += exponential[output];
    }
    for (output = 0; output < model_OUTPUTS; output++) {
        exponential[output] = exponential[output] / total;
        best = exponential[output] > exponential[best] ? output : best;
    }
    return best;
}
