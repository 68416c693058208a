//! The dominators of a function's blocks: a block dominates another one that is reached through it only.

use std::collections::HashMap;

use rspirv::dr::{self, Operand};
use rspirv::spirv::Word;

use crate::Error;

/// Most steps of the search, so that no function takes long.
const MOST_STEPS: usize = 1 << 24;

/// The dominators of a function's blocks.
#[derive(Debug)]
pub(super) struct Dominators {
    /// The places of blocks in the function, by their labels.
    places: HashMap<Word, usize>,
    /// The first and the last number of a block's part in the tree of dominators; none if the block is not reached.
    spans: Vec<Option<(usize, usize)>>,
}

/// Returns the labels of a block's successors.
pub(super) fn successors(block: &dr::Block) -> impl Iterator<Item = Word> {
    let last = block.instructions.last().filter(|one| is_branch(one));
    last.into_iter().flat_map(|one| one.operands.iter().filter_map(Operand::id_ref_any)).skip(
        // The condition or the selector is before the labels.
        last.map_or(0, |one| usize::from(one.class.opcode != rspirv::spirv::Op::Branch)),
    )
}

fn is_branch(one: &dr::Instruction) -> bool {
    use rspirv::spirv::Op;
    matches!(one.class.opcode, Op::Branch | Op::BranchConditional | Op::Switch)
}

impl Dominators {
    /// Returns the dominators of a function's blocks. The first block is the entry.
    ///
    /// # Errors
    /// [`Error::Type`] if the search takes too long.
    pub(super) fn of(function: &dr::Function, places: HashMap<Word, usize>) -> Result<Self, Error> {
        let edges: Vec<Vec<usize>> = function
            .blocks
            .iter()
            .map(|block| successors(block).filter_map(|label| places.get(&label).copied()).collect())
            .collect();
        let order = post_order(&edges);
        let mut number = vec![None; edges.len()];
        for (place, block) in order.iter().enumerate() {
            number[*block] = Some(place);
        }
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (place, block) in order.iter().enumerate() {
            for next in &edges[*block] {
                if let Some(next) = number[*next] {
                    before[next].push(place);
                }
            }
        }
        let parents = parents(&before)?;
        let mut spans = vec![None; edges.len()];
        for (place, span) in spans_of(&parents).into_iter().enumerate() {
            spans[order[place]] = Some(span);
        }
        Ok(Self { places, spans })
    }

    /// Returns whether the entry reaches a block.
    pub(super) fn is_reached(&self, label: Word) -> bool {
        self.span(label).is_some()
    }

    /// Returns whether a block dominates another one. Every block dominates one that is not reached.
    pub(super) fn dominates(&self, one: Word, other: Word) -> bool {
        match (self.span(one), self.span(other)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some((first, last)), Some((place, _))) => (first..=last).contains(&place),
        }
    }

    fn span(&self, label: Word) -> Option<(usize, usize)> {
        self.spans[*self.places.get(&label)?]
    }
}

/// Returns the blocks that the first one reaches, each after those that it reaches first.
fn post_order(edges: &[Vec<usize>]) -> Vec<usize> {
    let (mut order, mut visited) = (Vec::new(), vec![false; edges.len()]);
    let mut open: Vec<(usize, usize)> = Vec::new();
    if let Some(first) = visited.first_mut() {
        *first = true;
        open.push((0, 0));
    }
    while let Some((block, next)) = open.pop() {
        let Some(to) = edges[block].get(next) else {
            order.push(block);
            continue;
        };
        open.push((block, next + 1));
        if !std::mem::replace(&mut visited[*to], true) {
            open.push((*to, 0));
        }
    }
    order
}

