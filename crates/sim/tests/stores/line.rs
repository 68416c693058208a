//! What a line can be: every combination of its state, the cache's bytes, memory's bytes, and the stores and flushes that wait
//! in the CPU, which the hierarchy allows after the steps so far.

use std::collections::BTreeSet;

use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::{Access, CacheLevel};
use gem_coherency_memory_model::{self as memory_model, CacheMove, Hardware, Line, Place, Route, Transfer};

use super::step::WORDS;

/// What determines an access.
#[derive(Clone, Copy, Debug)]
pub struct AccessContext {
    /// The hardware.
    pub hardware: Hardware,
    /// The object's level.
    pub level: CacheLevel,
    /// The cache moves lines by itself, and stores and flushes that need not take effect at once may wait.
    pub moves: bool,
}

/// A store or a flush that takes effect at any time up to the next fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// A store on a route, of a value to a dword.
    Store(Route, usize, u32),
    Flush(LineOp),
}

impl Waiting {
    /// Returns the route of a store.
    fn route(self) -> Option<Route> {
        match self {
            Self::Store(route, ..) => Some(route),
            Self::Flush(_) => None,
        }
    }
}

/// One of the combinations.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    line: Line,
    cached: [u32; WORDS.len()],
    memory: [u32; WORDS.len()],
    waiting: Vec<Waiting>,
}

impl State {
    fn transfer(&mut self, transfer: Transfer) {
        match transfer {
            Transfer::Nothing => {}
            Transfer::Fill => self.cached = self.memory,
            Transfer::WriteBack => self.memory = self.cached,
        }
    }

    /// Accesses a dword; returns what a read reads. The other side of an access that does not exist reads 0.
    fn access(&mut self, terms: AccessContext, route: Route, access: Access, word: usize, value: u32) -> u32 {
        let Some(effect) = memory_model::effect(terms.hardware, terms.level, route, access, self.line) else {
            return 0;
        };
        self.transfer(effect.before);
        self.line = effect.next;
        let place = match effect.at {
            Place::Cache => &mut self.cached,
            Place::Memory => &mut self.memory,
        };
        match access {
            Access::Read => {}
            Access::Write => place[word] = value,
        }
        place[word]
    }

    fn maintain(&mut self, op: LineOp) {
        let done = memory_model::maintain(op, self.line);
        self.transfer(done.transfer);
        self.line = done.next;
    }

    /// Lets the one at `index` of those that wait take effect.
    fn settle(&mut self, terms: AccessContext, index: usize) {
        match self.waiting.remove(index) {
            Waiting::Store(route, word, value) => {
                self.access(terms, route, Access::Write, word, value);
            }
            Waiting::Flush(op) => self.maintain(op),
        }
    }

    /// Lets the stores of a route take effect; everything if there is no route.
    fn drain(&mut self, terms: AccessContext, route: Option<Route>) {
        let is_of = |waiting: &Waiting| route.is_none() || waiting.route() == route;
        while let Some(first) = self.waiting.iter().position(is_of) {
            self.settle(terms, first);
        }
    }

    /// The states that this one can become by itself, by one move.
    fn moves(&self, terms: AccessContext) -> Vec<Self> {
        let cache_moves = CacheMove::ALL.iter().filter_map(|cache_move| {
            let done = cache_move.on(terms.hardware, self.line)?;
            let mut next = self.clone();
            next.transfer(done.transfer);
            next.line = done.next;
            Some(next)
        });
        let settled = (0..self.waiting.len()).filter_map(|index| {
            // Stores of one mapping keep their order; they have none among mappings, or with the flushes of another.
            let route = self.waiting[index].route();
            let is_first = self.waiting[..index].iter().all(|earlier| earlier.route() != route);
            (route.is_none() || is_first).then(|| {
                let mut next = self.clone();
                next.settle(terms, index);
                next
            })
        });
        cache_moves.chain(settled).collect()
    }
}

/// Everything that a line can be.
#[derive(Clone, Debug)]
pub struct Possible(Vec<State>);

impl Possible {
    /// A line that no cache has, with one value in memory.
    pub fn flushed(value: u32) -> Self {
        let words = [value; WORDS.len()];
        Self(vec![State { line: Line::Absent, cached: words, memory: words, waiting: Vec::new() }])
    }

    /// Adds what the states can become by themselves.
    fn spread(&mut self, terms: AccessContext) {
        let mut next = 0;
        while terms.moves && next < self.0.len() {
            for state in self.0[next].moves(terms) {
                self.add(state);
            }
            next += 1;
        }
    }

    fn add(&mut self, mut state: State) {
        if state.line == Line::Absent {
            // Whatever the cache had counts no more.
            state.cached = state.memory;
        }
        if !self.0.contains(&state) {
            self.0.push(state);
        }
    }

    /// Changes each state.
    fn each(&mut self, terms: AccessContext, change: impl Fn(&mut State)) {
        self.spread(terms);
        for mut state in std::mem::take(&mut self.0) {
            change(&mut state);
            self.add(state);
        }
    }

    /// Reads a dword; returns what it can be. Where it is known which it was, the states that do not fit are dropped, unless
    /// none fits.
    pub fn read(
        &mut self,
        terms: AccessContext,
        route: Route,
        word: usize,
        seen: Option<u32>,
    ) -> BTreeSet<u32> {
        self.spread(terms);
        let read: Vec<_> = (self.0.iter().cloned())
            .map(|mut state| {
                state.drain(terms, Some(route));
                (state.access(terms, route, Access::Read, word, 0), state)
            })
            .collect();
        let values: BTreeSet<u32> = read.iter().map(|(value, _)| *value).collect();
        let seen = seen.filter(|seen| values.contains(seen));
        self.0.clear();
        for (_, state) in read.into_iter().filter(|(value, _)| seen.is_none_or(|seen| seen == *value)) {
            self.add(state);
        }
        values
    }

    /// Writes one of some values to a dword.
    pub fn write(&mut self, terms: AccessContext, route: Route, word: usize, values: &BTreeSet<u32>) {
        self.spread(terms);
        for state in std::mem::take(&mut self.0) {
            for &value in values {
                let mut state = state.clone();
                state.drain(terms, Some(route));
                state.access(terms, route, Access::Write, word, value);
                self.add(state);
            }
        }
    }

    /// The CPU stores to write-combining memory.
    pub fn combine(&mut self, terms: AccessContext, route: Route, word: usize, value: u32) {
        self.later(terms, Waiting::Store(route, word, value));
    }

    /// The CPU flushes the line.
    pub fn flush_later(&mut self, terms: AccessContext, op: LineOp) {
        self.later(terms, Waiting::Flush(op));
    }

    fn later(&mut self, terms: AccessContext, waiting: Waiting) {
        self.each(terms, |state| {
            state.waiting.push(waiting);
            if !terms.moves {
                state.drain(terms, None);
            }
        });
    }

    /// A fence; only stores of this route are certain to take effect, if there is one.
    pub fn drain(&mut self, terms: AccessContext, route: Option<Route>) {
        self.each(terms, |state| state.drain(terms, route));
    }

    /// The kernel flushes the line.
    pub fn flush(&mut self, terms: AccessContext) {
        self.each(terms, |state| state.maintain(LineOp::Flush));
    }
}
