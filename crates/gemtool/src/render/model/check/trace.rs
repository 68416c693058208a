//! Text form of a trace to a violation, step by step.

use std::io;

use anstyle::{AnsiColor, Style};
use gem_coherency::policy::kernel::Backing;
use gem_coherency_check::{Actor, Caller, Value};
use gem_coherency_memory_model::Line;

use crate::cmd::model::check::{
    ActionView, LineView, Side, StateView, StepAction, StepView, TraceView, TrackedView,
};
use crate::cmd::model::explain::kernel::State;
use crate::render::model::explain::{read_domains, rule_text, write_domain};
use crate::render::{Page, wrap};

/// Columns before an action of a step, and before the names of its state.
const INDENT: usize = 5;
/// Columns of the names of actors and of parts of a state.
const NAME: usize = 11;

/// Writes a trace, the violation at its end, and the rules of its steps.
pub fn write(page: &mut Page<'_>, trace: &TraceView) -> io::Result<()> {
    let machine = &trace.machine;
    page.heading(&format!("The shortest violation: {}", title(trace)))?;
    page.gap()?;
    let grid = Grid::new(trace);
    page.line(&format!("{:>3}  start", 0))?;
    grid.heads(page)?;
    grid.state(page, None, &trace.first)?;
    let mut before = &trace.first;
    for (index, step) in trace.steps.iter().enumerate() {
        page.gap()?;
        let is_last = index + 1 == trace.steps.len();
        let style = if is_last { AnsiColor::Red.on_default().bold() } else { Style::new().bold() };
        let what = page.paint(style, &step.step);
        page.line(&format!("{:>3}  {:<NAME$}{what}", index + 1, actor(step.actor)))?;
        actions(page, step, before)?;
        grid.state(page, Some(before), &step.after)?;
        before = &step.after;
    }
    page.gap()?;
    let steps = if trace.steps.len() == 1 { "step" } else { "steps" };
    let broken = format!(
        "{} is broken on {} under kernel {}, in {} {steps}.",
        trace.property,
        machine.platform,
        machine.kernel,
        trace.steps.len()
    );
    page.styled_heading(&broken, AnsiColor::Red.on_default().bold())?;
    page.wrapped(2, &trace.wrong.sentence)?;
    page.note(2, &format!("{}: {}", trace.property, trace.statement))?;
    let legend = legend(trace.caller, page);
    page.note(2, &legend)?;
    page.gap()?;
    rules(page, trace)
}

/// Returns the heading of a trace.
pub fn title(trace: &TraceView) -> String {
    let TraceView { machine, title, property, .. } = trace;
    let edram = if machine.edram { " with eDRAM" } else { "" };
    let on = format!("{} ({title}{edram}), kernel {}", machine.platform, machine.kernel);
    format!("{property} on {on}, {}, object '{}'", who(trace.caller), trace.object)
}

/// Writes the rules of the steps.
fn rules(page: &mut Page<'_>, trace: &TraceView) -> io::Result<()> {
    let rules = trace.rules();
    if rules.is_empty() {
        return Ok(());
    }
    page.heading("Rules that decided")?;
    rules.into_iter().try_for_each(|rule| rule_text(page, rule))?;
    page.gap()
}

/// Explains the words for bytes, and the marks of the page.
fn legend(caller: Caller, page: &Page<'_>) -> String {
    let bytes = match caller {
        Caller::Protocol | Caller::Library | Caller::Unknown => {
            "newest: the last value written (at first, zeroes); old: an earlier value"
        }
        Caller::Hostile => "newest: the object's own bytes (at first, zeroes)",
    };
    let mark = if page.mark_columns(true) == 0 { "bold" } else { "'*'" };
    format!(
        "{bytes}; secret: the previous owner's data; in parentheses: no memory yet; '-': absent; {mark}: changed in this step."
    )
}

/// Describes a caller.
fn who(caller: Caller) -> &'static str {
    match caller {
        Caller::Protocol => "a process that follows the uAPI",
        Caller::Library => "a process that uses this library",
        Caller::Unknown => "a process that uses this library on an unknown device",
        Caller::Hostile => "a hostile process",
    }
}

/// Returns the name of an actor.
pub fn actor(actor: Actor) -> &'static str {
    match actor {
        Actor::Caches => "caches",
        Actor::Kernel => "kernel",
        Actor::Caller => "caller",
    }
}

