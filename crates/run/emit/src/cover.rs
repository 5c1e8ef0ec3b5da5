//! The cover test: a C program that predicts rows which reach every leaf and threshold, and
//! compares every bit.

use secateur_model::{Decision, Ensemble, NumberType};
use secateur_source::Language;

use crate::EmitError;
use crate::write::float;

/// Rows with their expected results.
#[derive(Clone, Copy, Debug)]
pub struct CoverRows<'a> {
    /// One row after the other.
    pub rows: &'a [f64],
    /// The expected results of the functions, for each row.
    pub expected: Expected<'a>,
    /// The class of each row; empty if there are no classes.
    pub classes: &'a [u32],
}

/// Rows as changes to the row before; the first one changes a row of zeros.
pub(crate) struct Changes {
    /// The number of changes of each row.
    pub(crate) counts: Vec<u32>,
    /// The column of each change.
    pub(crate) features: Vec<u32>,
    /// The value of each change.
    pub(crate) values: Vec<f64>,
}

impl CoverRows<'_> {
    /// The rows as changes, in numbers of the type `input`; a row has `width` columns.
    pub(crate) fn changes(&self, width: usize, input: NumberType) -> Changes {
        let mut changes = Changes { counts: Vec::new(), features: Vec::new(), values: Vec::new() };
        let mut before = vec![0f64; width];
        for row in self.rows.chunks(width) {
            let known = changes.values.len();
            for (feature, (&value, before)) in row.iter().zip(&mut before).enumerate() {
                let value = input.round(value);
                if value.to_bits() != before.to_bits() {
                    changes.features.push(feature as u32);
                    changes.values.push(value);
                    *before = value;
                }
            }
            changes.counts.push((changes.values.len() - known) as u32);
        }
        changes
    }
}

/// The expected results of a row.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// Raw scores, bit for bit.
    Scores(&'a [f64]),
    /// The whole-number sums of quantised leaves.
    Sums(&'a [i32]),
}

impl Expected<'_> {
    /// Should the test compare classes? Not if an exponential function decides: the last bits of
    /// that function are the target's own.
    pub(crate) fn compares_classes(self, model: &Ensemble) -> bool {
        match self {
            Self::Scores(_) => matches!(model.decision(), Decision::Threshold { .. } | Decision::Argmax),
            Self::Sums(_) => model.decision().is_classifier(),
        }
    }
}

/// A C program that includes `header` (the declarations, or a model that is a header itself) and
/// tests the model on the machine on which it runs. It prints the result and returns 0 if every bit
/// is right, 1 otherwise. A target without `main` or `printf` defines `NAME_NO_MAIN` and calls
/// `NAME_test`, which returns the number of wrong rows.
pub fn cover_test(
    model: &Ensemble,
    name: &str,
    header: &str,
    cover: &CoverRows<'_>,
) -> Result<String, EmitError> {
    let (input, sums) = (model.intake().number, model.accumulation().number);
    let (width, outputs) = (model.features().len().max(1), model.group_count());
    let count = cover.rows.len() / width;
    let Changes { counts: changes, features, values } = cover.changes(width, input);
    let values: Vec<String> = values.into_iter().map(|value| float(Language::C, value, input)).collect();
    let bits = |&score: &f64| match sums {
        NumberType::F32 => format!("0x{:08x}u", (score as f32).to_bits()),
        NumberType::F64 => format!("0x{:016x}u", score.to_bits()),
    };
    let c_input = c_float(input);
    let (word, c_sums, expected): (_, _, Vec<String>) = match (cover.expected, sums) {
        (Expected::Sums(sums), _) => ("int32_t", "int32_t", sums.iter().map(i32::to_string).collect()),
        (Expected::Scores(scores), NumberType::F32) => {
            ("uint32_t", "float", scores.iter().map(bits).collect())
        }
        (Expected::Scores(scores), NumberType::F64) => {
            ("uint64_t", "double", scores.iter().map(bits).collect())
        }
    };
    let given = match cover.expected {
        Expected::Sums(_) => "the sums that\n * its tables give",
        Expected::Scores(_) => "the bits that\n * the model's own library gives",
    };
    let classes = cover.expected.compares_classes(model);
    let own = |table: &str| format!("{name}_test_{table}");
    let mut text = format!(
        "/* The cover test of a model that secateur packed: rows that reach every leaf and threshold, with {given}.\n \
         * Compile it with the model and run it on the target: it returns 0 where all bits\n \
         * are right. Without a console, define {name}_NO_MAIN and call {name}_test, which returns the number of wrong rows.\n */\n\
         #include <math.h>\n#include <stdint.h>\n#include <string.h>\n#ifndef {name}_NO_MAIN\n#include <stdio.h>\n#endif\n#include \"{header}\"\n\n\
         #define {name}_TEST_ROWS {count}\n"
    );
    table(
        &mut text,
        integer_type(&changes),
        &own("changes"),
        &changes.iter().map(u32::to_string).collect::<Vec<_>>(),
    );
    table(
        &mut text,
        integer_type(&features),
        &own("feature"),
        &features.iter().map(u32::to_string).collect::<Vec<_>>(),
    );
    table(&mut text, c_input, &own("value"), &values);
    table(&mut text, word, &own("expected"), &expected);
    if classes {
        table(
            &mut text,
            integer_type(cover.classes),
            &own("expected_class"),
            &cover.classes.iter().map(u32::to_string).collect::<Vec<_>>(),
        );
    }
    let compare_class = if classes {
        format!("        right = right && (uint32_t){name}_class(row) == {name}_test_expected_class[at];\n")
    } else {
        String::new()
    };
    text += &format!(
        "
unsigned long {name}_test(void);
unsigned long {name}_test(void)
{{
    static {c_input} row[{width}];
    {c_sums} scores[{outputs}];
    unsigned long at, change = 0, wrong = 0;
    memset(row, 0, sizeof row);
    for (at = 0; at < {name}_TEST_ROWS; at++) {{
        unsigned long output, end = change + {name}_test_changes[at];
        int right = 1;
        for (; change < end; change++) {{
            row[{name}_test_feature[change]] = {name}_test_value[change];
        }}
        {name}_raw(row, scores);
        for (output = 0; output < {outputs}; output++) {{
            {word} bits;
            memcpy(&bits, &scores[output], sizeof bits);
            right = right && bits == {name}_test_expected[at * {outputs} + output];
        }}
{compare_class}        wrong += !right;
    }}
    return wrong;
}}

#ifndef {name}_NO_MAIN
int main(void)
{{
    unsigned long wrong = {name}_test();
    printf(\"%lu of %d rows have other bits\\n\", wrong, {name}_TEST_ROWS);
    return wrong != 0;
}}
#endif
"
    );
    Ok(text)
}

fn c_float(number: NumberType) -> &'static str {
    match number {
        NumberType::F32 => "float",
        NumberType::F64 => "double",
    }
}

