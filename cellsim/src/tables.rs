//! Parquet files, written a row group at a time so that memory does not grow with simulated time.
//!
//! The same rows give the same bytes: no time stamp and no machine goes into the file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::error::Error;

const ROWS_PER_GROUP: usize = 65_536;

/// The values of one column that are not written yet.
pub enum Column {
    /// Always there.
    I32(Vec<i32>),
    /// Always there.
    I64(Vec<i64>),
    /// May be missing.
    OptionalI64(Vec<Option<i64>>),
    /// Always there.
    Text(Vec<ByteArray>),
    /// May be missing.
    OptionalText(Vec<Option<ByteArray>>),
}

/// One value of a row.
pub enum Value<'a> {
    I32(i32),
    I64(i64),
    OptionalI64(Option<i64>),
    Text(&'a str),
    OptionalText(Option<&'a str>),
}

impl Column {
    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Column::I32(column), Value::I32(value)) => column.push(value),
            (Column::I64(column), Value::I64(value)) => column.push(value),
            (Column::OptionalI64(column), Value::OptionalI64(value)) => column.push(value),
            (Column::Text(column), Value::Text(value)) => column.push(ByteArray::from(value)),
            (Column::OptionalText(column), Value::OptionalText(value)) => {
                column.push(value.map(ByteArray::from))
            }
            _ => unreachable!("a row has the types of its table's columns"),
        }
    }
}

/// A table being written.
pub struct Table {
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    rows: usize,
    name: String,
}

impl Table {
    /// A new file at `path` with the columns of a Parquet `schema` message, empty of type by type.
    pub fn create(path: &Path, schema: &str, columns: Vec<Column>) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |error: &dyn std::fmt::Display| Error::output(&name, error);
        let schema = parse_message_type(schema).map_err(|error| failed(&error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("cellsim ", env!("CARGO_PKG_VERSION")).to_string())
            .build();
        let file = File::create(path).map_err(|error| failed(&error))?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        Ok(Self { writer: writer.map_err(|error| failed(&error))?, columns, rows: 0, name })
    }

    /// Append a row; its values stand in the order of the columns.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = Value<'a>>) {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.rows += 1;
    }

    /// Write what has been gathered when it is enough for a row group.
    pub fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.rows >= ROWS_PER_GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let name = self.name.clone();
        self.write_group().map_err(|error| Error::output(&name, error))?;
        self.rows = 0;
        Ok(())
    }

    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            match column {
                Column::I32(values) => {
                    writer.typed::<Int32Type>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::I64(values) => {
                    writer.typed::<Int64Type>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::OptionalI64(values) => {
                    let (levels, there) = present(values);
                    writer.typed::<Int64Type>().write_batch(&there, Some(&levels), None)?;
                }
                Column::Text(values) => {
                    writer.typed::<ByteArrayType>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::OptionalText(values) => {
                    let (levels, there) = present(values);
                    writer.typed::<ByteArrayType>().write_batch(&there, Some(&levels), None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Write the rest and sync the file.
    pub fn close(mut self) -> Result<(), Error> {
        if self.rows > 0 {
            self.flush()?;
        }
        let name = self.name.clone();
        let failed = |error: &dyn std::fmt::Display| Error::output(&name, error);
        let file = self.writer.into_inner().map_err(|error| failed(&error))?;
        file.sync_all().map_err(|error| failed(&error))
    }
}

/// Definition levels and the values that are there; empties the column.
fn present<T>(values: &mut Vec<Option<T>>) -> (Vec<i16>, Vec<T>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.drain(..).flatten().collect())
}
