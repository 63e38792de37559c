//! The columns of a run's tables, from the file in which torsweep declares those of every engine.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::tables::{Field, Kind};

/// Table by name: its columns in order, and whether the model writes it at all.
const DECLARED: &str = include_str!("../../src/torsweep/engines/tables.json");

/// The tables that a run may leave, by name.
pub const TABLES: [&str; 9] =
    ["streams", "relays", "progress", "circuits", "received", "wire", "round_trips", "cells", "breakdown"];

#[derive(Deserialize)]
struct Table<'a> {
    #[serde(default)]
    model: bool,
    #[serde(borrow)]
    columns: Vec<Column<'a>>,
}

#[derive(Deserialize)]
struct Column<'a> {
    name: &'a str,
    r#type: &'a str,
    /// Cells may be empty, in the tables of some engine.
    #[serde(default)]
    empty: bool,
    /// `none`: the model leaves the column out; `full`: it leaves no cell of it empty.
    #[serde(default)]
    model: &'a str,
}

/// The columns of each table that the model writes, by the table's name.
///
/// # Panics
/// Where the file of declarations is not what this module reads; it is compiled in.
pub fn declared() -> BTreeMap<&'static str, Vec<Field>> {
    let tables: BTreeMap<&str, Table<'_>> = serde_json::from_str(DECLARED).expect("the declared columns");
    let written = tables.into_iter().filter(|(_, table)| table.model);
    written.map(|(name, table)| (name, table.columns.iter().filter_map(field).collect())).collect()
}

fn field(column: &Column<'static>) -> Option<Field> {
    let kind = match column.r#type {
        "int32" => Kind::I32,
        "int64" => Kind::I64,
        "bool" => Kind::Bool,
        // Python reads the last two as one of few words.
        "string" | "name" | "point" => Kind::Text,
        other => unreachable!("a column of the model has the type {other}"),
    };
    match (column.model, column.empty) {
        ("none", _) => None,
        ("full", _) | (_, false) => Some(Field::required(column.name, kind)),
        _ => Some(Field::optional(column.name, kind)),
    }
}

/// The name of the file that holds table `name`.
pub fn file_name(name: &str) -> String {
    format!("{name}.parquet")
}

#[cfg(test)]
mod tests {
    use super::{TABLES, declared};

    #[test]
    fn each_table_of_a_run_is_declared_as_the_models() {
        let mut names = TABLES;
        names.sort_unstable();
        assert_eq!(declared().into_keys().collect::<Vec<_>>(), names);
    }
}
