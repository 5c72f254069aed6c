//! Tables as Parquet files. Their metadata says what was run and what each column means.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::json;

use super::{Column, Results, Table, TableInfo, Values};

/// Rows of a row group.
const ROW_GROUP: usize = 1 << 20;

/// Writes a table, with the scenario, the seed and the version in its metadata, what its rows are (`narrows.table`), and unit
/// and meaning of its columns (`narrows.columns`, JSON by name of the column).
pub(super) fn write_table(table: &Table, results: &Results, path: &Path) -> Result<(), ParquetError> {
    let schema = Arc::new(Type::group_type_builder(table.name).with_fields(fields(table)?).build()?);
    let plan = &results.plan;
    let metadata = [
        ("narrows.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("narrows.scenario", plan.text.clone()),
        ("narrows.seed", plan.scenario.seed.to_string()),
        ("narrows.complete", results.complete.to_string()),
        ("narrows.table", TableInfo::find(table.name).map_or("", |info| info.meaning).to_owned()),
        ("narrows.columns", meanings(table).to_string()),
    ];
    let metadata = metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).to_vec();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("narrows ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(metadata))
        .build();
    let file = File::create(path)?;
    let mut writer = SerializedFileWriter::new(file.try_clone()?, schema, Arc::new(properties))?;
    for start in (0..table.rows()).step_by(ROW_GROUP) {
        let end = table.rows().min(start + ROW_GROUP);
        let mut group = writer.next_row_group()?;
        for column in &table.columns {
            write_column(&mut group, &column.values, start..end)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(file.sync_all()?)
}

/// Unit and meaning of the columns that are there.
fn meanings(table: &Table) -> serde_json::Value {
    let info = TableInfo::find(table.name);
    let columns = table.columns.iter().filter_map(|column| info?.column(&column.name));
    columns.map(|info| (info.name, json!({ "unit": info.unit, "meaning": info.meaning }))).collect()
}

fn fields(table: &Table) -> Result<Vec<Arc<Type>>, ParquetError> {
    let field = |column: &super::Column| {
        let (physical, converted, repetition) = match &column.values {
            Values::Integers(_) => (Physical::INT64, ConvertedType::UINT_64, Repetition::REQUIRED),
            Values::MaybeIntegers(_) => (Physical::INT64, ConvertedType::UINT_64, Repetition::OPTIONAL),
            Values::Reals(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::REQUIRED),
            Values::MaybeReals(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::OPTIONAL),
            Values::Flags(_) => (Physical::BOOLEAN, ConvertedType::NONE, Repetition::REQUIRED),
            Values::Names(..) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::REQUIRED),
        };
        let builder = Type::primitive_type_builder(&column.name, physical);
        builder.with_converted_type(converted).with_repetition(repetition).build().map(Arc::new)
    };
    table.columns.iter().map(field).collect()
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &Values,
    rows: std::ops::Range<usize>,
) -> Result<(), ParquetError> {
    match values {
        Values::Integers(values) => {
            let values: Vec<_> = values[rows].iter().map(|value| *value as i64).collect();
            write_values::<Int64Type>(group, &values, None)
        }
        Values::MaybeIntegers(values) => {
            let present: Vec<_> = values[rows.clone()].iter().flatten().map(|value| *value as i64).collect();
            write_values::<Int64Type>(group, &present, Some(&levels(&values[rows])))
        }
        Values::Reals(values) => write_values::<DoubleType>(group, &values[rows], None),
        Values::MaybeReals(values) => {
            let present: Vec<_> = values[rows.clone()].iter().flatten().copied().collect();
            write_values::<DoubleType>(group, &present, Some(&levels(&values[rows])))
        }
        Values::Flags(values) => write_values::<BoolType>(group, &values[rows], None),
        Values::Names(values, names) => {
            let names: Vec<_> = names.iter().map(|name| ByteArray::from(name.as_str())).collect();
            let values: Vec<_> = values[rows].iter().map(|index| names[*index as usize].clone()).collect();
            write_values::<ByteArrayType>(group, &values, None)
        }
    }
}

/// 1 where a value is present.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

fn write_values<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Reads those columns of a table that there are; all if `wanted` is none.
pub(super) fn read_table(
    name: &'static str,
    path: &Path,
    wanted: Option<&[&str]>,
) -> Result<Table, ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let fields = reader.metadata().file_metadata().schema_descr_ptr();
    let mut columns = Vec::new();
    for (place, field) in fields.columns().iter().enumerate() {
        let field = field.name();
        if wanted.is_none_or(|wanted| wanted.contains(&field)) {
            columns.push(Column { name: field.to_owned().into(), values: read_column(&reader, place)? });
        }
    }
    Ok(Table { name, columns })
}

fn read_column(reader: &SerializedFileReader<File>, place: usize) -> Result<Values, ParquetError> {
    let mut values: Option<Values> = None;
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = group.metadata().num_rows().max(0) as usize;
        let more = match group.get_column_reader(place)? {
            ColumnReader::Int64ColumnReader(column) => read_integers(column, rows)?,
            ColumnReader::DoubleColumnReader(column) => read_reals(column, rows)?,
            ColumnReader::BoolColumnReader(column) => Values::Flags(read_values::<BoolType>(column, rows)?.0),
            ColumnReader::ByteArrayColumnReader(column) => {
                let names = read_values::<ByteArrayType>(column, rows)?.0;
                let number = |name: ByteArray| match numbers.get(name.data()) {
                    Some(number) => *number,
                    None => {
                        let next = numbers.len() as u32;
                        numbers.insert(name.data().to_vec(), next);
                        next
                    }
                };
                Values::Names(names.into_iter().map(number).collect(), Vec::new())
            }
            _ => return Err(ParquetError::General("a column of an unknown type".into())),
        };
        match &mut values {
            Some(values) => {
                if !values.append(more) {
                    return Err(ParquetError::General("groups of rows of different kinds".into()));
                }
            }
            None => values = Some(more),
        }
    }
    let mut values = values.unwrap_or(Values::Integers(Vec::new()));
    if let Values::Names(_, names) = &mut values {
        names.resize(numbers.len(), String::new());
        for (name, number) in numbers {
            names[number as usize] = String::from_utf8_lossy(&name).into_owned();
        }
    }
    Ok(values)
}

