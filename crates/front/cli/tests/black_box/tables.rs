//! Tables as users have them: compressed, with other separators, without a header, with their own
//! word for missing.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{FLOWERS, Folder, Run, UNNAMED};

const TABLE: &str = "length,width,colour\n1,0,red\n3,1,green\n3,,blue\n";

fn scores(model: &str, name: &str, table: impl AsRef<[u8]>, flags: &str) -> Run {
    let folder = Folder::new();
    folder.file("model", model);
    folder.file(name, table);
    folder.run(&format!("predict model --raw --data {name} {flags}"))
}

fn expected() -> String {
    scores(FLOWERS, "table.csv", TABLE, "").ok().to_owned()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn semicolons_and_tabs_are_seen() {
    for separator in [";", "\t"] {
        let run = scores(FLOWERS, "table.csv", TABLE.replace(',', separator), "");
        assert_eq!((run.ok(), run.stderr.as_str()), (expected().as_str(), ""), "{separator:?}");
    }
    let run = scores(FLOWERS, "table.csv", TABLE.replace(',', "|"), "--separator |");
    assert_eq!(run.ok(), expected());
    let run = scores(FLOWERS, "table.csv", TABLE.replace(',', "|"), "");
    assert!(run.refused().contains("--separator"), "{}", run.stderr);
}

#[test]
fn compressed_tables_are_read() {
    let whole = gzip(TABLE);
    // The bytes decide, not the name. Two gzip parts one after the other are one table.
    for name in ["table.csv.gz", "table.csv"] {
        assert_eq!(scores(FLOWERS, name, &whole, "").ok(), expected());
    }
    let (first, second) = TABLE.split_at(30);
    assert_eq!(scores(FLOWERS, "table.csv.gz", [gzip(first), gzip(second)].concat(), "").ok(), expected());
    let run = scores(FLOWERS, "table.csv.gz", &whole[..whole.len() - 12], "");
    assert!(run.refused().contains("cannot be read"), "{}", run.stderr);
    let run = scores(FLOWERS, "table.csv.gz", gzip("length,width,colour\n1,x,red\n"), "");
    assert!(run.refused().contains("row 1, column \"width\": \"x\" is not a number"), "{}", run.stderr);
}

#[test]
fn a_first_line_of_numbers_is_a_row() {
    let rows = "0.2,1\n0.09,1\n";
    let with_header = scores(UNNAMED, "table.csv", format!("f0,f1\n{rows}"), "");
    let run = scores(UNNAMED, "table.csv", rows, "");
    assert_eq!(run.ok(), with_header.ok());
    assert!(run.stderr.contains("taken for a row"), "{}", run.stderr);
    let run = scores(UNNAMED, "table.csv", rows, "--header no");
    assert_eq!(run.ok(), with_header.ok());
    assert!(!run.stderr.contains("taken for a row"), "{}", run.stderr);
    // The first line can still be declared to be the header.
    assert_eq!(scores(UNNAMED, "table.csv", rows, "--header yes").ok().lines().count(), 2);
    // pandas writes numbers as the names of columns without names.
    assert_eq!(scores(UNNAMED, "table.csv", format!("0,1\n{rows}"), "").ok(), with_header.ok());
    // The class column can be dropped by its number, and a bad row is named by its number.
    assert_eq!(scores(UNNAMED, "table.csv", "7,0.2,1\n8,0.09,1\n", "--target 0").ok(), with_header.ok());
    let run = scores(UNNAMED, "table.csv", "0.2,1\n0.09,x\n", "");
    assert!(run.refused().contains("row 2 (line 2), column \"1\""), "{}", run.stderr);
    let run = scores(UNNAMED, "table.csv", "0.2,1\n0.09\n", "");
    assert!(run.refused().contains("row 2 (line 2): 1 fields where the first line has 2"), "{}", run.stderr);
}

#[test]
fn words_for_missing_values_are_named() {
    let table = TABLE.replace("3,,blue", "3,NA,blue");
    let run = scores(FLOWERS, "table.csv", &table, "");
    assert!(run.refused().contains("--na-values"), "{}", run.stderr);
    assert_eq!(scores(FLOWERS, "table.csv", &table, "--na-values null,NA").ok(), expected());
}

#[test]
fn every_command_with_a_table_reads_it_so() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("table.csv.gz", gzip(&TABLE.replace(',', ";").replace("3;;", "3;NA;")));
    for command in [
        "prune model.txt -o out.txt --data table.csv.gz --na-values NA",
        "verify model.txt model.txt --data table.csv.gz --na-values NA",
    ] {
        folder.run(command).ok();
    }
    folder.file("numbers.csv.gz", gzip("1;2\n3;NA\n"));
    let run = folder.run("domain numbers.csv.gz --na-values NA");
    assert!(run.ok().contains("1: 1 of 2 rows: whole numbers from 2 to 2; missing in 1"), "{}", run.stdout);
}

#[test]
fn a_line_has_a_limit_and_so_has_what_is_shown_of_it() {
    let refused = |table: String, command: &str| {
        let folder = Folder::new();
        folder.file("model", FLOWERS);
        folder.file("table.csv.gz", gzip(&table));
        let said = folder.run(command).refused().to_owned();
        assert!(said.len() < 1000, "{} bytes", said.len());
        said
    };
    for command in ["predict model --data table.csv.gz", "domain table.csv.gz -o domain.toml"] {
        let said = refused(",".repeat(1 << 21), command);
        assert!(said.contains("line 1: a line with more than 1048576 columns"), "{said}");
        let said = refused(format!("length,width,colour\n1,{},red\n", "x".repeat(1 << 26)), command);
        assert!(said.contains("row 1: a line with more than 67108864 bytes"), "{said}");
        let said = refused(format!("length,width,{}\n1,1,red\n", "x".repeat(5000)), command);
        assert!(said.contains("column 3 has a name of more than 4096 bytes"), "{said}");
    }
    let said = refused(
        format!("length,width,colour\n1,{},red\n", "é".repeat(5000)),
        "predict model --data table.csv.gz",
    );
    assert!(said.contains(&format!("column \"width\": \"{}...\" is not a number", "é".repeat(64))), "{said}");
}
