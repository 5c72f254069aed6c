//! Tables as Parquet files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use narrows_proto::units;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::column::writer::{ColumnWriter, get_column_writer, get_typed_column_writer_mut};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};

use super::guard::guarded;
use super::table::PART;
use super::{Column, Table, Values, pages};
use crate::input_file;
use crate::plan::available_memory;

/// Rows of a row group.
pub(crate) const ROW_GROUP: usize = 1 << 20;

/// A file in the making, on a disk or in memory.
pub(crate) struct TableWriter<W: Write + Send = File>(SerializedFileWriter<W>);

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file for tables with the columns of `table`, whose rows are not written yet.
    pub(crate) fn begin(file: W, table: &Table, metadata: Vec<(&str, String)>) -> io::Result<Self> {
        let metadata =
            metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("narrows ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata))
            .build();
        let begin = || {
            let fields = fields(table)?;
            let schema = Arc::new(Type::group_type_builder(table.name).with_fields(fields).build()?);
            SerializedFileWriter::new(file, schema, Arc::new(properties))
        };
        begin().map(Self).map_err(cause)
    }

    /// Writes the rows of a table.
    pub(crate) fn write(&mut self, table: &Table) -> io::Result<()> {
        let starts = (0..table.rows()).step_by(PART);
        self.write_parts(&mut starts.map(|start| table.part(start..table.rows().min(start + PART))))
    }

    /// Writes the rows of a table that comes in parts of [`PART`] rows and a rest, none of which is empty.
    pub(crate) fn write_parts(&mut self, parts: &mut dyn Iterator<Item = Table>) -> io::Result<()> {
        while let Some(first) = parts.next() {
            let more = &mut parts.take(ROW_GROUP / PART - 1);
            self.write_group(std::iter::once(first).chain(more)).map_err(cause)?;
        }
        Ok(())
    }

    /// All columns are encoded side by side, so that no more than a part of the rows need be there.
    fn write_group(&mut self, parts: impl Iterator<Item = Table>) -> Result<(), ParquetError> {
        let (schema, properties) = (self.0.schema_descr().clone(), Arc::clone(self.0.properties()));
        let mut encoded: Vec<_> = schema.columns().iter().map(|_| TrackedWrite::new(Vec::new())).collect();
        let mut columns: Vec<_> = schema
            .columns()
            .iter()
            .zip(&mut encoded)
            .map(|(about, encoded)| {
                let pages = Box::new(SerializedPageWriter::new(encoded));
                get_column_writer(Arc::clone(about), Arc::clone(&properties), pages)
            })
            .collect();
        for part in parts {
            for (column, Column { values, .. }) in columns.iter_mut().zip(part.columns) {
                write_column(column, values)?;
            }
        }
        let closed = columns.into_iter().map(ColumnWriter::close).collect::<Result<Vec<_>, _>>()?;
        let mut group = self.0.next_row_group()?;
        for (encoded, closed) in encoded.into_iter().zip(closed) {
            group.append_column(&Bytes::from(encoded.into_inner()?), closed)?;
        }
        group.close().map(drop)
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        // Not `into_inner`, whose errors have lost their cause.
        self.0.close().map(drop).map_err(cause)
    }
}

/// Error of the system, if that is the cause.
fn cause(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn fields(table: &Table) -> Result<Vec<Arc<Type>>, ParquetError> {
    let field = |column: &Column| {
        let (physical, converted, repetition) = match &column.values {
            Values::Integers(_) => (Physical::INT64, ConvertedType::UINT_64, Repetition::REQUIRED),
            Values::MaybeIntegers(_) => (Physical::INT64, ConvertedType::UINT_64, Repetition::OPTIONAL),
            Values::Reals(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::REQUIRED),
            Values::MaybeReals(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::OPTIONAL),
            Values::Flags(_) => (Physical::BOOLEAN, ConvertedType::NONE, Repetition::REQUIRED),
            Values::Names(..) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::REQUIRED),
            Values::MaybeNames(..) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::OPTIONAL),
        };
        let builder = Type::primitive_type_builder(&column.name, physical);
        builder.with_converted_type(converted).with_repetition(repetition).build().map(Arc::new)
    };
    table.columns.iter().map(field).collect()
}

