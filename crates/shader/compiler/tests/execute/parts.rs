//! Parts of floats on the executor, exactly: fractions, whole numbers, significands, exponents, and products with powers of 2.

use gem_shader_compiler::Stage;

use crate::threads::{PLATFORMS, compile, run};

/// Returns the fraction and the whole number of a float.
fn fraction(a: f32) -> [u32; 2] {
    let fraction = if a.is_infinite() { 0.0 } else { a.fract() };
    [fraction.copysign(a).to_bits(), a.trunc().to_bits()]
}

/// Returns the significand and the exponent of a float: halves it until it is below 1, or doubles it until it is 0.5 or more.
fn significand(a: f32) -> [u32; 2] {
    let (mut significand, mut exponent) = (a, 0_i32);
    if a != 0.0 && a.is_finite() {
        while significand.abs() >= 1.0 {
            (significand, exponent) = (significand * 0.5, exponent + 1);
        }
        while significand.abs() < 0.5 {
            (significand, exponent) = (significand * 2.0, exponent - 1);
        }
    }
    [significand.to_bits(), exponent as u32]
}

/// Returns a float times 2 to a power. A double has each product, but for those that are infinite or zero as a float.
fn product(a: f32, power: i32) -> u32 {
    ((f64::from(a) * 2_f64.powi(power.clamp(-600, 600))) as f32).to_bits()
}

/// Floats of all kinds.
const FLOATS: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.75,
    1.999_999_9,
    -1234.567,
    8_388_607.5,
    -3e9,
    f32::MAX,
    f32::MIN_POSITIVE,
    f32::INFINITY,
    f32::NEG_INFINITY,
    -1.1e-40,
    1e-45,
];

/// Powers by which the floats stay in range, leave it, and are rounded to denormal ones.
const POWERS: [i32; 16] =
    [0, 1, -1, 24, -23, 126, 127, 128, -126, -127, -140, -149, 276, -277, i32::MAX, i32::MIN];

#[test]
fn parts_of_floats_and_products_with_powers_of_two_are_exact() {
    let lanes: Vec<([f32; 2], [i32; 2])> = (0..256)
        .map(|at| {
            let (a, power) = (FLOATS[at % 16], POWERS[at / 16]);
            ([a, FLOATS[(at + 5) % 16] * 0.7], [power, POWERS[(at / 16 + 3) % 16]])
        })
        .collect();
    let words = |(floats, powers): &([f32; 2], [i32; 2])| {
        floats.map(f32::to_bits).into_iter().chain(powers.map(|power| power as u32)).collect::<Vec<_>>()
    };
    let numbers: Vec<u32> = lanes.iter().flat_map(words).collect();
    for platform in PLATFORMS {
        let shader = compile(platform, include_bytes!("../data/parts.spv"), Stage::Compute);
        let found = run(&shader, [16, 1, 1], &[numbers.clone(), vec![0; 18 * lanes.len()]]);
        for ((floats, powers), found) in lanes.iter().zip(found[1].chunks(18)) {
            let [[f0, w0], [f1, w1]] = floats.map(fraction);
            let [[s0, e0], [s1, e1]] = floats.map(significand);
            let products = [product(floats[0], powers[0]), product(floats[1], powers[1])];
            let fractions = [f0, f1, w0, w1];
            let significands = [s0, s1, e0, e1];
            // Each of them by a pointer, and by a struct.
            assert_eq!(found[..8], [fractions, fractions].concat(), "{platform}: fractions of {floats:?}");
            assert_eq!(
                found[8..16],
                [significands, significands].concat(),
                "{platform}: parts of {floats:?}"
            );
            assert_eq!(found[16..], products, "{platform}: products of {floats:?} and {powers:?}");
        }
    }
}
