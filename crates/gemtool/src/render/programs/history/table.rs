//! The rows and columns of the picture of a history: lines with equal histories are one row.

use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::Access;
use gem_coherency_report::{HistoryView, StepView};
use gem_coherency_sanitizer::What;
use gem_coherency_sim::LineStates;

use super::{lines_text, words};

/// Most columns for steps.
const MOST_COLUMNS: usize = 9;
/// Most rows.
const MOST_ROWS: usize = 24;

/// The table.
pub(super) struct Table {
    /// The heads of the columns: the state at first, then the steps.
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Row>,
    /// What is left out.
    pub(super) notes: Vec<String>,
}

/// The head of a column.
pub(super) struct Head {
    /// The number of the event; `None` for the state at first.
    pub(super) number: Option<usize>,
    /// The index of the step.
    pub(super) step: Option<usize>,
    pub(super) text: String,
    pub(super) is_wrong: bool,
}

/// Lines with one history.
pub(super) struct Row {
    /// `lines 0-36`.
    pub(super) label: String,
    pub(super) cells: Vec<Cell>,
    /// The last event is wrong for these lines.
    pub(super) is_wrong: bool,
}

/// A row's state after an event, and what the event did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) state: State,
    pub(super) touch: Touch,
    pub(super) is_wrong: bool,
}

/// The state of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Cache and memory have the same bytes.
    Clean,
    /// The cache has newer bytes.
    Dirty,
    /// They were dirty, and the event wrote them back.
    WrittenBack,
    /// Memory has newer bytes.
    Stale,
}

/// What an event did to lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    None,
    Stored,
    Flushed,
    /// A flush dropped the cache's old bytes.
    Invalidated,
    Read,
    Written,
}

impl Table {
    pub(super) fn of(view: &HistoryView) -> Self {
        let shown = shown_steps(view);
        let steps = || shown.iter().filter_map(|&index| view.steps.get(index).map(|step| (index, step)));
        let last = view.steps.len().saturating_sub(1);
        let first = Head { number: None, step: None, text: "at first".to_owned(), is_wrong: false };
        let heads = steps().zip(1..).map(|((index, step), number)| Head {
            number: Some(number),
            step: Some(index),
            text: words::head(step),
            is_wrong: index == last,
        });
        let heads = [first].into_iter().chain(heads).collect();
        let mut rows: Vec<(LineRange, Vec<Cell>)> = Vec::new();
        for lines in segments(view, &shown) {
            let line = lines.first();
            let first = state_in(&view.before, line);
            let cells = [Cell { state: first, touch: Touch::None, is_wrong: false }].into_iter();
            let is_wrong = |index| index == last && holds(&view.wrong, line);
            let cells: Vec<_> = cells
                .chain(steps().map(|(index, step)| cell(before(view, index), step, line, is_wrong(index))))
                .collect();
            match rows.last_mut().filter(|(_, known)| *known == cells) {
                Some((known, _)) => *known = LineRange::new(known.first(), lines.end()),
                None => rows.push((lines, cells)),
            }
        }
        let mut notes = Vec::new();
        let left_out = view.dropped + (view.steps.len() - shown.len()) as u64;
        if left_out > 0 {
            notes.push(format!(
                "{left_out} events are left out: earlier ones, and ones that do not touch these lines."
            ));
        }
        let is_wrong = |cells: &[Cell]| cells.last().is_some_and(|cell| cell.is_wrong);
        if rows.len() > MOST_ROWS {
            // The first wrong row, with some before it.
            let wrong = rows.iter().position(|(_, cells)| is_wrong(cells)).unwrap_or(0);
            let first = wrong.saturating_sub(MOST_ROWS / 3).min(rows.len() - MOST_ROWS);
            notes
                .push(format!("{} runs of lines with other histories are left out.", rows.len() - MOST_ROWS));
            rows = rows.into_iter().skip(first).take(MOST_ROWS).collect();
        }
        let row = |(lines, cells): (LineRange, Vec<Cell>)| {
            let is_wrong = is_wrong(&cells);
            Row { label: lines_text(lines), cells, is_wrong }
        };
        Self { heads, rows: rows.into_iter().map(row).collect(), notes }
    }
}

/// Returns the steps that are shown: those that touch the wrong lines first, then the latest ones.
fn shown_steps(view: &HistoryView) -> Vec<usize> {
    let matters = |step: &StepView| {
        let touched = step.lines.iter().chain(&step.written_back);
        touched.clone().any(|lines| view.wrong.iter().any(|wrong| meet(*lines, *wrong)))
    };
    let latest = || (0..view.steps.len()).rev();
    let of_kind =
        |kind: bool| latest().filter(move |&at| view.steps.get(at).is_some_and(|step| matters(step) == kind));
    // The wrong step is shown in any case: at a submission, no line is touched.
    let wrong = view.steps.len().checked_sub(1);
    let mut order: Vec<usize> = Vec::new();
    for at in wrong.into_iter().chain(of_kind(true)).chain(of_kind(false)) {
        if order.len() < MOST_COLUMNS && !order.contains(&at) {
            order.push(at);
        }
    }
    order.sort_unstable();
    order
}

