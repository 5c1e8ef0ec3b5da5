@header #ifndef $NAME_INCLUDED
@header #define $NAME_INCLUDED
#include <float.h>
#include <stdint.h>
@keys #include <string.h>
@math #include <math.h>

#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || FLT_MIN_EXP != -125 || FLT_MAX_EXP != 128
#error "this model needs IEEE floats of 32 bits"
#endif
@double #if DBL_MANT_DIG != 53 || DBL_MIN_EXP != -1021 || DBL_MAX_EXP != 1024
@double #error "this model needs doubles of 64 bits: on AVR compile with -mdouble=64"
@double #endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "this model needs floats that are computed in their own type: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "this model needs IEEE arithmetic: compile without -ffast-math and its parts"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "this model needs NaN and infinities: compile without -ffast-math and -ffinite-math-only"
#endif
@keys #if defined(__FLOAT_WORD_ORDER__) && defined(__BYTE_ORDER__) && __FLOAT_WORD_ORDER__ != __BYTE_ORDER__
@keys #error "this model needs floats whose bytes are in the order of those of whole numbers: pack it without --keys"
@keys #endif

#define $NAME_FEATURES {features}
#define $NAME_OUTPUTS {outputs}
@probabilities #define $NAME_CLASSES {classes}
@quantised /* Sums are whole numbers; a score is its sum times this. */
@quantised #define $NAME_UNIT {unit}

