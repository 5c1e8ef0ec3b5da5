//! Domain files: read, printed, read back; and errors in them, with their places.

use secateur_formats::{DomainFile, ModelFile};
use secateur_model::{Ensemble, FeatureId, GroupKind, Side};
use secateur_testkit::testdata;

fn model() -> ModelFile {
    ModelFile::read(&testdata("models/xgboost/3.4.1-logistic.json")).unwrap()
}

/// Any function that distinguishes the models suffices here.
fn digest(model: &Ensemble) -> [u8; 32] {
    let mut digest = [7; 32];
    digest[0] = model.trees().len() as u8;
    digest
}

fn wrong(text: &str) -> String {
    DomainFile::parse(text)
        .and_then(|file| file.resolve(model().ensemble(), &digest))
        .unwrap_err()
        .to_string()
}

const LIMITS: &str = r#"
missing = false

[columns.0]
min = 18
max = 120
whole = true

[columns.1]
missing = true
f32 = true

[columns.f2]
values = [1, 2.5, 3, 7]
"#;

const GROUP: &str = r#"
[columns.0]
min = 0.5

[[groups]]
kind = "table"
columns = ["f1", 2]
rows = [[0, 0], [0, nan], [2.5, 1]]
"#;

#[test]
fn a_file_is_read_by_name_or_number_and_printed_as_it_reads_back() {
    let model = model();
    let resolved = |text: &str| DomainFile::parse(text).unwrap().resolve(model.ensemble(), &digest).unwrap();
    let domain = resolved(LIMITS);
    assert!(!domain.missing());
    let age = domain.column(FeatureId(0)).unwrap();
    assert_eq!((age.min, age.max, age.whole, age.missing), (Some(18.0), Some(120.0), true, false));
    assert!(domain.column(FeatureId(1)).unwrap().missing && domain.column(FeatureId(1)).unwrap().f32_only);
    assert_eq!(domain.column(FeatureId(2)).unwrap().values, Some(vec![1.0, 2.5, 3.0, 7.0]));
    let group = resolved(GROUP);
    assert_eq!(group.groups()[0].columns, [FeatureId(1), FeatureId(2)]);
    assert!(matches!(&group.groups()[0].kind, GroupKind::Table(rows) if rows.len() == 3));
    for (text, domain) in [(LIMITS, &domain), (GROUP, &group)] {
        let file = DomainFile::parse(text).unwrap();
        assert_eq!(DomainFile::parse(&file.to_toml()).unwrap().to_toml(), file.to_toml());
        let again = DomainFile::from_json(&file.to_json()).unwrap();
        assert_eq!(&again.resolve(model.ensemble(), &digest).unwrap(), domain);
        let printed = DomainFile::of(domain, model.ensemble().features());
        for back in [DomainFile::parse(&printed.to_toml()), DomainFile::from_json(&printed.to_json())] {
            assert_eq!(&back.unwrap().resolve(model.ensemble(), &digest).unwrap(), domain);
        }
    }
    assert_eq!(
        DomainFile::parse(LIMITS).unwrap().words().unwrap(),
        [
            "no missing values but where said",
            "0: from 18 to 120, whole",
            "1: float32, or missing",
            "f2: one of 1, 2.5, 3, 7"
        ]
    );
    let words = DomainFile::parse(GROUP).unwrap().words().unwrap();
    assert_eq!(words, ["0: at least 0.5", "f1, 2 together take one of 3 rows"]);
    assert!(resolved("").is_everything());
    assert!(DomainFile::no_missing().resolve(model.ensemble(), &digest).unwrap().is_no_missing());
}

#[test]
fn names_with_quotes_and_dots_survive() {
    let text = "[columns.\"a \\\"b\\\".c\\\\\"]\nmin = 0.1\n";
    let file = DomainFile::parse(text).unwrap();
    assert_eq!(file.to_toml(), text);
}