fn integer_type(values: &[u32]) -> &'static str {
    match values.iter().max() {
        None | Some(0..=0xff) => "uint8_t",
        Some(0x100..=0xffff) => "uint16_t",
        Some(_) => "uint32_t",
    }
}

/// Writes a table. An empty one gets a zero, since C has no empty tables.
fn table(text: &mut String, kind: &str, name: &str, tokens: &[String]) {
    let zero = ["0".to_owned()];
    let tokens = if tokens.is_empty() { &zero } else { tokens };
    *text += &format!("static const {kind} {name}[{}] = {{\n", tokens.len());
    for line in tokens.chunks(12) {
        *text += &line.join(", ");
        *text += ",\n";
    }
    *text += "};\n";
}

/// A Rust program that tests the module in the file `module` on the machine on which it runs. It
/// prints the result and ends with 0 if every bit is right, 1 otherwise.
pub fn rust_cover_test(model: &Ensemble, module: &str, cover: &CoverRows<'_>) -> String {
    let (input, sums) = (model.intake().number, model.accumulation().number);
    let (width, outputs) = (model.features().len().max(1), model.group_count());
    let count = cover.rows.len() / width;
    let bits = |number: NumberType, values: &[f64]| -> Vec<String> {
        let one = |&value: &f64| match number {
            NumberType::F32 => format!("0x{:08x}", (value as f32).to_bits()),
            NumberType::F64 => format!("0x{:016x}", value.to_bits()),
        };
        values.iter().map(one).collect()
    };
    let of = |number: NumberType| match number {
        NumberType::F32 => ("f32", "u32"),
        NumberType::F64 => ("f64", "u64"),
    };
    let ((float, word), (_, expected_word)) = (of(input), of(sums));
    let classes = cover.expected.compares_classes(model);
    let (given, own_bits) = match cover.expected {
        Expected::Sums(_) => ("the sums that\n//! its tables give", "*score"),
        Expected::Scores(_) => ("the bits that\n//! the model's own library gives", "score.to_bits()"),
    };
    let mut text = format!(
        "//! The cover test of a model that secateur packed: rows that reach every leaf and threshold, with {given}. It ends with 0 where all bits are right.\n\n#[allow(dead_code)]\n#[path = {module:?}]\nmod model;\n\n"
    );
    let mut table = |name: &str, kind: &str, tokens: &[String]| {
        text += &format!("static {name}: [{kind}; {}] = [\n", tokens.len());
        for line in tokens.chunks(12) {
            text += &line.join(", ");
            text += ",\n";
        }
        text += "];\n";
    };
    table("ROWS", word, &bits(input, cover.rows));
    match cover.expected {
        Expected::Scores(scores) => table("EXPECTED", expected_word, &bits(sums, scores)),
        Expected::Sums(sums) => {
            table("EXPECTED", "i32", &sums.iter().map(i32::to_string).collect::<Vec<_>>());
        }
    }
    if classes {
        table("CLASSES", "usize", &cover.classes.iter().map(u32::to_string).collect::<Vec<_>>());
    }
    let class = if classes { "        right &= model::class(&row) == CLASSES[at];\n" } else { "" };
    text + &format!(
        "
/// The number of rows with other bits.
pub fn test() -> usize {{
    let mut wrong = 0;
    for at in 0..{count} {{
        let row: [{float}; {width}] = core::array::from_fn(|column| {float}::from_bits(ROWS[at * {width} + column]));
        let scores = model::raw(&row);
        let mut right = true;
        for (output, score) in scores.iter().enumerate() {{
            right &= {own_bits} == EXPECTED[at * {outputs} + output];
        }}
{class}        wrong += usize::from(!right);
    }}
    wrong
}}

fn main() {{
    let wrong = test();
    println!(\"{{wrong}} of {count} rows have other bits\");
    std::process::exit(i32::from(wrong != 0));
}}
"
    )
}
