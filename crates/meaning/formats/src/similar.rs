//! Which known name somebody may have meant who wrote an unknown one.

/// Names beyond this are not compared: a table may have millions of columns.
const MOST_NAMES: usize = 10_000;
/// Longer names are not compared.
const LONGEST: usize = 64;

/// `; did you mean "age"?`: the known name that is most like this one, for the end of a message. Nothing
/// where none is like it: at most a third of the letters differ, and letters of another case count as the
/// same.
pub fn did_you_mean(name: &str, known: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let letters =
        |name: &str| name.chars().flat_map(char::to_lowercase).take(LONGEST + 1).collect::<Vec<_>>();
    let wanted = letters(name);
    let most = (wanted.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, String)> = None;
    for known in known.into_iter().take(MOST_NAMES) {
        let own = letters(known.as_ref());
        if own.len().max(wanted.len()) > LONGEST || own.len().abs_diff(wanted.len()) > most {
            continue;
        }
        let edits = edits(&wanted, &own);
        // A name of one letter is like every other.
        if edits <= most && edits < own.len() && best.as_ref().is_none_or(|(least, _)| edits < *least) {
            best = Some((edits, known.as_ref().to_owned()));
        }
    }
    best.map_or_else(String::new, |(_, known)| format!("; did you mean {known:?}?"))
}

/// How many letters have to be added, removed, replaced or swapped with their neighbour.
fn edits(first: &[char], second: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=second.len()).collect();
    for (row, &letter) in first.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, &other) in second.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && letter == second[column - 1] && other == first[row - 1] {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[second.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_named() {
        let known = ["age", "income", "loan_amount", "Ausländer", "x"];
        for (name, meant) in [
            ("agee", "age"),
            ("aeg", "age"),
            ("AGE", "age"),
            ("incme", "income"),
            ("loan amount", "loan_amount"),
            ("auslander", "Ausländer"),
        ] {
            assert_eq!(did_you_mean(name, known), format!("; did you mean {meant:?}?"));
        }
        for name in ["", "y", "colour", "cage fight", "in", &"x".repeat(1000)] {
            assert_eq!(did_you_mean(name, known), "", "{name}");
        }
        assert_eq!(did_you_mean("f11", ["f1", "f2", "f12"]), "; did you mean \"f1\"?");
    }
}