fn write_column(column: &mut ColumnWriter<'_>, values: Values) -> Result<(), ParquetError> {
    let signed = |value: u64| value as i64;
    let texts =
        |names: &[String]| -> Vec<_> { names.iter().map(|name| ByteArray::from(name.as_str())).collect() };
    match values {
        Values::Integers(values) => {
            let values: Vec<_> = values.into_iter().map(signed).collect();
            write_values::<Int64Type>(column, &values, None)
        }
        Values::MaybeIntegers(values) => {
            let present: Vec<_> = values.iter().flatten().copied().map(signed).collect();
            write_values::<Int64Type>(column, &present, Some(&levels(&values)))
        }
        Values::Reals(values) => write_values::<DoubleType>(column, &values, None),
        Values::MaybeReals(values) => {
            let present: Vec<_> = values.iter().flatten().copied().collect();
            write_values::<DoubleType>(column, &present, Some(&levels(&values)))
        }
        Values::Flags(values) => write_values::<BoolType>(column, &values, None),
        Values::Names(values, names) => {
            let names = texts(&names);
            let values: Vec<_> = values.iter().map(|index| names[*index as usize].clone()).collect();
            write_values::<ByteArrayType>(column, &values, None)
        }
        Values::MaybeNames(values, names) => {
            let names = texts(&names);
            let present: Vec<_> =
                values.iter().flatten().map(|index| names[*index as usize].clone()).collect();
            write_values::<ByteArrayType>(column, &present, Some(&levels(&values)))
        }
    }
}

/// 1 where a value is present.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

fn write_values<T: DataType>(
    column: &mut ColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    get_typed_column_writer_mut::<T>(column).write_batch(values, levels, None).map(drop)
}

/// Rows take up to so many times the size of their file in memory. Tables of runs take up to some tens of times as much, as some
/// column of each varies from row to row; a file that says more is damaged, or was made to use up the memory.
const MOST_EXPANSION: u64 = 256;
/// Rows that take no more than this in memory are read whatever the size of their file is.
const ALWAYS_FITS: u64 = 256 << 20;
/// For rows that take no more than this nobody looks how much memory there is, which would take longer than to read them.
const LITTLE: u64 = 1 << 20;
/// Of what is read, so many copies are in memory at most, when it is decoded and when something is made of it.
const COPIES: u64 = 3;

/// Files up to this size are read at once: page by page, small ones take hundreds of calls of the system.
const SMALL: u64 = 1 << 20;

/// A file to read, on the disk or in memory.
pub(crate) enum Chunks {
    File(File),
    Held(Bytes),
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => Length::len(file),
            Self::Held(bytes) => Length::len(bytes),
        }
    }
}

impl ChunkReader for Chunks {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Held(bytes) => Box::new(bytes.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Held(bytes) => bytes.get_bytes(start, length),
        }
    }
}

/// A file to read, by groups of rows. Nothing is decoded before it is known what it takes.
pub(crate) struct TableReader<R: ChunkReader = Chunks> {
    name: &'static str,
    file: Arc<R>,
    metadata: ParquetMetaData,
    /// Bytes of the file.
    size: u64,
    /// Of those columns that are wanted: their places.
    places: Vec<usize>,
}

