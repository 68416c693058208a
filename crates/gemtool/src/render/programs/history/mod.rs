//! Draws the history of a finding's object: a row for each run of lines, a column for each event, and the wrong access.

mod table;
mod words;

use gem_coherency::units::LineRange;
use gem_coherency_report::HistoryView;

use crate::render::svg::{Anchor, Colour, Font, Picture, Rect, Stroke};
use crate::render::{bytes, visible, wrap};
use table::{Cell, State, Table, Touch};
pub use words::callers;

const WIDTH: f64 = 1080.0;
const MARGIN: f64 = 28.0;
/// Width of the labels of the rows.
const LABEL: f64 = 122.0;
/// Most width of a column.
const COLUMN: f64 = 132.0;
const ROW: f64 = 30.0;
const GAP: f64 = 3.0;
/// Space on each side of a cell's text.
const INSET: f64 = 4.0;
const BADGE: f64 = 22.0;

const TITLE: Font = Font { size: 20.0, bold: true, colour: Colour::Ink, anchor: Anchor::Start };
const BOLD: Font = Font { size: 13.0, bold: true, colour: Colour::Ink, anchor: Anchor::Start };
const TEXT: Font = Font { size: 13.0, bold: false, colour: Colour::Ink, anchor: Anchor::Start };
const SMALL: Font = Font { size: 12.0, bold: false, colour: Colour::Faint, anchor: Anchor::Start };
const IN_CELL: Font = Font { size: 12.0, bold: false, colour: Colour::Ink, anchor: Anchor::Middle };
const COLUMN_HEAD: Font = Font { size: 12.0, bold: true, colour: Colour::Ink, anchor: Anchor::Middle };

/// The appearance of the wrong access.
const WRONG: Stroke = Stroke { colour: Colour::Red, width: 3.0, dashed: false };
const THIN: Stroke = Stroke { colour: Colour::Line, width: 1.0, dashed: false };

/// Returns the picture of a finding's history, as SVG.
pub fn picture(view: &HistoryView) -> String {
    let table = Table::of(view);
    let mut picture = Picture::default();
    let title = words::title(view);
    let mut y = picture.lines(MARGIN, MARGIN + 16.0, &fold(&title, WIDTH - 2.0 * MARGIN, TITLE), TITLE);
    let handle = view
        .finding
        .handle
        .map_or_else(|| "an object without a handle".to_owned(), |handle| format!("BO {handle}"));
    let subtitle = format!(
        "{handle} of {} on {}, level {}. Time goes from left to right; a line is 64 bytes.",
        bytes(view.finding.size),
        visible(&view.finding.device),
        view.finding.level
    );
    y = picture.lines(MARGIN, y - 4.0, &fold(&subtitle, WIDTH - 2.0 * MARGIN, SMALL), SMALL);
    y = matrix(&mut picture, &table, y + 8.0);
    y = legend(&mut picture, y + 16.0);
    y = events(&mut picture, view, &table, y + 18.0);
    y = verdict(&mut picture, view, y + 4.0);
    picture.finish(WIDTH, y + MARGIN - 4.0, &title)
}

fn fold(text: &str, width: f64, font: Font) -> Vec<String> {
    wrap(text, font.letters(width))
}

fn fill(state: State) -> Colour {
    match state {
        State::Clean => Colour::Pale,
        State::Dirty => Colour::AmberFill,
        State::WrittenBack => Colour::GreenFill,
        State::Stale => Colour::VioletFill,
    }
}

/// Draws the rows and columns from `y` on, and returns their end.
fn matrix(picture: &mut Picture, table: &Table, y: f64) -> f64 {
    let columns = table.heads.len() as f64;
    let width = ((WIDTH - 2.0 * MARGIN - LABEL) / columns).min(COLUMN);
    let x = |column: usize| MARGIN + LABEL + width * column as f64;
    let mut top = y;
    for (column, head) in table.heads.iter().enumerate() {
        let middle = x(column) + width / 2.0;
        let colour = if head.is_wrong { Colour::Red } else { Colour::Ink };
        if let Some(number) = head.number {
            badge(picture, middle, y + BADGE / 2.0, number, colour);
        }
        let lines = fold(&head.text, width - 4.0, COLUMN_HEAD);
        let end = picture.lines(middle, y + BADGE + 15.0, &lines, Font { colour, ..COLUMN_HEAD });
        top = top.max(end - 4.0);
    }
    for row in &table.rows {
        let font = if row.is_wrong { Font { colour: Colour::Red, ..BOLD } } else { TEXT };
        picture.text(MARGIN, top + 20.0, &row.label, font);
        for (column, cell) in row.cells.iter().enumerate() {
            let at = Rect { x: x(column), y: top, width: width - GAP, height: ROW - GAP };
            draw(picture, at, *cell, &words::cell(&row.label, column, *cell));
        }
        top += ROW;
    }
    for note in &table.notes {
        picture.text(MARGIN, top + 16.0, note, SMALL);
        top += SMALL.line_height() + 2.0;
    }
    top
}

