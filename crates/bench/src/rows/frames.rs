//! The stores of a driver before a submission, with the submission: a batch buffer, a descriptor heap, a ring of
//! uploads, a whole frame. One guard writes a batch's commands of 16 to 64 bytes; a heap's descriptors have 64 bytes; the ring has a guard for each
//! upload (`Bo::write_bytes`); batch and ring are also written by a stream (`Bo::stream`), by the peers' stores; of each of a frame's ten BOs four
//! lines are written. Each is compared with what drivers do today, and with the necessary instructions.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::device::Submission;
use gem_coherency::units::{LINE_BYTES, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, MocsClass};

use super::size_text;
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::Rounds;
use crate::updates::{Case, Guards, OURS, Order, Peer, Store, measure, to_lines};

pub const BATCH_BUFFER: &str = "batch-buffer";
pub const DESCRIPTOR_HEAP: &str = "descriptor-heap";
pub const UPLOAD_RING: &str = "upload-ring";
pub const FRAME: &str = "frame";

/// Sizes of a batch buffer in bytes.
const BATCH_SIZES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Size of the shortest command in bytes.
const SHORTEST: u64 = 16;
/// Size of the longest command in bytes.
const LONGEST: u64 = 64;
/// Commands consist of words of this size in bytes.
const WORD: u64 = 4;
/// Size of a descriptor heap in bytes; one of a hundred descriptors changes in each frame.
const HEAP: u64 = 256 << 10;
const DESCRIPTOR: u64 = LINE_BYTES;
/// Number and size in bytes of the uploads that share a BO.
const UPLOADS: u64 = 1000;
const UPLOAD: u64 = 256;
/// BOs of a frame, and how many of them change; size of a BO in bytes, and how many of its lines change.
const FRAME_BOS: u64 = 200;
const FRAME_CHANGED: u64 = 10;
const FRAME_SIZE: u64 = 16 << 10;
const FRAME_LINES: u64 = 4;
/// Clean BOs of a submission whose tracked state is in the cache, and of one whose state is not: 20,000 take 5 MiB.
const HOT_BOS: u64 = 200;
const COLD_BOS: u64 = 20_000;
/// Bytes that are loaded before a turn, so that the caches of the core have nothing else.
const EVICTING: usize = 16 << 20;

/// Returns the commands of a batch buffer of `size` bytes, front to back.
fn commands(numbers: &mut Numbers, size: u64) -> Vec<Store> {
    let mut commands = Vec::new();
    let mut offset = 0;
    while offset < size {
        let len = SHORTEST + WORD * numbers.below((LONGEST - SHORTEST) / WORD + 1);
        let len = len.min(size - offset);
        commands.push(Store { offset, len });
        offset += len;
    }
    commands
}

/// Returns the stores to `bos` BOs, of which `changed` change some lines.
fn frame(numbers: &mut Numbers, bos: u64, changed: u64) -> Vec<Vec<Store>> {
    let changed = numbers.different(changed, bos);
    let mut lines = || to_lines(numbers.different(FRAME_LINES, FRAME_SIZE / LINE_BYTES), LINE_BYTES);
    (0..bos).map(|bo| if changed.contains(&bo) { lines() } else { Vec::new() }).collect()
}

/// Measures a batch buffer, which one guard fills.
pub fn batch_buffer(context: &Context, found: &mut Found) -> Result<(), Error> {
    for size in context.effort.sizes(&BATCH_SIZES) {
        let of_floor = match size {
            0..=4096 => 0.85,
            4097..=16_384 => 0.95,
            _ => 0.97,
        };
        let peers = Peer::of_drivers(context, found, |peer| match peer {
            "floor" => Some(of_floor),
            "clflush stored" => (size >= 16 << 10).then_some(1.0),
            _ => None,
        });
        let stores = |numbers: &mut Numbers| vec![commands(numbers, size)];
        let case = Case::of_bo(BATCH_BUFFER, size_text(size), size, &stores);
        measure(context, found, &Case { order: Order::Sequential, ..case }, &peers)?;
    }
    Ok(())
}

/// Measures a descriptor heap, of which few descriptors change.
pub fn descriptor_heap(context: &Context, found: &mut Found) -> Result<(), Error> {
    let size = context.effort.pick(HEAP, HEAP / 16);
    let descriptors = size / DESCRIPTOR;
    let stores =
        |numbers: &mut Numbers| vec![to_lines(numbers.different(descriptors / 100, descriptors), DESCRIPTOR)];
    let case = Case::of_bo(DESCRIPTOR_HEAP, format!("1 % of {}", size_text(size)), size, &stores);
    let peers = Peer::of_drivers(context, found, |peer| (peer == "floor").then_some(0.5));
    measure(context, found, &case, &peers)
}

