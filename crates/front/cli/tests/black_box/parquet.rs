//! Parquet tables: every common type of column, nulls, row groups, and what is refused.

use std::fs::File;
use std::process::Stdio;
use std::sync::Arc;

use crate::support::{FLOWERS, Folder, Run};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

/// The values of a column in one row group; `None` is a null.
enum Column {
    Float(Vec<Option<f32>>),
    Double(Vec<Option<f64>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<&'static str>>),
}

fn present<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    (
        values.iter().flatten().cloned().collect(),
        values.iter().map(|value| i16::from(value.is_some())).collect(),
    )
}

fn write(folder: &Folder, schema: &str, compression: Compression, groups: &[Vec<Column>]) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let file = File::create(folder.path().join("table.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    for group in groups {
        let mut row_group = writer.next_row_group().unwrap();
        for values in group {
            let mut column = row_group.next_column().unwrap().unwrap();
            macro_rules! write {
                ($type:ty, $values:expr) => {{
                    let (values, levels) = present($values);
                    column.typed::<$type>().write_batch(&values, Some(&levels), None).unwrap();
                }};
            }
            match values {
                Column::Float(values) => write!(FloatType, values),
                Column::Double(values) => write!(DoubleType, values),
                Column::Int32(values) => write!(Int32Type, values),
                Column::Int64(values) => write!(Int64Type, values),
                Column::Bool(values) => write!(BoolType, values),
                Column::Text(values) => {
                    let bytes: Vec<_> = values.iter().map(|value| value.map(ByteArray::from)).collect();
                    write!(ByteArrayType, &bytes);
                }
            }
            column.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.close().unwrap();
}

/// The scores that the same rows give as CSV, where an empty field is missing.
fn csv_scores(folder: &Folder, rows: &str) -> String {
    folder.file("same.csv", format!("length,width,colour\n{rows}"));
    folder.run("predict model.txt --data same.csv --raw").ok().to_owned()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder
}

#[test]
fn every_type_of_column_is_read_with_its_nulls() {
    let schema =
        "message table { optional float length; optional double width; optional binary colour (STRING); }";
    let group = || {
        vec![
            Column::Float(vec![Some(1.0), Some(3.0), None, Some(f32::NAN), Some(2.75)]),
            Column::Double(vec![Some(0.0), None, Some(1.0), Some(2.0), Some(f64::INFINITY)]),
            Column::Text(vec![Some("red"), Some("green"), Some("blue"), None, Some("mauve")]),
        ]
    };
    let rows = "1,0,red\n3,,green\n,1,blue\nnan,2,\n2.75,inf,mauve\n";
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let gzip = Compression::GZIP(Default::default());
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW, gzip, zstd] {
        let folder = folder();
        write(&folder, schema, compression, &[group(), group()]);
        let run = folder.run("predict model.txt --data table.parquet --raw");
        assert_eq!(run.ok(), csv_scores(&folder, &rows.repeat(2)));
        assert!(run.stderr.contains("2 values are none of the model's categories (the first is \"mauve\")"));
    }
}

#[test]
fn whole_numbers_and_truth_values_are_numbers() {
    let folder = folder();
    let schema = "message table {
        optional int64 __index_level_0__;
        optional int32 length (INTEGER(32, false));
        optional boolean width;
        optional int64 colour;
        optional int64 answer;
    }";
    let group = vec![
        Column::Int64(vec![Some(5), Some(6), Some(7)]),
        // Read as unsigned, -1 is 2^32 - 1.
        Column::Int32(vec![Some(-1), Some(1), None]),
        Column::Bool(vec![Some(true), Some(false), Some(true)]),
        Column::Int64(vec![Some(2), Some(-1), Some(1)]),
        Column::Int64(vec![Some(0), Some(0), Some(0)]),
    ];
    write(&folder, schema, Compression::SNAPPY, &[group]);
    let run = folder.run("predict model.txt --data table.parquet --raw --target answer");
    assert_eq!(run.ok(), csv_scores(&folder, "4294967295,1,2\n1,0,-1\n,1,1\n"));
    assert_eq!(run.stderr, "");
}

#[test]
fn ids_keep_every_digit() {
    let folder = folder();
    let schema = "message table { optional double length; optional double width; optional int32 colour; \
                  optional int64 key; optional int64 other (TIMESTAMP(MILLIS, true)); }";
    let columns = vec![
        Column::Double(vec![Some(1.0), Some(3.0)]),
        Column::Double(vec![Some(0.0), Some(2.0)]),
        Column::Int32(vec![Some(0), Some(2)]),
        Column::Int64(vec![Some(9_007_199_254_740_993), None]),
        Column::Int64(vec![Some(1), Some(2)]),
    ];
    write(&folder, schema, Compression::UNCOMPRESSED, &[columns]);
    let run = folder.run("predict model.txt --data table.parquet --id key");
    assert_eq!(run.ok(), "key,class\n9007199254740993,0\n,1\n");
    // A target that is neither a number nor text is ignored if its classes are not needed.
    assert_eq!(folder.run("prune model.txt -o out.txt --data table.parquet --target other").code, Some(0));
}

#[test]
fn chunks_and_row_groups_need_not_meet() {
    let folder = folder();
    let schema = "message table { optional float length; optional double width; optional int32 colour; }";
    let group = |rows: usize| {
        vec![
            Column::Float((0..rows).map(|row| Some((row % 7) as f32)).collect()),
            Column::Double((0..rows).map(|row| (row % 3 > 0).then_some((row % 5) as f64)).collect()),
            Column::Int32((0..rows).map(|row| Some((row % 4) as i32)).collect()),
        ]
    };
    let sizes = [30_000, 1, 0, 50_000];
    write(&folder, schema, Compression::SNAPPY, &sizes.map(group));
    let mut rows = String::new();
    for size in sizes {
        for row in 0..size {
            let width = if row % 3 > 0 { (row % 5).to_string() } else { String::new() };
            rows += &format!("{},{width},{}\n", row % 7, row % 4);
        }
    }
    let run = folder.run("predict model.txt --data table.parquet --raw");
    assert!(run.ok() == csv_scores(&folder, &rows), "the scores differ");
    assert_eq!(run.stdout.lines().count(), 80_002);
}

