//! Draws a trace to a violation: a row for each step, a column for each place.

use gem_coherency_check::{Caller, Value};
use gem_coherency_memory_model::Line;

use super::trace::{actor, done_lines, kernel_words, title, tracked_words};
use crate::cmd::model::check::{LineView, Source, StateView, StepView, TraceView};
use crate::render::svg::{Anchor, Colour, Font, Picture, Rect, Stroke};
use crate::render::wrap;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
/// Width of the column of the steps.
const STEP: f64 = 284.0;
/// Gap between two columns; wider where arrows are drawn.
const GAP: f64 = 18.0;
const ARROW_GAP: f64 = 56.0;
/// Space before a line's box in the first column of boxes, for its number and state.
const LABEL: f64 = 54.0;
const BOX: f64 = 36.0;
const BOX_GAP: f64 = 12.0;
/// Space above and below a row's contents.
const PAD: f64 = 20.0;

const TITLE: Font = Font { size: 19.0, bold: true, colour: Colour::Ink, anchor: Anchor::Start };
const HEAD: Font = Font { size: 15.0, bold: true, colour: Colour::Faint, anchor: Anchor::Start };
const BOLD: Font = Font { size: 15.0, bold: true, colour: Colour::Ink, anchor: Anchor::Start };
const TEXT: Font = Font { size: 14.0, bold: false, colour: Colour::Ink, anchor: Anchor::Start };
const SMALL: Font = Font { size: 13.0, bold: false, colour: Colour::Faint, anchor: Anchor::Start };
const IN_BOX: Font = Font { size: 14.0, bold: false, colour: Colour::Ink, anchor: Anchor::Middle };

/// The positions of the columns.
struct Columns {
    cache: Rect,
    memory: Rect,
    buffers: Option<Rect>,
    kernel: Rect,
    tracked: Option<Rect>,
}

/// Returns the picture of a trace, as SVG.
pub fn picture(trace: &TraceView) -> String {
    let columns = Columns::of(trace);
    let mut picture = Picture::default();
    let title = title(trace);
    let mut y = MARGIN + TITLE.size;
    y = picture.lines(MARGIN, y, &fold(&title, WIDTH - 2.0 * MARGIN, TITLE), TITLE);
    y = columns.heads(&mut picture, y + 10.0);
    let start = Row { number: 0, step: None, before: None, after: &trace.first, read: None };
    y = start.draw(&mut picture, &columns, y);
    let mut before = &trace.first;
    for (index, step) in trace.steps.iter().enumerate() {
        let is_last = index + 1 == trace.steps.len();
        let read =
            trace.wrong.read.as_ref().filter(|_| is_last).map(|read| (read.from, read.line, read.part));
        let row = Row {
            number: index + 1,
            step: Some((step, is_last)),
            before: Some(before),
            after: &step.after,
            read,
        };
        y = row.draw(&mut picture, &columns, y);
        before = &step.after;
    }
    y = verdict(&mut picture, trace, y + 8.0);
    y = legend(&mut picture, trace.caller, y + 26.0);
    picture.finish(WIDTH, y + MARGIN / 2.0, &title)
}

fn fold(text: &str, width: f64, font: Font) -> Vec<String> {
    wrap(text, font.letters(width))
}

fn stroke(colour: Colour, width: f64) -> Stroke {
    Stroke { colour, width, dashed: false }
}

fn fill(value: Value) -> Colour {
    match value {
        Value::Newest => Colour::GreenFill,
        Value::Old => Colour::AmberFill,
        Value::Secret => Colour::RedFill,
    }
}

impl Columns {
    fn of(trace: &TraceView) -> Self {
        let states = || trace.steps.iter().map(|step| &step.after).chain([&trace.first]);
        let waits = |line: &LineView| buffered(line).iter().any(|part| part.is_some());
        let with_buffers = states().any(|state| state.lines.iter().any(waits));
        let with_tracked = states().any(|state| state.tracked.is_some());
        let gaps = GAP
            + ARROW_GAP
            + GAP
            + if with_buffers { ARROW_GAP } else { 0.0 }
            + if with_tracked { GAP } else { 0.0 };
        let shares =
            [1.3, 1.0, if with_buffers { 0.9 } else { 0.0 }, 0.95, if with_tracked { 0.9 } else { 0.0 }];
        let unit = (WIDTH - 2.0 * MARGIN - STEP - gaps) / shares.iter().sum::<f64>();
        let [cache, memory, buffers, kernel, tracked] = shares.map(|share| share * unit);
        let mut x = MARGIN + STEP + GAP;
        let mut next = |width: f64, gap: f64| {
            let column = Rect { x, y: 0.0, width, height: 0.0 };
            x += width + gap;
            column
        };
        Self {
            cache: next(cache, ARROW_GAP),
            memory: next(memory, if with_buffers { ARROW_GAP } else { GAP }),
            buffers: with_buffers.then(|| next(buffers, GAP)),
            kernel: next(kernel, GAP),
            tracked: with_tracked.then(|| next(tracked, 0.0)),
        }
    }

