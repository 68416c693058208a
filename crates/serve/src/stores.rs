//! The first stores of programs to the pages of objects, also of programs that have ended.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use gem_coherency_wire::{Frame, store_in};

/// The tables of all programs.
#[derive(Debug, Default)]
pub(crate) struct Stores(Mutex<Vec<File>>);

impl Stores {
    /// Adds the table of a program, which its children share.
    pub(crate) fn add(&self, table: File) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(table);
    }

    /// Returns the call stack of the first store to a page since it was clean, by the program that was the last to store first;
    /// empty if none is known. The page is of an object that may have two numbers.
    pub(crate) fn first(&self, objects: [Option<u64>; 2], page: u64) -> Vec<Frame> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_table = |table: &File| {
            let of =
                |object| store_in(|offset, bytes| table.read_exact_at(bytes, offset).is_ok(), (object, page));
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

    use gem_coherency_wire::{STORES_BYTES, add_store};

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
        let stores = Stores::default();
        stores.add(table(&[(1, 0, 10, 100), (1, 1, 30, 101)]));
        stores.add(table(&[(1, 0, 20, 200), (1, 1, 20, 201), (9, 1, 40, 202)]));
        // A program may make its file shorter.
        stores.add(tempfile::tempfile().unwrap());
        let first = |objects, page| stores.first(objects, page).first().map(|frame| frame.address);
        assert_eq!([0, 1, 2].map(|page| first([Some(1), None], page)), [Some(200), Some(101), None]);
        assert_eq!(first([Some(1), Some(9)], 1), Some(202), "the object that another device exported");
        assert_eq!(first([None, None], 1), None);
    }
}
