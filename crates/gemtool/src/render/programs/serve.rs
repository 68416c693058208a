//! Writes what programs need to use a server, and the requests that they made.

use std::io;

use crate::cmd::programs::sim::{Requests, Served};
use crate::render::{Align, Page, Report, Table, visible};

impl Report for Served {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        // Lines that a shell can read.
        for (name, value) in &self.environment {
            page.line(&format!("export {name}={}", visible(value)))?;
        }
        Ok(())
    }
}

impl Report for Requests {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let heads = [
            ("request", Align::Left),
            ("code", Align::Left),
            ("count", Align::Right),
            ("errors", Align::Left),
        ];
        let mut table = Table::new(2, &heads);
        for row in &self.requests {
            let errors: Vec<_> =
                row.errors.iter().map(|(errno, count)| format!("{errno} x{count}")).collect();
            let count = row.count.to_string();
            table.row([row.name.unwrap_or("(unknown)"), &row.code, &count, &errors.join(", ")]);
        }
        table.write(page)
    }
}
