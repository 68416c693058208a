//! The first stores of programs to the pages of objects, also of programs that have ended.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};

use gem_coherency::sync::Mutex;
use gem_coherency_protocol::{Frame, STORES_BYTES, store_in, stored_objects};
use gem_coherency_server::RecordWriters;

/// The table of a program.
#[derive(Debug)]
struct Table {
    file: File,
    writers: Weak<RecordWriters>,
}

/// The tables of the programs that exist, or whose objects do.
#[derive(Debug, Default)]
pub(crate) struct Stores(Mutex<Vec<Table>>);

impl Stores {
    /// Adds the table of a program. Those of programs that have ended are dropped if they have no object for which `exists`
    /// holds.
    pub(crate) fn add(&self, file: File, writers: &Arc<RecordWriters>, exists: impl Fn(u64) -> bool) {
        let mut tables = self.0.lock();
        tables.retain(|table| {
            let mut bytes = Vec::new();
            let mut is_read = || {
                bytes.resize(STORES_BYTES, 0);
                table.file.read_exact_at(&mut bytes, 0).is_ok()
            };
            table.writers.strong_count() > 0 || is_read() && stored_objects(&bytes).any(&exists)
        });
        tables.push(Table { file, writers: Arc::downgrade(writers) });
    }

    /// Returns the call stack of the first store to a page since it was clean, by the program that was the last to store first;
    /// empty if none is known. The page is of an object that may have two numbers.
    pub(crate) fn first(&self, objects: [Option<u64>; 2], page: u64) -> Vec<Frame> {
        let tables = self.0.lock();
        let of_table = |table: &Table| {
            let of = |object| {
                store_in(|offset, bytes| table.file.read_exact_at(bytes, offset).is_ok(), (object, page))
            };
            objects.into_iter().flatten().filter_map(of).max_by_key(|(time, _)| *time)
        };
        tables
            .iter()
            .filter_map(of_table)
            .max_by_key(|(time, _)| *time)
            .map(|(_, frames)| frames)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use std::sync::atomic::{AtomicU64, Ordering};

    use gem_coherency_protocol::add_store;

    use super::*;

    /// Returns a table with records: object, page, time, address.
    fn table(records: &[(u64, u64, u64, u64)]) -> File {
        let words: Vec<_> = (0..STORES_BYTES / 8).map(|_| AtomicU64::new(0)).collect();
        for &(object, page, time, address) in records {
            add_store(&words, (object, page), time, [(&b"/bin/app"[..], address)].into_iter());
        }
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    #[test]
    fn the_last_program_that_stored_first_is_found() {
        let (stores, writers) = (Stores::default(), Arc::default());
        let add = |file| stores.add(file, &writers, |_| false);
        add(table(&[(1, 0, 10, 100), (1, 1, 30, 101)]));
        add(table(&[(1, 0, 20, 200), (1, 1, 20, 201), (9, 1, 40, 202)]));
        // A program may make its file shorter.
        add(tempfile::tempfile().unwrap());
        let first = |objects, page| stores.first(objects, page).first().map(|frame| frame.address);
        assert_eq!([0, 1, 2].map(|page| first([Some(1), None], page)), [Some(200), Some(101), None]);
        assert_eq!(first([Some(1), Some(9)], 1), Some(202), "the object that another device exported");
        assert_eq!(first([None, None], 1), None);
    }

    #[test]
    fn a_table_is_kept_as_long_as_its_program_or_an_object() {
        let (stores, writers) = (Stores::default(), Arc::default());
        let child = Arc::clone(&writers);
        stores.add(table(&[(1, 0, 10, 100)]), &writers, |_| true);
        let count = || stores.0.lock().len();
        drop(writers);
        stores.add(tempfile::tempfile().unwrap(), &child, |_| false);
        assert_eq!(count(), 2, "the child lives");
        let known = || !stores.first([Some(1), None], 0).is_empty();
        drop(child);
        stores.add(tempfile::tempfile().unwrap(), &Arc::default(), |object| object == 1);
        assert_eq!((count(), known()), (2, true), "the object is alive");
        stores.add(tempfile::tempfile().unwrap(), &Arc::default(), |object| object == 2);
        assert_eq!((count(), known()), (1, false));
    }
}
