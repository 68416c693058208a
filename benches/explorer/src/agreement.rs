//! The comparison of the results of two engines.

use crate::Result;
use crate::engine::Engine;
use crate::found::Found;
use crate::searches::Row;

/// Checks that `engine` found the same as the explorer, as far as it has to.
///
/// States and moves are the same whatever the order. Depth is that of breadth-first search, which
/// more than one thread only comes near to. A search with a violation is left at it, sooner or
/// later; the property and the length of the way there are the same.
///
/// # Errors
/// A difference, or a search that ends otherwise than it should.
pub fn agree(row: &Row, engine: Engine, ours: &Found, theirs: &Found) -> Result<()> {
    let ordered = matches!(engine, Engine::Explorer | Engine::Stateright(1));
    let same = match (ours.violation, theirs.violation) {
        (None, None) => {
            let same_depth = !ordered || ours.depth == theirs.depth;
            ours.states == theirs.states && ours.transitions == theirs.transitions && same_depth
        }
        (ours, theirs) => ours == theirs && ordered,
    };
    if ours.violation.is_some() != row.violated {
        return Err(format!("{}: the explorer found {ours:?}", row.name()).into());
    }
    if same {
        Ok(())
    } else {
        Err(format!("{}: {engine} found {theirs:?}, the explorer {ours:?}", row.name()).into())
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency_check::Property;

    use super::*;
    use crate::searches::ROWS;

    const CLEAN: Found = Found { states: 10, transitions: 20, depth: 3, violation: None };
    const LEAK: Found = Found { violation: Some((Property::NoLeak, 3)), ..CLEAN };

    #[track_caller]
    fn case(engine: Engine, ours: Found, theirs: Found, expected: bool) {
        let row = ROWS.iter().find(|row| row.violated == ours.violation.is_some()).unwrap();
        assert_eq!(agree(row, engine, &ours, &theirs).is_ok(), expected, "{engine} {ours:?} {theirs:?}");
    }

    #[test]
    fn what_differs_is_an_error() {
        let one = Engine::Stateright(1);
        case(one, CLEAN, CLEAN, true);
        case(one, CLEAN, Found { states: 11, ..CLEAN }, false);
        case(one, CLEAN, Found { transitions: 19, ..CLEAN }, false);
        case(one, CLEAN, Found { depth: 4, ..CLEAN }, false);
        case(Engine::Stateright(2), CLEAN, Found { depth: 4, ..CLEAN }, true);
        case(one, CLEAN, LEAK, false);
        case(one, LEAK, CLEAN, false);
        case(one, LEAK, Found { states: 90, transitions: 300, depth: 4, ..LEAK }, true);
        case(one, LEAK, Found { violation: Some((Property::NoLeak, 4)), ..LEAK }, false);
        case(one, LEAK, Found { violation: Some((Property::NewestRead, 3)), ..LEAK }, false);
    }

    #[test]
    fn a_search_that_ends_otherwise_than_it_should_is_an_error() {
        for row in &ROWS {
            let wrong = if row.violated { CLEAN } else { LEAK };
            assert!(agree(row, Engine::Stateright(1), &wrong, &wrong).is_err(), "{}", row.name());
        }
    }
}