/// Returns a step's actions, performed and spared, with their sides; spared ones are joined.
pub fn done_lines(step: &StepView, before: Option<&StateView>) -> Vec<(&'static str, String)> {
    let groups =
        step.actions.chunk_by(|a, b| (a.by, a.what) == (b.by, b.what) && a.what == StepAction::Nothing);
    let line = |group: &[ActionView]| {
        let first = group.first()?;
        let rules = group.iter().map(|action| action.rule.name()).collect::<Vec<_>>().join(", ");
        Some((first.by.name(), action_words(first.what, &rules)))
    };
    let mut lines: Vec<_> = groups.filter_map(line).collect();
    if let Some(text) = before.and_then(|before| pages_words(before, &step.after)) {
        let kernel = Side::Kernel.name();
        let place = lines.iter().position(|(by, _)| *by == kernel).unwrap_or(lines.len());
        lines.insert(place, (kernel, text.to_owned()));
    }
    lines
}

/// Describes the change of the pages, or of memory that exists without pages.
fn pages_words(before: &StateView, after: &StateView) -> Option<&'static str> {
    let through_cache = match after.kernel.backing {
        Backing::Shmem
        | Backing::Userptr
        | Backing::LocalSystem
        | Backing::Stolen
        | Backing::Internal
        | Backing::Phys => true,
        Backing::Import | Backing::Local => false,
    };
    let filled = !before.resident && after.resident && through_cache;
    match (before.kernel.pages, after.kernel.pages) {
        (false, true) if filled => Some("takes pages, and fills them through the CPU's cache"),
        (false, true) => Some("takes pages"),
        (true, false) => Some("releases the pages"),
        (false, false) if filled => Some("takes memory, and fills it through the CPU's cache"),
        (true, true) | (false, false) => None,
    }
}

fn action_words(what: StepAction, rules: &str) -> String {
    let lines = |lines: u32| if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    match what {
        StepAction::Issued(action) => format!("{action} ({rules})"),
        StepAction::Performed(verdict, 0) => format!("{verdict} ({rules})"),
        StepAction::Performed(verdict, count) => format!("{verdict} of {} ({rules})", lines(count)),
        StepAction::Marked(count) => format!("marks {} dirty ({rules})", lines(count)),
        StepAction::Nothing => format!("flushes nothing ({rules})"),
        StepAction::LeftOut => format!("omits the operation that {rules} requires: the rule is removed"),
    }
}

fn actions(page: &mut Page<'_>, step: &StepView, before: &StateView) -> io::Result<()> {
    for (by, text) in done_lines(step, Some(before)) {
        let columns = page.columns().saturating_sub(INDENT + NAME);
        for (index, line) in wrap(&text, columns).iter().enumerate() {
            let by = if index == 0 { by } else { "" };
            page.line(&format!("{:INDENT$}{by:<NAME$}{line}", ""))?;
        }
    }
    Ok(())
}

