//! The fixed text of emitted source: a template for each language. Which of its lines a file has
//! depends on the parts that the model has.
//!
//! Only numbers, tables, a name and a comment vary in an emitted file. The writer fills in the
//! lines that [`lines`] gives, and the reader demands these lines byte by byte. So the program that
//! users compile is this text, which is trusted, tested and small.
//!
//! If a line of a template belongs to some models only, it starts with `@`, conditions and a space.
//! A condition is a part that a model must have, or, after `!`, must not have; `+` joins
//! conditions. `$NAME` is the name, `$T` the type of inputs, `$K` that of their keys, `$S` that of
//! sums and `$P` that of probabilities. `{number}` is a place for a number. A line `[conditions
//! table TYPE]` is a place for a table. Without a type its entries are unsigned numbers; with `IN`
//! they have the type of inputs, with `KEY` that of their keys, with `SUM` that of sums, and with
//! `HALF` and `WORD` they are unsigned numbers of 16 and of 32 bits.
//!
//! The code for WebAssembly is the same for all models. Its template says which numbers and tables
//! a model has, and in which order.

use std::collections::BTreeSet;

use secateur_model::NumberType;

/// A language that models are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// C99.
    C,
    /// Rust, a module that needs nothing but `core`.
    Rust,
    /// A WebAssembly module: no text, but fixed bytes of code, and data with the tables.
    Wasm,
}

impl Language {
    /// Those that are text.
    pub const TEXTS: [Self; 2] = [Self::C, Self::Rust];

    /// Its name in the first line of a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C99",
            Self::Rust => "Rust",
            Self::Wasm => "WebAssembly",
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::C => include_str!("template.c"),
            Self::Rust => include_str!("template.rs.txt"),
            Self::Wasm => include_str!("template.wasm.txt"),
        }
    }

    /// The name of the language's type for whole numbers of 32 bits with a sign.
    pub fn signed(self) -> &'static str {
        match self {
            Self::C => "int32_t",
            Self::Rust | Self::Wasm => "i32",
        }
    }

    /// The name of the language's type for unsigned whole numbers with as many bits as a float
    /// type.
    pub fn key(self, number: NumberType) -> &'static str {
        match (self, number) {
            (Self::C, NumberType::F32) => "uint32_t",
            (Self::C, NumberType::F64) => "uint64_t",
            (Self::Rust | Self::Wasm, NumberType::F32) => "u32",
            (Self::Rust | Self::Wasm, NumberType::F64) => "u64",
        }
    }

    /// The name of the language's type for floats of this width.
    pub fn float(self, number: NumberType) -> &'static str {
        match (self, number) {
            (Self::C, NumberType::F32) => "float",
            (Self::C, NumberType::F64) => "double",
            (Self::Rust | Self::Wasm, NumberType::F32) => "f32",
            (Self::Rust | Self::Wasm, NumberType::F64) => "f64",
        }
    }
}

/// The first line of every emitted file of this language.
pub fn first_line(language: Language) -> String {
    format!("/* A tree ensemble as {}, packed by secateur, source format 1. Do not edit.", language.name())
}

/// The parts that a model can have. They determine the types and the names of the tables.
pub const PARTS: [&str; 32] = [
    "f32_input",
    "f64_input",
    "f32_sums",
    "f64_sums",
    "quantised",
    "header",
    "double",
    "math",
    "numbers",
    "keys",
    "steps",
    "zeros",
    "chunks",
    "sets",
    "equals",
    "window",
    "trees",
    "splits",
    "tests",
    "full",
    "words",
    "small",
    "single",
    "each",
    "every",
    "listed",
    "last",
    "average_raw",
    "average_class",
    "class",
    "threshold",
    "strict",
];

/// Further parts: the rule by which one of several scores decides.
pub const RULES: [&str; 4] = ["argmax", "softmax32", "softmax64", "sigmoid"];

/// Further parts: whether there are probabilities, and the rule that computes them from scores.
pub const PROBABILITIES: [&str; 8] = [
    "probabilities",
    "p_logistic32",
    "p_logistic64",
    "p_softmax32",
    "p_softmax64",
    "p_divided",
    "p_each",
    "p_identity",
];

/// The properties of an emitted file that its head states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which language.
    pub language: Language,
    /// What the functions' names start with.
    pub name: String,
    /// The parts that the model has.
    pub parts: BTreeSet<&'static str>,
}

impl Head {
    /// Has the model this part?
    pub fn has(&self, part: &str) -> bool {
        part == "always" || self.parts.contains(part)
    }

    /// The type that inputs have.
    pub fn input(&self) -> NumberType {
        if self.has("f64_input") { NumberType::F64 } else { NumberType::F32 }
    }

    /// The type that sums have.
    pub fn sums(&self) -> Entries {
        if self.has("quantised") {
            Entries::Signed
        } else if self.has("f64_sums") {
            Entries::Float(NumberType::F64)
        } else {
            Entries::Float(NumberType::F32)
        }
    }

    /// The type that probabilities have.
    pub fn probabilities(&self) -> NumberType {
        let floats = self.has("p_logistic32") || self.has("p_softmax32");
        let same = self.has("p_identity") && self.sums() == Entries::Float(NumberType::F32);
        if floats || same { NumberType::F32 } else { NumberType::F64 }
    }

