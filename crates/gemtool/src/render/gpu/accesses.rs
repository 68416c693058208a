//! Tables of surfaces, and of a shader's accesses to them.

use std::collections::BTreeSet;
use std::io;

use gem_coherency::vocabulary::Access;
use gemtool::line_set::LineSet;

use crate::cmd::gpu::surfaces::report::{AccessRow, SurfaceLine, count};
use crate::render::model::explain;
use crate::render::{Align, Page, Table, bytes, held_style, verdict_style};

/// Most columns of lines in a table.
const LINES_COLUMNS: usize = 20;

/// Returns the table of surfaces, whose names have the head `head`.
pub fn surfaces_table<'a>(
    head: &'static str,
    names: &[String],
    surfaces: impl IntoIterator<Item = &'a SurfaceLine>,
) -> Table {
    use Align::{Left, Right};
    let heads = [
        (head, Right),
        ("size", Left),
        ("caching", Left),
        ("level", Left),
        ("mocs", Left),
        ("lines that the CPU stored to", Left),
    ];
    let mut table = Table::new(2, &heads);
    for (name, surface) in names.iter().zip(surfaces) {
        let entry = surface.mocs.map_or(String::new(), |entry| format!(" (entry {entry})"));
        table.row([
            name.clone(),
            bytes(surface.size),
            surface.caching.to_string(),
            surface.level.to_string(),
            format!("{}{entry}", surface.class),
            cell(&surface.dirty),
        ]);
    }
    table
}

/// Writes the accesses, and the rules that decide about them. `names` are those of the surfaces.
pub fn accesses(page: &mut Page<'_>, names: &[String], rows: &[AccessRow]) -> io::Result<()> {
    page.heading("Accesses")?;
    table(names, rows).write(page)?;
    let rules: BTreeSet<_> = rows.iter().map(|row| row.needs.rule).collect();
    if !rules.is_empty() {
        page.gap()?;
        page.heading("Rules")?;
    }
    rules.into_iter().try_for_each(|rule| explain::rule_text(page, rule))
}

fn table(names: &[String], rows: &[AccessRow]) -> Table {
    use Align::{Left, Right};
    let heads = [
        ("at", Left),
        ("surface", Right),
        ("access", Left),
        ("bytes", Right),
        ("lines", Left),
        ("stale", Left),
        ("needs", Left),
        ("rule", Left),
    ];
    let mut table = Table::new(2, &heads);
    for row in rows {
        table.row([
            format!("{:#06x}", row.at),
            names.get(usize::from(row.surface)).cloned().unwrap_or_default(),
            row.access.to_string(),
            row.bytes.to_string(),
            cell(&row.lines),
            cell(&row.stale),
            row.needs.verdict.to_string(),
            row.needs.rule.to_string(),
        ]);
        table.style(6, verdict_style(row.needs.verdict));
        if row.stale.count() > 0 {
            table.style(5, held_style(false));
        }
        let effect = match row.access {
            Access::Read => "read as zeroes",
            Access::Write => "dropped",
        };
        table.note(match row.outside {
            0 => row.text.clone(),
            outside => format!("{}; {} after the surface's end: {effect}", row.text, bytes(outside)),
        });
    }
    table
}

/// Returns lines as text; their number, if there are too many ranges of them.
fn cell(lines: &LineSet) -> String {
    let text = lines.to_string();
    match (lines.iter().next(), lines.iter().last()) {
        (Some(first), Some(last)) if text.len() > LINES_COLUMNS => {
            format!("{} of {first}-{last}", lines.count())
        }
        (None, _) => "none".to_owned(),
        _ => text,
    }
}

/// Writes the last line, by the numbers of stale lines.
pub fn summary(page: &mut Page<'_>, rows: &[AccessRow]) -> io::Result<()> {
    let [read, written] = [Access::Read, Access::Write].map(|access| count(rows, access, |row| &row.stale));
    let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let old = (read > 0).then(|| format!("the shader reads old bytes of {}", lines(read)));
    let lost = (written > 0)
        .then(|| format!("the CPU's cache will write over {} that the shader wrote", lines(written)));
    let found: Vec<_> = old.into_iter().chain(lost).collect();
    let text = if found.is_empty() { "no line is stale".to_owned() } else { found.join("; ") };
    page.styled_heading(&text, held_style(found.is_empty()))
}
