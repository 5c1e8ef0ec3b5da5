//! Writes tables and numbers into the fixed text.

use std::fmt::Write;

use secateur_certificate::Digest;
use secateur_formats::Link;
use secateur_model::{Ensemble, NumberType};
use secateur_source::{
    Entries, Head, Language, Line, Piece, first_line, is_name, lines, table_end, table_start, unsigned,
    wasm_module,
};

use crate::EmitError;
use crate::quantise::LeafBits;
use crate::tables::{NodeLayout, Tables};

/// The kind of file to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// A C99 file with two functions; [`declarations`] makes its header.
    C,
    /// A C99 header that contains everything; its functions are `static inline`.
    Header,
    /// A Rust module that needs only `core`. Its functions are always called `raw` and `class`.
    Rust,
    /// A WebAssembly module without imports. Its functions are always called `raw` and `class`;
    /// [`crate::wrapper`] and [`crate::page`] make files for it.
    Wasm,
}

/// How a model is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style<'a> {
    /// The kind of file.
    pub form: Form,
    /// The prefix of the functions' names.
    pub name: &'a str,
    /// Quantises the leaves to small whole numbers. Without this they are unchanged, and scores
    /// have the library's bits.
    pub leaves: Option<LeafBits>,
    /// Compares values with thresholds as whole numbers, for targets that compute floats in
    /// software.
    pub keys: bool,
    /// The layout of inner nodes.
    pub nodes: NodeLayout,
    /// Adds a function for probabilities, computed from scores by this rule of the model's library.
    pub probabilities: Option<Link>,
}

/// A model as source.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// The source, or the WebAssembly module.
    pub bytes: Vec<u8>,
    /// Bytes of the tables once they are compiled; of a WebAssembly module, all of its bytes.
    pub table_bytes: usize,
}

/// Writes a model as source. `notes` are lines for readers in the comment at the head; characters
/// that are not ASCII or could end the comment become underscores.
pub fn emit(model: &Ensemble, style: Style<'_>, notes: &[String]) -> Result<Emitted, EmitError> {
    let (layout, head) = laid_out(model, style)?;
    let mut text = first_line(head.language) + "\n";
    let parts: Vec<&str> = head.parts.iter().copied().collect();
    let name = &head.name;
    text += &format!(" * name: {name}\n * parts: {}\n * source: {}\n", parts.join(" "), Digest::of(model));
    for note in notes {
        text += &format!(" * {}\n", plain(note));
    }
    text += " */\n";
    if style.form == Form::Wasm {
        let module = wasm_module(&text, &head, &layout.data());
        let bytes = module.ok_or(EmitError::TooLarge("WebAssembly has addresses for 2^31 bytes"))?;
        return Ok(Emitted { table_bytes: bytes.len(), bytes });
    }
    let mut table_bytes = 0;
    for line in lines(&head) {
        match line {
            Line::Text(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Text(piece) => text += &piece,
                        Piece::Number(name) => text += &number(head.language, &layout, name),
                    }
                }
                text.push('\n');
            }
            Line::Table { name, entries } => table_bytes += table(&mut text, &head, &layout, name, entries),
        }
    }
    Ok(Emitted { bytes: text.into_bytes(), table_bytes })
}

/// The first line of every header that [`declarations`] makes.
pub const DECLARATIONS_START: &str =
    "/* Declarations of a tree ensemble that secateur packed as C99. Do not edit.";

