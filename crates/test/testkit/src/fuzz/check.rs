//! What must hold for every input:
//! - reading returns a model, or an error with a short message;
//! - writing an unchanged model returns the input, byte for byte;
//! - no row makes prediction panic, and a row's scores do not depend on the rows beside it;
//! - every cell of the grid contains its own witness, and there are no more cells than the splits
//!   allow;
//! - an edited file reads back as the model that the edit promised, and an edit that changes
//!   nothing changes no score.

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, Grid, Predictor, Test, TreeId};

/// The longest error message in bytes. A message that quotes the file must not repeat all of it.
const LONGEST_MESSAGE: usize = 1000;

/// Rows are made only for models with at most this many features.
const WIDEST_ROW: usize = 2000;

/// Reads a model and checks everything that must hold for it; true if it can be read.
pub(super) fn check(bytes: &[u8]) -> bool {
    read_and_run(bytes);
    let file = read(bytes);
    file.iter().for_each(|file| follow_up(bytes, file));
    file.is_some()
}

/// Asserts that the model of a packed file and the runtime's tables, which are made of what the one
/// reader reads, have the same scores on every path, and that each refuses only what it has to: the
/// runtime some files for their size, and the model what means nothing to the runtime.
pub fn read_and_run(bytes: &[u8]) {
    if !bytes.starts_with(b"SPK") {
        return;
    }
    let runtime = secateur_runtime::Model::load(bytes);
    let file = ModelFile::parse(bytes);
    let model = match (&runtime, &file) {
        (Err(secateur_runtime::LoadError::TooLarge(_)), _) | (Err(_), Err(_)) => return,
        (Ok(model), Ok(_)) => model,
        (Ok(_), Err(error)) => {
            return assert!(lenient(&error.to_string()), "only the runtime takes this: {error}");
        }
        (Err(error), Ok(_)) => panic!("the runtime does not take this: {error}"),
    };
    let Ok(file) = &file else { return };
    let ensemble = file.ensemble();
    if ensemble.features().is_empty() || ensemble.features().len() > WIDEST_ROW {
        return;
    }
    let rows = model.cover_rows();
    let rows = &rows[..rows.len().min(200 * ensemble.features().len())];
    let expected = Predictor::new(ensemble).raw_scores(rows).expect("the cover is of accepted rows");
    let table = secateur_runtime::Rows::row_major(rows, ensemble.features().len()).expect("whole rows");
    for path in secateur_runtime::Path::available() {
        let mut scores = vec![0.0; expected.len()];
        model.raw_scores_on(path, table, &mut scores).expect("the cover is of accepted rows");
        assert!(bits(&scores) == bits(&expected), "{path} gives other scores");
    }
    same_answers(ensemble, model, rows, table);
}

/// Asserts that model and tables make the same classes and values of the scores, and that there
/// are probabilities exactly where the packed file says how to compute them.
fn same_answers(
    ensemble: &Ensemble,
    model: &secateur_runtime::Model,
    rows: &[f64],
    table: secateur_runtime::Rows<'_, f64>,
) {
    let exact = Predictor::new(ensemble);
    let mut classes = vec![0; table.count()];
    if model.classes(table, &mut classes).is_ok() {
        let expected = exact.classes(rows).expect("the cover is of accepted rows");
        assert!(expected.iter().map(|class| class.0).eq(classes), "other classes");
    } else {
        assert!(!ensemble.decision().is_classifier(), "no classes");
    }
    let mut values = vec![0.0; table.count() * model.outputs()];
    let answer = model.values(table, &mut values);
    if let Some(expected) = exact.values(rows).expect("the cover is of accepted rows") {
        assert!(answer.is_ok() && bits(&values) == bits(&expected), "other values");
    }
    let mut probabilities = vec![0.0; table.count() * model.class_count()];
    let answer = model.probabilities(table, &mut probabilities);
    assert_eq!(answer.is_ok(), model.link() != secateur_runtime::Link::None, "probabilities");
}

/// Is this an error about names of libraries or the order of categories? They mean nothing
/// to the runtime, which does not check them.
fn lenient(message: &str) -> bool {
    ["the name of a library", "unsorted", "ascending"].iter().any(|words| message.contains(words))
}

/// Reads an input; `None` if the reader refuses it.
pub fn read(bytes: &[u8]) -> Option<ModelFile> {
    match ModelFile::parse(bytes) {
        Ok(file) => Some(file),
        Err(error) => {
            short("reading", &error.to_string());
            None
        }
    }
}

