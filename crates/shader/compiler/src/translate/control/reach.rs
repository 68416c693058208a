//! The part of a module that an entry point reaches.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, Word};

/// Returns the ids that are operands in an entry point's function, and in those that it calls.
pub(in crate::translate) fn ids(functions: &HashMap<Word, &dr::Function>, entry: Word) -> HashSet<Word> {
    let (mut found, mut visited, mut next) = (HashSet::new(), HashSet::from([entry]), vec![entry]);
    while let Some(function) = next.pop().and_then(|id| functions.get(&id)) {
        for one in function.blocks.iter().flat_map(|block| &block.instructions) {
            let ids = one.operands.iter().filter_map(|operand| match operand {
                Operand::IdRef(id) => Some(*id),
                _ => None,
            });
            for (place, id) in ids.enumerate() {
                found.insert(id);
                if one.class.opcode == Op::FunctionCall && place == 0 && visited.insert(id) {
                    next.push(id);
                }
            }
        }
    }
    found
}
