//! Rewrites the rules of a copied tree so that it holds every mutant at once.
//!
//! `plant rules TREE` changes the rules of coherency (`crates/rules/src/policy`) below TREE, `plant validate TREE` those for
//! instructions (`crates/eu/src/validate`). It prints a line for each mutant: its number, its place, and what is changed,
//! with tabs between. The environment variable `GEM_COHERENCY_MUTANT` then chooses a mutant by number when the program runs;
//! without it the rules are as they were.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use mutants_tool::plant::{
    Planted, SELECTOR, SELECTOR_OF_NUMBERS, SELECTOR_OF_SCOPES, USE_AT_RUN_TIME, at_run_time,
    integer_constants, plant, plant_table, replaced,
};

/// Rules that are mutated.
struct Target {
    /// The name.
    name: &'static str,
    /// The crate's folder of sources.
    root: &'static str,
    /// The folder of the rules, below it.
    folder: &'static str,
    /// The file whose functions decide nothing.
    without: &'static str,
    /// That file has a table of rules with scopes, and numbers decide.
    has_scopes: bool,
}

const TARGETS: [Target; 2] = [
    Target {
        name: "rules",
        root: "crates/rules/src",
        folder: "policy",
        without: "rules.rs",
        has_scopes: false,
    },
    Target {
        name: "validate",
        root: "crates/eu/src",
        folder: "validate",
        without: "rule.rs",
        has_scopes: true,
    },
];

impl Target {
    /// Plants the mutants of a file.
    fn plant(
        &self,
        name: &str,
        text: &str,
        first: u32,
        constants: &[String],
    ) -> Result<Planted, Box<dyn Error>> {
        match (name == self.without, self.has_scopes) {
            (true, true) => Ok(plant_table(name, text, first)?),
            (true, false) => Ok(Planted::nothing(text.to_owned())),
            (false, has_numbers) => Ok(plant(name, text, first, has_numbers.then_some(constants))?),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (target, tree) = args.next().zip(args.next()).ok_or("which rules, and which tree?")?;
    let target = TARGETS.iter().find(|one| one.name == target).ok_or("rules or validate?")?;
    let root = PathBuf::from(tree).join(target.root);
    let folder = root.join(target.folder);
    let names = rust_files(&folder, &folder)?;
    let mut constants = Vec::new();
    for name in &names {
        constants.extend(integer_constants(&fs::read_to_string(folder.join(name))?)?);
    }
    let mut number = 1;
    for name in names {
        let path = folder.join(&name);
        let text = fs::read_to_string(&path)?;
        let Planted { text, mutants } = target.plant(&name, &text, number, &constants)?;
        for mutant in &mutants {
            println!("{number}\t{}\t{}", mutant.place, mutant.change);
            number += 1;
        }
        fs::write(&path, at_run_time(&text))?;
    }
    let mut selector = SELECTOR.to_owned();
    if target.has_scopes {
        selector += SELECTOR_OF_NUMBERS;
        selector += SELECTOR_OF_SCOPES;
        let (from, to) = USE_AT_RUN_TIME;
        let path = folder.join("mod.rs");
        fs::write(&path, replaced(&fs::read_to_string(&path)?, from, to)?)?;
    }
    let lib = root.join("lib.rs");
    let text = fs::read_to_string(&lib)?;
    fs::write(root.join("mutant.rs"), selector)?;
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
