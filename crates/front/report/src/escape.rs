//! Escapes text from files for HTML. All such text enters a page through this module.
//!
//! Markup characters become entities. Control characters, and characters that reorder or hide text,
//! are spelled out: a label could use them to make one class look like another. Long texts are cut
//! in the middle.

/// The most characters of a name that are shown.
const NAME: usize = 120;
/// The most characters of a sentence or path that are shown.
const SENTENCE: usize = 4000;

/// A name or label, safe inside an element or a quoted attribute.
pub(crate) fn text(text: &str) -> String {
    cut(text, NAME)
}

/// A sentence or a path, safe inside an element or a quoted attribute.
pub(crate) fn sentence(text: &str) -> String {
    cut(text, SENTENCE)
}

fn cut(text: &str, longest: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(4 * longest) + 16);
    let count = text.chars().take(longest + 1).count();
    if count <= longest {
        append(&mut safe, text.chars());
    } else {
        let (head, tail) = (longest * 2 / 3, longest / 3);
        append(&mut safe, text.chars().take(head));
        safe.push('…');
        let mut end: Vec<char> = text.chars().rev().take(tail).collect();
        end.reverse();
        append(&mut safe, end.into_iter());
    }
    safe
}

fn append(safe: &mut String, characters: impl Iterator<Item = char>) {
    for character in characters {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '`' => safe.push_str("&#96;"),
            _ if deceives(character) => safe.extend(character.escape_unicode()),
            _ => safe.push(character),
        }
    }
}

/// Characters that are invisible or change how others are displayed.
fn deceives(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(text("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
        assert_eq!(text("a & \"b\" `c`"), "a &amp; &quot;b&quot; &#96;c&#96;");
        assert_eq!(text("<!-- ]]> &lt;"), "&lt;!-- ]]&gt; &amp;lt;");
    }

    #[test]
    fn characters_that_hide_or_reorder_are_spelled_out() {
        assert_eq!(text("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(text("a\0\u{1b}[31m"), "a\\u{0}\\u{1b}[31m");
        assert_eq!(text("a\u{200b}b"), "a\\u{200b}b");
        assert_eq!(text("größer, 年齢"), "größer, 年齢");
    }

    #[test]
    fn long_texts_keep_their_ends() {
        let long = format!("{}{}", "a".repeat(1_000_000), "z".repeat(50));
        let short = text(&long);
        assert!(short.starts_with("aaaa") && short.ends_with("zzzz") && short.contains('…'));
        assert_eq!(short.chars().count(), NAME + 1);
        assert_eq!(text(&"é".repeat(NAME)), "é".repeat(NAME));
    }
}
