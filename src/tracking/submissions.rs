//! The submissions of one device that are in progress, each with a list of its objects.
//!
//! A listed submission takes no locked instruction for an object that is ready and clean: it lists its objects, and then loads
//! the word of each. A transition that submissions block changes the word while it holds the lock of every place. So
//! one of them comes first: either the transition finds the submission, or the submission finds the changed word.

use std::array;

use crate::error::{Result, grow};
use crate::sync::Mutex;

/// The number of submissions that are listed at the same time, of one device. More are counted by each object's word.
const PLACES: usize = 8;

/// The number of no object.
const NO_OBJECT: usize = usize::MAX;

/// One submission's objects.
#[derive(Debug, Default)]
struct Place {
    is_taken: bool,
    objects: Vec<usize>,
}

/// A place in cache lines of its own: threads that submit at the same time use different ones.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(Mutex<Place>);

/// The lists of a device's submissions.
#[derive(Debug)]
pub struct Submissions<const N: usize = PLACES> {
    places: [Padded; N],
}

/// The place of a submission that is listed, until [`Submissions::end`].
#[derive(Clone, Copy, Debug)]
#[must_use = "the objects are in use until the submission ends"]
pub struct Listed(usize);

impl<const N: usize> Default for Submissions<N> {
    fn default() -> Self {
        Self { places: array::from_fn(|_| Padded::default()) }
    }
}

impl<const N: usize> Submissions<N> {
    /// Lists a submission with its objects: numbers that differ for objects that exist at the same time. Returns `None` if
    /// every place is taken or locked; then each object's word must count the submission.
    ///
    /// # Errors
    /// [`crate::Error::NoMemory`]; then nothing is listed.
    #[inline]
    pub fn begin(&self, objects: impl ExactSizeIterator<Item = usize>) -> Result<Option<Listed>> {
        let first = preferred();
        for number in (first..first + N).map(|number| number % N) {
            let Some(Padded(place)) = self.places.get(number) else { continue };
            // Taken without waiting: a thread that holds it may not run.
            let Some(mut place) = place.try_lock() else { continue };
            if !place.is_taken {
                grow(&mut place.objects, "submissions", objects.len())?;
                place.objects.extend(objects);
                place.is_taken = true;
                return Ok(Some(Listed(number)));
            }
        }
        Ok(None)
    }

    /// Removes objects from the list, by their places in [`Submissions::begin`]: their words count the submission.
    pub fn unlist(&self, Listed(number): Listed, objects: impl Iterator<Item = usize>) {
        let Some(Padded(place)) = self.places.get(number) else { return };
        let mut place = place.lock();
        for object in objects {
            if let Some(listed) = place.objects.get_mut(object) {
                *listed = NO_OBJECT;
            }
        }
    }

    /// Ends a submission, after its ioctl.
    #[inline]
    pub fn end(&self, Listed(number): Listed) {
        if let Some(Padded(place)) = self.places.get(number) {
            let mut place = place.lock();
            place.objects.clear();
            place.is_taken = false;
        }
    }

    /// Calls `change` with the number of times that submissions list `object`. None can list it before `change` returns.
    pub fn exclude<T>(&self, object: usize, change: impl FnOnce(usize) -> T) -> T {
        let places = self.places.each_ref().map(|Padded(place)| place.lock());
        change(places.iter().flat_map(|place| &place.objects).filter(|&&listed| listed == object).count())
    }
}

/// Returns the number of the place that this thread tries first; threads begin with different ones.
#[cfg(not(loom))]
#[inline]
fn preferred() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static THREADS: AtomicUsize = AtomicUsize::new(0);
    std::thread_local! {
        static PREFERRED: Cell<Option<usize>> = const { Cell::new(None) };
    }
    // Relaxed: any number will do.
    let number = || THREADS.fetch_add(1, Ordering::Relaxed) % PLACES;
    let preferred = PREFERRED.get().unwrap_or_else(number);
    PREFERRED.set(Some(preferred));
    preferred
}

/// Returns the first place: loom runs a thread the same way each time.
#[cfg(loom)]
fn preferred() -> usize {
    0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn list(submissions: &Submissions<2>, objects: &[usize]) -> Option<Listed> {
        submissions.begin(objects.iter().copied()).unwrap()
    }

    #[test]
    fn an_object_is_listed_until_each_of_its_submissions_ends() {
        let submissions = Submissions::<2>::default();
        let count = |object| submissions.exclude(object, |listed| listed);
        let one = list(&submissions, &[7, 9, 7]).unwrap();
        let other = list(&submissions, &[9]).unwrap();
        assert_eq!([7, 8, 9].map(count), [2, 0, 2]);
        assert!(list(&submissions, &[8]).is_none(), "both places are taken");
        submissions.end(one);
        assert_eq!([7, 8, 9].map(count), [0, 0, 1]);
        let again = list(&submissions, &[8, 7, 7]).unwrap();
        submissions.unlist(again, [2, 3].into_iter());
        assert_eq!([7, 8, 9].map(count), [1, 1, 1]);
        submissions.end(other);
        submissions.end(again);
        assert_eq!([7, 8, 9].map(count), [0, 0, 0]);
    }

    #[test]
    fn no_submission_is_listed_while_one_is_excluded() {
        let submissions = Submissions::<2>::default();
        assert!(submissions.exclude(7, |_| list(&submissions, &[7]).is_none()));
        assert!(list(&submissions, &[7]).is_some());
    }
}
