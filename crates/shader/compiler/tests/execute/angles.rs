//! Inverse trigonometric and hyperbolic functions on the executor: their results are those of Rust's functions of doubles.

use gem_shader_compiler::Stage;

use crate::threads::{PLATFORMS, compile, run};
use crate::widths::single;

/// The names of the results, in their order.
const NAMES: [&str; 10] =
    ["asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"];

/// Returns the results for two numbers, and how many units in the last place (ULP) each may be wrong, apart from rounding. Vulkan allows
/// 4096 for the first four, and those of exponentials for the others: 3 + 2 |x|.
fn expected([x, y]: [f32; 2]) -> [(f64, f64); 10] {
    let (x, y) = (f64::from(x), f64::from(y));
    let exponential = 3.0 + 2.0 * x.abs();
    [
        (x.asin(), 4.0),
        (x.acos(), 4.0),
        (x.atan(), 4.0),
        (y.atan2(x), 4.0),
        (x.sinh(), exponential),
        (x.cosh(), exponential),
        (x.tanh(), 4.0),
        (x.asinh(), 4.0),
        (x.acosh(), 4.0),
        (x.atanh(), 4.0),
    ]
}

/// Returns what is wrong with a result; nothing if it is near enough, or if both are no numbers.
fn fault(found: f32, expected: f64, ulps: f64) -> Option<String> {
    let nearest = expected as f32;
    let magnitude = nearest.abs().max(f32::MIN_POSITIVE);
    let ulp = f64::from(f32::from_bits(magnitude.to_bits() + 1)) - f64::from(magnitude);
    let error = (f64::from(found) - expected).abs() / ulp;
    let is_same = found.to_bits() == nearest.to_bits() || found.is_nan() && expected.is_nan();
    let has_sign = found.is_sign_negative() == expected.is_sign_negative();
    let is_near = error <= ulps && has_sign && found.is_finite();
    (!is_same && !is_near).then(|| format!("{found:e} for {expected:e}, {error} ULP"))
}

/// Returns numbers of all magnitudes, and those about which the functions change: a multiple of 16.
fn numbers() -> Vec<f32> {
    let mut magnitudes = vec![0.0, 0.5, 0.625, 1.0, 2.0, 65536.0, 88.8, 89.4, 90.0, f32::MAX, f32::INFINITY];
    magnitudes.extend([0.5, 0.625, 1.0, 65536.0_f32].map(f32::next_up));
    magnitudes.extend([0.5, 0.625, 1.0, 65536.0_f32].map(f32::next_down));
    magnitudes.extend((0..120).map(|at| at as f32 / 100.0 + 0.003));
    // A factor of 1.5, from denormal numbers on.
    magnitudes.extend((-220..220).map(|power| 1.5_f64.powi(power) as f32));
    let mut all: Vec<f32> = magnitudes.iter().flat_map(|number| [*number, -number]).collect();
    all.push(f32::NAN);
    all.resize(all.len().next_multiple_of(16), 0.25);
    all
}

#[test]
fn angles_and_hyperbolic_functions_have_their_values() {
    let first = numbers();
    let count = first.len();
    let pairs: Vec<[f32; 2]> = (0..count)
        // The two zeroes, and then the two infinities, are each other's partners; and so are equal numbers.
        .map(|at| [first[at], if at % 7 < 2 { first[at ^ 1] } else { first[at * 37 % count] }])
        .collect();
    let words: Vec<u32> = pairs.iter().flatten().map(|number| number.to_bits()).collect();
    for platform in PLATFORMS {
        let shader = compile(platform, include_bytes!("../data/angles.spv"), Stage::Compute);
        let buffers = [words.clone(), vec![0; 10 * count]];
        let found = run(&shader, [(count / 16) as u32, 1, 1], &buffers);
        let mut faults = Vec::new();
        for (pair, found) in pairs.iter().zip(found[1].chunks(10)) {
            for ((name, found), (expected, ulps)) in NAMES.into_iter().zip(found).zip(expected(*pair)) {
                if let Some(fault) = fault(f32::from_bits(*found), expected, ulps) {
                    faults.push(format!("{name} of {pair:?}: {fault}"));
                }
            }
        }
        assert_eq!(faults, [""; 0], "{platform}");
    }
}

#[test]
fn results_of_other_functions_are_faults() {
    for [(expected, ulps), (other, _)] in [[0, 2], [2, 6], [4, 7], [5, 4]].map(|places| {
        let all = expected([0.25, -0.5]);
        places.map(|place| all[place])
    }) {
        assert_eq!(fault(expected as f32, expected, ulps), None);
        assert!(fault(other as f32, expected, ulps).is_some());
        assert!(fault(-expected as f32, expected, ulps).is_some());
        assert!(fault(f32::NAN, expected, ulps).is_some());
        assert!(fault(f32::from_bits((expected as f32).to_bits() + 9), expected, ulps).is_some());
    }
}

/// Returns the half floats of a word, as single floats.
fn halves(word: u32) -> [f32; 2] {
    [word as u16, (word >> 16) as u16].map(single)
}

#[test]
fn functions_of_half_floats_have_their_values() {
    // Half floats of all magnitudes that are finite, in pairs.
    let words: Vec<u32> = (0..0x7c00_u32).step_by(31).map(|half| half | (half ^ 0x8000) << 16).collect();
    let count = words.len() / 16 * 16;
    // The others have no half floats.
    for platform in PLATFORMS.into_iter().filter(|platform| platform.graphics() >= 80) {
        let shader = compile(platform, include_bytes!("../data/half_angles.spv"), Stage::Compute);
        let found = run(&shader, [(count / 16) as u32, 1, 1], &[words.clone(), vec![0; 6 * words.len()]]);
        for (word, found) in words[..count].iter().zip(found[1].chunks(6)) {
            let numbers = halves(*word);
            let results: Vec<[f32; 2]> = found.iter().map(|word| halves(*word)).collect();
            for (at, a) in numbers.into_iter().enumerate() {
                // Half a unit of 11 bits, or of the least half float.
                for (found, expected) in [(results[0][at], a.atan()), (results[1][at], a.tanh())] {
                    let error = (found - expected).abs();
                    assert!(
                        error <= expected.abs() * 0.0005 + f32::powi(2.0, -25),
                        "{platform}: {found} for {expected} of {a}"
                    );
                }
                assert_eq!(results[2][at].to_bits(), a.fract().copysign(a).to_bits(), "{platform}: {a}");
                assert_eq!(results[3][at].to_bits(), a.trunc().to_bits(), "{platform}: {a}");
                let significand = results[4][at];
                assert!(a == 0.0 || (0.5..1.0).contains(&significand.abs()), "{platform}: {significand}");
                // The product of both parts.
                assert_eq!(results[5][at].to_bits(), a.to_bits(), "{platform}: {a}");
            }
        }
    }
}
