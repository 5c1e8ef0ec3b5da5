//! The positions of the file's parts: header, one block for each tree, footer.
//!
//! Blocks are found by their lines, not by `tree_sizes`. The declared sizes must agree, because
//! LightGBM jumps by them without checking.

use std::ops::Range;

use secateur_model::TreeId;

use crate::error::{FormatError, Place, Problem};

/// Byte ranges of a file's parts.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    /// From each block's line `Tree=` to the next block or the line `end of trees`.
    trees: Vec<Range<usize>>,
    header_end: usize,
    footer_start: usize,
}

const END_OF_TREES: &str = "end of trees";

impl Sections {
    /// Finds the parts of a file.
    pub(super) fn of(text: &str) -> Result<Self, FormatError> {
        if let Some(at) = text.find('\0') {
            // LightGBM's text ends at the first NUL byte; what it then does ranges from a crash to
            // an endless loop.
            let found = "a NUL byte".to_owned();
            return Err(FormatError::new(
                Place::Line(line_number(text, at)),
                Problem::Syntax { expected: "text without NUL bytes", found },
            ));
        }
        let mut starts = Vec::new();
        let mut at = 0;
        // Blocks are separated by blank lines; the blank line after the last line of a block ends
        // it.
        let mut in_block = false;
        while at < text.len() {
            let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
            let line = &text[at..end];
            if line.ends_with('\r') {
                let expected =
                    "a line feed alone at the end of a line (LightGBM crashes on Windows line ends)";
                return Err(syntax(text, at, expected, line));
            }
            if line.starts_with("Tree=") {
                if in_block {
                    return Err(syntax(text, at, "an empty line between two trees", line));
                }
                starts.push(at);
                in_block = true;
            } else if line == END_OF_TREES && !in_block {
                let header_end = starts.first().copied().unwrap_or(at);
                let ends = starts.iter().skip(1).copied().chain([at]);
                let trees = starts.iter().zip(ends).map(|(&start, end)| start..end).collect();
                return Ok(Self { trees, header_end, footer_start: at });
            } else if line.is_empty() {
                in_block = false;
            } else if !in_block && !starts.is_empty() {
                return Err(syntax(text, at, "a tree or the line \"end of trees\"", line));
            }
            at = end + 1;
        }
        let inside =
            if starts.is_empty() { "the header" } else { "the trees: there is no line \"end of trees\"" };
        Err(FormatError::new(Place::Byte(text.len() as u64), Problem::Truncated { inside }))
    }

    /// The blocks of the trees.
    pub(super) fn trees(&self) -> &[Range<usize>] {
        &self.trees
    }

    /// The position where the first tree begins.
    pub(super) fn header_end(&self) -> usize {
        self.header_end
    }

    /// The position where the line `end of trees` begins.
    pub(super) fn footer_start(&self) -> usize {
        self.footer_start
    }

    /// Compares the header's `tree_sizes` with the blocks.
    pub(super) fn check_sizes(&self, declared: Option<&str>) -> Result<(), FormatError> {
        let Some(declared) = declared else { return Ok(()) };
        let mut count = 0;
        for (index, size) in declared.split_ascii_whitespace().enumerate() {
            count += 1;
            let Some(block) = self.trees.get(index) else { continue };
            if size.parse() != Ok(block.len()) {
                let place = Place::TreeField { tree: TreeId::new(index), field: "tree_sizes" };
                let found = format!("{} for a block of {} bytes", shown(size), block.len());
                return Err(FormatError::new(place, Problem::Value { found, expected: "its size" }));
            }
        }
        if count != self.trees.len() {
            let place = Place::Field("tree_sizes".to_owned());
            return Err(FormatError::new(
                place,
                Problem::Length { expected: self.trees.len(), found: count },
            ));
        }
        Ok(())
    }
}

/// The number of the line that holds this byte, from 1.
pub(super) fn line_number(text: &str, byte: usize) -> u64 {
    text.as_bytes()[..byte].iter().filter(|&&b| b == b'\n').count() as u64 + 1
}

/// The beginning of a text, short enough for a message.
pub(super) fn shown(text: &str) -> String {
    const LIMIT: usize = 40;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn syntax(text: &str, at: usize, expected: &'static str, line: &str) -> FormatError {
    FormatError::new(Place::Line(line_number(text, at)), Problem::Syntax { expected, found: shown(line) })
}