/// Draws a cell; `title` describes it.
fn draw(picture: &mut Picture, at: Rect, cell: Cell, title: &str) {
    picture.titled(title, |picture| {
        let border = if cell.is_wrong { WRONG } else { THIN };
        picture.rect(at, Some(fill(cell.state)), Some(border));
        let text = words::in_cell(cell);
        let colour = if cell.is_wrong { Colour::Red } else { Colour::Ink };
        let bold = cell.is_wrong || cell.touch != Touch::None;
        let font = Font { colour: if bold { colour } else { Colour::Faint }, bold, ..IN_CELL };
        let fits = text.chars().count() <= font.letters(at.width - 2.0 * INSET);
        let font = if fits { font } else { Font { size: 10.0, ..font } };
        picture.text(at.middle(), at.y + 18.0, text, font);
    });
}

/// Draws a number in a disc.
fn badge(picture: &mut Picture, x: f64, y: f64, number: usize, colour: Colour) {
    picture.disc((x, y), BADGE / 2.0 - 1.0, colour);
    picture.text(x, y + 4.3, &number.to_string(), Font { colour: Colour::Paper, bold: true, ..IN_CELL });
}

/// Draws the meaning of the colours, and returns its end.
fn legend(picture: &mut Picture, y: f64) -> f64 {
    let entries = [
        (State::Clean, "clean: cache and memory agree"),
        (State::Dirty, "dirty: the cache has newer bytes"),
        (State::WrittenBack, "written back by this event"),
        (State::Stale, "memory has newer bytes"),
    ];
    let mut x = MARGIN;
    for (state, text) in entries {
        picture.rect(Rect { x, y, width: 22.0, height: 14.0 }, Some(fill(state)), Some(THIN));
        picture.text(x + 29.0, y + 11.5, text, SMALL);
        x += 29.0 + text.chars().count() as f64 * 6.7 + 16.0;
    }
    picture.rect(Rect { x, y, width: 22.0, height: 14.0 }, Some(Colour::Paper), Some(WRONG));
    picture.text(x + 29.0, y + 11.5, "wrong", SMALL);
    y + 14.0
}

/// Draws what each column is, and where it comes from, and returns the end.
fn events(picture: &mut Picture, view: &HistoryView, table: &Table, y: f64) -> f64 {
    picture.line(&[(MARGIN, y), (WIDTH - MARGIN, y)], THIN);
    let mut y = y + 26.0;
    let left = MARGIN + BADGE + 12.0;
    for head in &table.heads {
        let Some((number, step)) = head.number.zip(head.step.and_then(|step| view.steps.get(step))) else {
            continue;
        };
        let colour = if head.is_wrong { Colour::Red } else { Colour::Ink };
        badge(picture, MARGIN + BADGE / 2.0, y - 4.5, number, colour);
        let what = words::event(step);
        picture.text(left, y, &what, Font { colour, ..BOLD });
        let place = callers(&step.place);
        if !place.is_empty() {
            y += TEXT.line_height();
            let lines = fold(&place, WIDTH - MARGIN - left, SMALL);
            y = picture.lines(left, y, &lines, SMALL) - SMALL.line_height();
        }
        y += 27.0;
    }
    y
}

/// Draws what is wrong, in a band, and returns its end.
fn verdict(picture: &mut Picture, view: &HistoryView, y: f64) -> f64 {
    const INDENT: f64 = 16.0;
    let width = WIDTH - 2.0 * (MARGIN + INDENT);
    let font = Font { colour: Colour::Red, size: 14.0, ..BOLD };
    let wrong = fold(&words::wrong(view), width, font);
    let rule = view.finding.rule.map(|rule| format!("{rule}: {}", rule.reason()));
    let rule = rule.map_or_else(Vec::new, |rule| fold(&rule, width, TEXT));
    let text = wrong.len() as f64 * font.line_height() + rule.len() as f64 * TEXT.line_height();
    let band = Rect { x: MARGIN, y, width: WIDTH - 2.0 * MARGIN, height: text + 22.0 };
    picture.rect(
        band,
        Some(Colour::RedPale),
        Some(Stroke { colour: Colour::Red, width: 1.5, dashed: false }),
    );
    let next = picture.lines(MARGIN + INDENT, y + 25.0, &wrong, font);
    picture.lines(MARGIN + INDENT, next, &rule, TEXT);
    band.bottom()
}

/// Returns line numbers as text: `lines 0-36`, `line 37`.
fn lines_text(lines: LineRange) -> String {
    match lines.count() {
        1 => format!("line {}", lines.first()),
        _ => format!("lines {}-{}", lines.first(), lines.end().saturating_sub(1)),
    }
}
