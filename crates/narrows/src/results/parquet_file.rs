//! Tables as Parquet files. Their metadata says what was run and what each column means.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::json;

use super::{Results, Table, TableInfo, Values};

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
    let columns = table.columns.iter().filter_map(|column| info?.column(column.name));
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
        let builder = Type::primitive_type_builder(column.name, physical);
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
