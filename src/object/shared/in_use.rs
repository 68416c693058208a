//! Uses of an object, which its object word counts.

use super::bo::{Object, SharedBo};
use crate::error::Result;
use crate::tracking::{Blocked, Marks, State, Transition};

/// A way to use an object. While one is open, the object can neither be closed nor change its level; an unmap and an access
/// through the mapping exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Loads through its mapping.
    Read,
    /// Stores through its mapping.
    Write,
    /// A flush for a GPU, the display or an importer, and their access.
    Submit,
    /// A request with its handle, which cannot be closed and reassigned to another object meanwhile.
    Request,
    /// A change of its mappings.
    Unmap,
}

/// An owner of a reference to an object.
pub(crate) trait HasObject {
    /// Returns the object.
    fn object(&self) -> &Object;
}

impl HasObject for &Object {
    #[inline]
    fn object(&self) -> &Object {
        self
    }
}

/// A use of an object that has begun. Ends when dropped.
#[derive(Debug)]
pub(crate) struct InUse<O: HasObject> {
    /// The owner of the reference.
    pub(crate) owner: O,
    /// The place of the marks of its stores and of its flush.
    pub(crate) marks: Marks,
    how: Use,
}

impl<O: HasObject> InUse<O> {
    /// Begins a use.
    ///
    /// # Errors
    /// Those of the object word's transition ([`State::begin_read`] and others).
    #[inline]
    pub(crate) fn begin(owner: O, how: Use) -> Result<Self> {
        let object = owner.object();
        let state = match how {
            Use::Read => object.try_update(State::begin_read),
            Use::Write => object.try_update(State::begin_write),
            Use::Submit => object.try_update(State::begin_submit),
            Use::Request => object.try_update(State::begin_request),
            Use::Unmap => object.try_update(State::begin_unmap),
        }?;
        let marks = match how {
            Use::Read | Use::Request => Marks::Shared,
            Use::Write | Use::Submit | Use::Unmap => state.after.marks(),
        };
        Ok(Self { owner, marks, how })
    }
}

impl<O: HasObject> Drop for InUse<O> {
    #[inline]
    fn drop(&mut self) {
        let word = self.owner.object().tracked.word();
        match self.how {
            Use::Read => word.end(State::end_read),
            Use::Write => word.end(State::end_write),
            Use::Submit => word.end(State::end_submit),
            Use::Request => word.end(State::end_request),
            Use::Unmap => {
                word.update(State::end_unmap);
            }
        }
    }
}

impl Object {
    /// Returns the number by which submissions list the object: its address.
    #[inline]
    pub(crate) fn listed_as(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Makes a transition of the object word.
    ///
    /// # Errors
    /// Those of the transition.
    #[inline]
    pub(crate) fn try_update(
        &self,
        transition: impl FnMut(State) -> Result<State, Blocked>,
    ) -> Result<Transition> {
        self.tracked.word().try_update(transition).map_err(|blocked| blocked.error(self.handle))
    }
}

impl SharedBo {
    /// Begins a use at a level that the kernel has confirmed.
    ///
    /// # Errors
    /// As [`InUse::begin`] and [`SharedBo::confirm_level`].
    #[inline]
    pub(crate) fn begin(&self, how: Use) -> Result<InUse<&Object>> {
        let in_use = InUse::begin(&*self.object, how)?;
        self.confirm_level()?;
        Ok(in_use)
    }

    /// Makes a transition of the object word that submissions in progress block.
    ///
    /// # Errors
    /// Those of the transition; [`crate::Error::InUse`] while a submission lists the object.
    pub(crate) fn try_update_unsubmitted(
        &self,
        mut transition: impl FnMut(State) -> Result<State, Blocked>,
    ) -> Result<Transition> {
        self.device.submissions.exclude(self.object.listed_as(), |listed| {
            self.object.try_update(|state| state.with_listed(listed, &mut transition))
        })
    }

    /// Begins a request.
    ///
    /// # Errors
    /// As [`InUse::begin`].
    pub(crate) fn begin_request(&self) -> Result<InUse<&Object>> {
        InUse::begin(&*self.object, Use::Request)
    }
}
