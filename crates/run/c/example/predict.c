/* Predicts one row with a packed model: predict MODEL.spk VALUE...
 * Prints the raw scores with all their digits, and then the class, a regressor's prediction, or the
 * labels that the row gets. */
#include <stdio.h>
#include <stdlib.h>

#include "secateur_runtime.h"

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        long end = ftell(file);
        rewind(file);
        if (end >= 0 && (bytes = malloc((size_t)end + 1)) != NULL) {
            *length = fread(bytes, 1, (size_t)end, file);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

int main(int count, char **words) {
    char message[200];
    secateur_model *model = NULL;
    size_t length = 0;
    uint8_t *bytes = count > 1 ? read_file(words[1], &length) : NULL;
    if (bytes == NULL) {
        fprintf(stderr, "usage: predict MODEL.spk VALUE...\n");
        return 2;
    }
    int code = secateur_load(bytes, length, &model, message, sizeof message);
    free(bytes);
    if (code != SECATEUR_OK) {
        fprintf(stderr, "%s\n", message);
        return code;
    }
    size_t features = secateur_features(model), outputs = secateur_outputs(model);
    if ((size_t)count - 2 != features) {
        fprintf(stderr, "the model has %zu columns\n", features);
        secateur_free(model);
        return 2;
    }
    double *row = malloc(features * sizeof *row), *scores = malloc(outputs * sizeof *scores);
    for (size_t i = 0; i < features; i++) {
        row[i] = strtod(words[i + 2], NULL);
    }
    uint32_t class = 0;
    double *values = malloc(outputs * sizeof *values);
    code = secateur_raw_scores_f64(model, row, 1, features, 1, 1, scores, message, sizeof message);
    if (code == SECATEUR_OK && secateur_classes(model) > 0) {
        code = secateur_decide(model, scores, 1, &class, message, sizeof message);
    } else if (code == SECATEUR_OK) {
        code = secateur_values(model, scores, 1, values, message, sizeof message);
    }
    if (code == SECATEUR_OK) {
        for (size_t i = 0; i < outputs; i++) {
            printf("%.17g\n", scores[i]);
        }
        if (secateur_classes(model) > 0) {
            printf("class %u\n", (unsigned)class);
        }
        for (size_t i = 0; secateur_classes(model) == 0 && i < outputs; i++) {
            printf("value %.17g\n", values[i]);
        }
        code = secateur_self_test(model, message, sizeof message);
    }
    if (code != SECATEUR_OK) {
        fprintf(stderr, "%s\n", message);
    }
    free(row);
    free(scores);
    free(values);
    secateur_free(model);
    return code;
}
