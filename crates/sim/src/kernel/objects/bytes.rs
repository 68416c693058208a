//! Access to an object's bytes, in its own backing store or in a process's memory.

use gem_coherency::Errno;

use super::object::{Object, Origin};
use super::userptr::{Piece, UserMemory};
use crate::memory::backing_store::AccessContext;
use crate::refuse::refuse;
use gem_coherency::cacheops::LineOp;
use gem_coherency::error::Result;
use gem_coherency::units::ByteRange;
use gem_coherency_memory_model::Route;

impl Object {
    /// Reads on `route`.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`]; EFAULT if the pages were never brought in.
    pub(crate) fn read(
        &self,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
        data: &mut [u8],
    ) -> Result<()> {
        match &self.origin {
            Origin::Own | Origin::Attached(_) => self.backing().read(ctx, route, offset, data),
            Origin::User(user) => {
                if let Some((program, address)) = user.program(offset) {
                    return complete(program.read(address, data), data.len());
                }
                for piece in self.pieces(user, offset, data.len())? {
                    let into = data.get_mut(piece.of_range.clone()).unwrap_or_default();
                    let ctx = ctx.of_part(piece.range.offset(), offset + piece.of_range.start as u64);
                    piece.backing().read(ctx, route, piece.range.offset(), into)?;
                }
                Ok(())
            }
        }
    }

    /// Writes on `route`, without write combining.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn write(&self, ctx: AccessContext<'_>, route: Route, offset: u64, data: &[u8]) -> Result<()> {
        match &self.origin {
            Origin::Own | Origin::Attached(_) => self.backing().write(ctx, route, offset, data),
            Origin::User(user) => {
                if let Some((program, address)) = user.program(offset) {
                    return complete(program.write(address, data), data.len());
                }
                for piece in self.pieces(user, offset, data.len())? {
                    let from = data.get(piece.of_range.clone()).unwrap_or_default();
                    let ctx = ctx.of_part(piece.range.offset(), offset + piece.of_range.start as u64);
                    piece.backing().write(ctx, route, piece.range.offset(), from)?;
                }
                Ok(())
            }
        }
    }

    /// Flushes every line; returns how many were written back.
    pub(crate) fn flush_all(&self, ctx: AccessContext<'_>) -> Result<u64> {
        match &self.origin {
            Origin::Own | Origin::Attached(_) => self.backing().flush_all(ctx),
            Origin::User(user) => {
                let mut written = 0;
                for piece in user.pieces(self.whole()?)? {
                    let mut backing = piece.backing();
                    backing.drain(ctx)?;
                    written += backing.maintain(ctx, piece.range.lines(), LineOp::Flush)?;
                }
                Ok(written)
            }
        }
    }

    /// Drains the write-combining buffers, as a fence does.
    pub(crate) fn drain(&self, ctx: AccessContext<'_>) -> Result<()> {
        match &self.origin {
            Origin::Own | Origin::Attached(_) => self.backing().drain(ctx),
            Origin::User(user) => {
                let pieces = user.pieces(self.whole()?)?;
                pieces.iter().try_for_each(|piece| piece.backing().drain(ctx))
            }
        }
    }

    fn whole(&self) -> Result<ByteRange> {
        ByteRange::within(0, self.size(), self.size())
    }

    fn pieces(&self, user: &UserMemory, offset: u64, len: usize) -> Result<Vec<Piece>> {
        let range = ByteRange::within(offset, len as u64, self.size())?;
        let pieces = user.pieces(range)?;
        if pieces.is_empty() && len != 0 { refuse("userptr", Errno::EFAULT) } else { Ok(pieces) }
    }
}

/// Returns the result of a copy from or to a program's pages.
fn complete(done: usize, len: usize) -> Result<()> {
    if done == len { Ok(()) } else { refuse("userptr", Errno::EFAULT) }
}
