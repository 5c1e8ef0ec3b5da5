//! `secateur predict`: scores with every bit, classes, and tables as users have them.

use crate::support::{FLOWERS, Folder, LABELS, Run, THREE_CLASSES, UNNAMED};

fn predict(model: &str, table: &str, flags: &str) -> Run {
    let folder = Folder::new();
    folder.file("model", model);
    folder.file("table.csv", table);
    folder.run(&format!("predict model --data table.csv {flags}"))
}

/// The bits of a column of scores.
fn bits(run: &Run) -> Vec<u64> {
    let mut lines = run.ok().lines();
    assert_eq!(lines.next(), Some("score_0"));
    lines.map(|line| line.parse::<f64>().unwrap().to_bits()).collect()
}

const TABLE: &str = "\
length,width,colour
1,0,red
3,1,green
3,2,blue
,,
3,nan,mauve
2.5,0,green
2.5000000000000004,0,green
inf,-INF,blue
";

/// The sums of the two trees of FLOWERS, in f64 and in the order of the file.
fn flowers_scores() -> Vec<u64> {
    let sum = |a: f64, b: f64| (0.0 + a + b).to_bits();
    vec![
        sum(-0.5, 0.1),
        sum(0.25, -0.3),
        sum(0.7, 0.1),
        sum(-0.5, -0.3),
        sum(0.7, -0.3),
        sum(-0.5, -0.3),
        sum(0.25, -0.3),
        sum(0.25, 0.1),
    ]
}

#[test]
fn raw_scores_parse_back_to_the_same_bits() {
    assert_eq!(bits(&predict(FLOWERS, TABLE, "--raw")), flowers_scores());
}

#[test]
fn scores_of_f32_models_are_printed_as_f32_and_keep_the_sign_of_zero() {
    let table = "f0,f1\n0.1,5\n0.09,1\n0.2,1\n,\n0.2,\n";
    let run = predict(UNNAMED, table, "--raw");
    let scores: Vec<f32> = run.ok().lines().skip(1).map(|line| line.parse().unwrap()).collect();
    // The first sum starts from -0.0, the logit of one half.
    let sum = |a: f32, b: f32| -0.0 + a + b;
    let expected = [sum(0.3, -0.7), sum(-0.0, -0.0), sum(0.3, -0.0), sum(-0.0, -0.7), sum(0.3, -0.7)];
    assert_eq!(scores.map_bits(), expected.to_vec().map_bits(), "{}", run.stdout);
    assert_eq!(run.stdout, "score_0\n-0.39999998\n-0.0\n0.3\n-0.7\n-0.39999998\n");
}

trait MapBits {
    fn map_bits(self) -> Vec<u32>;
}

impl MapBits for Vec<f32> {
    fn map_bits(self) -> Vec<u32> {
        self.into_iter().map(f32::to_bits).collect()
    }
}

#[test]
fn the_scores_of_the_demo_are_those_of_lightgbm() {
    let folder = Folder::new();
    folder.file("model.txt", include_str!("../../../secateur/demo/loans.txt"));
    folder.file("table.csv", include_str!("../../../secateur/demo/loans.csv"));
    let run = folder.run("predict model.txt --data table.csv --target repaid --raw");
    let library: Vec<u64> = include_str!("../../../secateur/demo/loans-raw.csv")
        .lines()
        .skip(1)
        .map(|line| line.parse::<f64>().unwrap().to_bits())
        .collect();
    assert_eq!(library.len(), 200);
    assert_eq!(bits(&run), library);
    assert_eq!(run.stderr, "");
}

#[test]
fn classes_are_printed_by_their_labels() {
    assert_eq!(predict(FLOWERS, TABLE, "").ok(), "class\n0\n0\n1\n0\n1\n0\n0\n1\n");
    let table = "x,kind\n1,0\n-1,1\n,9\n";
    assert_eq!(predict(THREE_CLASSES, table, "").ok(), "class\n0\n1\n2\n");
    let raw = predict(THREE_CLASSES, table, "--raw");
    assert_eq!(raw.ok(), "score_0,score_1,score_2\n0.2,0.0,0.15\n0.1,0.3,0.15\n0.1,0.0,0.15\n");
}

#[test]
fn probabilities_stand_behind_the_class() {
    let run = predict(FLOWERS, TABLE, "--proba");
    let mut lines = run.ok().lines();
    assert_eq!(lines.next(), Some("class,p_0,p_1"));
    for (line, score) in lines.zip(flowers_scores()) {
        let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let probability = 1.0 / (1.0 + (-f64::from_bits(score)).exp());
        assert!(
            (fields[2] - probability).abs() < 1e-15 && (fields[1] + fields[2] - 1.0).abs() < 1e-15,
            "{line}"
        );
        assert_eq!(fields[0], f64::from(u8::from(probability > 0.5)), "{line}");
    }
    assert_eq!(predict(FLOWERS, TABLE, "--proba --raw").code, Some(2));
}

