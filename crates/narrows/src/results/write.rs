//! Writing results to a folder: all of it or nothing.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::{Value, json};

use super::{Results, Table, Values};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Rows of a row group.
const ROW_GROUP: usize = 1 << 20;

/// Checks that results can go to `folder` before anything is simulated.
///
/// # Errors
/// If the folder exists and must not be replaced, or its parent cannot be written to.
pub fn check_output(folder: &Path, overwrite: bool) -> Checked<()> {
    if folder.exists() && !overwrite {
        let message = format!("the folder {} exists", folder.display());
        let help = "choose another with --out, or replace it with --overwrite";
        return Err(Diagnostic::error(Code::OutputExists, message).help(help).into());
    }
    staging(folder).map(drop)
}

/// Writes results to `folder`, by way of a temporary folder beside it. `extra` are further files: name and content.
///
/// # Errors
/// If something cannot be written; then nothing is left behind.
pub fn write(results: &Results, folder: &Path, overwrite: bool, extra: &[(&str, String)]) -> Checked<()> {
    check_output(folder, overwrite)?;
    let staging = staging(folder)?;
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Diagnostic::error(Code::OutputFailed, format!("cannot write {what} to {}: {error}", folder.display()))
    };
    for table in results.tables() {
        let path = staging.path().join(format!("{}.parquet", table.name));
        write_table(&table, results, &path).map_err(|error| failed(&format!("{}.parquet", table.name), &error))?;
    }
    let summary = serde_json::to_string_pretty(&results.to_json()).unwrap_or_default() + "\n";
    let text = [("run.json", summary), ("scenario.toml", results.plan.text.clone())];
    for (name, content) in text.iter().map(|(name, content)| (*name, content)).chain(extra.iter().map(|(n, c)| (*n, c))) {
        write_text(&staging.path().join(name), content).map_err(|error| failed(name, &error))?;
    }
    replace(staging, folder).map_err(|error| failed("results", &error).into())
}

/// A temporary folder beside the target, so that renaming cannot cross file systems.
fn staging(folder: &Path) -> Checked<tempfile::TempDir> {
    let failed = |error: std::io::Error| {
        Diagnostic::error(Code::OutputFailed, format!("cannot write to {}: {error}", folder.display()))
    };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(failed)?;
    Ok(tempfile::Builder::new().prefix(".narrows-").tempdir_in(parent).map_err(failed)?)
}

fn replace(staging: tempfile::TempDir, folder: &Path) -> std::io::Result<()> {
    let mut old = None;
    if folder.exists() {
        let aside = staging.path().with_extension("old");
        std::fs::rename(folder, &aside)?;
        old = Some(aside);
    }
    if let Err(error) = std::fs::rename(staging.path(), folder) {
        if let Some(aside) = old {
            std::fs::rename(aside, folder)?;
        }
        return Err(error);
    }
    let _ = staging.keep(); // it has become the target
    make_readable(folder)?;
    match old {
        Some(aside) => std::fs::remove_dir_all(aside),
        None => Ok(()),
    }
}

/// Temporary folders are private; results are as readable as any other folder.
#[cfg(unix)]
fn make_readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_readable(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

fn write_text(path: &Path, content: &str) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

fn write_table(table: &Table, results: &Results, path: &Path) -> Result<(), ParquetError> {
    let schema = Arc::new(Type::group_type_builder(table.name).with_fields(fields(table)?).build()?);
    let plan = &results.plan;
    let metadata = [
        ("narrows.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("narrows.scenario", plan.text.clone()),
        ("narrows.seed", plan.scenario.seed.to_string()),
        ("narrows.complete", results.complete.to_string()),
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

impl Results {
    /// The summary as `run.json` holds it.
    pub fn to_json(&self) -> Value {
        let plan = &self.plan;
        let group = |group: &crate::plan::PlannedGroup| {
            json!({
                "name": group.name,
                "control": group.control,
                "pattern": group.pattern,
                "mean_size_bytes": group.sizes.as_ref().map(|sizes| sizes.sizes.mean()),
                "offered_load": group.load.as_ref().map(|load| load.load),
            })
        };
        json!({
            "narrows": env!("CARGO_PKG_VERSION"),
            "scenario": plan.scenario.name,
            "seed": plan.scenario.seed,
            "complete": self.complete,
            "ended_ps": self.ended.as_ps(),
            "network": plan.describe_network(),
            "groups": plan.groups.iter().map(group).collect::<Vec<_>>(),
            "metrics": self.metrics.iter().map(|metric| (metric.name.clone(), json!(metric.value))).collect::<serde_json::Map<_, _>>(),
            "activity": self.activity.iter().map(|what| (what.what.to_owned(), json!(what.times))).collect::<serde_json::Map<_, _>>(),
            "expectations": plan.scenario.expect.iter().map(|expect| json!({
                "metric": expect.metric,
                "below": expect.below,
                "above": expect.above,
                "found": self.metric(&expect.metric),
            })).collect::<Vec<_>>(),
            "warnings": plan.warnings.iter().map(|warning| format!("{} {}", warning.code.name(), warning.message)).collect::<Vec<_>>(),
        })
    }
}
