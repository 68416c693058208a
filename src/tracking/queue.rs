//! The flush queue: what several accesses demand of several objects, in one go.

use super::flight::{Flight, Landing, Tracked, land};
use crate::error::Result;
use crate::units::LineRange;

/// What one access demands of one object.
pub trait Work<'a> {
    /// The object.
    fn object(&self) -> &'a Tracked;

    /// The lines that the work is about; `None` if the access demands nothing, whatever is pending.
    ///
    /// Called before any flight begins, so it may wait for the GPU. Work that finds nothing pending
    /// is work all the same: another thread may have taken what was, and not be done with it
    /// ([`Tracked::is_settled`]).
    ///
    /// # Errors
    /// What keeps the access from happening.
    fn prepare(&mut self) -> Result<Option<LineRange>>;

    /// Takes from `flight` what the access demands and flushes, invalidates, drains it; before the first
    /// line it calls [`Fences::before_lines`].
    ///
    /// # Errors
    /// What went wrong; what the flight took is given back.
    fn carry_out(&mut self, flight: &mut Flight<'a>, fences: &mut Fences<'_>) -> Result<()>;
}

/// The fences around the line operations of a whole queue: one before the first, one after the last,
/// none if there are no lines.
pub struct Fences<'f> {
    fence: &'f dyn Fn(),
    begun: bool,
}

impl Fences<'_> {
    /// Issues the leading fence, unless it was.
    pub fn before_lines(&mut self) {
        if !self.begun {
            self.begun = true;
            (self.fence)();
        }
    }

    /// Issues the trailing fence, if there were lines.
    fn after_lines(self) {
        if self.begun {
            (self.fence)();
        }
    }
}

/// Carries out all of `works` between one pair of fences; memory and caches are right for them then,
/// also with regard to what other threads took.
///
/// The order is the protocol: every flight is announced before anything is taken; nothing lands before
/// the trailing fence; all land at once, so that queues over the same objects in any order do not wait
/// in a circle. If another thread's flight failed meanwhile, all begins again.
///
/// # Errors
/// The first error of `works`. Then everything that was pending still is.
pub fn run_queue<'a, W: Work<'a>>(works: &mut [W], fence: &dyn Fn()) -> Result<()> {
    loop {
        let ranges = works.iter_mut().map(W::prepare).collect::<Result<Vec<_>>>()?;
        let mut open = Vec::with_capacity(works.len());
        for (work, range) in works.iter_mut().zip(ranges) {
            if let Some(range) = range {
                let flight = work.object().begin_flight(range)?;
                open.push((work, flight));
            }
        }
        let mut fences = Fences { fence, begun: false };
        for (work, flight) in &mut open {
            // An error drops the flights, which marks again what they took.
            work.carry_out(flight, &mut fences)?;
        }
        fences.after_lines();
        match land(open.into_iter().map(|(_, flight)| flight)) {
            Landing::InMemory => return Ok(()),
            Landing::Again => tracing::debug!("another thread's flush failed: again"),
        }
    }
}
