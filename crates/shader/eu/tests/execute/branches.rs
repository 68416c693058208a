//! Branches: loops and conditions that are compared with the same ones in Rust.

use intel_eu::execute::{Shader, Stop, Thread, Why};
use intel_eu::{Opcode, Platform};

use super::surfaces::{assemble, check, run, stored, storing, surfaces};

/// A platform of each generation whose branches have a text in common.
const PLATFORMS: [Platform; 6] =
    [Platform::Bdw, Platform::Chv, Platform::Skl, Platform::Jsl, Platform::Tgl, Platform::Dg2];

/// The steps of each number to 1: a half, or three times the number and one.
const COLLATZ: &str = "
    again: cmp (16|M0) (le)f0.0 null<1>:ud r2.0<8;8,1>:ud 0x1:ud
    (f0.0) break (16|M0) loop loop
    add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x1:ud
    and (16|M0) (ne)f0.0 null<1>:ud r2.0<8;8,1>:ud 0x1:ud
    (f0.0) if (16|M0) even done
    mul (16|M0) r2.0<1>:ud r2.0<8;8,1>:ud 0x3:uw
    add (16|M0) r2.0<1>:ud r2.0<8;8,1>:ud 0x1:ud
    else (16|M0) done done
    even: shr (16|M0) r2.0<1>:ud r2.0<8;8,1>:ud 0x1:ud
    done: endif (16|M0) loop
    loop: while (16|M0) again";

fn collatz(mut number: u32) -> u32 {
    let mut steps = 0;
    while number > 1 {
        steps += 1;
        number = if number % 2 == 1 { 3 * number + 1 } else { number / 2 };
    }
    steps
}

const NUMBERS: [u32; 16] = [1, 2, 3, 27, 0, 6, 7, 97, 15, 16, 9, 31, 1, 5, 54, 12];

/// Returns the results of dispatched channels, and zeroes.
fn expected(dispatched: u32, result: impl Fn(u32) -> u32) -> [u32; 16] {
    std::array::from_fn(|at| if dispatched >> at & 1 != 0 { result(NUMBERS[at]) } else { 0 })
}

#[test]
fn each_channel_has_its_own_steps() {
    for platform in PLATFORMS {
        for dispatched in [0xffff, 0x5a0f, 0x0001] {
            let steps = stored(platform, dispatched, NUMBERS, COLLATZ);
            assert_eq!(steps, Ok(expected(dispatched, collatz)), "{platform} {dispatched:#x}");
        }
    }
}

#[test]
fn distances_of_graphics_7_are_in_8_bytes() {
    // `else` has no second target there.
    let text = COLLATZ.replace("else (16|M0) done done", "else (16|M0) done");
    for platform in [Platform::Ivb, Platform::Hsw] {
        assert_eq!(stored(platform, 0xffff, NUMBERS, &text), Ok(expected(0xffff, collatz)), "{platform}");
    }
}

#[test]
fn nested_loops_skip_and_leave() {
    // The sum of the products i * k while it is below 200: i is below the number and no multiple of 3, k is below i and the number's
    // lowest bits.
    let text = "
        (W) mov (1|M0) f1.0<1>:uw 0xFFFF:uw
        and (16|M0) r14.0<1>:ud r2.0<8;8,1>:ud 0x7:ud
        (W) mov (16|M0) r4.0<1>:ud 0x0:ud
        outer: add (16|M0) r4.0<1>:ud r4.0<8;8,1>:ud 0x1:ud
        cmp (16|M0) (ge)f0.0 null<1>:ud r4.0<8;8,1>:ud r2.0<8;8,1>:ud
        (f0.0) break (16|M0) last last
        // The remainder of a number below 100: 86 / 256 is a little more than 1 / 3.
        mul (16|M0) r6.0<1>:ud r4.0<8;8,1>:ud 0x56:uw
        shr (16|M0) r6.0<1>:ud r6.0<8;8,1>:ud 0x8:ud
        mul (16|M0) r6.0<1>:ud r6.0<8;8,1>:ud 0x3:uw
        add (16|M0) r6.0<1>:d r4.0<8;8,1>:d -r6.0<8;8,1>:d
        cmp (16|M0) (eq)f0.0 null<1>:ud r6.0<8;8,1>:ud 0x0:ud
        (f0.0) cont (16|M0) last last
        (W) mov (16|M0) r6.0<1>:ud 0x0:ud
        inner: cmp (16|M0) (ge)f0.0 null<1>:ud r6.0<8;8,1>:ud r4.0<8;8,1>:ud
        (f0.0) if (16|M0) on on
        break (16|M0) on turn
        on: endif (16|M0) turn
        mul (16|M0) r12.0<1>:ud r4.0<8;8,1>:ud r6.0<16;8,2>:uw
        add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud r12.0<8;8,1>:ud
        add (16|M0) r6.0<1>:ud r6.0<8;8,1>:ud 0x1:ud
        cmp (16|M0) (lt)f0.0 null<1>:ud r6.0<8;8,1>:ud r14.0<8;8,1>:ud
        turn: (f0.0) while (16|M0) inner
        cmp (16|M0) (lt)f1.0 null<1>:ud r10.0<8;8,1>:ud 0xC8:ud
        last: (f1.0) while (16|M0) outer";
    let sum = |number: u32| {
        let mut sum = 0;
        for i in 1..number {
            if i % 3 == 0 {
                continue;
            }
            for k in 0..i.min((number % 8).max(1)) {
                sum += i * k;
            }
            if sum >= 200 {
                break;
            }
        }
        sum
    };
    for platform in PLATFORMS {
        let sums = stored(platform, 0xffff, NUMBERS, text);
        assert_eq!(sums, Ok(expected(0xffff, sum)), "{platform}");
    }
}