/// Splits the object's lines where a list of the shown steps begins or ends.
fn segments(view: &HistoryView, shown: &[usize]) -> Vec<LineRange> {
    let steps = shown.iter().filter_map(|&index| view.steps.get(index));
    let lists =
        steps.flat_map(|step| [&step.lines, &step.written_back, &step.after.dirty, &step.after.stale]);
    let lists = lists.chain([&view.before.dirty, &view.before.stale, &view.wrong]);
    let mut ends: Vec<u64> = lists.flatten().flat_map(|lines| [lines.first(), lines.end()]).collect();
    ends.extend([0, view.lines]);
    ends.retain(|&end| end <= view.lines);
    ends.sort_unstable();
    ends.dedup();
    ends.windows(2).filter_map(|pair| Some(LineRange::new(*pair.first()?, *pair.last()?))).collect()
}

/// Returns the states of the lines before a step.
fn before(view: &HistoryView, step: usize) -> &LineStates {
    let last = step.checked_sub(1).and_then(|last| view.steps.get(last));
    last.map_or(&view.before, |last| &last.after)
}

fn cell(before: &LineStates, step: &StepView, line: u64, is_wrong: bool) -> Cell {
    let was_stale = state_in(before, line) == State::Stale;
    let state = match state_in(&step.after, line) {
        State::Clean if holds(&step.written_back, line) => State::WrittenBack,
        state @ (State::Clean | State::Dirty | State::WrittenBack | State::Stale) => state,
    };
    let touched = holds(&step.lines, line);
    let touch = match step.what {
        What::Request { flushes: true, .. } if was_stale => Touch::Invalidated,
        What::Request { .. } => Touch::None,
        What::Stored
        | What::Loaded
        | What::Flushed
        | What::LeftCache
        | What::FlushedForCopy { .. }
        | What::Access { .. }
            if !touched =>
        {
            Touch::None
        }
        What::Stored => Touch::Stored,
        What::Flushed | What::FlushedForCopy { .. } if was_stale => Touch::Invalidated,
        What::Flushed | What::LeftCache | What::FlushedForCopy { .. } => Touch::Flushed,
        What::Loaded | What::Access { access: Access::Read, .. } => Touch::Read,
        What::Access { access: Access::Write, .. } => Touch::Written,
    };
    Cell { state, touch, is_wrong }
}

fn state_in(states: &LineStates, line: u64) -> State {
    match (holds(&states.dirty, line), holds(&states.stale, line)) {
        (true, _) => State::Dirty,
        (false, true) => State::Stale,
        (false, false) => State::Clean,
    }
}

fn holds(ranges: &[LineRange], line: u64) -> bool {
    ranges.iter().any(|range| range.indices().contains(&line))
}

