//! Numbers for registers. A program that needs more than there are is refused.

use std::collections::HashMap;
use std::ops::Range;

use crate::Error;
use crate::machine::draft::{At, Code, Home, Line};

/// The registers for values: behind the group's number and the constants, and before those with which a thread ends.
const FREE: Range<u8> = 2..112;

/// Returns the first register of each home.
///
/// A lane's registers are only written by its own instructions. So the lines between which a home is in use are those of one lane that
/// executes all of them; of the lines of a loop, it may execute the last one before the first.
///
/// # Errors
/// [`Error::Registers`] if they do not suffice.
pub(crate) fn allocate(code: &Code) -> Result<HashMap<Home, u8>, Error> {
    let mut spans = spans(code);
    spans.sort_by_key(|(home, lines)| (lines.start, *home));
    let mut taken: Vec<(usize, Range<u8>)> = Vec::new();
    let mut found = HashMap::new();
    for (home, lines) in spans {
        taken.retain(|(end, _)| *end > lines.start);
        let count = code.homes.get(home.0 as usize).copied().unwrap_or(1);
        let step = if count > 1 { 2 } else { 1 };
        let is_free = |first: &u8| {
            let wanted = *first..*first + count;
            wanted.end <= FREE.end
                && taken.iter().all(|(_, used)| used.end <= wanted.start || wanted.end <= used.start)
        };
        let first = FREE.step_by(step).find(is_free);
        let first = first.ok_or(Error::Registers { wanted: count, of: FREE.len() as u8 })?;
        taken.push((lines.end, first..first + count));
        found.insert(home, first);
    }
    Ok(found)
}

/// Returns the lines between which each home is in use.
fn spans(code: &Code) -> Vec<(Home, Range<usize>)> {
    let mut spans: HashMap<Home, Range<usize>> = HashMap::new();
    let (mut open, mut loops) = (Vec::new(), Vec::new());
    let mut uses: Vec<(Home, usize)> = Vec::new();
    for (place, line) in code.lines.iter().enumerate() {
        match line {
            Line::Do(draft) => {
                for at in draft.places() {
                    if let At::Home(home, _) = at {
                        let span = spans.entry(home).or_insert(place..place + 1);
                        span.end = place + 1;
                        uses.push((home, place));
                    }
                }
            }
            Line::Loop => open.push(place),
            Line::End => loops.extend(open.pop().map(|start| start..place + 1)),
            Line::Here(_) => {}
        }
    }
    // Inner loops come first, so that what lives in them lives in those around, too.
    for lines in loops {
        for (home, _) in uses.iter().filter(|(_, place)| lines.contains(place)) {
            let Some(span) = spans.get_mut(home) else { continue };
            if span.start < lines.start || code.variables.contains(home) {
                span.start = span.start.min(lines.start);
                span.end = span.end.max(lines.end);
            }
        }
    }
    spans.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::draft::{Draft, Operand, Target};
    use intel_eu::{Opcode, Type};

    /// A line that writes the first home and reads the others.
    fn line(to: Home, from: &[Home]) -> Line {
        let sources: Vec<_> = from.iter().map(|home| Operand::lanes(*home, Type::Ud)).collect();
        Line::Do(Draft::of(Opcode::Add, Target::lanes(to, Type::Ud), &sources))
    }

    fn homes(code: &mut Code, count: usize) -> Vec<Home> {
        (0..count).map(|_| code.home(2)).collect()
    }

    #[test]
    fn registers_are_used_again_when_nothing_reads_them_any_more() {
        let mut code = Code::default();
        let homes = homes(&mut code, 4);
        let [a, b, c, d] = homes[..] else { panic!("four homes") };
        code.lines = vec![line(a, &[]), line(b, &[a]), line(c, &[b]), line(d, &[a, c])];
        let found = allocate(&code).unwrap();
        assert!(found[&a] != found[&b] && found[&a] != found[&c], "a is read at the end");
        assert_eq!(found[&d], found[&b], "the registers of b are free");
    }

    #[test]
    fn a_value_that_a_loop_reads_lives_to_its_end() {
        let mut code = Code::default();
        let homes = homes(&mut code, 3);
        let [before, inner, later] = homes[..] else { panic!("three homes") };
        let body = [line(inner, &[before]), line(later, &[inner])];
        code.lines = vec![line(before, &[]), body[0].clone(), body[1].clone()];
        assert_eq!(allocate(&code).unwrap()[&later], 2, "without a loop, its registers are free");
        code.lines = [vec![line(before, &[]), Line::Loop], body.to_vec(), vec![Line::End]].concat();
        assert_ne!(allocate(&code).unwrap()[&later], 2, "the loop may read it again");
    }

    #[test]
    fn too_many_values_at_once_are_refused() {
        let mut code = Code::default();
        let most = homes(&mut code, FREE.len() / 2);
        let all = |homes: &[Home]| {
            let mut lines: Vec<_> = homes.iter().map(|home| line(*home, &[])).collect();
            lines.extend(homes.iter().map(|home| line(*home, &[*home])));
            lines
        };
        code.lines = all(&most);
        assert_eq!(allocate(&code).map(|found| found.len()), Ok(most.len()));
        let more = [most, homes(&mut code, 1)].concat();
        code.lines = all(&more);
        assert_eq!(allocate(&code), Err(Error::Registers { wanted: 2, of: 110 }));
    }
}