#[test]
fn halted_channels_go_on_at_the_target() {
    let text = "
        cmp (16|M0) (gt)f0.0 null<1>:ud r2.0<8;8,1>:ud 0x8:ud
        (f0.0) if (16|M0) small small
        mov (16|M0) r10.0<1>:ud 0x1:ud
        halt (16|M0) small end
        add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x40:ud
        small: endif (16|M0) after
        after: add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x20:ud
        last: halt (16|M0) end end
        end: add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x100:ud";
    let result = |number| if number > 8 { 0x101 } else { 0x120 };
    for platform in PLATFORMS {
        assert_eq!(stored(platform, 0xffff, NUMBERS, text), Ok(expected(0xffff, result)), "{platform}");
    }
}

#[test]
fn instructions_without_a_mask_are_executed_by_waiting_channels() {
    let text = "
        cmp (16|M0) (gt)f0.0 null<1>:ud r2.0<8;8,1>:ud 0x8:ud
        (f0.0) if (16|M0) small small
        (W) add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x1:ud
        add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x10:ud
        small: endif (16|M0) after
        after: nop";
    let result = |number| if number > 8 { 0x11 } else { 1 };
    assert_eq!(stored(Platform::Skl, 0xffff, NUMBERS, text), Ok(expected(0xffff, result)));
    // If no channel fulfils the condition, or all of them halt, the thread jumps.
    let none = text.replace("0x8:ud", "0x1000:ud");
    assert_eq!(stored(Platform::Skl, 0xffff, NUMBERS, &none), Ok([0; 16]));
    let halted = "
        cmp (16|M0) (gt)f0.0 null<1>:ud r2.0<8;8,1>:ud 0x8:ud
        if (16|M0) outer outer
        (f0.0) if (16|M0) inner inner
        halt (16|M0) inner after
        inner: endif (16|M0) outer
        (W) add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x1:ud
        outer: endif (16|M0) after
        after: nop";
    assert_eq!(stored(Platform::Skl, 0xffff, [9; 16], halted), Ok([0; 16]));
    assert_eq!(stored(Platform::Skl, 0xffff, NUMBERS, halted), Ok([1; 16]), "some channels do not halt");
}

#[test]
fn a_jump_takes_all_channels_by_one_predicate() {
    // Adds until the sum of any, or of all channels, is above 20.
    let text = "
        again: add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud r2.0<8;8,1>:ud
        cmp (16|M0) (le)f0.0 null<1>:ud r10.0<8;8,1>:ud 0x14:ud
        (W&f0.0.PATTERN) jmpi again";
    let numbers = std::array::from_fn(|at| at as u32 + 4);
    // On Haswell distances of jmpi are in bytes, those of other branches in 8 bytes.
    for platform in PLATFORMS.into_iter().chain([Platform::Ivb, Platform::Hsw]) {
        for (pattern, rounds) in [("any16h", 6), ("all16h", 2)] {
            let sums = stored(platform, 0xffff, numbers, &text.replace("PATTERN", pattern));
            assert_eq!(sums, Ok(numbers.map(|number| rounds * number)), "{platform} {pattern}");
        }
    }
}

