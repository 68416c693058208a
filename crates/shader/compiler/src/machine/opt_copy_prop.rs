//! Copy propagation: copies of registers that legalisation and selection leave, taken out again.
//!
//! An operand that is a copy is replaced by what was copied, if the validator accepts the instruction with it. So a copy that legalisation
//! needs stays.

use std::collections::{HashMap, HashSet};

use intel_eu::{Base, Opcode, Platform};

use crate::machine::draft::{At, Code, Draft, Elements, Home, Line, Operand, Target};
use crate::machine::rules::violations;

/// A copy of all lanes.
#[derive(Clone, Copy, Debug)]
struct Copied {
    to: Target,
    from: Elements,
    lanes: u8,
    first: u8,
}

/// Replaces copies by what they copy, and leaves out those that nothing uses any more.
pub(crate) fn opt_copy_prop(platform: Platform, code: &mut Code) {
    let writes = writes(code);
    let mut copies: HashMap<Home, Copied> = HashMap::new();
    for (place, line) in code.lines.iter_mut().enumerate() {
        let Line::Do(draft) = line else { continue };
        for source in 0..draft.sources.len() {
            replace(platform, draft, source, &copies);
        }
        let Some(copied) = copy(draft) else { continue };
        let (At::Home(to, _), At::Home(from, _)) = (copied.to.at, copied.from.at) else { continue };
        let is_stable = writes.get(&from).is_some_and(|lines| lines.iter().all(|line| *line < place));
        let is_variable = code.variables.contains(&from) || code.variables.contains(&to);
        if is_stable && !is_variable && writes.get(&to).is_some_and(|lines| lines.len() == 1) {
            copies.insert(to, copied);
        }
    }
    leave_out(code, &copies);
}

/// Returns the lines that write to each home.
fn writes(code: &Code) -> HashMap<Home, Vec<usize>> {
    let mut found: HashMap<Home, Vec<usize>> = HashMap::new();
    for (place, line) in code.lines.iter().enumerate() {
        if let Line::Do(Draft { destination: Some(Target { at: At::Home(home, _), .. }), .. }) = line {
            found.entry(*home).or_default().push(place);
        }
    }
    found
}

/// Returns the copy that a draft is, if it is one.
fn copy(draft: &Draft) -> Option<Copied> {
    let is_plain = draft.opcode == Opcode::Mov
        && draft.predicate.is_none()
        && draft.condition.is_none()
        && !draft.saturate
        && !draft.no_mask;
    let (Some(to), [Operand::Of(from)]) = (draft.destination.filter(|_| is_plain), draft.sources.as_slice())
    else {
        return None;
    };
    let is_integer = |base| base != Base::Float;
    let keeps_bits = to.kind == from.kind
        || to.kind.bytes() == from.kind.bytes() && is_integer(to.kind.base()) && is_integer(from.kind.base());
    (keeps_bits && !from.negate && !from.absolute && !from.is_scalar()).then_some(Copied {
        to,
        from: *from,
        lanes: draft.lanes,
        first: draft.first,
    })
}

/// Replaces a source that is a copy, if the instruction is legal with what was copied.
fn replace(platform: Platform, draft: &mut Draft, place: usize, copies: &HashMap<Home, Copied>) {
    let Operand::Of(elements) = draft.sources[place] else { return };
    let At::Home(home, _) = elements.at else { return };
    let Some(copied) = copies.get(&home) else { return };
    let read = copied.to.read(copied.lanes);
    let is_same = elements.at == read.at
        && elements.rows == read.rows
        && elements.kind.bytes() == read.kind.bytes()
        && (draft.lanes, draft.first, draft.no_mask) == (copied.lanes, copied.first, false);
    if !is_same {
        return;
    }
    let Elements { kind, negate, absolute, .. } = elements;
    let replaced = Elements { kind, negate, absolute, ..copied.from };
    if let Some(message) = draft.message {
        // A payload is whole registers, which the copied ones have to be.
        let is_whole = matches!(replaced.at, At::Home(_, 0)) && replaced.rows == elements.rows;
        if is_whole && u32::from(draft.lanes) * 4 == message.sent * crate::machine::draft::REGISTER_BYTES {
            draft.sources[place] = Operand::Of(replaced);
        }
        return;
    }
    let mut changed = draft.clone();
    changed.sources[place] = Operand::Of(replaced);
    if violations(platform, &changed).is_empty() {
        *draft = changed;
    }
}