    fn heads(&self, picture: &mut Picture, y: f64) -> f64 {
        let base = y + HEAD.size;
        picture.text(MARGIN, base, "step", HEAD);
        picture.text(self.cache.x + LABEL, base, "CPU cache", HEAD);
        picture.text(self.memory.x, base, "memory", HEAD);
        if let Some(buffers) = self.buffers {
            picture.text(buffers.x, base, "store buffers", HEAD);
        }
        picture.text(self.kernel.x, base, "kernel", HEAD);
        if let Some(tracked) = self.tracked {
            picture.text(tracked.x, base, "library", HEAD);
        }
        base + 8.0
    }

    /// Returns the position of a line's box in a column of a row that begins at `y`.
    fn line_box(&self, column: Rect, line: usize, y: f64) -> Rect {
        let label = if column == self.cache { LABEL } else { 0.0 };
        Rect {
            x: column.x + label,
            y: y + PAD + line as f64 * (BOX + BOX_GAP),
            width: column.width - label,
            height: BOX,
        }
    }
}

/// Returns one part of a line's box.
fn part_of(whole: Rect, part: usize, parts: usize) -> Rect {
    let width = whole.width / parts as f64;
    Rect { x: whole.x + width * part as f64, width, ..whole }
}

/// Returns a line's in-flight data: stores in either buffer, or the GPU's cached copies.
fn buffered(line: &LineView) -> Vec<Option<(&'static str, Value)>> {
    let parts = line.write_combining.iter().zip(&line.aperture).zip(&line.gpu);
    let named = parts.map(|((combining, aperture), gpu)| {
        let combining = combining.map(|value| ("WC", value));
        combining.or(aperture.map(|value| ("GTT", value))).or(gpu.map(|value| ("GPU", value)))
    });
    named.collect()
}

/// One row: a step and the state after it.
struct Row<'a> {
    number: usize,
    step: Option<(&'a StepView, bool)>,
    before: Option<&'a StateView>,
    after: &'a StateView,
    /// The wrong bytes that the step reads: place, line, part.
    read: Option<(Source, usize, usize)>,
}