impl TableReader {
    /// Opens a file, for those of the wanted columns that there are; for all if `wanted` is none.
    pub(crate) fn open(
        name: &'static str,
        path: &Path,
        wanted: Option<&[&str]>,
    ) -> Result<Self, ParquetError> {
        let file = input_file::open(path)?;
        let size = file.metadata()?.len();
        if size > SMALL {
            return Self::new(name, Chunks::File(file), size, wanted, &mut || input_file::open(path));
        }
        let mut bytes = Vec::with_capacity(size as usize + 1);
        Read::take(&file, size).read_to_end(&mut bytes)?;
        let bytes = Bytes::from(bytes);
        let mut again = || Ok(io::Cursor::new(bytes.clone()));
        Self::new(name, Chunks::Held(bytes.clone()), bytes.len() as u64, wanted, &mut again)
    }
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Reads from `file`, which has so many bytes. What it says is held against the same file, opened `again`.
    fn new<A: Read + Seek>(
        name: &'static str,
        file: R,
        size: u64,
        wanted: Option<&[&str]>,
        again: &mut dyn FnMut() -> io::Result<A>,
    ) -> Result<Self, ParquetError> {
        let metadata = undamaged(|| ParquetMetaDataReader::new().parse_and_finish(&file))?;
        let fields = metadata.file_metadata().schema_descr_ptr();
        let is_wanted =
            |place: &usize| wanted.is_none_or(|wanted| wanted.contains(&fields.column(*place).name()));
        let places = (0..fields.num_columns()).filter(is_wanted).collect();
        let reader = Self { name, file: Arc::new(file), metadata, size, places };
        let mut file = again()?;
        (0..reader.groups()).try_for_each(|group| reader.check(&mut file, group))?;
        Ok(reader)
    }

    /// A group must be what its file can hold: as many values in each column as rows, and no more bytes than compression makes
    /// of those that are there.
    fn check(&self, file: &mut (impl Read + Seek), group: usize) -> Result<(), ParquetError> {
        let group = self.metadata.row_group(group);
        let damaged = |what: String| Err(ParquetError::General(format!("damaged: {what}")));
        for place in &self.places {
            let column = group.column(*place);
            let name = column.column_descr().name();
            let (rows, values) = (group.num_rows(), column.num_values());
            if rows < 0 || values != rows {
                return damaged(format!("column {name} has {values} values in a group of {rows} rows"));
            }
            let (compressed, whole) = (column.compressed_size(), column.uncompressed_size());
            let (Ok(packed), Ok(unpacked)) = (u64::try_from(compressed), u64::try_from(whole)) else {
                return damaged(format!("column {name} has less than no bytes"));
            };
            if packed > self.size {
                return damaged(format!("column {name} has {packed} bytes in a file of {}", self.size));
            }
            if !pages::is_plausible(unpacked, packed) {
                return damaged(format!("column {name} has {unpacked} bytes, compressed to {packed}"));
            }
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            pages::check(file, u64::try_from(start).unwrap_or(u64::MAX), packed)?;
        }
        Ok(())
    }

    /// Admits so many rows if the memory they take fits the file they are in, and the memory there is.
    fn admit(&self, rows: i64) -> Result<(), ParquetError> {
        let fields = self.metadata.file_metadata().schema_descr_ptr();
        let width = |place: &usize| {
            let field = fields.column(*place);
            let value =
                if field.physical_type() == Physical::BYTE_ARRAY { size_of::<ByteArray>() } else { 8 };
            value as u64 * if field.self_type().is_optional() { 2 } else { 1 }
        };
        let width: u64 = self.places.iter().map(width).sum();
        let needed = width.saturating_mul(rows.max(0) as u64);
        let refuse = |why: String| {
            let needed = units::Bytes::new(needed);
            Err(ParquetError::General(format!("{rows} rows would take {needed:.1} of memory, {why}")))
        };
        if needed > self.size.saturating_mul(MOST_EXPANSION).max(ALWAYS_FITS) {
            let size = units::Bytes::new(self.size);
            return refuse(format!("more than can be in a table of {size:.1} that a run has written"));
        }
        let available = if needed > LITTLE { available_memory() } else { None };
        match available {
            Some(available) if needed.saturating_mul(COPIES) > available.get() => {
                refuse(format!("several times over; {available:.1} are available"))
            }
            _ => Ok(()),
        }
    }

