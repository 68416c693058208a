//! Rewrites the rules (`crates/rules/src/policy`) of a copied tree so that it holds every mutant at once.
//!
//! `plant TREE` changes the files below TREE, and prints a line for each mutant: its number, its place, and what is changed,
//! with tabs between. The environment variable `GEM_COHERENCY_MUTANT` then chooses a mutant by number when the program runs;
//! without it the rules are as they were.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use mutants_tool::plant::{Planted, SELECTOR, at_run_time, plant};

/// The file without rules of its own: their names and reasons.
const WITHOUT_RULES: &str = "rules.rs";

fn main() -> Result<(), Box<dyn Error>> {
    let tree = std::env::args().nth(1).ok_or("which tree?")?;
    let root = PathBuf::from(tree).join("crates/rules/src");
    let policy = root.join("policy");
    let mut number = 1;
    for name in rust_files(&policy, &policy)? {
        let path = policy.join(&name);
        let text = fs::read_to_string(&path)?;
        let Planted { text, mutants } =
            if name == WITHOUT_RULES { Planted::nothing(text) } else { plant(&name, &text, number)? };
        for mutant in &mutants {
            println!("{number}\t{}\t{}", mutant.place, mutant.change);
            number += 1;
        }
        fs::write(&path, at_run_time(&text))?;
    }
    let lib = root.join("lib.rs");
    let text = fs::read_to_string(&lib)?;
    fs::write(root.join("mutant.rs"), SELECTOR)?;
    fs::write(&lib, format!("{text}\nextern crate std;\n#[doc(hidden)]\npub mod mutant;\n"))?;
    Ok(())
}

/// The Rust files below `folder`, by their paths from `root`, sorted.
fn rust_files(root: &Path, folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(rust_files(root, &path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path.strip_prefix(root)?.to_string_lossy().into_owned());
        }
    }
    found.sort();
    Ok(found)
}
