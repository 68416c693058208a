//! Rewrites code of a copied tree so that it holds every mutant at once.
//!
//! `plant rules TREE` changes the rules of coherency (`crates/policy/src/policy`) below TREE, `plant xe TREE` those of xe
//! (`crates/policy/src/xe`), `plant validate TREE` those for instructions (`crates/shader/eu/src/validate`), `plant engine TREE` what follows the
//! rules (`src/engine`, `src/tracking`). It prints a line for each mutant: its number, its place, and what is changed, with tabs between. The
//! environment variable `GEM_COHERENCY_MUTANT` then chooses a mutant by number when the program runs; without it the code does what it did.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use mutants_tool::plant::{
    Kinds, Planted, SELECTOR, SELECTOR_OF_EFFECTS, SELECTOR_OF_NUMBERS, SELECTOR_OF_SCOPES, USE_AT_RUN_TIME,
    at_run_time, integer_constants, plant, plant_table, replaced,
};

/// Code that is mutated.
struct Target {
    /// The name.
    name: &'static str,
    /// The crate's folder of sources.
    root: &'static str,
    /// The folder below it from which files have their names.
    base: &'static str,
    /// The folders of the code, below that.
    folders: &'static [&'static str],
    /// Files whose functions decide nothing.
    without: &'static [&'static str],
    /// The kind of code.
    subject: Subject,
}

/// The kind of code, which decides the kinds of its mutants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Conditions.
    Decisions,
    /// Numbers, too, and in the files of [`Target::without`] a table of rules with scopes.
    NumbersAndScopes,
    /// Effects, too: calls, orderings of atomics, sets of bits.
    Effects,
}

const TARGETS: [Target; 4] = [
    Target {
        name: "rules",
        root: "crates/policy/src",
        base: "policy",
        folders: &[""],
        without: &["rules.rs"],
        subject: Subject::Decisions,
    },
    Target {
        name: "xe",
        root: "crates/policy/src",
        base: "xe",
        folders: &[""],
        // Tables, which `ci/xe` compares with the driver.
        without: &["rules.rs", "pat.rs", "platforms.rs"],
        subject: Subject::Decisions,
    },
    Target {
        name: "validate",
        root: "crates/shader/eu/src",
        base: "validate",
        folders: &[""],
        without: &["rule.rs"],
        subject: Subject::NumbersAndScopes,
    },
    Target {
        name: "engine",
        root: "src",
        base: "",
        folders: &["engine", "tracking"],
        // Tests; how a state is printed; constants.
        without: &["engine/tests.rs", "tracking/word/debug.rs", "tracking/word/layout.rs"],
        subject: Subject::Effects,
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
        let kinds = match self.subject {
            Subject::Decisions => Kinds::Decisions,
            Subject::NumbersAndScopes => Kinds::Numbers(constants),
            Subject::Effects => Kinds::Effects,
        };
        match (self.without.contains(&name), self.subject) {
            (true, Subject::NumbersAndScopes) => Ok(plant_table(name, text, first)?),
            (true, Subject::Decisions | Subject::Effects) => Ok(Planted::nothing(text.to_owned())),
            (false, _) => {
                let planted = plant(name, text, first, kinds)?;
                Ok(Planted { text: at_run_time(&planted.text), ..planted })
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (target, tree) = args.next().zip(args.next()).ok_or("which code, and which tree?")?;
    let target = TARGETS.iter().find(|one| one.name == target).ok_or("rules, xe, validate or engine?")?;
    let root = PathBuf::from(tree).join(target.root);
    let folder = root.join(target.base);
    let mut names = Vec::new();
    for part in target.folders {
        names.extend(rust_files(&folder, &folder.join(part))?);
    }
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
        fs::write(&path, text)?;
    }
    let mut selector = SELECTOR.to_owned();
    match target.subject {
        Subject::Decisions => {}
        Subject::Effects => selector += SELECTOR_OF_EFFECTS,
        Subject::NumbersAndScopes => {
            selector += SELECTOR_OF_NUMBERS;
            selector += SELECTOR_OF_SCOPES;
            let (from, to) = USE_AT_RUN_TIME;
            let path = folder.join("mod.rs");
            fs::write(&path, replaced(&fs::read_to_string(&path)?, from, to)?)?;
        }
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