/// Leaves out the copies that nothing reads.
fn leave_out(code: &mut Code, copies: &HashMap<Home, Copied>) {
    let read: HashSet<Home> = code
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Do(draft) => Some(&draft.sources),
            Line::Here(_) | Line::Loop | Line::End => None,
        })
        .flatten()
        .filter_map(|source| match source {
            Operand::Of(Elements { at: At::Home(home, _), .. }) => Some(*home),
            Operand::Of(_) | Operand::Number { .. } => None,
        })
        .collect();
    code.lines.retain(|line| match line {
        Line::Do(Draft { destination: Some(Target { at: At::Home(home, _), .. }), .. }) => {
            read.contains(home) || !copies.contains_key(home)
        }
        Line::Do(_) | Line::Here(_) | Line::Loop | Line::End => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use intel_eu::Type;

    /// Returns code of an addition whose second source is a copy of elements.
    fn code(from: Elements, kind: Type) -> Code {
        let mut code = Code::default();
        let [made, copied, sum] = [code.home(2), code.home(2), code.home(2)];
        let make = Draft::of(
            Opcode::Mov,
            Target::lanes(made, Type::Ud),
            &[Operand::Number { kind: Type::Ud, bits: 7 }],
        );
        let from = Elements { at: At::Home(made, 0), ..from };
        let copy = Draft::of(Opcode::Mov, Target::lanes(copied, from.kind), &[Operand::Of(from)]);
        let sources = [Operand::lanes(made, kind), Operand::lanes(copied, kind)];
        let add = Draft::of(Opcode::Add, Target::lanes(sum, kind), &sources);
        code.lines = [make, copy, add].map(Line::Do).to_vec();
        code
    }

    fn lines_left(platform: Platform, mut code: Code) -> usize {
        opt_copy_prop(platform, &mut code);
        code.lines.len()
    }

    #[test]
    fn a_copy_is_taken_out() {
        let lanes = Elements::apart(At::Null, Type::Ud, 4, 16);
        assert_eq!(lines_left(Platform::Skl, code(lanes, Type::F)), 2);
    }

    #[test]
    fn a_copy_that_moves_lanes_stays_where_floats_must_not_move_them() {
        let repeated = Elements { rows: [4, 4, 0], ..Elements::apart(At::Null, Type::Ud, 4, 16) };
        assert_eq!(lines_left(Platform::Skl, code(repeated, Type::F)), 2);
        assert_eq!(lines_left(Platform::Dg2, code(repeated, Type::F)), 3);
        assert_eq!(lines_left(Platform::Dg2, code(repeated, Type::D)), 2);
    }

    #[test]
    fn a_negated_copy_and_one_of_a_variable_stay() {
        let lanes = Elements::apart(At::Null, Type::Ud, 4, 16);
        assert_eq!(lines_left(Platform::Skl, code(Elements { negate: true, ..lanes }, Type::D)), 3);
        let mut code = code(lanes, Type::D);
        code.variables.push(Home(0));
        assert_eq!(lines_left(Platform::Skl, code), 3);
    }

    #[test]
    fn a_copy_of_what_is_written_later_stays() {
        let lanes = Elements::apart(At::Null, Type::Ud, 4, 16);
        let mut code = code(lanes, Type::D);
        code.lines.insert(2, code.lines[0].clone());
        assert_eq!(lines_left(Platform::Skl, code), 4);
    }
}
