//! Gives the engine a version that changes with its sources and with the libraries it is built from, so that a
//! pipeline never takes the results of an older engine for those of this one: the package's version and eight
//! digits of a hash. Libraries that only other programs of the workspace use do not count.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = sources(&root.join("src"));
    files.sort();
    // FNV-1a, 64 bits: names and contents in order.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    // Outside the package: the columns that Python reads too. Sentences about them change no table.
    let columns = root.join("../src/torsweep/engines/tables.json");
    println!("cargo:rerun-if-changed={}", columns.display());
    let declared = fs::read_to_string(columns).expect("the declared columns");
    for line in declared.lines().filter(|line| !line.contains("\"row\":")) {
        add(line.split("\"meaning\":").next().unwrap_or_default().as_bytes());
    }
    for file in &files {
        let name = file.strip_prefix(&root).expect("a file of this package").to_string_lossy();
        add(name.replace('\\', "/").as_bytes());
        add(&fs::read(file).expect("a source of this package"));
    }
    let lock = fs::read_to_string(root.join("../Cargo.lock")).expect("the lock file of the workspace");
    libraries(&lock, "cellsim").iter().for_each(|entry| add(entry.as_bytes()));
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    println!("cargo:rustc-env=CELLSIM_VERSION={version}+{:08x}", hash >> 32);
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=../Cargo.lock");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the sources of this package");
    entries
        .map(|entry| entry.expect("a file").path())
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .collect()
}

/// The entries of `Cargo.lock` that `package` is built from, itself included, in the order of their text.
///
/// A dependency stands in an entry as `"NAME"`, or as `"NAME VERSION"` where the lock has several versions.
fn libraries<'a>(lock: &'a str, package: &'a str) -> Vec<&'a str> {
    let value = |entry: &'a str, key: &str| {
        entry
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
            .map(|text| text.trim_matches('"'))
    };
    let entries = || lock.split("[[package]]").skip(1);
    let named = |wanted: &str| {
        let (name, version) =
            wanted.split_once(' ').map_or((wanted, None), |(name, rest)| (name, Some(rest)));
        entries().find(|entry| {
            value(entry, "name") == Some(name) && (version.is_none() || value(entry, "version") == version)
        })
    };
    let mut found = BTreeSet::new();
    let mut wanted = vec![package];
    while let Some(next) = wanted.pop() {
        let entry = named(next).unwrap_or_else(|| panic!("Cargo.lock has no {next}"));
        if found.insert(entry) {
            let listed = entry.lines().filter_map(|line| line.strip_prefix(" \""));
            wanted.extend(listed.filter_map(|line| line.split('"').next()));
        }
    }
    found.into_iter().collect()
}