/// Checks everything that must hold for a file that could be read.
pub fn follow_up(bytes: &[u8], file: &ModelFile) {
    assert!(file.to_bytes() == bytes, "the unchanged file is written with other bytes");
    assert!(!file.dialect().is_empty(), "the dialect has no name");
    assert!(file.notes().iter().all(|note| !note.is_empty()), "a note is empty");
    let ensemble = file.ensemble();
    let rounding = ensemble.rounding();
    assert!(rounding.is_none_or(|rounding| rounding.largest() >= 0.0), "the rounding bound is no number");
    let rows = grid_rows(ensemble);
    let scores = rows.as_ref().map(|rows| predict(ensemble, rows));
    for (name, edit) in edits(ensemble) {
        match file.edit(&edit) {
            Err(error) => short(name, &error.to_string()),
            Ok(edited) => {
                let again = ModelFile::parse(&edited.to_bytes());
                let again = again.unwrap_or_else(|error| panic!("{name}: does not read back: {error}"));
                assert!(again.ensemble() == edited.ensemble(), "{name}: reads back as another model");
                if let (UNCHANGED, Some(rows), Some(scores)) = (name, &rows, &scores) {
                    assert!(predict(edited.ensemble(), rows) == *scores, "{name}: the scores have changed");
                }
            }
        }
    }
}

const UNCHANGED: &str = "an edit that changes nothing";

/// Edits of every kind.
fn edits(ensemble: &Ensemble) -> Vec<(&'static str, Edit)> {
    let trees = (0..ensemble.trees().len()).map(TreeId::new);
    let halved = trees.clone().step_by(2).map(|tree| match tree.0 % 4 {
        0 => TreeEdit::Keep(tree),
        _ => TreeEdit::Scale { tree, factor: 1.7 },
    });
    let replaced = trees.map(|tree| TreeEdit::Replace { tree, with: ensemble.tree(tree).clone() });
    let intercepts = (0..ensemble.group_count()).map(|group| 0.1 + group as f64).collect();
    vec![
        (UNCHANGED, Edit::unchanged(ensemble)),
        ("half of the trees", Edit { trees: halved.collect(), intercepts: None }),
        ("every tree written anew", Edit { trees: replaced.collect(), intercepts: Some(intercepts) }),
        ("no trees", Edit { trees: Vec::new(), intercepts: None }),
    ]
}

/// Checks the grid. Returns rows that lie in many of its cells; `None` if a row would be empty or
/// too long.
fn grid_rows(ensemble: &Ensemble) -> Option<Vec<f64>> {
    let grid = Grid::new(&[ensemble]).expect("a model has a grid of its own");
    let splits = ensemble.trees().iter().flat_map(|tree| tree.splits());
    let boundaries: usize = splits
        .map(|split| match split.test {
            Test::Member { set, .. } => set.len() + 1,
            _ => 3,
        })
        .sum();
    let domain = grid.intake();
    let cells: usize = grid.axes().iter().map(|axis| axis.len()).sum();
    assert!(cells <= boundaries + 2 * grid.axes().len(), "{cells} cells from {boundaries} boundaries");
    for axis in grid.axes() {
        for index in 0..axis.len() {
            let cell = secateur_model::CellId::new(index);
            let witness = axis.witness(cell, domain);
            let read = domain.read(witness).expect("a witness is an accepted input");
            assert_eq!(axis.cell_of(read), Some(cell), "the witness {witness:?} is in another cell");
        }
    }
    if ensemble.features().is_empty() || ensemble.features().len() > WIDEST_ROW {
        return None;
    }
    // Row k takes the k-th cell of each axis, starting again after the last.
    let longest = grid.axes().iter().map(|axis| axis.len()).max().unwrap_or(1);
    let rows = (0..longest.min(100)).flat_map(|row| {
        let cells: Vec<_> =
            grid.axes().iter().map(|axis| secateur_model::CellId::new(row % axis.len())).collect();
        grid.witness(&cells)
    });
    Some(rows.collect())
}

/// The bits of the scores of these rows, which the model accepts. Before that, predicts rows that
/// the model may refuse.
fn predict(ensemble: &Ensemble, rows: &[f64]) -> Vec<u64> {
    let width = ensemble.features().len();
    let predictor = Predictor::new(ensemble);
    for value in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e-35, 4e9, -1.0] {
        if let Err(error) = predictor.classes(&vec![value; width]) {
            short("prediction", &error.to_string());
        }
    }
    let scores = predictor.raw_scores(rows).expect("witnesses are accepted");
    let groups = ensemble.group_count();
    let last = predictor.raw_scores(&rows[rows.len() - width..]).expect("it was accepted before");
    assert!(bits(&last) == bits(&scores[scores.len() - groups..]), "a row alone has other scores");
    bits(&scores)
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

pub(super) fn short(what: &str, message: &str) {
    assert!(!message.is_empty(), "{what}: an error without words");
    assert!(message.len() <= LONGEST_MESSAGE, "{what}: a message of {} bytes", message.len());
}