    /// Number of row groups.
    pub(crate) fn groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// The columns, without rows.
    pub(crate) fn empty(&self) -> Result<Table, ParquetError> {
        let schema = self.metadata.file_metadata().schema_descr_ptr();
        let column = |place: &usize| {
            let field = schema.column(*place);
            let maybe = field.self_type().is_optional();
            let values = match (field.physical_type(), maybe) {
                (Physical::INT64, false) => Values::Integers(Vec::new()),
                (Physical::INT64, true) => Values::MaybeIntegers(Vec::new()),
                (Physical::DOUBLE, false) => Values::Reals(Vec::new()),
                (Physical::DOUBLE, true) => Values::MaybeReals(Vec::new()),
                (Physical::BOOLEAN, false) => Values::Flags(Vec::new()),
                (Physical::BYTE_ARRAY, false) => Values::Names(Vec::new(), Vec::new()),
                (Physical::BYTE_ARRAY, true) => Values::MaybeNames(Vec::new(), Vec::new()),
                _ => return Err(ParquetError::General("a column of an unknown type".into())),
            };
            Ok(Column { name: field.name().to_owned().into(), values })
        };
        let columns = self.places.iter().map(column).collect::<Result<_, _>>()?;
        Ok(Table { name: self.name, columns })
    }

    /// The rows of one group.
    pub(crate) fn group(&self, number: usize) -> Result<Table, ParquetError> {
        let mut table = self.empty()?;
        let group = self.metadata.row_group(number);
        self.admit(group.num_rows())?;
        let rows = group.num_rows().max(0) as usize;
        for (column, place) in table.columns.iter_mut().zip(&self.places) {
            let read = || {
                let column_of = group.column(*place);
                let pages = SerializedPageReader::new(Arc::clone(&self.file), column_of, rows, None)?;
                read_column(column_of.column_descr_ptr(), Box::new(pages), rows, &column.values)
            };
            column.values = undamaged(read)?;
        }
        Ok(table)
    }

    /// All rows.
    fn read(&self) -> Result<Table, ParquetError> {
        let groups = self.metadata.row_groups();
        self.admit(groups.iter().map(|group| group.num_rows()).fold(0, i64::saturating_add))?;
        let mut table = self.empty()?;
        for group in 0..self.groups() {
            for (column, more) in table.columns.iter_mut().zip(self.group(group)?.columns) {
                if !column.values.append(more.values) {
                    return Err(ParquetError::General("groups of rows of different kinds".into()));
                }
            }
        }
        Ok(table)
    }
}

/// Reads those columns of a table that there are; all if `wanted` is none.
pub(super) fn read_table(
    name: &'static str,
    path: &Path,
    wanted: Option<&[&str]>,
) -> Result<Table, ParquetError> {
    TableReader::open(name, path, wanted)?.read()
}

/// The same of a file in memory.
pub(super) fn read_table_of(
    name: &'static str,
    file: &Bytes,
    wanted: Option<&[&str]>,
) -> Result<Table, ParquetError> {
    let mut again = || Ok(io::Cursor::new(file));
    TableReader::new(name, file.clone(), file.len() as u64, wanted, &mut again)?.read()
}

/// Result of the library on a file that may be damaged.
fn undamaged<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = || Err(ParquetError::General("damaged: it cannot be decoded".into()));
    guarded(read).unwrap_or_else(damaged)
}

