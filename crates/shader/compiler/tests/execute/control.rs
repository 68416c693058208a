//! Control flow on the executor: loops, switches, functions that return early, and lanes that end.

use gem_shader_compiler::Stage;

use crate::threads::{PLATFORMS, compile, run};

/// Returns the steps of Collatz' sequence down to 1, at most 100.
fn collatz(mut n: u32) -> u32 {
    for step in 0..100 {
        if n == 1 {
            return step;
        }
        n = if n & 1 == 0 { n / 2 } else { n.wrapping_mul(3).wrapping_add(1) };
    }
    100
}

/// Returns the result of a lane, as `control.comp` has it.
fn expected(at: u32, item: u32, scale: u32, offset: i32) -> u32 {
    let mut table = [3, 1, 4, 1];
    table[(at & 3) as usize] += item;
    let mut sum: u32 = match item % 5 {
        0 => 10,
        1 => 25,
        2 => 5,
        3 if item > 50 => 0,
        3 => 7 ^ 0xff,
        _ => 0xff,
    };
    loop {
        if sum > 30 && item != 4 || sum == 10 {
            sum -= 3;
        } else {
            sum += collatz(sum + 1);
        }
        if sum.is_multiple_of(7) || sum >= 1000 {
            break;
        }
    }
    let last = scale.wrapping_mul(offset.wrapping_sub(item as i32) as u32);
    sum.wrapping_add(table[((at + 1) & 3) as usize]).wrapping_add(last)
}

#[test]
fn lanes_take_their_own_ways() {
    // Groups of 8 by 2 lanes, 3 by 2 of them: rows of 24 lanes, 4 of them.
    let (lanes, count) = (96, 77_u32);
    let items: Vec<u32> = (0..lanes).map(|at| at * 7 % 64).collect();
    let (scale, offset, untouched) = (3, -5_i32, 0xeeee_eeee);
    let results: Vec<u32> = (0..lanes)
        .map(|at| if at < count { expected(at, items[at as usize], scale, offset) } else { untouched })
        .collect();
    let source = [vec![count], items].concat();
    let push = vec![scale, 0, offset as u32, 0];
    let modules: [&[u8]; 2] =
        [include_bytes!("../data/control.spv"), include_bytes!("../data/control.opt.spv")];
    for (platform, module) in
        PLATFORMS.into_iter().flat_map(|platform| modules.map(|module| (platform, module)))
    {
        let shader = compile(platform, module, Stage::Compute);
        let buffers = [source.clone(), vec![untouched; lanes as usize], push.clone()];
        assert_eq!(run(&shader, [3, 2, 1], &buffers)[1], results, "{platform}");
        // The length of the second buffer ends lanes, too.
        let buffers = [source.clone(), vec![untouched; 40], push.clone()];
        assert_eq!(run(&shader, [3, 2, 1], &buffers)[1], results[..40], "{platform}");
    }
}
