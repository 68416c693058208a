//! Aligned columns.

use std::io;

use anstyle::Style;

use super::{Page, visible, wrap};

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A cell and its style.
#[derive(Clone, Debug)]
struct Cell {
    text: String,
    style: Style,
}

/// A row and the note under it.
#[derive(Clone, Debug)]
struct Row {
    cells: Vec<Cell>,
    note: String,
}

/// Rows of cells under headings, as wide as the page; cells that are longer take several lines.
#[derive(Clone, Debug)]
pub struct Table {
    heads: Vec<(&'static str, Align)>,
    rows: Vec<Row>,
    indent: usize,
}

impl Table {
    /// Creates a table without rows, `indent` columns from the left.
    pub fn new(indent: usize, heads: &[(&'static str, Align)]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new(), indent }
    }

    /// Adds a row; missing cells are empty.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let cell = |text: T| Cell { text: visible(text.as_ref()), style: Style::new() };
        let cells = cells.into_iter().map(cell).collect();
        self.rows.push(Row { cells, note: String::new() });
        self
    }

    /// Sets the style of the cell in `column` of the last row.
    pub fn style(&mut self, column: usize, style: Style) -> &mut Self {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.cells.get_mut(column)) {
            cell.style = style;
        }
        self
    }

    /// Adds a note under the last row, indented to the second column.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Self {
        if let Some(row) = self.rows.last_mut() {
            row.note = text.into();
        }
        self
    }

    /// Writes headings and rows.
    pub fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let widths = self.fitted(page.columns);
        let heads =
            self.heads.iter().map(|(text, _)| Cell { text: (*text).to_owned(), style: Style::new().bold() });
        if self.heads.iter().any(|(text, _)| !text.is_empty()) {
            self.cells(page, &widths, &heads.collect::<Vec<_>>())?;
        }
        for row in &self.rows {
            self.cells(page, &widths, &row.cells)?;
            if !row.note.is_empty() {
                page.note(self.indent + widths.first().map_or(0, |width| width + 2), &row.note)?;
            }
        }
        Ok(())
    }

    /// Returns the width of each column on a page that is wide enough.
    fn widths(&self) -> Vec<usize> {
        let longest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0)
        };
        let heads = self.heads.iter().enumerate();
        heads.map(|(column, (head, _))| longest(column).max(head.chars().count())).collect()
    }

    /// Returns the width of each column on this page: the widest ones that are not numbers are as narrow as they have to be. Words are only
    /// divided if it does not suffice to divide texts between them.
    fn fitted(&self, columns: usize) -> Vec<usize> {
        let mut widths = self.widths();
        let taken = self.indent + 2 * widths.len().saturating_sub(1);
        let excess = |widths: &[usize]| (taken + widths.iter().sum::<usize>()).saturating_sub(columns);
        let words: Vec<_> = (0..widths.len()).map(|column| self.longest_word(column).max(LEAST)).collect();
        for least in [words, vec![LEAST; widths.len()]] {
            while excess(&widths) > 0 {
                let limits = self.heads.iter().zip(&least);
                let widest = widths
                    .iter_mut()
                    .zip(limits)
                    .filter(|(width, ((_, align), least))| *align == Align::Left && **width > **least);
                let Some((width, _)) = widest.max_by_key(|(width, _)| **width) else { break };
                *width -= 1;
            }
        }
        widths
    }

    /// Returns the width of the longest word of a column.
    fn longest_word(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        let words = cells.flat_map(|cell| cell.text.split_whitespace());
        words.map(|word| word.chars().count()).max().unwrap_or(0)
    }

    /// Writes one row, with two columns between its cells and none at its end. A cell that is longer than its column takes several lines.
    fn cells(&self, page: &mut Page<'_>, widths: &[usize], cells: &[Cell]) -> io::Result<()> {
        let divided: Vec<_> =
            cells.iter().zip(widths).map(|(cell, &width)| divide(&cell.text, width)).collect();
        let count = divided.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..count.max(1) {
            let mut line = " ".repeat(self.indent);
            let last = cells.len().saturating_sub(1);
            let columns = widths.iter().zip(&self.heads).zip(cells).zip(&divided).enumerate();
            for (index, (((&width, &(_, align)), cell), lines)) in columns {
                let text = lines.get(number).map_or("", String::as_str);
                let pad = " ".repeat(width.saturating_sub(text.chars().count()));
                let painted = page.paint(cell.style, text);
                match align {
                    Align::Right => line.push_str(&format!("{pad}{painted}")),
                    Align::Left if index == last => line.push_str(&painted),
                    Align::Left => line.push_str(&format!("{painted}{pad}")),
                }
                if index != last {
                    line.push_str("  ");
                }
            }
            page.line(line.trim_end())?;
        }
        Ok(())
    }
}

/// Smallest width of a column that would be wider on a wider page.
const LEAST: usize = 12;

/// Divides a text into lines of at most `columns`, between words; a word that is longer is divided after a dash, if it has one.
fn divide(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for mut line in wrap(text, columns) {
        while let Some((end, _)) = line.char_indices().nth(columns.max(1)) {
            let cut = line.get(..end).and_then(|start| start.rfind('-')).map_or(end, |dash| dash + 1);
            let rest = line.split_off(cut);
            lines.push(std::mem::replace(&mut line, rest));
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(columns: usize) -> String {
        let mut table =
            Table::new(2, &[("step", Align::Left), ("lines", Align::Right), ("rule", Align::Left)]);
        table.row(["write", "1024", "a rule that is so long that it must be wrapped"]);
        table.row(["x", "1", "short"]).note("because of this");
        let mut out = Vec::new();
        table.write(&mut Page::plain(&mut out, columns)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_the_last_one_wraps() {
        assert_eq!(
            written(40),
            "  step   lines  rule\n\
             \x20 write   1024  a rule that is so long\n\
             \x20               that it must be wrapped\n\
             \x20 x          1  short\n\
             \x20        because of this\n"
        );
    }

    #[test]
    fn the_widest_texts_are_divided_and_numbers_are_not() {
        let mut table = Table::new(
            2,
            &[
                ("statement", Align::Left),
                ("lines", Align::Right),
                ("rule", Align::Left),
                ("by", Align::Left),
            ],
        );
        table.row(["a = alloc 64KiB caching=none", "1024", "gpu-write-may-be-cached", "library"]);
        let mut out = Vec::new();
        table.write(&mut Page::plain(&mut out, 50)).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "  statement     lines  rule                by\n\
             \x20 a = alloc      1024  gpu-write-may-be-   library\n\
             \x20 64KiB                cached\n\
             \x20 caching=none\n"
        );
        // No word is divided where it suffices to divide texts.
        let mut words = Vec::new();
        table.write(&mut Page::plain(&mut words, 55)).unwrap();
        assert_eq!(
            String::from_utf8(words).unwrap(),
            "  statement     lines  rule                     by\n\
             \x20 a = alloc      1024  gpu-write-may-be-cached  library\n\
             \x20 64KiB\n\
             \x20 caching=none\n"
        );
        // The twin: nothing is divided where it fits.
        let mut wide = Vec::new();
        table.write(&mut Page::plain(&mut wide, 80)).unwrap();
        assert_eq!(String::from_utf8(wide).unwrap().lines().count(), 2);
    }

    #[test]
    fn no_line_is_longer_than_the_page() {
        for columns in [40, 60, 80] {
            assert!(written(columns).lines().all(|line| line.len() <= columns), "{columns}");
        }
    }
}