fn read_integers(column: ColumnReaderImpl<Int64Type>, rows: usize) -> Result<Values, ParquetError> {
    let (values, levels) = read_values(column, rows)?;
    Ok(match levels {
        None => Values::Integers(values.into_iter().map(|value: i64| value as u64).collect()),
        Some(levels) => Values::MaybeIntegers(spread(values.into_iter().map(|value| value as u64), &levels)),
    })
}

fn read_reals(column: ColumnReaderImpl<DoubleType>, rows: usize) -> Result<Values, ParquetError> {
    let (values, levels) = read_values(column, rows)?;
    Ok(match levels {
        None => Values::Reals(values),
        Some(levels) => Values::MaybeReals(spread(values.into_iter(), &levels)),
    })
}

/// Puts values where they are present.
fn spread<T>(mut values: impl Iterator<Item = T>, levels: &[i16]) -> Vec<Option<T>> {
    levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect()
}

/// Values, and for each row whether there is one if some may be missing.
type Read<T> = (Vec<<T as DataType>::T>, Option<Vec<i16>>);

/// The values of a column in a group of rows, and where they are present if some may be missing.
fn read_values<T: DataType>(mut column: ColumnReaderImpl<T>, rows: usize) -> Result<Read<T>, ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (records, _, _) = column.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General(format!("{read} rows, expected {rows}")));
        }
        read += records;
    }
    Ok((values, (!levels.is_empty()).then_some(levels)))
}
