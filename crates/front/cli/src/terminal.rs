//! Fits text to the width of a terminal.
//!
//! Texts are wrapped for 100 columns, for files and pipes. For a terminal they are wrapped again to
//! its own width. A live line may take at most one line of the terminal: a longer one could not be
//! erased.

use std::io::{self, IsTerminal};

use secateur::internal::text::wrapped;
use terminal_size::{Width, terminal_size};

/// The column where the values of a list begin (`secateur::internal::text::entry`).
const VALUES: usize = 18;
/// Text is not wrapped to fewer columns than this, because it would not read well.
const NARROWEST: usize = 40;
/// Longer lines are hard to read, however wide the window is.
const WIDEST: usize = 100;

/// Fits text for stdout to its width, if it is a terminal.
pub(crate) fn fit_stdout(text: &str) -> String {
    match columns(&io::stdout()) {
        Some(width) => fit(text, width.clamp(NARROWEST, WIDEST)),
        None => text.to_owned(),
    }
}

/// Fits a line for stderr to its width, if it is a terminal.
pub(crate) fn fit_stderr(line: &str) -> String {
    match columns(&io::stderr()) {
        Some(width) => fit(line, width.clamp(NARROWEST, WIDEST)),
        None => line.to_owned(),
    }
}

/// The part of a live line that fits one line of stderr.
pub(crate) fn cut_stderr(line: String) -> String {
    match columns(&io::stderr()) {
        // The last column stays free: some terminals move to the next line when it is filled.
        Some(width) if line.chars().count() >= width.max(2) => line.chars().take(width.max(2) - 1).collect(),
        _ => line,
    }
}

fn columns(stream: &impl IsTerminal) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    terminal_size().map(|(Width(width), _)| usize::from(width)).filter(|&width| width > 0)
}

/// Wraps every paragraph again: a line together with its continuation lines, which are indented to
/// the column of values.
fn fit(text: &str, width: usize) -> String {
    let goes_on = |line: &str| {
        line.len() > VALUES && line[..VALUES].trim().is_empty() && !line[VALUES..].starts_with(' ')
    };
    let mut paragraphs: Vec<String> = Vec::new();
    for line in text.lines() {
        match paragraphs.last_mut() {
            Some(before) if line.is_char_boundary(VALUES) && goes_on(line) => {
                before.push(' ');
                before.push_str(&line[VALUES..]);
            }
            _ => paragraphs.push(line.to_owned()),
        }
    }
    let mut fitted: Vec<String> = paragraphs.iter().map(|line| wrap(line, width)).collect();
    if text.ends_with('\n') {
        fitted.push(String::new());
    }
    fitted.join("\n")
}

/// Wraps one line at its spaces; continuation lines are indented like its value or its text.
fn wrap(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let has_value = indent == 2
        && line.is_char_boundary(VALUES)
        && line.len() > VALUES
        && line[..VALUES].ends_with(' ')
        && !line[VALUES..].starts_with(' ');
    let hanging = if has_value { VALUES } else { indent };
    wrapped(&line[..hanging], &line[hanging..], hanging, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_anew() {
        let text = "a headline that is longer than there is room for in forty columns\n  \
                    trees           2 -> 1\n  \
                    claim           one two three four five six seven eight nine ten eleven\n                  \
                    twelve thirteen\n\nend\n";
        let fitted = fit(text, 40);
        assert_eq!(
            fitted,
            "a headline that is longer than there is\nroom for in forty columns\n  \
             trees           2 -> 1\n  \
             claim           one two three four\n                  \
             five six seven eight\n                  \
             nine ten eleven twelve\n                  \
             thirteen\n\nend\n"
        );
        // Nothing is lost, and wrapping to the old width restores the old text.
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&fitted), words(text));
        assert_eq!(
            fit(&fitted[fitted.find("  claim").unwrap()..], 75),
            text[text.find("  claim").unwrap()..]
        );
    }

    #[test]
    fn a_long_word_stays_whole() {
        let path = "x".repeat(90);
        assert_eq!(fit(&format!("  written         {path}"), 40), format!("  written         {path}"));
    }
}