#[test]
fn columns_are_found_by_name_in_any_order() {
    let table = "id,colour,width,length,answer\n7,red,0,1,1\n8,green,1,3,0\n";
    let run = predict(FLOWERS, table, "--raw --target answer");
    assert_eq!(bits(&run), flowers_scores()[..2]);
    assert_eq!(run.stderr, "note: 1 column is not used: \"id\"\n");
    assert_eq!(predict(FLOWERS, table, "--raw --target answer -q").stderr, "");
    let verbose = predict(FLOWERS, table, "--raw --target answer -v").stderr;
    assert!(verbose.contains("matched by name") && verbose.contains("2 rows in"), "{verbose}");
}

#[test]
fn columns_without_a_known_name_are_taken_by_order_and_it_is_said() {
    let run = predict(FLOWERS, "a,b,c\n1,0,red\n3,1,green\n", "--raw");
    assert_eq!(bits(&run), flowers_scores()[..2]);
    assert_eq!(run.stderr, "note: columns are matched by order (no column has a feature's name)\n");
    let run = predict(UNNAMED, "y,a,b\n1,0.2,1\n", "--raw --target y");
    assert_eq!(run.ok(), "score_0\n0.3\n");
    assert_eq!(run.stderr, "note: columns are matched by order (the model has no feature names)\n");
}

#[test]
fn categories_are_labels_or_codes_and_unseen_ones_are_told() {
    let table = "length,width,colour\n3,0,blue\n3,0,2\n3,0,2.0\n3,0,mauve\n3,0,Blue\n";
    let run = predict(FLOWERS, table, "--raw");
    let (blue, other) = ((0.25f64 + 0.1).to_bits(), (0.25f64 - 0.3).to_bits());
    assert_eq!(bits(&run), [blue, blue, blue, other, other]);
    let note = "note: column \"colour\": 2 values are none of the model's categories (the first is \"mauve\") and \
                taken as unseen\n";
    assert_eq!(run.stderr, note);
}

#[test]
fn numeric_labels_are_matched_as_numbers() {
    let model = FLOWERS.replace(r#"["red", "green", "blue"]"#, "[10, 20, 30]");
    let run = predict(&model, "length,width,colour\n3,0,30\n3,0,30.0\n3,0,20\n3,0,2\n", "--raw");
    let (member, other) = ((0.25f64 + 0.1).to_bits(), (0.25f64 - 0.3).to_bits());
    assert_eq!(bits(&run), [member, member, other, other]);
    assert!(run.stderr.contains("1 value is none of the model's categories"), "{}", run.stderr);
}

#[test]
fn csv_is_read_as_people_write_it() {
    // A byte order mark, quotes, CRLF, spaces around numbers, blank lines, truth values.
    let table = "\u{feff}\"length\",\"width\",\"colour\"\r\n\"1\", 0 ,\"red\"\r\n\r\n3,True,green\r\n";
    let run = predict(FLOWERS, table, "--raw");
    assert_eq!(bits(&run), flowers_scores()[..2]);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_table_without_rows_gives_a_header() {
    assert_eq!(predict(FLOWERS, "length,width,colour\n", "--raw").ok(), "score_0\n");
}

#[test]
fn labels_are_quoted_where_csv_needs_it() {
    let folder = Folder::new();
    folder.file("model.skops", LABELS);
    folder.file("table.csv", "a,b\n-1,0\n1,0\n");
    let run = folder.run("predict model.skops --data table.csv");
    assert_eq!(run.ok(), "class\nno\n\"yes, please\"\n");
}

#[test]
fn columns_can_be_handed_through() {
    let table = "\
length,customer,width,colour,note
1,00017,0,red,\"one, two\"
3,,1,green,
3,nan,2,blue,\"a \"\"quote\"\"\"
";
    let run = predict(FLOWERS, table, "--id customer --id note");
    let expected = "customer,note,class\n00017,\"one, two\",0\n,,0\nnan,\"a \"\"quote\"\"\",1\n";
    assert_eq!(run.ok(), expected);
    assert!(!run.stderr.contains("not used"), "{}", run.stderr);
    // Id columns also come before scores and probabilities, and a feature can be an id too.
    let run = predict(FLOWERS, table, "--id colour --raw");
    assert!(run.ok().starts_with("colour,score_0\nred,-0.4"), "{}", run.stdout);
    let run = predict(FLOWERS, table, "--id colour --proba");
    assert!(run.ok().starts_with("colour,class,p_0,p_1\nred,0,0."), "{}", run.stdout);
    // If columns are matched by order, an id column is not counted.
    let run = predict(UNNAMED, "7,0.2,1\n8,0.09,1\n", "--id 0");
    assert_eq!(
        run.ok(),
        predict(UNNAMED, "key,a,b\n7,0.2,1\n8,0.09,1\n", "--id key").ok().replace("key", "0")
    );
    let run = predict(FLOWERS, table, "--id client");
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("there is no column \"client\" for --id; the columns are \"length\", \"customer\""),
        "{}",
        run.stderr
    );
}
