/* One row at a time, called from C: nanoseconds of processor time for a row. Each function takes the peer's own entry point, so that no
 * predictor pays for Python. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

typedef int (*packed_f64)(const void *, const double *, size_t, size_t, size_t, size_t, double *, char *, size_t);
typedef int (*packed_f32)(const void *, const float *, size_t, size_t, size_t, size_t, double *, char *, size_t);

double time_packed_f64(packed_f64 predict, const void *model, const double *rows, size_t count, size_t width, double *out) {
    double start = now();
    for (size_t row = 0; row < count; row++) {
        predict(model, rows + row * width, 1, width, 1, 1, out, NULL, 0);
    }
    return (now() - start) / (double)count;
}

double time_packed_f32(packed_f32 predict, const void *model, const float *rows, size_t count, size_t width, double *out) {
    double start = now();
    for (size_t row = 0; row < count; row++) {
        predict(model, rows + row * width, 1, width, 1, 1, out, NULL, 0);
    }
    return (now() - start) / (double)count;
}

/* tl2cgen adds to the result; an entry is as large as the model's float type. */
double time_tl2cgen(void (*predict)(void *, int, void *), char *rows, size_t count, size_t width, size_t size, void *out,
                    size_t outputs) {
    double start = now();
    for (size_t row = 0; row < count; row++) {
        memset(out, 0, outputs * size);
        predict(rows + row * width * size, 1, out);
    }
    return (now() - start) / (double)count;
}

double time_lleaves(void (*predict)(const double *, double *, int32_t, int32_t), const double *rows, size_t count, size_t width,
                    double *out) {
    double start = now();
    for (size_t row = 0; row < count; row++) {
        predict(rows + row * width, out, 0, 1);
    }
    return (now() - start) / (double)count;
}

/* YDF's standalone code takes rows of floats. */
void run_standalone(void (*predict)(const float *, float *), const float *rows, size_t count, size_t width, size_t outputs, float *out) {
    for (size_t row = 0; row < count; row++) {
        predict(rows + row * width, out + row * outputs);
    }
}

double time_standalone(void (*predict)(const float *, float *), const float *rows, size_t count, size_t width, size_t outputs, float *out) {
    double start = now();
    run_standalone(predict, rows, count, width, outputs, out);
    return (now() - start) / (double)count;
}