#[test]
fn an_endless_shader_is_stopped() {
    let shader =
        storing(Platform::Skl, "again: add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x1:ud\nwhile (16|M0) again");
    let steps = |steps| run(Platform::Skl, 0xffff, &[[0; 32]], &shader, steps, &mut surfaces(64));
    assert_eq!(steps(99), Err(Stop { at: 48, why: Why::Endless { steps: 99 } }));
    assert_eq!(steps(0), Err(Stop { at: 0, why: Why::Endless { steps: 0 } }));
    // A thread goes on where it was stopped.
    let loops = Shader::new(Platform::Skl, &shader);
    let mut thread = Thread::new(&loops, 0xffff, &[[0; 32]]);
    let mut places = (0..3).map(|_| thread.run(1, &mut surfaces(64)).unwrap_err().at);
    assert_eq!([places.next(), places.next(), places.next()], [Some(16), Some(32), Some(48)]);
    let straight = storing(Platform::Skl, "nop");
    let steps = |steps| run(Platform::Skl, 0xffff, &[[0; 32]], &straight, steps, &mut surfaces(64));
    assert_eq!((steps(6), steps(5).unwrap_err().why), (Ok(6), Why::Endless { steps: 5 }));
}

#[test]
fn branches_of_unknown_effect_are_refused() {
    let unknown = |opcode, what| Why::Unknown { opcode, what };
    let refused = |platform, text| check(platform, 0xffff, &storing(platform, text)).unwrap_err();
    for (text, why) in [
        ("(W&f0.0) if (16|M0) 32 32\nnop\nendif (16|M0) 16", unknown(Opcode::If, "a branch without a mask")),
        (
            "(f0.0) if (8|M0) 32 32\nnop\nendif (8|M0) 16",
            unknown(Opcode::If, "a branch of fewer channels than the thread's"),
        ),
        ("(f0.0) if.b (16|M0) 32 32\nnop\nendif (16|M0) 16", unknown(Opcode::If, "the branch control")),
        ("endif (16|M0) -16", unknown(Opcode::Endif, "a distance in that direction")),
        ("(f0.0) while (16|M0) 16", unknown(Opcode::While, "a distance in that direction")),
        ("(f0.0) endif (16|M0) 16", unknown(Opcode::Endif, "its predicate")),
        ("else (16|M0) 16 32\nnop\nendif (16|M0) 16", unknown(Opcode::Else, "an else with two targets")),
        ("jmpi 16", unknown(Opcode::Jmpi, "a jump with a mask")),
        ("goto (16|M0) 16 16", unknown(Opcode::Goto, "the effect")),
        ("(W) jmpi -64", Why::Target { opcode: Opcode::Jmpi, distance: -80 }),
        ("(W) jmpi 24", Why::Target { opcode: Opcode::Jmpi, distance: 8 }),
        ("(W) jmpi 4096", Why::Target { opcode: Opcode::Jmpi, distance: 4080 }),
    ] {
        assert_eq!(refused(Platform::Skl, text), Stop { at: 32, why }, "{text}");
    }
}

#[test]
fn channels_that_wait_are_not_passed_by() {
    // The jump leads over the instruction that the channels of a false condition wait for.
    let text = "
        cmp (16|M0) (gt)f0.0 null<1>:ud r2.0<8;8,1>:ud 0x8:ud
        (f0.0) if (16|M0) small small
        (W) jmpi after
        small: endif (16|M0) after
        after: nop";
    let why = Why::Unknown { opcode: Opcode::Jmpi, what: "a jump over instructions that channels wait for" };
    assert_eq!(stored(Platform::Skl, 0xffff, NUMBERS, text), Err(Stop { at: 64, why }));
    assert_eq!(stored(Platform::Skl, 0xffff, [9; 16], text), Ok([0; 16]), "no channel waits");
    // The same with an end of the thread.
    let text = text.replace("(W) jmpi after", "(W) send (8|M0) null:ud r112 0x27 0x02000010 {EOT}");
    let why = Why::Unknown { opcode: Opcode::Send, what: "the end of some of the channels" };
    assert_eq!(stored(Platform::Skl, 0xffff, NUMBERS, &text), Err(Stop { at: 64, why }));
}

#[test]
fn a_shader_ends_after_its_furthest_target() {
    let text = "
        (W) jmpi far
        near: send (8|M0) null:ud r112 0x27 0x02000010 {EOT}
        far: (W) jmpi near";
    let mut shader = assemble(Platform::Skl, text);
    let end = assemble(Platform::Skl, "send (8|M0) null:ud r112 0x27 0x02000010 {EOT}");
    shader.extend(&end);
    assert_eq!(check(Platform::Skl, 0xff, &shader), Ok(64));
    shader.truncate(48);
    assert_eq!(check(Platform::Skl, 0xff, &shader), Err(Stop { at: 48, why: Why::End }));
    assert_eq!(check(Platform::Skl, 0xff, &end), Ok(16));
}
