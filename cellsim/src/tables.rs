//! Parquet files, written a row group at a time so that memory does not grow with simulated time.
//!
//! The same rows give the same bytes: no time stamp and no machine goes into the file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::error::Error;

/// Rows that are gathered before they are written: a few MB.
const ROWS_PER_GROUP: usize = 65_536;

/// What the values of a column are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number of 32 bits.
    I32,
    /// A whole number of 64 bits.
    I64,
    /// UTF-8.
    Text,
    /// Yes or no.
    Bool,
}

/// A column of a table's schema.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    name: &'static str,
    kind: Kind,
    optional: bool,
}

impl Field {
    /// A column with a value in each row.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, optional: false }
    }

    /// A column whose values may be missing.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, optional: true }
    }

    /// The column's line in a schema, in the language of Parquet's messages.
    fn line(&self) -> String {
        let repetition = if self.optional { "optional" } else { "required" };
        match self.kind {
            Kind::I32 => format!("{repetition} int32 {};", self.name),
            Kind::I64 => format!("{repetition} int64 {};", self.name),
            Kind::Text => format!("{repetition} binary {} (UTF8);", self.name),
            Kind::Bool => format!("{repetition} boolean {};", self.name),
        }
    }
}

/// The values of one column that are not written yet: those that are there and, where some may be missing, for
/// each row whether it is (Parquet's definition level).
struct Column {
    values: Values,
    levels: Option<Vec<i16>>,
}

enum Values {
    I32(Vec<i32>),
    I64(Vec<i64>),
    Text(Vec<ByteArray>),
    Bool(Vec<bool>),
}

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A 32-bit number.
    I32(i32),
    /// A 64-bit number.
    I64(i64),
    /// A text.
    Text(&'a str),
    /// Yes or no.
    Bool(bool),
    /// Missing.
    None,
}

impl Column {
    fn new(field: &Field) -> Self {
        let values = match field.kind {
            Kind::I32 => Values::I32(Vec::new()),
            Kind::I64 => Values::I64(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
        };
        Self { values, levels: field.optional.then(Vec::new) }
    }

    fn push(&mut self, value: Value<'_>) {
        match (&mut self.values, value) {
            (Values::I32(column), Value::I32(value)) => column.push(value),
            (Values::I64(column), Value::I64(value)) => column.push(value),
            (Values::Text(column), Value::Text(value)) => column.push(ByteArray::from(value)),
            (Values::Bool(column), Value::Bool(value)) => column.push(value),
            (_, Value::None) if self.levels.is_some() => {}
            _ => unreachable!("a row has the types of its table's columns"),
        }
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(!matches!(value, Value::None)));
        }
    }

    /// Write all values, and forget them.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::I32(values) => {
                writer.typed::<Int32Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::I64(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Bool(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.iter_mut().for_each(Vec::clear);
        Ok(())
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
    /// A new file at `path` for the table `title` of `fields`.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn create(path: &Path, title: &str, fields: &[Field]) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |error: &dyn std::fmt::Display| Error::output(&name, error);
        let lines: Vec<String> = fields.iter().map(Field::line).collect();
        let schema = parse_message_type(&format!("message {title} {{ {} }}", lines.join(" ")));
        let schema = schema.map_err(|error| failed(&error))?;
        let columns = fields.iter().map(Column::new).collect();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("cellsim ", env!("CARGO_PKG_VERSION")).to_string());
        // Times and counts hardly repeat: a dictionary of them only costs time.
        for field in fields.iter().filter(|field| matches!(field.kind, Kind::I64)) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(field.name), false);
        }
        let properties = properties.build();
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
    ///
    /// # Errors
    /// A file that does not take it.
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
                unreachable!("a file has the columns of its table");
            };
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Write the rest and sync the file.
    ///
    /// # Errors
    /// A file that does not take it.
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
