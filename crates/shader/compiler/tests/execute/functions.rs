//! Functions of GLSL on the executor: their results are those of Rust's operations. Each module is there as the compiler
//! made it, with variables, and as the optimizer left it, with phis.

use gem_shader_compiler::Stage;

use crate::threads::{PLATFORMS, compile, run};

/// Numbers of each kind: small, large, with and without a sign.
const INTEGERS: [u32; 16] = [
    0,
    1,
    2,
    3,
    5,
    7,
    33,
    100,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0xffff_fffe,
    0x1234_5678,
    0x0f0f_0f0f,
    0xffff_ff9c,
    65_537,
];

/// Returns a switch's sum, whose cases fall through.
fn switched(a: u32) -> u32 {
    match a {
        3 => 10,
        1 => 1100,
        2 => 11_000,
        7 => 10_000,
        5 => 5,
        _ => 11,
    }
}

/// Returns the results for four integers.
fn of_integers([a, b, c, d]: [u32; 4]) -> Vec<u32> {
    let (sa, sb) = (a as i32, b as i32);
    let offset = c & 31;
    let bits = (d & 63).min(32 - offset);
    let field = ((1_u64 << bits) - 1) as u32;
    let taken = ((u64::from(a) >> offset) as u32) & field;
    let with_sign = if bits == 0 { 0 } else { ((taken << (32 - bits)) as i32 >> (32 - bits)) as u32 };
    let moved = (u64::from(field) << offset) as u32;
    let wide = u64::from(a) * u64::from(b);
    let signed_wide = i64::from(sa) * i64::from(sb);
    let divisor = (b | 1) as i32;
    // With the sign of the divisor.
    let rest = i64::from(sa) % i64::from(divisor);
    let floored = if rest != 0 && (rest < 0) != (divisor < 0) { rest + i64::from(divisor) } else { rest };
    let mut vector = [a, b, c, d];
    vector[(c & 3) as usize] = 77;
    let numbers = [a, b, c, d];
    let mixed: [u32; 4] =
        std::array::from_fn(
            |at| {
                if numbers[at] < numbers[(at + 1) % 4] { vector[3 - at] } else { numbers[at] }
            },
        );
    let fold = |v: [u32; 4]| v[0] ^ v[1] << 1 ^ v[2] << 2 ^ v[3] << 3;
    let calls = u32::from(a < b) + u32::from(c <= 5);
    let (both, either) = (a < b && c < d, c > 5 || d > b);
    let mut array = [9, 8, 7, 6, 5];
    array[(a % 5) as usize] = c;
    vec![
        taken,
        with_sign,
        a & !moved | ((u64::from(b) << offset) as u32) & moved,
        a.reverse_bits(),
        a.count_ones(),
        if a == 0 { u32::MAX } else { a.trailing_zeros() },
        31_u32.wrapping_sub(a.leading_zeros()),
        31_u32.wrapping_sub((if sa < 0 { !a } else { a }).leading_zeros()),
        a.wrapping_add(b),
        u32::from(a.checked_add(b).is_none()),
        a.wrapping_sub(b),
        u32::from(a < b),
        (wide >> 32) as u32,
        wide as u32,
        (signed_wide >> 32) as u32,
        signed_wide as u32,
        sa.unsigned_abs(),
        sa.signum() as u32,
        sa.min(sb) as u32,
        a.max(b),
        sa.clamp(-100, 100) as u32,
        floored as u32,
        switched(a & 7),
        fold(vector),
        fold(mixed),
        (sa >> (c & 31)) as u32,
        u32::from((a < b) == (c < d)) + 2 * u32::from((a < b) != (sa < sb)),
        calls + 4 * u32::from(both) + 8 * u32::from(either),
        a / (b | 1),
        sa.wrapping_div(divisor) as u32,
        a % (b | 1),
        u32::wrapping_add(array[(b % 5) as usize], array[2]),
    ]
}

#[test]
fn functions_of_integers_have_their_values() {
    let numbers: Vec<[u32; 4]> =
        (0..64_usize).map(|at| [1, 5, 7, 11].map(|step| INTEGERS[(at * step + at / 16) % 16])).collect();
    let expected: Vec<u32> = numbers.iter().flat_map(|numbers| of_integers(*numbers)).collect();
    let modules: [&[u8]; 2] =
        [include_bytes!("../data/integers.spv"), include_bytes!("../data/integers.opt.spv")];
    for (platform, module) in
        PLATFORMS.into_iter().flat_map(|platform| modules.map(|module| (platform, module)))
    {
        let shader = compile(platform, module, Stage::Compute);
        let buffers = [numbers.concat(), vec![0; expected.len()]];
        let found = run(&shader, [4, 1, 1], &buffers);
        for (at, (found, expected)) in found[1].iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{platform}: result {} of {:x?}", at % 32, numbers[at / 32]);
        }
    }
}

/// A vector.
type Vector<const N: usize> = [f32; N];

/// Returns the product of two vectors that is a number.
fn dot<const N: usize>(a: Vector<N>, b: Vector<N>) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns a vector of length 1.
fn normalized<const N: usize>(v: Vector<N>) -> Vector<N> {
    v.map(|one| one / dot(v, v).sqrt())
}

