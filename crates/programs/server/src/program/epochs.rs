//! The programs' tables of stores to write-combining mappings, as the devices read them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};

use gem_coherency::sync::Mutex;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_protocol::{epoch_in, note_polled, overwrite};
use gem_coherency_sim::StoreEpochs;

use crate::judge::RecordWriters;

/// The table of a program.
#[derive(Debug)]
struct Table {
    file: File,
    writers: Weak<RecordWriters>,
}

/// The tables of the programs that exist.
#[derive(Debug, Default)]
pub(crate) struct Epochs(Mutex<Vec<Table>>);

impl Epochs {
    /// Adds the table of a program, and drops those of programs that have ended.
    pub(crate) fn add(&self, file: File, writers: &Arc<RecordWriters>) {
        let mut tables = self.0.lock();
        tables.retain(|table| table.writers.strong_count() > 0);
        tables.push(Table { file, writers: Arc::downgrade(writers) });
    }
}

impl Table {
    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        self.file.read_exact_at(bytes, offset).is_ok()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        self.file.write_all_at(bytes, offset).is_ok()
    }
}

impl StoreEpochs for Epochs {
    fn last(&self, object: u64, offset: u64, now: &[u32]) -> Option<(u64, Vec<u64>)> {
        let page = offset / PAGE_BYTES;
        let first = (offset % PAGE_BYTES / 4) as usize;
        let of_table =
            |table: &Table| epoch_in(|offset, bytes| table.read(offset, bytes), (object, page), first, now);
        let tables = self.0.lock();
        let (epoch, dwords) = tables.iter().filter_map(of_table).max_by_key(|&(epoch, _)| epoch)?;
        let offsets = dwords.into_iter().map(|dword| page * PAGE_BYTES + 4 * dword as u64).collect();
        Some((epoch, offsets))
    }

    fn overwrite(&self, object: u64, offset: u64, new: &[u8]) {
        let first = (offset % PAGE_BYTES) as usize;
        for table in self.0.lock().iter() {
            let read = |offset, bytes: &mut [u8]| table.read(offset, bytes);
            let write = |offset, bytes: &[u8]| table.write(offset, bytes);
            overwrite(read, write, (object, offset / PAGE_BYTES), first..first + new.len(), new);
        }
    }

    fn polls(&self, object: u64, offset: u64) {
        for table in self.0.lock().iter() {
            let read = |offset, bytes: &mut [u8]| table.read(offset, bytes);
            let write = |offset, bytes: &[u8]| table.write(offset, bytes);
            note_polled(read, write, (object, offset / PAGE_BYTES));
        }
    }
}