fn meet(one: LineRange, other: LineRange) -> bool {
    one.first() < other.end() && other.first() < one.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform::Driver;
    use gem_coherency::policy::kernel::Event;
    use gem_coherency::vocabulary::{CacheLevel, MocsClass};
    use gem_coherency_memory_model::Route;
    use gem_coherency_report::FindingRow;
    use gem_coherency_sanitizer::Mistake;

    const READ: What = What::Access { route: Route::Gpu(MocsClass::PageTable), access: Access::Read };

    fn lines(first: u64, end: u64) -> Vec<LineRange> {
        vec![LineRange::new(first, end)]
    }

    fn step(what: What, lines: Vec<LineRange>, dirty: Vec<LineRange>) -> StepView {
        let after = LineStates { dirty, stale: Vec::new() };
        StepView { what, place: Vec::new(), lines, written_back: Vec::new(), after }
    }

    /// A view of 64 lines, of which those in `wrong` are read although they are dirty.
    fn view(steps: Vec<StepView>, wrong: Vec<LineRange>) -> HistoryView {
        let finding = FindingRow {
            kind: Mistake::StaleRead,
            device: "sim:glk".to_owned(),
            driver: Driver::I915,
            agent: Some("GPU".to_owned()),
            handle: Some(1),
            size: 4096,
            level: CacheLevel::None,
            cpu_caching: None,
            refused: None,
            lines: String::new(),
            line_count: 1,
            bytes: [0, 64],
            times: 1,
            rule: None,
            platforms: Vec::new(),
            store: Vec::new(),
            load: Vec::new(),
            request: Vec::new(),
            flushed: Vec::new(),
            suppressed: None,
            key: String::new(),
            known: None,
            halted: false,
            tests: Vec::new(),
            test_count: 0,
        };
        let before = LineStates::default();
        HistoryView { finding, kind: Mistake::StaleRead, wrong, lines: 64, before, dropped: 0, steps }
    }

    fn labels(table: &Table) -> Vec<(&str, bool)> {
        table.rows.iter().map(|row| (row.label.as_str(), row.is_wrong)).collect()
    }

    #[test]
    fn lines_with_equal_histories_are_one_row() {
        let stored = step(What::Stored, lines(3, 5), lines(3, 5));
        let mut flushed = step(What::Flushed, lines(3, 4), lines(4, 5));
        flushed.written_back = lines(3, 4);
        let read = step(READ, lines(0, 64), lines(4, 5));
        let table = Table::of(&view(vec![stored, flushed, read], lines(4, 5)));
        assert_eq!(
            labels(&table),
            [("lines 0-2", false), ("line 3", false), ("line 4", true), ("lines 5-63", false)]
        );
        let states: Vec<_> = table.rows[1].cells.iter().map(|cell| (cell.state, cell.touch)).collect();
        let history = [
            (State::Clean, Touch::None),
            (State::Dirty, Touch::Stored),
            (State::WrittenBack, Touch::Flushed),
            (State::Clean, Touch::Read),
        ];
        assert_eq!(states, history);
        assert!(table.notes.is_empty());
    }

    #[test]
    fn a_flush_of_lines_that_memory_has_newer_invalidates_them() {
        let after = |mut step: StepView, first, end| {
            step.after.stale = lines(first, end);
            step
        };
        let flushed = after(step(What::Flushed, lines(0, 2), Vec::new()), 2, 4);
        let loaded = after(step(What::Loaded, lines(2, 3), Vec::new()), 2, 4);
        let request = What::Request { call: "test", event: Event::SetDomainCpu(Access::Read), flushes: true };
        let flushed_by_kernel = step(request, Vec::new(), Vec::new());
        let mut view = view(vec![flushed, loaded, flushed_by_kernel], Vec::new());
        view.before.stale = lines(1, 4);
        let rows = Table::of(&view).rows;
        let touches: Vec<Vec<_>> =
            rows.iter().map(|row| row.cells.iter().skip(1).map(|cell| cell.touch).collect()).collect();
        let none = Touch::None;
        let expected = [
            vec![Touch::Flushed, none, none],
            vec![Touch::Invalidated, none, none],
            vec![none, Touch::Read, Touch::Invalidated],
            vec![none, none, Touch::Invalidated],
            vec![none, none, none],
        ];
        assert_eq!(touches, expected);
    }

    #[test]
    fn the_last_step_is_wrong_for_the_wrong_lines_alone() {
        let read = || step(READ, lines(0, 64), Vec::new());
        let table = Table::of(&view(vec![read(), read()], Vec::new()));
        assert_eq!(labels(&table), [("lines 0-63", false)], "no line is wrong");
        let table = Table::of(&view(vec![read(), read()], lines(0, 1)));
        let wrong: Vec<_> = table.rows[0].cells.iter().map(|cell| cell.is_wrong).collect();
        assert_eq!(wrong, [false, false, true]);
    }

    #[test]
    fn steps_that_touch_the_wrong_lines_are_shown_first() {
        let others = (0..20).map(|_| step(What::Stored, lines(9, 10), lines(9, 10)));
        let first = [step(What::Stored, lines(0, 1), lines(0, 1))];
        let read = [step(READ, lines(0, 64), lines(0, 1))];
        let table = Table::of(&view(first.into_iter().chain(others).chain(read).collect(), lines(0, 1)));
        let steps: Vec<_> = table.heads.iter().filter_map(|head| head.step).collect();
        assert_eq!((steps.len(), steps[0], steps[MOST_COLUMNS - 1]), (MOST_COLUMNS, 0, 21));
        assert_eq!(table.notes.len(), 1, "{:?}", table.notes);
    }

    #[test]
    fn rows_around_the_wrong_one_are_kept() {
        let every_other: Vec<_> = (0..32).map(|line| LineRange::new(2 * line, 2 * line + 1)).collect();
        let stored = step(What::Stored, every_other.clone(), every_other);
        let read = step(READ, lines(0, 64), Vec::new());
        let table = Table::of(&view(vec![stored, read], lines(60, 61)));
        assert_eq!(table.rows.len(), MOST_ROWS);
        assert!(labels(&table).contains(&("line 60", true)), "{:?}", labels(&table));
        assert_eq!(table.notes.len(), 1, "{:?}", table.notes);
        let svg = super::super::picture(&view(vec![step(READ, lines(0, 64), lines(1, 2))], lines(1, 2)));
        assert!(svg.contains("line 1, event 1: dirty, read, wrong") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
