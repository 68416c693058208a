//! Runs searches in parallel, one per thread at a time, keeping their results in order.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gem_coherency::sync::Mutex;

/// Calls `work` for every item on `jobs` threads; returns the results in the items' order.
pub fn in_parallel<T, R>(items: &[T], jobs: NonZeroUsize, work: impl Fn(&T) -> R + Sync) -> Vec<R>
where
    T: Sync,
    R: Send,
{
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..jobs.get().min(items.len()) {
            scope.spawn(|| {
                // Relaxed: only the next item's index is shared; the results go through the lock.
                while let place = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(place)
                {
                    let result = work(item);
                    results.lock().push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner();
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Returns the number of threads that the machine runs in parallel.
pub fn all_cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_results_keep_their_order() {
        let items: Vec<u32> = (0..1000).collect();
        for jobs in [1, 2, 7, 2000] {
            let calls = AtomicUsize::new(0);
            let doubled = in_parallel(&items, NonZeroUsize::new(jobs).unwrap(), |item| {
                calls.fetch_add(1, Ordering::Relaxed);
                item * 2
            });
            assert!(doubled.iter().zip(&items).all(|(double, item)| *double == item * 2));
            assert_eq!((doubled.len(), calls.into_inner()), (1000, 1000));
        }
        assert!(in_parallel(&[] as &[u32], all_cores(), |item| *item).is_empty());
    }
}