#[test]
fn mistakes_are_told_with_their_place() {
    assert!(wrong("missing = ").starts_with("this is no TOML: "));
    assert!(wrong("[columns.0]\nmin = 1\nmin = 2").contains("line 3"));
    for (text, message) in [
        ("missing = 1", "missing: a number where true or false is expected"),
        (
            "colums = 1",
            "the file: unknown key \"colums\"; known are missing, columns, groups and where; did you mean \"columns\"?",
        ),
        ("columns = 3", "columns: a number where a table is expected"),
        (
            "[columns.0]\nleast = 3",
            "columns.0: unknown key \"least\"; known are missing, min, max, whole, f32 and values",
        ),
        ("[columns.0]\nmin = \"a\"", "columns.0.min: a text where a number is expected"),
        (
            "[columns.0]\nmin = inf",
            "columns.0.min: an infinite number or nan where a finite number is expected",
        ),
        (
            "[columns.0]\nmax = 9007199254740993",
            "columns.0.max: 9007199254740993 is a whole number that no float holds exactly",
        ),
        ("[columns.0]\nvalues = [1, true]", "columns.0.values[2]: a truth value where a number is expected"),
        (
            "[columns.0]\nvalues = [\"red\"]",
            "columns.0.values: column \"f0\" of the model has no category labelled \"red\"",
        ),
        ("[columns.0]\nvalues = []", "column \"f0\": none of its values is within its limits"),
        ("[columns.0]\nmin = 2\nmax = 1", "column \"f0\": no value fits its limits (min 2, max 1)"),
        ("[columns.0]\nmin = 1\n[columns.f0]\nmin = 1", "column \"f0\" is limited twice"),
        ("[[groups]]\ncolumns = [0, 1]", "groups[1]: \"kind\" is needed"),
        ("[[groups]]\nkind = \"ordered\"", "groups[1]: \"columns\" is needed"),
        (
            "[[groups]]\nkind = \"hot\"\ncolumns = [0, 1]",
            "groups[1]: unknown kind \"hot\"; known are one-hot, ordered and table",
        ),
        (
            "[[groups]]\nkind = \"ordered\"\ncolumns = [0, 1]\nnone = true",
            "groups[1]: unknown key \"none\"; known are kind and columns for an ordered group",
        ),
        ("[[groups]]\nkind = \"table\"\ncolumns = [0, 1]", "groups[1]: \"rows\" is needed"),
        ("[[groups]]\nkind = \"table\"\ncolumns = [0, 1]\nrows = []", "group 1 has no row that can occur"),
        (
            "[[groups]]\nkind = \"table\"\ncolumns = [0, 1]\nrows = [[1, 2, 3]]",
            "group 1: row 1 has 3 values for 2 columns",
        ),
        (
            "[[groups]]\nkind = \"table\"\ncolumns = [0, 1]\nrows = [[1, inf]]",
            "groups[1].rows[1][2]: an infinite number or nan where a finite number is expected",
        ),
        (
            "[[groups]]\nkind = \"one-hot\"\ncolumns = [0]",
            "group 1 has 1 columns: a group needs at least two",
        ),
        ("[[groups]]\nkind = \"one-hot\"\ncolumns = [0, \"f0\"]", "group 1 names column \"f0\" twice"),
        (
            "[[groups]]\nkind = \"one-hot\"\ncolumns = [0, 1]\n[[groups]]\nkind = \"ordered\"\ncolumns = [1, 2]",
            "column \"f1\" is in group 1 and in group 2: groups cannot overlap",
        ),
        (
            "[columns.1]\nmin = 0\n[[groups]]\nkind = \"one-hot\"\ncolumns = [0, 1]",
            "column \"f1\" has limits of its own and is in group 1: a column can be in one of them only",
        ),
        ("[where]\nmodel = \"a\"", "where: a table where a list is expected"),
        ("[[where]]\nat_least = 1", "where[1]: \"model\" is needed"),
        ("[[where]]\nmodel = \"a\"", "where[1]: \"at_least\" is needed"),
        (
            "[[where]]\nmodel = \"a\"\nmore_than = 1",
            "where[1]: unknown key \"more_than\"; known are model, at_least, at_most, output, raw and digest",
        ),
        (
            "[[where]]\nmodel = \"a\"\nat_least = nan",
            "where[1].at_least: an infinite number or nan where a finite number is expected",
        ),
        (
            "[[where]]\nmodel = \"a\"\nat_least = 1\ndigest = \"12\"",
            "where[1].digest: a digest is 64 hexadecimal digits",
        ),
        (
            "[[where]]\nmodel = \"a\"\nat_least = 1\noutput = -1",
            "where[1].output: -1 is no number that scores are counted by, from 0",
        ),
    ] {
        assert_eq!(wrong(text), message, "{text}");
    }
    let unknown = wrong("[[groups]]\nkind = \"one-hot\"\ncolumns = [\"colour_red\", 1]");
    assert!(
        unknown
            .starts_with("groups[1].columns: the model has no column \"colour_red\"; it has \"f0\", \"f1\""),
        "{unknown}"
    );
}