/// Measures uploads that share a BO. Each is a write by a guard of its own: a driver that suballocates uploads
/// keeps the BO mapped, and copies each when it is asked for.
pub fn upload_ring(context: &Context, found: &mut Found) -> Result<(), Error> {
    let uploads = context.effort.pick(UPLOADS, 16);
    let (name, size) = (format!("{uploads} uploads of {}", size_text(UPLOAD)), uploads * UPLOAD);
    let store = |index| Store { offset: index * UPLOAD, len: UPLOAD };
    let stores = |_: &mut Numbers| vec![(0..uploads).map(store).collect()];
    let one_guard = Case::of_bo(UPLOAD_RING, name, size.next_multiple_of(PAGE_BYTES), &stores);
    let case = Case { guards: Guards::PerStore, order: Order::Sequential, ..one_guard };
    let peers = Peer::of_drivers(context, found, |peer| (peer == "floor").then_some(0.8));
    measure(context, found, &case, &peers)
}

/// Measures a frame, in which few BOs change; then the same where the GPU shares the CPU's cache.
pub fn whole_frame(context: &Context, found: &mut Found) -> Result<(), Error> {
    let bos = context.effort.pick(FRAME_BOS, 16);
    let changed = context.effort.pick(FRAME_CHANGED, 2);
    let without_llc = Peer::of_drivers(context, found, |peer| (peer == "clflush loop").then_some(2.0));
    // Nothing is necessary with an LLC, so there is no floor.
    let with_llc = vec![Peer::stored_by_clflush()];
    for (part, suffix, peers) in [(Part::NoLlc, "", without_llc), (Part::Llc, ", with an LLC", with_llc)] {
        let name = format!("{changed} of {bos} BOs of {}{suffix}", size_text(FRAME_SIZE));
        let stores = |numbers: &mut Numbers| frame(numbers, bos, changed);
        let case = Case { part, bos, ..Case::of_bo(FRAME, name, FRAME_SIZE, &stores) };
        measure(context, found, &case, &peers)?;
    }
    clean_bos(context, found)
}

/// A node of a pointer chase, in a line of its own.
#[repr(align(64))]
struct Node {
    next: usize,
}

/// Measures a submission of clean BOs where the GPU shares the CPU's cache, and nothing has to be done for any: one BO's time. In the cache, beside
/// two locked instructions; otherwise, beside a load from a line for each BO, whose address the load before gave.
fn clean_bos(context: &Context, found: &mut Found) -> Result<(), Error> {
    let hot = context.effort.pick(HOT_BOS, 16);
    let cold = context.effort.pick(COLD_BOS, 64);
    for (bos, suffix, peer, target) in
        [(hot, "", "2 locked adds", 1.0), (cold, ", not in the cache", "pointer chase", 0.83)]
    {
        let device = ordinary::device(Part::Llc)?;
        let all = (0..bos).map(|_| ordinary::bo(&device, PAGE_BYTES)).collect::<Result<Vec<_>, _>>()?;
        let mut numbers = Numbers::new();
        let mut order: Vec<usize> = (0..all.len()).collect();
        numbers.shuffle(&mut order);
        let batch: Vec<_> = order
            .iter()
            .filter_map(|&number| all.get(number))
            .map(|bo| Submission { bo, access: Access::Read, mocs: MocsClass::PageTable })
            .collect();
        let mut nodes: Vec<_> = (0..all.len()).map(|_| Node { next: 0 }).collect();
        for (&from, &to) in order.iter().zip(order.iter().cycle().skip(1)) {
            if let Some(node) = nodes.get_mut(from) {
                node.next = to;
            }
        }
        let evicting = vec![1_u8; if bos == cold { EVICTING } else { 0 }];
        let mut rounds = Rounds::new(|| {
            black_box(evicting.iter().step_by(LINE_BYTES as usize).map(|&byte| u64::from(byte)).sum::<u64>());
            Ok(())
        });
        let submit = || Ok(device.submit_with(&batch, |reports| Ok(black_box(reports.len())))?);
        rounds.side(OURS, || per_operation(bos, submit));
        let counter = AtomicU64::new(0);
        rounds.side(peer, || {
            per_operation(bos, || {
                let mut at = 0;
                for _ in 0..bos {
                    if bos == cold {
                        at = nodes.get(at).map_or(0, |node| node.next);
                    } else {
                        counter.fetch_add(1, Ordering::SeqCst);
                        counter.fetch_add(1, Ordering::SeqCst);
                    }
                }
                black_box(at);
                Ok(())
            })
        });
        let case = format!("{bos} clean BOs with an LLC{suffix}");
        found.push(rounds.measure(context.effort)?.line((FRAME, &case), OURS, peer, Some(target)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_fill_a_batch_buffer_without_a_gap() {
        let commands = commands(&mut Numbers::new(), 4096);
        let end = commands.iter().fold(0, |end, command| {
            assert_eq!(command.offset, end);
            assert!(command.len <= LONGEST && command.len.is_multiple_of(WORD));
            end + command.len
        });
        assert_eq!(end, 4096);
    }

    #[test]
    fn few_bos_of_a_frame_change_and_each_the_same_number_of_lines() {
        let stores = frame(&mut Numbers::new(), 20, 3);
        assert_eq!(stores.len(), 20);
        let changed: Vec<_> = stores.iter().filter(|stores| !stores.is_empty()).map(Vec::len).collect();
        assert_eq!(changed, [4, 4, 4]);
    }
}
