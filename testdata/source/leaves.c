/* A tree ensemble as C99, packed by secateur, source format 1. Do not edit.
 * name: model
 * parts: class f32_input numbers quantised single splits threshold trees
 * source: 66e61f4936748c2d8934ff6ef08b0d16264d24f2f9c4244019e9ea8ae2096774
 * model: XGBoost 3.4.1, JSON, 4 trees, 29 leaves
 * inputs: float, a missing value is NaN
 * a value that the model's own library refuses gives a score that means nothing
 */
#include <float.h>
#include <stdint.h>

#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MIN_EXP != -125 || FLT_MAX_EXP != 128
#error "this model needs IEEE floats of 32 bits"
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

#define model_FEATURES 3
#define model_OUTPUTS 1
/* Sums are whole numbers; a score is its sum times this. */
#define model_UNIT 0x1p-23

/* The columns of the row that are compared with thresholds, and where the thresholds of each start. */
#define model_USED 3
static const uint8_t model_used_feature[3] = {
0, 1, 2,
};
static const uint8_t model_first_threshold[4] = {
0, 7, 15, 18,
};
static const float model_threshold[18] = {
-0x1.111936p+0f, -0x1.791084p-1f, -0x1.e78764p-2f, 0x1.ea8206p-6f, 0x1.e0d674p-2f, 0x1.239c92p+0f, 0x1.428a02p+0f, -0x1.1cad66p+0f,
-0x1.f0384ep-1f, -0x1.e3b67ep-1f, 0x1.06a42ap-2f, 0x1.552d92p-2f, 0x1.e749cap-2f, 0x1.4b1ca6p-1f, 0x1.569b3ep-1f, 0x1.fffffep-1f,
0x1.3ffffep+2f, 0x1.400012p+3f,
};
/* The bins of each such column: a value's rank among the thresholds, and where missing values (1: left) go; 2: zero has a side, 4: the left. */
static const uint8_t model_first_bin[4] = {
0, 2, 4, 6,
};
static const uint8_t model_bin_sides[6] = {
0, 1, 0, 1, 0, 1,
};
#define model_NUMBER_BINS 6
#define model_BINS 6
/* The inner nodes of each tree, in preorder: a bin, the rank up to which a row goes left, and the inner nodes on the left. */
#define model_TREES 4
static const uint8_t model_inner[4] = {
7, 7, 6, 5,
};
static const uint8_t model_node_bin[25] = {
0, 2, 4, 0, 3, 5, 4, 1, 3, 4, 0, 4, 0, 2, 0, 3, 4, 4, 2, 2, 1, 3, 5, 0,
2,
};
static const uint8_t model_node_rank[25] = {
3, 3, 2, 1, 6, 1, 0, 4, 7, 1, 0, 0, 5, 1, 2, 4, 1, 0, 5, 0, 6, 7, 1, 0,
2,
};
static const uint8_t model_node_left[25] = {
3, 1, 0, 0, 1, 0, 0, 3, 1, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 3, 1, 0, 0,
0,
};
/* A leaf adds its number times the factor of its tree. */
static const uint16_t model_factor[4] = {
33909, 24340, 19443, 19685,
};
static const uint8_t model_leaf[29] = {
0, 83, 43, 155, 103, 251, 163, 255, 0, 112, 41, 202, 41, 157, 135, 255, 0, 79, 255, 10, 180, 38, 240, 0,
131, 14, 170, 132, 255,
};
static const int32_t model_intercept[1] = {
-14408228,
};

void model_raw(const float *row, int32_t *scores);
void model_raw(const float *row, int32_t *scores)
{
    uint8_t bins[model_BINS];
    uint32_t used;
    uint32_t tree, leaf, next_leaf = 0;
    uint32_t node, next_node = 0;
    int32_t sum;
    (void)row;
    bins[0] = 0;
    (void)bins;
    for (used = 0; used < model_USED; used++) {
        float value = row[model_used_feature[used]];
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
    sum = model_intercept[0];
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
        sum += (int32_t)((uint32_t)model_factor[tree] * model_leaf[leaf]);
    }
    scores[0] = sum;
}

int model_class(const float *row);
int model_class(const float *row)
{
    int32_t scores[model_OUTPUTS];
    model_raw(row, scores);
    return scores[0] >= 1;
}