impl Row<'_> {
    /// Draws the row from `y` on, and returns its end.
    fn draw(&self, picture: &mut Picture, columns: &Columns, y: f64) -> f64 {
        picture.line(&[(MARGIN, y), (WIDTH - MARGIN, y)], stroke(Colour::Line, 1.0));
        let mut bottom = y + PAD + 2.0 * BOX + BOX_GAP;
        bottom = bottom.max(self.what(picture, y + PAD));
        bottom = bottom.max(words(
            picture,
            columns.kernel,
            y + PAD,
            self.before.map(|before| kernel_words(&before.kernel)),
            &kernel_words(&self.after.kernel),
        ));
        if let (Some(column), Some(tracked)) = (columns.tracked, &self.after.tracked) {
            let was = self.before.and_then(|before| before.tracked.as_ref()).map(tracked_words);
            bottom = bottom.max(words(picture, column, y + PAD, was, &tracked_words(tracked)));
        }
        for line in 0..self.after.lines.len() {
            self.line(picture, columns, line, y);
        }
        self.wrong_read(picture, columns, y);
        bottom + PAD
    }

    /// Draws the description of the step.
    fn what(&self, picture: &mut Picture, y: f64) -> f64 {
        let Some((step, is_last)) = self.step else {
            picture.text(MARGIN, y + BOLD.size, "start", BOLD);
            return y + BOLD.line_height();
        };
        let font = if is_last { Font { colour: Colour::Red, ..BOLD } } else { BOLD };
        let text = format!("{}  {}: {}", self.number, actor(step.actor), step.step);
        let mut next = picture.lines(MARGIN, y + font.size, &fold(&text, STEP, font), font);
        for (by, text) in done_lines(step, self.before) {
            next =
                picture.lines(MARGIN + 14.0, next, &fold(&format!("{by} {text}"), STEP - 14.0, TEXT), TEXT);
        }
        next
    }

    /// Draws a line in every column that has boxes.
    fn line(&self, picture: &mut Picture, columns: &Columns, line: usize, y: f64) {
        let (Some(after), before) =
            (self.after.lines.get(line), self.before.and_then(|state| state.lines.get(line)))
        else {
            return;
        };
        let cache = columns.line_box(columns.cache, line, y);
        picture.text(columns.cache.x, cache.y + 15.0, &format!("line {line}"), TEXT);
        picture.text(columns.cache.x, cache.y + 31.0, after.cache.name(), SMALL);
        let border = match after.cache {
            Line::Absent => Stroke { colour: Colour::Faint, width: 1.0, dashed: true },
            Line::Clean => stroke(Colour::Ink, 1.0),
            Line::Dirty => stroke(Colour::Ink, 2.6),
        };
        let parts = after.memory.len();
        let cached: Vec<_> = (0..parts).map(|part| after.cached.get(part).copied()).collect();
        boxes(picture, cache, &cached, border, |value| value.name().to_owned());
        let memory = columns.line_box(columns.memory, line, y);
        let resident = self.after.resident;
        let border = Stroke { dashed: !resident, ..stroke(Colour::Ink, 1.0) };
        let in_memory: Vec<_> = after.memory.iter().map(|&value| Some(value)).collect();
        boxes(picture, memory, &in_memory, border, |value| {
            if resident { value.name().to_owned() } else { format!("({value})") }
        });
        if let Some(before) = before {
            changed(picture, cache, (before.cache, &before.cached) != (after.cache, &after.cached));
            let was_resident = self.before.is_some_and(|before| before.resident);
            changed(picture, memory, (&before.memory, was_resident) != (&after.memory, resident));
            if was_resident && resident {
                between(picture, cache, memory, before, after);
            }
        }
        let Some(column) = columns.buffers else { return };
        let way = columns.line_box(column, line, y);
        let waiting = buffered(after);
        for (part, waits) in waiting.iter().enumerate() {
            if let Some((name, value)) = waits {
                let at = part_of(way, part, parts);
                picture.rect(at, Some(fill(*value)), Some(stroke(Colour::Ink, 1.0)));
                picture.text(
                    at.middle(),
                    at.y + 14.0,
                    name,
                    Font { size: 12.0, colour: Colour::Faint, ..IN_BOX },
                );
                picture.text(at.middle(), at.y + 30.0, value.name(), IN_BOX);
            }
        }
        changed(picture, way, before.is_some_and(|before| buffered(before) != waiting));
        // The GPU's cached copies move nowhere when they are dropped.
        let stores = |line: &LineView| line.write_combining.iter().chain(&line.aperture).flatten().count();
        let drained = |before: &LineView| stores(before) > stores(after);
        if before.is_some_and(drained) {
            let middle = way.y + BOX / 2.0;
            picture
                .arrow(&[(way.x - 4.0, middle), (memory.right() + 4.0, middle)], stroke(Colour::Blue, 2.0));
        }
    }

    /// Draws the place of the wrong bytes, and their way to the reader.
    fn wrong_read(&self, picture: &mut Picture, columns: &Columns, y: f64) {
        let Some((from, line, part)) = self.read else { return };
        let column = match from {
            Source::Cache => columns.cache,
            Source::Memory => columns.memory,
            Source::GpuCache => columns.buffers.unwrap_or(columns.memory),
        };
        let parts = self.after.lines.get(line).map_or(1, |line| line.memory.len());
        let at = part_of(columns.line_box(column, line, y), part, parts);
        picture.rect(at, None, Some(stroke(Colour::Red, 3.5)));
        // Line 0 is reached from above, line 1 from below, so that no other box is crossed.
        let (edge, way) =
            if line == 0 { (at.y - 2.0, at.y - 12.0) } else { (at.bottom() + 2.0, at.bottom() + 12.0) };
        let end = MARGIN + STEP - 4.0;
        picture.arrow(&[(at.middle(), edge), (at.middle(), way), (end, way)], stroke(Colour::Red, 2.4));
    }
}

/// Draws a line's parts; those without a value are empty.
fn boxes(
    picture: &mut Picture,
    whole: Rect,
    parts: &[Option<Value>],
    border: Stroke,
    text: impl Fn(Value) -> String,
) {
    for (part, value) in parts.iter().enumerate() {
        let at = part_of(whole, part, parts.len());
        picture.rect(at, Some(value.map_or(Colour::Paper, fill)), Some(border));
        if let Some(value) = value {
            picture.text(at.middle(), at.y + 23.0, &text(*value), IN_BOX);
        }
    }
}