/// Returns the float of a field of bits.
fn snorm(word: u32, bits: u32, place: u32) -> f32 {
    let field = (word << (32 - bits * (place + 1))) as i32 >> (32 - bits);
    (f64::from(field) / f64::from((1 << (bits - 1)) - 1)).max(-1.0) as f32
}

/// The uniform block, as its layout has it: three columns of two rows, whose rows are 16 bytes apart, and two columns of three.
const SETTINGS: [f32; 16] =
    [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0, 0.5, 0.25, 0.125, 0.0, -1.0, -2.0, -4.0, 0.0];

/// Returns the results for four floats of a lane.
fn of_floats(at: usize, v: Vector<4>) -> Vec<f32> {
    let [x, y, z, w] = v;
    let n = normalized([x, y, z]);
    let i = normalized([y, z, w]);
    let eta = 0.75;
    let k = 1.0 - eta * eta * (1.0 - dot(n, i) * dot(n, i));
    let t = ((y + 2.0) / 5.0).clamp(0.0, 1.0);
    let packed = v.map(|one| (one * 0.125).clamp(0.0, 1.0)).map(|one| (one * 255.0).round_ties_even() as u32);
    let packed = packed.iter().rev().fold(0, |word, one| word << 8 | one);
    let outer = [[x * z, y * z], [x * w, y * w]];
    let boolean = |is: bool| f32::from(u8::from(is));
    vec![
        x.abs().sqrt(),
        (x.abs() + 1.0).sqrt().recip(),
        y.exp(),
        y.exp2(),
        (x.abs() + 0.5).ln(),
        (x.abs() + 0.5).log2(),
        x.abs().powf(y),
        y.sin(),
        y.cos(),
        (y * 0.25).tan(),
        dot([x, y, z], [x, y, z]).sqrt(),
        (x - z).hypot(y - w),
        n[0],
        n[2],
        y * w - z * z,
        z * y - x * w,
        x * z - y * y,
        dot(v, [w, z, y, x]),
        y - 2.0 * dot(n, [x, y, z]) * n[1],
        if k < 0.0 { 0.0 } else { eta * i[0] - (eta * dot(n, i) + k.sqrt()) * n[0] },
        if dot([z, w, x], [y, z, w]) < 0.0 { x } else { -x },
        t * t * (3.0 - 2.0 * t),
        boolean(y >= x),
        x * 0.75 + y * 0.25,
        x.to_radians(),
        y.to_degrees(),
        x.floor(),
        x.ceil(),
        x.trunc(),
        x.round_ties_even(),
        y - y.floor(),
        if y == 0.0 { 0.0 } else { y.signum() },
        x - z * (x / z).floor(),
        x.min(y) + 2.0 * z.max(w),
        x.clamp(-1.5, 2.5),
        x.mul_add(y, z),
        f32::from_bits(packed & 0x7f7f_7f7f | 0x0100_0000),
        (x.to_bits() >> 16 & 0xff) as f32 / 255.0,
        snorm(x.to_bits(), 8, 3),
        snorm(y.to_bits(), 16, 1),
        dot([SETTINGS[4], SETTINGS[5], SETTINGS[6]], [x, y, z]),
        dot([SETTINGS[8], SETTINGS[9], SETTINGS[10]], [x, y, z]),
        SETTINGS[4 + at % 3],
        SETTINGS[8 + 4 * (at % 2) + at % 3],
        // Row 0 of the first matrix times column 1 of its transpose, which is row 1.
        outer[0][0] * outer[0][1] + outer[1][0] * outer[1][1],
        2.0 + 4.0,
        x.trunc() + y.abs().trunc(),
        boolean(x < y || y < z || z < w || w < x) + 2.0 * boolean(x != w && y != x && z != y && w != z),
    ]
}

#[test]
fn functions_of_floats_have_their_values() {
    // No number is so near to an integer or another one that rounding moves a result to another step.
    let number = |at: usize| ((at * 37 % 64) as f32 - 31.3) * 0.177;
    let numbers: Vec<Vector<4>> = (0..64).map(|at| [0, 17, 5, 40].map(|more| number(at + more))).collect();
    let words = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<u32>>();
    let modules: [&[u8]; 2] =
        [include_bytes!("../data/floats.spv"), include_bytes!("../data/floats.opt.spv")];
    for (platform, module) in
        PLATFORMS.into_iter().flat_map(|platform| modules.map(|module| (platform, module)))
    {
        let shader = compile(platform, module, Stage::Compute);
        let buffers = [words(&numbers.concat()), vec![0; 48 * 64], words(&SETTINGS)];
        let found = run(&shader, [4, 1, 1], &buffers);
        for (at, numbers) in numbers.iter().enumerate() {
            for (place, expected) in of_floats(at, *numbers).into_iter().enumerate() {
                let found = f32::from_bits(found[1][48 * at + place]);
                let error = (found - expected).abs();
                assert!(
                    error <= 2e-5 * expected.abs().max(1.0),
                    "{platform}: result {place} of {numbers:?}: {found} for {expected}"
                );
            }
        }
    }
}
