//! The checker refuses emitted source after a change of any byte or line. The exceptions are
//! listed: the comment for readers, and the positions of line ends in a table.

use crate::common;
use fastrand::Rng;
use secateur_certificate::Digest;
use secateur_emit::Form;
use secateur_formats::Link;
use secateur_model::Ensemble;
use secateur_source::{PARTS, PROBABILITIES, RULES, SourceFile, same_source};
use secateur_testkit::{Shape, ensemble, one_in, share};

/// Does the checker accept this text for the model?
fn accepted(model: &Ensemble, link: Link, text: &[u8]) -> bool {
    SourceFile::parse(text)
        .is_ok_and(|file| file.source() == Digest::of(model) && same_source(model, link, &file).is_ok())
}

/// Models that together have every part of the text, each with the turn that decides how it is
/// written.
fn models() -> Vec<(usize, Ensemble)> {
    let mut rng = Rng::with_seed(5);
    let all = PARTS.into_iter().chain(RULES).chain(PROBABILITIES);
    let mut missing: std::collections::BTreeSet<String> = all.map(str::to_owned).collect();
    // Several bins for a column, headers, tests for equality and quantised leaves have tests of
    // their own.
    for part in ["chunks", "header", "equals", "quantised"] {
        missing.remove(part);
    }
    let mut models = Vec::new();
    for turn in 0..4000 {
        let shape = Shape { weighted: false, ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        let text = common::written(&model, common::by_turns(&model, turn, Form::C, "model"), &[]).unwrap();
        let parts: Vec<&str> =
            text.lines().nth(2).unwrap().trim_start_matches(" * parts: ").split(' ').collect();
        if parts.iter().any(|&part| missing.contains(part)) {
            parts.iter().for_each(|&part| {
                missing.remove(part);
            });
            models.push((turn, model));
        }
    }
    assert!(missing.is_empty(), "no random model has {missing:?}");
    let committed = common::fixtures();
    models.extend(
        committed
            .into_iter()
            .filter(|(name, _)| name == "every_mode.onnx")
            .map(|(_, file)| (0, file.ensemble().clone())),
    );
    models
}

#[test]
fn every_changed_byte_is_refused() {
    let mut rng = Rng::with_seed(6);
    let (mut tried, mut models_seen) = (0, 0);
    for (turn, model) in models() {
        let style = common::by_turns(&model, turn, Form::C, "model");
        let text = common::written(&model, style, &["a note".to_owned()]).unwrap().into_bytes();
        let link = common::link(&model, turn);
        assert!(accepted(&model, link, &text));
        models_seen += 1;
        let note = text.windows(6).position(|window| window == b"a note").unwrap();
        for at in (0..text.len()).skip(models_seen % one_in()).step_by(one_in()) {
            // A digit becomes another digit; any other byte becomes a neighbour, a digit, a space
            // or a line end.
            let others = [text[at] ^ 1, b"0123456789"[rng.usize(0..10)], b" \n/"[rng.usize(0..3)]];
            // Each byte of each model gets one of these changes: every line of the text occurs in
            // several models.
            for other in [others[rng.usize(0..3)]] {
                if other == text[at] || (note..note + 6).contains(&at) {
                    continue;
                }
                let mut changed = text.clone();
                changed[at] = other;
                // The writer may choose where the lines of a table end.
                if [text[at], other].iter().all(u8::is_ascii_whitespace) && at > 0 && text[at - 1] == b',' {
                    continue;
                }
                tried += 1;
                assert!(
                    !accepted(&model, link, &changed),
                    "byte {at} {:?} -> {:?} in {}",
                    text[at] as char,
                    other as char,
                    String::from_utf8_lossy(&text[at.saturating_sub(60)..(at + 60).min(text.len())])
                );
            }
        }
    }
    assert!(models_seen > 5 && tried > share(40_000), "{tried} changes of {models_seen} models");
}

#[test]
fn lines_that_are_missing_twice_there_or_moved_are_refused() {
    for (turn, model) in models() {
        let text = common::written(&model, common::by_turns(&model, turn, Form::C, "model"), &[]).unwrap();
        let link = common::link(&model, turn);
        let accepted = |model: &Ensemble, text: &[u8]| accepted(model, link, text);
        let lines: Vec<&str> = text.lines().collect();
        let joined = |lines: &[&str]| (lines.join("\n") + "\n").into_bytes();
        for at in (0..lines.len()).skip(turn % one_in()).step_by(one_in()) {
            let mut less = lines.clone();
            less.remove(at);
            assert!(!accepted(&model, &joined(&less)), "without line {at}: {}", lines[at]);
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            // A copy of the fourth line is one more line for readers.
            assert!(at == 3 || !accepted(&model, &joined(&more)), "line {at} twice: {}", lines[at]);
            // Lines of a table may be exchanged if one starts with the other, as lines of zeros do.
            let moves = |next: &str| !next.starts_with(lines[at]) && !lines[at].starts_with(next);
            if lines.get(at + 1).is_some_and(|next| moves(next)) {
                let mut moved = lines.clone();
                moved.swap(at, at + 1);
                assert!(!accepted(&model, &joined(&moved)), "lines {at} and the next: {}", lines[at]);
            }
        }
        for cut in (0..text.len()).skip(turn % one_in()).step_by(one_in()) {
            assert!(!accepted(&model, &text.as_bytes()[..cut]), "cut at {cut}");
        }
        assert!(!accepted(&model, &[text.as_bytes(), b"\n"].concat()));
        assert!(!accepted(&model, &[text.as_bytes(), b"int x;\n"].concat()));
    }
}