/// Returns the nearest dominator of each block, by places in the order in which the entry is the last one (Cooper, Harvey and Kennedy: A
/// Simple, Fast Dominance Algorithm).
fn parents(before: &[Vec<usize>]) -> Result<Vec<usize>, Error> {
    let Some(entry) = before.len().checked_sub(1) else { return Ok(Vec::new()) };
    let mut parents: Vec<Option<usize>> = vec![None; before.len()];
    parents[entry] = Some(entry);
    let (mut steps, mut has_changed) = (0, true);
    while has_changed {
        has_changed = false;
        for block in (0..entry).rev() {
            let mut found: Option<usize> = None;
            for &one in before[block].iter().filter(|one| parents[**one].is_some()) {
                let (mut a, mut b) = (one, found.unwrap_or(one));
                while a != b {
                    steps += 1;
                    let least = if a < b { &mut a } else { &mut b };
                    *least = parents[*least].unwrap_or(entry);
                }
                found = Some(a);
                steps += 1;
            }
            if steps > MOST_STEPS {
                return Err(Error::Type { name: "functions with so many branches".to_owned() });
            }
            has_changed |= parents[block] != found;
            parents[block] = found;
        }
    }
    Ok(parents.into_iter().map(|parent| parent.unwrap_or(entry)).collect())
}

/// Returns the numbers of each block, and the last number below it, in the tree of dominators. A parent has a higher place than its
/// children.
fn spans_of(parents: &[usize]) -> Vec<(usize, usize)> {
    let mut sizes = vec![1_usize; parents.len()];
    for (block, parent) in parents.iter().enumerate().filter(|(block, parent)| block != *parent) {
        sizes[*parent] += sizes[block];
    }
    let mut next = vec![0; parents.len()];
    let mut spans = vec![(0, 0); parents.len()];
    for block in (0..parents.len()).rev() {
        let parent = parents[block];
        let first = if parent == block { 0 } else { next[parent] };
        if parent != block {
            next[parent] += sizes[block];
        }
        spans[block] = (first, first + sizes[block] - 1);
        next[block] = first + 1;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for each pair of blocks, whether the first one dominates the second one.
    fn found(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let order = post_order(edges);
        let mut before = vec![Vec::new(); order.len()];
        let number = |block: usize| order.iter().position(|one| *one == block);
        for (place, block) in order.iter().enumerate() {
            for next in &edges[*block] {
                before[number(*next).unwrap()].push(place);
            }
        }
        let spans = spans_of(&parents(&before).unwrap());
        let span = |block: usize| number(block).map(|place| spans[place]);
        let dominates = |a: usize, b: usize| match (span(a), span(b)) {
            (Some((first, last)), Some((place, _))) => (first..=last).contains(&place),
            _ => false,
        };
        let all = 0..edges.len();
        all.clone().map(|a| all.clone().map(|b| dominates(a, b)).collect()).collect()
    }

    /// Returns the same by the definition: without the first block, the second one is not reached.
    fn expected(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let reached = |without: Option<usize>| {
            let mut visited = vec![false; edges.len()];
            let mut next = vec![0];
            while let Some(block) = next.pop() {
                if Some(block) != without && !std::mem::replace(&mut visited[block], true) {
                    next.extend(&edges[block]);
                }
            }
            visited
        };
        let every = reached(None);
        let row = |a: usize| {
            let rest = reached(Some(a));
            (0..edges.len()).map(|b| every[a] && every[b] && !rest[b]).collect()
        };
        (0..edges.len()).map(row).collect()
    }

    #[test]
    fn dominators_are_those_of_the_definition() {
        let mut seed = 7_u64;
        let mut below = |limit: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % limit
        };
        let mut strict = 0;
        for _ in 0..500 {
            let count = 1 + below(9);
            let edges: Vec<Vec<usize>> =
                (0..count).map(|_| (0..below(3)).map(|_| below(count)).collect()).collect();
            let rows = expected(&edges);
            assert_eq!(found(&edges), rows, "{edges:?}");
            strict += rows.iter().flatten().filter(|is| **is).count();
        }
        assert!(strict > 1000, "{strict}");
    }
}
