//! Arrow tables: types of columns, files and streams, stdin, what is refused, and predictions as Arrow.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float32Array, Float64Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt8Array, cast::AsArray, types::Int32Type,
};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, StreamWriter};

use crate::support::{FLOWERS, Folder, Run};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder
}

/// Writes columns of these names as `table.arrow`, and as the stream `table.arrows`.
fn write(folder: &Folder, columns: Vec<(&str, ArrayRef)>, times: usize) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let (batch, file) = (batch.unwrap(), |name| File::create(folder.path().join(name)).unwrap());
    let mut writer = FileWriter::try_new(file("table.arrow"), &batch.schema()).unwrap();
    let mut stream = StreamWriter::try_new(file("table.arrows"), &batch.schema()).unwrap();
    for _ in 0..times {
        writer.write(&batch).unwrap();
        stream.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    stream.finish().unwrap();
}

/// Runs with the table of this name: by path, with stdin as that file, and through a pipe.
fn each_way(folder: &Folder, table: &str, words: &str) -> [Run; 3] {
    let path = folder.path().join(table);
    let from = |stdin: Stdio| {
        let mut command = folder.command();
        command.args(["predict", "model.txt", "--data", "-"]).args(words.split_whitespace());
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let opened = Run::end_of(from(File::open(&path).unwrap().into()), "predict from a file as stdin");
    let mut child = from(Stdio::piped());
    let (mut pipe, bytes) = (child.stdin.take().unwrap(), std::fs::read(path).unwrap());
    // What refuses the table does not read all of it.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&bytes)));
    let piped = Run::end_of(child, "predict from a pipe");
    writer.join().unwrap();
    [folder.run(&format!("predict model.txt --data {table} {words}")), opened, piped]
}

#[test]
fn columns_of_every_type_are_those_of_csv() {
    let rows = "1,0,red\n3,1,green\n,1,blue\nnan,1,\n2.75,,mauve\n";
    let folder = folder();
    folder.file("same.csv", format!("length,width,colour\n{}", rows.repeat(3)));
    let expected = folder.run("predict model.txt --data same.csv --raw").ok().to_owned();
    let lengths = vec![Some(1.0), Some(3.0), None, Some(f64::NAN), Some(2.75)];
    let single = lengths.iter().map(|value| value.map(|value| value as f32)).collect::<Vec<_>>();
    let widths = vec![Some(0), Some(1), Some(1), Some(1), None];
    let truth = widths.iter().map(|value| value.map(|value| value == 1)).collect::<Vec<_>>();
    let colours = vec![Some("red"), Some("green"), Some("blue"), None, Some("mauve")];
    let texts = colours.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>();
    let codes: DictionaryArray<Int32Type> = colours.iter().copied().collect();
    let kinds: [[ArrayRef; 3]; 3] = [
        [
            Arc::new(Float64Array::from(lengths.clone())),
            Arc::new(UInt8Array::from(widths)),
            Arc::new(StringArray::from(colours.clone())),
        ],
        [
            Arc::new(Float32Array::from(single)),
            Arc::new(BooleanArray::from(truth)),
            Arc::new(LargeStringArray::from(texts)),
        ],
        [
            Arc::new(Float64Array::from(lengths)),
            Arc::new(Float64Array::from(vec![Some(0.0), Some(1.0), Some(1.0), Some(1.0), None])),
            Arc::new(codes),
        ],
    ];
    for [length, width, colour] in kinds {
        let index: ArrayRef = Arc::new(Int64Array::from(vec![7; 5]));
        let columns =
            vec![("colour", colour), ("__index_level_0__", index), ("length", length), ("width", width)];
        write(&folder, columns, 3);
        for table in ["table.arrow", "table.arrows"] {
            for run in each_way(&folder, table, "--raw") {
                assert_eq!(run.ok(), expected, "{table}");
                assert!(run.stderr.contains("3 values are none of the model's categories"), "{}", run.stderr);
                assert!(!run.stderr.contains("not used"), "{}", run.stderr);
            }
        }
    }
}

#[test]
fn every_command_that_reads_tables_reads_arrow() {
    let folder = folder();
    let rows = 40;
    let numbers =
        |step: f64| Arc::new((0..rows).map(|row| Some(f64::from(row) * step)).collect::<Float64Array>());
    let colours =
        Arc::new((0..rows).map(|row| Some(["red", "blue"][row as usize % 2])).collect::<StringViewArray>());
    write(&folder, vec![("length", numbers(0.2)), ("width", numbers(0.1)), ("colour", colours)], 2);
    for words in [
        "prune model.txt -o out.txt --data",
        "verify model.txt model.txt --data",
        "advise model.txt --data",
        "domain",
        "ask model.txt range --data",
    ] {
        for table in ["table.arrow", "table.arrows"] {
            let run = folder.run(&format!("{words} {table}"));
            assert_eq!(run.code, Some(0), "{words} {table}: {}", run.stderr);
        }
    }
}

#[test]
fn chunks_and_batches_need_not_meet_and_places_are_told() {
    let folder = folder();
    let rows = 30_001;
    let length = (0..rows).map(|row| (row != 20_000).then_some("7.5")).collect::<Vec<_>>();
    let columns = |length: Vec<Option<&str>>| -> Vec<(&str, ArrayRef)> {
        let width = Float64Array::from(vec![1.0; length.len()]);
        let colour = Int64Array::from(vec![1; length.len()]);
        vec![
            ("length", Arc::new(StringArray::from(length))),
            ("width", Arc::new(width)),
            ("colour", Arc::new(colour)),
        ]
    };
    write(&folder, columns(length.clone()), 3);
    let run = folder.run("predict model.txt --data table.arrow --raw");
    let lines: Vec<&str> = run.ok().lines().skip(1).collect();
    assert_eq!(lines.len(), 3 * rows);
    for (row, line) in lines.iter().enumerate() {
        assert_eq!(line == &lines[20_000], row % rows == 20_000, "{row}");
    }
    let mut bad = length;
    bad[rows - 1] = Some("long");
    write(&folder, columns(bad), 2);
    for run in each_way(&folder, "table.arrow", "-o out.csv") {
        let words = "row 30001, column \"length\": \"long\" is not a number";
        assert!(run.refused().contains(words), "{}", run.stderr);
    }
    assert_eq!(folder.names(), ["model.txt", "table.arrow", "table.arrows"]);
}

#[test]
fn columns_that_are_no_numbers_are_refused_where_they_are_needed() {
    let folder = folder();
    let number: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let date: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    let columns = |length: &ArrayRef| {
        let other = ("other", Arc::clone(&date));
        vec![
            ("length", Arc::clone(length)),
            ("width", Arc::clone(&number)),
            ("colour", Arc::clone(&number)),
            other,
        ]
    };
    write(&folder, columns(&date), 1);
    for run in each_way(&folder, "table.arrow", "") {
        assert!(
            run.refused().contains("column \"length\" holds dates or times; convert it"),
            "{}",
            run.stderr
        );
    }
    write(&folder, columns(&number), 1);
    assert_eq!(folder.run("predict model.txt --data table.arrow --target other").ok(), "class\n0\n");
    // A file that ends early, and one that is none.
    let whole = std::fs::read(folder.path().join("table.arrow")).unwrap();
    folder.file("table.arrow", &whole[..whole.len() - 12]);
    for run in each_way(&folder, "table.arrow", "-o out.csv") {
        assert!(run.refused().contains("the footer cannot be read: the file ends early"), "{}", run.stderr);
    }
    folder.file("table.arrow", b"ARROW1\0\0 and nothing of the kind");
    for run in each_way(&folder, "table.arrow", "") {
        assert!(run.refused().contains("the file is no readable Arrow file"), "{}", run.stderr);
    }
    // A CSV file whose first column has such a name is one.
    folder.file("table.csv", "ARROW1,length,width,colour\n1,1,1,1\n");
    assert_eq!(folder.run("predict model.txt --data table.csv").ok(), "class\n0\n");
}

#[test]
fn predictions_are_those_of_csv() {
    let folder = folder();
    let rows: String =
        (0..300).map(|row| format!("{},0.5,red,\"id, {row}\"\n", f64::from(row) / 7.0)).collect();
    folder.file("rows.csv", format!("length,width,colour,key\n{rows}"));
    for words in ["", "--raw", "--proba"] {
        let csv = folder.run(&format!("predict model.txt --data rows.csv --id key {words}")).ok().to_owned();
        folder.run(&format!("predict model.txt --data rows.csv --id key {words} -o out.arrow")).ok();
        let reader = FileReader::try_new(File::open(folder.path().join("out.arrow")).unwrap(), None).unwrap();
        let mut lines = csv.lines();
        let names: Vec<String> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names.join(","), lines.next().unwrap(), "ids first, the columns of CSV");
        for batch in reader {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let key = batch.column(0).as_string::<i64>().value(row);
                let line = lines.next().unwrap().strip_prefix(&format!("\"{key}\",")).unwrap();
                let shown: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
                assert_eq!(
                    batch.columns()[1..].iter().map(|column| number(column, row)).collect::<Vec<_>>(),
                    shown
                );
            }
        }
        assert_eq!(lines.next(), None);
    }
}

fn number(column: &dyn Array, row: usize) -> f64 {
    use arrow_array::types::{Float64Type, Int64Type};
    match column.as_primitive_opt::<Int64Type>() {
        Some(whole) => whole.value(row) as f64,
        None => column.as_primitive::<Float64Type>().value(row),
    }
}