@header #ifdef __cplusplus
@header extern "C" {
@header #endif
@numbers /* The columns of the row that are compared with thresholds, and where the thresholds of each start. */
@numbers #define $NAME_USED {used}
[numbers used_feature]
[numbers first_threshold]
@steps /* How often the number of thresholds of each can be halved before it is 1. */
[steps step]
[numbers+!keys threshold IN]
[keys threshold KEY]
@numbers /* The bins of each such column: a value's rank among the thresholds, and where missing values (1: left) go; 2: zero has a side, 4: the left. */
[numbers first_bin]
[numbers bin_sides]
[chunks bin_start]
@sets /* Tests whether a category is in a set: 1 missing values go left, 2 members go left, 4 what is no category is missing, */
@sets /* and 8 times how a number becomes a category: 0 cut off, not negative; 1 cut off; 2 whole numbers; 3 by a list. */
@sets #define $NAME_SETS {sets}
[sets set_feature]
[sets set_flags]
[sets first_code]
[sets code]
[sets first_listed]
[sets listed IN]
@equals /* Tests whether a value equals a number. */
@equals #define $NAME_EQUALS {equals}
[equals equal_feature]
[equals equal_sides]
[equals equal_value IN]
#define $NAME_NUMBER_BINS {number_bins}
#define $NAME_BINS {bins}
@trees+!tests+!small+!words /* The inner nodes of each tree, in preorder: a bin, the rank up to which a row goes left, and the inner nodes on the left. */
@tests+!full /* The inner nodes of each tree, in preorder: a bin and 256 times the rank up to which a row goes left; and twice the nodes up to the */
@tests+!full /* one on the right, and 1 where that is a leaf. */
@small /* The inner nodes of each tree, in preorder, bit by bit: a bin, the rank up to which a row goes left, and the inner nodes on the left. */
@full /* The tests of each tree, which is filled up to perfect: none at place 0, the first at 1, and below that at place i those at 2i (left) and 2i + 1. A test is */
@full /* a bin and 256 times the rank up to which a row goes left; 65280, where every row goes left, fills up. */
@words /* Each tree in preorder. A leaf is the bits of what it adds; an inner node is a bin, 256 if a leaf is on its right, 512 if one is on its left, 1024 times the */
@words /* numbers of its left side, and 16777216 times the rank up to which a row goes left. The first levels of all trees have no leaves: where a tree has one there, it stands below */
@words /* nodes of rank 255 that have nothing on their right. */
@trees #define $NAME_TREES {trees}
@full #define $NAME_LEVELS {levels}
@words #define $NAME_SURE {sure}
[trees+!full+!words inner]
[words size]
[splits+!tests+!small+!words node_bin]
[splits+!tests+!small+!words node_rank]
[splits+!tests+!small+!words node_left]
[tests+!full node_test]
[tests+!full node_skip]
[full node_test HALF]
[words word WORD]
[small node_bits WORD]
[each tree_output]
@trees+!quantised+!words /* What the leaves add. */
@trees+quantised /* A leaf adds its number times the factor of its tree. */
[trees+quantised factor]
[listed+!small leaf_index]
[listed+small leaf_bits WORD]
[trees+!quantised+!words leaf SUM]
[trees+quantised leaf]
[always intercept SUM]

@sets static uint8_t $NAME_right_of_set(uint32_t set, $T value)
@sets {
@sets     uint32_t low = $NAME_first_code[set], end = $NAME_first_code[set + 1], high = end, code = 0;
@sets     uint32_t flags = $NAME_set_flags[set], known = 0, left;
@sets     switch (flags >> 3) {
@sets     case 0:
@sets         if (value >= 0 && value < ($T)16777216) {
@sets             known = 1;
@sets             code = (uint32_t)value;
@sets         }
@sets         break;
@sets     case 1:
@sets         if (value > -1 && value < ($T)2147483648) {
@sets             known = 1;
@sets             code = (uint32_t)value;
@sets         }
@sets         break;
@sets     case 2:
@sets         if (value >= 0 && value < ($T)16777216) {
@sets             code = (uint32_t)value;
@sets             known = ($T)code == value;
@sets         }
@sets         break;
@sets     default: {
@sets         uint32_t at = $NAME_first_listed[set], last = $NAME_first_listed[set + 1];
@sets         for (; at < last && !known; at++) {
@sets             known = value == $NAME_listed[at];
@sets             code += !known;
@sets         }
@sets     }
@sets     }
@sets     if (value != value || (!known && (flags & 4) != 0)) {
@sets         left = flags & 1;
@sets     } else {
@sets         while (low < high) {
@sets             uint32_t middle = low + (high - low) / 2;
@sets             if ($NAME_code[middle] < code) {
@sets                 low = middle + 1;
@sets             } else {
@sets                 high = middle;
@sets             }
@sets         }
@sets         left = (known && low < end && $NAME_code[low] == code) == ((flags & 2) != 0);
@sets     }
@sets     return left == 0;
@sets }
@sets 
@window static inline $T $NAME_read($T value)
@window {
@window     const $T window = {window};
@window     return value >= -window && value <= window ? 0 : value;
@window }
@window 
@keys+!steps /* A whole number for each value, in the order of the values: both zeros have the same, and what is missing has the largest. */
@steps /* A whole number for each value, in the order of the values: both zeros have the same, and what is missing has one above that of infinity. */
@keys static $K $NAME_key($T value)
@keys {
@keys     $K bits;
@keys     memcpy(&bits, &value, sizeof bits);
@keys+!steps+f32_input     if ((bits & 0x7fffffffu) > 0x7f800000u) {
@keys+!steps+f64_input     if ((bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u) {
@keys+!steps         return ($K)~($K)0;
@keys+!steps     }
@keys+f32_input     if ((bits & 0x80000000u) == 0) {
@keys+f64_input     if ((bits & 0x8000000000000000u) == 0) {
@keys+f32_input         return bits | 0x80000000u;
@keys+f64_input         return bits | 0x8000000000000000u;
@keys     }
@steps+f32_input     if (bits > 0xff800000u) {
@steps+f64_input     if (bits > 0xfff0000000000000u) {
@steps         return ($K)~($K)0;
@steps     }
@keys+f32_input     return bits == 0x80000000u ? bits : ($K)~bits;
@keys+f64_input     return bits == 0x8000000000000000u ? bits : ($K)~bits;
@keys }
@keys 
@small static uint32_t $NAME_bits(const uint32_t *table, uint32_t at, uint32_t count)
@small {
@small     uint32_t shift = at & 31, word = table[at >> 5] >> shift;
@small     if (shift + count > 32) {
@small         word |= table[(at >> 5) + 1] << (32 - shift);
@small     }
@small     return word & (((uint32_t)1 << count) - 1);
@small }
@small 
@header static inline void $NAME_raw(const $T *row, $S *scores)
@!header void $NAME_raw(const $T *row, $S *scores);
@!header void $NAME_raw(const $T *row, $S *scores)
{
@!tests+!words     uint8_t bins[$NAME_BINS];
@words     uint32_t bins[$NAME_BINS];
@tests     uint16_t bins[$NAME_BINS];
@tests+numbers+!steps     uint16_t *ranks = bins + $NAME_NUMBER_BINS;
@steps     /* Where the bins are is read from memory, so that compilers keep it in a register. */
@tests+steps     uint16_t *volatile place_of_bins = bins;
@tests+steps     uint16_t *ranks = place_of_bins;
@tests+!numbers     const uint16_t *ranks = bins;
@words     uint32_t *volatile place_of_bins = bins;
@words     uint32_t *ranks = place_of_bins;
@numbers     uint32_t used;
@sets     uint32_t set;
@equals     uint32_t equal;
@trees+!words     uint32_t tree, leaf, next_leaf = 0;
@words     uint32_t tree;
@words     const uint32_t *next = $NAME_word;
@full     const uint16_t *tests = $NAME_node_test;
@splits+!full+!words     uint32_t node, next_node = 0;
@!single     uint32_t output;
@single     $S sum;
    (void)row;
    bins[0] = 0;
    (void)bins;
@keys+window     (void)$NAME_read;
@numbers+!tests+!words     for (used = 0; used < $NAME_USED; used++) {
@tests+numbers+!steps     /* From the last column to the first: the ranks are written downwards, and end where the bins start. */
@tests+numbers     for (used = $NAME_USED; used-- > 0;) {
@words     for (used = $NAME_USED; used-- > 0;) {
@numbers+window+!keys         $T value = $NAME_read(row[$NAME_used_feature[used]]);
@numbers+!window+!keys         $T value = row[$NAME_used_feature[used]];
@keys         $K value = $NAME_key(row[$NAME_used_feature[used]]);
@numbers+!steps         uint32_t start = $NAME_first_threshold[used], low = start, high = $NAME_first_threshold[used + 1];
@steps         uint32_t start = $NAME_first_threshold[used], low = 0;
@steps         uint32_t bin = $NAME_NUMBER_BINS == $NAME_USED ? used : $NAME_first_bin[used];
@steps         const $K *at = $NAME_threshold + start;
@numbers+zeros+!steps         uint32_t end = high;
@numbers+!tests+!words         uint32_t bin = $NAME_first_bin[used], end_bin = $NAME_first_bin[used + 1];
@tests+numbers+!steps         uint32_t bin = $NAME_first_bin[used + 1], first_bin = $NAME_first_bin[used];
@keys+window+f32_input         value = value >= {window_low} && value <= {window_high} ? 0x80000000u : value;
@keys+window+f64_input         value = value >= {window_low} && value <= {window_high} ? 0x8000000000000000u : value;
@numbers+!steps         while (low < high) {
@numbers+!steps             uint32_t middle = low + (high - low) / 2;
@numbers+!steps             if (value <= $NAME_threshold[middle]) {
@numbers+!steps                 high = middle;
@numbers+!steps             } else {
@numbers+!steps                 low = middle + 1;
@numbers+!steps             }
@numbers+!steps         }
@steps         if (at[0] < value) {
@steps             uint32_t count = $NAME_first_threshold[used + 1] - start, step = $NAME_step[used];
@steps             if (at[((uint32_t)1 << step) - 1] < value) {
@steps                 at += count + 1 - ((uint32_t)1 << step);
@steps             }
@steps             switch (step) {
@steps             default:
@steps                 do {
@steps                     step--;
@steps                     if (at[((uint32_t)1 << step) - 1] < value) {
@steps                         at += (uint32_t)1 << step;
@steps                     }
@steps                 } while (step > 7);
@steps                 /* fall through */
@steps             case 7:
@steps                 if (at[63] < value) {
@steps                     at += 64;
@steps                 }
@steps                 /* fall through */
@steps             case 6:
@steps                 if (at[31] < value) {
@steps                     at += 32;
@steps                 }
@steps                 /* fall through */
@steps             case 5:
@steps                 if (at[15] < value) {
@steps                     at += 16;
@steps                 }
@steps                 /* fall through */
@steps             case 4:
@steps                 if (at[7] < value) {
@steps                     at += 8;
@steps                 }
@steps                 /* fall through */
@steps             case 3:
@steps                 if (at[3] < value) {
@steps                     at += 4;
@steps                 }
@steps                 /* fall through */
@steps             case 2:
@steps                 if (at[1] < value) {
@steps                     at += 2;
@steps                 }
@steps                 /* fall through */
@steps             case 1:
@steps                 if (at[0] < value) {
@steps                     at += 1;
@steps                 }
@steps                 /* fall through */
@steps             case 0:
@steps                 break;
@steps             }
@steps             low = (uint32_t)(at - $NAME_threshold) - start;
@steps         }
@numbers+!tests+!words         for (; bin < end_bin; bin++) {
@tests+numbers+!steps         while (bin-- > first_bin) {
@steps         do {
@numbers+!steps             uint32_t rank = low - start;
@steps             uint32_t rank = low;
@keys+!steps             if (value == ($K)~($K)0 && ($NAME_bin_sides[bin] & 1) != 0) {
@steps+f32_input             if (value > 0xff800000u && ($NAME_bin_sides[bin] & 1) != 0) {
@steps+f64_input             if (value > 0xfff0000000000000u && ($NAME_bin_sides[bin] & 1) != 0) {
@numbers+!keys             if (value != value && ($NAME_bin_sides[bin] & 1) != 0) {
@numbers                 rank = 0;
@numbers             }
@zeros+keys+f32_input             if (value == 0x80000000u && ($NAME_bin_sides[bin] & 2) != 0) {
@zeros+keys+f64_input             if (value == 0x8000000000000000u && ($NAME_bin_sides[bin] & 2) != 0) {
@zeros+!keys             if (value == 0 && ($NAME_bin_sides[bin] & 2) != 0) {
@zeros+!steps                 rank = ($NAME_bin_sides[bin] & 4) != 0 ? 0 : end - start;
@zeros+steps                 rank = ($NAME_bin_sides[bin] & 4) != 0 ? 0 : $NAME_first_threshold[used + 1] - start;
@zeros             }
@chunks             rank = rank > $NAME_bin_start[bin] ? rank - $NAME_bin_start[bin] : 0;
@chunks             if (rank > 255) {
@chunks                 rank = 255;
@chunks             }
@numbers+!tests+!words             bins[bin] = (uint8_t)rank;
@tests+numbers+!steps             *--ranks = (uint16_t)(rank << 8);
@tests+steps             ranks[bin++] = (uint16_t)(rank << 8);
@words             ranks[bin++] = rank << 24;
@numbers+!steps         }
@steps         } while ($NAME_NUMBER_BINS != $NAME_USED && bin < $NAME_first_bin[used + 1]);
@numbers     }
@sets     for (set = 0; set < $NAME_SETS; set++) {
@sets+window         $T value = $NAME_read(row[$NAME_set_feature[set]]);
@sets+!window         $T value = row[$NAME_set_feature[set]];
@sets+!tests+!words         bins[$NAME_NUMBER_BINS + set] = $NAME_right_of_set(set, value);
@sets+words         bins[$NAME_NUMBER_BINS + set] = (uint32_t)$NAME_right_of_set(set, value) << 24;
@sets+tests         bins[$NAME_NUMBER_BINS + set] = (uint16_t)((uint32_t)$NAME_right_of_set(set, value) << 8);
@sets     }
@equals     for (equal = 0; equal < $NAME_EQUALS; equal++) {
@equals+window         $T value = $NAME_read(row[$NAME_equal_feature[equal]]);
@equals+!window         $T value = row[$NAME_equal_feature[equal]];
@equals         uint32_t left = value != value ? $NAME_equal_sides[equal] : value == $NAME_equal_value[equal];
@equals+!tests+!words         bins[$NAME_BINS - $NAME_EQUALS + equal] = left == 0;
@equals+words         bins[$NAME_BINS - $NAME_EQUALS + equal] = left == 0 ? 16777216 : 0;
@equals+tests         bins[$NAME_BINS - $NAME_EQUALS + equal] = left == 0 ? 256 : 0;
@equals     }
@single+!last     sum = $NAME_intercept[0];
@single+last     sum = 0;
@!single     for (output = 0; output < $NAME_OUTPUTS; output++) {
@!single+!last         scores[output] = $NAME_intercept[output];
@!single+last         scores[output] = 0;
@!single     }
@trees+!words     for (tree = 0; tree < $NAME_TREES; tree++) {
@words     for (tree = 0; next != $NAME_word + sizeof $NAME_word / sizeof $NAME_word[0]; tree++) {
@full         uint32_t place = 1, test;
@full         switch ($NAME_LEVELS) {
@full         case 8:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         case 7:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         case 6:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         case 5:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         case 4:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         case 3:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         case 2:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full             /* fall through */
@full         default:
@full             test = tests[place];
@full             place = 2 * place + ((test - ranks[test & 255]) >> 31);
@full         }
@full         tests += (uint32_t)1 << $NAME_LEVELS;
@full         leaf = next_leaf + place - ((uint32_t)1 << $NAME_LEVELS);
@full         next_leaf += (uint32_t)1 << $NAME_LEVELS;
@words         const uint32_t *at = next;
@words         uint32_t test;
@words         $S value;
@words         next += $NAME_size[tree];
@words         switch ($NAME_SURE) {
@words         case 4:
@words             test = *at++;
@words             if (ranks[test & 255] > test) {
@words                 at += test >> 10 & 0x3fff;
@words             }
@words             /* fall through */
@words         case 3:
@words             test = *at++;
@words             if (ranks[test & 255] > test) {
@words                 at += test >> 10 & 0x3fff;
@words             }
@words             /* fall through */
@words         case 2:
@words             test = *at++;
@words             if (ranks[test & 255] > test) {
@words                 at += test >> 10 & 0x3fff;
@words             }
@words             /* fall through */
@words         default:
@words             break;
@words         }
@words         for (;;) {
@words             test = *at++;
@words             if (ranks[test & 255] <= test) {
@words                 if ((test & 512) != 0) {
@words                     break;
@words                 }
@words             } else {
@words                 at += test >> 10 & 0x3fff;
@words                 if ((test & 256) != 0) {
@words                     break;
@words                 }
@words             }
@words         }
@words         memcpy(&value, at, sizeof value);
@trees+!full+!words         uint32_t inner = $NAME_inner[tree];
@trees+!full+!words         leaf = next_leaf;
@trees+!full+!words         next_leaf += inner + 1;
@splits+!full+!words         node = next_node;
@splits+!full+!words         next_node += inner;
@tests+!full         while (inner != 0) {
@tests+!full             uint32_t test = $NAME_node_test[node], skip = $NAME_node_skip[node];
@tests+!full             if (ranks[test & 255] > test) {
@tests+!full                 node += skip >> 1;
@tests+!full                 leaf += skip >> 1;
@tests+!full                 if ((skip & 1) != 0) {
@tests+!full                     break;
@tests+!full                 }
@tests+!full             } else {
@tests+!full                 node++;
@tests+!full                 if (skip < 4) {
@tests+!full                     break;
@tests+!full                 }
@tests+!full             }
@tests+!full         }
@splits+!tests+!words         while (inner != 0) {
@splits+!tests+!small+!words             uint32_t left = $NAME_node_left[node];
@splits+!tests+!small+!words             if (bins[$NAME_node_bin[node]] > $NAME_node_rank[node]) {
@small             const uint32_t width = {bin_bits} + {rank_bits} + {left_bits};
@small             uint32_t test = $NAME_bits($NAME_node_bits, node * width, width), left = test >> ({bin_bits} + {rank_bits});
@small             if (bins[test & (((uint32_t)1 << {bin_bits}) - 1)] > (test >> {bin_bits} & (((uint32_t)1 << {rank_bits}) - 1))) {
@splits+!tests+!words                 node += left;
@splits+!tests+!words                 leaf += left + 1;
@splits+!tests+!words                 inner -= left + 1;
@splits+!tests+!words             } else {
@splits+!tests+!words                 inner = left;
@splits+!tests+!words             }
@splits+!tests+!words             node++;
@splits+!tests+!words         }
@trees+single+!listed+!quantised+!words         sum += $NAME_leaf[leaf];
@words+single         sum += value;
@trees+single+quantised         sum += (int32_t)((uint32_t)$NAME_factor[tree] * $NAME_leaf[leaf]);
@trees+single+listed+!small         sum += $NAME_leaf[$NAME_leaf_index[leaf]];
@trees+single+listed+small         sum += $NAME_leaf[$NAME_bits($NAME_leaf_bits, leaf * {index_bits}, {index_bits})];
@trees+each+!listed+!quantised+!words         scores[$NAME_tree_output[tree]] += $NAME_leaf[leaf];
@words+each         scores[$NAME_tree_output[tree]] += value;
@trees+each+quantised         scores[$NAME_tree_output[tree]] += (int32_t)((uint32_t)$NAME_factor[tree] * $NAME_leaf[leaf]);
@trees+each+listed+!small         scores[$NAME_tree_output[tree]] += $NAME_leaf[$NAME_leaf_index[leaf]];
@trees+each+listed+small         scores[$NAME_tree_output[tree]] += $NAME_leaf[$NAME_bits($NAME_leaf_bits, leaf * {index_bits}, {index_bits})];
@trees+every         for (output = 0; output < $NAME_OUTPUTS; output++) {
@trees+every+!listed+!quantised             scores[output] += $NAME_leaf[leaf * $NAME_OUTPUTS + output];
@trees+every+quantised             scores[output] += (int32_t)((uint32_t)$NAME_factor[tree] * $NAME_leaf[leaf * $NAME_OUTPUTS + output]);
@trees+every+listed+!small             scores[output] += $NAME_leaf[$NAME_leaf_index[leaf * $NAME_OUTPUTS + output]];
@trees+every+listed+small             scores[output] += $NAME_leaf[$NAME_bits($NAME_leaf_bits, (leaf * $NAME_OUTPUTS + output) * {index_bits}, {index_bits})];
@trees+every         }
@trees     }
@single+last     sum += $NAME_intercept[0];
@single+!average_raw     scores[0] = sum;
@single+average_raw     scores[0] = ($S)((double)sum / {divisor});
@!single+last     for (output = 0; output < $NAME_OUTPUTS; output++) {
@!single+last         scores[output] += $NAME_intercept[output];
@!single+last     }
@!single+average_raw     for (output = 0; output < $NAME_OUTPUTS; output++) {
@!single+average_raw         scores[output] = ($S)((double)scores[output] / {divisor});
@!single+average_raw     }
}
@class 
@class+header static inline int $NAME_class(const $T *row)
@class+!header int $NAME_class(const $T *row);
@class+!header int $NAME_class(const $T *row)
@class {
@class     $S scores[$NAME_OUTPUTS];
@!threshold+class     int best = 0, output;
@softmax32     float exponential[$NAME_OUTPUTS], largest, total;
@softmax64     double exponential[$NAME_OUTPUTS], largest, total = 0;
@softmax32     double sum = 0;
@sigmoid     double sigmoid[$NAME_OUTPUTS];
@class     $NAME_raw(row, scores);
@average_class+threshold     scores[{group}] = ($S)((double)scores[{group}] / {divisor});
@average_class+!threshold     for (output = 0; output < $NAME_OUTPUTS; output++) {
@average_class+!threshold         scores[output] = ($S)((double)scores[output] / {divisor});
@average_class+!threshold     }
@threshold+quantised     return scores[{group}] >= {limit};
@threshold+strict     return scores[{group}] > {threshold};
@threshold+!strict+!quantised     return scores[{group}] >= {threshold};
@argmax     for (output = 1; output < $NAME_OUTPUTS; output++) {
@argmax         best = scores[output] > scores[best] ? output : best;
@argmax     }
@softmax32     largest = (float)scores[0];
@softmax64     largest = scores[0];
@softmax32     for (output = 1; output < $NAME_OUTPUTS; output++) {
@softmax32         largest = (float)scores[output] > largest ? (float)scores[output] : largest;
@softmax32     }
@softmax64     for (output = 1; output < $NAME_OUTPUTS; output++) {
@softmax64         largest = scores[output] > largest ? scores[output] : largest;
@softmax64     }
@softmax32     for (output = 0; output < $NAME_OUTPUTS; output++) {
@softmax32         exponential[output] = expf((float)scores[output] - largest);
@softmax32         sum += (double)exponential[output];
@softmax32     }
@softmax32     total = (float)sum;
@softmax64     for (output = 0; output < $NAME_OUTPUTS; output++) {
@softmax64         exponential[output] = exp(scores[output] - largest);
@softmax64         total += exponential[output];
@softmax64     }
@softmax32     for (output = 0; output < $NAME_OUTPUTS; output++) {
@softmax32         exponential[output] = exponential[output] / total;
@softmax32         best = exponential[output] > exponential[best] ? output : best;
@softmax32     }
@softmax64     for (output = 0; output < $NAME_OUTPUTS; output++) {
@softmax64         exponential[output] = exponential[output] / total;
@softmax64         best = exponential[output] > exponential[best] ? output : best;
@softmax64     }
@sigmoid     for (output = 0; output < $NAME_OUTPUTS; output++) {
@sigmoid         sigmoid[output] = 1.0 / (1.0 + exp(-{scale} * (double)scores[output]));
@sigmoid         best = sigmoid[output] > sigmoid[best] ? output : best;
@sigmoid     }
@!threshold+class     return best;
@class }
@probabilities 
@probabilities+header static inline void $NAME_probabilities(const $T *row, $P *probabilities)
@probabilities+!header void $NAME_probabilities(const $T *row, $P *probabilities);
@probabilities+!header void $NAME_probabilities(const $T *row, $P *probabilities)
@probabilities {
@probabilities     $S sums[$NAME_OUTPUTS];
@probabilities     $P scores[$NAME_CLASSES];
@probabilities     int output;
@p_softmax32     float largest, total;
@p_softmax32     double sum = 0;
@p_softmax64     double largest, total = 0;
@probabilities     $NAME_raw(row, sums);
@probabilities     for (output = 0; output < $NAME_OUTPUTS; output++) {
@probabilities+!quantised+!average_class         scores[output] = ($P)sums[output];
@probabilities+!quantised+average_class         scores[output] = ($P)($S)((double)sums[output] / {divisor});
@probabilities+quantised         scores[output] = ($P)((double)sums[output] * $NAME_UNIT);
@probabilities     }
@p_divided+single     scores[1] = scores[0];
@p_divided+single     scores[0] = -scores[0];
@p_divided     for (output = 0; output < $NAME_CLASSES; output++) {
@p_divided         scores[output] = scores[output] / {link_divisor};
@p_divided     }
@p_logistic32     probabilities[1] = 1.0f / (expf(-scores[0] < 88.7f ? -scores[0] : 88.7f) + 1.0f + 1e-16f);
@p_logistic32     probabilities[0] = 1.0f - probabilities[1];
@p_logistic64     probabilities[1] = 1.0 / (1.0 + exp(-{link_scale} * scores[0]));
@p_logistic64     probabilities[0] = 1.0 - probabilities[1];
@p_each     for (output = 0; output < $NAME_CLASSES; output++) {
@p_each         probabilities[output] = 1.0 / (1.0 + exp(-{link_scale} * scores[output]));
@p_each     }
@p_identity     for (output = 0; output < $NAME_CLASSES; output++) {
@p_identity         probabilities[output] = scores[output];
@p_identity     }
@p_softmax32     largest = scores[0];
@p_softmax64     largest = scores[0];
@p_softmax32     for (output = 1; output < $NAME_CLASSES; output++) {
@p_softmax32         largest = scores[output] > largest ? scores[output] : largest;
@p_softmax32     }
@p_softmax64     for (output = 1; output < $NAME_CLASSES; output++) {
@p_softmax64         largest = scores[output] > largest ? scores[output] : largest;
@p_softmax64     }
@p_softmax32     for (output = 0; output < $NAME_CLASSES; output++) {
@p_softmax32         probabilities[output] = expf(scores[output] - largest);
@p_softmax32         sum += (double)probabilities[output];
@p_softmax32     }
@p_softmax32     total = (float)sum;
@p_softmax64     for (output = 0; output < $NAME_CLASSES; output++) {
@p_softmax64         probabilities[output] = exp(scores[output] - largest);
@p_softmax64         total += probabilities[output];
@p_softmax64     }
@p_softmax32     for (output = 0; output < $NAME_CLASSES; output++) {
@p_softmax32         probabilities[output] = probabilities[output] / total;
@p_softmax32     }
@p_softmax64     for (output = 0; output < $NAME_CLASSES; output++) {
@p_softmax64         probabilities[output] = probabilities[output] / total;
@p_softmax64     }
@probabilities }
@header #ifdef __cplusplus
@header }
@header #endif
@header #endif