    /// Is a condition of the template fulfilled?
    fn fulfils(&self, condition: &str) -> bool {
        condition.split('+').all(|part| match part.strip_prefix('!') {
            Some(part) => !self.has(part),
            None => self.has(part),
        })
    }
}

/// The part with this name.
pub fn part(name: &str) -> Option<&'static str> {
    PARTS.iter().chain(&RULES).chain(&PROBABILITIES).find(|&&known| known == name).copied()
}

/// A line of an emitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Text, and numbers between.
    Text(Vec<Piece>),
    /// A table, which takes several lines.
    Table {
        /// Its name, without the model's.
        name: &'static str,
        /// The type of its numbers.
        entries: Entries,
    },
}

/// The type of the numbers of a table, and of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Whole numbers without a sign, of a size that the file says.
    Unsigned,
    /// Whole numbers of 16 bits without a sign.
    Half,
    /// Whole numbers of 32 bits without a sign.
    Word,
    /// Whole numbers of 32 bits with a sign.
    Signed,
    /// Floats.
    Float(NumberType),
    /// Floats stored as unsigned whole numbers with as many bits, in the order of the floats.
    Key(NumberType),
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A place for a number, by its name.
    Number(&'static str),
}

impl Piece {
    /// The name of the number, where it is one.
    pub fn number(&self) -> Option<&'static str> {
        match self {
            Self::Text(_) => None,
            Self::Number(name) => Some(name),
        }
    }
}

/// The lines after the comment at the head.
pub fn lines(head: &Head) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in head.language.template().lines() {
        let line = match line.strip_prefix('@') {
            Some(rest) => {
                let (condition, text) = rest.split_once(' ').unwrap_or((rest, ""));
                if !head.fulfils(condition) {
                    continue;
                }
                text
            }
            None => line,
        };
        if let Some(table) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let mut words = table.split(' ');
            let (condition, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let entries = match words.next() {
                Some("IN") => Entries::Float(head.input()),
                Some("KEY") => Entries::Key(head.input()),
                Some("HALF") => Entries::Half,
                Some("WORD") => Entries::Word,
                Some(_) => head.sums(),
                None => Entries::Unsigned,
            };
            if head.fulfils(condition) {
                lines.push(Line::Table { name, entries });
            }
            continue;
        }
        lines.push(Line::Text(pieces(line, head)));
    }
    lines
}

fn pieces(line: &'static str, head: &Head) -> Vec<Piece> {
    let sums = match head.sums() {
        Entries::Float(number) => head.language.float(number),
        _ => head.language.signed(),
    };
    let filled = |text: &str| {
        text.replace("$NAME", &head.name)
            .replace("$T", head.language.float(head.input()))
            .replace("$K", head.language.key(head.input()))
            .replace("$S", sums)
            .replace("$P", head.language.float(head.probabilities()))
    };
    let mut pieces = Vec::new();
    let mut rest = line;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| at + from) {
        let name = rest[open + 1..].split('}').next().unwrap_or("");
        let is_place = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if is_place && rest[open + 1 + name.len()..].starts_with('}') {
            pieces.push(Piece::Text(filled(&rest[..open])));
            pieces.push(Piece::Number(name));
            rest = &rest[open + name.len() + 2..];
            from = 0;
        } else {
            from = open + 1;
        }
    }
    pieces.push(Piece::Text(filled(rest)));
    pieces
}

/// The first line of a table.
pub fn table_start(head: &Head, name: &str, kind: &str, count: usize) -> String {
    match head.language {
        Language::C => format!("static const {kind} {}_{name}[{count}] = {{", head.name),
        Language::Rust | Language::Wasm => {
            format!("static {}: [{kind}; {count}] = [", name.to_ascii_uppercase())
        }
    }
}

/// The last line of a table.
pub fn table_end(language: Language) -> &'static str {
    match language {
        Language::C => "};",
        Language::Rust | Language::Wasm => "];",
    }
}

/// The names of the language's types for unsigned integers of 8, 16 and 32 bits.
pub fn unsigned(language: Language) -> [(&'static str, u64); 3] {
    match language {
        Language::C => [("uint8_t", 0xff), ("uint16_t", 0xffff), ("uint32_t", 0xffff_ffff)],
        Language::Rust | Language::Wasm => [("u8", 0xff), ("u16", 0xffff), ("u32", 0xffff_ffff)],
    }
}

/// The words of C and C++ that no name may be, and those that our own text uses.
const KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if inline int long \
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while \
    alignas alignof and asm bitand bitor bool catch class compl constexpr decltype delete explicit export false friend \
    mutable namespace new noexcept not nullptr operator or private protected public reinterpret_cast static_assert \
    template this thread_local throw true try typeid typename using virtual wchar_t xor \
    as crate dyn fn impl in let loop match mod move mut pub ref self super trait type unsafe use where async await abstract \
    become box final macro override priv typeof unsized yield gen";

/// Can the functions' names start with this? It has to be a letter followed by letters, digits and
/// underscores, at most 40 characters in all, and not a keyword of C, C++ or Rust.
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= 40
        && !KEYWORDS.split_whitespace().any(|word| word == name)
}