/// The values of a column in a group of so many rows, of the same kind as `like`.
fn read_column(
    about: ColumnDescPtr,
    pages: Box<dyn PageReader>,
    rows: usize,
    like: &Values,
) -> Result<Values, ParquetError> {
    Ok(match like {
        Values::Integers(_) | Values::MaybeIntegers(_) => {
            let (values, levels) = read_values::<Int64Type>(about, pages, rows)?;
            let values = values.into_iter().map(|value| value as u64);
            match like {
                Values::MaybeIntegers(_) => Values::MaybeIntegers(spread(values, &levels)),
                _ => Values::Integers(values.collect()),
            }
        }
        Values::Reals(_) => Values::Reals(read_values::<DoubleType>(about, pages, rows)?.0),
        Values::MaybeReals(_) => {
            let (values, levels) = read_values::<DoubleType>(about, pages, rows)?;
            Values::MaybeReals(spread(values.into_iter(), &levels))
        }
        Values::Flags(_) => Values::Flags(read_values::<BoolType>(about, pages, rows)?.0),
        Values::Names(..) | Values::MaybeNames(..) => {
            let (values, levels) = read_values::<ByteArrayType>(about, pages, rows)?;
            let (values, names) = numbered(&values);
            match like {
                Values::MaybeNames(..) => Values::MaybeNames(spread(values.into_iter(), &levels), names),
                _ => Values::Names(values, names),
            }
        }
    })
}

/// For each text its number, and the text of each number.
fn numbered(texts: &[ByteArray]) -> (Vec<u32>, Vec<String>) {
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut names = Vec::new();
    let mut number = |text: &[u8]| {
        names.push(String::from_utf8_lossy(text).into_owned());
        (names.len() - 1) as u32
    };
    let values = texts.iter().map(|text| *numbers.entry(text.data()).or_insert_with_key(|text| number(text)));
    (values.collect(), names)
}

/// Puts values where they are present.
fn spread<T>(mut values: impl Iterator<Item = T>, levels: &[i16]) -> Vec<Option<T>> {
    levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect()
}

/// The values of a column in a group of rows, and for each row whether there is one, if some may be missing.
fn read_values<T: DataType>(
    about: ColumnDescPtr,
    pages: Box<dyn PageReader>,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>), ParquetError> {
    // Not through `RowGroupReader`, which brings readers of all types of Parquet along.
    let mut column = ColumnReaderImpl::<T>::new(about, pages);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (records, _, _) = column.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General(format!("{read} rows, expected {rows}")));
        }
        read += records;
    }
    Ok((values, levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of so many rows that all say the same, in a file.
    fn same(rows: usize, groups: usize) -> (tempfile::TempDir, std::path::PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.parquet");
        let column =
            |name: &'static str| Column { name: name.into(), values: Values::Integers(vec![7; rows]) };
        let table = Table { name: "queues", columns: vec![column("a"), column("b")] };
        let mut writer = TableWriter::begin(File::create(&path).unwrap(), &table, Vec::new()).unwrap();
        (0..groups).for_each(|_| writer.write(&table).unwrap());
        writer.finish().unwrap();
        (place, path)
    }

    #[test]
    fn a_small_file_of_very_many_rows_is_refused_before_it_is_decoded() {
        // 17 groups of 2^20 rows of 16 bytes: more than is always read.
        let (_place, path) = same(ROW_GROUP, 17);
        assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
        let error = read_table("queues", &path, None).unwrap_err().to_string();
        assert!(error.contains("17825792 rows would take 285.2 MB of memory, more than can be"), "{error}");
        assert_eq!(read_table("queues", &path, Some(&["a"])).unwrap().rows(), 17 * ROW_GROUP);
    }

    #[test]
    fn a_small_file_of_as_many_rows_as_a_run_writes_is_read() {
        let (_place, path) = same(1000, 3);
        assert_eq!(read_table("queues", &path, None).unwrap().rows(), 3000);
    }

    #[test]
    fn a_file_with_a_flipped_bit_is_read_or_refused() {
        let (_place, path) = same(5, 1);
        let whole = std::fs::read(&path).unwrap();
        for byte in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[byte] ^= 1 << bit;
                std::fs::write(&path, &damaged).unwrap();
                drop(read_table("queues", &path, None));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_no_table() {
        let error = TableReader::open("queues", Path::new("/dev/zero"), None).err().unwrap();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}
