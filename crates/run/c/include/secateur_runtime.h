/* Packed tree ensembles (.spk files): predictions with exactly the bits of the library that a model
 * came from.
 *
 * Link with libsecateur_c.a or libsecateur_c.so, and with -lm. Every function may be called from
 * several threads at the same time; a model never changes. Functions that can fail return a code (0
 * is success) and write a message, with a zero at its end, into `message` if that is not NULL;
 * `room` is its size in bytes. There is no global state, and no function keeps a pointer that the
 * caller passed.
 */
#ifndef SECATEUR_RUNTIME_H
#define SECATEUR_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SECATEUR_OK = 0,
    SECATEUR_BAD_ARGUMENT = 1, /* a NULL pointer, or sizes that do not fit */
    SECATEUR_BAD_FILE = 2,     /* the bytes are not a packed model */
    SECATEUR_BAD_INPUT = 3,    /* the model's library would refuse a value, or the model has no such output */
    /* A fault of the runtime itself. A library without Rust's standard library ends the program
     * instead. */
    SECATEUR_FAILED = 4
};

typedef struct secateur_model secateur_model;

/* Reads a packed model from the bytes of its file, which are not needed afterwards. Free it with
 * secateur_free. */
int secateur_load(const uint8_t *bytes, size_t length, secateur_model **model, char *message, size_t room);
void secateur_free(secateur_model *model);

size_t secateur_features(const secateur_model *model); /* number of columns of a row */
size_t secateur_outputs(const secateur_model *model);  /* number of raw scores of a row */
/* The number of classes; 0 for a regressor or ranker, and if a row may get several labels. */
size_t secateur_classes(const secateur_model *model);

/* Computes the raw scores of `count` rows, `outputs` numbers for each, one row after the other.
 * Value (r, c) of the table is rows[r * row_stride + c * column_stride]; if rows follow one another,
 * the strides are `features` and 1. A missing value is NaN. `threads` is the number of threads that
 * share the rows (a library that was built without threads uses one); the bits do not depend on it.
 * If a model adds in float, its scores are converted to double without loss. */
int secateur_raw_scores_f32(const secateur_model *model, const float *rows, size_t count, size_t row_stride,
                            size_t column_stride, size_t threads, double *scores, char *message, size_t room);
int secateur_raw_scores_f64(const secateur_model *model, const double *rows, size_t count, size_t row_stride,
                            size_t column_stride, size_t threads, double *scores, char *message, size_t room);

/* Computes from raw scores the class of each row, as an index 0, 1, ..., or the probability of each
 * class, `classes` numbers for each row. */
int secateur_decide(const secateur_model *model, const double *scores, size_t count, uint32_t *classes, char *message,
                    size_t room);
int secateur_probabilities(const secateur_model *model, const double *scores, size_t count, double *probabilities,
                           char *message, size_t room);

/* Computes from raw scores what a regressor's or ranker's own `predict` returns, `outputs` numbers
 * for each row. If a row may get several labels, the number is 1 for each label that it gets, else 0.
 * Values have the library's bits, unless they end in the exponential function, whose last bits differ
 * between machines. */
int secateur_values(const secateur_model *model, const double *scores, size_t count, double *values, char *message,
                    size_t room);

/* Computes from raw scores the probability of each label, if a row may get several: `outputs` numbers
 * for each row. */
int secateur_label_probabilities(const secateur_model *model, const double *scores, size_t count, double *probabilities,
                                 char *message, size_t room);

/* Predicts rows that reach every leaf and threshold, on every instruction set of this machine.
 * Returns 0 if all give the bits in the file. */
int secateur_self_test(const secateur_model *model, char *message, size_t room);

#ifdef __cplusplus
}
#endif
#endif
