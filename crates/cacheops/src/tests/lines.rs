//! Tests line operations: they fault only where the caller's bytes do, and change no byte.
//!
//! # Safety
//! As for the module above.
#![allow(unsafe_code)]

use super::super::line::Fence;
use super::super::span::LastLine;
use super::*;

const OPS: [LineOp; 3] = [LineOp::WriteBack, LineOp::Flush, LineOp::Invalidate];

/// Returns every instruction for all operations, with the last line touched once and twice.
fn all() -> Vec<Chosen> {
    let lines = ways(Instruction::ALL, Cpu::has, |chosen, one| {
        (chosen.flush_by, chosen.write_back_by) = (one, one);
    });
    let repeats = |repeats_last_line| lines.iter().map(move |&it| Chosen { repeats_last_line, ..it });
    repeats(true).chain(repeats(false)).collect()
}

/// Returns ranges that start and end within a line of the memory's edges and of the page boundary between
/// them.
fn edges() -> impl Iterator<Item = (usize, usize)> {
    let near = |edge: usize| edge.saturating_sub(65)..=(edge + 65).min(BYTES);
    let starts = [0, PAGE, BYTES].into_iter().flat_map(near);
    starts.flat_map(move |start| {
        let ends = [0, PAGE, BYTES].into_iter().flat_map(near);
        ends.filter(move |&end| end >= start).map(move |end| (start, end - start))
    })
}

#[test]
fn no_range_reaches_into_another_page_or_changes_a_byte() {
    let memory = Fenced::new();
    for chosen in all() {
        for op in OPS {
            for (start, len) in edges() {
                // SAFETY:
                // - `start..start + len` lies in the accessible pages;
                // - the CPU has the instruction.
                unsafe { chosen.lines(memory.byte(start), len, op) };
            }
            fence();
            memory.assert_untouched();
        }
    }
}

#[test]
fn no_list_of_ranges_reaches_into_another_page_or_changes_a_byte() {
    let memory = Fenced::new();
    let ranges: Vec<_> = edges().map(|(start, len)| (memory.byte(start).cast_const(), len)).collect();
    for chosen in all() {
        for op in OPS {
            for list in [&ranges[..], &ranges[..1], &[]] {
                // SAFETY:
                // - the ranges lie in the accessible pages;
                // - the CPU has the instruction.
                unsafe { chosen.lines_of_ranges(list, op) };
            }
            fence();
            memory.assert_untouched();
        }
    }
}

#[test]
fn no_page_word_reaches_into_another_page_or_changes_a_byte() {
    let memory = Fenced::new();
    let single = (0..64).map(|bit| 1 << bit);
    let masks: Vec<u64> =
        [0, u64::MAX, 0x8000_0000_0000_0001, 0x00ff_00ff_00ff_00ff].into_iter().chain(single).collect();
    for chosen in all() {
        for op in OPS {
            for (page, &mask) in (0..PAGES).flat_map(|page| masks.iter().map(move |mask| (page, mask))) {
                // SAFETY:
                // - the page is accessible;
                // - the CPU has the instruction.
                unsafe { chosen.lines_of_page(memory.byte(page * PAGE), mask, op) };
            }
            fence();
            memory.assert_untouched();
        }
    }
}

#[test]
fn what_is_chosen_is_used_and_fenced_ranges_change_no_byte() {
    let memory = Fenced::new();
    for (start, len) in [(0, 0), (0, 1), (63, 2), (PAGE - 1, 2), (1, BYTES - 2), (0, BYTES)] {
        let first = memory.byte(start).cast_const();
        // SAFETY: `start..start + len` lies in the accessible pages, and so does byte 0 and its page.
        unsafe {
            write_back_range(first, len);
            flush_range(first, len);
            invalidate_range(first, len);
            for op in OPS {
                line(memory.byte(0), op);
                lines_of_page(memory.byte(0), 5, op);
                lines_of_ranges(&[(first, len)], op);
                fenced_ranges(&[(first, len), (memory.byte(0), 1)], op);
            }
        }
        store_fence();
        memory.assert_untouched();
    }
}

#[test]
fn a_range_is_flushed_between_two_fences_which_loads_pass_only_after_a_flush() {
    let memory = Fenced::new();
    let first = memory.byte(60).cast_const();
    let chosen = support().unwrap().chosen();
    for op in OPS {
        recorded();
        // SAFETY: the bytes are in the accessible pages.
        unsafe { fenced_ranges(&[(first, 8)], op) };
        let names: Vec<_> = recorded().into_iter().map(|one| one.0).collect();
        let fence = match Fence::for_batch_of(op, chosen.by(op)) {
            Fence::All => "mfence",
            Fence::Stores => "sfence",
        };
        let last = if chosen.last_line(op) == LastLine::Twice { 3 } else { 2 };
        assert_eq!((names.first(), names.last()), (Some(&fence), Some(&fence)), "{op:?}");
        assert_eq!(names[1..names.len() - 1], vec![chosen.by(op).name(); last], "{op:?}");
    }
}

#[test]
fn nothing_is_touched_for_nothing_even_where_nothing_is_mapped() {
    let memory = Fenced::new();
    let outside = memory.byte(BYTES).cast_const();
    for op in OPS {
        // SAFETY: no byte and no line, so nothing needs to be mapped.
        unsafe {
            lines(outside, 0, op);
            lines_of_ranges(&[(outside, 0)], op);
            lines_of_page(outside, 0, op);
        }
    }
    memory.assert_untouched();
}

#[test]
fn only_an_invalidate_and_clflush_need_more_than_a_store_fence() {
    for &instruction in Instruction::ALL {
        for op in OPS {
            let all = op == LineOp::Invalidate || instruction == Instruction::Clflush;
            let expected = if all { Fence::All } else { Fence::Stores };
            assert_eq!(Fence::for_batch_of(op, instruction), expected, "{op:?} {instruction}");
        }
    }
}

#[test]
fn a_line_in_the_fenced_page_faults() {
    dies("tests::lines::a_line_in_the_fenced_page_faults", || {
        let memory = Fenced::new();
        // SAFETY: none: the byte is in a page that faults, which ends this process.
        unsafe { lines(memory.byte(BYTES), 1, LineOp::Flush) };
    });
}

#[test]
fn a_bit_of_the_fenced_page_faults() {
    dies("tests::lines::a_bit_of_the_fenced_page_faults", || {
        let memory = Fenced::new();
        // SAFETY: none: as above.
        unsafe { lines_of_page(memory.byte(BYTES), 1 << 63, LineOp::WriteBack) };
    });
}
