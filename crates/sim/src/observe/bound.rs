//! The bytes that a draw or a dispatch binds, and that its shaders may read or write; lines with newer bytes than memory.

use super::incoherent::{Watch, slice};
use super::trace::Tracing;
use super::trace_event::TraceEvent;
use crate::memory::backing_store::{AccessContext, BackingStore};
use crate::memory::lines::Lines;
use gem_coherency::error::Result;
use gem_coherency::units::{ByteRange, LINE_BYTES, LineRange};
use gem_coherency::vocabulary::Access;
use gem_coherency_memory_model::{self as memory_model, Line, Place, Route, Transfer};

impl BackingStore {
    /// Traces the lines of `range`, and logs the dirty ones that an access on `route` would not see, if their bytes there
    /// differ from memory's. Accesses nothing.
    pub(crate) fn watch_bound(
        &mut self,
        ctx: AccessContext<'_>,
        (tracing, watch): (Option<Tracing<'_>>, Option<Watch<'_>>),
        route: Route,
        range: ByteRange,
    ) -> Result<()> {
        if let Some(tracing) = tracing.filter(|_| !range.is_empty()) {
            let lines = range.lines();
            self.observe_lines(tracing, lines)?;
            tracing.add_access(
                ctx,
                route,
                None,
                lines,
                TraceEvent::Bound { route, lines, handle: tracing.handle },
            );
        }
        let Some(watch) = watch else { return Ok(()) };
        let route = ctx.route(route);
        let is_missed = memory_model::effect(ctx.hardware, ctx.level, route, Access::Read, Line::Dirty)
            .is_some_and(|effect| effect.at == Place::Memory && effect.before == Transfer::Nothing);
        if !is_missed {
            return Ok(());
        }
        self.each_newer_line(range, |lines| watch.surface(ctx.level, route, lines))
    }

    /// Calls `see` with each dirty line of which bytes of `range` differ from memory's.
    pub(crate) fn each_newer_line(&mut self, range: ByteRange, mut see: impl FnMut(LineRange)) -> Result<()> {
        let mut left = range.lines();
        while let Some(part) = self.next_written(left)? {
            let mut lines = part;
            while let Some(run) = self.run(lines)? {
                if run.line == Line::Dirty {
                    let in_cache = self.peek(Place::Cache, run)?;
                    let in_memory = self.peek(Place::Memory, run)?;
                    for line in run.of_object().indices() {
                        let start = (line * LINE_BYTES).max(range.offset());
                        let piece = start..((line + 1) * LINE_BYTES).min(range.end());
                        if slice(&in_cache, run.offset(), &piece) != slice(&in_memory, run.offset(), &piece) {
                            see(LineRange::new(line, line + 1));
                        }
                    }
                }
                lines = Lines::after(lines, run);
            }
            left = LineRange::new(part.end(), left.end());
        }
        Ok(())
    }
}
