//! Tables as written can be read again by any reader of Parquet.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use narrows::diagnostic::Code;
use narrows::plan::Plan;
use narrows::results::{Output, Results, Stored, TableInfo, Values, find};
use narrows::run::{Options, run};
use narrows::templates;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

fn written() -> (Results, tempfile::TempDir) {
    let mut document = templates::find("incast").expect("built in").document().expect("parses");
    // Cut short, so that there are flows without an end.
    document.set("stop={ after = '6 ms' }").expect("fits");
    document
        .set("record={queues={interval='50 us'}, links={interval='50 us'}, windows={interval='50 us'}, state={interval='50 us'}}")
        .expect("fits");
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")));
    let results = run(&plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded");
    let place = tempfile::tempdir().expect("a place");
    let output = Output::begin(&place.path().join("out"), false).expect("can be written");
    output.write(&results, "").expect("written");
    output.finish().expect("renamed");
    (results, place)
}

fn reader(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).expect("is there")).expect("is Parquet")
}

/// A value as text; empty if there is none.
fn shown(values: &Values, row: usize) -> String {
    match values {
        Values::Integers(values) => values[row].to_string(),
        Values::MaybeIntegers(values) => values[row].map_or(String::new(), |value| value.to_string()),
        Values::Reals(values) => values[row].to_string(),
        Values::MaybeReals(values) => values[row].map_or(String::new(), |value| value.to_string()),
        Values::Flags(values) => values[row].to_string(),
        Values::Names(values, names) => names[values[row] as usize].clone(),
        Values::MaybeNames(values, names) => {
            values[row].map_or(String::new(), |value| names[value as usize].clone())
        }
    }
}

fn read(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::ULong(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Bool(value) => value.to_string(),
        Field::Str(value) => value.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_value_of_every_table_comes_back() {
    let (results, place) = written();
    let tables = results.tables();
    assert_eq!(
        tables.iter().map(|table| table.name).collect::<Vec<_>>(),
        ["flows", "ports", "queues", "links", "windows", "state"]
    );
    for table in tables {
        let reader = reader(&place.path().join(format!("out/{}.parquet", table.name)));
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), table.rows(), "{}", table.name);
        assert!(!rows.is_empty(), "{}", table.name);
        for (number, row) in rows.iter().enumerate() {
            for ((name, field), column) in row.get_column_iter().zip(&table.columns) {
                assert_eq!(*name, column.name);
                assert_eq!(read(field), shown(&column.values, number), "{}.{name}, row {number}", table.name);
            }
        }
    }
    assert!(results.flows.iter().any(|flow| flow.end.is_none()), "an empty value was among them");
}

#[test]
fn tables_read_back_are_the_tables_that_were_written() {
    let (results, place) = written();
    let stored = Stored::open(&place.path().join("out")).expect("results");
    assert_eq!(stored.summary, results.to_json());
    assert_eq!(stored.scenario, results.plan.text);
    for table in results.tables() {
        let read = stored.table(table.name, None).expect("a file").expect("a table");
        assert_eq!(read.columns.len(), table.columns.len(), "{}", table.name);
        for (read, column) in read.columns.iter().zip(&table.columns) {
            assert_eq!(read.name, column.name);
            for row in 0..table.rows() {
                let place = format!("{}.{}, row {row}", table.name, column.name);
                assert_eq!(shown(&read.values, row), shown(&column.values, row), "{place}");
            }
        }
        let one = &table.columns[0].name;
        let only = stored.table(table.name, Some(&[one])).expect("a file").expect("a table");
        assert_eq!(only.columns.len(), 1, "only what is asked for is read");
    }
    assert_eq!(stored.table("rpcs", None).expect("no error"), None);
}

#[test]
fn results_that_were_cut_off_are_refused() {
    let (_, place) = written();
    let path = place.path().join("out/flows.parquet");
    let bytes = std::fs::read(&path).expect("a file");
    for cut in [0, 3, bytes.len() / 2, bytes.len() - 5] {
        std::fs::write(&path, &bytes[..cut]).expect("space");
        let stored = Stored::open(&place.path().join("out")).expect("results");
        let error = stored.table("flows", None).expect_err("a cut file");
        assert_eq!(error.0[0].code, Code::BadResults, "{cut} bytes");
    }
    std::fs::remove_file(place.path().join("out/run.json")).expect("it is there");
    assert_eq!(find(&place.path().join("out")).expect_err("nothing").0[0].code, Code::NoResults);
}

#[test]
fn every_table_says_what_it_was_made_from() {
    let (results, place) = written();
    for name in ["flows", "ports", "queues", "links", "windows", "state"] {
        let reader = reader(&place.path().join(format!("out/{name}.parquet")));
        let pairs = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        assert_eq!(value("narrows.version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
        assert_eq!(value("narrows.seed").as_deref(), Some("1"));
        assert_eq!(value("narrows.complete").as_deref(), Some("true"));
        assert_eq!(value("narrows.scenario"), Some(results.plan.text.clone()));
    }
}

#[test]
fn every_file_says_what_its_columns_mean() {
    let (results, place) = written();
    for table in results.tables() {
        let reader = reader(&place.path().join(format!("out/{}.parquet", table.name)));
        let pairs = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        let info = TableInfo::find(table.name).expect("is described");
        assert_eq!(value("narrows.table").as_deref(), Some(info.meaning));
        let columns: serde_json::Value =
            serde_json::from_str(&value("narrows.columns").expect("there")).expect("JSON");
        assert_eq!(columns.as_object().expect("by name").len(), table.columns.len());
        for column in &table.columns {
            let meaning = info.column(&column.name).expect("is described").meaning;
            assert_eq!(columns[column.name.as_ref()]["meaning"], meaning, "{}.{}", table.name, column.name);
        }
    }
}
