//! Impossible requests are refused with code 2, the place, and advice; nothing is written.

use std::process::Stdio;

use crate::support::{FLOWERS, Folder, LABELS, Run};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("table.csv", "length,width,colour\n1,0,red\n");
    folder
}

#[track_caller]
fn says(run: &Run, words: &[&str]) {
    let message = run.refused();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

#[test]
fn a_model_that_is_not_there_or_no_model_is_named() {
    let folder = folder();
    says(&folder.run("inspect nothing.json"), &["nothing.json", "no such file"]);
    says(&folder.run("inspect ."), &["folder", "give a model file"]);
    for (content, words) in [
        (&b"\x80\x04\x95\x10"[..], ["pickle", "skops"]),
        (b"{\"features_info\":{},\"oblivious_trees\":[]}", ["CatBoost", "without trees"]),
        (b"CBM1abcd", ["flatbuffers", "ends here"]),
        (b"hello", ["supported", ".skops"]),
        (b"", ["empty file", "give a model file"]),
        (b"{\"learner\":{}", ["strange", ""]),
        (b"tree\nversion=v4\n", ["strange", ""]),
    ] {
        folder.file("strange", content);
        says(&folder.run("inspect strange"), &[&["strange: "], &words[..]].concat());
        says(&folder.run("predict strange --data table.csv"), &["strange: "]);
    }
}

#[test]
fn a_table_that_is_not_there_or_no_table_is_named() {
    let folder = folder();
    folder.file("empty.csv", "");
    folder.file("binary.csv", b"\xff\xfe\x00\n1\n");
    folder.file("broken.parquet", b"PAR1 and then nothing of the kind PAR1");
    for (table, words) in [
        ("nothing.csv", "no such file"),
        (".", "this is a folder"),
        ("empty.csv", "needs a header"),
        ("binary.csv", "not UTF-8"),
        ("broken.parquet", "Parquet"),
    ] {
        says(&folder.run(&format!("predict model.txt --data {table}")), &[table, words]);
    }
}

#[test]
fn columns_that_do_not_fit_are_told() {
    let folder = folder();
    let predict = |header: &str, flags: &str| {
        folder.file("table.csv", format!("{header}\n"));
        folder.run(&format!("predict model.txt --data table.csv {flags}"))
    };
    let missing = ["table.csv: ", "2 features have no column", "\"width\", \"colour\""];
    says(&predict("length,a,b", ""), &missing);
    says(&predict("a,b,c,d", ""), &["4 columns", "3 features", "--target NAME"]);
    says(&predict("length|width|colour", ""), &["--separator"]);
    says(&predict("length,width,colour", "--target answer"), &["no column \"answer\"", "\"length\""]);
    says(&predict("length,width,colour,width", ""), &["2 columns are called \"width\""]);
}

#[test]
fn a_bad_field_is_told_with_row_line_and_column() {
    let folder = folder();
    let predict = |rows: &str| {
        folder.file("table.csv", format!("length,width,colour\n{rows}"));
        folder.run("predict model.txt --data table.csv --raw")
    };
    let run = predict("1,0,red\n\n1,\"0\n1\",red\n");
    says(
        &run,
        &["table.csv: row 2 (line 4), column \"width\": \"0\\n1\" is not a number", "leave the field empty"],
    );
    says(&predict("1,0,red\n1,0\n"), &["table.csv: row 2 (line 3): 2 fields where the first line has 3"]);
    says(&predict("1,NA,red\n"), &["row 1 (line 2), column \"width\": \"NA\" is not a number"]);
    folder.file("table.csv", b"length,width,colour\n1,0,red\n1,\xff,red\n");
    let run = folder.run("predict model.txt --data table.csv");
    says(&run, &["row 2 (line 3), column \"width\"", "not UTF-8"]);
}

#[test]
fn lines_are_counted_whatever_ends_them() {
    let folder = folder();
    for end in ["\n", "\r\n"] {
        for mark in ["", "\u{feff}"] {
            let rows = ["length,width,colour", "1,0,red", "", "1,\"0\",\"re\nd\"", "", "", "1,x,red", ""];
            folder.file("table.csv", format!("{mark}{}", rows.join(end)));
            let run = folder.run("predict model.txt --data table.csv");
            says(&run, &["row 3 (line 8), column \"width\""]);
        }
    }
}

#[test]
fn the_row_of_an_error_counts_from_the_start_of_the_file() {
    let folder = folder();
    let rows = "1,0,red\n".repeat(100_000);
    folder.file("table.csv", format!("length,width,colour\n{rows}x,0,red\n"));
    let run = folder.run("predict model.txt --data table.csv -o out.csv");
    says(&run, &["row 100001 (line 100002), column \"length\": \"x\" is not a number"]);
    assert_eq!(folder.names(), ["model.txt", "table.csv"]);
}

#[test]
fn inputs_that_the_library_refuses_are_told_with_row_and_column() {
    let folder = Folder::new();
    folder.file("model.skops", LABELS);
    for (value, words) in
        [("inf", "an infinite value"), ("1e39", "a value too large"), ("", "a missing value")]
    {
        folder.file("table.csv", format!("a,b\n1,2\n3,{value}\n"));
        let run = folder.run("predict model.skops --data table.csv");
        says(&run, &["table.csv: row 2 (line 3), column \"b\": ", words, "the library does not accept"]);
    }
}

#[test]
fn a_text_where_the_model_has_codes_only_is_refused() {
    let folder = Folder::new();
    folder.file("model.txt", crate::support::THREE_CLASSES);
    folder.file("table.csv", "x,kind\n1,apple\n");
    let run = folder.run("predict model.txt --data table.csv");
    says(&run, &["row 1 (line 2), column \"kind\": \"apple\" is not a number", "category codes"]);
}

#[test]
fn an_output_that_cannot_be_written_is_told() {
    let folder = folder();
    says(&folder.run("predict model.txt --data table.csv -o no/such/out.csv"), &["no/such", "make it first"]);
    says(&folder.run("predict model.txt --data table.csv -o ."), &["this is a folder"]);
    assert_eq!(folder.names(), ["model.txt", "table.csv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let folder = folder();
    let run = folder.run("predict model.txt --data table.csv -o /dev/full");
    says(&run, &["/dev/full: cannot be written"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = folder.command();
    command.args(["inspect", "model.txt"]).stdout(Stdio::from(full));
    let run = Run::end_of(command.stderr(Stdio::piped()).spawn().unwrap(), "inspect");
    says(&run, &["stdout cannot be written"]);
}

#[test]
fn bad_usage_ends_with_code_2_and_help_with_0() {
    let folder = folder();
    for words in
        ["", "nonsense", "predict model.txt", "inspect", "inspect model.txt -q -v", "prune model.txt"]
    {
        assert_eq!(folder.run(words).code, Some(2), "{words}");
    }
    for words in ["--help", "inspect --help", "predict --help", "demo --help", "--version"] {
        folder.run(words).ok();
    }
    assert!(folder.run("--version").ok().starts_with("secateur 0."));
    let help = folder.run("predict --help");
    for word in ["Examples:", "--raw", "--target", "missing values", "CSV, Parquet or Arrow"] {
        assert!(help.ok().contains(word), "{word}");
    }
}
