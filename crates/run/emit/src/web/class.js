/** The names of the columns, in the order of the numbers of a row. */
$EXPORTconst columns = $COLUMNS;
/** The labels of the classes; null for a model that has none (a regressor). */
$EXPORTconst classes = $CLASSES;
/** Which values the model's own library takes beside numbers: missing values, and infinities. */
$EXPORTconst accepts = { missing: $MISSING, infinities: $INFINITIES };

/** The model. A row is an array with a number for each column; null, undefined and NaN are missing values. */
$EXPORTclass Model {
  #module;

  constructor(module) {
    this.#module = module;
  }

  /** $RAW */
  raw(row) {
    this.#put(row);
    this.#module.raw();
    return new Float64Array(this.#module.memory.buffer, this.#module.scores(), this.#module.outputs()).slice();
  }

  /** The position of the class of a row in `classes`. */
  class(row) {
    if (classes === null) {
      throw new TypeError("this model has no classes: raw(row) gives its scores");
    }
    this.#put(row);
    return this.#module.class();
  }

  /** The label of the class of a row. */
  predict(row) {
    return classes[this.class(row)];
  }

  /** $PROBABILITIES
  }

  #put(row) {
    if (row.length !== columns.length) {
      throw new RangeError(`a row has ${columns.length} numbers, and this one has ${row.length}`);
    }
    const place = new Float64Array(this.#module.memory.buffer, this.#module.row(), columns.length);
    for (let at = 0; at < columns.length; at++) {
      const value = row[at] ?? NaN;
      if (typeof value !== "number") {
        throw new TypeError(`${columns[at]}: ${String(value)} is not a number`);
      }
      if (Number.isNaN(value) && !accepts.missing) {
        throw new RangeError(`${columns[at]}: this model takes no missing values`);
      }
      if (!Number.isNaN(value) && !Number.isFinite($ROUND(value)) && !accepts.infinities) {
        throw new RangeError(`${columns[at]}: this model takes no infinite values`);
      }
      place[at] = value;
    }
  }
}