/// The header for a [`Form::C`] file. `notes` are lines for readers, as in [`emit`].
pub fn declarations(model: &Ensemble, style: Style<'_>, notes: &[String]) -> Result<String, EmitError> {
    let name = style.name;
    let (layout, head) = laid_out(model, Style { form: Form::C, ..style })?;
    let input = head.language.float(head.input());
    let (sums, written) = match head.sums() {
        Entries::Float(number) => {
            (head.language.float(number), "raw scores with the bits of the model's own library".to_owned())
        }
        _ => {
            let unit = float(Language::C, layout.numbers["unit"].0, NumberType::F64);
            (head.language.signed(), format!("sums; a score is its sum times {name}_UNIT, {unit}"))
        }
    };
    let mut text = format!(
        "{DECLARATIONS_START}
 *
 * A row has {name}_FEATURES numbers, in the order of the model's columns; a missing value is NaN.
 * {name}_raw writes {name}_OUTPUTS {written}.
"
    );
    if head.has("class") {
        text += &format!(" * {name}_class returns the position of the class among the model's classes.\n");
    }
    if head.has("probabilities") {
        text += &format!(
            " * {name}_probabilities writes the probability of each of {name}_CLASSES classes; its last bits are those of the target's exp.\n"
        );
    }
    for note in notes {
        text += &format!(" * {}\n", plain(note));
    }
    let unit = match layout.numbers.get("unit") {
        Some(&(unit, number)) => {
            format!("#define {name}_UNIT {}\n\n#include <stdint.h>\n", float(Language::C, unit, number))
        }
        None => String::new(),
    };
    let classes = match layout.counts.get("classes") {
        Some(classes) => format!("#define {name}_CLASSES {classes}\n"),
        None => String::new(),
    };
    text += &format!(
        " */
#ifndef {name}_DECLARED
#define {name}_DECLARED

#define {name}_FEATURES {}
#define {name}_OUTPUTS {}
{classes}{unit}
#ifdef __cplusplus
extern \"C\" {{
#endif
void {name}_raw(const {input} *row, {sums} *scores);
",
        layout.counts["features"], layout.counts["outputs"]
    );
    if head.has("class") {
        text += &format!("int {name}_class(const {input} *row);\n");
    }
    if head.has("probabilities") {
        let own = head.language.float(head.probabilities());
        text += &format!("void {name}_probabilities(const {input} *row, {own} *probabilities);\n");
    }
    text += "#ifdef __cplusplus\n}\n#endif\n#endif\n";
    Ok(text)
}

/// The tables, and the head of the file that describes them.
fn laid_out(model: &Ensemble, style: Style<'_>) -> Result<(Tables, Head), EmitError> {
    let Style { form, name, leaves, keys, nodes, probabilities } = style;
    if !is_name(name) {
        return Err(EmitError::Name(name.to_owned()));
    }
    let mut layout = Tables::new(model, leaves)?;
    if form == Form::Wasm {
        // A module has no function for probabilities; the wrapper computes them if the model has
        // any.
        if probabilities == Some(Link::None) {
            return Err(EmitError::NoProbabilities);
        }
        match (keys, nodes) {
            (true, _) => return Err(EmitError::Keys),
            (false, NodeLayout::Small | NodeLayout::Fast) => return Err(EmitError::Layout),
            (false, NodeLayout::Compact) => {}
        }
    } else {
        layout.arrange(nodes)?;
        if let Some(link) = probabilities {
            layout.probabilities(model, link)?;
        }
    }
    let mut parts = layout.parts.clone();
    if (keys || nodes == NodeLayout::Fast) && parts.contains("numbers") {
        parts.insert("keys");
    }
    if form == Form::Header {
        parts.insert("header");
    }
    let (language, name) = match form {
        Form::C | Form::Header => (Language::C, name),
        Form::Rust => (Language::Rust, "model"),
        Form::Wasm => (Language::Wasm, "model"),
    };
    Ok((layout, Head { language, name: name.to_owned(), parts }))
}

/// Replaces all characters of a note that a compiler could misread.
pub(crate) fn plain(note: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || " _.,:;()=+-<>%'".contains(letter);
    note.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect()
}

fn number(language: Language, layout: &Tables, name: &str) -> String {
    if let Some(limit) = layout.limit.filter(|_| name == "limit") {
        return limit.to_string();
    }
    if let Some(&(window, number)) = layout.numbers.get("window") {
        match name {
            "window_low" => return key(language, -window, number),
            "window_high" => return key(language, window, number),
            _ => {}
        }
    }
    match (layout.counts.get(name), layout.numbers.get(name)) {
        (Some(count), _) => count.to_string(),
        // The Rust text computes with these numbers as f64, even if f32 would suffice.
        (None, Some(&(value, _))) if language == Language::Rust && name != "window" => {
            float(language, value, NumberType::F64)
        }
        (None, Some(&(value, number))) => float(language, value, number),
        (None, None) => unreachable!("the layout has every number of the text"),
    }
}

