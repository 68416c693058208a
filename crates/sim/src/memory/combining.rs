//! The CPU's write-combining buffers, which hold stores until they drain to a [`BackingStore`].

use std::collections::VecDeque;

use super::backing_store::{AccessContext, BackingStore, Combining};
use gem_coherency::error::Result;
use gem_coherency::units::LINE_BYTES;
use gem_coherency_memory_model::Route;

/// Number of write-combining buffers: a Skylake has ten fill buffers.
const COMBINING_BUFFERS: usize = 10;

impl BackingStore {
    /// Writes on `route` through the write-combining buffers, where the last lines stay.
    pub(crate) fn combine(
        &mut self,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &[u8],
    ) -> Result<()> {
        if ctx.coherent {
            return self.write(ctx, route, offset, data);
        }
        self.begin(ctx, offset, data.len() as u64)?;
        let most = COMBINING_BUFFERS * LINE_BYTES as usize;
        let (through, rest) = data.split_at(data.len().saturating_sub(most));
        if !through.is_empty() {
            self.drain(ctx)?;
            self.put(ctx, route, offset, through)?;
        }
        let mut offset = offset + through.len() as u64;
        let mut rest = rest;
        while !rest.is_empty() {
            let to_line_end = (LINE_BYTES - offset % LINE_BYTES) as usize;
            let (piece, after) = rest.split_at(to_line_end.min(rest.len()));
            self.buffer(ctx, route, offset, piece)?;
            offset += piece.len() as u64;
            rest = after;
        }
        Ok(())
    }

    /// Adds a store within one line to the buffer of its line and route.
    fn buffer(&mut self, ctx: AccessContext<'_>, route: Route, offset: u64, data: &[u8]) -> Result<()> {
        let line = offset / LINE_BYTES;
        let store = (offset, data.to_vec());
        match self.combining.iter_mut().find(|buffer| buffer.route == route && buffer.line == line) {
            Some(buffer) => buffer.stores.push(store),
            None => {
                if self.combining.len() >= COMBINING_BUFFERS
                    && let Some(oldest) = self.combining.pop_front()
                {
                    self.empty(ctx, oldest)?;
                }
                self.combining.push_back(Combining { route, line, stores: vec![store] });
            }
        }
        Ok(())
    }

    /// Drains the write-combining buffers, as a fence does; newest first, because buffers have no guaranteed
    /// order.
    pub(crate) fn drain(&mut self, ctx: AccessContext<'_>) -> Result<()> {
        while let Some(newest) = self.combining.pop_back() {
            self.empty(ctx, newest)?;
        }
        Ok(())
    }

    /// Drains the buffers of `route`, as an uncached access on it does, and a load from write-combining
    /// memory. Bytes written through the aperture may still be held in the chipset.
    pub(crate) fn drain_route(&mut self, ctx: AccessContext<'_>, route: Route) -> Result<()> {
        let (same, others) = self.combining.drain(..).partition(|buffer| buffer.route == route);
        self.combining = others;
        let same: VecDeque<_> = same;
        same.into_iter().try_for_each(|buffer| self.empty(ctx, buffer))
    }

    fn empty(&mut self, ctx: AccessContext<'_>, buffer: Combining) -> Result<()> {
        buffer.stores.iter().try_for_each(|(offset, data)| self.put(ctx, buffer.route, *offset, data))
    }
}