/// One row of a state: its name, and the text for each line.
type Row = (&'static str, [String; 2]);

/// The columns of the states of a trace.
struct Grid {
    widths: [usize; 2],
}

impl Grid {
    fn new(trace: &TraceView) -> Self {
        let states = trace.steps.iter().map(|step| &step.after).chain([&trace.first]);
        let mut widths = [6; 2];
        for (_, cells) in states.flat_map(rows) {
            for (width, cell) in widths.iter_mut().zip(&cells) {
                // Leaves room for the mark.
                *width = (*width).max(cell.chars().count() + 2);
            }
        }
        Self { widths }
    }

    /// Writes the headings of the lines.
    fn heads(&self, page: &mut Page<'_>) -> io::Result<()> {
        let [first, _] = self.widths;
        let text = format!("{:<first$}  line 1 (two halves)", "line 0");
        let text = page.paint(Style::new().dimmed(), &text);
        page.line(&format!("{:INDENT$}{:NAME$}{text}", "", ""))
    }

    /// Writes a state; marks what differs from `before`.
    fn state(&self, page: &mut Page<'_>, before: Option<&StateView>, after: &StateView) -> io::Result<()> {
        let earlier = before.map(rows).unwrap_or_default();
        for (name, cells) in rows(after) {
            let was = earlier.iter().find(|(other, _)| *other == name).map(|(_, cells)| cells);
            let mut line = format!("{:INDENT$}{name:<NAME$}", "");
            for (column, cell) in cells.iter().enumerate() {
                // In a new row, empty cells are not marked as new.
                let is_same = match was.and_then(|was| was.get(column)) {
                    Some(was) => was == cell,
                    None => cell.chars().all(|letter| matches!(letter, '-' | '|' | ' ')),
                };
                let is_new = before.is_some() && !is_same;
                let width = self.widths.get(column).copied().unwrap_or_default();
                line.push_str(&page.mark(cell, is_new));
                let used = cell.chars().count() + page.mark_columns(is_new);
                line.push_str(&" ".repeat((width + 2).saturating_sub(used)));
            }
            page.line(line.trim_end())?;
        }
        words(
            page,
            "kernel",
            before.map(|before| kernel_words(&before.kernel)),
            kernel_words(&after.kernel),
        )?;
        if let Some(tracked) = &after.tracked {
            let was = before.and_then(|before| before.tracked.as_ref()).map(tracked_words);
            words(page, "tracked", was, tracked_words(tracked))?;
        }
        Ok(())
    }
}

/// Writes a list of words; marks those that are not in `before`.
fn words(page: &mut Page<'_>, name: &str, before: Option<Vec<String>>, after: Vec<String>) -> io::Result<()> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    let room = page.columns().saturating_sub(INDENT + NAME);
    for (index, word) in after.iter().enumerate() {
        let is_new = before.as_ref().is_some_and(|before| !before.contains(word));
        let comma = if index + 1 == after.len() { "" } else { "," };
        let columns = word.chars().count() + page.mark_columns(is_new) + comma.len() + 1;
        if used + columns > room {
            lines.push(String::new());
            used = 0;
        }
        used += columns;
        if let Some(line) = lines.last_mut() {
            line.push_str(&format!("{}{comma} ", page.mark(word, is_new)));
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        page.line(&format!("{:INDENT$}{name:<NAME$}{}", "", line.trim_end()))?;
    }
    Ok(())
}

/// Returns the rows of a state.
fn rows(state: &StateView) -> Vec<Row> {
    let of = |text: &dyn Fn(&LineView) -> String| state.lines.each_ref().map(text);
    let mut rows = vec![("CPU cache", of(&cached)), ("memory", of(&|line| memory(line, state.resident)))];
    let mut add = |name, copies: fn(&LineView) -> &Vec<Option<Value>>| {
        if state.lines.iter().any(|line| copies(line).iter().any(Option::is_some)) {
            rows.push((name, of(&|line| waiting(copies(line)))));
        }
    };
    add("WC stores", |line| &line.write_combining);
    add("GTT stores", |line| &line.aperture);
    add("GPU cache", |line| &line.gpu);
    if !state.in_flight.is_empty() {
        let flight = |line| if state.in_flight.contains(&line) { "in flight" } else { "-" };
        rows.push(("pending", [0, 1].map(|line| flight(line).to_owned())));
    }
    rows
}

fn values(values: &[Value]) -> String {
    values.iter().map(|value| value.name()).collect::<Vec<_>>().join(" | ")
}

fn cached(line: &LineView) -> String {
    match line.cache {
        Line::Absent => "-".to_owned(),
        Line::Clean | Line::Dirty => format!("{} {}", line.cache, values(&line.cached)),
    }
}

fn memory(line: &LineView, resident: bool) -> String {
    let values = values(&line.memory);
    if resident { values } else { format!("({values})") }
}

fn waiting(copies: &[Option<Value>]) -> String {
    copies.iter().map(|copy| copy.map_or("-", Value::name)).collect::<Vec<_>>().join(" | ")
}

/// Describes the kernel's state of the object.
pub fn kernel_words(state: &State) -> Vec<String> {
    let mut words = vec![
        format!("level {}", state.level),
        if state.pages { "pages".to_owned() } else { "no pages".to_owned() },
        if state.dirty { "dirty".to_owned() } else { "not dirty".to_owned() },
        format!("read domains {}", read_domains(state)),
        format!("write domain {}", write_domain(state)),
    ];
    words.extend(state.framebuffer.then(|| "framebuffer".to_owned()));
    words.extend(state.pinned.then(|| "on screen".to_owned()));
    words
}

/// Describes the library's tracked state.
pub fn tracked_words(tracked: &TrackedView) -> Vec<String> {
    let lines = |name: &str, lines: &[usize]| match lines {
        [] => format!("nothing {name}"),
        [line] => format!("line {line} {name}"),
        [..] => format!("lines 0 and 1 {name}"),
    };
    let mut words = vec![lines("dirty", &tracked.dirty), lines("stale", &tracked.stale)];
    words.extend(tracked.pending.iter().map(|work| (*work).to_owned()));
    words
}