#[test]
fn a_bad_text_is_told_with_row_and_column() {
    let folder = folder();
    let schema =
        "message table { optional binary length (STRING); optional double width; optional int32 colour; }";
    let rows = 40_000;
    let mut length = vec![Some("1.5"); rows];
    length[rows - 1] = Some("long");
    let group =
        vec![Column::Text(length), Column::Double(vec![Some(1.0); rows]), Column::Int32(vec![None; rows])];
    write(&folder, schema, Compression::SNAPPY, &[group]);
    let run = folder.run("predict model.txt --data table.parquet -o out.csv");
    let words = "table.parquet: row 40000, column \"length\": \"long\" is not a number";
    assert!(run.refused().contains(words), "{}", run.stderr);
}

#[test]
fn columns_that_are_no_numbers_are_refused_where_they_are_needed() {
    let schema = "message table {
        optional int32 length (DATE); optional double width; optional int32 colour; optional int64 other (TIMESTAMP(MILLIS, true));
    }";
    let group = || {
        vec![
            Column::Int32(vec![Some(1)]),
            Column::Double(vec![Some(1.0)]),
            Column::Int32(vec![Some(1)]),
            Column::Int64(vec![Some(1)]),
        ]
    };
    let folder = folder();
    write(&folder, schema, Compression::SNAPPY, &[group()]);
    let run = folder.run("predict model.txt --data table.parquet");
    assert!(run.refused().contains("column \"length\" holds dates or times; convert it"), "{}", run.stderr);
    write(&folder, &schema.replace(" (DATE)", ""), Compression::SNAPPY, &[group()]);
    assert_eq!(folder.run("predict model.txt --data table.parquet").ok(), "class\n0\n");
}

/// Damaged files must not crash the program: each byte of a small file is changed in turn.
#[test]
fn damaged_files_give_an_error_or_an_answer() {
    let folder = folder();
    let schema =
        "message table { optional float length; optional double width; optional binary colour (STRING); }";
    let group = vec![
        Column::Float(vec![Some(1.0), None]),
        Column::Double(vec![Some(0.0), Some(1.0)]),
        Column::Text(vec![Some("red"), Some("blue")]),
    ];
    write(&folder, schema, Compression::SNAPPY, &[group]);
    let bytes = std::fs::read(folder.path().join("table.parquet")).unwrap();
    let mut refused = 0;
    for position in (4..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x55;
        folder.file("damaged.parquet", &damaged);
        let run = folder.run("predict model.txt --data damaged.parquet");
        if run.code != Some(0) {
            run.refused();
            refused += 1;
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn predictions_are_written_as_the_name_says() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use std::io::Read as _;

    let folder = folder();
    let rows: String =
        (0..300).map(|row| format!("{},0.5,red,\"id, {row}\"\n", f64::from(row) / 7.0)).collect();
    folder.file("rows.csv", format!("length,width,colour,key\n{rows}"));
    for words in ["", "--raw", "--proba"] {
        let csv = folder.run(&format!("predict model.txt --data rows.csv --id key {words}")).ok().to_owned();
        folder.run(&format!("predict model.txt --data rows.csv --id key {words} -o out.parquet")).ok();
        folder.run(&format!("predict model.txt --data rows.csv --id key {words} -o out.csv.gz")).ok();
        let reader =
            SerializedFileReader::new(File::open(folder.path().join("out.parquet")).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let names: Vec<String> = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        assert_eq!(names.join(","), csv.lines().next().unwrap(), "ids first, the columns of CSV");
        let mut lines = csv.lines().skip(1);
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let mut fields = row.get_column_iter().map(|(_, field)| field.to_string());
            let key = fields.next().unwrap();
            // The texts of numbers parse back to the same bits.
            let values: Vec<f64> = fields.map(|field| field.parse().unwrap()).collect();
            let line = lines.next().unwrap().strip_prefix(&key).unwrap().to_owned();
            let shown: Vec<f64> = line.split(',').skip(1).map(|field| field.parse().unwrap()).collect();
            assert_eq!(values, shown, "{key}");
        }
        assert_eq!(lines.next(), None);
        let mut unpacked = String::new();
        let file = File::open(folder.path().join("out.csv.gz")).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, csv);
    }
    // Other names are refused before anything is computed, and nothing is written.
    for name in ["out.feather", "out.json", "out.xlsx"] {
        let run = folder.run(&format!("predict model.txt --data rows.csv -o {name}"));
        assert!(run.refused().contains(".csv, .csv.gz, .parquet or .arrow"), "{}", run.stderr);
    }
    assert_eq!(folder.names(), ["model.txt", "out.csv.gz", "out.parquet", "rows.csv"]);
}

#[test]
fn a_table_comes_from_stdin() {
    let folder = folder();
    folder.file("rows.csv", "length,width,colour\n1,0,red\n2,1,red\n");
    let expected = folder.run("predict model.txt --data rows.csv --raw").ok().to_owned();
    let mut command = folder.command();
    command.args(["predict", "model.txt", "--data", "-", "--raw"]);
    command.stdin(File::open(folder.path().join("rows.csv")).unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = Run::end_of(command.spawn().unwrap(), "predict from stdin");
    assert_eq!(run.ok(), expected);
}
