//! Parses dispatches of shaders.

use gem_coherency::vocabulary::MocsClass;

use super::super::error::Error;
use super::super::shader::{BoundBo, Dispatch};
use super::super::values::words::{Line, Word};
use super::{Kind, Names};
use crate::dispatch::{Choices, Place, Specialization};

/// The options, for messages.
const OPTIONS: [&str; 8] = [
    "BINDING=BO",
    "mocs=CLASS",
    "groups=X,Y,Z",
    "extent=WIDTHxHEIGHT",
    "entry=NAME",
    "spec=ID=VALUE",
    "no-hoist-discard",
    "raw",
];

/// Parses `MODULE BINDING=BO [mocs=CLASS] ... [groups=X,Y,Z] [extent=WIDTHxHEIGHT] [entry=NAME] [spec=ID=VALUE] [no-hoist-discard] [raw]`.
pub(super) fn dispatch(line: &mut Line<'_>, names: &Names) -> Result<Dispatch, Error> {
    let module = line.require("the file of a SPIR-V module ('add.spv')")?;
    let mut found = Dispatch {
        module: module.text.into(),
        bound: Vec::new(),
        groups: None,
        extent: None,
        choices: Choices::default(),
        is_raw: false,
    };
    let (mut entry, mut mocs) = (None, None);
    while let Some(word) = line.take() {
        let twice = |line: &Line<'_>, what: &str| line.wrong(word, format!("'{what}' is given twice"));
        let Some((key, value)) = word.split_once("=") else {
            let flag = match word.text {
                // The second is its name in earlier scripts.
                "no-hoist-discard" | "keep-ends" => {
                    std::mem::replace(&mut found.choices.hoist_discard, false)
                }
                "raw" => !std::mem::replace(&mut found.is_raw, true),
                _ => return Err(line.unknown(word, "option", &OPTIONS)),
            };
            if !flag {
                return Err(twice(line, word.text));
            }
            continue;
        };
        if let Ok(place) = key.text.parse::<Place>() {
            if found.bound.iter().any(|one| one.place == place) {
                return Err(twice(line, key.text));
            }
            let bo = names.find(line, value, &[Kind::Bo])?;
            found.bound.push(BoundBo { place, bo, mocs: MocsClass::PageTable });
            mocs = None;
            continue;
        }
        let again = match key.text {
            "groups" => found.groups.replace(parsed(line, value)?).is_some(),
            "extent" => found.extent.replace(parsed(line, value)?).is_some(),
            "entry" => entry.replace(value.text.to_owned()).is_some(),
            "spec" => {
                let constant: Specialization = parsed(line, value)?;
                let is_known = found.choices.constants.iter().any(|one| one.id == constant.id);
                found.choices.constants.push(constant);
                is_known
            }
            "mocs" => {
                let class = line.known::<MocsClass>(value)?;
                let Some(last) = found.bound.last_mut() else {
                    return Err(
                        line.wrong(word, "'mocs=' applies to the surface before it: 'BINDING=BO mocs=CLASS'")
                    );
                };
                last.mocs = class;
                mocs.replace(class).is_some()
            }
            _ => return Err(line.unknown(word, "option", &OPTIONS)),
        };
        if again {
            return Err(twice(line, key.text));
        }
    }
    found.choices.entry = entry.unwrap_or(found.choices.entry);
    Ok(found)
}

/// Parses a word.
fn parsed<T: std::str::FromStr<Err = String>>(line: &Line<'_>, word: Word<'_>) -> Result<T, Error> {
    word.text.parse().map_err(|why: String| line.wrong(word, why))
}