/// Models in other files: their scores, and errors about them.
#[test]
fn scores_of_other_models_are_read_from_their_files() {
    let model = model();
    let folder = testdata("models/xgboost");
    let resolved =
        |text: &str| DomainFile::parse(text).unwrap().below(&folder).resolve(model.ensemble(), &digest);
    let text = "[[where]]\nmodel = \"3.4.1-logistic.json\"\nat_least = -0.25\nat_most = 0.5\n";
    let domain = resolved(text).unwrap();
    let [least, most] = domain.wheres() else { panic!("{domain:?}") };
    assert_eq!((least.side(), least.bound(), least.output()), (Side::AtLeast, -0.25, 0));
    assert_eq!((most.side(), most.bound()), (Side::AtMost, 0.5));
    assert_eq!((least.digest(), least.name()), (digest(model.ensemble()), Some("3.4.1-logistic.json")));
    let file = DomainFile::parse(text).unwrap();
    assert_eq!(DomainFile::parse(&file.to_toml()).unwrap(), file);
    let printed = DomainFile::of(&domain, model.ensemble().features());
    for back in [DomainFile::parse(&printed.to_toml()), DomainFile::from_json(&printed.to_json())] {
        assert_eq!(back.unwrap().below(&folder).resolve(model.ensemble(), &digest).unwrap(), domain);
    }
    // A path is printed so that it can be found; a model that is passed needs none.
    let json = file.below(&folder).to_json();
    assert_eq!(DomainFile::from_json(&json).unwrap().resolve(model.ensemble(), &digest).unwrap(), domain);
    let text = "[[where]]\nmodel = \"it\"\ngiven = 0\nat_least = -0.25\nat_most = 0.5\n";
    let given = DomainFile::parse(text).unwrap();
    let found = given.resolve_with(model.ensemble(), &digest, &[&model]);
    assert_eq!(found.unwrap(), domain);
    assert_eq!(
        DomainFile::parse("[[where]]\nmodel = \"a.skops\"\nat_most = 3").unwrap().words().unwrap(),
        ["the score of a.skops is at most 3"]
    );
    let wrong = |text: &str| resolved(text).unwrap_err().to_string();
    let other = "ff".repeat(32);
    for (text, message) in [
        ("[[where]]\nmodel = \"nothing.json\"\nat_least = 1".to_owned(), "where[1]: nothing.json: "),
        (
            format!("[[where]]\nmodel = \"3.4.1-logistic.json\"\nat_least = 0\ndigest = \"{other}\""),
            "where[1]: 3.4.1-logistic.json has the digest ",
        ),
        (
            "[[where]]\nmodel = \"3.4.1-logistic.json\"\nat_least = 0\noutput = 1".to_owned(),
            "where[1]: 3.4.1-logistic.json has no score 1: it has 1, counted from 0",
        ),
        (
            "[[where]]\nmodel = \"3.4.1-logistic.json\"\nat_least = 1e9".to_owned(),
            "where[1]: no input at all has a score of 3.4.1-logistic.json that is at least 1000000000",
        ),
        (
            "[[where]]\nmodel = \"a\"\ngiven = 0\nat_least = 0".to_owned(),
            "where[1]: the model a is not given",
        ),
    ] {
        assert!(wrong(&text).starts_with(message), "{text}: {}", wrong(&text));
    }
}