/// Writes a table; returns how many bytes it has once it is compiled.
fn table(text: &mut String, head: &Head, layout: &Tables, name: &'static str, entries: Entries) -> usize {
    let of_float = |number| if number == NumberType::F32 { 4 } else { 8 };
    let (kind, size, tokens): (&str, usize, Vec<String>) = match entries {
        Entries::Float(number) => {
            let token = |&value: &f64| float(head.language, value, number);
            let tokens = layout.floats[name].iter().map(token).collect();
            (head.language.float(number), of_float(number), tokens)
        }
        Entries::Key(number) => {
            let token = |&value: &f64| key(head.language, value, number);
            let tokens = layout.floats[name].iter().map(token).collect();
            (head.language.key(number), of_float(number), tokens)
        }
        Entries::Signed => {
            (head.language.signed(), 4, layout.signed[name].iter().map(i32::to_string).collect())
        }
        Entries::Half | Entries::Word => {
            let size = if entries == Entries::Half { 1 } else { 2 };
            let kind = unsigned(head.language)[size].0;
            (kind, 1 << size, layout.integers[name].iter().map(u32::to_string).collect())
        }
        Entries::Unsigned => {
            let values = &layout.integers[name];
            let largest = u64::from(values.iter().copied().max().unwrap_or_default());
            let sizes = unsigned(head.language);
            let size = sizes.iter().position(|(_, most)| largest <= *most).unwrap_or(2);
            (sizes[size].0, 1 << size, values.iter().map(u32::to_string).collect())
        }
    };
    *text += &table_start(head, name, kind, tokens.len());
    text.push('\n');
    let wide = matches!(entries, Entries::Float(_) | Entries::Key(_));
    for line in tokens.chunks(if wide { 8 } else { 24 }) {
        *text += &line.join(", ");
        *text += ",\n";
    }
    *text += table_end(head.language);
    text.push('\n');
    size * tokens.len()
}

/// The key of a number of this type. Keys are in the order of the numbers, both zeros have the same
/// key, and the key 0 stands for a threshold that no number is at most.
fn key(language: Language, value: f64, number: NumberType) -> String {
    // Adding zero turns -0.0 into 0.0.
    let value = value + 0.0;
    let key = match number {
        _ if value.is_nan() => 0,
        NumberType::F32 => {
            let bits = (value as f32).to_bits();
            u64::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
        }
        NumberType::F64 => {
            let bits = value.to_bits();
            if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
        }
    };
    let suffix = if language == Language::C { "u" } else { "" };
    format!("{key}{suffix}")
}

/// Writes a number of this type without loss.
pub(crate) fn float(language: Language, value: f64, number: NumberType) -> String {
    match language {
        Language::Rust => rust_float(value, number),
        _ => c_float(value, number),
    }
}

fn rust_float(value: f64, number: NumberType) -> String {
    let kind = Language::Rust.float(number);
    if value.is_nan() {
        return format!("{kind}::NAN");
    }
    if value.is_infinite() {
        return format!("{kind}::{}", if value > 0.0 { "INFINITY" } else { "NEG_INFINITY" });
    }
    match number {
        NumberType::F32 => format!("{:?}", value as f32),
        NumberType::F64 => format!("{value:?}"),
    }
}

fn c_float(value: f64, number: NumberType) -> String {
    if value.is_nan() {
        return "NAN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}INFINITY");
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let mut text = String::from(sign);
    let (lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let point = if digits.is_empty() { "" } else { "." };
    let suffix = if number == NumberType::F32 { "f" } else { "" };
    let _ = write!(text, "0x{lead}{point}{digits}p{exponent:+}{suffix}");
    text
}
