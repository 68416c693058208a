//! Numbers of 8, 16 and 64 bits, and half floats in words, on the executor.

use gem_shader_compiler::Stage;
use intel_eu::Platform;

use crate::threads::{PLATFORMS, compile, run};

/// Numbers that look random, and are the same in each run.
fn numbers(seed: u32) -> impl Iterator<Item = u32> {
    // The steps of a linear congruential generator (Numerical Recipes).
    std::iter::successors(Some(seed), |last| Some(last.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        .skip(1)
        .map(|number| number ^ number >> 15)
}

/// Returns bytes as words.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn small_and_large_integers_are_loaded_computed_and_stored() {
    // A group of 16 lanes, two of them; the specialization constant is -3.
    let bytes: Vec<u8> = numbers(1).take(32).map(|number| number as u8).collect();
    let shorts: Vec<u16> = numbers(2).take(16 + 4 * 32).map(|number| number as u16).collect();
    let longs: Vec<u64> =
        numbers(3).zip(numbers(4)).take(32).map(|(a, b)| u64::from(a) << 32 | u64::from(b)).collect();
    let mut new = (bytes.clone(), shorts.clone(), longs.clone());
    for at in 0..32 {
        let (place, byte) = (at % 16, u64::from(bytes[at]));
        new.1[place] = new.1[place].wrapping_sub(3).wrapping_mul(u16::from(bytes[at]));
        for part in 0..4 {
            new.1[16 + 4 * at + part] = shorts[16 + 4 * at + 3 - part] << 2;
        }
        let long = longs[at];
        new.2[at] = long.rotate_left(32).wrapping_add((long >> 7).wrapping_mul(byte));
        new.0[at] = u32::from(bytes[at]).wrapping_add(long as u32).min(255) as u8;
    }
    let buffers = |(bytes, shorts, longs): &(Vec<u8>, Vec<u16>, Vec<u64>)| {
        let shorts: Vec<u8> = shorts.iter().flat_map(|short| short.to_le_bytes()).collect();
        let longs: Vec<u8> = longs.iter().flat_map(|long| long.to_le_bytes()).collect();
        [words(bytes), words(&shorts), words(&longs)]
    };
    let old = buffers(&(bytes, shorts, longs));
    let new = buffers(&new);
    for platform in PLATFORMS {
        let shader = compile(platform, include_bytes!("../data/widths.spv"), Stage::Compute);
        // The groups are along the third direction.
        assert_eq!(run(&shader, [1, 1, 2], &old), new, "{platform}");
    }
}

/// Returns the single float of a half float, as IEEE 754 has it.
pub fn single(half: u16) -> f32 {
    let (exponent, fraction) = (i32::from(half >> 10 & 31), f32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * f32::powi(2.0, -24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * f32::powi(2.0, exponent - 25),
    };
    if half & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// Returns the half float that is nearest to a single float, and of two the even one, by trying all of them.
fn half(single_float: f32) -> u16 {
    let sign = u16::from(single_float.is_sign_negative()) << 15;
    // The number after the largest half float is its infinity, for rounding.
    let value = |code: u16| if code == 0x7c00 { 65536.0 } else { f64::from(single(code)) };
    let target = f64::from(single_float.abs()).min(131_072.0);
    let distance = |code: u16| (value(code) - target).abs();
    let nearest =
        (0..=0x7c00_u16).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))));
    sign | nearest.unwrap()
}

#[test]
fn half_floats_are_packed_and_taken_out() {
    let halves: [u16; 12] =
        [0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3555, 0x7bff, 0xfbff, 0x4248, 0xc500];
    let floats =
        [0.1_f32, -2.5, 65504.0, 65519.0, 65520.0, 1e-7, 6e-8, -3e-8, 1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0];
    let lanes: Vec<[u32; 2]> = (0..16_usize)
        .map(|at| {
            let pair = u32::from(halves[at % 12]) | u32::from(halves[(at * 5 + 1) % 12]) << 16;
            // Of the second word and the first one as single floats: any number, but the packed one is of a range.
            [if at < 8 { pair } else { floats[at % 10].to_bits() }, floats[(at * 3 + 2) % 10].to_bits()]
        })
        .collect();
    let results: Vec<u32> = lanes
        .iter()
        .flat_map(|[first, second]| {
            let [low, high] = [single(*first as u16), single((first >> 16) as u16)];
            let pack = |low: f32, high: f32| u32::from(half(low)) | u32::from(half(high)) << 16;
            let whole = pack(f32::from_bits(*first), f32::from_bits(*second));
            [low.to_bits(), high.to_bits(), pack(low + 1.0, high + 0.25), whole]
        })
        .collect();
    for platform in PLATFORMS.into_iter().filter(|platform| *platform != Platform::Hsw) {
        let shader = compile(platform, include_bytes!("../data/halves.spv"), Stage::Compute);
        let found = run(&shader, [1, 1, 1], &[lanes.concat(), vec![0; results.len()]]);
        for (at, (found, expected)) in found[1].iter().zip(&results).enumerate() {
            assert_eq!(found, expected, "{platform}: result {} of {:x?}", at % 4, lanes[at / 4]);
        }
    }
}

#[test]
fn operands_may_be_wider_or_narrower_than_results() {
    let from: Vec<u32> = numbers(5).take(16).collect();
    let results: Vec<u32> = from
        .iter()
        .flat_map(|word| {
            // -32768 is -1.0, which is packed as -32767.
            let part = |part: u32| if part == 0x8000 { 0x8001 } else { part };
            // The ray along x, times the ratio.
            [word.count_ones(), part(word & 0xffff) | part(word >> 16) << 16, 0.25_f32.to_bits()]
        })
        .collect();
    for platform in PLATFORMS.into_iter().filter(|platform| *platform != Platform::Hsw) {
        let shader = compile(platform, include_bytes!("../data/mixed.spv"), Stage::Compute);
        assert_eq!(run(&shader, [1, 1, 1], &[from.clone(), vec![0; 48]])[1], results, "{platform}");
    }
}
