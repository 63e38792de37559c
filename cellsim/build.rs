//! Gives the engine a version that changes with its sources, so that a pipeline never takes the results of
//! an older engine for those of this one: the package's version and eight digits of a hash.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = sources(&root.join("src"));
    files.push(root.join("Cargo.lock"));
    files.sort();
    // FNV-1a, 64 bits: names and contents in order.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        let name =
            file.strip_prefix(&root).expect("a file of this package").to_string_lossy().replace('\\', "/");
        let content = fs::read(file).unwrap_or_default();
        for byte in name.bytes().chain(content) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    println!("cargo:rustc-env=CELLSIM_VERSION={version}+{:08x}", hash >> 32);
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=Cargo.lock");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the sources of this package");
    entries
        .map(|entry| entry.expect("a file").path())
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .collect()
}
