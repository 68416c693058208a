//! What the devices simulated of a program's work, as text.

use std::io;

use gem_coherency_report::CoverageRow;
use gem_coherency_sim::{Coverage, CoveredWork, Reasons};

use crate::render::{Page, visible};

/// Writes the section of each device.
pub(super) fn sections(rows: &[CoverageRow], page: &mut Page<'_>) -> io::Result<()> {
    for row in rows {
        let Coverage { submissions, followed_submissions, commands, copies, judged_surfaces, .. } =
            row.simulated;
        let Coverage { draws, dispatches, skipped_commands, unfinished, .. } = &row.simulated;
        page.heading(&format!("Coverage of {}", row.device))?;
        page.field("requests", &row.requests.to_string())?;
        match submissions {
            0 => page.field("submissions", "none")?,
            _ => {
                let text = format!("{submissions}; the accesses of {followed_submissions} were followed");
                page.field("submissions", &text)?;
                let text = format!("{commands} executed, among them {copies} fills and copies");
                page.field("commands", &text)?;
                work(page, "draws", "judged", draws)?;
                work(page, "dispatches", "executed", dispatches)?;
                if judged_surfaces > 0 {
                    page.field("", &format!("{judged_surfaces} of the skipped: surfaces judged"))?;
                }
                reasons(page, "others", "skipped: ", skipped_commands)?;
                reasons(page, "batches", "not followed to the end: ", unfinished)?;
            }
        }
        let Coverage { display_reads, transfers, .. } = row.simulated;
        if display_reads > 0 {
            page.field("display", &format!("{display_reads} pictures were read"))?;
        }
        if transfers > 0 {
            page.field("copies", &format!("{transfers} by PREAD and PWRITE"))?;
        }
        page.gap()?;
    }
    Ok(())
}

/// Writes what a device skipped, each reason on a line; nothing if there is nothing.
pub fn skips(rows: &[CoverageRow], page: &mut Page<'_>) -> io::Result<()> {
    for row in rows {
        for skip in row.skips() {
            page.line(&visible(&format!("gemtool: {}: {skip}", row.device)))?;
        }
    }
    Ok(())
}

fn work(page: &mut Page<'_>, name: &str, followed: &str, work: &CoveredWork) -> io::Result<()> {
    let skipped = work.all_skipped();
    let text = match (work.followed, skipped) {
        (0, 0) => "none".to_owned(),
        (all, skipped) => format!("{all} {followed}, {skipped} skipped"),
    };
    page.field(name, &text)?;
    reasons(page, "", "skipped: ", &work.skipped)
}

fn reasons(page: &mut Page<'_>, name: &str, kind: &str, reasons: &Reasons) -> io::Result<()> {
    for (n, (why, count)) in reasons.iter().enumerate() {
        page.field(if n == 0 { name } else { "" }, &format!("{count} {kind}{}", visible(why)))?;
    }
    Ok(())
}