/// Marks a box that has changed.
fn changed(picture: &mut Picture, at: Rect, is_new: bool) {
    if is_new {
        picture.rect(Rect { y: at.bottom() + 3.0, height: 3.0, ..at }, Some(Colour::Blue), None);
    }
}

/// Draws the data that moved between the cache and memory.
fn between(picture: &mut Picture, cache: Rect, memory: Rect, before: &LineView, after: &LineView) {
    let middle = cache.y + BOX / 2.0;
    let (left, right) = ((cache.right() + 5.0, middle), (memory.x - 5.0, middle));
    let wrote_back =
        before.cache == Line::Dirty && after.cache != Line::Dirty && after.memory == before.cached;
    let filled = before.cache == Line::Absent && after.cache == Line::Clean;
    if wrote_back {
        picture.arrow(&[left, right], stroke(Colour::Blue, 2.0));
    } else if filled {
        picture.arrow(&[right, left], stroke(Colour::Blue, 2.0));
    }
}

/// Draws words below each other, new ones in bold; returns their end.
fn words(picture: &mut Picture, column: Rect, y: f64, before: Option<Vec<String>>, after: &[String]) -> f64 {
    let mut next = y + TEXT.size;
    for word in after {
        let is_new = before.as_ref().is_some_and(|before| !before.contains(word));
        let font = if is_new { Font { bold: true, colour: Colour::Blue, ..TEXT } } else { TEXT };
        next = picture.lines(column.x, next, &fold(word, column.width, font), font);
    }
    next
}

/// Draws the violation, in its own band.
fn verdict(picture: &mut Picture, trace: &TraceView, y: f64) -> f64 {
    const INSET: f64 = 14.0;
    let font = Font { size: 16.0, ..BOLD };
    let width = WIDTH - 2.0 * (MARGIN + INSET);
    let broken = format!("{} is broken. {}", trace.property, trace.wrong.sentence);
    let (broken, statement) = (fold(&broken, width, font), fold(trace.statement, width, TEXT));
    let text = broken.len() as f64 * font.line_height() + statement.len() as f64 * TEXT.line_height();
    let band = Rect { x: MARGIN, y, width: WIDTH - 2.0 * MARGIN, height: text + 22.0 };
    picture.rect(band, Some(Colour::RedPale), Some(stroke(Colour::Red, 1.5)));
    let next = picture.lines(MARGIN + INSET, y + 14.0 + 12.0, &broken, font);
    picture.lines(MARGIN + INSET, next, &statement, TEXT);
    band.bottom()
}

/// Draws the legend of the boxes.
fn legend(picture: &mut Picture, caller: Caller, y: f64) -> f64 {
    let (solid, thick) = (stroke(Colour::Ink, 1.0), stroke(Colour::Ink, 2.6));
    let dashed = Stroke { dashed: true, ..solid };
    let newest = match caller {
        Caller::Protocol | Caller::Library | Caller::Unknown => {
            "newest: last value written (at first, zeroes)"
        }
        Caller::Hostile => "newest: the object's own bytes (at first, zeroes)",
    };
    let entries = [
        (fill(Value::Newest), solid, newest),
        (fill(Value::Old), solid, "old: from before the last write"),
        (fill(Value::Secret), solid, "secret: the previous owner's data"),
        (Colour::Paper, thick, "thick border: dirty line"),
        (Colour::Paper, solid, "thin border: clean line, memory"),
        (Colour::Paper, dashed, "dashed: absent; (in memory) no pages yet"),
    ];
    const ACROSS: usize = 3;
    let width = (WIDTH - 2.0 * MARGIN) / ACROSS as f64;
    let mut bottom = y;
    for (index, (colour, border, text)) in entries.into_iter().enumerate() {
        let x = MARGIN + (index % ACROSS) as f64 * width;
        let y = y + (index / ACROSS) as f64 * 25.0;
        picture.rect(Rect { x, y: y - 12.0, width: 22.0, height: 15.0 }, Some(colour), Some(border));
        picture.text(x + 30.0, y, text, TEXT);
        bottom = y;
    }
    let text = "Blue: changed in this step, or moved. Red: the read that breaks the property. A line is 64 bytes; line 1 is written by halves.";
    picture.text(MARGIN, bottom + 28.0, text, SMALL);
    bottom + 38.0
}
